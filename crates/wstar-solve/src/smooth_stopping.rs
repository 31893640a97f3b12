//! Stopping rules of the solvers of smooth problems: which problems they accept, how far a point is from the
//! optimum, and when a run ends.

use crate::{Control, Solution, SolverName};
use wstar_data::error::Result;
use wstar_data::run::Status;
use wstar_problem::loss::LossName;
use wstar_problem::objective::{Evaluated, Objective};
use wstar_problem::objective::{Query, Weights};
use wstar_problem::problem::Intercept;

/// The slope of a free intercept, relative to the total weight, up to which the dual point counts as
/// feasible. Heuristic: more steps against the error b·Σα of the dual bound; not measured yet.
const BALANCED: f64 = 1e-9;
/// The factor by which the objective may exceed its first value. Cap: beyond it the run ends as diverging.
const DIVERGED: f64 = 1e6;

/// Returns an error for a loss with a kink and for ℓ1.
pub(super) fn check(solver: SolverName, objective: &Objective<'_>) -> Result<()> {
    if !objective.problem.loss().is_smooth() {
        return Err(solver
            .refuses(format!(
                "needs a loss with a slope everywhere, and {} has a kink",
                objective.problem.loss().name()
            ))
            .remedy(SolverName::any([SolverName::InteriorPoint, SolverName::Sgd])));
    }
    if !objective.problem.penalty().is_smooth() {
        return Err(solver
            .refuses("needs a penalty with a slope everywhere, and l1 has a kink")
            .remedy(SolverName::any([SolverName::CoordinateDescent, SolverName::Sgd])));
    }
    Ok(())
}

/// Returns an error for more parameters than a solver with a dense square matrix can take.
pub(super) fn check_size(solver: SolverName, objective: &Objective<'_>, most: usize) -> Result<()> {
    let length = objective.problem.layout().len();
    if length > most {
        return Err(solver
            .refuses(format!(
                "keeps a square matrix of all parameters, and {length} are more than {most}"
            ))
            .remedy(SolverName::any([SolverName::NewtonCg, SolverName::Lbfgs])));
    }
    Ok(())
}

/// The duality gap, an upper bound on P − P\*, with the dual point given by the slopes. `None` without an ℓ2
/// penalty or convexity: there is no dual point, and only a model of the curvature can estimate P − P\*.
pub(super) fn dual_gap(objective: &Objective<'_>, at: &[f64], evaluated: &Evaluated) -> Option<f64> {
    (objective.problem.loss().is_convex() && objective.problem.penalty().l2 > 0.0)
        .then(|| objective.gap(at, evaluated))
}

/// The diagonal of the objective's Hessian, made positive: the scale of the parameters.
///
/// For a nonconvex loss the diagonal at a point can have any sign. The diagonal at 0 is used, which reflects
/// the sizes of the columns.
pub(super) fn diagonal(objective: &mut Objective<'_>, at: &[f64]) -> Result<Vec<f64>> {
    let zero = vec![0.0; at.len()];
    let at = if objective.problem.loss().is_convex() {
        at
    } else {
        &zero
    };
    let mut diagonal = objective.sums.ask(Query::Diagonal { at })?.gradient;
    let mut largest = 0.0f64;
    for (j, d) in diagonal.iter_mut().enumerate() {
        *d += objective.problem.penalty_of(j).l2;
        largest = largest.max(*d);
    }
    // A column without curvature at this point has a slope of 0 there too.
    let floor = if largest > 0.0 { largest } else { 1.0 };
    diagonal
        .iter_mut()
        .filter(|d| **d <= 0.0)
        .for_each(|d| *d = floor);
    Ok(diagonal)
}

/// `to += step·along`.
pub(super) fn advance(to: &mut [f64], step: f64, along: &[f64]) {
    wstar_numeric::dense::axpy(step, along, to);
}

/// The loss below which every row is on its correct side, so that no optimum exists without a penalty.
fn separated(objective: &Objective<'_>) -> f64 {
    if !objective.problem.penalty().is_none() {
        return 0.0;
    }
    let at_the_boundary = match objective.problem.loss() {
        LossName::Logistic | LossName::Softmax => std::f64::consts::LN_2,
        LossName::SigmoidMse => 0.25,
        _ => return 0.0,
    };
    let lightest = match objective.rows.as_ref().map(|rows| &rows.weights) {
        Some(Weights::Same(weight)) => *weight,
        Some(Weights::Each(weights)) => {
            let positive = weights.iter().copied().filter(|&weight| weight > 0.0);
            positive.fold(f64::INFINITY, f64::min)
        }
        // The weights of streamed rows are not known one by one; all are assumed to be at least this. Heuristic: not
        // measured yet.
        None => 1e-12 * objective.sums.total_weight(),
    };
    at_the_boundary * lightest
}

/// A run of a solver: reports its points, keeps the best one and decides when to stop.
pub(super) struct SmoothRun<'c, 'w> {
    control: &'c mut Control<'w>,
    /// The iteration limit.
    limit: u64,
    /// Steps without progress after which only rounding is left.
    patience: u64,
    separated: f64,
    /// Whether the slope of a free intercept is ignored.
    by_gap_alone: bool,
    first: Option<f64>,
    best: f64,
    best_at: Vec<f64>,
    best_gap: f64,
    idle: u64,
    steps: u64,
}

impl<'c, 'w> SmoothRun<'c, 'w> {
    /// A run of at most `limit` steps that stops after `patience` steps without progress.
    pub(super) fn new(
        objective: &Objective<'_>,
        control: &'c mut Control<'w>,
        solver: SolverName,
        limit: u64,
        patience: u64,
    ) -> Self {
        control.enter(solver);
        SmoothRun {
            control,
            limit,
            patience,
            separated: separated(objective),
            by_gap_alone: false,
            first: None,
            best: f64::INFINITY,
            best_at: Vec::new(),
            best_gap: f64::INFINITY,
            idle: 0,
            steps: 0,
        }
    }

    /// Ignores the slope of a free intercept, for stochastic points at which it never becomes tiny.
    pub(super) fn by_gap_alone(mut self) -> Self {
        self.by_gap_alone = true;
        self
    }

    /// The control of the run.
    pub(super) fn control(&mut self) -> &mut Control<'w> {
        self.control
    }

    /// The gap at which the run has converged.
    pub(super) fn target(&self, objective: f64) -> f64 {
        self.control.tolerance.gap(objective)
    }

    /// The steps so far.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// Reports the point of a step and returns the status if the run is to stop. The start (step 0) is
    /// reported only if it is also the last point.
    pub(super) fn reached(
        &mut self,
        objective: &Objective<'_>,
        at: &[f64],
        evaluated: &Evaluated,
        gap: f64,
    ) -> Option<Status> {
        let value = evaluated.objective;
        let gap = if gap.is_nan() { f64::INFINITY } else { gap };
        let target = self.target(value);
        let mut reported = gap;
        if gap <= target && !self.by_gap_alone && !balanced(objective, evaluated) {
            // With Σα ≠ 0 the dual point is infeasible, so the run has not converged yet.
            reported = 2.0 * target;
        }
        let starting = self.first.is_none();
        let first = *self.first.get_or_insert(value);
        // A smaller decrease is no progress. Derived: a few machine epsilons of the objective. Heuristic: 1 % of
        // the gap; not measured yet.
        let better = value < self.best - 1e-15 * self.best.abs() || self.best == f64::INFINITY;
        if better || gap < 0.99 * self.best_gap {
            self.idle = 0;
        } else {
            self.idle += 1;
        }
        if value < self.best {
            self.best = value;
            self.best_at.clear();
            self.best_at.extend_from_slice(at);
        }
        self.best_gap = self.best_gap.min(gap);
        if !starting || reported <= target {
            self.steps += u64::from(!starting);
            if let Some(status) = self.control.iterate(objective, at, value, reported) {
                return Some(status);
            }
        }
        if !value.is_finite() || value > DIVERGED * first.abs().max(f64::MIN_POSITIVE) {
            return Some(Status::Diverging);
        }
        if evaluated.loss < self.separated {
            return Some(Status::Diverging);
        }
        if self.idle >= self.patience {
            // The gap was reached, and the run only waited for the slope of the intercept, which rounding
            // keeps above its limit.
            let arrived = gap <= target;
            return Some(if arrived {
                Status::Converged
            } else {
                Status::IterationLimit
            });
        }
        (self.steps >= self.limit).then_some(Status::IterationLimit)
    }

    /// The solution after a last step that is not evaluated.
    pub(super) fn finish_without_evaluating(mut self, at: Vec<f64>) -> Solution {
        self.steps += 1;
        self.end(Status::Converged, at)
    }

    /// The solution: `at` if the run has converged there, otherwise the best point of the run.
    pub(super) fn end(self, status: Status, at: Vec<f64>) -> Solution {
        let keep = status == Status::Converged || self.best_at.is_empty();
        Solution {
            parameters: if keep { at } else { self.best_at },
            dual: None,
            gram: None,
            status,
            iterations: self.steps,
        }
    }
}

/// Whether the slope of every free intercept is small enough, or need not be.
fn balanced(objective: &Objective<'_>, evaluated: &Evaluated) -> bool {
    // With rows in memory the intercept is optimised afterwards, which is cheaper than more steps.
    let polished_later = objective.rows.is_some()
        && objective.problem.loss().is_convex()
        && !objective.problem.penalty().is_none();
    if objective.problem.intercept() != Intercept::Free || polished_later {
        return true;
    }
    let layout = objective.problem.layout();
    let most = BALANCED * objective.sums.total_weight();
    let slopes = evaluated.gradient.iter().enumerate();
    slopes
        .filter(|(j, _)| layout.is_intercept(*j))
        .all(|(_, slope)| slope.abs() <= most)
}
