//! The rows of a least-squares problem as a linear system: min ½ Σᵢ cᵢ (yᵢ − θ·x̃ᵢ)² + ½ Σⱼ λⱼ θⱼ².
//!
//! The system provides the triangle R of the weighted rows, accumulated block by block so that the matrix is
//! not copied, and the gradient and the Gram matrix in double-double arithmetic, where the weights enter
//! exactly. Sums run in lanes that depend on the number of rows only and are merged in order, so the bits do
//! not depend on the number of threads.

use std::ops::Range;

use rayon::prelude::*;

use wstar_data::error::{Error, Result};
use wstar_data::linear::Layout;
use wstar_numeric::double_double::{Compensated, DoubleDouble};
use wstar_numeric::linalg::householder::Triangle;
use wstar_numeric::linalg::power_of_two::power_of_two;
use wstar_problem::objective::Objective;
use wstar_problem::objective::Rows;
use wstar_problem::problem::Intercept;

/// Maximum number of lanes, which run in parallel. Cap: beyond it a lane gets more rows.
const MAX_LANES: usize = 32;
/// Maximum number of values that the accumulators of all lanes hold together. Cap: beyond it there are fewer
/// lanes.
const MAX_LANE_NUMBERS: usize = 1 << 24;

/// Smallest matrix dimension that the rank threshold assumes. Heuristic: a smaller threshold would take the
/// rounding of a few reflections for a nonzero pivot; not measured yet.
const MIN_DIMENSION: usize = 32;

/// The rows, and the ridge penalty of each parameter.
pub(crate) struct System<'a> {
    pub(crate) rows: Rows<'a>,
    pub(crate) layout: Layout,
    /// λⱼ.
    pub(crate) ridge: Vec<f64>,
    /// The index of the intercept, if the norm does not count it.
    pub(crate) free: Option<usize>,
    /// Powers of two that scale the largest weighted entry of every column to about 1.
    pub(crate) scale: Vec<f64>,
}

impl<'a> System<'a> {
    /// The system without a penalty.
    pub(crate) fn unpenalized(rows: &'a Rows<'_>, layout: Layout) -> Self {
        let ridge = vec![0.0; layout.len()];
        System::new(rows, layout, ridge, layout.intercept)
    }

    /// The system of a problem whose rows are in memory.
    pub(crate) fn of(objective: &'a Objective<'_>) -> Result<Self> {
        let rows = objective
            .rows
            .as_ref()
            .ok_or_else(|| Error::settings("this solver needs the rows in memory"))?;
        let layout = objective.problem.layout();
        let ridge = (0..layout.len())
            .map(|j| objective.problem.penalty_of(j).l2)
            .collect();
        let free = layout.intercept && objective.problem.intercept() == Intercept::Free;
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

    /// The number of parameters.
    pub(crate) fn width(&self) -> usize {
        self.layout.len()
    }

    /// The rank threshold max(n, d, `MIN_DIMENSION`)·ε: a column of unit length depends on the others if less
    /// than this remains of it.
    pub(crate) fn threshold(&self) -> f64 {
        self.rows.len().max(self.width()).max(MIN_DIMENSION) as f64 * f64::EPSILON
    }

    /// Calls `visit(x, y, weight)` for each row of positive weight, where x is the only feature.
    pub(crate) fn each_point(&self, mut visit: impl FnMut(f64, f64, f64)) {
        self.each(0..self.rows.len(), |i, weight| {
            let mut x = 0.0;
            self.rows.design.row(i).for_each(|_, value| x = value);
            visit(x, self.rows.targets[i], weight);
        });
    }

    /// Runs over the rows in lanes of at least `least` rows. Returns one result per lane, in order.
    fn lanes<T: Send>(&self, least: usize, numbers: usize, run: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
        let n = self.rows.len();
        let lanes = (MAX_LANE_NUMBERS / numbers.max(1)).clamp(1, MAX_LANES);
        let length = n.div_ceil(lanes).max(least).max(1);
        (0..n.div_ceil(length))
            .into_par_iter()
            .map(|lane| run(lane * length..((lane + 1) * length).min(n)))
            .collect()
    }

    /// Calls `visit(row, weight)` for each row of positive weight.
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
        // Heuristic for the least rows of a lane, here and below: task overhead against parallelism; not
        // measured yet.
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

    /// R of the rows √cᵢ x̃ᵢ and √λⱼ eⱼ, with scaled columns.
    pub(crate) fn triangle(&self) -> Triangle {
        let (width, features, scale) = (self.width(), self.layout.features, &self.scale);
        // With three times as many rows as columns in a block, a quarter of the work goes into the triangle
        // above it. Heuristic: the factor and its limits are not measured yet.
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
            |sum, lane| sum.with(lane.values(), lane.rows()),
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

    /// The residual yᵢ − θ·x̃ᵢ.
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

    /// The negative gradient of the objective, and the objective.
    pub(crate) fn descent(&self, at: &[DoubleDouble]) -> (Vec<DoubleDouble>, f64) {
        let (width, features) = (self.width(), self.layout.features);
        let lanes = self.lanes(256, 2 * width, |rows| {
            let mut products = vec![Compensated::default(); width];
            let mut value = Compensated::default();
            self.each(rows, |i, weight| {
                let residual = self.residual(at, i);
                let weighted = residual * weight;
                value.add(residual * weighted);
                let row = self.rows.design.row(i);
                row.for_each(|j, x| products[j].add_product(weighted, x));
                if let Some(intercept) = products.get_mut(features) {
                    intercept.add(weighted);
                }
            });
            (products, value)
        });
        let mut descent = vec![DoubleDouble::ZERO; width];
        let mut value = DoubleDouble::ZERO;
        for (products, lane_value) in lanes {
            value += lane_value.total();
            let pairs = descent.iter_mut().zip(products);
            pairs.for_each(|(sum, products)| *sum += products.total());
        }
        for ((sum, &at), &ridge) in descent.iter_mut().zip(at).zip(&self.ridge) {
            *sum -= at * ridge;
            value += at * at * ridge;
        }
        (descent, 0.5 * value.value())
    }

    /// Σᵢ cᵢ x̃ᵢx̃ᵢᵀ + diag λ in double-double arithmetic: the lower triangle, row by row.
    pub(crate) fn gram(&self) -> Vec<DoubleDouble> {
        let (width, features) = (self.width(), self.layout.features);
        let cells = width * (width + 1) / 2;
        let lanes = self.lanes(256, 2 * cells, |rows| {
            let mut gram = vec![Compensated::default(); cells];
            let mut row_with_intercept = vec![0.0; width];
            self.each(rows, |i, weight| {
                row_with_intercept.iter_mut().for_each(|x| *x = 0.0);
                self.rows.design.row(i).for_each(|j, x| row_with_intercept[j] = x);
                if let Some(intercept) = row_with_intercept.get_mut(features) {
                    *intercept = 1.0;
                }
                let mut cells = gram.iter_mut();
                for (j, &x) in row_with_intercept.iter().enumerate() {
                    let weighted = DoubleDouble::product(weight, x);
                    for (&other, cell) in row_with_intercept[..=j].iter().zip(&mut cells) {
                        cell.add_product(weighted, other);
                    }
                }
            });
            gram
        });
        let mut gram = vec![DoubleDouble::ZERO; cells];
        for lane in lanes {
            let pairs = gram.iter_mut().zip(lane);
            pairs.for_each(|(sum, entry)| *sum += entry.total());
        }
        for (j, &ridge) in self.ridge.iter().enumerate() {
            gram[j * (j + 1) / 2 + j] += DoubleDouble::from(ridge);
        }
        gram
    }
}
