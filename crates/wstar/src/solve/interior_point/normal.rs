//! The normal equations of a step: a symmetric positive matrix, scaled by its diagonal, factored by
//! Cholesky and refined.

use super::scalar::Scalar;
use crate::solve::least_squares::power_of_two;

/// Refinements at most: two are plenty unless the factor is of a regularised matrix.
const MOST_REFINEMENTS: usize = 20;

/// A factored system.
pub(in crate::solve) struct Normal<S: Scalar> {
    /// The scaled matrix, both triangles.
    matrix: Vec<S>,
    /// What rows and columns were multiplied by: powers of two, so that nothing is rounded.
    scale: Vec<f64>,
    factor: S::Factor,
}

impl<S: Scalar> Normal<S> {
    /// From the lower triangle, column by column; `None` if no small regularisation makes it positive.
    pub(in crate::solve) fn new(mut matrix: Vec<S>, width: usize) -> Option<Self> {
        let scale: Vec<f64> = (0..width)
            .map(|j| {
                let diagonal = matrix[j * width + j].value();
                if diagonal > 0.0 {
                    power_of_two(diagonal.sqrt())
                } else {
                    0.0
                }
            })
            .collect();
        for j in 0..width {
            for i in j..width {
                let value = matrix[j * width + i] * scale[i] * scale[j];
                // A parameter that nothing depends on keeps its value.
                let value = if i == j && scale[j] == 0.0 {
                    S::from(1.0)
                } else {
                    value
                };
                matrix[j * width + i] = value;
                matrix[i * width + j] = value;
            }
        }
        // Regularised only when the factorisation fails: it slows the last iterations.
        let shifts = std::iter::once(0.0).chain((0..8).map(|k| 45.0 * S::EPSILON * 10f64.powi(k)));
        for shift in shifts {
            if let Some(factor) = S::factor(&matrix, width, shift) {
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
    pub(in crate::solve) fn solve(&self, right: &[S]) -> Vec<S> {
        let width = right.len();
        let scaled: Vec<S> = right.iter().zip(&self.scale).map(|(&r, &s)| r * s).collect();
        let mut solution = vec![S::default(); width];
        let mut residual = scaled.clone();
        let mut size = largest(&residual);
        let enough = 0.5 * S::EPSILON * size;
        for _ in 0..MOST_REFINEMENTS {
            let mut change = residual.clone();
            S::substitute(&self.factor, &mut change);
            let candidate: Vec<S> = solution.iter().zip(&change).map(|(&s, &c)| s + c).collect();
            residual = (0..width)
                .map(|j| scaled[j] - S::dot(&self.matrix[j * width..(j + 1) * width], &candidate))
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
        solution.iter().zip(&self.scale).map(|(&x, &s)| x * s).collect()
    }
}

fn largest<S: Scalar>(values: &[S]) -> f64 {
    values.iter().fold(0.0, |most, value| {
        let value = value.value();
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
    use crate::kernel::double_double::DoubleDouble;

    fn badly_scaled_and_singular<S: Scalar>(within: f64) {
        let numbers = |values: &[f64]| values.iter().map(|&value| S::from(value)).collect::<Vec<S>>();
        // K = S M S with M = [[2, 1], [1, 2]] and S = diag(2⁻²⁰, 2¹⁷).
        let (a, b) = (0.5f64.powi(20), 2f64.powi(17));
        let lower = numbers(&[2.0 * a * a, a * b, f64::NAN, 2.0 * b * b]);
        let normal = Normal::new(lower, 2).unwrap();
        let x = normal.solve(&numbers(&[(2.0 * 3.0 + 4.0) * a, (3.0 + 2.0 * 4.0) * b]));
        assert!((x[0] * a - S::from(3.0)).value().abs() < within, "{x:?}");
        assert!((x[1] * b - S::from(4.0)).value().abs() < within, "{x:?}");
        // Twice the same column, and one that is 0: still a solution.
        let lower = numbers(&[4.0, 4.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 0.0]);
        let x = Normal::new(lower, 3).unwrap().solve(&numbers(&[8.0, 8.0, 0.0]));
        let off = (x[0] + x[1] - S::from(2.0)).value();
        assert!(off.abs() < 1e-12 && x[2].value() == 0.0, "{x:?}");
    }

    #[test]
    fn a_badly_scaled_system_and_a_singular_one() {
        badly_scaled_and_singular::<f64>(1e-14);
        badly_scaled_and_singular::<DoubleDouble>(1e-29);
    }

    /// Rows (1, 1) and (1, 1 + 1e-10): the condition of their Gram matrix is 1e20.
    #[test]
    fn what_f64_takes_for_singular() {
        let near = DoubleDouble::from(1.0) + 1e-10;
        let two = DoubleDouble::from(2.0);
        let lower = vec![two, near + 1.0, DoubleDouble::ZERO, near * near + 1.0];
        let x = Normal::new(lower, 2)
            .unwrap()
            .solve(&[near + 2.0, near * near + 2.0]);
        // A backward stable solution leaves a few roundings, 2⁻¹⁰⁴ each, of |K|·|x|; here x is 10¹⁰. Doubles leave 10⁻⁶.
        let most = 32.0 * 0.5f64.powi(104) * 4.0 * x[0].value().abs();
        let left = two * x[0] + (near + 1.0) * x[1] - (near + 2.0);
        assert!(left.value().abs() < most, "{x:?} {left:?}");
        let left = (near + 1.0) * x[0] + (near * near + 1.0) * x[1] - (near * near + 2.0);
        assert!(left.value().abs() < most, "{x:?} {left:?}");
    }
}
