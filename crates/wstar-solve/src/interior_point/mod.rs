//! A primal–dual interior point method with a predictor–corrector step (Mehrotra, On the implementation of a
//! primal-dual interior point method, SIAM J. Optimization 2, 1992). It solves piecewise linear and piecewise
//! quadratic losses (hinge, absolute, squared hinge, squared), and all smooth losses under ℓ1
//! (`smooth_l1.rs`).
//!
//! Problem: minimise R(θ) + Σᵢ cᵢ ℓᵢ(zᵢ) with z = X̃θ, where R is ℓ2, ℓ1, the elastic net or absent. The
//! losses have the form ℓ(z) = max over lo ≤ s ≤ hi of s(z − at) − s²/(2κ) with curvature κ
//! (`piecewise_loss.rs`; κ = ∞ for a kink). An ℓ1 penalty has the same form: a kink at θⱼ = 0 with weight l1,
//! so it adds d entries to the n entries of the rows.
//!
//! Method: for each entry (`complementarity.rs`) the slope s = lo + p = hi − q and its multipliers u, v are
//! kept strictly inside their bounds. The optimality conditions are
//!
//! > l2·θ + X̃ᵀ(c·s) = 0,  v − u = z − at − s/κ,  pu = qv = 0,
//!
//! and each iteration takes a Newton step towards pu = qv = τ. Eliminating everything except θ leaves the
//! system (l2 + X̃ᵀ diag(c·g) X̃) dθ = …, with g = 1/(u/p + v/q + 1/κ). An iteration costs one Gram matrix
//! and three passes. Columns are scaled to size 1 by powers of two, which is exact; the penalty is unchanged.
//!
//! **One barrier weight.** All entries, of rows and of ℓ1, have the same weight c in the barrier; their own
//! weights are moved into the intervals of their slopes. With a barrier weighted by cᵢ and by l1/‖Xⱼ‖, which
//! can differ by twenty orders of magnitude, the central path is so curved that ten times as many steps are
//! needed.
//!
//! **Precision.** Near the optimum g spans all magnitudes. If columns have very different norms or are nearly
//! collinear, or if there are fewer rows than columns, the condition number of the system exceeds 10¹⁶ long
//! before the gap is small. The method is therefore generic over `Scalar`: in double-double arithmetic, at
//! about thirty times the cost, condition numbers up to 10³⁰ are harmless. The automatic plan uses it as a
//! last resort, while the work is affordable.
//!
//! - `iterate`, `complementarity`, `piecewise_loss`: the iterate, one entry of it, and its loss
//! - `predictor_corrector`: the iterations for a piecewise loss
//! - `gap_bounds`: the best feasible primal and dual points
//! - `smooth_l1`: the method for a smooth loss under ℓ1
//! - `rows_near_margin`: hinge loss on many rows, reduced to the rows near the margin

mod complementarity;
mod gap_bounds;
mod iterate;
mod piecewise_loss;
mod predictor_corrector;
mod rows_near_margin;
mod smooth_l1;

pub(super) use crate::newton_system::Normal;
pub use predictor_corrector::InteriorPoint;

use gap_bounds::Bounds;
use iterate::Iterate;
use piecewise_loss::PiecewiseLoss;

use crate::{Control, Solution, Solver, SolverName};
use wstar_data::error::{Remedy, Result};
use wstar_data::setting::Setting;
use wstar_numeric::double_double::DoubleDouble;
use wstar_problem::loss::LossName;
use wstar_problem::objective::Objective;
use wstar_problem::objective::{AggregatedRows, Rows};

/// Largest number of multiplications per iteration in double-double arithmetic. Cap: beyond it the solver
/// refuses the problem; each multiplication takes some nanoseconds.
const MAX_EXTENDED_WORK: f64 = 2e9;

impl Solver for InteriorPoint {
    fn name(&self) -> SolverName {
        if self.extended {
            SolverName::ExtendedInteriorPoint
        } else {
            SolverName::InteriorPoint
        }
    }

    fn check(&self, objective: &Objective<'_>) -> Result<()> {
        let piecewise = PiecewiseLoss::new(objective.problem.loss(), 1.0).is_some();
        let smooth = objective.problem.loss().is_convex()
            && !objective.problem.penalty().is_smooth()
            && !self.extended;
        if !piecewise && !smooth {
            return Err(self
                .name()
                .refuses(format!(
                    "is not for {} loss with this penalty",
                    objective.problem.loss().name()
                ))
                .remedy(SolverName::any([SolverName::Newton, SolverName::Lbfgs])));
        }
        let Some(rows) = &objective.rows else {
            return Err(self
                .name()
                .refuses("needs all rows in memory")
                .remedy(Remedy::LeaveOut(Setting::Stream)));
        };
        let parameters = objective.problem.layout().len();
        if parameters > self.max_parameters {
            return Err(self
                .name()
                .refuses(format!(
                    "factors a matrix of {parameters} × {parameters} in every iteration; {} is the most",
                    self.max_parameters
                ))
                .remedy(SolverName::any([SolverName::DualCoordinateDescent])));
        }
        let width = parameters as f64;
        let stored = rows.design.stored() as f64;
        if self.extended && (stored + width * width / 3.0) * width / 2.0 > MAX_EXTENDED_WORK {
            return Err(self
                .name()
                .refuses(format!(
                    "calculates in double-double, for which {} × {parameters} are too many",
                    rows.len()
                ))
                .remedy(SolverName::any([SolverName::InteriorPoint])));
        }
        Ok(())
    }

    fn solve(
        &self,
        objective: &mut Objective<'_>,
        start: &[f64],
        control: &mut Control<'_>,
    ) -> Result<Solution> {
        self.check(objective)?;
        control.enter(self.name());
        if PiecewiseLoss::new(objective.problem.loss(), 1.0).is_none() {
            return smooth_l1::run(self, objective, control);
        }
        let objective = &*objective;
        let rows = self.name().rows_of(objective)?;
        if self.extended {
            return Ok(self.run::<DoubleDouble>(objective, rows, start, control));
        }
        // Equal rows are merged first, because every row has a large state and every iteration makes several
        // passes.
        let Some(mut merged) = AggregatedRows::of(rows) else {
            return self.solve_rows(objective, rows, start, control);
        };
        let counts = merged.take_counts();
        let few = merged.rows();
        let mut solution = self.run_with_multiplicities::<f64>(objective, &few, Some(counts), start, control);
        solution.dual = solution.dual.map(|dual| merged.expand(&dual, rows));
        Ok(solution)
    }
}

impl InteriorPoint {
    /// Solves in `f64`, over the rows near the margin only where that is possible.
    fn solve_rows(
        &self,
        objective: &Objective<'_>,
        rows: &Rows<'_>,
        start: &[f64],
        control: &mut Control<'_>,
    ) -> Result<Solution> {
        if objective.problem.loss() == LossName::Hinge
            && objective.problem.penalty().l2 > 0.0
            && let Some(solution) = rows_near_margin::solve(self, objective, rows, start, control)?
        {
            return Ok(solution);
        }
        Ok(self.run::<f64>(objective, rows, start, control))
    }

    /// The point at which `control` stops the iterations, without a dual point.
    pub(super) fn approximate_optimum(
        &self,
        objective: &Objective<'_>,
        start: &[f64],
        control: &mut Control<'_>,
    ) -> Result<Vec<f64>> {
        self.check(objective)?;
        control.enter(self.name());
        let rows = self.name().rows_of(objective)?;
        let mut run = Iterate::<f64>::new(objective, rows, None, start);
        let mut bounds = Bounds::new(objective, rows);
        self.iterate(objective, &mut run, &mut bounds, control);
        Ok(bounds.point(&run))
    }
}
