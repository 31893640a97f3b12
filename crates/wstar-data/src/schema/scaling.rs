//! Standardisation of columns: to mean 0 and standard deviation 1 for dense designs, and to standard deviation 1 only for
//! sparse designs, because a shift would make every zero nonzero.
//!
//! The standard deviation is that of the population (divisor n, or the sum of the weights), about the mean and with zeros
//! included, for dense and sparse designs. It is computed by the corrected two-pass algorithm: one pass for the mean, and
//! one for the squared deviations, corrected by the sum of the deviations (Chan, Golub & LeVeque 1983).

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::{Design, Row};

/// The standardisation of the design's columns: `(x − shift) · factor`. Sparse designs are not shifted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// The value subtracted from each column; empty for sparse designs, which must stay sparse.
    pub(crate) shifts: Vec<f64>,
    /// The factor by which each shifted column is multiplied.
    pub(crate) factors: Vec<f64>,
}

impl Scaling {
    /// The value subtracted from each column; empty for sparse designs, which must stay sparse.
    pub fn shifts(&self) -> &[f64] {
        &self.shifts
    }

    /// The factor by which each shifted column is multiplied.
    pub fn factors(&self) -> &[f64] {
        &self.factors
    }

    /// Learns shifts and factors from the rows, weighted if there are weights. A constant column has the factor 1.
    pub fn learn(design: &Design, weights: Option<&[f64]>) -> Self {
        let columns = moments(design, weights);
        Scaling {
            shifts: if design.is_sparse() {
                Vec::new()
            } else {
                columns.iter().map(|&(mean, _)| mean).collect()
            },
            factors: columns
                .iter()
                .map(|&(_, deviation)| {
                    let factor = 1.0 / deviation;
                    if factor.is_finite() && factor > 0.0 {
                        factor
                    } else {
                        1.0
                    }
                })
                .collect(),
        }
    }

    /// Standardises a design. A dense design stays dense; a sparse design stays sparse, with the same stored entries.
    pub fn apply(&self, design: Design) -> Result<Design> {
        let features = design.features();
        let shifts_fit = self.shifts.len() == features || self.shifts.is_empty();
        if !shifts_fit || self.factors.len() != features {
            return Err(Error::model(format!(
                "the scaling is for {} columns, the data have {features}",
                self.factors.len()
            )));
        }
        match design {
            Design::Dense32(matrix) => {
                let rows = matrix.rows();
                let values = matrix.values().par_iter().map(|&v| f64::from(v)).collect();
                self.apply_dense(values, rows)
            }
            Design::Dense64(matrix) => {
                let rows = matrix.rows();
                self.apply_dense(matrix.into_values(), rows)
            }
            Design::Sparse32(matrix) => {
                let (starts, indices, values) = matrix.into_parts();
                self.apply_sparse(starts, indices, values.into_iter().map(f64::from).collect())
            }
            Design::Sparse64(matrix) => {
                let (starts, indices, values) = matrix.into_parts();
                self.apply_sparse(starts, indices, values)
            }
            Design::Columns32(_) | Design::Columns64(_) => {
                let rows: Vec<f64> = design.iter().flat_map(|row| row.to_dense(features)).collect();
                self.apply_dense(rows, design.rows())
            }
        }
    }

    fn apply_dense(&self, mut values: Vec<f64>, rows: usize) -> Result<Design> {
        let features = self.factors.len();
        values.par_chunks_mut(features.max(1)).for_each(|row| {
            for (j, value) in row.iter_mut().enumerate() {
                *value = (*value - self.shift(j)) * self.factors[j];
            }
        });
        Design::from_dense(values, rows, features)
    }

    fn apply_sparse(&self, starts: Vec<usize>, indices: Vec<u32>, mut values: Vec<f64>) -> Result<Design> {
        if !self.shifts.is_empty() {
            return Err(Error::model(
                "the scaling shifts columns: it is for dense data, these are sparse",
            ));
        }
        values
            .par_iter_mut()
            .zip(&indices)
            .for_each(|(value, &j)| *value *= self.factors[j as usize]);
        Design::from_csr(starts, indices, values, self.factors.len())
    }

    /// Transforms the weights and the intercept of standardised columns into those of the original columns, with the same
    /// scores.
    pub fn unscale(&self, weights: &mut [f64], intercept: &mut f64) {
        for (j, (weight, factor)) in weights.iter_mut().zip(&self.factors).enumerate() {
            *weight *= factor;
            *intercept -= *weight * self.shift(j);
        }
    }

    fn shift(&self, j: usize) -> f64 {
        self.shifts.get(j).copied().unwrap_or(0.0)
    }
}

/// The statistics of one column that the first pass accumulates.
#[derive(Clone, Copy)]
struct ColumnRange {
    low: f64,
    high: f64,
    /// The number of rows that store an entry.
    stored: usize,
    /// The sum of the weights of these rows.
    weight: f64,
}

/// The mean and the standard deviation of every column; the deviation of a constant column is 0.
fn moments(design: &Design, weights: Option<&[f64]>) -> Vec<(f64, f64)> {
    let weight = |i: usize| weights.map_or(1.0, |weights| weights[i]);
    let counted = (0..design.rows()).filter(|&i| weight(i) > 0.0).count();
    let total: f64 = (0..design.rows()).map(weight).sum();

    let empty = ColumnRange {
        low: f64::INFINITY,
        high: f64::NEG_INFINITY,
        stored: 0,
        weight: 0.0,
    };
    let mut ranges = add_up(
        design,
        empty,
        |i, row, ranges: &mut [ColumnRange]| {
            let weight = weight(i);
            if weight > 0.0 {
                row.for_each(|j, v| {
                    let range = &mut ranges[j];
                    (range.low, range.high) = (range.low.min(v), range.high.max(v));
                    range.stored += 1;
                    range.weight += weight;
                });
            }
        },
        |a, b| {
            (a.low, a.high) = (a.low.min(b.low), a.high.max(b.high));
            a.stored += b.stored;
            a.weight += b.weight;
        },
    );
    // Rows without a stored entry have the value 0.
    for range in ranges.iter_mut().filter(|range| range.stored < counted) {
        (range.low, range.high) = (range.low.min(0.0), range.high.max(0.0));
    }
    // Columns with extreme values are scaled by a power of two, so that squares stay in range; all others by 1.
    // Derived: squares of numbers between 1e-100 and 1e100 neither underflow nor overflow, and neither do their sums.
    let units: Vec<f64> = ranges
        .iter()
        .map(|range| {
            let size = range.low.abs().max(range.high.abs());
            if size > 0.0 && size.is_finite() && !(1e-100..1e100).contains(&size) {
                2f64.powi(-size.log2().floor().clamp(-1000.0, 1000.0) as i32)
            } else {
                1.0
            }
        })
        .collect();

    let sums = add_up(
        design,
        0.0,
        |i, row, sums: &mut [f64]| {
            let weight = weight(i);
            row.for_each(|j, v| sums[j] += weight * (v * units[j]));
        },
        |a, b| *a += b,
    );
    let means: Vec<f64> = sums.iter().map(|sum| sum / total).collect();
    let about = add_up(
        design,
        (0.0, 0.0),
        |i, row, sums: &mut [(f64, f64)]| {
            let weight = weight(i);
            row.for_each(|j, v| {
                let distance = v * units[j] - means[j];
                sums[j].0 += weight * distance;
                sums[j].1 += weight * distance * distance;
            });
        },
        |a, b| (a.0, a.1) = (a.0 + b.0, a.1 + b.1),
    );

    let column = |j: usize| {
        let range = &ranges[j];
        if range.low >= range.high {
            return (if range.low.is_finite() { range.low } else { 0.0 }, 0.0);
        }
        let (mean, (mut first, mut second)) = (means[j], about[j]);
        if range.stored < counted {
            let absent = (total - range.weight).max(0.0);
            first -= absent * mean;
            second += absent * mean * mean;
        }
        let variance = ((second - first * first / total) / total).max(0.0);
        ((mean + first / total) / units[j], variance.sqrt() / units[j])
    };
    (0..design.features()).map(column).collect()
}

/// Accumulates one value for each column over all rows. Blocks of rows are processed in parallel and merged in order, so the
/// result does not depend on the number of threads.
fn add_up<A: Copy + Send + Sync>(
    design: &Design,
    zero: A,
    add: impl Fn(usize, Row<'_>, &mut [A]) + Sync,
    merge: impl Fn(&mut A, &A),
) -> Vec<A> {
    // A block has at least as many rows as columns, so the accumulators of all blocks need no more memory than the rows.
    // Heuristic for the least number of rows: task overhead against load balance; not measured yet.
    let block = design.features().max(4096);
    let blocks: Vec<Vec<A>> = (0..design.rows().div_ceil(block))
        .into_par_iter()
        .map(|index| {
            let mut cells = vec![zero; design.features()];
            for i in index * block..((index + 1) * block).min(design.rows()) {
                add(i, design.row(i), &mut cells);
            }
            cells
        })
        .collect();
    let mut all = vec![zero; design.features()];
    for cells in &blocks {
        all.iter_mut().zip(cells).for_each(|(a, b)| merge(a, b));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(a: f64, b: f64, scale: f64) -> bool {
        (a - b).abs() <= 1e-11 * scale.max(1.0)
    }

    #[test]
    fn moments_match_known_values() {
        // 2 4 4 4 5 5 7 9 has mean 5 and deviation 2. A constant column is only shifted.
        let rows: Vec<Vec<f64>> = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]
            .iter()
            .map(|&v| vec![v, 0.1])
            .collect();
        let design = Design::from_rows(&rows).unwrap();
        let scaling = Scaling::learn(&design, None);
        assert_eq!(scaling.shifts, [5.0, 0.1]);
        assert_eq!(scaling.factors, [0.5, 1.0]);
        let scaled = scaling.apply(design).unwrap();
        assert_eq!(scaled.row(0).to_dense(2), [-1.5, 0.0]);
        assert_eq!(scaled.row(7).to_dense(2), [2.0, 0.0]);
        assert!(matches!(scaled, Design::Dense32(_)), "halves are exact in f32");
    }

    #[test]
    fn deviations_are_accurate_for_large_means() {
        let rows: Vec<Vec<f64>> = (0..10_000).map(|i| vec![1e9 + f64::from(i % 2)]).collect();
        let scaling = Scaling::learn(&Design::from_rows(&rows).unwrap(), None);
        assert_eq!(scaling.shifts, [1e9 + 0.5]);
        assert_eq!(scaling.factors, [2.0]);
    }

    #[test]
    fn extreme_values_stay_finite() {
        for size in [1e300, 1e-300] {
            let rows = [vec![size], vec![-size], vec![size], vec![-size]];
            let design = Design::from_rows(&rows).unwrap();
            let scaled = Scaling::learn(&design, None).apply(design).unwrap();
            assert!(near(scaled.row(0).to_dense(1)[0], 1.0, 1.0), "{size}");
        }
    }

    #[test]
    fn weights_are_equivalent_to_repeated_rows() {
        let once = Design::from_rows(&[vec![1.0], vec![4.0], vec![9.0]]).unwrap();
        let often = Design::from_rows(&[vec![1.0], vec![1.0], vec![1.0], vec![4.0]]).unwrap();
        assert_eq!(
            Scaling::learn(&once, Some(&[3.0, 1.0, 0.0])),
            Scaling::learn(&often, None)
        );
        let sparse = Design::from_csr(vec![0, 1, 2, 2], vec![0, 0], vec![1.0, 4.0], 1).unwrap();
        let same = Design::from_csr(vec![0, 1, 2, 2, 2], vec![0, 0], vec![1.0, 4.0], 1).unwrap();
        assert_eq!(
            Scaling::learn(&sparse, Some(&[1.0, 1.0, 2.0])),
            Scaling::learn(&same, None)
        );
    }

    #[test]
    fn sparse_designs_keep_their_pattern() {
        let design =
            Design::from_csr(vec![0, 2, 3, 3, 4], vec![0, 2, 0, 3], vec![2.0, 5.0, 2.0, 0.0], 5).unwrap();
        let scaling = Scaling::learn(&design, None);
        assert!(scaling.shifts.is_empty());
        // Column 0 is 2 2 0 0 with deviation 1; column 2 is 5 0 0 0 with deviation 5·√3/4; the others are constant.
        assert_eq!(scaling.factors[0], 1.0);
        assert!(near(scaling.factors[2], 4.0 / (5.0 * 3f64.sqrt()), 1.0));
        assert_eq!(scaling.factors[1], 1.0);
        assert_eq!(scaling.factors[3..], [1.0, 1.0]);
        let scaled = scaling.apply(design.clone()).unwrap();
        for (before, after) in design.iter().zip(scaled.iter()) {
            let columns = |row: Row<'_>| {
                let mut columns = Vec::new();
                row.for_each(|j, _| columns.push(j));
                columns
            };
            assert_eq!(columns(before), columns(after));
        }
    }

    #[test]
    fn a_scaling_for_other_columns_is_refused() {
        let design = Design::from_rows(&[vec![1.0, 2.0], vec![2.0, 5.0]]).unwrap();
        let narrow = Design::from_rows(&[vec![1.0]]).unwrap();
        let sparse = Design::from_csr(vec![0, 1], vec![0], vec![1.0], 2).unwrap();
        let scaling = Scaling::learn(&design, None);
        assert!(scaling.apply(narrow).is_err());
        assert!(scaling.apply(sparse).is_err());
    }

    proptest! {
        #[test]
        fn scores_are_equal_on_raw_and_scaled_rows(
            rows in prop::collection::vec(prop::collection::vec(-50.0..50.0f64, 4), 2..20),
            weights in prop::collection::vec(-3.0..3.0f64, 4),
            intercept in -3.0..3.0f64,
            sparse in any::<bool>(),
        ) {
            let design = if sparse {
                let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
                for row in &rows {
                    for (j, &v) in row.iter().enumerate().filter(|(_, v)| **v > 0.0) {
                        indices.push(j as u32);
                        values.push(v);
                    }
                    starts.push(indices.len());
                }
                Design::from_csr(starts, indices, values, 4).unwrap()
            } else {
                Design::from_rows(&rows).unwrap()
            };
            let scaling = Scaling::learn(&design, None);
            let scaled = scaling.apply(design.clone()).unwrap();
            let (mut raw_weights, mut raw_intercept) = (weights.clone(), intercept);
            scaling.unscale(&mut raw_weights, &mut raw_intercept);
            let size: f64 = raw_weights.iter().map(|w| 50.0 * w.abs()).sum::<f64>() + raw_intercept.abs();
            for i in 0..design.rows() {
                let on_scaled = scaled.row(i).dot(&weights) + intercept;
                let on_raw = design.row(i).dot(&raw_weights) + raw_intercept;
                prop_assert!(near(on_scaled, on_raw, size), "{on_scaled} {on_raw}");
            }
        }

        #[test]
        fn moments_agree_with_the_definition(
            rows in prop::collection::vec(prop::collection::vec(-9.0..9.0f64, 2), 2..40),
        ) {
            let scaling = Scaling::learn(&Design::from_rows(&rows).unwrap(), None);
            for j in 0..2 {
                let n = rows.len() as f64;
                let mean = rows.iter().map(|row| row[j]).sum::<f64>() / n;
                let variance = rows.iter().map(|row| (row[j] - mean).powi(2)).sum::<f64>() / n;
                prop_assert!(near(scaling.shifts[j], mean, 9.0));
                prop_assert!(near(1.0 / scaling.factors[j], variance.sqrt(), 9.0));
            }
        }
    }
}
