//! Cholesky's factorisation in double-double arithmetic: for matrices that are numerically singular in `f64`, and for the
//! diagonal of an inverse to full `f64` accuracy.

use crate::double_double::{DoubleDouble, dot};
use crate::linalg::power_of_two::power_of_two;

/// Pivots up to this value count as rounding errors, for a matrix scaled to diagonal entries near 1.
/// Derived: about a hundred times the double-double roundoff 2⁻¹⁰⁶ ≈ 1.2·10⁻³².
const LEAST_PIVOT: f64 = 1e-30;

/// The factor L of SGS = LLᵀ, stored row by row, where S = diag(scale) holds powers of two.
#[derive(Debug)]
pub struct DoubleDoubleCholesky {
    scale: Vec<f64>,
    lower: Vec<DoubleDouble>,
}

/// The index of the first entry of row `i` in a packed lower triangle.
fn start(i: usize) -> usize {
    i * (i + 1) / 2
}

impl DoubleDoubleCholesky {
    /// Factorises a matrix given by its packed lower triangle, row by row; `None` if it is numerically singular.
    pub fn new(mut lower: Vec<DoubleDouble>, width: usize) -> Option<Self> {
        let scale: Vec<f64> = (0..width)
            .map(|j| power_of_two(lower[start(j) + j].value().max(0.0).sqrt()))
            .collect();
        for i in 0..width {
            for j in 0..=i {
                let at = start(i) + j;
                lower[at] = lower[at].scaled(scale[i]).scaled(scale[j]);
            }
        }
        for i in 0..width {
            let (above, row) = lower.split_at_mut(start(i));
            for j in 0..i {
                let other = &above[start(j)..=start(j) + j];
                row[j] = (row[j] - dot(&row[..j], &other[..j])) / other[j];
            }
            let pivot = row[i] - dot(&row[..i], &row[..i]);
            if pivot.value().is_nan() || pivot.value() <= LEAST_PIVOT {
                return None;
            }
            row[i] = pivot.sqrt();
        }
        Some(DoubleDoubleCholesky { scale, lower })
    }

    /// Solves Gx = g.
    pub fn solve(&self, g: &[DoubleDouble]) -> Vec<DoubleDouble> {
        let width = self.scale.len();
        let mut x: Vec<DoubleDouble> = g.iter().zip(&self.scale).map(|(g, &s)| g.scaled(s)).collect();
        for i in 0..width {
            let row = &self.lower[start(i)..=start(i) + i];
            x[i] = (x[i] - dot(&row[..i], &x[..i])) / row[i];
        }
        for i in (0..width).rev() {
            let row = &self.lower[start(i)..=start(i) + i];
            x[i] = x[i] / row[i];
            let done = x[i];
            for (x, &l) in x[..i].iter_mut().zip(row) {
                *x -= l * done;
            }
        }
        x.iter().zip(&self.scale).map(|(x, &s)| x.scaled(s)).collect()
    }

    /// The diagonal of G⁻¹.
    pub fn inverse_diagonal(&self) -> Vec<f64> {
        let width = self.scale.len();
        // G⁻¹ = S L⁻ᵀL⁻¹ S, so its diagonal holds the scaled sums of squares of the columns of L⁻¹.
        (0..width)
            .map(|j| {
                let mut column = vec![DoubleDouble::ZERO; width - j];
                column[0] = DoubleDouble::from(1.0) / self.lower[start(j) + j];
                for i in j + 1..width {
                    let row = &self.lower[start(i)..=start(i) + i];
                    column[i - j] = -(dot(&row[j..i], &column[..i - j]) / row[i]);
                }
                let scale = self.scale[j];
                dot(&column, &column).scaled(scale).scaled(scale).value()
            })
            .collect()
    }
}
