//! What BFGS and its limited-memory form share: the run itself, around a model of the inverse Hessian.

use crate::error::Result;
use crate::kernel::dense::dot;
use crate::loss::LossName;
use crate::problem::Problem;
use crate::solve::line_search::{Found, Line};
use crate::solve::smooth::{self, Run};
use crate::solve::{Control, Solution, SolverName, newton_cg};
use crate::watch::Status;

/// Steps without any progress before the run ends.
const PATIENCE: u64 = 30;
/// What may be left of the slope at the end of a line search, which costs next to nothing beside the rest.
const ACCURACY: f64 = 0.1;

/// A model of the inverse Hessian, learnt from steps.
pub(super) trait Model {
    /// Starts anew from what the Hessian at a point is roughly.
    fn restart(&mut self, problem: &mut Problem<'_>, at: &[f64]) -> Result<()>;
    /// Looks at the Hessian again and keeps what was learnt, if that is possible.
    fn refresh(&mut self, problem: &mut Problem<'_>, at: &[f64]) -> Result<()>;
    /// Whether anything was learnt since the start.
    fn has_learnt(&self) -> bool;
    /// Moves on to the point that a step has led to, as far as that costs next to nothing.
    fn follow(&mut self, _at: &[f64]) {}
    /// The inverse Hessian times a vector.
    fn times(&self, vector: &[f64]) -> Result<Vec<f64>>;
    /// Learns from a step and the change of the gradient over it, whose product is positive.
    fn learn(&mut self, step: Vec<f64>, change: Vec<f64>, product: f64);
}

/// Minimises from a start; the Hessian is looked at again at the step `refresh` and whenever their number
/// has grown fourfold.
pub(super) fn minimise(
    model: &mut dyn Model,
    problem: &mut Problem<'_>,
    start: &[f64],
    control: &mut Control<'_>,
    solver: SolverName,
    limit: u64,
    mut refresh: u64,
) -> Result<Solution> {
    let mut run = Run::new(problem, control, solver, limit, PATIENCE);
    // Intercepts of softmax are put in their places afterwards, by a pass that costs less than a step.
    let placed_later =
        problem.loss == LossName::Softmax && problem.rows.is_some() && problem.penalty.l2 > 0.0;
    if placed_later {
        run = run.by_gap_alone();
    }
    let mut at = start.to_vec();
    let mut evaluated = problem.gradient(&at)?;
    let mut gradient = problem.full_gradient(&at, &evaluated);
    model.restart(problem, &at)?;
    loop {
        let mut along = model.times(&gradient)?;
        let cheap = 0.5 * dot(&gradient, &along);
        let target = run.target(evaluated.objective);
        let gap = match placed_later {
            true => problem.gap_but_for_intercepts(&at, &evaluated),
            false => newton_cg::gap(problem, &at, &evaluated, &gradient, cheap, target)?,
        };
        if let Some(status) = run.reached(problem, &at, &evaluated, gap) {
            return Ok(run.end(status, at));
        }
        if run.steps() >= refresh {
            model.refresh(problem, &at)?;
            refresh *= 4;
            along = model.times(&gradient)?;
        }
        let mut found = search(&mut along, problem, &at, evaluated.objective, &gradient)?;
        if found.is_none() && model.has_learnt() {
            // The model has gone wrong: once more without it.
            model.restart(problem, &at)?;
            along = model.times(&gradient)?;
            found = search(&mut along, problem, &at, evaluated.objective, &gradient)?;
        }
        let Some(found) = found else {
            return Ok(run.end(Status::IterationLimit, at));
        };
        smooth::advance(&mut at, found.step, &along);
        model.follow(&at);
        evaluated = problem.gradient(&at)?;
        let next = problem.full_gradient(&at, &evaluated);
        along.iter_mut().for_each(|d| *d *= found.step);
        let change: Vec<f64> = next.iter().zip(&gradient).map(|(new, old)| new - old).collect();
        let product = dot(&along, &change);
        // A model stays positive definite only with steps along which the slope has risen.
        if product > 1e-14 * (dot(&along, &along) * dot(&change, &change)).sqrt() {
            model.learn(along, change, product);
        }
        gradient = next;
    }
}

/// Turns the model's image of the gradient into a direction, and tells how far to go along it.
fn search(
    along: &mut [f64],
    problem: &mut Problem<'_>,
    at: &[f64],
    objective: f64,
    gradient: &[f64],
) -> Result<Option<Found>> {
    along.iter_mut().for_each(|d| *d = -*d);
    Line::new(problem, at, along).search(problem, objective, gradient, 1.0, ACCURACY)
}
