//! Hessians that are easily inverted, for methods that never see the whole one.
//!
//! The diagonal makes columns of very different sizes one problem. Softmax over columns that go together (pixels) needs more:
//! one block a class, H_k = l2·I + Σᵢ cᵢ p_ik (1 − p_ik) x̃ᵢx̃ᵢᵀ, which leaves out only what the classes have to do with
//! each other. A block is estimated from a few rows for each column, taken by the size of their curvature: the k-th
//! of m rows is the one in which the running sum of curvatures passes (k − ½)/m of the whole.

use std::sync::Arc;

use rayon::prelude::*;

use crate::error::Result;
use crate::kernel::gram::{Place, add_gram};
use crate::loss::{LossName, Softmax, VectorLoss};
use crate::oracle::products::scores;
use crate::oracle::{Layout, Rows};
use crate::problem::Problem;
use crate::solve::least_squares::Triangle;
use crate::solve::smooth;

/// Rows that are taken for each column of a block.
const ROWS_EACH: usize = 3;
/// Columns of a block, at least and at most: few are done as well by the diagonal, many take too long.
const COLUMNS: std::ops::Range<usize> = 16..2000;
/// Numbers that all blocks together may hold.
const MOST_NUMBERS: usize = 1 << 26;
/// What is added to a block's diagonal, as a share of it: a free intercept has no penalty.
const RIDGE: f64 = 1e-10;
/// Rows that are scored together.
const BLOCK: usize = 256;

/// An approximation of the Hessian at a point.
pub(super) enum Preconditioner {
    /// Its diagonal.
    Diagonal(Vec<f64>),
    /// R of RᵀR, one block an output.
    Blocks(Vec<Arc<Triangle>>),
}

impl Preconditioner {
    /// Blocks where they pay and can be had, else the diagonal.
    pub(super) fn new(problem: &mut Problem<'_>, at: &[f64]) -> Result<Self> {
        if let Some(blocks) = blocks(problem, at) {
            return Ok(Preconditioner::Blocks(blocks));
        }
        Ok(Preconditioner::Diagonal(smooth::diagonal(problem, at)?))
    }

    /// H⁻¹·v in the place of v.
    pub(super) fn solve(&self, v: &mut [f64]) {
        match self {
            Preconditioner::Diagonal(diagonal) => v.iter_mut().zip(diagonal).for_each(|(v, d)| *v /= d),
            Preconditioner::Blocks(blocks) => {
                let width = v.len() / blocks.len().max(1);
                let parts = v.par_chunks_exact_mut(width.max(1)).zip(blocks);
                parts.for_each(|(v, triangle)| {
                    triangle.solve_transposed(width, v);
                    triangle.solve(width, v);
                });
            }
        }
    }
}

fn blocks(problem: &Problem<'_>, at: &[f64]) -> Option<Vec<Arc<Triangle>>> {
    let layout = problem.layout();
    let (width, outputs) = (layout.width(), layout.outputs);
    let rows = problem.rows.as_ref()?;
    let pays = problem.loss == LossName::Softmax
        && COLUMNS.contains(&width)
        && outputs * width * width <= MOST_NUMBERS
        && rows.len() >= ROWS_EACH * width;
    if !pays {
        return None;
    }
    let penalties: Vec<f64> = (0..width).map(|j| problem.penalty_of(j).l2).collect();
    let block = |curvatures: &[f64]| {
        let gram = sampled_gram(rows, layout, curvatures);
        let entry = |i: usize, j: usize| {
            let (low, high) = (i.min(j), i.max(j));
            let own = gram[low * width + high];
            if i == j {
                own + penalties[j] + RIDGE * own
            } else {
                own
            }
        };
        Triangle::of_gram(width, entry).map(Arc::new)
    };
    // Where all weights are 0 all classes are the same.
    if at.iter().all(|&w| w == 0.0) {
        let share = 1.0 / outputs as f64;
        let curvatures: Vec<f64> = (0..rows.len())
            .map(|i| rows.weights.get(i) * share * (1.0 - share))
            .collect();
        return block(&curvatures).map(|block| vec![block; outputs]);
    }
    let curvatures = curvatures(rows, layout, at);
    (0..outputs)
        .into_par_iter()
        .map(|k| {
            let own: Vec<f64> = curvatures.iter().skip(k).step_by(outputs).copied().collect();
            block(&own)
        })
        .collect()
}

/// cᵢ p_ik (1 − p_ik), row by row.
fn curvatures(rows: &Rows<'_>, layout: Layout, at: &[f64]) -> Vec<f64> {
    let outputs = layout.outputs;
    let mut all = vec![0.0; rows.len() * outputs];
    let parts = all.par_chunks_mut(BLOCK * outputs).enumerate();
    parts.for_each(|(block, part)| {
        let first = block * BLOCK;
        scores(rows.design, first..first + part.len() / outputs, layout, at, part);
        for (own, i) in part.chunks_exact_mut(outputs).zip(first..) {
            let class = rows.targets[i] as usize;
            Softmax.value_and_gradient(class, own);
            let weight = rows.weights.get(i);
            for (k, slope) in own.iter_mut().enumerate() {
                let share = *slope + f64::from(u8::from(k == class));
                *slope = weight * share * (1.0 - share).max(0.0);
            }
        }
    });
    all
}

/// An estimate of Σᵢ hᵢ x̃ᵢx̃ᵢᵀ from a few rows: its lower triangle, column by column.
fn sampled_gram(rows: &Rows<'_>, layout: Layout, curvatures: &[f64]) -> Vec<f64> {
    let width = layout.width();
    let wanted = (ROWS_EACH * width).min(rows.len());
    let share = curvatures.iter().sum::<f64>() / wanted as f64;
    let (mut x, mut h) = (Vec::with_capacity(BLOCK * width), Vec::with_capacity(BLOCK));
    let mut gram = vec![0.0; width * width];
    let mut place = Place {
        gram: &mut gram,
        stride: width,
    };
    let (mut sum, mut taken) = (0.0, 0usize);
    for (i, curvature) in curvatures.iter().enumerate() {
        sum += curvature;
        let due = ((sum / share + 0.5) as usize).min(wanted);
        if due > taken {
            x.extend(rows.design.row(i).to_dense(layout.features));
            x.extend(layout.intercept.then_some(1.0));
            h.push((due - taken) as f64 * share);
            taken = due;
        }
        if h.len() == BLOCK {
            add_gram(&x, width, &h, &mut place);
            x.clear();
            h.clear();
        }
    }
    add_gram(&x, width, &h, &mut place);
    gram
}
