//! A search that is being watched: its budget, and what has been done so far.

use std::ops::ControlFlow;
use std::time::Instant;

use crate::watch::{Budget, Progress, Spending, Status, Watch};

/// Calls between two looks at the clock.
const LOOK: u64 = 16;

/// Budget, watcher and counts of one search.
pub(super) struct Session<'w> {
    spending: Spending,
    deadline: Option<Instant>,
    watch: &'w mut dyn Watch,
    /// Passes over all rows.
    pub(super) passes: u64,
    /// Changes of active sets.
    pub(super) pivots: u64,
    seen: u64,
    asked: u64,
    /// Why it was stopped, if it was.
    pub(super) stopped: Option<Status>,
}

impl<'w> Session<'w> {
    pub(super) fn start(budget: Budget, watch: &'w mut dyn Watch) -> Self {
        Session {
            spending: Spending::start(budget),
            deadline: budget.max_time.and_then(|time| Instant::now().checked_add(time)),
            watch,
            passes: 0,
            pivots: 0,
            seen: 0,
            asked: 0,
            stopped: None,
        }
    }

    /// Whether to stop; cheap enough to be asked at every change.
    pub(super) fn stop(&mut self) -> bool {
        self.asked += 1;
        if self.stopped.is_none() && self.asked % LOOK == 1 {
            self.stopped = self.spending.used_up(self.pivots);
        }
        self.stopped.is_some()
    }

    /// Says that all of `rows` were looked at and `violated` were on the wrong side; whether to stop.
    pub(super) fn passed(&mut self, rows: usize, violated: usize) -> bool {
        self.passes += 1;
        self.seen += rows as u64;
        let progress = Progress {
            passes: self.passes,
            seen: self.seen,
            mistakes: violated as u64,
            updates: self.pivots,
            interval: None,
        };
        if self.watch.progress(&progress) == ControlFlow::Break(()) {
            self.stopped.get_or_insert(Status::Stopped);
        }
        if let Some(status) = self.spending.used_up(self.pivots) {
            self.stopped.get_or_insert(status);
        }
        self.stopped.is_some()
    }

    /// What is left of the time, for exact arithmetic.
    pub(super) fn exact_budget(&self) -> crate::exact::Budget {
        match self.deadline {
            None => crate::exact::Budget::unlimited(),
            Some(deadline) => {
                crate::exact::Budget::within(deadline.saturating_duration_since(Instant::now()))
            }
        }
    }

    /// Says that the answer is about to be proved.
    pub(super) fn certifying(&mut self) {
        self.watch.certifying();
    }
}
