//! The budget, the watcher and the counters of one search.

use std::ops::ControlFlow;
use std::time::Instant;

use wstar_data::run::{Budget, BudgetClock, Progress, Status, Watch};

/// Calls of `stop` between two readings of the clock. Heuristic: trades the cost of a reading for the delay
/// of a stop; not measured yet.
const CLOCK_INTERVAL: u64 = 16;

/// The budget, the watcher and the counters of one search.
pub(super) struct Session<'w> {
    clock: BudgetClock,
    deadline: Option<Instant>,
    watch: &'w mut dyn Watch,
    /// Passes over the rows.
    pub(super) passes: u64,
    /// Active-set changes.
    pub(super) pivots: u64,
    seen: u64,
    stop_calls: u64,
    /// Why the search was stopped; `None` while it runs.
    pub(super) stopped: Option<Status>,
}

impl<'w> Session<'w> {
    pub(super) fn start(budget: Budget, watch: &'w mut dyn Watch) -> Self {
        Session {
            clock: BudgetClock::start(budget),
            deadline: budget.max_time.and_then(|time| Instant::now().checked_add(time)),
            watch,
            passes: 0,
            pivots: 0,
            seen: 0,
            stop_calls: 0,
            stopped: None,
        }
    }

    /// Whether to stop. Cheap enough to be called at every active-set change.
    pub(super) fn stop(&mut self) -> bool {
        self.stop_calls += 1;
        if self.stopped.is_none() && self.stop_calls % CLOCK_INTERVAL == 1 {
            self.stopped = self.clock.used_up(self.pivots);
        }
        self.stopped.is_some()
    }

    /// Reports a pass over `rows` rows with `violated` of them violated. Returns whether to stop.
    pub(super) fn record_pass(&mut self, rows: usize, violated: usize) -> bool {
        self.passes += 1;
        self.seen += rows as u64;
        let progress = Progress::new(self.passes, self.seen, violated as u64, self.pivots);
        if self.watch.progress(&progress) == ControlFlow::Break(()) {
            self.stopped.get_or_insert(Status::Stopped);
        }
        if let Some(status) = self.clock.used_up(self.pivots) {
            self.stopped.get_or_insert(status);
        }
        self.stopped.is_some()
    }

    /// The remaining time, as a deadline for exact arithmetic.
    pub(super) fn exact_budget(&self) -> crate::exact::Deadline {
        match self.deadline {
            None => crate::exact::Deadline::unlimited(),
            Some(deadline) => {
                crate::exact::Deadline::within(deadline.saturating_duration_since(Instant::now()))
            }
        }
    }

    /// Reports to the watcher that the proof is about to be made.
    pub(super) fn certifying(&mut self) {
        self.watch.certifying();
    }
}
