//! Fits, and the models that come of them.

use std::path::PathBuf;

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use wstar::Error;
use wstar::bayes::naive::Tally;
use wstar::data::{Dataset, Design};
use wstar::fit::{Origin, fit_batch, fit_from};
use wstar::model::{Model, SupportVectors, support_vectors};
use wstar::settings::Settings;

use crate::data::Table;
use crate::matrix::{Matrix, rows_of, scattered};
use crate::raise;
use crate::run::run;

/// The rows of support vectors, in order, and their multipliers times their labels.
type Support<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>);

/// A fitted model.
#[pyclass(frozen, module = "wstar._engine")]
pub(crate) struct Fitted(Model);

/// Fits a model: `settings` is a JSON document of the library's settings, `start` a model to start from.
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

/// Fits a model, and looks at it and the data once more before these are given back.
fn fit_and<R: Send>(
    py: Python<'_>,
    data: Table<'_>,
    settings: &str,
    start: Option<&Bound<'_, Fitted>>,
    threads: usize,
    look: impl FnOnce(&Model, &Dataset) -> Result<R, Error> + Send,
) -> PyResult<(Fitted, R)> {
    let settings = read(settings)?;
    let (labels, matrix) = (data.labels()?, data.x.borrow()?);
    let start = start.map(|start| &start.get().0);
    let (model, seen) = run(py, threads, |watch| {
        matrix.with_design(|design| {
            let origin = Origin {
                model: start,
                ..Origin::default()
            };
            let data = labels.with(design)?;
            let model = fit_from(&data, &settings, &origin, watch)?;
            let seen = look(&model, &data)?;
            Ok((model, seen))
        })
    })?;
    Ok((Fitted(model), seen))
}

/// Fits a support vector machine, and tells the support vectors of each of its problems, with α·y.
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
        let rows = support.rows.into_iter().map(|row| row as i64).collect();
        let multipliers = PyArray1::from_vec(py, support.multipliers);
        (PyArray1::from_vec(py, rows), multipliers)
    };
    Ok((model, found.into_iter().map(arrays).collect()))
}

/// Fits one model after another to the same data, each from where the last one ended; `take` is given each.
#[pyfunction]
pub(crate) fn fit_each(
    py: Python<'_>,
    data: Table<'_>,
    settings: Vec<String>,
    threads: usize,
    take: Py<PyAny>,
) -> PyResult<()> {
    let settings: Vec<Settings> = settings.iter().map(|one| read(one)).collect::<PyResult<_>>()?;
    let (labels, matrix) = (data.labels()?, data.x.borrow()?);
    let mut raised = None;
    let ended = run(py, threads, |watch| {
        matrix.with_design(|design| {
            wstar::fit::fit_each(&labels.with(design)?, &settings, watch, |model| {
                Python::attach(|py| take.call1(py, (Fitted(model),)))
                    .map(drop)
                    .map_err(|error| {
                        raised = Some(error);
                        Error::settings("what was to be done with a model failed")
                    })
            })
        })
    });
    raised.map_or(ended, Err)
}

fn read(settings: &str) -> PyResult<Settings> {
    serde_json::from_str(settings).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Sums of naive Bayes over rows: the weight of each class, its counts or means, and for Gaussians its squared deviations.
type Tallied<'py> = (
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray2<f64>>,
    Option<Bound<'py, PyArray2<f64>>>,
);

/// Adds rows to sums of naive Bayes: the new sums, and the model they stand for, if every class has been seen.
#[pyfunction]
pub(crate) fn tally<'py>(
    py: Python<'py>,
    data: Table<'_>,
    settings: &str,
    before: Option<Sums<'_>>,
    seen: u64,
    threads: usize,
) -> PyResult<(Tallied<'py>, Option<Fitted>)> {
    let settings = read(settings)?;
    let (labels, matrix) = (data.labels()?, data.x.borrow()?);
    let before = before.map(|sums| sums.read()).transpose()?;
    let (tally, model) = run(py, threads, |_| {
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

/// Sums of naive Bayes as they come from Python.
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

/// Weights, one row a hyperplane, and intercepts.
type Planes<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>);

impl Fitted {
    /// Runs something on a design with the model's scaling, which data of Python's do not have yet.
    fn prepared<R>(&self, design: Design, run: impl FnOnce(&Design) -> Result<R, Error>) -> Result<R, Error> {
        if design.features() != self.0.schema.features {
            return Err(Error::data(format!(
                "X has {} features, and the model {}",
                design.features(),
                self.0.schema.features
            )));
        }
        match &self.0.schema.scaling {
            Some(scaling) => run(&scaling.apply(design)?),
            None => run(&design),
        }
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

    /// Writes a model file, whole or not at all.
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

    /// The model's parts as JSON: `settings`, `schema`, `classes`, `fit`, `certificate`, `inference`,
    /// `least_squares`, `predictor`.
    fn part(&self, name: &str) -> PyResult<String> {
        let model = &self.0;
        let text = match name {
            "settings" => serde_json::to_string(&model.settings),
            "schema" => serde_json::to_string(&model.schema),
            "classes" => serde_json::to_string(&model.classes),
            "fit" => serde_json::to_string(&model.fit),
            "certificate" => serde_json::to_string(&model.certificate),
            "inference" => serde_json::to_string(&model.inference),
            "least_squares" => serde_json::to_string(&model.least_squares),
            "predictor" => serde_json::to_string(&model.predictor),
            _ => return Err(PyValueError::new_err(format!("a model has no {name}"))),
        };
        text.map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The name of the method that made it.
    #[getter]
    fn method(&self) -> &'static str {
        self.0.method.name()
    }

    /// The names of the features.
    #[getter]
    fn feature_names(&self) -> Vec<String> {
        self.0.schema.feature_names().collect()
    }

    /// Whether what it claims holds by its numbers.
    #[getter]
    fn holds(&self) -> bool {
        self.0.certificate.holds()
    }

    /// Weights (one row a hyperplane) and intercepts; none if it is not made of hyperplanes.
    fn hyperplanes<'py>(&self, py: Python<'py>) -> PyResult<Option<Planes<'py>>> {
        let Some(planes) = self.0.predictor.hyperplanes() else {
            return Ok(None);
        };
        let intercepts: Vec<f64> = planes.iter().map(|plane| plane.intercept).collect();
        let weights: Vec<f64> = planes.into_iter().flat_map(|plane| plane.weights).collect();
        let weights = wide(weights, self.0.schema.features, py)?;
        Ok(Some((weights, PyArray1::from_vec(py, intercepts))))
    }

    /// The scores of all rows: one column for two classes or a real target, else one a class.
    fn scores<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'_>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let matrix = x.borrow()?;
        let scores = run(py, threads, |_| {
            matrix.with_design(|design| self.prepared(design, |design| self.0.predictor.scores(design)))
        })?;
        wide(scores.values, scores.columns, py)
    }

    /// The number of each row's class.
    fn decide<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'_>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let matrix = x.borrow()?;
        let classes = run(py, threads, |_| {
            matrix.with_design(|design| self.prepared(design, |design| self.0.predictor.classes(design)))
        })?;
        Ok(PyArray1::from_vec(py, classes))
    }

    /// The probabilities of all classes, one row for each row of scores; none if they are no log odds.
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'_>,
        threads: usize,
    ) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let matrix = x.borrow()?;
        let shares = run(py, threads, |_| {
            matrix.with_design(|design| {
                self.prepared(design, |design| {
                    let scores = self.0.predictor.scores(design)?;
                    let rows = scores.rows().map(|row| self.0.predictor.probabilities(row));
                    Ok(rows.collect::<Option<Vec<Vec<f64>>>>())
                })
            })
        })?;
        shares
            .map(|shares| wide(shares.concat(), self.0.classes.len(), py))
            .transpose()
    }

    /// Recomputes the certificate from the data: what contradicts it, and the certificate as JSON.
    fn verify(&self, py: Python<'_>, data: Table<'_>, threads: usize) -> PyResult<(Vec<String>, String)> {
        let (labels, matrix) = (data.labels()?, data.x.borrow()?);
        let verdict = run(py, threads, |_| {
            matrix.with_design(|design| {
                let mut data = labels.with(design)?;
                if let Some(scaling) = &self.0.schema.scaling {
                    data.design = scaling.apply(data.design)?;
                }
                wstar::verify(&self.0, &data)
            })
        })?;
        let certificate = serde_json::to_string(&verdict.certificate)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok((verdict.objections, certificate))
    }
}
