//! Least squares by the normal equations (Å. Björck, Numerical Methods for Least Squares Problems, SIAM 1996,
//! chapter 2).
//!
//! Problem: min ½ Σᵢ cᵢ (yᵢ − w·xᵢ − b)² + l2/2 ‖w‖².
//!
//! Method: one pass gives H = X̃ᵀCX̃ and the gradient. H is scaled to a unit diagonal and factored by
//! Cholesky, with the intercept first, so that the Gram matrix of the centred columns remains for the
//! weights. Further steps with the same factor remove rounding errors. Only sums over rows are needed, so the
//! rows may be streamed; in return the error grows with the square of the condition number. If H is
//! numerically rank-deficient, its eigenvectors give the solution of least norm.
//!
//! [`NormalEquations::WELL_CONDITIONED`] is meant for many rows, where it takes half the work of a QR
//! factorisation and far less memory traffic. It gives up if the columns are so nearly dependent that digits
//! would be lost.

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{Mat, Par};
use wstar_data::setting::Setting;

use crate::least_squares::check;
use crate::least_squares::iterative_refinement::RefinedFactor;
use crate::{Control, Solution, Solver, SolverName};
use wstar_data::error::{Error, Result};
use wstar_data::run::Status;
use wstar_numeric::dense::dot;
use wstar_numeric::double_double::DoubleDouble;
use wstar_numeric::linalg::householder::Triangle;
use wstar_numeric::linalg::power_of_two::power_of_two;
use wstar_problem::objective::Objective;
use wstar_problem::problem::Intercept;

/// Maximum number of steps with one factor. Cap: beyond it the best point is returned.
const MAX_STEPS: usize = 10;
/// Eigenvalues of H below this multiple of the largest, times the number of parameters, count as 0.
/// Heuristic: the level of rounding errors in H; not measured yet.
const MIN_RELATIVE_EIGENVALUE: f64 = 16.0 * f64::EPSILON;

/// Largest bound on the condition number of H, with columns of equal length, at which the first step is
/// accepted without evaluating its gradient. Heuristic: that step then has lost at most three digits; not
/// measured yet.
const MAX_CONDITION_FOR_ONE_STEP: f64 = 1e3;
/// Smallest ratio of the remaining to the initial objective at which the first step is accepted. Heuristic:
/// smaller residuals need digits of their own; not measured yet.
const MIN_REMAINING: f64 = 1e-3;
/// Gap relative to the objective at which the steps end. Heuristic: a smaller gap no longer changes a digit
/// of the solution; not measured yet.
const MIN_RELATIVE_GAP: f64 = 1e-28;

/// Least squares by the normal equations.
#[derive(Debug, Clone, Copy)]
pub struct NormalEquations {
    /// The solver gives up if ‖H^(−½)‖, with columns of equal length, exceeds this.
    max_inverse_norm: f64,
}

impl NormalEquations {
    /// Accepts any columns.
    pub const ANY: NormalEquations = NormalEquations {
        max_inverse_norm: f64::INFINITY,
    };
    /// Accepts only columns for which the solution keeps about ten digits.
    pub const WELL_CONDITIONED: NormalEquations = NormalEquations {
        // Derived: the condition number of H is then at most d·1e6, and the relative error about d·1e-10.
        max_inverse_norm: 1e3,
    };
}

impl Solver for NormalEquations {
    fn name(&self) -> SolverName {
        SolverName::NormalEquations
    }

    fn check(&self, objective: &Objective<'_>) -> Result<()> {
        check(objective, self.name(), false)
    }

    fn solve(
        &self,
        objective: &mut Objective<'_>,
        start: &[f64],
        control: &mut Control<'_>,
    ) -> Result<Solution> {
        self.check(objective)?;
        // Only a start of 0 leads to the solution of least norm of a rank-deficient problem.
        let mut at = vec![0.0; start.len()];
        let mut evaluated = objective.hessian(&at)?;
        let (factor, inverse_norm) = factorise(objective, &evaluated.hessian)?;
        if inverse_norm > self.max_inverse_norm {
            return Ok(Solution {
                parameters: at,
                dual: None,
                gram: None,
                status: Status::IterationLimit,
                iterations: 0,
            });
        }
        // ‖H‖ is at most the trace of H, which is about the number of parameters.
        let condition = at.len() as f64 * inverse_norm.powi(2);
        let gram = std::mem::take(&mut evaluated.hessian);
        let mut best = (at.clone(), f64::INFINITY);
        let mut status = None;
        for _ in 0..MAX_STEPS {
            let (step, gain) = descend(objective, &factor, &at, &evaluated.gradient);
            at.iter_mut().zip(&step).for_each(|(at, step)| *at += step);
            let left = evaluated.objective - 0.5 * gain;
            if best.1.is_infinite()
                && condition <= MAX_CONDITION_FOR_ONE_STEP
                && left >= MIN_REMAINING * evaluated.objective
            {
                // The certificate verifies this in a pass that it makes anyway.
                status = control.iterate(objective, &at, left, MIN_RELATIVE_GAP * left);
                best.0 = at;
                break;
            }
            evaluated = objective.gradient(&at)?;
            // For a quadratic this is P − P\*, up to the error of the factor.
            let gap = 0.5 * descend(objective, &factor, &at, &evaluated.gradient).1;
            // Heuristic: a gap that shrinks by less than a factor of 4 is rounding; not measured yet.
            if gap.is_nan() || gap >= 0.25 * best.1 {
                break;
            }
            best = (at.clone(), gap);
            let reported = control.iterate(objective, &at, evaluated.objective, gap);
            if status != Some(Status::Converged) {
                status = reported;
            }
            let settled = gap <= MIN_RELATIVE_GAP * evaluated.objective;
            if settled || reported.is_some_and(|reported| reported != Status::Converged) {
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

/// The step from a point with this gradient of the loss, and its inner product with the negative gradient of
/// the objective.
fn descend(
    objective: &Objective<'_>,
    factor: &RefinedFactor,
    at: &[f64],
    gradient: &[f64],
) -> (Vec<f64>, f64) {
    let descent: Vec<f64> = gradient
        .iter()
        .zip(at)
        .enumerate()
        .map(|(j, (g, w))| -(g + objective.problem.penalty_of(j).l2 * w))
        .collect();
    let exact: Vec<DoubleDouble> = descent.iter().copied().map(DoubleDouble::from).collect();
    let step: Vec<f64> = factor.step(&exact).0.iter().map(|x| x.value()).collect();
    let gain = dot(&step, &descent).max(0.0);
    (step, gain)
}

/// The factor of H, and ‖H^(−½)‖ with columns of equal length, which is ∞ if H is rank-deficient.
fn factorise(objective: &Objective<'_>, hessian: &[f64]) -> Result<(RefinedFactor, f64)> {
    let layout = objective.problem.layout();
    let width = layout.len();
    let entry = |i: usize, j: usize| {
        let ridge = if i == j {
            objective.problem.penalty_of(j).l2
        } else {
            0.0
        };
        hessian[j * width + i] + ridge
    };
    let scale: Vec<f64> = (0..width).map(|j| power_of_two(entry(j, j).sqrt())).collect();
    // The intercept comes first.
    let mut order: Vec<usize> = (0..width).collect();
    order.rotate_right(usize::from(layout.intercept));
    let scaled = |i: usize, j: usize| entry(i, j) * scale[i] * scale[j];
    let least = MIN_RELATIVE_EIGENVALUE * width as f64;
    if let Some(triangle) = Triangle::of_gram(width, |i, j| scaled(order[i], order[j])) {
        let inverse_norm = triangle.inverse_norm();
        // The estimate of the norm may be slightly too small, hence the factor 0.1. Heuristic: not measured yet.
        if inverse_norm.powi(2) < 0.1 / least {
            let factor = RefinedFactor::Triangular {
                scale,
                order,
                rank: width,
                triangle,
                minimum_norm: None,
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
    .map_err(|_| Error::data("the normal equations could not be solved").remedy(Setting::Solver.to("qr")))?;
    let values: Vec<f64> = values.column_vector().iter().copied().collect();
    let largest = values.iter().fold(0.0f64, |most, &value| most.max(value));
    let kept: Vec<usize> = (0..width).filter(|&k| values[k] > least * largest).collect();
    let free =
        (layout.intercept && objective.problem.intercept() == Intercept::Free).then_some(layout.features);
    let factor = RefinedFactor::spectral(
        scale,
        kept.iter().map(|&k| values[k]).collect(),
        kept.iter()
            .map(|&k| vectors.col(k).iter().copied().collect())
            .collect(),
        free,
    );
    Ok((factor, f64::INFINITY))
}
