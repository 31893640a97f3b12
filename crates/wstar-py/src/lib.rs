//! The engine of the Python package: it converts arrays to data sets and returns models. It contains no mathematics
//! and prints nothing. The scikit-learn interface (names, defaults and checks) is in `python/wstar`.
//!
//! - `data`, `matrix`: data sets from Python's arguments; matrices of Python, read without a copy.
//! - `model`: functions that fit models, and the fitted model as a Python class.
//! - `predict`: predictions from the public parameters of an estimator.
//! - `separate`: separability of two classes, and the check of its proof.
//! - `run`: computations without Python's lock, which Ctrl-C stops.
//! - `wording`: Python's names of settings and commands.

mod data;
mod matrix;
mod model;
mod predict;
mod run;
mod separate;
mod wording;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use wstar::data::error::{Error, ErrorKind};

use wording::Keywords;

/// Converts an error of the library to a Python exception whose message names settings as Python does.
fn raise(error: &Error) -> PyErr {
    raise_as(error, &Keywords::default())
}

/// Converts an error of the library to a Python exception with this wording.
fn raise_as(error: &Error, words: &Keywords) -> PyErr {
    match error.kind() {
        ErrorKind::Io => PyOSError::new_err(error.worded(words)),
        _ => PyValueError::new_err(error.worded(words)),
    }
}

/// The extension module `wstar._engine`.
#[pymodule]
mod _engine {
    #[pymodule_export]
    use super::model::{Fitted, fit, fit_each, fit_machine, tally};
    #[pymodule_export]
    use super::predict::Scores;
    #[pymodule_export]
    use super::separate::{check_proof, separate};
    #[pymodule_export]
    use super::wording::{sentences, setting_words};
}
