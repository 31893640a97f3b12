//! Least squares by the normal equations.
//!
//! Problem: min ½ Σᵢ cᵢ (yᵢ − w·xᵢ − b)² + l2/2 ‖w‖². One pass gives H = X̃ᵀCX̃ and the gradient; H is scaled to
//! a unit diagonal and factorised by Cholesky's method, the intercept first, which leaves the Gram matrix of
//! the centred columns to the rest. Steps with the same factor then take off what rounding left. Only sums
//! over rows are asked for, so that rows may come from anywhere; the price is that digits go with the square
//! of the condition number. Where H has no full rank to this accuracy its eigenvectors give the answer of
//! least norm.
//!
//! [`NormalEquations::WELL_CONDITIONED`] is for many rows, where this takes half the work of a QR factorisation and far
//! less memory traffic: it gives up where columns are so nearly dependent that digits would be lost.

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{Mat, Par};

use super::householder::Triangle;
use super::refine::Factor;
use super::{check, power_of_two};
use crate::error::{Error, Result};
use crate::kernel::dense::dot;
use crate::kernel::double_double::DoubleDouble;
use crate::problem::{Intercept, Problem};
use crate::solve::{Control, Solution, Solver, SolverName};
use crate::watch::Status;

/// Steps at most with one factor.
const MOST_STEPS: usize = 10;
/// Beside the largest, eigenvalues of H below this many ε for each parameter are rounding errors.
const LEAST_EIGENVALUE: f64 = 16.0 * f64::EPSILON;

/// Up to this condition number of H, with columns of equal length, the first step has lost three digits at most …
const ACCURATE: f64 = 1e3;
/// … if what is left of the objective is no smaller share than this: residuals as small as that have digits of their own.
const LEAST_LEFT: f64 = 1e-3;
/// A step that gains less than this, beside the objective, no longer changes a digit.
const NO_GAIN: f64 = 1e-28;

/// Least squares by the normal equations.
#[derive(Debug, Clone, Copy)]
pub struct NormalEquations {
    /// The solver gives up where ‖H^(−½)‖, with columns of equal length, is greater than this.
    most_inverse: f64,
}

impl NormalEquations {
    /// Takes columns as they come.
    pub const ANY: NormalEquations = NormalEquations {
        most_inverse: f64::INFINITY,
    };
    /// Takes only columns that leave the answer at least ten digits or so.
    pub const WELL_CONDITIONED: NormalEquations = NormalEquations { most_inverse: 1e3 };
}

impl Solver for NormalEquations {
    fn name(&self) -> SolverName {
        SolverName::NormalEquations
    }

    fn check(&self, problem: &Problem<'_>) -> Result<()> {
        check(problem, self.name(), false)
    }

    fn solve(&self, problem: &mut Problem<'_>, start: &[f64], control: &mut Control<'_>) -> Result<Solution> {
        self.check(problem)?;
        // Rank-deficient problems have their shortest solution only from a start of 0.
        let mut at = vec![0.0; start.len()];
        let mut evaluated = problem.hessian(&at)?;
        let (factor, inverse_norm) = factorise(problem, &evaluated.hessian)?;
        if inverse_norm > self.most_inverse {
            return Ok(Solution {
                parameters: at,
                dual: None,
                gram: None,
                status: Status::IterationLimit,
                iterations: 0,
            });
        }
        // ‖H‖ is at most its trace, which is about the number of parameters.
        let condition = at.len() as f64 * inverse_norm.powi(2);
        let gram = std::mem::take(&mut evaluated.hessian);
        let mut best = (at.clone(), f64::INFINITY);
        let mut status = None;
        for _ in 0..MOST_STEPS {
            let (step, gain) = descend(problem, &factor, &at, &evaluated.gradient);
            at.iter_mut().zip(&step).for_each(|(at, step)| *at += step);
            let left = evaluated.objective - 0.5 * gain;
            if best.1.is_infinite() && condition <= ACCURATE && left >= LEAST_LEFT * evaluated.objective {
                // Whether this is so is for the certificate to tell, in a pass that it takes anyway.
                status = control.iterate(problem, &at, left, NO_GAIN * left);
                best.0 = at;
                break;
            }
            evaluated = problem.gradient(&at)?;
            // For a quadratic this is P − P*, but for the inexactness of the factor.
            let gap = 0.5 * descend(problem, &factor, &at, &evaluated.gradient).1;
            if gap.is_nan() || gap >= 0.25 * best.1 {
                break;
            }
            best = (at.clone(), gap);
            let told = control.iterate(problem, &at, evaluated.objective, gap);
            if status != Some(Status::Converged) {
                status = told;
            }
            let settled = gap <= NO_GAIN * evaluated.objective;
            if settled || told.is_some_and(|told| told != Status::Converged) {
                break;
            }
        }
        Ok(Solution {
            parameters: best.0,
            dual: None,
            gram: inverse_norm.is_finite().then_some(gram),
            status: status.unwrap_or(Status::IterationLimit),
            iterations: control.iterations(),
        })
    }
}

/// The step from a point with this gradient of the loss, and its product with minus the whole gradient.
fn descend(problem: &Problem<'_>, factor: &Factor, at: &[f64], gradient: &[f64]) -> (Vec<f64>, f64) {
    let descent: Vec<f64> = gradient
        .iter()
        .zip(at)
        .enumerate()
        .map(|(j, (g, w))| -(g + problem.penalty_of(j).l2 * w))
        .collect();
    let exact: Vec<DoubleDouble> = descent.iter().copied().map(DoubleDouble::from).collect();
    let step: Vec<f64> = factor.step(&exact).0.iter().map(|x| x.value()).collect();
    let gain = dot(&step, &descent).max(0.0);
    (step, gain)
}

/// The factor of H, and ‖H^(−½)‖ with columns of equal length: ∞ where there is no full rank.
fn factorise(problem: &Problem<'_>, hessian: &[f64]) -> Result<(Factor, f64)> {
    let layout = problem.layout();
    let width = layout.len();
    let entry = |i: usize, j: usize| {
        let ridge = if i == j { problem.penalty_of(j).l2 } else { 0.0 };
        hessian[j * width + i] + ridge
    };
    let scale: Vec<f64> = (0..width).map(|j| power_of_two(entry(j, j).sqrt())).collect();
    // The intercept first.
    let mut order: Vec<usize> = (0..width).collect();
    order.rotate_right(usize::from(layout.intercept));
    let scaled = |i: usize, j: usize| entry(i, j) * scale[i] * scale[j];
    let least = LEAST_EIGENVALUE * width as f64;
    if let Some(triangle) = Triangle::of_gram(width, |i, j| scaled(order[i], order[j])) {
        let inverse_norm = triangle.inverse_norm();
        if inverse_norm.powi(2) < 0.1 / least {
            let factor = Factor::Triangular {
                scale,
                order,
                rank: width,
                triangle,
                shortest: None,
            };
            return Ok((factor, inverse_norm));
        }
    }
    let whole = Mat::from_fn(width, width, scaled);
    let mut values = Diag::<f64>::zeros(width);
    let mut vectors = Mat::<f64>::zeros(width, width);
    let scratch =
        self_adjoint_evd_scratch::<f64>(width, ComputeEigenvectors::Yes, Par::Seq, Default::default());
    self_adjoint_evd(
        whole.as_ref(),
        values.as_mut(),
        Some(vectors.as_mut()),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    )
    .map_err(|_| Error::data("the normal equations could not be solved").hint("try --solver qr"))?;
    let values: Vec<f64> = values.column_vector().iter().copied().collect();
    let largest = values.iter().fold(0.0f64, |most, &value| most.max(value));
    let kept: Vec<usize> = (0..width).filter(|&k| values[k] > least * largest).collect();
    let free = (layout.intercept && problem.intercept == Intercept::Free).then_some(layout.features);
    let factor = Factor::spectral(
        scale,
        kept.iter().map(|&k| values[k]).collect(),
        kept.iter()
            .map(|&k| vectors.col(k).iter().copied().collect())
            .collect(),
        free,
    );
    Ok((factor, f64::INFINITY))
}
