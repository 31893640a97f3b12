//! Newton's method with conjugate gradients (inexact Newton), for smooth losses and penalties and any
//! number of parameters.
//!
//! Problem: min P(θ). Each step solves H·s = −∇P only as accurately as is useful (R. S. Dembo, S. C. Eisenstat
//! and T. Steihaug, Inexact Newton methods, SIAM J. Numerical Analysis 19, 1982). The conjugate gradients
//! need products H·v only and never form H. They are preconditioned by the diagonal of H, penalty included.

use wstar_data::error::Result;
use wstar_numeric::dense::dot;
use wstar_problem::objective::{Evaluated, Objective, Query};

use crate::line_search::Line;
use crate::smooth_stopping;
use crate::smooth_stopping::SmoothRun;
use crate::{Control, Solution, Solver, SolverName};
use wstar_data::run::Status;

/// Steps without progress after which the run stops. Heuristic: rounding against slow progress; not measured
/// yet.
const PATIENCE: u64 = 5;
/// The relative residual below which the predicted gain of a step is accurate enough to claim convergence.
/// Heuristic: products with H against the accuracy of the claim; not measured yet.
const ACCURATE_RESIDUAL: f64 = 1e-3;

/// The diagonal of H is reused while the objective changes by at most this fraction. Heuristic: computing it
/// costs as much as a product H·v, and an old one preconditions less well; not measured yet.
const SAME_OBJECTIVE: f64 = 0.1;

/// The diagonal of H, and the objective at the point where it was computed.
struct Scales {
    diagonal: Vec<f64>,
    objective: f64,
}

/// Inexact Newton with conjugate gradients.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NewtonCg {
    /// The iteration limit.
    pub(crate) max_iterations: u64,
    /// The limit on products with the Hessian in one step.
    pub(crate) max_products: u64,
    /// The limit on passes over the rows; after so many, another solver may do better.
    pub(crate) max_passes: u64,
}

impl Default for NewtonCg {
    fn default() -> Self {
        NewtonCg {
            // Caps: the run, or the products of a step, end there; the point so far is used.
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

    fn check(&self, objective: &Objective<'_>) -> Result<()> {
        smooth_stopping::check(self.name(), objective)
    }

    fn solve(
        &self,
        objective: &mut Objective<'_>,
        start: &[f64],
        control: &mut Control<'_>,
    ) -> Result<Solution> {
        self.check(objective)?;
        let mut run = SmoothRun::new(objective, control, self.name(), self.max_iterations, PATIENCE);
        let mut at = start.to_vec();
        let mut first_norm = None;
        let mut kept: Option<Scales> = None;
        let before = objective.sums.passes();
        loop {
            let evaluated = objective.gradient(&at)?;
            let gradient = objective.full_gradient(&at, &evaluated);
            let bound = smooth_stopping::dual_gap(objective, &at, &evaluated);
            if let Some(gap) = bound
                && let Some(status) = run.reached(objective, &at, &evaluated, gap)
            {
                return Ok(run.end(status, at));
            }
            let scales = match kept.take() {
                Some(scales)
                    if (scales.objective - evaluated.objective).abs()
                        <= SAME_OBJECTIVE * evaluated.objective.abs() =>
                {
                    scales
                }
                _ => Scales {
                    diagonal: smooth_stopping::diagonal(objective, &at)?,
                    objective: evaluated.objective,
                },
            };
            let diagonal = &scales.diagonal;
            let norm = scaled_norm(&gradient, diagonal);
            let first_norm = *first_norm.get_or_insert(norm);
            let target = run.target(evaluated.objective);
            let forcing = forcing(norm / first_norm, bound.map(|gap| gap / target));
            let left = self.max_passes.saturating_sub(objective.sums.passes() - before);
            if left == 0 {
                return Ok(run.end(Status::IterationLimit, at));
            }
            let most = self.max_products.min(left);
            let solved = solve_by(objective, &at, &gradient, diagonal, most, |cg| {
                // Without a dual bound the predicted gain must be accurate enough to decide on convergence.
                let decided = bound.is_some() || cg.gain > target || cg.residual <= ACCURATE_RESIDUAL;
                cg.residual <= forcing && decided
            })?;
            if bound.is_none()
                && let Some(status) = run.reached(objective, &at, &evaluated, solved.gain)
            {
                return Ok(run.end(status, at));
            }
            let line = Line::new(objective, &at, &solved.step);
            // Heuristic: as in `newton`.
            let Some(found) = line.search(objective, evaluated.objective, &gradient, 1.0, 0.1)? else {
                return Ok(run.end(Status::IterationLimit, at));
            };
            smooth_stopping::advance(&mut at, found.step, &solved.step);
            kept = Some(scales);
        }
    }
}

/// The relative residual to which a step is solved. `left` is the norm of the gradient relative to the first
/// one, and `excess` is the ratio of the gap to its target. The gap decreases with the square of the
/// residual.
fn forcing(left: f64, excess: Option<f64>) -> f64 {
    let superlinear = left.sqrt().min(0.5);
    // This branch is also taken if the excess is NaN.
    let Some(last) = excess
        // Heuristic: the constants below trade products with H for steps; not measured yet.
        .map(|excess| (0.1 / excess).sqrt())
        .filter(|last| *last > 0.01)
    else {
        return superlinear;
    };
    // One more step can reach the target, so it is solved accurately enough for that and no more.
    superlinear.clamp(0.1 * last, 0.5 * last)
}

/// √(Σ gⱼ²/dⱼ).
fn scaled_norm(gradient: &[f64], diagonal: &[f64]) -> f64 {
    let squares = gradient.iter().zip(diagonal).map(|(g, d)| g * g / d);
    squares.sum::<f64>().sqrt()
}

/// The state of the conjugate gradient iteration.
pub struct CgState {
    /// The approximate solution s ≈ −H⁻¹∇P.
    pub(super) step: Vec<f64>,
    /// −½ ∇P·s, a lower bound on the decrease that the quadratic model predicts.
    pub(super) gain: f64,
    /// The residual relative to the right-hand side, in the norm of the preconditioner.
    pub(super) residual: f64,
}

/// Solves H·s = −∇P for the Hessian of the objective, preconditioned by its diagonal.
fn solve_by(
    objective: &mut Objective<'_>,
    at: &[f64],
    gradient: &[f64],
    diagonal: &[f64],
    most: u64,
    enough: impl Fn(&CgState) -> bool,
) -> Result<CgState> {
    let product = |along: &[f64]| {
        let mut image = objective.sums.ask(Query::Product { at, along })?.gradient;
        for (j, (image, d)) in image.iter_mut().zip(along).enumerate() {
            *image += objective.problem.penalty_of(j).l2 * d;
        }
        Ok(image)
    };
    let scale = |r: &mut [f64]| r.iter_mut().zip(diagonal).for_each(|(r, d)| *r /= d);
    solve(product, scale, gradient, most, enough)
}

/// Solves H·s = −∇P by preconditioned conjugate gradients until `enough` holds or the curvature along a
/// direction is not positive. `scale` overwrites a vector by its product with an approximate inverse of H.
pub(super) fn solve(
    mut product: impl FnMut(&[f64]) -> Result<Vec<f64>>,
    scale: impl Fn(&mut [f64]),
    gradient: &[f64],
    most: u64,
    enough: impl Fn(&CgState) -> bool,
) -> Result<CgState> {
    let scaled = |r: &[f64]| -> Vec<f64> {
        let mut scaled: Vec<f64> = r.iter().map(|r| -r).collect();
        scale(&mut scaled);
        scaled
    };
    let mut residual = gradient.to_vec();
    let mut along = scaled(&residual);
    let first = -dot(&residual, &along);
    let mut squared = first;
    let mut solved = CgState {
        step: vec![0.0; gradient.len()],
        gain: 0.0,
        residual: 1.0,
    };
    // Cap: without rounding d products suffice.
    for turn in 0..most.min(2 * gradient.len() as u64 + 20) {
        if squared.is_nan() || squared <= 0.0 {
            break;
        }
        let image = product(&along)?;
        let curvature = dot(&along, &image);
        if curvature.is_nan() || curvature <= 0.0 {
            if turn == 0 {
                // Even the curvature along the scaled gradient is not positive. It is still a descent
                // direction.
                solved.gain = 0.5 * squared;
                solved.step = along;
            }
            break;
        }
        let length = squared / curvature;
        smooth_stopping::advance(&mut solved.step, length, &along);
        smooth_stopping::advance(&mut residual, length, &image);
        solved.gain += 0.5 * length * squared;
        let next = scaled(&residual);
        let reduced = -dot(&residual, &next);
        solved.residual = (reduced / first).sqrt();
        if enough(&solved) {
            break;
        }
        let beta = reduced / squared;
        squared = reduced;
        along.iter_mut().zip(&next).for_each(|(d, z)| *d = z + beta * *d);
    }
    Ok(solved)
}

/// The gap at a point, for solvers without a Hessian: the duality gap if there is one, otherwise the decrease
/// that a Newton step predicts.
///
/// `predicted` is the solver's own estimate of that decrease. It is checked by conjugate gradients only once
/// it is at most `target`.
pub(super) fn gap(
    objective: &mut Objective<'_>,
    at: &[f64],
    evaluated: &Evaluated,
    gradient: &[f64],
    predicted: f64,
    target: f64,
) -> Result<f64> {
    if let Some(gap) = smooth_stopping::dual_gap(objective, at, evaluated) {
        return Ok(gap);
    }
    if predicted > target {
        return Ok(predicted);
    }
    let diagonal = smooth_stopping::diagonal(objective, at)?;
    let most = NewtonCg::default().max_products;
    let solved = solve_by(objective, at, gradient, &diagonal, most, |cg| {
        cg.gain > target || cg.residual <= ACCURATE_RESIDUAL
    })?;
    Ok(solved.gain.max(predicted))
}
