//! The record of a fit: how it ended, its counts, and the solver of the result.

use serde::{Deserialize, Deserializer, Serialize};

use crate::model::Note;
use wstar_data::run::Status;
use wstar_solve::{Reason, SolverName};

/// How a fit ended, and its counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FitRecord {
    /// How the fit ended.
    pub status: Status,
    /// Rows in the training set.
    pub rows: u64,
    /// Passes over the data.
    pub passes: u64,
    /// Updates made, or other steps of the method.
    pub iterations: u64,
    /// Examples seen, including repeats.
    pub seen: u64,
    /// Mistakes in each pass: examples misclassified immediately before the update on them.
    pub mistakes_by_pass: Vec<u64>,
    /// The minimum found, for methods that minimise an objective; summed over all subproblems.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<f64>,
    /// The solver of the result, and why it was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub solver: Option<Chosen>,
    /// Notes for the user.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::note::read"
    )]
    pub notes: Vec<Note>,
}

/// A solver and the reason for choosing it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Chosen {
    /// The solver that produced the result.
    pub name: SolverName,
    /// The reason.
    #[serde(deserialize_with = "reason")]
    pub why: Reason,
    /// Solvers tried before it whose certificate did not hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<SolverName>,
}

/// Deserialises the reason of a choice. Earlier versions wrote it in words, and some of these words are no variant's.
fn reason<'de, D: Deserializer<'de>>(file: D) -> std::result::Result<Reason, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Reason(Reason),
        Words(String),
    }
    Ok(match Written::deserialize(file)? {
        Written::Reason(reason) => reason,
        Written::Words(words) => Reason::from_earlier(&words),
    })
}
