//! The points of a least-error problem: distinct rows with a class and a cost, in three forms.
//!
//! As they were read (for scores and for exact arithmetic), and centred, scaled and of unit length (for the
//! approximate solver, whose answers are all checked on the first form).

use std::collections::hash_map::Entry;

use num_bigint::BigInt;
use num_traits::Zero;
use rustc_hash::FxHashMap;

use crate::exact::dyadic;

/// Distinct rows of two classes. A row is lifted, `(x, 1)`, where there is an intercept.
#[derive(Debug, Clone)]
pub(crate) struct Points {
    /// How long a lifted row is.
    pub(crate) dimension: usize,
    /// Whether the last entry of every row is the 1 of an intercept.
    pub(crate) intercept: bool,
    /// The lifted rows, one after the other.
    values: Vec<f64>,
    /// Whether a point is of the positive class.
    pub(crate) positive: Vec<bool>,
    /// What a wrong class costs: the sum over the rows that are this point.
    pub(crate) costs: Vec<f64>,
    /// The first row of the data that is this point.
    pub(crate) rows: Vec<u64>,
    /// `±(x − centre)·scale` with its lifted entry, of unit length: positive with a hyperplane that is right.
    units: Vec<f64>,
    centre: Vec<f64>,
    scale: Vec<f64>,
}

/// A row that takes part: its number, its features, its class and what a wrong class costs.
pub(crate) struct Entrant<'a> {
    pub(crate) row: u64,
    pub(crate) features: &'a [f64],
    pub(crate) positive: bool,
    pub(crate) cost: f64,
}

impl Points {
    /// Gathers rows of `features` numbers; rows that are alike in all numbers and in class become one point.
    pub(crate) fn gather<'a>(
        features: usize,
        intercept: bool,
        entrants: impl Iterator<Item = Entrant<'a>>,
    ) -> Self {
        let dimension = features + usize::from(intercept);
        let mut points = Points {
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
        for entrant in entrants {
            // Adding 0 makes −0 the same as 0.
            let bits = entrant.features.iter().map(|&v| (v + 0.0).to_bits()).collect();
            match known.entry((bits, entrant.positive)) {
                Entry::Occupied(place) => points.costs[*place.get()] += entrant.cost,
                Entry::Vacant(place) => {
                    place.insert(points.rows.len());
                    points.values.extend_from_slice(entrant.features);
                    points.values.extend(intercept.then_some(1.0));
                    points.positive.push(entrant.positive);
                    points.costs.push(entrant.cost);
                    points.rows.push(entrant.row);
                }
            }
        }
        points.normalise();
        points
    }

    /// How many points there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The lifted row of a point, as it was read.
    pub(crate) fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.dimension..(i + 1) * self.dimension]
    }

    /// The normalised row of a point, turned so that a hyperplane that is right has a positive product with it.
    pub(crate) fn unit(&self, i: usize) -> &[f64] {
        &self.units[i * self.dimension..(i + 1) * self.dimension]
    }

    /// What the positive points cost together.
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
            // Without an intercept the origin has to stay where it is.
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

    /// The hyperplane of the data, weights first and then the intercept if there is one, that stands for
    /// this one of the normalised points; the largest weight is about 1.
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

    /// The normalised form of a hyperplane of the data.
    pub(crate) fn normalised(&self, plane: &[f64]) -> Vec<f64> {
        let features = self.centre.len();
        let mut normalised: Vec<f64> = plane.iter().zip(&self.scale).map(|(w, s)| w / s).collect();
        if self.intercept {
            let shift: f64 = plane.iter().zip(&self.centre).map(|(w, c)| w * c).sum();
            normalised.push(plane.get(features).copied().unwrap_or_default() + shift);
        }
        normalised
    }

    /// The rows of some points as whole numbers: each column is multiplied by a power of two, which changes
    /// neither the sign of a determinant nor what depends on what.
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

/// Brings the largest entry of a hyperplane to about 1, by a power of two, so that nothing is rounded.
pub(crate) fn shorten(plane: &mut [f64]) {
    let largest = plane.iter().fold(0.0f64, |most, v| most.max(v.abs()));
    if largest > 0.0 && largest.is_finite() {
        let scale = (-largest.log2().floor()).clamp(-1000.0, 1000.0).exp2();
        plane.iter_mut().for_each(|v| *v *= scale);
    }
}

/// `value / 2^exponent`, which has to be whole.
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
    fn numbers_are_odd_multiples_of_powers_of_two() {
        for value in [1.0, -0.75, 0.1, 1e300, -5e-324, 2f64.powi(53) + 2.0] {
            let (mantissa, exponent) = dyadic(value);
            assert_eq!(mantissa % 2, value.signum() as i64, "{value}");
            let back = mantissa as f64 * 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2);
            assert_eq!(back, value);
        }
    }

    #[test]
    fn rows_that_are_alike_become_one_point() {
        let rows = [[0.0, 1.0], [-0.0, 1.0], [0.0, 1.0], [2.0, 1.0]];
        let entrants = rows.iter().enumerate().map(|(i, row)| Entrant {
            row: i as u64,
            features: row,
            positive: i == 2,
            cost: 1.5,
        });
        let points = Points::gather(2, true, entrants);
        assert_eq!(points.rows, [0, 2, 3]);
        assert_eq!(points.costs, [3.0, 1.5, 1.5]);
        assert_eq!(points.row(2), [2.0, 1.0, 1.0]);
        let there = points.normalised(&[0.5, -1.0, 0.25]);
        assert_eq!(points.denormalise(&there), [0.5, -1.0, 0.25]);
    }
}
