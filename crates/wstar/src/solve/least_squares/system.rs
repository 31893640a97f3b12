//! The rows of a least-squares problem as a linear system: min ½ Σᵢ cᵢ (yᵢ − θ·x̃ᵢ)² + ½ Σⱼ λⱼ θⱼ².
//!
//! What the solvers take from it: R of the weighted rows, folded in a block at a time so that no copy of the
//! matrix is made; and the gradient and the Gram matrix in double-double, where the weights enter exactly.
//! Sums run in lanes that depend on the number of rows alone and are merged in order, so that the bits do not
//! depend on the number of threads.

use std::ops::Range;

use rayon::prelude::*;

use super::householder::Triangle;
use super::power_of_two;
use crate::error::{Error, Result};
use crate::kernel::double_double::{Compensated, DoubleDouble};
use crate::oracle::{Layout, Rows};
use crate::problem::{Intercept, Problem};

/// Lanes at most.
const MOST_LANES: usize = 32;
/// Numbers that all lanes' triangles together may keep.
const MOST_LANE_NUMBERS: usize = 1 << 24;

/// Thresholds of rank take the matrix for at least this large.
const LEAST_SIDE: usize = 32;

/// Rows, and what each parameter's square costs.
pub(crate) struct System<'a> {
    pub(crate) rows: Rows<'a>,
    pub(crate) layout: Layout,
    /// λⱼ.
    pub(crate) ridge: Vec<f64>,
    /// The intercept, if its length does not count.
    pub(crate) free: Option<usize>,
    /// Powers of two that bring the largest weighted entry of every column near 1.
    pub(crate) scale: Vec<f64>,
}

impl<'a> System<'a> {
    /// Without any penalty.
    pub(crate) fn unpenalized(rows: &'a Rows<'_>, layout: Layout) -> Self {
        let ridge = vec![0.0; layout.len()];
        System::new(rows, layout, ridge, layout.intercept)
    }

    /// Of a problem whose rows are at hand.
    pub(crate) fn of(problem: &'a Problem<'_>) -> Result<Self> {
        let rows = problem
            .rows
            .as_ref()
            .ok_or_else(|| Error::settings("this solver needs the rows in memory"))?;
        let layout = problem.layout();
        let ridge = (0..layout.len()).map(|j| problem.penalty_of(j).l2).collect();
        let free = layout.intercept && problem.intercept == Intercept::Free;
        Ok(System::new(rows, layout, ridge, free))
    }

    fn new(rows: &'a Rows<'_>, layout: Layout, ridge: Vec<f64>, free: bool) -> Self {
        let mut system = System {
            rows: rows.borrowed(),
            layout,
            ridge,
            free: free.then_some(layout.features),
            scale: Vec::new(),
        };
        system.scale = system.scales();
        system
    }

    /// How many parameters there are.
    pub(crate) fn width(&self) -> usize {
        self.layout.len()
    }

    /// Columns of unit length of which less than this is left beside others depend on them: max(n, d)·ε, but
    /// never so little that the rounding of a few reflections is taken for something.
    pub(crate) fn threshold(&self) -> f64 {
        self.rows.len().max(self.width()).max(LEAST_SIDE) as f64 * f64::EPSILON
    }

    /// Calls `visit(x, y, weight)` for each row that counts, x being the only feature.
    pub(crate) fn each_point(&self, mut visit: impl FnMut(f64, f64, f64)) {
        self.each(0..self.rows.len(), |i, weight| {
            let mut x = 0.0;
            self.rows.design.row(i).for_each(|_, value| x = value);
            visit(x, self.rows.targets[i], weight);
        });
    }

    /// Runs over the rows in lanes of at least `least` rows; gives one result a lane, in order.
    fn lanes<T: Send>(&self, least: usize, numbers: usize, run: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
        let n = self.rows.len();
        let lanes = (MOST_LANE_NUMBERS / numbers.max(1)).clamp(1, MOST_LANES);
        let length = n.div_ceil(lanes).max(least).max(1);
        (0..n.div_ceil(length))
            .into_par_iter()
            .map(|lane| run(lane * length..((lane + 1) * length).min(n)))
            .collect()
    }

    /// Calls `visit(row, weight)` for each row that counts.
    pub(crate) fn each(&self, rows: Range<usize>, mut visit: impl FnMut(usize, f64)) {
        for i in rows {
            let weight = self.rows.weights.get(i);
            if weight > 0.0 {
                visit(i, weight);
            }
        }
    }

    fn scales(&self) -> Vec<f64> {
        let (width, features) = (self.width(), self.layout.features);
        let most = self.lanes(1024, width, |rows| {
            let mut most = vec![0.0f64; width];
            self.each(rows, |i, weight| {
                let root = weight.sqrt();
                let row = self.rows.design.row(i);
                row.for_each(|j, x| most[j] = most[j].max(root * x.abs()));
                if let Some(intercept) = most.get_mut(features) {
                    *intercept = intercept.max(root);
                }
            });
            most
        });
        (0..width)
            .map(|j| {
                let largest = most
                    .iter()
                    .fold(self.ridge[j].sqrt(), |most, lane| most.max(lane[j]));
                power_of_two(largest)
            })
            .collect()
    }

    /// R of the rows √cᵢ x̃ᵢ and √λⱼ eⱼ, with columns multiplied by their scales.
    pub(crate) fn triangle(&self) -> Triangle {
        let (width, features, scale) = (self.width(), self.layout.features, &self.scale);
        // A block of three times as many rows as columns spends a quarter of the work on the triangle above it.
        let block = (3 * width).clamp(64, 4096);
        let lanes = self.lanes(4 * block, width * width, |rows| {
            let mut triangle = Triangle::empty(width);
            let mut start = rows.start;
            while start < rows.end {
                let end = (start + block).min(rows.end);
                let count = end - start;
                let mut values = vec![0.0; count * width];
                self.each(start..end, |i, weight| {
                    let (root, at) = (weight.sqrt(), i - start);
                    let row = self.rows.design.row(i);
                    row.for_each(|j, x| values[j * count + at] = root * x * scale[j]);
                    if self.layout.intercept {
                        values[features * count + at] = root * scale[features];
                    }
                });
                triangle = triangle.with(&values, count);
                start = end;
            }
            triangle
        });
        let mut whole = lanes.iter().skip(1).fold(
            lanes.first().cloned().unwrap_or_else(|| Triangle::empty(width)),
            |sum, lane| sum.with(&lane.values, lane.rows),
        );
        if self.ridge.iter().any(|&ridge| ridge > 0.0) {
            let mut values = vec![0.0; width * width];
            for j in 0..width {
                values[j * width + j] = self.ridge[j].sqrt() * scale[j];
            }
            whole = whole.with(&values, width);
        }
        whole
    }

    /// yᵢ − θ·x̃ᵢ.
    pub(crate) fn residual(&self, at: &[DoubleDouble], i: usize) -> DoubleDouble {
        let mut residual = Compensated::default();
        residual.add(DoubleDouble::from(self.rows.targets[i]));
        if self.layout.intercept {
            residual.add(-at[self.layout.features]);
        }
        let row = self.rows.design.row(i);
        row.for_each(|j, x| residual.add_product(at[j], -x));
        residual.total()
    }

    /// Minus the gradient of the objective, and the objective.
    pub(crate) fn descent(&self, at: &[DoubleDouble]) -> (Vec<DoubleDouble>, f64) {
        let (width, features) = (self.width(), self.layout.features);
        let lanes = self.lanes(256, 2 * width, |rows| {
            let mut pull = vec![Compensated::default(); width];
            let mut value = Compensated::default();
            self.each(rows, |i, weight| {
                let residual = self.residual(at, i);
                let weighted = residual * weight;
                value.add(residual * weighted);
                let row = self.rows.design.row(i);
                row.for_each(|j, x| pull[j].add_product(weighted, x));
                if let Some(intercept) = pull.get_mut(features) {
                    intercept.add(weighted);
                }
            });
            (pull, value)
        });
        let mut descent = vec![DoubleDouble::ZERO; width];
        let mut value = DoubleDouble::ZERO;
        for (pull, part) in lanes {
            value += part.total();
            let pairs = descent.iter_mut().zip(pull);
            pairs.for_each(|(sum, pull)| *sum += pull.total());
        }
        for ((sum, &at), &ridge) in descent.iter_mut().zip(at).zip(&self.ridge) {
            *sum -= at * ridge;
            value += at * at * ridge;
        }
        (descent, 0.5 * value.value())
    }

    /// Σᵢ cᵢ x̃ᵢx̃ᵢᵀ + diag λ in double-double: the lower triangle, row by row.
    pub(crate) fn gram(&self) -> Vec<DoubleDouble> {
        let (width, features) = (self.width(), self.layout.features);
        let cells = width * (width + 1) / 2;
        let lanes = self.lanes(256, 2 * cells, |rows| {
            let mut gram = vec![Compensated::default(); cells];
            let mut lifted = vec![0.0; width];
            self.each(rows, |i, weight| {
                lifted.iter_mut().for_each(|x| *x = 0.0);
                self.rows.design.row(i).for_each(|j, x| lifted[j] = x);
                if let Some(intercept) = lifted.get_mut(features) {
                    *intercept = 1.0;
                }
                let mut cells = gram.iter_mut();
                for (j, &x) in lifted.iter().enumerate() {
                    let weighted = DoubleDouble::product(weight, x);
                    for (&other, cell) in lifted[..=j].iter().zip(&mut cells) {
                        cell.add_product(weighted, other);
                    }
                }
            });
            gram
        });
        let mut gram = vec![DoubleDouble::ZERO; cells];
        for lane in lanes {
            let pairs = gram.iter_mut().zip(lane);
            pairs.for_each(|(sum, part)| *sum += part.total());
        }
        for (j, &ridge) in self.ridge.iter().enumerate() {
            gram[j * (j + 1) / 2 + j] += DoubleDouble::from(ridge);
        }
        gram
    }
}
