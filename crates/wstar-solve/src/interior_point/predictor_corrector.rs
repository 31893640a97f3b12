//! The predictor–corrector iterations for a piecewise linear or piecewise quadratic loss (Mehrotra 1992; see the
//! parent module), and when they stop.

use crate::interior_point::gap_bounds::Bounds;
use crate::interior_point::iterate::Iterate;
use crate::newton_system::scalar::Scalar;
use crate::{Control, Solution};
use wstar_data::run::Status;
use wstar_problem::objective::{Objective, Rows};
use wstar_problem::tolerance::Tolerance;

/// Iterations without progress after which the method stops. Heuristic: progress then is limited by rounding;
/// a larger value wastes iterations; not measured yet.
pub(super) const PATIENCE: u32 = 12;

/// A primal–dual interior point method for hinge, absolute, squared hinge and squared loss, and for smooth
/// losses under ℓ1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InteriorPoint {
    /// Maximum number of parameters d; every iteration factors a d × d matrix.
    pub(crate) max_parameters: usize,
    /// Maximum number of iterations.
    pub(crate) max_iterations: u64,
    /// Whether to compute in double-double arithmetic.
    pub(crate) extended: bool,
}

impl Default for InteriorPoint {
    fn default() -> Self {
        InteriorPoint {
            // Cap: more parameters are refused with an error.
            max_parameters: 4096,
            // Cap: a few dozen iterations are usual.
            max_iterations: 200,
            extended: false,
        }
    }
}

impl InteriorPoint {
    /// The method in double-double arithmetic.
    pub fn extended() -> Self {
        InteriorPoint {
            extended: true,
            ..InteriorPoint::default()
        }
    }

    pub(super) fn run<S: Scalar>(
        &self,
        objective: &Objective<'_>,
        rows: &Rows<'_>,
        start: &[f64],
        control: &mut Control<'_>,
    ) -> Solution {
        self.run_with_multiplicities::<S>(objective, rows, None, start, control)
    }

    pub(super) fn run_with_multiplicities<S: Scalar>(
        &self,
        objective: &Objective<'_>,
        rows: &Rows<'_>,
        multiplicities: Option<Vec<u32>>,
        start: &[f64],
        control: &mut Control<'_>,
    ) -> Solution {
        let mut run = Iterate::<S>::new(objective, rows, multiplicities.as_deref(), start);
        drop(multiplicities);
        let mut bounds = Bounds::new(objective, rows);
        let (status, iterations) = self.iterate(objective, &mut run, &mut bounds, control);
        let (parameters, dual) = bounds.finish(&mut run, control.tolerance);
        Solution {
            parameters,
            dual: Some(dual),
            gram: None,
            status,
            iterations,
        }
    }

    /// Iterates until `control` stops the run or no progress is made. Returns the status and the number of
    /// iterations.
    pub(super) fn iterate<S: Scalar>(
        &self,
        objective: &Objective<'_>,
        run: &mut Iterate<'_, S>,
        bounds: &mut Bounds<'_>,
        control: &mut Control<'_>,
    ) -> (Status, u64) {
        let mut step = 0.0;
        let (mut iterations, mut since_best) = (0, 0);
        let (mut first, mut last_gap) = (None, f64::INFINITY);
        let mut least = f64::INFINITY;
        let status = loop {
            let sums = run.advance(step);
            let normal = run.normal(&sums);
            let gap = bounds.update(run, &sums, normal.as_ref(), control.tolerance);
            iterations += 1;
            // The three passes: the residuals, the predictor (which needs the normal matrix), and the
            // corrector.
            control.passed(3);
            let (point, value) = (bounds.point(run), bounds.objective(&sums, run));
            if let Some(status) = control.iterate(objective, &point, value, gap) {
                break status;
            }
            let matters = complementarity_matters(sums.complementarity, value, control.tolerance);
            // Heuristic: a decrease by less than a tenth counts as none; not measured yet.
            let nearer = gap < 0.9 * last_gap || (matters && sums.complementarity < 0.9 * least);
            since_best = if nearer { 0 } else { since_best + 1 };
            last_gap = last_gap.min(gap);
            least = least.min(sums.complementarity);
            if iterations >= self.max_iterations || since_best > PATIENCE {
                break Status::IterationLimit;
            }
            let Some(normal) = normal else {
                break Status::IterationLimit;
            };
            let first = *first.get_or_insert(sums.complementarity);
            let Some(next) = run.step(&sums, &normal, first) else {
                break Status::IterationLimit;
            };
            step = next;
        };
        (status, iterations)
    }
}

/// Whether a decrease of the complementarity counts as progress. Far from the optimum it does, because no
/// dual point may be feasible yet; near the optimum it keeps decreasing although the point no longer improves.
/// Heuristic: the factor 1e-6 is not measured yet.
pub(super) fn complementarity_matters(complementarity: f64, objective: f64, tolerance: Tolerance) -> bool {
    complementarity > 1e-6 * tolerance.gap(objective)
}
