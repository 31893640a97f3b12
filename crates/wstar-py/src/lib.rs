//! The engine of the Python package: arrays in, models out. It holds no mathematics and prints nothing; names,
//! defaults and checks that users of scikit-learn know are in `python/wstar`.

mod data;
mod matrix;
mod model;
mod predict;
mod run;
mod separate;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use wstar::{Error, ErrorKind};

/// An error of the library in Python's terms, with the library's words.
fn raise(error: &Error) -> PyErr {
    match error.kind() {
        ErrorKind::Io => PyOSError::new_err(error.to_string()),
        ErrorKind::Model | ErrorKind::Parse => PyValueError::new_err(error.to_string()),
        // Hints name options of the command line.
        _ => PyValueError::new_err(error.message().to_owned()),
    }
}

/// The engine.
#[pymodule]
mod _engine {
    #[pymodule_export]
    use super::model::{Fitted, fit, fit_each, fit_machine, tally};
    #[pymodule_export]
    use super::predict::Scores;
    #[pymodule_export]
    use super::separate::{check_proof, separate};
}
