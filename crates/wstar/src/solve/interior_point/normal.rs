//! The normal equations of a step: a symmetric positive matrix, scaled by its diagonal, factored by
//! Cholesky and refined.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Mat, MatMut, Par};

use crate::kernel::dense::dot;

/// Refinements at most: two are plenty unless the factor is of a regularised matrix.
const MOST_REFINEMENTS: usize = 20;

/// A factored system.
pub(super) struct Normal {
    /// The scaled matrix, both triangles.
    matrix: Vec<f64>,
    /// What rows and columns were multiplied by.
    scale: Vec<f64>,
    factor: Mat<f64>,
}

impl Normal {
    /// From the lower triangle, column by column; `None` if no small regularisation makes it positive.
    pub(super) fn new(mut matrix: Vec<f64>, width: usize) -> Option<Self> {
        let scale: Vec<f64> = (0..width)
            .map(|j| {
                let diagonal = matrix[j * width + j];
                if diagonal > 0.0 {
                    1.0 / diagonal.sqrt()
                } else {
                    0.0
                }
            })
            .collect();
        for j in 0..width {
            for i in j..width {
                let value = matrix[j * width + i] * scale[i] * scale[j];
                // A parameter that nothing depends on keeps its value.
                let value = if i == j { 1.0 } else { value };
                matrix[j * width + i] = value;
                matrix[i * width + j] = value;
            }
        }
        // Regularised only when the factorisation fails: it slows the last iterations.
        let shifts = std::iter::once(0.0).chain((0..8).map(|k| 1e-14 * 10f64.powi(k)));
        for shift in shifts {
            if let Some(factor) = factored(&matrix, width, shift) {
                return Some(Normal {
                    matrix,
                    scale,
                    factor,
                });
            }
        }
        None
    }

    /// The solution for a right-hand side.
    pub(super) fn solve(&self, right: &[f64]) -> Vec<f64> {
        let scaled: Vec<f64> = right.iter().zip(&self.scale).map(|(r, s)| r * s).collect();
        let mut solution = vec![0.0; scaled.len()];
        let mut residual = scaled.clone();
        let mut size = largest(&residual);
        let enough = 1e-16 * size;
        for _ in 0..MOST_REFINEMENTS {
            let mut change = residual.clone();
            self.back(&mut change);
            let candidate: Vec<f64> = solution.iter().zip(&change).map(|(s, c)| s + c).collect();
            let width = scaled.len();
            residual = (0..width)
                .map(|j| scaled[j] - dot(&self.matrix[j * width..(j + 1) * width], &candidate))
                .collect();
            let left = largest(&residual);
            // Also where it is not a number.
            if !(left.is_finite() && left < size) {
                break;
            }
            solution = candidate;
            if left <= enough || left > 0.5 * size {
                break;
            }
            size = left;
        }
        solution.iter().zip(&self.scale).map(|(x, s)| x * s).collect()
    }

    fn back(&self, right: &mut [f64]) {
        let length = right.len();
        let mut right = MatMut::from_column_major_slice_mut(right, length, 1);
        solve_lower_triangular_in_place(self.factor.as_ref(), right.as_mut(), Par::Seq);
        solve_upper_triangular_in_place(self.factor.transpose(), right, Par::Seq);
    }
}

fn factored(matrix: &[f64], width: usize, shift: f64) -> Option<Mat<f64>> {
    let mut factor = Mat::from_fn(width, width, |i, j| {
        matrix[j * width + i] + if i == j { shift } else { 0.0 }
    });
    // One thread: the bits of a parallel factorisation depend on how it was split.
    let scratch = cholesky_in_place_scratch::<f64>(width, Par::Seq, Default::default());
    let mut memory = MemBuffer::new(scratch);
    cholesky_in_place(
        factor.as_mut(),
        Default::default(),
        Par::Seq,
        MemStack::new(&mut memory),
        Default::default(),
    )
    .ok()?;
    // A pivot this small is the rounding of 0, and all that is divided by it is noise.
    let least = (width as f64 * f64::EPSILON).sqrt();
    (0..width)
        .all(|j| factor[(j, j)] > least && factor[(j, j)].is_finite())
        .then_some(factor)
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, value| {
        if value.is_nan() {
            f64::NAN
        } else {
            value.abs().max(most)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_badly_scaled_system_and_a_singular_one() {
        // K = S M S with M = [[2, 1], [1, 2]] and S = diag(1e-6, 1e5).
        let lower = vec![2e-12, 0.1, f64::NAN, 2e10];
        let normal = Normal::new(lower, 2).unwrap();
        let x = normal.solve(&[2e-12 * 3.0 + 0.1 * 4e-11, 0.1 * 3.0 + 2e10 * 4e-11]);
        assert!(
            (x[0] - 3.0).abs() < 1e-14 && (x[1] - 4e-11).abs() < 1e-25,
            "{x:?}"
        );
        // Twice the same column, and one that is 0: still a solution.
        let lower = vec![4.0, 4.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 0.0];
        let x = Normal::new(lower, 3).unwrap().solve(&[8.0, 8.0, 0.0]);
        assert!((x[0] + x[1] - 2.0).abs() < 1e-12 && x[2] == 0.0, "{x:?}");
    }
}
