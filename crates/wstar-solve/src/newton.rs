//! Newton's method with the full Hessian, for smooth losses and penalties and few parameters.
//!
//! Problem: min P(θ). Each step solves H·s = −∇P with H = Σ cᵢ ℓ''(zᵢ) x̃ᵢx̃ᵢᵀ + l2·I. The whole step is
//! taken if it decreases P enough; otherwise a line search along s finds a point where the slope is nearly 0.
//! Squared loss takes one step (J. Nocedal and S. J. Wright, Numerical Optimization, chapter 3). The
//! squared hinge, whose Hessian is discontinuous, takes finitely many (O. L. Mangasarian, A finite Newton
//! method for classification, Optimization Methods and Software 17, 2002).
//!
//! H is scaled to a unit diagonal and factored by Cholesky. Where H is singular (duplicate columns, too few
//! rows, the common shift of softmax), its eigenvectors give the shortest step in the scaled parameters.
//! Where H is indefinite (a nonconvex loss), the absolute values of the eigenvalues are used.
//!
//! **Stopping.** By the duality gap where there is a dual point. With many rows the certificate can be
//! expected to find a gap of at most [`EXPECTED_GAP_RATIO`] times the decrement ½ ∇Pᵀ H⁻¹ ∇P, and this bound
//! is used if it is smaller. Without a penalty, or for a nonconvex loss, the decrement itself is used: the
//! decrease that the quadratic model predicts. For a nonconvex loss a small decrement only says that the
//! point is stationary.

use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Mat, MatMut, Par};

use wstar_data::error::Result;
use wstar_numeric::dense::{axpy, dot};
use wstar_problem::looseness::{EXPECTED_GAP_RATIO, has_newton_correction};
use wstar_problem::loss::LossName;
use wstar_problem::objective::{Evaluated, Objective, Rows};

use crate::line_search::Line;
use crate::smooth_stopping;
use crate::smooth_stopping::SmoothRun;
use crate::{Control, Solution, Solver, SolverName};
use wstar_data::run::Status;

/// The parameter limit. Cap: the Hessian is a dense square matrix, so more parameters are refused with an
/// error.
const MOST_PARAMETERS: usize = 5_000;
/// Parameters up to which a singular Hessian is decomposed into eigenvectors. Cap: beyond it a small ridge is
/// added instead.
const MOST_EIGEN_PARAMETERS: usize = 1_000;
/// The ridge added to the unit diagonal of a singular scaled Hessian. Heuristic: far above rounding, so that
/// steps stay short, against accuracy, which [`REFINEMENTS`] restore; not measured yet.
const RIDGE: f64 = 1e-9;
/// Steps of iterative refinement that remove the effect of the ridge. Heuristic: two more solves against
/// accuracy; not measured yet.
const REFINEMENTS: usize = 2;
/// The fraction of the slope by which a whole step must decrease the objective (Armijo's condition);
/// otherwise a line search follows. Heuristic: one pass saved against a shorter step; not measured yet.
const ARMIJO: f64 = 0.1;
/// Stored entries from which a Hessian is reused for several steps. Heuristic: passes for new Hessians
/// against convergence with an old one; not measured yet.
const MANY_ENTRIES: usize = 1 << 20;
/// The decrement, relative to the objective, below which the Hessian of the start is reused. Heuristic: a
/// saved Hessian against a slower step; not measured yet.
const NEAR_OPTIMUM: f64 = 2e-3;
/// The largest ratio of successive decrements at which an old Hessian is kept; above it a new one is
/// computed. Heuristic: cost of a Hessian against the rate of convergence; not measured yet.
const SLOW_CONVERGENCE: f64 = 0.05;
/// A step whose predicted gap is at most this fraction of the target is taken as the last one without
/// evaluating it. Heuristic: one pass saved against the risk of a gap above the tolerance; not measured yet.
const CERTAIN_LAST_STEP: f64 = 0.1;
/// Steps without progress after which the run stops. Heuristic: rounding against slow progress; not measured
/// yet.
const PATIENCE: u64 = 4;

/// Newton's method.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Newton {
    /// The iteration limit.
    pub(crate) max_iterations: u64,
}

impl Default for Newton {
    fn default() -> Self {
        // Cap: the run ends with the iteration limit as its status.
        Newton { max_iterations: 200 }
    }
}

impl Solver for Newton {
    fn name(&self) -> SolverName {
        SolverName::Newton
    }

    fn check(&self, objective: &Objective<'_>) -> Result<()> {
        smooth_stopping::check(self.name(), objective)?;
        smooth_stopping::check_size(self.name(), objective, MOST_PARAMETERS)
    }

    fn solve(
        &self,
        objective: &mut Objective<'_>,
        start: &[f64],
        control: &mut Control<'_>,
    ) -> Result<Solution> {
        self.check(objective)?;
        let mut run = SmoothRun::new(objective, control, self.name(), self.max_iterations, PATIENCE);
        let sizes = match objective.problem.loss().is_convex() {
            true => None,
            false => Some(smooth_stopping::diagonal(objective, start)?),
        };
        let mut at = start.to_vec();
        let mut evaluated = objective.hessian(&at)?;
        let mut factor = NewtonFactor::new(objective, &evaluated.hessian, sizes.as_deref());
        let mut trust = objective.problem.loss().is_convex();
        let mut last_gap = None;
        let mut last_decrement = None;
        let mut steps_with_factor = 0;
        // A new Hessian converges faster than an old one, and on few rows it costs next to nothing.
        let many = |rows: &Rows<'_>| rows.design.stored() >= MANY_ENTRIES;
        let reuses_hessian = objective.problem.loss().is_convex() && objective.rows.as_ref().is_none_or(many);
        loop {
            let gradient = objective.full_gradient(&at, &evaluated);
            let mut step = factor.solve(&gradient);
            let decrement = -0.5 * dot(&gradient, &step);
            let mut gap = smooth_stopping::dual_gap(objective, &at, &evaluated).unwrap_or(decrement);
            if reuses_hessian
                && has_newton_correction(
                    objective.problem.loss(),
                    objective.problem.penalty(),
                    objective.problem.layout(),
                )
            {
                gap = gap.min(EXPECTED_GAP_RATIO * decrement);
            }
            if let Some(status) = run.reached(objective, &at, &evaluated, gap) {
                return Ok(run.end(status, at));
            }
            // Near the optimum one Hessian serves for several steps, as long as each decreases the decrement
            // enough. The first step with it squares the error e. Each later step multiplies the error by
            // about 2e, and the decrement is proportional to the square of the error. Derived: hence the factor 4.
            let stale = evaluated.hessian.is_empty() && objective.problem.loss() != LossName::Squared;
            let near = reuses_hessian
                && match last_decrement {
                    Some(last) if steps_with_factor > 1 => decrement <= SLOW_CONVERGENCE * last,
                    Some(last) => 4.0 * decrement <= SLOW_CONVERGENCE * last,
                    None => decrement <= NEAR_OPTIMUM * evaluated.objective.abs(),
                };
            last_decrement = Some(decrement);
            if stale && !near {
                evaluated = objective.hessian(&at)?;
                factor = NewtonFactor::new(objective, &evaluated.hessian, sizes.as_deref());
                step = factor.solve(&gradient);
                steps_with_factor = 0;
            }
            steps_with_factor += 1;
            let target = run.target(evaluated.objective);
            let slope = dot(&gradient, &step);
            // Tries the whole step first: if it is good, the pass of a line search is saved.
            let mut next = at.clone();
            smooth_stopping::advance(&mut next, 1.0, &step);
            // The certificate makes a pass over rows in memory anyway, so the last step need not be
            // evaluated.
            let certainly_last = |last: f64| gap * (gap / last) <= CERTAIN_LAST_STEP * target;
            if trust && near && objective.rows.is_some() && last_gap.is_some_and(certainly_last) {
                return Ok(run.finish_without_evaluating(next));
            }
            let whole_step = trust.then(|| -> Result<_> {
                let ends = last_gap.is_some_and(|last| predicted(last, gap) <= target);
                let there = evaluate(objective, &next, ends || near)?;
                let descends = there.objective <= evaluated.objective + ARMIJO * slope;
                Ok((next, there, descends))
            });
            last_gap = Some(gap);
            if let Some((next, there, true)) = whole_step.transpose()? {
                (at, evaluated) = (next, there);
            } else {
                let line = Line::new(objective, &at, &step);
                // Heuristic: the slope is reduced to a tenth; accuracy against trial steps; not measured
                // yet.
                let Some(found) = line.search(objective, evaluated.objective, &gradient, 1.0, 0.1)? else {
                    return Ok(run.end(Status::IterationLimit, at));
                };
                // Whole steps are tried again after a search that ended near one. Heuristic: within a factor of 2;
                // not measured yet.
                trust = objective.problem.loss().is_convex() && (0.5..2.0).contains(&found.step);
                // The gradient is assumed to shrink like the slope, and the gap like the square of the
                // gradient.
                let left = found.point.slope / slope;
                smooth_stopping::advance(&mut at, found.step, &step);
                evaluated = evaluate(objective, &at, gap * left * left <= target)?;
            }
            if !evaluated.hessian.is_empty() {
                factor = NewtonFactor::new(objective, &evaluated.hessian, sizes.as_deref());
                steps_with_factor = 0;
            }
        }
    }
}

/// The predicted gap after a whole step: the ratio of the last two gaps, squared, times the gap.
fn predicted(last: f64, gap: f64) -> f64 {
    gap * (gap / last) * (gap / last)
}

/// The objective at a point. The Hessian is left out if the point is likely to be the last one, or if the
/// Hessian is the same everywhere.
fn evaluate(objective: &mut Objective<'_>, at: &[f64], last: bool) -> Result<Evaluated> {
    if last || objective.problem.loss() == LossName::Squared {
        objective.gradient(at)
    } else {
        objective.hessian(at)
    }
}

/// A factored Hessian.
pub(super) struct NewtonFactor {
    /// Parameter j is measured in units of `scale[j]`; 0 for a parameter without curvature, which does not
    /// move.
    scale: Vec<f64>,
    kind: Factorisation,
}

enum Factorisation {
    /// The lower triangular factor.
    Cholesky(Mat<f64>),
    /// The lower triangular factor of the matrix with a ridge, and the matrix without it, for iterative
    /// refinement.
    Ridged { lower: Mat<f64>, matrix: Mat<f64> },
    /// The eigenvectors, and 1/|λ| for each, or 0 where λ is 0 up to rounding.
    Eigen { vectors: Mat<f64>, inverse: Vec<f64> },
}

impl NewtonFactor {
    /// Factors the Hessian of the loss (stored column by column) plus that of the penalty. Parameters are
    /// scaled by the Hessian's own diagonal unless `sizes` are given.
    pub(super) fn new(objective: &Objective<'_>, hessian: &[f64], sizes: Option<&[f64]>) -> Self {
        let length = objective.problem.layout().len();
        let diagonal = |j: usize| hessian[j * length + j] + objective.problem.penalty_of(j).l2;
        let scale: Vec<f64> = (0..length)
            .map(|j| sizes.map_or_else(|| diagonal(j), |sizes| sizes[j]))
            .map(|size| if size > 0.0 { 1.0 / size.sqrt() } else { 0.0 })
            .collect();
        let matrix = Mat::from_fn(length, length, |row, column| {
            let value = hessian[column * length + row];
            match row == column {
                true if scale[row] == 0.0 => 1.0,
                true => diagonal(row) * scale[row] * scale[row],
                false => value * scale[row] * scale[column],
            }
        });
        let kind = factor(&matrix, MOST_EIGEN_PARAMETERS);
        NewtonFactor { scale, kind }
    }

    /// −H⁻¹·g.
    pub(super) fn solve(&self, gradient: &[f64]) -> Vec<f64> {
        let length = gradient.len();
        let mut step: Vec<f64> = gradient.iter().zip(&self.scale).map(|(g, s)| -g * s).collect();
        match &self.kind {
            Factorisation::Cholesky(lower) => substitute(lower, &mut step),
            Factorisation::Ridged { lower, matrix } => {
                let wanted = step.clone();
                substitute(lower, &mut step);
                for _ in 0..REFINEMENTS {
                    let mut left = wanted.clone();
                    for (j, &s) in step.iter().enumerate() {
                        axpy(-s, matrix.col_as_slice(j), &mut left);
                    }
                    substitute(lower, &mut left);
                    axpy(1.0, &left, &mut step);
                }
            }
            Factorisation::Eigen { vectors, inverse } => {
                let mut solved = vec![0.0; length];
                for (k, &inverse) in inverse.iter().enumerate().filter(|(_, inverse)| **inverse > 0.0) {
                    let vector = vectors.col_as_slice(k);
                    axpy(inverse * dot(vector, &step), vector, &mut solved);
                }
                step = solved;
            }
        }
        step.iter_mut()
            .zip(&self.scale)
            .for_each(|(step, scale)| *step *= scale);
        step
    }
}

/// Overwrites b with the solution of L·Lᵀ·x = b.
fn substitute(lower: &Mat<f64>, b: &mut [f64]) {
    let length = b.len();
    let mut column = MatMut::from_column_major_slice_mut(b, length, 1);
    solve_lower_triangular_in_place(lower.as_ref(), column.as_mut(), Par::Seq);
    solve_upper_triangular_in_place(lower.transpose(), column, Par::Seq);
}

/// Cholesky if the matrix is positive definite; otherwise eigenvectors or, for a large matrix, the smallest
/// ridge that makes it positive definite.
fn factor(matrix: &Mat<f64>, most_eigen_parameters: usize) -> Factorisation {
    let length = matrix.nrows();
    if let Some(lower) = cholesky(matrix, 0.0) {
        return Factorisation::Cholesky(lower);
    }
    if length <= most_eigen_parameters
        && let Some(kind) = eigenvectors(matrix)
    {
        return kind;
    }
    // A ridge far above rounding keeps the step short where the matrix is singular; refinement removes its
    // effect elsewhere.
    if let Some(lower) = cholesky(matrix, RIDGE) {
        let matrix = matrix.clone();
        return Factorisation::Ridged { lower, matrix };
    }
    let mut ridge = RIDGE;
    // Cap: a matrix with a unit diagonal is positive definite long before.
    while ridge < 1e12 {
        ridge *= 10.0;
        if let Some(lower) = cholesky(matrix, ridge) {
            return Factorisation::Cholesky(lower);
        }
    }
    // The diagonal contains NaN: there is no direction of descent.
    Factorisation::Eigen {
        vectors: Mat::zeros(length, length),
        inverse: vec![0.0; length],
    }
}

/// The Cholesky factor of the matrix plus `ridge` times I; `None` if a pivot is not above rounding.
fn cholesky(matrix: &Mat<f64>, ridge: f64) -> Option<Mat<f64>> {
    let length = matrix.nrows();
    let mut lower = matrix.clone();
    (0..length).for_each(|j| lower[(j, j)] += ridge);
    // Sequential, because the rounding of a parallel factorisation depends on how the work is split.
    let mut memory = MemBuffer::new(cholesky_in_place_scratch::<f64>(
        length,
        Par::Seq,
        Default::default(),
    ));
    cholesky_in_place(
        lower.as_mut(),
        Default::default(),
        Par::Seq,
        MemStack::new(&mut memory),
        Default::default(),
    )
    .ok()?;
    // Derived: the rounding error of a pivot of a matrix with unit diagonal is of order d·ε.
    let smallest = 8.0 * length as f64 * f64::EPSILON;
    // The comparison also refuses a pivot that is NaN.
    let sound = (0..length).all(|j| lower[(j, j)] * lower[(j, j)] > smallest);
    sound.then_some(lower)
}

/// The eigendecomposition with inverted absolute eigenvalues; `None` if it fails.
fn eigenvectors(matrix: &Mat<f64>) -> Option<Factorisation> {
    let length = matrix.nrows();
    let mut values = vec![0.0; length];
    let mut vectors = Mat::zeros(length, length);
    let mut memory = MemBuffer::new(self_adjoint_evd_scratch::<f64>(
        length,
        ComputeEigenvectors::Yes,
        Par::Seq,
        Default::default(),
    ));
    self_adjoint_evd(
        matrix.as_ref(),
        DiagMut::from_slice_mut(&mut values),
        Some(vectors.as_mut()),
        Par::Seq,
        MemStack::new(&mut memory),
        Default::default(),
    )
    .ok()?;
    let largest = values
        .iter()
        .fold(0.0f64, |largest, value| largest.max(value.abs()));
    if !largest.is_finite() {
        return None;
    }
    // Derived: the rounding error of an eigenvalue is of order d·ε times the largest.
    let smallest = 8.0 * length as f64 * f64::EPSILON * largest;
    let inverse = values
        .iter()
        .map(|value| {
            if value.abs() > smallest {
                1.0 / value.abs()
            } else {
                0.0
            }
        })
        .collect();
    Some(Factorisation::Eigen { vectors, inverse })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solved(kind: Factorisation, g: &[f64]) -> Vec<f64> {
        let scale = vec![1.0; g.len()];
        NewtonFactor { scale, kind }.solve(g)
    }

    #[test]
    fn a_singular_matrix_gives_the_shortest_step() {
        // Columns 0 and 1 are equal, so the step is divided between them.
        let matrix = Mat::from_fn(3, 3, |i, j| if (i < 2) == (j < 2) { 1.0 } else { 0.5 });
        let g = [3.0, 3.0, 2.0];
        // (1.0·2a + 0.5c, 0.5·2a + c) = −(3, 2) gives 2a = −8/3 and c = −2/3.
        let expected = [-4.0 / 3.0, -4.0 / 3.0, -2.0 / 3.0];
        assert!(cholesky(&matrix, 0.0).is_none());
        for (most, within) in [(3, 1e-14), (0, 1e-6)] {
            let step = solved(factor(&matrix, most), &g);
            for (step, expected) in step.iter().zip(expected) {
                assert!((step - expected).abs() < within, "{step} {expected}");
            }
        }
    }

    #[test]
    fn an_indefinite_matrix_gives_a_descent_direction() {
        let matrix = Mat::from_fn(2, 2, |i, j| if i == j { 1.0 } else { 3.0 });
        for most in [2, 0] {
            let g = [1.0, -2.0];
            assert!(dot(&g, &solved(factor(&matrix, most), &g)) < 0.0);
        }
        let unusable = Mat::from_fn(2, 2, |_, _| f64::NAN);
        assert_eq!(solved(factor(&unusable, 2), &[1.0, 1.0]), [0.0, 0.0]);
    }
}
