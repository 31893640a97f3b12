//! How an exact computation can end.

/// The outcome of an exact computation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExactOutcome<T> {
    /// The exact result.
    Found(T),
    /// There is no solution among the candidates.
    Absent,
    /// The time or the memory allowed was not enough to decide.
    BudgetSpent,
}

impl<T> ExactOutcome<T> {
    /// The result, if there is one.
    pub fn found(self) -> Option<T> {
        match self {
            ExactOutcome::Found(value) => Some(value),
            ExactOutcome::Absent | ExactOutcome::BudgetSpent => None,
        }
    }
}

/// Why a computation ended without a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// There is no solution.
    Absent,
    /// The deadline has passed, or the problem exceeds a size limit.
    BudgetSpent,
    /// The prime is unlucky: the data have other ranks modulo it than over the rationals.
    BadPrime,
}
