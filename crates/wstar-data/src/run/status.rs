//! The status of a fit at its end.

use serde::{Deserialize, Serialize};

/// How a fit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Status {
    /// The stopping criterion of the method is met.
    Converged,
    /// All requested passes are done; the method has no other stopping criterion.
    Completed,
    /// The limit of passes or updates was reached first.
    IterationLimit,
    /// The time limit was reached first.
    TimeLimit,
    /// The caller stopped it.
    Stopped,
    /// It cannot converge, because no solution exists.
    Diverging,
}

impl Status {
    /// Whether the fit did everything it was asked to do.
    pub fn is_success(self) -> bool {
        matches!(self, Status::Converged | Status::Completed)
    }

    /// The status in words.
    pub fn in_words(self) -> &'static str {
        match self {
            Status::Converged => "converged",
            Status::Completed => "completed",
            Status::IterationLimit => "stopped at its limit of passes or updates",
            Status::TimeLimit => "stopped at its limit of time",
            Status::Stopped => "stopped from outside",
            Status::Diverging => "cannot converge",
        }
    }
}
