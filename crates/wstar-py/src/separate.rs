//! How two classes lie, with the proof.

use std::time::Duration;

use numpy::{PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use wstar::Error;
use wstar::certify::Proof;
use wstar::certify::proof::Classes;
use wstar::exact::Signed;
use wstar::margin::{Question, separate as decide};
use wstar::watch::Budget;

use crate::matrix::Matrix;
use crate::run::run;

/// What is asked about two classes.
#[derive(FromPyObject)]
pub(crate) struct Asked {
    /// The names of the class of sign −1 and of that of sign +1.
    #[pyo3(item)]
    names: (String, String),
    /// Whether hyperplanes have an intercept.
    #[pyo3(item)]
    intercept: bool,
    /// Whether the largest margin is looked for, too.
    #[pyo3(item)]
    margin: bool,
    #[pyo3(item)]
    max_seconds: Option<f64>,
}

fn signs_of(signs: &PyReadonlyArray1<'_, i8>) -> PyResult<Vec<i8>> {
    signs
        .to_vec()
        .map_err(|_| PyValueError::new_err("the array does not lie together in memory"))
}

/// Decides how the rows of sign +1 and −1 lie: the proof as JSON (none if it was not found in time), and how the
/// search ended.
#[pyfunction]
pub(crate) fn separate(
    py: Python<'_>,
    x: Matrix<'_>,
    signs: PyReadonlyArray1<'_, i8>,
    asked: Asked,
    threads: usize,
) -> PyResult<(Option<String>, &'static str)> {
    let signs = signs_of(&signs)?;
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
            let found = decide(&signed, Classes { positive, negative }, question, budget, watch)?;
            let proof = found.proof.as_ref().map(serde_json::to_string).transpose();
            let proof = proof.map_err(|error| Error::data(error.to_string()))?;
            Ok((proof, found.status.in_words()))
        })
    })
}

/// Re-checks a proof by the data, in exact arithmetic: whether it holds.
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
    let signs = signs_of(&signs)?;
    let matrix = x.borrow()?;
    run(py, threads, |_| {
        matrix.with_design(|design| Ok(proof.check(&design, &signs)?.holds))
    })
}
