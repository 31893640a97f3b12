//! Separability of two classes, and the check of its proof.

use std::time::Duration;

use numpy::{PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use wstar::data::error::Error;
use wstar::data::run::Budget;
use wstar::separate::exact::Signed;
use wstar::separate::margin::{Question, separate as decide};
use wstar::separate::proof::ClassNames;
use wstar::separate::proof::Proof;

use crate::matrix::{Matrix, scattered};
use crate::run::run;

/// The question about two classes.
#[derive(FromPyObject)]
pub(crate) struct Asked {
    /// The name of the class of sign −1, and the name of the class of sign +1.
    #[pyo3(item)]
    names: (String, String),
    /// Whether hyperplanes may have an intercept.
    #[pyo3(item)]
    intercept: bool,
    /// Whether the maximum margin is also computed.
    #[pyo3(item)]
    margin: bool,
    #[pyo3(item)]
    max_seconds: Option<f64>,
}

/// Decides whether the rows of sign +1 and −1 are separable. Returns the proof as JSON (`None` if none was found within
/// the time limit), and how the search ended.
#[pyfunction]
pub(crate) fn separate(
    py: Python<'_>,
    x: Matrix<'_>,
    signs: PyReadonlyArray1<'_, i8>,
    asked: Asked,
    threads: usize,
) -> PyResult<(Option<String>, &'static str)> {
    let signs = signs.to_vec().map_err(scattered)?;
    let matrix = x.borrow()?;
    let max_time = asked.max_seconds.map(Duration::try_from_secs_f64).transpose();
    let max_time = max_time.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let budget = Budget {
        max_updates: None,
        max_time,
    };
    let (negative, positive) = asked.names;
    run(py, threads, |watch| {
        matrix.with_design(|design| {
            let signed = Signed {
                design: &design,
                signs: &signs,
                intercept: asked.intercept,
            };
            let question = if asked.margin {
                Question::Margin
            } else {
                Question::Verdict
            };
            let found = decide(
                &signed,
                ClassNames { positive, negative },
                question,
                budget,
                watch,
            )?;
            let proof = found.proof.as_ref().map(serde_json::to_string).transpose();
            let proof = proof.map_err(|error| Error::data(error.to_string()))?;
            Ok((proof, found.status.in_words()))
        })
    })
}

/// Checks in exact arithmetic whether a proof holds for the data.
#[pyfunction]
pub(crate) fn check_proof(
    py: Python<'_>,
    proof: &str,
    x: Matrix<'_>,
    signs: PyReadonlyArray1<'_, i8>,
    threads: usize,
) -> PyResult<bool> {
    let proof: Proof =
        serde_json::from_str(proof).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let signs = signs.to_vec().map_err(scattered)?;
    let matrix = x.borrow()?;
    run(py, threads, |_| {
        matrix.with_design(|design| Ok(proof.check(&design, &signs)?.holds))
    })
}
