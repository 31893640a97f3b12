//! The coordinates of the active-set method: columns are centred and scaled, rows are multiplied by their
//! labels, and the intercept is the last coordinate.
//!
//! nᵢ = yᵢ(s∘(xᵢ − c), κ). Scales are powers of two, so scaling does not round. To decide separability
//! every column may have its own scale; for the maximum margin all columns share one scale.

use num_rational::BigRational;
use num_traits::Zero;
use rayon::prelude::*;

use crate::exact::Signed;
use crate::margin::column_ranges::Ranges;
use wstar_data::linear::Hyperplane;
use wstar_numeric::double_double::DoubleDouble;

/// Rows scored per parallel task. Heuristic: trades scheduling overhead for balance; not measured yet.
const BLOCK: usize = 1024;

/// How columns are scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scaling {
    /// Each column by its own range.
    Each,
    /// All columns by the same factor, which preserves the ratios of margins.
    Alike,
}

/// The transformation from data to solver coordinates.
#[derive(Debug, Clone)]
pub(super) struct Frame<'a> {
    pub(super) signed: Signed<'a>,
    /// The columns in use, those that can distinguish rows.
    columns: Vec<usize>,
    /// The position of each design column in `columns`; `u32::MAX` if it is not used.
    positions: Vec<u32>,
    centre: Vec<f64>,
    scale: Vec<f64>,
    /// κ, the intercept coordinate of a row up to its label.
    lift: f64,
}

/// The largest power of two that is at most `x`, clamped so that its reciprocal is finite.
fn power_of_two(x: f64) -> f64 {
    if x > 0.0 && x.is_finite() {
        let exponent = ((x.to_bits() >> 52) & 0x7FF) as i32 - 1023;
        2f64.powi(exponent.clamp(-500, 500))
    } else {
        1.0
    }
}

impl<'a> Frame<'a> {
    /// The coordinates for rows with these column ranges.
    pub(super) fn new(signed: Signed<'a>, ranges: &Ranges, scaling: Scaling) -> Self {
        let columns = ranges.distinguishing(signed.intercept);
        let mut positions = vec![u32::MAX; ranges.features()];
        columns
            .iter()
            .enumerate()
            .for_each(|(k, &j)| positions[j] = k as u32);
        let mut centre: Vec<f64> = columns
            .iter()
            .map(|&j| if signed.intercept { ranges.mean(j) } else { 0.0 })
            .collect();
        let size = |k: usize, c: f64| {
            let (least, largest) = ranges.overall(columns[k]);
            (largest - c).abs().max((least - c).abs())
        };
        let sizes: Vec<f64> = centre
            .iter()
            .enumerate()
            .map(|(k, &c)| power_of_two(size(k, c)))
            .collect();
        let largest = sizes.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let scale: Vec<f64> = sizes
            .iter()
            .map(|&size| match scaling {
                Scaling::Each => 1.0 / size,
                Scaling::Alike => 1.0 / power_of_two(largest),
            })
            .collect();
        // A centre with few bits subtracts without rounding from data that have few bits. Heuristic: 8 bits
        // relative to the size of the column; not measured yet.
        for (c, size) in centre.iter_mut().zip(&sizes) {
            let unit = size / 256.0;
            let rounded = (*c / unit).round() * unit;
            if rounded.is_finite() {
                *c = rounded;
            }
        }
        let lift = power_of_two((columns.len() as f64).sqrt().max(1.0) / 2.0);
        Frame {
            signed,
            columns,
            positions,
            centre,
            scale,
            lift,
        }
    }

    /// The number of coordinates of a row.
    pub(super) fn dimension(&self) -> usize {
        self.columns.len() + usize::from(self.signed.intercept)
    }

    /// κ if there is an intercept.
    pub(super) fn lift(&self) -> Option<f64> {
        self.signed.intercept.then_some(self.lift)
    }

    /// The ratio of the largest to the smallest column scale.
    pub(super) fn spread(&self) -> f64 {
        let largest = self.scale.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        largest / self.scale.iter().copied().fold(largest, f64::min)
    }

    /// Whether all columns have the same scale, so that the optimum is the maximum-margin hyperplane of the
    /// data.
    pub(super) fn is_uniform(&self) -> bool {
        self.scale.windows(2).all(|pair| pair[0] == pair[1])
    }

    /// yᵢ.
    pub(super) fn label(&self, i: usize) -> f64 {
        f64::from(self.signed.signs[i])
    }

    /// Writes nᵢ into `into`.
    pub(super) fn row(&self, i: usize, into: &mut Vec<f64>) {
        let y = self.label(i);
        into.clear();
        if self.signed.design.is_sparse() {
            into.extend(self.centre.iter().zip(&self.scale).map(|(c, s)| -y * c * s));
            self.signed.design.row(i).for_each(|j, x| {
                if let Some(k) = self.position(j) {
                    into[k] = y * (x - self.centre[k]) * self.scale[k];
                }
            });
        } else {
            let x = self.signed.design.row(i);
            into.resize(self.columns.len(), 0.0);
            x.for_each(|j, x| {
                if let Some(k) = self.position(j) {
                    into[k] = y * (x - self.centre[k]) * self.scale[k];
                }
            });
        }
        if self.signed.intercept {
            into.push(y * self.lift);
        }
    }

    fn position(&self, j: usize) -> Option<usize> {
        self.positions
            .get(j)
            .filter(|&&k| k != u32::MAX)
            .map(|&k| k as usize)
    }

    /// The hyperplane of `v` in the coordinates of the data.
    pub(super) fn hyperplane(&self, v: &[f64]) -> Hyperplane {
        let mut weights = vec![0.0; self.positions.len()];
        let mut shift = DoubleDouble::ZERO;
        for (((&j, v), s), &c) in self.columns.iter().zip(v).zip(&self.scale).zip(&self.centre) {
            weights[j] = v * s;
            shift += DoubleDouble::product(weights[j], c);
        }
        let intercept = match v.last() {
            Some(&b) if self.signed.intercept => (DoubleDouble::product(b, self.lift) - shift).value(),
            _ => 0.0,
        };
        Hyperplane::new(weights, intercept)
    }

    /// The hyperplane of `v` without rounding, the intercept last if there is one. Rounding its
    /// coefficients may exceed the margin.
    pub(super) fn exact_hyperplane(&self, v: &[f64]) -> Vec<BigRational> {
        let exact = |x: f64| BigRational::from_float(x).unwrap_or_else(BigRational::zero);
        let mut plane = vec![BigRational::zero(); self.signed.width()];
        let mut shift = BigRational::zero();
        for (((&j, &v), &s), &c) in self.columns.iter().zip(v).zip(&self.scale).zip(&self.centre) {
            plane[j] = exact(v) * exact(s);
            shift += &plane[j] * exact(c);
        }
        if let (Some(&b), true) = (v.last(), self.signed.intercept) {
            plane[self.positions.len()] = exact(b) * exact(self.lift) - shift;
        }
        plane
    }

    /// yᵢ(w·xᵢ + b) for each of the rows.
    pub(super) fn scores(&self, rows: &[usize], plane: &Hyperplane) -> Vec<f64> {
        let mut scores = vec![0.0; rows.len()];
        scores
            .par_chunks_mut(BLOCK)
            .zip(rows.par_chunks(BLOCK))
            .for_each(|(scores, rows)| {
                for (score, &i) in scores.iter_mut().zip(rows) {
                    *score = self.label(i) * plane.score(self.signed.design.row(i));
                }
            });
        scores
    }
}
