//! The budget of a fit: limits of updates and time, and a clock that checks them.

use std::time::{Duration, Instant};

use crate::run::Status;

/// The limits of a fit.
///
/// ```
/// use std::time::Duration;
/// use wstar_data::run::{Budget, BudgetClock, Status};
/// let budget = Budget { max_updates: Some(100), max_time: Some(Duration::from_secs(60)) };
/// let clock = BudgetClock::start(budget);
/// assert_eq!(clock.used_up(99), None);
/// assert_eq!(clock.used_up(100), Some(Status::IterationLimit));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Budget {
    /// The maximum number of updates.
    pub max_updates: Option<u64>,
    /// The maximum time.
    pub max_time: Option<Duration>,
}

/// A budget with the time at which the fit started.
#[derive(Debug, Clone, Copy)]
pub struct BudgetClock {
    budget: Budget,
    started: Instant,
}

impl BudgetClock {
    /// Starts the clock.
    pub fn start(budget: Budget) -> Self {
        BudgetClock {
            budget,
            started: Instant::now(),
        }
    }

    /// The status with which to end if the budget is used up.
    pub fn used_up(&self, updates: u64) -> Option<Status> {
        if self.budget.max_updates.is_some_and(|most| updates >= most) {
            return Some(Status::IterationLimit);
        }
        // Reading the clock costs more than the dot product of a short row, so callers check only occasionally.
        let late = self
            .budget
            .max_time
            .is_some_and(|most| self.started.elapsed() >= most);
        late.then_some(Status::TimeLimit)
    }
}
