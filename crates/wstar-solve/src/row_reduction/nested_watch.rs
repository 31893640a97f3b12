//! Reports the iterations of a subproblem to the watch of the whole fit.

use std::ops::ControlFlow;

use crate::Control;
use crate::row_reduction::Frame;
use wstar_data::run::{Iteration, Status, Watch};
use wstar_problem::objective::Objective;

/// Reports inner iterations as iterations of the whole problem, whose gap is not known yet.
pub(crate) struct NestedWatch<'r, 'a, 'c> {
    pub(crate) frame: &'r Frame<'a>,
    pub(crate) objective: &'r Objective<'a>,
    pub(crate) control: &'r mut Control<'c>,
    /// The subproblem's gap, relative to its objective, at which it stops.
    pub(crate) enough: f64,
    /// The status with which the whole fit should end, if it should.
    pub(crate) ended: Option<Status>,
}

impl Watch for NestedWatch<'_, '_, '_> {
    fn iterate(&mut self, iteration: &Iteration<'_>) -> ControlFlow<()> {
        let at = self.frame.unscaled(iteration.parameters);
        self.ended = self
            .control
            .iterate(self.objective, &at, iteration.objective, f64::INFINITY);
        let near = iteration.relative_gap <= self.enough;
        match self.ended.is_some() || near {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}
