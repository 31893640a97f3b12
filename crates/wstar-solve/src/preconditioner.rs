//! Preconditioners: Hessians that are cheap to invert, for solvers that never form the full one.
//!
//! The diagonal of the Hessian removes differences of scale between columns. Softmax over correlated columns
//! (pixels) needs more: the Hessian of a sample of the rows (R. Byrd, G. Chin, W. Neveitt and J. Nocedal, On
//! the use of stochastic Hessian information in optimization methods for machine learning, SIAM J.
//! Optimization 21, 2011), including all blocks that couple the classes. It is inverted by a few conjugate
//! gradients. Their own preconditioner is one block shared by all classes, l2·I + Σᵢ cᵢ hᵢ x̃ᵢx̃ᵢᵀ, with hᵢ
//! the mean over the classes of p_ik (1 − p_ik).
//!
//! The block is estimated from a few rows for each column, by systematic sampling in proportion to the
//! curvature: the k-th of m rows is the one at which the cumulative sum of curvatures exceeds (k − ½)/m of
//! the total.

use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{MatMut, MatRef, Par};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::{newton_cg, smooth_stopping};
use wstar_data::error::Result;
use wstar_data::linear::Layout;
use wstar_numeric::gram::{LowerTriangle, add_gram};
use wstar_numeric::linalg::householder::Triangle;
use wstar_problem::loss::{LossName, Softmax, VectorLoss};
use wstar_problem::objective::Objective;
use wstar_problem::objective::products::{add_column_products, scores};
use wstar_problem::subsample::Sample;

/// The sample has one row in this many, and at least [`SAMPLED_EACH`] rows for each column. Heuristic: cost
/// of products against quality of the preconditioner; not measured yet.
const ONE_IN: usize = 10;
/// The least rows of the sample for each column. Heuristic: as [`ONE_IN`]; not measured yet.
const SAMPLED_EACH: usize = 4;
/// Rows for each column from which the block is estimated. Heuristic: cost of the Gram matrix against quality
/// of the block; not measured yet.
const ROWS_EACH: usize = 3;
/// The numbers of columns for which the sampled Hessian is used. Heuristic: with few columns the diagonal
/// does as well, with many the factorisation takes too long; not measured yet.
const COLUMNS: std::ops::Range<usize> = 16..2000;
/// Rows copied to a dense buffer at a time for the Gram kernel. Heuristic: buffer in cache against calls of
/// the kernel; not measured yet.
const ROWS_AT_A_TIME: usize = 64;
/// The ridge added to the block's diagonal, as a fraction of it, because a free intercept has no penalty.
/// Heuristic: definiteness against accuracy; not measured yet.
const RIDGE: f64 = 1e-10;
/// Chunks into which the sample is divided for parallel sums. Heuristic: parallelism against memory for
/// partial sums; not measured yet. It is fixed, so that sums do not depend on the number of threads.
const CHUNKS: usize = 8;
/// The relative residual of the conjugate gradients. Heuristic: the sampling error of the Hessian is larger
/// than this; not measured yet.
const CG_TOL: f64 = 0.1;
/// The most products of the conjugate gradients. Cap: the solution so far is used.
const MOST_PRODUCTS: u64 = 50;

/// An approximation of the Hessian at a point.
pub(super) enum Preconditioner {
    /// The diagonal of the Hessian.
    Diagonal(Vec<f64>),
    /// The Hessian of a sample of the rows.
    Sampled(Box<SampledHessian>),
}

impl Preconditioner {
    /// The sampled Hessian if it is worth its cost and exists, otherwise the diagonal.
    pub(super) fn new(objective: &mut Objective<'_>, at: &[f64]) -> Result<Self> {
        if let Some(sampled) = SampledHessian::new(objective, at) {
            return Ok(Preconditioner::Sampled(Box::new(sampled)));
        }
        Ok(Preconditioner::Diagonal(smooth_stopping::diagonal(
            objective, at,
        )?))
    }

    /// Recomputes the preconditioner at another point.
    pub(super) fn recompute(&mut self, objective: &mut Objective<'_>, at: &[f64]) -> Result<()> {
        let recomputed = match self {
            Preconditioner::Sampled(sampled) => sampled.recompute(at).is_some(),
            Preconditioner::Diagonal(_) => false,
        };
        if !recomputed {
            *self = Preconditioner::new(objective, at)?;
        }
        Ok(())
    }

    /// Updates, for another point, the quantities that cost next to nothing.
    pub(super) fn move_to(&mut self, at: &[f64]) {
        if let Preconditioner::Sampled(sampled) = self {
            sampled.update_probabilities(at);
        }
    }

    /// Whether the preconditioner has the scale of the Hessian, and is not just proportional to it.
    pub(super) fn has_scale_of_hessian(&self) -> bool {
        matches!(self, Preconditioner::Sampled(_))
    }

    /// Overwrites v with H⁻¹·v.
    pub(super) fn solve(&self, v: &mut [f64]) -> Result<()> {
        match self {
            Preconditioner::Diagonal(diagonal) => v.iter_mut().zip(diagonal).for_each(|(v, d)| *v /= d),
            Preconditioner::Sampled(sampled) => sampled.solve(v)?,
        }
        Ok(())
    }
}

/// The softmax Hessian of a sample of the rows.
pub(super) struct SampledHessian {
    sample: Sample,
    layout: Layout,
    /// The total weight of all rows divided by that of the sample.
    factor: f64,
    /// The ℓ2 penalty of each parameter of one output.
    penalties: Vec<f64>,
    /// p_ik, the probability of each class in each row.
    probabilities: Vec<f64>,
    /// The Cholesky factor R of the block RᵀR shared by all classes.
    block: Triangle,
}

impl SampledHessian {
    /// The Hessian of a sample at a point; `None` if it is not worth its cost or the block is singular.
    fn new(objective: &Objective<'_>, at: &[f64]) -> Option<Self> {
        let layout = objective.problem.layout();
        let width = layout.width();
        let rows = objective.rows.as_ref()?;
        let size = (rows.len() / ONE_IN).max(SAMPLED_EACH * width);
        if objective.problem.loss() != LossName::Softmax || !COLUMNS.contains(&width) || size > rows.len() {
            return None;
        }
        let sample = Sample::of(rows, size, &mut ChaCha8Rng::seed_from_u64(0));
        let taken = sample.rows().total_weight();
        if taken <= 0.0 {
            return None;
        }
        let mut sampled = SampledHessian {
            layout,
            factor: rows.total_weight() / taken,
            penalties: (0..width).map(|j| objective.problem.penalty_of(j).l2).collect(),
            probabilities: vec![0.0; size * layout.outputs],
            block: Triangle::empty(0),
            sample,
        };
        sampled.recompute(at)?;
        Some(sampled)
    }

    /// Moves the same sample to another point; `None` if the block is singular there.
    fn recompute(&mut self, at: &[f64]) -> Option<()> {
        // Frees the old factor first, so that both are never in memory together.
        self.block = Triangle::empty(0);
        self.update_probabilities(at);
        self.block = self.shared_block()?;
        Some(())
    }

    /// The rows of one chunk.
    fn chunk_rows(&self) -> usize {
        self.sample.rows().len().div_ceil(CHUNKS)
    }

    /// Computes the class probabilities at a point.
    fn update_probabilities(&mut self, at: &[f64]) {
        let (chunk_rows, layout, rows) = (self.chunk_rows(), self.layout, self.sample.rows());
        let outputs = layout.outputs;
        let chunks = self
            .probabilities
            .par_chunks_mut(chunk_rows * outputs)
            .enumerate();
        chunks.for_each(|(k, probabilities)| {
            let first = k * chunk_rows;
            scores(
                rows.design,
                first..first + probabilities.len() / outputs,
                layout,
                at,
                probabilities,
            );
            for (own, i) in probabilities.chunks_exact_mut(outputs).zip(first..) {
                let class = rows.targets[i] as usize;
                Softmax.value_and_gradient(class, own);
                own[class] += 1.0;
            }
        });
    }

    /// H·v.
    fn times(&self, v: &[f64]) -> Vec<f64> {
        let (chunk_rows, layout, rows) = (self.chunk_rows(), self.layout, self.sample.rows());
        let outputs = layout.outputs;
        let chunks: Vec<Vec<f64>> = (self.probabilities.par_chunks(chunk_rows * outputs).enumerate())
            .map(|(k, probabilities)| {
                let own = k * chunk_rows..k * chunk_rows + probabilities.len() / outputs;
                let mut row_slopes = vec![0.0; probabilities.len()];
                scores(rows.design, own.clone(), layout, v, &mut row_slopes);
                let each = row_slopes
                    .chunks_exact_mut(outputs)
                    .zip(probabilities.chunks_exact(outputs));
                for ((row_slopes, probabilities), i) in each.zip(own.clone()) {
                    let weight = self.factor * rows.weights.get(i);
                    let mean: f64 = row_slopes.iter().zip(probabilities).map(|(z, p)| z * p).sum();
                    (row_slopes.iter_mut().zip(probabilities))
                        .for_each(|(z, p)| *z = weight * p * (*z - mean));
                }
                let mut sum = vec![0.0; v.len()];
                add_column_products(rows.design, own, layout, &row_slopes, &mut sum);
                sum
            })
            .collect();
        let mut image = vec![0.0; v.len()];
        let outputs = image
            .chunks_exact_mut(layout.width())
            .zip(v.chunks_exact(layout.width()));
        for (image, v) in outputs {
            let own = image.iter_mut().zip(v).zip(&self.penalties);
            own.for_each(|((image, v), l2)| *image = l2 * v);
        }
        for chunk in chunks {
            image.iter_mut().zip(chunk).for_each(|(image, own)| *image += own);
        }
        image
    }

    /// Overwrites v with an approximation of H⁻¹·v.
    fn solve(&self, v: &mut [f64]) -> Result<()> {
        let solved = newton_cg::solve(
            |along| Ok(self.times(along)),
            |r| self.solve_block(r),
            v,
            MOST_PRODUCTS,
            |cg| cg.residual <= CG_TOL,
        )?;
        v.iter_mut().zip(solved.step).for_each(|(v, step)| *v = -step);
        Ok(())
    }

    /// Overwrites the part of v of every class with its product with the inverse of the block.
    fn solve_block(&self, v: &mut [f64]) {
        let width = self.layout.width();
        let upper = MatRef::from_column_major_slice(self.block.values(), width, width);
        let mut v = MatMut::from_column_major_slice_mut(v, width, self.layout.outputs);
        solve_lower_triangular_in_place(upper.transpose(), v.as_mut(), Par::Seq);
        solve_upper_triangular_in_place(upper, v, Par::Seq);
    }

    /// Factors the block shared by all classes.
    fn shared_block(&self) -> Option<Triangle> {
        let width = self.layout.width();
        let (gram, penalties) = (self.gram(), &self.penalties);
        // The closure takes ownership, so that the Gram matrix is freed before the factor is written out.
        Triangle::of_gram(width, move |i, j| {
            let own = gram[i.min(j) * width + i.max(j)];
            if i == j {
                own + penalties[j] + RIDGE * own
            } else {
                own
            }
        })
    }

    /// An estimate of Σᵢ cᵢ hᵢ x̃ᵢx̃ᵢᵀ from a few rows of the sample: the lower triangle, column by column.
    fn gram(&self) -> Vec<f64> {
        let (width, outputs) = (self.layout.width(), self.layout.outputs);
        let rows = self.sample.rows();
        let curvature = |i: usize, probabilities: &[f64]| {
            let sum: f64 = probabilities.iter().map(|p| p * (1.0 - p).max(0.0)).sum();
            self.factor * rows.weights.get(i) * sum / outputs as f64
        };
        let curvatures: Vec<f64> = (self.probabilities.chunks_exact(outputs).enumerate())
            .map(|(i, probabilities)| curvature(i, probabilities))
            .collect();
        let wanted = (ROWS_EACH * width).min(rows.len());
        let interval = curvatures.iter().sum::<f64>() / wanted as f64;
        let (mut sum, mut taken) = (0.0, 0usize);
        let mut picked: Vec<(usize, f64)> = Vec::with_capacity(wanted);
        for (i, curvature) in curvatures.iter().enumerate() {
            sum += curvature;
            let due = ((sum / interval + 0.5) as usize).min(wanted);
            if due > taken {
                picked.push((i, (due - taken) as f64 * interval));
                taken = due;
            }
        }
        let chunks = (picked.par_chunks(picked.len().div_ceil(2).max(1))).map(|picked| {
            let mut gram = vec![0.0; width * width];
            let mut x = Vec::with_capacity(ROWS_AT_A_TIME * width);
            for picked in picked.chunks(ROWS_AT_A_TIME) {
                x.clear();
                for &(i, _) in picked {
                    x.extend(rows.design.row(i).to_dense(self.layout.features));
                    x.extend(self.layout.intercept.then_some(1.0));
                }
                let h: Vec<f64> = picked.iter().map(|&(_, h)| h).collect();
                let mut triangle = LowerTriangle {
                    gram: &mut gram,
                    stride: width,
                };
                add_gram(&x, width, &h, &mut triangle);
            }
            gram
        });
        let chunks: Vec<Vec<f64>> = chunks.collect();
        let sum = |mut sum: Vec<f64>, chunk: Vec<f64>| {
            sum.iter_mut().zip(chunk).for_each(|(sum, own)| *sum += own);
            sum
        };
        chunks
            .into_iter()
            .reduce(sum)
            .unwrap_or_else(|| vec![0.0; width * width])
    }
}
