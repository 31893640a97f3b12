//! Seeing a fit while it runs, and stopping it: progress bars, traces and the pictures all watch the same events.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::model::Hyperplane;
use crate::oracle::Layout;

/// What happened at one step of a mistake-driven learner.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// The step, from 1: every look at an example is one.
    pub step: u64,
    /// The row that was looked at, from 0.
    pub row: u64,
    /// Which discriminant looked: 0 for two classes, else the class that stands against the rest.
    pub discriminant: usize,
    /// How many discriminants there are.
    pub discriminants: usize,
    /// The score before the update.
    pub score: f64,
    /// Whether it was a mistake, so that the weights were moved.
    pub mistake: bool,
    /// The hyperplane after the step.
    pub hyperplane: &'a Hyperplane,
    /// The margin interval after the step, for methods that narrow one.
    pub interval: Option<(f64, f64)>,
}

/// How a run over examples is going.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Progress {
    /// Passes completed.
    pub passes: u64,
    /// Examples seen, repeats counted.
    pub seen: u64,
    /// Examples whose class was predicted wrongly just before they were learnt from.
    pub mistakes: u64,
    /// Updates made, over all discriminants.
    pub updates: u64,
    /// The margin interval, for methods that narrow one.
    pub interval: Option<(f64, f64)>,
}

/// How an iterative solver is going.
#[derive(Debug, Clone, Copy)]
pub struct Iteration<'a> {
    /// The solver's name.
    pub solver: &'static str,
    /// The iteration, from 1, over all solvers of the fit.
    pub iteration: u64,
    /// Passes over the data so far.
    pub passes: u64,
    /// The objective.
    pub objective: f64,
    /// The solver's own estimate of the relative gap; infinite where it has none yet.
    pub relative_gap: f64,
    /// The parameters.
    pub parameters: &'a [f64],
    /// How they lie.
    pub layout: Layout,
}

/// A point on the way from one iteration of a stochastic solver to the next.
#[derive(Debug, Clone, Copy)]
pub struct Stride<'a> {
    /// The step, from 1: every batch is one.
    pub step: u64,
    /// Its learning rate.
    pub rate: f64,
    /// The parameters after it.
    pub parameters: &'a [f64],
    /// How they lie.
    pub layout: Layout,
}

/// Sees a fit while it runs. Every method may end it by returning [`ControlFlow::Break`].
pub trait Watch {
    /// Whether [`step`](Watch::step) and [`stride`](Watch::stride) are to be called at all: a fit that nobody follows
    /// step by step is faster.
    fn wants_steps(&self) -> bool {
        false
    }

    /// Called after every step, if it is wanted.
    fn step(&mut self, _step: &Step<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Called after every batch of a stochastic solver, if it is wanted.
    fn stride(&mut self, _stride: &Stride<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Called now and then, and at the end of every pass.
    fn progress(&mut self, _progress: &Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Called after every iteration of a solver.
    fn iterate(&mut self, _iteration: &Iteration<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Called when the method has ended and its claim is about to be checked.
    fn certifying(&mut self) {}
}

/// Watches nothing and never stops.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Watch for Unwatched {}

/// How a fit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// It reached what its method promises.
    Converged,
    /// It did the passes it was asked for; its method promises no more.
    Completed,
    /// It used up its passes or updates first.
    IterationLimit,
    /// It used up its time first.
    TimeLimit,
    /// It was stopped from outside.
    Stopped,
    /// It cannot converge: what it looks for does not exist.
    Diverging,
}

impl Status {
    /// Whether the fit did all that was asked.
    pub fn is_success(self) -> bool {
        matches!(self, Status::Converged | Status::Completed)
    }

    /// The same in words.
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

/// How much work a fit may do.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Budget {
    /// At most this many updates.
    pub max_updates: Option<u64>,
    /// At most this long.
    pub max_time: Option<Duration>,
}

/// A budget that is being used up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spending {
    budget: Budget,
    started: Instant,
}

impl Spending {
    pub(crate) fn start(budget: Budget) -> Self {
        Spending {
            budget,
            started: Instant::now(),
        }
    }

    /// The status to end with, if the budget is used up.
    pub(crate) fn used_up(&self, updates: u64) -> Option<Status> {
        if self.budget.max_updates.is_some_and(|most| updates >= most) {
            return Some(Status::IterationLimit);
        }
        // Asking for the time costs more than a short row's dot product, so the callers ask now and then.
        let late = self
            .budget
            .max_time
            .is_some_and(|most| self.started.elapsed() >= most);
        late.then_some(Status::TimeLimit)
    }
}
