//! Least squares by the normal equations.
//!
//! Problem: min ½ Σᵢ cᵢ (yᵢ − w·xᵢ − b)² + l2/2 ‖w‖². One pass gives H = X̃ᵀCX̃ and the gradient; H is scaled to
//! a unit diagonal and factorised by Cholesky's method, the intercept first, which leaves the Gram matrix of
//! the centred columns to the rest. Steps with the same factor then take off what rounding left. Only sums
//! over rows are asked for, so that rows may come from anywhere; the price is that digits go with the square
//! of the condition number. Where H has no full rank to this accuracy its eigenvectors give the answer of
//! least norm.

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
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

/// Least squares by the normal equations.
#[derive(Debug, Clone, Copy, Default)]
pub struct NormalEquations;

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
        let factor = factorise(problem, &evaluated.hessian)?;
        let mut best = (at.clone(), f64::INFINITY);
        let mut status = None;
        for _ in 0..MOST_STEPS {
            let step = descend(problem, &factor, &at, &evaluated.gradient).0;
            at.iter_mut().zip(&step).for_each(|(at, step)| *at += step);
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
            if gap == 0.0 || told.is_some_and(|told| told != Status::Converged) {
                break;
            }
        }
        Ok(Solution {
            parameters: best.0,
            dual: None,
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

fn factorise(problem: &Problem<'_>, hessian: &[f64]) -> Result<Factor> {
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
    let mut lower = Mat::from_fn(width, width, |i, j| scaled(order[i], order[j]));
    let scratch = cholesky_in_place_scratch::<f64>(width, Par::Seq, Default::default());
    let factorised = cholesky_in_place(
        lower.as_mut(),
        Default::default(),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    );
    let least = LEAST_EIGENVALUE * width as f64;
    if factorised.is_ok() {
        let values = (0..width * width).map(|at| {
            let (i, j) = (at % width, at / width);
            if i <= j { lower[(j, i)] } else { 0.0 }
        });
        let triangle = Triangle {
            rows: width,
            columns: width,
            values: values.collect(),
        };
        if triangle.inverse_norm().powi(2) < 0.1 / least {
            return Ok(Factor::Triangular {
                scale,
                order,
                rank: width,
                triangle,
                shortest: None,
            });
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
    Ok(Factor::spectral(
        scale,
        kept.iter().map(|&k| values[k]).collect(),
        kept.iter()
            .map(|&k| vectors.col(k).iter().copied().collect())
            .collect(),
        free,
    ))
}
