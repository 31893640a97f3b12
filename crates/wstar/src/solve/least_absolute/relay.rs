//! The iterations on some rows, told to whoever watches the whole fit.

use std::ops::ControlFlow;

use super::preprocess::Frame;
use crate::problem::Problem;
use crate::solve::Control;
use crate::watch::{Iteration, Status, Watch};

/// Tells of the inner iterations as if they were of the whole problem, whose gap is not known yet.
pub(super) struct Relay<'r, 'a, 'c> {
    pub(super) frame: &'r Frame<'a>,
    pub(super) problem: &'r Problem<'a>,
    pub(super) control: &'r mut Control<'c>,
    /// The share of the objective that the gap may be.
    pub(super) enough: f64,
    pub(super) ended: Option<Status>,
}

impl Watch for Relay<'_, '_, '_> {
    fn iterate(&mut self, iteration: &Iteration<'_>) -> ControlFlow<()> {
        let at = self.frame.unscaled(iteration.parameters);
        self.ended = self
            .control
            .iterate(self.problem, &at, iteration.objective, f64::INFINITY);
        let size = iteration.objective.abs();
        let near = iteration.relative_gap * size.max(1.0) <= self.enough * size;
        match self.ended.is_some() || near {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}
