//! The rule that decides which example comes next.

use serde::{Deserialize, Serialize};

/// The order in which a mistake-driven learner visits the examples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Rule {
    /// The rows in order, pass after pass.
    Cyclic,
    /// The rows in a new random order in every pass.
    Shuffled,
    /// The row with the worst margin of all.
    Worst,
}
