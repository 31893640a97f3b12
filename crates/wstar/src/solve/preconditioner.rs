//! Hessians that are easily inverted, for methods that never see the whole one.
//!
//! The diagonal makes columns of very different sizes one problem. Softmax over columns that go together (pixels) needs
//! more: the Hessian of a sample of the rows (R. Byrd, G. Chin, W. Neveitt and J. Nocedal, On the use of stochastic
//! Hessian information in optimization methods for machine learning, SIAM J. Optimization 21, 2011), all that the classes
//! have to do with each other included. It is inverted by a few conjugate gradients, which are preconditioned in turn by
//! one block that does for every class, l2·I + Σᵢ cᵢ hᵢ x̃ᵢx̃ᵢᵀ with hᵢ the mean over the classes of p_ik (1 − p_ik).
//! The block is estimated from a few rows for each column, taken by the size of their curvature: the k-th of m rows is the
//! one in which the running sum of curvatures passes (k − ½)/m of the whole.

use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{MatMut, MatRef, Par};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::error::Result;
use crate::kernel::gram::{Place, add_gram};
use crate::loss::{LossName, Softmax, VectorLoss};
use crate::oracle::products::{add_pulls, scores};
use crate::oracle::{Layout, Sample};
use crate::problem::Problem;
use crate::solve::least_squares::Triangle;
use crate::solve::{newton_cg, smooth};

/// A sample has one row in so many, and at least so many rows for each column.
const ONE_IN: usize = 10;
const SAMPLED_EACH: usize = 4;
/// Rows of the block for each column.
const ROWS_EACH: usize = 3;
/// Columns of a block, at least and at most: few are done as well by the diagonal, many take too long.
const COLUMNS: std::ops::Range<usize> = 16..2000;
/// Rows of them that are written out at a time.
const SLAB: usize = 64;
/// What is added to a block's diagonal, as a share of it: a free intercept has no penalty.
const RIDGE: f64 = 1e-10;
/// Parts over which a sample is spread; a fixed number, so that sums do not depend on the threads.
const LANES: usize = 8;
/// What conjugate gradients may leave of a right side, and the most products they may take: the sample itself is off by
/// more.
const LEFT: f64 = 0.1;
const MOST_PRODUCTS: u64 = 50;

/// An approximation of the Hessian at a point.
pub(super) enum Preconditioner {
    /// Its diagonal.
    Diagonal(Vec<f64>),
    /// That of a sample.
    Sampled(Box<Sampled>),
}

impl Preconditioner {
    /// A sample where it pays and can be had, else the diagonal.
    pub(super) fn new(problem: &mut Problem<'_>, at: &[f64]) -> Result<Self> {
        if let Some(sampled) = Sampled::new(problem, at) {
            return Ok(Preconditioner::Sampled(Box::new(sampled)));
        }
        Ok(Preconditioner::Diagonal(smooth::diagonal(problem, at)?))
    }

    /// Looks at the Hessian of another point.
    pub(super) fn renew(&mut self, problem: &mut Problem<'_>, at: &[f64]) -> Result<()> {
        let renewed = match self {
            Preconditioner::Sampled(sampled) => sampled.renew(at).is_some(),
            Preconditioner::Diagonal(_) => false,
        };
        if !renewed {
            *self = Preconditioner::new(problem, at)?;
        }
        Ok(())
    }

    /// Moves on to another point, if that costs next to nothing.
    pub(super) fn follow(&mut self, at: &[f64]) {
        if let Preconditioner::Sampled(sampled) = self {
            sampled.share(at);
        }
    }

    /// Whether it is as large as the Hessian, and not just in proportion to it.
    pub(super) fn is_true_to_scale(&self) -> bool {
        matches!(self, Preconditioner::Sampled(_))
    }

    /// H⁻¹·v in the place of v.
    pub(super) fn solve(&self, v: &mut [f64]) -> Result<()> {
        match self {
            Preconditioner::Diagonal(diagonal) => v.iter_mut().zip(diagonal).for_each(|(v, d)| *v /= d),
            Preconditioner::Sampled(sampled) => sampled.solve(v)?,
        }
        Ok(())
    }
}

/// The Hessian of a few rows of softmax.
pub(super) struct Sampled {
    sample: Sample,
    layout: Layout,
    /// What a row of the sample counts for.
    factor: f64,
    /// l2 of each parameter of an output.
    penalties: Vec<f64>,
    /// p of each row and class.
    shares: Vec<f64>,
    /// R of RᵀR, the block of every class.
    block: Triangle,
}

impl Sampled {
    fn new(problem: &Problem<'_>, at: &[f64]) -> Option<Self> {
        let layout = problem.layout();
        let width = layout.width();
        let rows = problem.rows.as_ref()?;
        let size = (rows.len() / ONE_IN).max(SAMPLED_EACH * width);
        if problem.loss != LossName::Softmax || !COLUMNS.contains(&width) || size > rows.len() {
            return None;
        }
        let sample = Sample::of(rows, size, &mut ChaCha8Rng::seed_from_u64(0));
        let taken = sample.rows().total_weight();
        if taken <= 0.0 {
            return None;
        }
        let mut sampled = Sampled {
            layout,
            factor: rows.total_weight() / taken,
            penalties: (0..width).map(|j| problem.penalty_of(j).l2).collect(),
            shares: vec![0.0; size * layout.outputs],
            block: Triangle::empty(0),
            sample,
        };
        sampled.renew(at)?;
        Some(sampled)
    }

    /// The same rows at another point; none if their block has no inverse there.
    fn renew(&mut self, at: &[f64]) -> Option<()> {
        // The old one first: they need not be there both.
        self.block = Triangle::empty(0);
        self.share(at);
        self.block = self.block_of_all()?;
        Some(())
    }

    /// Rows that one lane looks at.
    fn lane(&self) -> usize {
        self.sample.rows().len().div_ceil(LANES)
    }

    /// The shares of the classes at a point.
    fn share(&mut self, at: &[f64]) {
        let (lane, layout, rows) = (self.lane(), self.layout, self.sample.rows());
        let outputs = layout.outputs;
        let lanes = self.shares.par_chunks_mut(lane * outputs).enumerate();
        lanes.for_each(|(k, shares)| {
            let first = k * lane;
            scores(
                rows.design,
                first..first + shares.len() / outputs,
                layout,
                at,
                shares,
            );
            for (own, i) in shares.chunks_exact_mut(outputs).zip(first..) {
                let class = rows.targets[i] as usize;
                Softmax.value_and_gradient(class, own);
                own[class] += 1.0;
            }
        });
    }

    /// H·v.
    fn times(&self, v: &[f64]) -> Vec<f64> {
        let (lane, layout, rows) = (self.lane(), self.layout, self.sample.rows());
        let outputs = layout.outputs;
        let lanes: Vec<Vec<f64>> = (self.shares.par_chunks(lane * outputs).enumerate())
            .map(|(k, shares)| {
                let own = k * lane..k * lane + shares.len() / outputs;
                let mut pulls = vec![0.0; shares.len()];
                scores(rows.design, own.clone(), layout, v, &mut pulls);
                let each = pulls.chunks_exact_mut(outputs).zip(shares.chunks_exact(outputs));
                for ((pulls, shares), i) in each.zip(own.clone()) {
                    let weight = self.factor * rows.weights.get(i);
                    let mean: f64 = pulls.iter().zip(shares).map(|(z, p)| z * p).sum();
                    (pulls.iter_mut().zip(shares)).for_each(|(z, p)| *z = weight * p * (*z - mean));
                }
                let mut sum = vec![0.0; v.len()];
                add_pulls(rows.design, own, layout, &pulls, &mut sum);
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
        for lane in lanes {
            image.iter_mut().zip(lane).for_each(|(image, own)| *image += own);
        }
        image
    }

    /// H⁻¹·v in the place of v, nearly.
    fn solve(&self, v: &mut [f64]) -> Result<()> {
        let solved = newton_cg::solve(
            |along| Ok(self.times(along)),
            |r| self.solve_block(r),
            v,
            MOST_PRODUCTS,
            |cg| cg.residual <= LEFT,
        )?;
        v.iter_mut().zip(solved.step).for_each(|(v, step)| *v = -step);
        Ok(())
    }

    /// The inverse of the block times the part of every class, in its place.
    fn solve_block(&self, v: &mut [f64]) {
        let width = self.layout.width();
        let upper = MatRef::from_column_major_slice(&self.block.values, width, width);
        let mut v = MatMut::from_column_major_slice_mut(v, width, self.layout.outputs);
        solve_lower_triangular_in_place(upper.transpose(), v.as_mut(), Par::Seq);
        solve_upper_triangular_in_place(upper, v, Par::Seq);
    }

    fn block_of_all(&self) -> Option<Triangle> {
        let width = self.layout.width();
        let (gram, penalties) = (self.gram(), &self.penalties);
        // Moved there, to be gone before the factor is written out.
        Triangle::of_gram(width, move |i, j| {
            let own = gram[i.min(j) * width + i.max(j)];
            if i == j {
                own + penalties[j] + RIDGE * own
            } else {
                own
            }
        })
    }

    /// An estimate of Σᵢ cᵢ hᵢ x̃ᵢx̃ᵢᵀ from a few rows of the sample: its lower triangle, column by column.
    fn gram(&self) -> Vec<f64> {
        let (width, outputs) = (self.layout.width(), self.layout.outputs);
        let rows = self.sample.rows();
        let curvature = |i: usize, shares: &[f64]| {
            let sum: f64 = shares.iter().map(|p| p * (1.0 - p).max(0.0)).sum();
            self.factor * rows.weights.get(i) * sum / outputs as f64
        };
        let curvatures: Vec<f64> = (self.shares.chunks_exact(outputs).enumerate())
            .map(|(i, shares)| curvature(i, shares))
            .collect();
        let wanted = (ROWS_EACH * width).min(rows.len());
        let share = curvatures.iter().sum::<f64>() / wanted as f64;
        let (mut sum, mut taken) = (0.0, 0usize);
        let mut picked: Vec<(usize, f64)> = Vec::with_capacity(wanted);
        for (i, curvature) in curvatures.iter().enumerate() {
            sum += curvature;
            let due = ((sum / share + 0.5) as usize).min(wanted);
            if due > taken {
                picked.push((i, (due - taken) as f64 * share));
                taken = due;
            }
        }
        let lanes = (picked.par_chunks(picked.len().div_ceil(2).max(1))).map(|picked| {
            let mut gram = vec![0.0; width * width];
            let mut x = Vec::with_capacity(SLAB * width);
            for picked in picked.chunks(SLAB) {
                x.clear();
                for &(i, _) in picked {
                    x.extend(rows.design.row(i).to_dense(self.layout.features));
                    x.extend(self.layout.intercept.then_some(1.0));
                }
                let h: Vec<f64> = picked.iter().map(|&(_, h)| h).collect();
                let mut place = Place {
                    gram: &mut gram,
                    stride: width,
                };
                add_gram(&x, width, &h, &mut place);
            }
            gram
        });
        let lanes: Vec<Vec<f64>> = lanes.collect();
        let sum = |mut sum: Vec<f64>, lane: Vec<f64>| {
            sum.iter_mut().zip(lane).for_each(|(sum, own)| *sum += own);
            sum
        };
        lanes
            .into_iter()
            .reduce(sum)
            .unwrap_or_else(|| vec![0.0; width * width])
    }
}
