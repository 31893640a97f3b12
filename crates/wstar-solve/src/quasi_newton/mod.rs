//! Quasi-Newton methods: the iteration that BFGS and limited-memory BFGS share, around a model of the inverse
//! Hessian.
//!
//! Problem: min P(θ), smooth. Each step is −B∇P for the model B of the inverse Hessian, with a line search
//! (J. Nocedal and S. J. Wright, Numerical Optimization, chapters 6 and 7).
//!
//! - `bfgs`: a dense B
//! - `lbfgs`: B as the last steps and changes of the gradient

pub(crate) mod bfgs;
pub(crate) mod lbfgs;

use crate::line_search::{AcceptedStep, Line};
use crate::smooth_stopping;
use crate::smooth_stopping::SmoothRun;
use crate::{Control, Solution, SolverName, newton_cg};
use wstar_data::error::Result;
use wstar_data::run::Status;
use wstar_numeric::dense::dot;
use wstar_problem::loss::LossName;
use wstar_problem::objective::Objective;

/// Steps without progress after which the run stops. Heuristic: rounding against slow progress; not measured
/// yet.
const PATIENCE: u64 = 30;
/// The slope at the end of a line search, relative to the first one. Heuristic: a line search on cached
/// scores costs next to nothing compared with a gradient; not measured yet.
const ACCURACY: f64 = 0.1;

/// A model of the inverse Hessian, updated by each step.
pub(super) trait InverseHessian {
    /// Restarts from an approximation of the Hessian at a point.
    fn restart(&mut self, objective: &mut Objective<'_>, at: &[f64]) -> Result<()>;
    /// Recomputes that approximation at a point and keeps the updates, if that is possible.
    fn refresh(&mut self, objective: &mut Objective<'_>, at: &[f64]) -> Result<()>;
    /// Whether any update was made since the last restart.
    fn has_updates(&self) -> bool;
    /// Updates, for the point of a step, the quantities that cost next to nothing.
    fn move_to(&mut self, _at: &[f64]) {}
    /// The product of the inverse Hessian with a vector.
    fn times(&self, vector: &[f64]) -> Result<Vec<f64>>;
    /// Updates the model by a step and the change of the gradient over it, whose inner product is positive.
    fn update(&mut self, step: Vec<f64>, change: Vec<f64>, product: f64);
}

/// Minimises from a start. The approximation of the Hessian is recomputed at step `refresh`, and then
/// whenever the number of steps has quadrupled. Heuristic: this factor and the first `refresh` of `lbfgs` are not
/// measured yet.
pub(super) fn minimise(
    model: &mut dyn InverseHessian,
    objective: &mut Objective<'_>,
    start: &[f64],
    control: &mut Control<'_>,
    solver: SolverName,
    limit: u64,
    mut refresh: u64,
) -> Result<Solution> {
    let mut run = SmoothRun::new(objective, control, solver, limit, PATIENCE);
    // Softmax intercepts are optimised afterwards, in a pass that costs less than a step.
    let polished_later = objective.problem.loss() == LossName::Softmax
        && objective.rows.is_some()
        && objective.problem.penalty().l2 > 0.0;
    if polished_later {
        run = run.by_gap_alone();
    }
    let mut at = start.to_vec();
    let mut evaluated = objective.gradient(&at)?;
    let mut gradient = objective.full_gradient(&at, &evaluated);
    model.restart(objective, &at)?;
    loop {
        let mut along = model.times(&gradient)?;
        let predicted = 0.5 * dot(&gradient, &along);
        let target = run.target(evaluated.objective);
        let gap = match polished_later {
            true => objective.gap_with_optimal_intercepts(&at, &evaluated),
            false => newton_cg::gap(objective, &at, &evaluated, &gradient, predicted, target)?,
        };
        if let Some(status) = run.reached(objective, &at, &evaluated, gap) {
            return Ok(run.end(status, at));
        }
        if run.steps() >= refresh {
            model.refresh(objective, &at)?;
            refresh *= 4;
            along = model.times(&gradient)?;
        }
        let mut found = search(&mut along, objective, &at, evaluated.objective, &gradient)?;
        if found.is_none() && model.has_updates() {
            // The model gives no descent direction: try again without its updates.
            model.restart(objective, &at)?;
            along = model.times(&gradient)?;
            found = search(&mut along, objective, &at, evaluated.objective, &gradient)?;
        }
        let Some(found) = found else {
            return Ok(run.end(Status::IterationLimit, at));
        };
        smooth_stopping::advance(&mut at, found.step, &along);
        model.move_to(&at);
        evaluated = objective.gradient(&at)?;
        let next = objective.full_gradient(&at, &evaluated);
        along.iter_mut().for_each(|d| *d *= found.step);
        let change: Vec<f64> = next.iter().zip(&gradient).map(|(new, old)| new - old).collect();
        let product = dot(&along, &change);
        // The model stays positive definite only with steps along which the slope increased. Derived: 50 machine
        // epsilons, the rounding of the product.
        if product > 1e-14 * (dot(&along, &along) * dot(&change, &change)).sqrt() {
            model.update(along, change, product);
        }
        gradient = next;
    }
}

/// Negates the product of the model with the gradient and searches along that direction.
fn search(
    along: &mut [f64],
    objective: &mut Objective<'_>,
    at: &[f64],
    value: f64,
    gradient: &[f64],
) -> Result<Option<AcceptedStep>> {
    along.iter_mut().for_each(|d| *d = -*d);
    Line::new(objective, at, along).search(objective, value, gradient, 1.0, ACCURACY)
}
