//! The fitted model: scores, labels, probabilities, geometry; and the file that keeps it.

mod evaluate;
mod file;
mod hyperplane;
mod predictor;
mod verify;

pub use evaluate::{Evaluation, evaluate, evaluate_with};
pub use hyperplane::Hyperplane;
pub use predictor::{Predictor, Scores};
pub(crate) use verify::certify_estimate;
pub use verify::{Verdict, verify};

use serde::{Deserialize, Serialize};

use crate::certify::Certificate;
use crate::data::{Classes, Schema};
use crate::settings::{Method, Settings};
use crate::watch::Status;

/// Everything needed to predict from a raw row, and to check what is claimed about it.
///
/// Nothing in it depends on when or where it was made: the same data, settings and seed give the same file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// The method that made it.
    pub method: Method,
    /// The settings it was made with.
    pub settings: Settings,
    /// How raw columns become features.
    pub schema: Schema,
    /// The classes.
    pub classes: Classes,
    /// How it predicts.
    pub predictor: Predictor,
    /// How the fit went.
    pub fit: FitRecord,
    /// What is claimed, and proved.
    pub certificate: Certificate,
}

/// How a fit went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FitRecord {
    /// How it ended.
    pub status: Status,
    /// Rows in the training set.
    pub rows: u64,
    /// Passes over the data.
    pub passes: u64,
    /// Updates made, or other steps of the method.
    pub iterations: u64,
    /// Examples seen, repeats counted.
    pub seen: u64,
    /// Examples whose class was predicted wrongly just before they were learnt from, pass by pass.
    pub mistakes_by_pass: Vec<u64>,
}
