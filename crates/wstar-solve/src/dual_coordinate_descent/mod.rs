//! Dual coordinate descent for an ℓ2 penalty, with shrinking (C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S.
//! Keerthi and S. Sundararajan, A dual coordinate descent method for large-scale linear SVM, ICML 2008;
//! for the logistic loss H.-F. Yu, F.-L. Huang and C.-J. Lin, Dual coordinate descent methods for
//! logistic regression and maximum entropy models, Machine Learning 85, 2011).
//!
//! Problem: minimise ‖X̃ᵀα‖²/(2·l2) + Σᵢ cᵢ ℓ\*(yᵢ, −αᵢ/cᵢ) over α, the negated dual of the ℓ2-penalised
//! problem.
//!
//! Method: each epoch updates one multiplier αᵢ after another in random order and keeps w = X̃ᵀα/l2 up to
//! date, so an epoch reads the active rows twice. A row whose multiplier is at a bound, and whose slope
//! keeps it there, is left out (shrunk) until the next evaluation of the gap. Momentum is applied between
//! epochs. Where epochs converge slowly, conjugate gradients minimise over the face of the box that the
//! epochs have identified.
//!
//! A penalised intercept is a feature with the constant value 1. A free intercept is the Lagrange
//! multiplier of the constraint Σα = 0 and is found by an augmented Lagrangian (M. R. Hestenes,
//! Multiplier and gradient methods, J. Optimization Theory and Applications 4, 1969; M. J. D. Powell, A
//! method for nonlinear constraints in minimization problems, in Optimization, ed. R. Fletcher, 1969): b
//! = β + ρ·Σα, which is a feature with the constant value √ρ plus the offset β.
//!
//! The result depends on the seed only, not on the number of threads.
//!
//! - `coordinate_step`: the minimiser over one multiplier
//! - `dual_state`: the multipliers, the weights and both objectives
//! - `violations`: the violation of the optimality conditions, which decides what is shrunk
//! - `epoch`: one pass over the active rows, by one or two workers
//! - `schedule`: runs the epochs and decides when the gap is evaluated
//! - `momentum`: the best combination of the last two steps
//! - `face_conjugate_gradients`: conjugate gradients on a face of the box

mod coordinate_step;
mod dual_state;
mod epoch;
mod face_conjugate_gradients;
mod momentum;
mod schedule;
mod violations;

use dual_state::{Best, DualState};
use epoch::{Active, EpochReport};
use momentum::Momentum;
use schedule::EvaluationSchedule;

use crate::{Control, Solution, Solver, SolverName};
use wstar_data::error::{Remedy, Result};
use wstar_data::run::Status;
use wstar_data::setting::Setting;
use wstar_problem::loss::LossName;
use wstar_problem::objective::Objective;
use wstar_problem::problem::Intercept;

/// Epochs in which the offset β of a free intercept is reset to the best intercept for the current weights.
/// Heuristic: it helps early on, but later it would undo the progress of the multiplier updates; not measured
/// yet.
const OFFSET_UNTIL: u64 = 6;

/// Relative gap below which searching a face is worthwhile. Heuristic: at a larger gap the active face is
/// usually not identified yet; not measured yet.
const FACE_MAX_GAP: f64 = 1e-3;
/// Epochs after which faces are searched at any gap, and also for losses with a curved conjugate. Heuristic:
/// most problems have converged by then; not measured yet.
const FACE_AFTER_EPOCHS: u64 = 20;

/// Dual coordinate descent for an ℓ2 penalty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DualCoordinateDescent {
    /// Seed of the random order of the rows.
    pub seed: u64,
    /// Maximum number of epochs.
    pub max_epochs: u64,
}

impl Default for DualCoordinateDescent {
    fn default() -> Self {
        DualCoordinateDescent {
            seed: 0,
            // Cap: the run ends with the iteration limit as its status.
            max_epochs: 1000,
        }
    }
}

impl Solver for DualCoordinateDescent {
    fn name(&self) -> SolverName {
        SolverName::DualCoordinateDescent
    }

    fn check(&self, objective: &Objective<'_>) -> Result<()> {
        let convex = objective.problem.loss().is_convex() && objective.problem.loss() != LossName::Softmax;
        if !convex {
            return Err(self
                .name()
                .refuses(format!(
                    "is for convex losses of one score, not {}",
                    objective.problem.loss().name()
                ))
                .remedy(SolverName::any([SolverName::Lbfgs])));
        }
        if objective.problem.penalty().l1 > 0.0
            || objective.problem.penalty().l2.is_nan()
            || objective.problem.penalty().l2 <= 0.0
        {
            let other = match objective.problem.loss().is_smooth() {
                true if objective.problem.penalty().l1 > 0.0 => SolverName::CoordinateDescent,
                true => SolverName::Newton,
                false => SolverName::InteriorPoint,
            };
            return Err(self
                .name()
                .refuses("needs the l2 penalty and no other")
                .remedy(SolverName::any([other])));
        }
        if objective.rows.is_none() {
            let smooth = objective.problem.loss().is_smooth();
            return Err(self
                .name()
                .refuses("needs all rows in memory")
                .remedy(match smooth {
                    true => Remedy::from(SolverName::any([SolverName::Lbfgs])),
                    false => Remedy::LeaveOut(Setting::Stream),
                }));
        }
        Ok(())
    }

    /// The start is not used, because this method would need a dual point to start from.
    fn solve(
        &self,
        objective: &mut Objective<'_>,
        _start: &[f64],
        control: &mut Control<'_>,
    ) -> Result<Solution> {
        self.check(objective)?;
        control.enter(self.name());
        let objective = &*objective;
        let rows = self.name().rows_of(objective)?;
        let mut state = DualState::new(objective, rows);
        let mut best = Best::default();
        let mut active = Active::new(&state, self.seed, false);
        let mut momentum = Momentum::default();
        // Each update of a free intercept's offset changes the quadratic that the epochs minimise.
        let steady = objective.problem.intercept() != Intercept::Free
            && objective.problem.loss() != LossName::Logistic;
        let mut schedule = EvaluationSchedule::new(steady, self.max_epochs);
        let status = 'descent: loop {
            while !schedule.advance(&mut state, &mut active, &mut momentum, control) {
                // No new point was evaluated; this call only checks the watch and the budget.
                let gap = best.objective - best.dual;
                if let Some(status) = control.iterate(objective, &best.point, best.objective, gap) {
                    break 'descent status;
                }
            }
            control.passed(1);
            let (scores, dual) = state.evaluate(objective, &mut best);
            let relative = control
                .tolerance
                .relative_gap(best.objective - best.dual, best.objective);
            let slow = schedule.evaluated(relative);
            if slow && steady {
                active.take_turns_earlier();
            }
            let last = schedule.is_last();
            if schedule.epochs <= OFFSET_UNTIL && objective.problem.intercept() == Intercept::Free {
                state.offset = best.point.last().copied().unwrap_or(0.0);
            }
            if active.workers() > 1 && dual < best.dual {
                // The dual value is worse than before: the rows are so similar that both workers made the
                // same changes. Continue from the best dual point with a single worker.
                active = Active::new(&state, self.seed, true);
                state.restore(&best);
                schedule.seen = EpochReport::UNKNOWN;
            } else {
                let flat = !objective.problem.loss().is_smooth() && relative <= FACE_MAX_GAP
                    || schedule.epochs > FACE_AFTER_EPOCHS;
                if flat
                    && slow
                    && !last
                    && objective.problem.loss() != LossName::Logistic
                    && relative > control.tolerance.relative
                {
                    state.search_face();
                }
                state.reconsider(&mut active, &scores, schedule.shrinking_thresholds());
            }
            if let Some(status) =
                control.iterate(objective, &best.point, best.objective, best.objective - best.dual)
            {
                break status;
            }
            if last {
                break Status::IterationLimit;
            }
        };
        Ok(Solution {
            parameters: best.point,
            dual: Some(best.multipliers),
            gram: None,
            status,
            iterations: schedule.epochs,
        })
    }
}
