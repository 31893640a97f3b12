//! The fitted model: scores, labels, probabilities, geometry; and the file that keeps it.

mod against;
mod answer;
mod evaluate;
mod file;
mod history;
mod hyperplane;
mod plane;
mod predictor;
mod soft_margin;
mod verify;

pub use against::{AgainstRest, against_rest};
pub use answer::{Answers, Ask, answer, classify};
pub use evaluate::{Deviations, Evaluation, Judgement, evaluate, evaluate_with, judge};
pub(crate) use file::write_whole;
pub use history::History;
pub use hyperplane::Hyperplane;
pub use plane::Window;
pub use predictor::{Link, Predictor, Scores};
pub use soft_margin::{Case, SoftMargin, SupportPoint, SupportVectors, soft_margins, support_vectors};
pub(crate) use verify::certify_estimate;
pub use verify::{Verdict, verify, verify_stream};

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::certify::Certificate;
use crate::data::{Classes, Schema};
use crate::inference::Inference;
use crate::settings::{Method, Settings};
use crate::solve::{LeastSquaresReport, SolverName};
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
    /// How raw columns become features: one for all models of a path.
    pub schema: Arc<Schema>,
    /// The classes; none for a real target.
    pub classes: Classes,
    /// How it predicts.
    pub predictor: Predictor,
    /// How the fit went.
    pub fit: FitRecord,
    /// What is claimed, and proved.
    pub certificate: Certificate,
    /// Standard errors and what follows from them, where they are valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inference: Option<Inference>,
    /// Rank, condition and residuals of least squares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_squares: Option<LeastSquaresReport>,
    /// How the solver came there, for methods that minimise an objective.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<History>,
    /// The [digest](crate::data::Dataset::digest) of the rows it was trained on, where whoever trained it kept one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
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
    /// The objective that was minimised, for methods that minimise one: summed over all its problems.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<f64>,
    /// The solver that finished, and why it was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub solver: Option<Chosen>,
    /// What a person should know about the fit, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A solver and why it was chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chosen {
    /// The solver that finished.
    pub name: SolverName,
    /// Why, in a few words.
    pub why: String,
    /// Solvers that were tried before it and fell short.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<SolverName>,
}
