//! What the solvers of smooth problems share: which problems they take, how far a point is from the
//! optimum, and when to end.

use crate::error::{Error, Result};
use crate::loss::LossName;
use crate::oracle::{Query, Weights};
use crate::problem::{Evaluated, Intercept, Problem};
use crate::solve::{Control, Solution, SolverName};
use crate::watch::Status;

/// A free intercept's slope, relative to the total weight, up to which its dual point counts as feasible.
const BALANCED: f64 = 1e-9;
/// How many times its first value the objective may grow before a run counts as diverging.
const BLOWN_UP: f64 = 1e6;

/// Refuses losses with kinks and ℓ1.
pub(super) fn check(solver: SolverName, problem: &Problem<'_>) -> Result<()> {
    if !problem.loss.is_smooth() {
        return Err(Error::settings(format!(
            "{} needs a loss with a slope everywhere, and {} has a kink",
            solver.name(),
            problem.loss.name()
        ))
        .hint("interior-point and sgd take it"));
    }
    if !problem.penalty.is_smooth() {
        return Err(Error::settings(format!(
            "{} needs a penalty with a slope everywhere, and l1 has a kink",
            solver.name()
        ))
        .hint("coordinate-descent and sgd take it"));
    }
    Ok(())
}

/// Refuses more parameters than a solver can keep a square matrix of.
pub(super) fn check_size(solver: SolverName, problem: &Problem<'_>, most: usize) -> Result<()> {
    let length = problem.layout().len();
    if length > most {
        return Err(Error::settings(format!(
            "{} keeps a square matrix of all parameters, and {length} are more than {most}",
            solver.name()
        ))
        .hint("newton-cg and lbfgs take any number"));
    }
    Ok(())
}

/// P − P\* as the dual point that the slopes give bounds it; `None` where there is no such point, for want
/// of a penalty or of convexity: there only a model of the curvature can tell.
pub(super) fn dual_gap(problem: &Problem<'_>, at: &[f64], evaluated: &Evaluated) -> Option<f64> {
    (problem.loss.is_convex() && problem.penalty.l2 > 0.0).then(|| problem.gap(at, evaluated))
}

/// The diagonal of the objective's Hessian, made positive: what parameters are scaled by.
///
/// A loss that is not convex can have any diagonal; at 0 it is that of the columns' sizes.
pub(super) fn diagonal(problem: &mut Problem<'_>, at: &[f64]) -> Result<Vec<f64>> {
    let zero = vec![0.0; at.len()];
    let at = if problem.loss.is_convex() { at } else { &zero };
    let mut diagonal = problem.oracle.ask(Query::Diagonal { at })?.gradient;
    let mut largest = 0.0f64;
    for (j, d) in diagonal.iter_mut().enumerate() {
        *d += problem.penalty_of(j).l2;
        largest = largest.max(*d);
    }
    // A column without any curvature has no slope either, or none yet.
    let floor = if largest > 0.0 { largest } else { 1.0 };
    diagonal
        .iter_mut()
        .filter(|d| **d <= 0.0)
        .for_each(|d| *d = floor);
    Ok(diagonal)
}

/// `to += step·along`.
pub(super) fn advance(to: &mut [f64], step: f64, along: &[f64]) {
    crate::kernel::dense::axpy(step, along, to);
}

/// The loss below which all rows lie on their right side, so that without a penalty there is no optimum.
fn separated(problem: &Problem<'_>) -> f64 {
    if !problem.penalty.is_none() {
        return 0.0;
    }
    let at_the_boundary = match problem.loss {
        LossName::Logistic | LossName::Softmax => std::f64::consts::LN_2,
        LossName::SigmoidMse => 0.25,
        _ => return 0.0,
    };
    let lightest = match problem.rows.as_ref().map(|rows| &rows.weights) {
        Some(Weights::Same(weight)) => *weight,
        Some(Weights::Each(weights)) => {
            let positive = weights.iter().copied().filter(|&weight| weight > 0.0);
            positive.fold(f64::INFINITY, f64::min)
        }
        // No row is known to be lighter than this.
        None => 1e-12 * problem.oracle.total_weight(),
    };
    at_the_boundary * lightest
}

/// A run of a solver: tells of its points, keeps the best one, and knows when to end.
pub(super) struct Run<'c, 'w> {
    control: &'c mut Control<'w>,
    /// The most steps.
    limit: u64,
    /// Steps without any progress after which rounding is all that is left.
    patience: u64,
    separated: f64,
    /// Whether a free intercept's slope is left out of account.
    by_gap_alone: bool,
    first: Option<f64>,
    best: f64,
    best_at: Vec<f64>,
    best_gap: f64,
    idle: u64,
    steps: u64,
}

impl<'c, 'w> Run<'c, 'w> {
    /// A run of at most `limit` steps, `patience` of them in a row without any progress.
    pub(super) fn new(
        problem: &Problem<'_>,
        control: &'c mut Control<'w>,
        solver: SolverName,
        limit: u64,
        patience: u64,
    ) -> Self {
        control.enter(solver);
        Run {
            control,
            limit,
            patience,
            separated: separated(problem),
            by_gap_alone: false,
            first: None,
            best: f64::INFINITY,
            best_at: Vec::new(),
            best_gap: f64::INFINITY,
            idle: 0,
            steps: 0,
        }
    }

    /// For points that jitter: an intercept's slope never gets tiny.
    pub(super) fn by_gap_alone(mut self) -> Self {
        self.by_gap_alone = true;
        self
    }

    /// Who is looking.
    pub(super) fn control(&mut self) -> &mut Control<'w> {
        self.control
    }

    /// The gap at which the run has converged.
    pub(super) fn target(&self, objective: f64) -> f64 {
        self.control.tol * objective.abs().max(1.0)
    }

    /// Steps made so far.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// Tells of the start (step 0: only if it is the end as well) or of the point that a step led to; gives
    /// the status to end with, if it is time.
    pub(super) fn reached(
        &mut self,
        problem: &Problem<'_>,
        at: &[f64],
        evaluated: &Evaluated,
        gap: f64,
    ) -> Option<Status> {
        let objective = evaluated.objective;
        let gap = if gap.is_nan() { f64::INFINITY } else { gap };
        let target = self.target(objective);
        let mut told = gap;
        if gap <= target && !self.by_gap_alone && !balanced(problem, evaluated) {
            // The dual point of an intercept that still pulls is no dual point: not converged yet.
            told = 2.0 * target;
        }
        let starting = self.first.is_none();
        let first = *self.first.get_or_insert(objective);
        let better = objective < self.best - 1e-15 * self.best.abs() || self.best == f64::INFINITY;
        if better || gap < 0.99 * self.best_gap {
            self.idle = 0;
        } else {
            self.idle += 1;
        }
        if objective < self.best {
            self.best = objective;
            self.best_at.clear();
            self.best_at.extend_from_slice(at);
        }
        self.best_gap = self.best_gap.min(gap);
        if !starting || told <= target {
            self.steps += u64::from(!starting);
            if let Some(status) = self.control.iterate(problem, at, objective, told) {
                return Some(status);
            }
        }
        if !objective.is_finite() || objective > BLOWN_UP * first.abs().max(f64::MIN_POSITIVE) {
            return Some(Status::Diverging);
        }
        if evaluated.loss < self.separated {
            return Some(Status::Diverging);
        }
        if self.idle >= self.patience {
            // Only the intercept's rounding was waited for.
            let arrived = gap <= target;
            return Some(if arrived {
                Status::Converged
            } else {
                Status::IterationLimit
            });
        }
        (self.steps >= self.limit).then_some(Status::IterationLimit)
    }

    /// The solution at the end of a step that is sure to be the last.
    pub(super) fn arrive(mut self, at: Vec<f64>) -> Solution {
        self.steps += 1;
        self.end(Status::Converged, at)
    }

    /// The solution: `at` if the run has converged there, else the best point seen.
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

fn balanced(problem: &Problem<'_>, evaluated: &Evaluated) -> bool {
    // With the rows at hand the intercept is put in its place afterwards, more cheaply than by more steps.
    let placed_later = problem.rows.is_some() && problem.loss.is_convex() && !problem.penalty.is_none();
    if problem.intercept != Intercept::Free || placed_later {
        return true;
    }
    let layout = problem.layout();
    let most = BALANCED * problem.oracle.total_weight();
    let slopes = evaluated.gradient.iter().enumerate();
    slopes
        .filter(|(j, _)| layout.is_intercept(*j))
        .all(|(_, slope)| slope.abs() <= most)
}
