//! The events of a running fit, which a [`Watch`] receives and by which it can stop the fit. Progress bars, traces and plots
//! use the same events.

use std::ops::ControlFlow;

use crate::linear::{Hyperplane, Layout};

/// One step of a mistake-driven learner.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Step<'a> {
    /// The number of the step, from 1; every example that is presented counts as one.
    pub step: u64,
    /// The row that was presented, from 0.
    pub row: u64,
    /// The discriminant: 0 for two classes, else the class that it separates from the rest.
    pub discriminant: usize,
    /// The number of discriminants.
    pub discriminants: usize,
    /// The score before the update.
    pub score: f64,
    /// Whether it was a mistake, so that the weights were updated.
    pub mistake: bool,
    /// The hyperplane after the step.
    pub hyperplane: &'a Hyperplane,
    /// The margin interval after the step, for methods that narrow one.
    pub interval: Option<(f64, f64)>,
}

impl<'a> Step<'a> {
    /// A step without a mistake, of the only discriminant, with a score of 0. The caller sets what differs.
    pub fn new(step: u64, row: u64, hyperplane: &'a Hyperplane) -> Self {
        Step {
            step,
            row,
            discriminant: 0,
            discriminants: 1,
            score: 0.0,
            mistake: false,
            hyperplane,
            interval: None,
        }
    }
}

/// The progress of a learner over its examples.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The number of completed passes.
    pub passes: u64,
    /// The number of examples presented, repetitions included.
    pub seen: u64,
    /// The number of examples whose class was predicted wrongly before the update.
    pub mistakes: u64,
    /// The number of updates of all discriminants.
    pub updates: u64,
    /// The margin interval, for methods that narrow one.
    pub interval: Option<(f64, f64)>,
}

impl Progress {
    /// The progress of a method without a margin interval.
    pub fn new(passes: u64, seen: u64, mistakes: u64, updates: u64) -> Self {
        Progress {
            passes,
            seen,
            mistakes,
            updates,
            interval: None,
        }
    }
}

/// One iteration of a solver.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Iteration<'a> {
    /// The solver's name.
    pub solver: &'static str,
    /// The number of the iteration, from 1, counted over all solvers of the fit.
    pub iteration: u64,
    /// The number of passes over the data so far.
    pub passes: u64,
    /// The objective.
    pub objective: f64,
    /// The solver's own estimate of the relative gap; infinite as long as it has none.
    pub relative_gap: f64,
    /// The parameters.
    pub parameters: &'a [f64],
    /// The layout of the parameters.
    pub layout: Layout,
}

impl<'a> Iteration<'a> {
    /// An iteration before any pass over the data, without an estimate of the gap. The caller sets what differs.
    pub fn new(
        solver: &'static str,
        iteration: u64,
        objective: f64,
        parameters: &'a [f64],
        layout: Layout,
    ) -> Self {
        Iteration {
            solver,
            iteration,
            passes: 0,
            objective,
            relative_gap: f64::INFINITY,
            parameters,
            layout,
        }
    }
}

/// One step of a stochastic solver within an iteration.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Stride<'a> {
    /// The number of the step, from 1; every batch is one step.
    pub step: u64,
    /// The learning rate of the step.
    pub rate: f64,
    /// The parameters after the step.
    pub parameters: &'a [f64],
    /// The layout of the parameters.
    pub layout: Layout,
}

impl<'a> Stride<'a> {
    /// A step at a learning rate, which ends at these parameters.
    pub fn new(step: u64, rate: f64, parameters: &'a [f64], layout: Layout) -> Self {
        Stride {
            step,
            rate,
            parameters,
            layout,
        }
    }
}

/// Receives the events of a running fit. Every method that returns a [`ControlFlow`] can stop the fit with
/// [`ControlFlow::Break`].
///
/// ```
/// use std::ops::ControlFlow;
/// use wstar_data::linear::Layout;
/// use wstar_data::run::{Iteration, Watch};
///
/// /// Stops a fit as soon as the objective is small enough.
/// struct Until(f64);
///
/// impl Watch for Until {
///     fn iterate(&mut self, now: &Iteration<'_>) -> ControlFlow<()> {
///         match now.objective <= self.0 {
///             true => ControlFlow::Break(()),
///             false => ControlFlow::Continue(()),
///         }
///     }
/// }
///
/// let layout = Layout { outputs: 1, features: 0, intercept: true };
/// assert!(Until(0.5).iterate(&Iteration::new("newton", 1, 0.75, &[0.0], layout)).is_continue());
/// assert!(Until(0.5).iterate(&Iteration::new("newton", 2, 0.25, &[0.1], layout)).is_break());
/// ```
pub trait Watch {
    /// Whether [`step`](Watch::step) and [`stride`](Watch::stride) are to be called. A fit without these calls is faster.
    fn wants_steps(&self) -> bool {
        false
    }

    /// Called after every step, if [`wants_steps`](Watch::wants_steps).
    fn step(&mut self, _step: &Step<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Called after every batch of a stochastic solver, if [`wants_steps`](Watch::wants_steps).
    fn stride(&mut self, _stride: &Stride<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Called occasionally, and at the end of every pass.
    fn progress(&mut self, _progress: &Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Called after every iteration of a solver.
    fn iterate(&mut self, _iteration: &Iteration<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Called when the solver has finished and the certificate is about to be computed.
    fn certifying(&mut self) {}
}

/// A [`Watch`] that ignores all events and never stops the fit.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Watch for Unwatched {}
