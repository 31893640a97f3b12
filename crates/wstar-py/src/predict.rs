//! Predictions from the public parameters of an estimator, which its user may have changed.

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use wstar::data::Design;
use wstar::scoring::{Answers, Ask, Diagonal, Linear, Scorer, answer, classify};

use crate::matrix::{Matrix, rows_of, scattered};
use crate::run::{run, run_here};

/// Number of stored values below which scoring runs on the calling thread. Heuristic: trades parallel scoring for the
/// cost of starting threads; not measured yet.
const SMALL: usize = 1 << 20;

/// The score functions of the classes.
#[pyclass(frozen, module = "wstar._engine")]
pub(crate) struct Scores(Scorer);

/// One row of weights per function, or the weights of a single function.
#[derive(FromPyObject)]
enum Weights<'py> {
    #[pyo3(transparent)]
    Many(PyReadonlyArray2<'py, f64>),
    #[pyo3(transparent)]
    One(PyReadonlyArray1<'py, f64>),
}

/// One intercept per function, or the same intercept for all.
#[derive(FromPyObject)]
enum Intercepts<'py> {
    #[pyo3(transparent)]
    Many(PyReadonlyArray1<'py, f64>),
    #[pyo3(transparent)]
    Same(f64),
}

fn misfit() -> PyErr {
    PyValueError::new_err("the parameters have inconsistent shapes")
}

#[pymethods]
impl Scores {
    /// Linear functions of the row, each with one row of weights and one intercept. With a threshold, each value is
    /// replaced by the indicator of whether it exceeds the threshold.
    #[staticmethod]
    #[pyo3(signature = (weights, intercepts, threshold = None))]
    fn linear(weights: Weights<'_>, intercepts: Intercepts<'_>, threshold: Option<f64>) -> PyResult<Self> {
        let weights = match &weights {
            Weights::Many(weights) => rows_of(weights)?,
            Weights::One(weights) => vec![weights.to_vec().map_err(scattered)?],
        };
        let intercepts = match &intercepts {
            Intercepts::Many(intercepts) => intercepts.to_vec().map_err(scattered)?,
            Intercepts::Same(intercept) => vec![*intercept; weights.len()],
        };
        let linear = Linear::new(weights, intercepts, threshold).ok_or_else(misfit)?;
        Ok(Scores(Scorer::Linear(linear)))
    }

    /// Sums of the logarithm of a Gaussian density with independent features and the logarithm of the prior.
    #[staticmethod]
    fn gaussian(
        priors: PyReadonlyArray1<'_, f64>,
        means: PyReadonlyArray2<'_, f64>,
        variances: PyReadonlyArray2<'_, f64>,
    ) -> PyResult<Self> {
        let priors = priors.to_vec().map_err(scattered)?;
        if means.shape() != variances.shape() || means.shape()[0] != priors.len() || priors.is_empty() {
            return Err(misfit());
        }
        let diagonal = Diagonal::new(&priors, &rows_of(&means)?, &rows_of(&variances)?);
        Ok(Scores(Scorer::Diagonal(diagonal)))
    }

    /// The quantity named by `ask` (`scores`, `probabilities`, `log-probabilities` or `odds`) for every row, and
    /// whether all scores are finite. They are not finite if X contains values that are not.
    fn answer<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'_>,
        ask: &str,
        threads: usize,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, bool)> {
        let ask = match ask {
            "scores" => Ask::Scores,
            "probabilities" => Ask::Probabilities,
            "log-probabilities" => Ask::LogProbabilities,
            "odds" => Ask::Odds,
            _ => return Err(PyValueError::new_err(format!("unknown quantity {ask}"))),
        };
        let found = self.each(py, &x, threads, |design, threaded| {
            answer(&self.0, design, ask, threaded)
        })?;
        let rows = found.values.len() / found.columns.max(1);
        let values = PyArray1::from_vec(py, found.values).reshape([rows, found.columns])?;
        Ok((values, found.finite))
    }

    /// The predicted class index of each row, and whether all scores are finite.
    fn classify<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'_>,
        threads: usize,
    ) -> PyResult<(Bound<'py, PyArray1<i64>>, bool)> {
        let found = self.each(py, &x, threads, |design, threaded| {
            classify(&self.0, design, threaded)
        })?;
        Ok((PyArray1::from_vec(py, found.values), found.finite))
    }
}

impl Scores {
    fn each<T: Send>(
        &self,
        py: Python<'_>,
        x: &Matrix<'_>,
        threads: usize,
        find: impl Fn(&Design, bool) -> Answers<T> + Send + Sync,
    ) -> PyResult<Answers<T>> {
        let matrix = x.borrow()?;
        if matrix.features() != self.0.features() {
            return Err(PyValueError::new_err(format!(
                "X has {} features, and the model {}",
                matrix.features(),
                self.0.features()
            )));
        }
        if matrix.stored() < SMALL {
            return py.detach(|| run_here(|| matrix.with_design(|design| Ok(find(&design, false)))));
        }
        run(py, threads, |_| {
            matrix.with_design(|design| Ok(find(&design, true)))
        })
    }
}
