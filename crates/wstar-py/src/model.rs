//! Functions that fit models, and the fitted model as a Python class.

use std::path::PathBuf;

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use wstar::bayes::naive::Tally;
use wstar::certificate::Enclosure;
use wstar::data::Dataset;
use wstar::data::error::Error;
use wstar::estimate::{Start, fit_batch, fit_from};
use wstar::model::{Model, Scores, SupportVectors, support_vectors};
use wstar::settings::Options;

use crate::data::Table;
use crate::matrix::{Matrix, rows_of, scattered};
use crate::raise;
use crate::run::{run, run_as};
use crate::wording::Keywords;

/// The row indices of the support vectors in ascending order, and their αᵢyᵢ.
type Support<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>);

/// A fitted model.
#[pyclass(frozen, module = "wstar._engine")]
pub(crate) struct Fitted(Model);

/// Fits a model. `settings` is a JSON document of the library's settings, `start` a model to start from.
#[pyfunction]
pub(crate) fn fit(
    py: Python<'_>,
    data: Table<'_>,
    settings: &str,
    start: Option<&Bound<'_, Fitted>>,
    threads: usize,
) -> PyResult<Fitted> {
    fit_and(py, data, settings, start, threads, |_, _| Ok(())).map(|(model, ())| model)
}

/// Fits a model and evaluates `look` on the model and the data before the data are released.
fn fit_and<R: Send>(
    py: Python<'_>,
    data: Table<'_>,
    settings: &str,
    start: Option<&Bound<'_, Fitted>>,
    threads: usize,
    look: impl FnOnce(&Model, &Dataset) -> Result<R, Error> + Send,
) -> PyResult<(Fitted, R)> {
    let settings: Options = read(settings)?;
    let (labels, matrix) = (data.labels()?, data.x.borrow()?);
    let start = start.map(|start| &start.get().0);
    let words = Keywords {
        method: settings.method,
    };
    let (model, seen) = run_as(py, threads, &words, |watch| {
        matrix.with_design(|design| {
            let origin = Start {
                model: start,
                ..Start::default()
            };
            let data = labels.with(design)?;
            let model = fit_from(&data, &settings, &origin, watch)?;
            let seen = look(&model, &data)?;
            Ok((model, seen))
        })
    })?;
    Ok((Fitted(model), seen))
}

/// Fits a support vector machine. Returns the support vectors and αᵢyᵢ of each subproblem as well.
#[pyfunction]
pub(crate) fn fit_machine<'py>(
    py: Python<'py>,
    data: Table<'_>,
    settings: &str,
    start: Option<&Bound<'_, Fitted>>,
    threads: usize,
) -> PyResult<(Fitted, Vec<Support<'py>>)> {
    let (model, found) = fit_and(py, data, settings, start, threads, support_vectors)?;
    let arrays = |support: SupportVectors| {
        let rows = support.rows().iter().map(|&row| row as i64).collect();
        let multipliers = PyArray1::from_slice(py, support.multipliers());
        (PyArray1::from_vec(py, rows), multipliers)
    };
    Ok((model, found.into_iter().map(arrays).collect()))
}

/// Fits models to the same data in sequence, each started from the previous one, and calls `take` with each model.
#[pyfunction]
pub(crate) fn fit_each(
    py: Python<'_>,
    data: Table<'_>,
    settings: Vec<String>,
    threads: usize,
    take: Py<PyAny>,
) -> PyResult<()> {
    let settings: Vec<Options> = settings.iter().map(|one| read(one)).collect::<PyResult<_>>()?;
    let (labels, matrix) = (data.labels()?, data.x.borrow()?);
    let mut raised = None;
    let words = Keywords {
        method: settings.first().and_then(|first| first.method),
    };
    let ended = run_as(py, threads, &words, |watch| {
        matrix.with_design(|design| {
            wstar::select::fit_each(&labels.with(design)?, &settings, watch, |model| {
                Python::attach(|py| take.call1(py, (Fitted(model),)))
                    .map(drop)
                    .map_err(|error| {
                        raised = Some(error);
                        Error::settings("the callback for a model failed")
                    })
            })
        })
    });
    raised.map_or(ended, Err)
}

/// The ends of the proved intervals of each subproblem: the weights first, then the intercept.
fn intervals(parts: &[Enclosure]) -> Vec<serde_json::Value> {
    let ends = |part: &Enclosure, end: fn(&Enclosure, usize) -> f64| -> Vec<f64> {
        (0..part.len()).map(|j| end(part, j)).collect()
    };
    let of = |part: &Enclosure| serde_json::json!({"lower": ends(part, Enclosure::lower), "upper": ends(part, Enclosure::upper)});
    parts.iter().map(of).collect()
}

fn read(settings: &str) -> PyResult<Options> {
    serde_json::from_str(settings).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Sufficient statistics of naive Bayes: the weight of each class, its counts or means, and its squared deviations if
/// the features are Gaussian.
type Tallied<'py> = (
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray2<f64>>,
    Option<Bound<'py, PyArray2<f64>>>,
);

/// Adds rows to the sufficient statistics of naive Bayes. Returns the new statistics, and the model that they define
/// if every class has occurred.
#[pyfunction]
pub(crate) fn tally<'py>(
    py: Python<'py>,
    data: Table<'_>,
    settings: &str,
    before: Option<Sums<'_>>,
    seen: u64,
    threads: usize,
) -> PyResult<(Tallied<'py>, Option<Fitted>)> {
    let settings: Options = read(settings)?;
    let words = Keywords {
        method: settings.method,
    };
    let (labels, matrix) = (data.labels()?, data.x.borrow()?);
    let before = before.map(|sums| sums.read()).transpose()?;
    let (tally, model) = run_as(py, threads, &words, |_| {
        matrix.with_design(|design| fit_batch(&labels.with(design)?, &settings, before, seen))
    })?;
    let features = tally.firsts.first().map_or(0, Vec::len);
    let squares = tally.squares.map(|squares| wide(squares.concat(), features, py));
    let sums = (
        PyArray1::from_vec(py, tally.totals),
        wide(tally.firsts.concat(), features, py)?,
        squares.transpose()?,
    );
    Ok((sums, model.map(Fitted)))
}

/// Sufficient statistics of naive Bayes as Python passes them.
#[derive(FromPyObject)]
pub(crate) struct Sums<'py>(
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray2<'py, f64>,
    Option<PyReadonlyArray2<'py, f64>>,
);

impl Sums<'_> {
    fn read(&self) -> PyResult<Tally> {
        Ok(Tally {
            totals: self.0.to_vec().map_err(scattered)?,
            firsts: rows_of(&self.1)?,
            squares: self.2.as_ref().map(rows_of).transpose()?,
        })
    }
}

fn wide(scores: Vec<f64>, columns: usize, py: Python<'_>) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let rows = scores.len() / columns.max(1);
    PyArray1::from_vec(py, scores).reshape([rows, columns])
}

/// Weights, one row per hyperplane, and intercepts.
type Planes<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>);

impl Fitted {
    fn scored(&self, py: Python<'_>, x: &Matrix<'_>, threads: usize) -> PyResult<Scores> {
        let matrix = x.borrow()?;
        run(py, threads, |_| {
            matrix.with_design(|design| self.0.scores(&Dataset::unlabelled(design)?))
        })
    }
}

#[pymethods]
impl Fitted {
    /// Reads a model file.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        Model::load(&path).map(Fitted).map_err(|error| raise(&error))
    }

    /// Reads the bytes of a model file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        Model::from_json(bytes).map(Fitted).map_err(|error| raise(&error))
    }

    /// Writes a model file atomically.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        self.0.save(&path).map_err(|error| raise(&error))
    }

    /// The bytes of a model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.0.to_json().map_err(|error| raise(&error))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let read = py.get_type::<Fitted>().getattr("from_bytes")?;
        Ok((read, (self.to_bytes(py)?,)))
    }

    /// One section of the model as JSON: `settings`, `schema`, `classes`, `fit`, `certificate`, `inference`,
    /// `least_squares`, `predictor`, or `proved`: the ends of the proved intervals of each subproblem.
    fn part(&self, name: &str) -> PyResult<String> {
        let model = &self.0;
        let text = match name {
            "settings" => serde_json::to_string(&model.settings().options()),
            "schema" => serde_json::to_string(model.schema()),
            "classes" => serde_json::to_string(model.classes()),
            "fit" => serde_json::to_value(model.record()).map(|mut fit| {
                let words = Keywords {
                    method: Some(model.method()),
                };
                let notes = model.record().notes.iter().map(|note| note.worded(&words));
                fit["notes"] = notes.collect();
                if let Some(solver) = &model.record().solver {
                    fit["solver"]["why"] = solver.why.worded(&words).into();
                }
                fit.to_string()
            }),
            "certificate" => serde_json::to_string(model.certificate()),
            "inference" => serde_json::to_string(&model.inference()),
            "least_squares" => serde_json::to_string(&model.least_squares()),
            "proved" => serde_json::to_string(&model.proved().map(intervals)),
            "predictor" => serde_json::to_string(model.predictor()),
            _ => return Err(PyValueError::new_err(format!("a model has no {name}"))),
        };
        text.map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The name of the method that fitted the model.
    #[getter]
    fn method(&self) -> &'static str {
        self.0.method().name()
    }

    /// The names of the features.
    #[getter]
    fn feature_names(&self) -> Vec<String> {
        self.0.schema().feature_names().collect()
    }

    /// Whether the certificate holds according to its stored numbers.
    #[getter]
    fn holds(&self) -> bool {
        self.0.certificate().holds()
    }

    /// Weights (one row per hyperplane) and intercepts; `None` if the model has no hyperplanes.
    fn hyperplanes<'py>(&self, py: Python<'py>) -> PyResult<Option<Planes<'py>>> {
        let Some(planes) = self.0.predictor().hyperplanes() else {
            return Ok(None);
        };
        let intercepts: Vec<f64> = planes.iter().map(|plane| plane.intercept).collect();
        let weights: Vec<f64> = planes.into_iter().flat_map(|plane| plane.weights).collect();
        let weights = wide(weights, self.0.schema().features, py)?;
        Ok(Some((weights, PyArray1::from_vec(py, intercepts))))
    }

    /// The scores of all rows: one column for two classes or a real target, otherwise one per class.
    fn scores<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'_>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let scores = self.scored(py, &x, threads)?;
        let columns = scores.columns();
        wide(scores.into_values(), columns, py)
    }

    /// The predicted class index of each row.
    fn decide<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'_>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let scores = self.scored(py, &x, threads)?;
        Ok(PyArray1::from_vec(py, self.0.decide(&scores)))
    }

    /// Recomputes the certificate from the data. Returns the objections to it, and the recomputed certificate as JSON.
    fn verify(&self, py: Python<'_>, data: Table<'_>, threads: usize) -> PyResult<(Vec<String>, String)> {
        let (labels, matrix) = (data.labels()?, data.x.borrow()?);
        let verdict = run(py, threads, |_| {
            matrix.with_design(|design| wstar::verify(&self.0, &labels.with(design)?))
        })?;
        let certificate = serde_json::to_string(verdict.certificate())
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let objections = verdict.objections().iter().map(ToString::to_string).collect();
        Ok((objections, certificate))
    }
}
