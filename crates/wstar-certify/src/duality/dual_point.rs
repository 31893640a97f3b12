//! How the dual point of a claim is recomputed from the model and the data.

use serde::{Deserialize, Serialize};

use crate::duality::stored_multipliers::StoredDual;

/// How the dual point is recomputed from the model and the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DualPoint {
    /// From the slopes of the loss at the scores of the model.
    Slopes,
    /// From the slopes, except for the given rows, whose scores lie on the kink.
    Stored(StoredDual),
}

impl DualPoint {
    /// Whether the stored multipliers can be decoded.
    pub fn is_whole(&self) -> bool {
        match self {
            DualPoint::Slopes => true,
            DualPoint::Stored(stored) => stored.pairs().is_ok(),
        }
    }
}
