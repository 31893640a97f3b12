//! The points of a least-error problem: distinct rows with a class and a cost.
//!
//! The rows are stored as they were read, for scores and exact arithmetic. They are also stored centred,
//! scaled and of unit length for the floating-point solver, whose results are all verified on the original
//! rows.

use std::collections::hash_map::Entry;

use num_bigint::BigInt;
use num_traits::Zero;
use rustc_hash::FxHashMap;

use crate::exact::dyadic;

/// Distinct rows of two classes. With an intercept a row is lifted to `(x, 1)`.
#[derive(Debug, Clone)]
pub struct DistinctPoints {
    /// The length of a lifted row.
    pub(crate) dimension: usize,
    /// Whether the last entry of every row is the 1 of the intercept.
    pub(crate) intercept: bool,
    /// The lifted rows, one after another.
    values: Vec<f64>,
    /// Whether each point is of the positive class.
    pub(crate) positive: Vec<bool>,
    /// The cost of misclassifying each point: the sum over its rows.
    pub costs: Vec<f64>,
    /// The first row of the data with each point.
    pub rows: Vec<u64>,
    /// `±((x − centre)·scale, 1)`, normalised to unit length; the sign makes its product with a correct
    /// hyperplane positive.
    units: Vec<f64>,
    centre: Vec<f64>,
    scale: Vec<f64>,
}

/// A row that takes part: its index, its features, its class and the cost of misclassifying it.
pub(crate) struct InputRow<'a> {
    pub(crate) row: u64,
    pub(crate) features: &'a [f64],
    pub(crate) positive: bool,
    pub(crate) cost: f64,
}

impl DistinctPoints {
    /// Gathers rows of `features` numbers. Rows with equal features and class are merged into one point.
    pub(crate) fn gather<'a>(
        features: usize,
        intercept: bool,
        input_rows: impl Iterator<Item = InputRow<'a>>,
    ) -> Self {
        let dimension = features + usize::from(intercept);
        let mut points = DistinctPoints {
            dimension,
            intercept,
            values: Vec::new(),
            positive: Vec::new(),
            costs: Vec::new(),
            rows: Vec::new(),
            units: Vec::new(),
            centre: vec![0.0; features],
            scale: vec![1.0; features],
        };
        let mut known: FxHashMap<(Vec<u64>, bool), usize> = FxHashMap::default();
        for input_row in input_rows {
            // Adding 0 turns −0 into 0.
            let bits = input_row.features.iter().map(|&v| (v + 0.0).to_bits()).collect();
            match known.entry((bits, input_row.positive)) {
                Entry::Occupied(entry) => points.costs[*entry.get()] += input_row.cost,
                Entry::Vacant(entry) => {
                    entry.insert(points.rows.len());
                    points.values.extend_from_slice(input_row.features);
                    points.values.extend(intercept.then_some(1.0));
                    points.positive.push(input_row.positive);
                    points.costs.push(input_row.cost);
                    points.rows.push(input_row.row);
                }
            }
        }
        points.normalise();
        points
    }

    /// The number of points.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The lifted row of a point, as it was read.
    pub(crate) fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.dimension..(i + 1) * self.dimension]
    }

    /// The normalised row of a point; its product with a correct hyperplane is positive.
    pub(crate) fn unit(&self, i: usize) -> &[f64] {
        &self.units[i * self.dimension..(i + 1) * self.dimension]
    }

    /// The total cost of the positive points.
    pub(crate) fn positive_total(&self) -> f64 {
        let costs = self.costs.iter().zip(&self.positive);
        costs
            .filter(|(_, positive)| **positive)
            .map(|(cost, _)| cost)
            .sum()
    }

    fn normalise(&mut self) {
        let (n, dimension, features) = (self.len(), self.dimension, self.centre.len());
        for j in 0..features {
            let column = || (0..n).map(|i| self.values[i * dimension + j]);
            let (low, high) = column().fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
            // Without an intercept the origin must not move.
            let centre = if self.intercept {
                low / 2.0 + high / 2.0
            } else {
                0.0
            };
            let reach = column().map(|v| (v - centre).abs()).fold(0.0, f64::max);
            self.centre[j] = if centre.is_finite() { centre } else { 0.0 };
            self.scale[j] = if reach > 0.0 && reach.is_finite() {
                1.0 / reach
            } else {
                1.0
            };
            if !self.scale[j].is_finite() {
                self.scale[j] = f64::MAX;
            }
        }
        self.units = Vec::with_capacity(self.values.len());
        for (row, positive) in self.values.chunks_exact(dimension.max(1)).zip(&self.positive) {
            let sign = if *positive { 1.0 } else { -1.0 };
            let start = self.units.len();
            let columns = self.centre.iter().zip(&self.scale);
            let features = row.iter().zip(columns).map(|(v, (c, s))| sign * (v - c) * s);
            self.units.extend(features);
            self.units.extend(self.intercept.then_some(sign));
            let unit = &mut self.units[start..];
            let norm = unit.iter().map(|v| v * v).sum::<f64>().sqrt();
            if norm > 0.0 {
                unit.iter_mut().for_each(|v| *v /= norm);
            }
        }
    }

    /// The hyperplane in the units of the data (weights, then the intercept if there is one) that
    /// corresponds to a hyperplane of the normalised points, scaled so that the largest weight is about 1.
    pub(crate) fn denormalise(&self, normalised: &[f64]) -> Vec<f64> {
        let mut plane: Vec<f64> = normalised.iter().zip(&self.scale).map(|(w, s)| w * s).collect();
        if self.intercept {
            let last = normalised.last().copied().unwrap_or_default();
            let shift: f64 = plane.iter().zip(&self.centre).map(|(w, c)| w * c).sum();
            plane.push(last - shift);
        }
        shorten(&mut plane);
        plane
    }

    /// The hyperplane of the normalised points that corresponds to a hyperplane of the data.
    pub(crate) fn normalised(&self, plane: &[f64]) -> Vec<f64> {
        let features = self.centre.len();
        let mut normalised: Vec<f64> = plane.iter().zip(&self.scale).map(|(w, s)| w / s).collect();
        if self.intercept {
            let shift: f64 = plane.iter().zip(&self.centre).map(|(w, c)| w * c).sum();
            normalised.push(plane.get(features).copied().unwrap_or_default() + shift);
        }
        normalised
    }

    /// The rows of some points as integers. Each column is multiplied by a power of two, which changes
    /// neither the sign of a determinant nor linear dependence.
    pub(crate) fn integers(&self, points: &[usize]) -> Vec<Vec<BigInt>> {
        let exponents: Vec<i32> = (0..self.dimension)
            .map(|j| {
                let entries = points.iter().map(|&i| self.row(i)[j]).filter(|v| *v != 0.0);
                entries.map(|v| dyadic(v).1).min().unwrap_or_default()
            })
            .collect();
        let row = |&i: &usize| {
            let entries = self.row(i).iter().zip(&exponents);
            entries.map(|(&v, &exponent)| integer(v, exponent)).collect()
        };
        points.iter().map(row).collect()
    }
}

/// Scales a hyperplane by a power of two so that its largest entry is about 1. This does not round.
pub(crate) fn shorten(plane: &mut [f64]) {
    let largest = plane.iter().fold(0.0f64, |most, v| most.max(v.abs()));
    if largest > 0.0 && largest.is_finite() {
        let scale = (-largest.log2().floor()).clamp(-1000.0, 1000.0).exp2();
        plane.iter_mut().for_each(|v| *v *= scale);
    }
}

/// `value / 2^exponent`, which must be an integer.
fn integer(value: f64, exponent: i32) -> BigInt {
    let (mantissa, own) = dyadic(value);
    if mantissa == 0 {
        return BigInt::zero();
    }
    BigInt::from(mantissa) << (own - exponent).max(0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dyadic_reconstructs_doubles() {
        for value in [1.0, -0.75, 0.1, 1e300, -5e-324, 2f64.powi(53) + 2.0] {
            let (mantissa, exponent) = dyadic(value);
            assert_eq!(mantissa % 2, value.signum() as i64, "{value}");
            let back = mantissa as f64 * 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2);
            assert_eq!(back, value);
        }
    }

    #[test]
    fn duplicate_rows_are_merged() {
        let rows = [[0.0, 1.0], [-0.0, 1.0], [0.0, 1.0], [2.0, 1.0]];
        let input_rows = rows.iter().enumerate().map(|(i, row)| InputRow {
            row: i as u64,
            features: row,
            positive: i == 2,
            cost: 1.5,
        });
        let points = DistinctPoints::gather(2, true, input_rows);
        assert_eq!(points.rows, [0, 2, 3]);
        assert_eq!(points.costs, [3.0, 1.5, 1.5]);
        assert_eq!(points.row(2), [2.0, 1.0, 1.0]);
        let there = points.normalised(&[0.5, -1.0, 0.25]);
        assert_eq!(points.denormalise(&there), [0.5, -1.0, 0.25]);
    }
}
