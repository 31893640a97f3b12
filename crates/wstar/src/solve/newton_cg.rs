//! Newton's method with conjugate gradients, for smooth losses and penalties and any number of parameters.
//!
//! Problem: min P(θ). Each step solves H·s = −∇P only as far as pays (Dembo, Eisenstat and Steihaug,
//! Inexact Newton methods, SIAM J. Numerical Analysis 19, 1982), by conjugate gradients that ask for
//! products with H and never for H itself; they are preconditioned by the diagonal of H, penalty included.

use crate::error::Result;
use crate::kernel::dense::dot;
use crate::oracle::Query;
use crate::problem::{Evaluated, Problem};
use crate::solve::line_search::Line;
use crate::solve::smooth::{self, Run};
use crate::solve::{Control, Solution, Solver, SolverName};
use crate::watch::Status;

/// Steps without any progress before the run ends.
const PATIENCE: u64 = 5;
/// The relative residual at which the gain of a step is known well enough to claim convergence by it.
const KNOWN: f64 = 1e-3;

/// The diagonal is kept while the objective changes by no more than this share: it costs as much as a product.
const SAME: f64 = 0.1;

/// The diagonal of H, and the objective where it was asked for.
struct Scales {
    diagonal: Vec<f64>,
    objective: f64,
}

/// Newton's method with conjugate gradients.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NewtonCg {
    /// The most steps.
    pub max_iterations: u64,
    /// The most products with the Hessian in one step.
    pub max_products: u64,
    /// The most passes over the rows: another solver may do better after so many.
    pub max_passes: u64,
}

impl Default for NewtonCg {
    fn default() -> Self {
        NewtonCg {
            max_iterations: 300,
            max_products: 1_000,
            max_passes: u64::MAX,
        }
    }
}

impl Solver for NewtonCg {
    fn name(&self) -> SolverName {
        SolverName::NewtonCg
    }

    fn check(&self, problem: &Problem<'_>) -> Result<()> {
        smooth::check(self.name(), problem)
    }

    fn solve(&self, problem: &mut Problem<'_>, start: &[f64], control: &mut Control<'_>) -> Result<Solution> {
        self.check(problem)?;
        let mut run = Run::new(problem, control, self.name(), self.max_iterations, PATIENCE);
        let mut at = start.to_vec();
        let mut first_norm = None;
        let mut kept: Option<Scales> = None;
        let before = problem.oracle.passes();
        loop {
            let evaluated = problem.gradient(&at)?;
            let gradient = problem.full_gradient(&at, &evaluated);
            let bound = smooth::dual_gap(problem, &at, &evaluated);
            if let Some(gap) = bound
                && let Some(status) = run.reached(problem, &at, &evaluated, gap)
            {
                return Ok(run.end(status, at));
            }
            let objective = evaluated.objective;
            let scales = match kept.take() {
                Some(scales) if (scales.objective - objective).abs() <= SAME * objective.abs() => scales,
                _ => Scales {
                    diagonal: smooth::diagonal(problem, &at)?,
                    objective,
                },
            };
            let diagonal = &scales.diagonal;
            let norm = scaled_norm(&gradient, diagonal);
            let first_norm = *first_norm.get_or_insert(norm);
            let target = run.target(evaluated.objective);
            let forcing = forcing(norm / first_norm, bound.map(|gap| gap / target));
            let left = self.max_passes.saturating_sub(problem.oracle.passes() - before);
            if left == 0 {
                return Ok(run.end(Status::IterationLimit, at));
            }
            let most = self.max_products.min(left);
            let solved = solve_by(problem, &at, &gradient, diagonal, most, |cg| {
                // Without a bound the gain itself must tell whether this is the end.
                let decided = bound.is_some() || cg.gain > target || cg.residual <= KNOWN;
                cg.residual <= forcing && decided
            })?;
            if bound.is_none()
                && let Some(status) = run.reached(problem, &at, &evaluated, solved.gain)
            {
                return Ok(run.end(status, at));
            }
            let line = Line::new(problem, &at, &solved.step);
            let Some(found) = line.search(problem, evaluated.objective, &gradient, 1.0, 0.1)? else {
                return Ok(run.end(Status::IterationLimit, at));
            };
            smooth::advance(&mut at, found.step, &solved.step);
            kept = Some(scales);
        }
    }
}

/// The relative residual to solve to, given what is left of the first gradient, and how many times too
/// large the gap still is. The gap falls with the square of the residual.
fn forcing(left: f64, excess: Option<f64>) -> f64 {
    let superlinear = left.sqrt().min(0.5);
    // Also where the excess is not a number.
    let Some(last) = excess
        .map(|excess| (0.1 / excess).sqrt())
        .filter(|last| *last > 0.01)
    else {
        return superlinear;
    };
    // One more step can be the last: solve for it well enough, and no better.
    superlinear.clamp(0.1 * last, 0.5 * last)
}

fn scaled_norm(gradient: &[f64], diagonal: &[f64]) -> f64 {
    let squares = gradient.iter().zip(diagonal).map(|(g, d)| g * g / d);
    squares.sum::<f64>().sqrt()
}

/// How far conjugate gradients have come.
pub(super) struct Solved {
    /// s, about −H⁻¹∇P.
    pub(super) step: Vec<f64>,
    /// −½ ∇P·s: at most what the quadratic model has to gain.
    pub(super) gain: f64,
    /// What is left of the right side, in the norm of the preconditioner.
    pub(super) residual: f64,
}

/// Solves H·s = −∇P for the Hessian of a problem, preconditioned by its diagonal.
fn solve_by(
    problem: &mut Problem<'_>,
    at: &[f64],
    gradient: &[f64],
    diagonal: &[f64],
    most: u64,
    enough: impl Fn(&Solved) -> bool,
) -> Result<Solved> {
    let product = |along: &[f64]| {
        let mut image = problem.oracle.ask(Query::Product { at, along })?.gradient;
        for (j, (image, d)) in image.iter_mut().zip(along).enumerate() {
            *image += problem.penalty_of(j).l2 * d;
        }
        Ok(image)
    };
    let scale = |r: &mut [f64]| r.iter_mut().zip(diagonal).for_each(|(r, d)| *r /= d);
    solve(product, scale, gradient, most, enough)
}

/// Solves H·s = −∇P by products with H until `enough`, or until the curvature is not positive; `scale` replaces a
/// vector by its product with some inverse of nearly H.
pub(super) fn solve(
    mut product: impl FnMut(&[f64]) -> Result<Vec<f64>>,
    scale: impl Fn(&mut [f64]),
    gradient: &[f64],
    most: u64,
    enough: impl Fn(&Solved) -> bool,
) -> Result<Solved> {
    let scaled = |r: &[f64]| -> Vec<f64> {
        let mut scaled: Vec<f64> = r.iter().map(|r| -r).collect();
        scale(&mut scaled);
        scaled
    };
    let mut residual = gradient.to_vec();
    let mut along = scaled(&residual);
    let first = -dot(&residual, &along);
    let mut squared = first;
    let mut solved = Solved {
        step: vec![0.0; gradient.len()],
        gain: 0.0,
        residual: 1.0,
    };
    for turn in 0..most.min(2 * gradient.len() as u64 + 20) {
        if squared.is_nan() || squared <= 0.0 {
            break;
        }
        let image = product(&along)?;
        let curvature = dot(&along, &image);
        if curvature.is_nan() || curvature <= 0.0 {
            if turn == 0 {
                // Not even the gradient curves upwards: the scaled gradient is a direction all the same.
                solved.gain = 0.5 * squared;
                solved.step = along;
            }
            break;
        }
        let length = squared / curvature;
        smooth::advance(&mut solved.step, length, &along);
        smooth::advance(&mut residual, length, &image);
        solved.gain += 0.5 * length * squared;
        let next = scaled(&residual);
        let reduced = -dot(&residual, &next);
        solved.residual = (reduced / first).sqrt();
        if enough(&solved) {
            break;
        }
        let share = reduced / squared;
        squared = reduced;
        along.iter_mut().zip(&next).for_each(|(d, z)| *d = z + share * *d);
    }
    Ok(solved)
}

/// The gap of a point for solvers that have no Hessian: the dual one, or else what Newton's step would gain.
///
/// `cheap` is the solver's own guess of that gain; it is checked by conjugate gradients only once it says
/// that the end is reached.
pub(super) fn gap(
    problem: &mut Problem<'_>,
    at: &[f64],
    evaluated: &Evaluated,
    gradient: &[f64],
    cheap: f64,
    target: f64,
) -> Result<f64> {
    if let Some(gap) = smooth::dual_gap(problem, at, evaluated) {
        return Ok(gap);
    }
    if cheap > target {
        return Ok(cheap);
    }
    let diagonal = smooth::diagonal(problem, at)?;
    let most = NewtonCg::default().max_products;
    let solved = solve_by(problem, at, gradient, &diagonal, most, |cg| {
        cg.gain > target || cg.residual <= KNOWN
    })?;
    Ok(solved.gain.max(cheap))
}
