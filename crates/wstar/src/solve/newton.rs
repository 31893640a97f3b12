//! Newton's method with the whole Hessian, for smooth losses and penalties and few parameters.
//!
//! Problem: min P(θ). Each step solves H·s = −∇P with H = Σ cᵢ ℓ''(zᵢ) x̃ᵢx̃ᵢᵀ + l2·I, and goes along s to where
//! the slope is nearly gone. Squared loss is done in one step; the squared hinge, whose Hessian jumps, in
//! finitely many (Mangasarian, A finite Newton method for classification, Optimization Methods and
//! Software 17, 2002).
//!
//! H is scaled to a diagonal of ones and factored by Cholesky. Where it is singular (duplicate columns, too
//! few rows, softmax's common shift) its eigenvectors give the shortest step in the scaled parameters, and
//! where it is indefinite (a loss that is not convex) the eigenvalues are taken by their sizes.
//!
//! **When it stops.** By the dual gap where there is one; with many rows by the one that the certificate can be expected
//! to find, some times the decrement, if that is less. Without a penalty, or for a loss that is not
//! convex, by the decrement ½ ∇Pᵀ H⁻¹ ∇P instead: what the quadratic model still has to gain. For a loss
//! that is not convex that says only that the point is stationary.

use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Mat, MatMut, Par};

use crate::certify::duality::{LOOSENESS, can_spread};
use crate::error::Result;
use crate::kernel::dense::{axpy, dot};
use crate::loss::LossName;
use crate::oracle::Rows;
use crate::problem::{Evaluated, Problem};
use crate::solve::line_search::Line;
use crate::solve::smooth::{self, Run};
use crate::solve::{Control, Solution, Solver, SolverName};
use crate::watch::Status;

/// Parameters at most: the Hessian is a square matrix of them.
const MOST_PARAMETERS: usize = 5_000;
/// Parameters up to which a singular Hessian is decomposed; beyond, a small ridge is added.
const MOST_FOR_EIGENVECTORS: usize = 1_000;
/// What is added to the diagonal of ones of a singular Hessian.
const RIDGE: f64 = 1e-9;
/// How often a step with a ridge is refined to one without.
const REFINEMENTS: usize = 2;
/// The share of the slope that a whole step must bring, lest a line be searched instead.
const SUFFICIENT: f64 = 0.1;
/// Entries of rows for which a Hessian is worth keeping.
const MANY_ENTRIES: usize = 1 << 20;
/// A relative decrement at which the Hessian hardly changes any more.
const NEAR: f64 = 2e-3;
/// The share of the decrement that a step with an old Hessian may leave, lest the Hessian be made anew.
const SLOW: f64 = 0.05;
/// A step that is expected to leave this share of the gap that was asked for ends the run unseen.
const SURE: f64 = 0.1;
/// Steps without any progress before the run ends.
const PATIENCE: u64 = 4;

/// Newton's method.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Newton {
    /// The most steps.
    pub max_iterations: u64,
}

impl Default for Newton {
    fn default() -> Self {
        Newton { max_iterations: 200 }
    }
}

impl Solver for Newton {
    fn name(&self) -> SolverName {
        SolverName::Newton
    }

    fn check(&self, problem: &Problem<'_>) -> Result<()> {
        smooth::check(self.name(), problem)?;
        smooth::check_size(self.name(), problem, MOST_PARAMETERS)
    }

    fn solve(&self, problem: &mut Problem<'_>, start: &[f64], control: &mut Control<'_>) -> Result<Solution> {
        self.check(problem)?;
        let mut run = Run::new(problem, control, self.name(), self.max_iterations, PATIENCE);
        let sizes = match problem.loss.is_convex() {
            true => None,
            false => Some(smooth::diagonal(problem, start)?),
        };
        let mut at = start.to_vec();
        let mut evaluated = problem.hessian(&at)?;
        let mut factor = Factor::new(problem, &evaluated.hessian, sizes.as_deref());
        let mut trust = problem.loss.is_convex();
        let mut last_gap = None;
        let mut last_decrement = None;
        let mut steps_with_factor = 0;
        // A new Hessian brings more digits than an old one, and of few rows it costs nothing.
        let many = |rows: &Rows<'_>| rows.design.stored() >= MANY_ENTRIES;
        let thrifty = problem.loss.is_convex() && problem.rows.as_ref().is_none_or(many);
        loop {
            let gradient = problem.full_gradient(&at, &evaluated);
            let mut step = factor.solve(&gradient);
            let decrement = -0.5 * dot(&gradient, &step);
            let mut gap = smooth::dual_gap(problem, &at, &evaluated).unwrap_or(decrement);
            if thrifty && can_spread(problem.loss, problem.penalty, problem.layout()) {
                gap = gap.min(LOOSENESS * decrement);
            }
            if let Some(status) = run.reached(problem, &at, &evaluated, gap) {
                return Ok(run.end(status, at));
            }
            // Near the optimum a Hessian serves for several steps, as long as each brings the decrement down well. The
            // first step with it squares the error e; the next ones leave about twice e of theirs, and the
            // decrement falls with the squares of both.
            let stale = evaluated.hessian.is_empty() && problem.loss != LossName::Squared;
            let near = thrifty
                && match last_decrement {
                    Some(last) if steps_with_factor > 1 => decrement <= SLOW * last,
                    Some(last) => 4.0 * decrement <= SLOW * last,
                    None => decrement <= NEAR * evaluated.objective.abs(),
                };
            last_decrement = Some(decrement);
            if stale && !near {
                evaluated = problem.hessian(&at)?;
                factor = Factor::new(problem, &evaluated.hessian, sizes.as_deref());
                step = factor.solve(&gradient);
                steps_with_factor = 0;
            }
            steps_with_factor += 1;
            let target = run.target(evaluated.objective);
            let slope = dot(&gradient, &step);
            // The whole step, if it is likely to be a good one: the pass that would measure a line is saved.
            let mut next = at.clone();
            smooth::advance(&mut next, 1.0, &step);
            // Rows that are at hand will be passed over for the certificate anyway.
            let sure = |last: f64| gap * (gap / last) <= SURE * target;
            if trust && near && problem.rows.is_some() && last_gap.is_some_and(sure) {
                return Ok(run.arrive(next));
            }
            let whole = trust.then(|| -> Result<_> {
                let ends = last_gap.is_some_and(|last| predicted(last, gap) <= target);
                let there = evaluate(problem, &next, ends || near)?;
                let descends = there.objective <= evaluated.objective + SUFFICIENT * slope;
                Ok((next, there, descends))
            });
            last_gap = Some(gap);
            if let Some((next, there, true)) = whole.transpose()? {
                (at, evaluated) = (next, there);
            } else {
                let line = Line::new(problem, &at, &step);
                let Some(found) = line.search(problem, evaluated.objective, &gradient, 1.0, 0.1)? else {
                    return Ok(run.end(Status::IterationLimit, at));
                };
                trust = problem.loss.is_convex() && (0.5..2.0).contains(&found.step);
                // What is left of the slope is left of the gradient, and the gap falls with its square.
                let left = found.point.slope / slope;
                smooth::advance(&mut at, found.step, &step);
                evaluated = evaluate(problem, &at, gap * left * left <= target)?;
            }
            if !evaluated.hessian.is_empty() {
                factor = Factor::new(problem, &evaluated.hessian, sizes.as_deref());
                steps_with_factor = 0;
            }
        }
    }
}

/// The gap that a whole step leaves: it falls with its square, by as much as in the step before.
fn predicted(last: f64, gap: f64) -> f64 {
    gap * (gap / last) * (gap / last)
}

/// The objective at a point; without its Hessian if the point is likely to be the last, or the Hessian the same
/// everywhere.
fn evaluate(problem: &mut Problem<'_>, at: &[f64], last: bool) -> Result<Evaluated> {
    if last || problem.loss == LossName::Squared {
        problem.gradient(at)
    } else {
        problem.hessian(at)
    }
}

/// A factored Hessian.
pub(super) struct Factor {
    /// Parameter j is measured in units of `scale[j]`; 0 for one without any curvature, which is left alone.
    scale: Vec<f64>,
    kind: Kind,
}

enum Kind {
    /// The lower triangle.
    Cholesky(Mat<f64>),
    /// The lower triangle of the matrix with a ridge, and the matrix without, to which steps are refined.
    Ridged { lower: Mat<f64>, matrix: Mat<f64> },
    /// Eigenvectors, and 1/|λ| or 0 where λ is nothing but rounding.
    Eigen { vectors: Mat<f64>, inverse: Vec<f64> },
}

impl Factor {
    /// Factors the Hessian of the loss (column by column) with the penalty; parameters are measured by the
    /// Hessian's own diagonal unless `sizes` are given.
    pub(super) fn new(problem: &Problem<'_>, hessian: &[f64], sizes: Option<&[f64]>) -> Self {
        let length = problem.layout().len();
        let diagonal = |j: usize| hessian[j * length + j] + problem.penalty_of(j).l2;
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
        let kind = factor(&matrix, MOST_FOR_EIGENVECTORS);
        Factor { scale, kind }
    }

    /// −H⁻¹·g.
    pub(super) fn solve(&self, gradient: &[f64]) -> Vec<f64> {
        let length = gradient.len();
        let mut step: Vec<f64> = gradient.iter().zip(&self.scale).map(|(g, s)| -g * s).collect();
        match &self.kind {
            Kind::Cholesky(lower) => substitute(lower, &mut step),
            Kind::Ridged { lower, matrix } => {
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
            Kind::Eigen { vectors, inverse } => {
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

/// Solves L·Lᵀ·x = b in the place of b.
fn substitute(lower: &Mat<f64>, b: &mut [f64]) {
    let length = b.len();
    let mut column = MatMut::from_column_major_slice_mut(b, length, 1);
    solve_lower_triangular_in_place(lower.as_ref(), column.as_mut(), Par::Seq);
    solve_upper_triangular_in_place(lower.transpose(), column, Par::Seq);
}

/// Cholesky if it can be; else the eigenvectors, or for a large matrix the smallest ridge that works.
fn factor(matrix: &Mat<f64>, most_for_eigenvectors: usize) -> Kind {
    let length = matrix.nrows();
    if let Some(lower) = cholesky(matrix, 0.0) {
        return Kind::Cholesky(lower);
    }
    if length <= most_for_eigenvectors
        && let Some(kind) = eigenvectors(matrix)
    {
        return kind;
    }
    // A ridge far above rounding keeps the step short where the matrix is singular; refined, it costs nothing
    // elsewhere.
    if let Some(lower) = cholesky(matrix, RIDGE) {
        let matrix = matrix.clone();
        return Kind::Ridged { lower, matrix };
    }
    let mut ridge = RIDGE;
    while ridge < 1e12 {
        ridge *= 10.0;
        if let Some(lower) = cholesky(matrix, ridge) {
            return Kind::Cholesky(lower);
        }
    }
    // Not even the diagonal is a number: no direction can be had from it.
    Kind::Eigen {
        vectors: Mat::zeros(length, length),
        inverse: vec![0.0; length],
    }
}

fn cholesky(matrix: &Mat<f64>, ridge: f64) -> Option<Mat<f64>> {
    let length = matrix.nrows();
    let mut lower = matrix.clone();
    (0..length).for_each(|j| lower[(j, j)] += ridge);
    // One thread: the bits of a parallel factorisation depend on how it was split.
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
    let smallest = 8.0 * length as f64 * f64::EPSILON;
    // Also refuses a pivot that is not a number.
    let sound = (0..length).all(|j| lower[(j, j)] * lower[(j, j)] > smallest);
    sound.then_some(lower)
}

fn eigenvectors(matrix: &Mat<f64>) -> Option<Kind> {
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
    Some(Kind::Eigen { vectors, inverse })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solved(kind: Kind, g: &[f64]) -> Vec<f64> {
        let scale = vec![1.0; g.len()];
        Factor { scale, kind }.solve(g)
    }

    #[test]
    fn a_singular_matrix_gives_the_shortest_step() {
        // Columns 0 and 1 are the same: the step is shared between them.
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
    fn an_indefinite_matrix_still_leads_downhill() {
        let matrix = Mat::from_fn(2, 2, |i, j| if i == j { 1.0 } else { 3.0 });
        for most in [2, 0] {
            let g = [1.0, -2.0];
            assert!(dot(&g, &solved(factor(&matrix, most), &g)) < 0.0);
        }
        let unusable = Mat::from_fn(2, 2, |_, _| f64::NAN);
        assert_eq!(solved(factor(&unusable, 2), &[1.0, 1.0]), [0.0, 0.0]);
    }
}
