//! The normal equations of a Newton step.
//!
//! Problem: solve Kx = r for a symmetric positive definite matrix K. Method: K is scaled to a unit
//! diagonal by powers of two, factored by Cholesky, and the solution is refined iteratively (N. J.
//! Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., SIAM 2002, chapters 10 and 12).
//!
//! - `scalar`: the number types, `f64` and double-double, with their factorisations
//! - `column_scales`: scales that bring columns to about the same size

mod column_scales;
pub(crate) mod scalar;

pub(crate) use column_scales::column_scales;

use scalar::Scalar;
use wstar_numeric::linalg::power_of_two::power_of_two;

/// Maximum number of refinement steps. Cap: beyond it the current solution is used; two are enough unless the
/// factored matrix is regularised.
const MAX_REFINEMENTS: usize = 20;

/// A factored system of normal equations.
pub(crate) struct Normal<S: Scalar> {
    /// The scaled matrix, with both triangles.
    matrix: Vec<S>,
    /// The scaling of rows and columns: powers of two, so that scaling is exact.
    scale: Vec<f64>,
    factor: S::Factor,
}

impl<S: Scalar> Normal<S> {
    /// Factors K, given by its lower triangle, stored by columns. `None` if no small regularisation makes it
    /// positive definite.
    pub(crate) fn new(mut matrix: Vec<S>, width: usize) -> Option<Self> {
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
                // A parameter that no row depends on keeps its value.
                let value = if i == j && scale[j] == 0.0 {
                    S::from(1.0)
                } else {
                    value
                };
                matrix[j * width + i] = value;
                matrix[i * width + j] = value;
            }
        }
        // The matrix is regularised only if the factorisation fails, because regularisation slows the
        // convergence of the last iterations.
        // Heuristic: the first shift is about the rounding error of the factorisation, each further one
        // ten times as large; not measured yet.
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

    /// The solution of Kx = `right`.
    pub(crate) fn solve(&self, right: &[S]) -> Vec<S> {
        let width = right.len();
        let scaled: Vec<S> = right.iter().zip(&self.scale).map(|(&r, &s)| r * s).collect();
        let mut solution = vec![S::default(); width];
        let mut residual = scaled.clone();
        let mut size = largest(&residual);
        // Derived: the unit roundoff, relative to the right-hand side.
        let enough = 0.5 * S::EPSILON * size;
        for _ in 0..MAX_REFINEMENTS {
            let mut change = residual.clone();
            S::substitute(&self.factor, &mut change);
            let candidate: Vec<S> = solution.iter().zip(&change).map(|(&s, &c)| s + c).collect();
            residual = (0..width)
                .map(|j| scaled[j] - S::dot(&self.matrix[j * width..(j + 1) * width], &candidate))
                .collect();
            let left = largest(&residual);
            // This also stops at a NaN.
            if !(left.is_finite() && left < size) {
                break;
            }
            solution = candidate;
            // Heuristic: a step that gains less than a factor of 2 leaves only rounding; not measured yet.
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
    use wstar_numeric::double_double::DoubleDouble;

    fn badly_scaled_and_singular<S: Scalar>(within: f64) {
        let numbers = |values: &[f64]| values.iter().map(|&value| S::from(value)).collect::<Vec<S>>();
        // K = S M S with M = [[2, 1], [1, 2]] and S = diag(2⁻²⁰, 2¹⁷).
        let (a, b) = (0.5f64.powi(20), 2f64.powi(17));
        let lower = numbers(&[2.0 * a * a, a * b, f64::NAN, 2.0 * b * b]);
        let normal = Normal::new(lower, 2).unwrap();
        let x = normal.solve(&numbers(&[(2.0 * 3.0 + 4.0) * a, (3.0 + 2.0 * 4.0) * b]));
        assert!((x[0] * a - S::from(3.0)).value().abs() < within, "{x:?}");
        assert!((x[1] * b - S::from(4.0)).value().abs() < within, "{x:?}");
        // Two equal columns and a zero column: the system is singular, but consistent.
        let lower = numbers(&[4.0, 4.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 0.0]);
        let x = Normal::new(lower, 3).unwrap().solve(&numbers(&[8.0, 8.0, 0.0]));
        let off = (x[0] + x[1] - S::from(2.0)).value();
        assert!(off.abs() < 1e-12 && x[2].value() == 0.0, "{x:?}");
    }

    #[test]
    fn badly_scaled_and_singular_systems_are_solved() {
        badly_scaled_and_singular::<f64>(1e-14);
        badly_scaled_and_singular::<DoubleDouble>(1e-29);
    }

    /// Rows (1, 1) and (1, 1 + 1e-10): the condition of their Gram matrix is 1e20.
    #[test]
    fn double_double_solves_what_is_singular_in_f64() {
        let near = DoubleDouble::from(1.0) + 1e-10;
        let two = DoubleDouble::from(2.0);
        let lower = vec![two, near + 1.0, DoubleDouble::ZERO, near * near + 1.0];
        let x = Normal::new(lower, 2)
            .unwrap()
            .solve(&[near + 2.0, near * near + 2.0]);
        // A backward stable solution has a residual of a few roundings (2⁻¹⁰⁴ each) of |K|·|x|; here |x| is
        // 10¹⁰. In `f64` the residual would be 10⁻⁶.
        let most = 32.0 * 0.5f64.powi(104) * 4.0 * x[0].value().abs();
        let left = two * x[0] + (near + 1.0) * x[1] - (near + 2.0);
        assert!(left.value().abs() < most, "{x:?} {left:?}");
        let left = (near + 1.0) * x[0] + (near * near + 1.0) * x[1] - (near * near + 2.0);
        assert!(left.value().abs() < most, "{x:?} {left:?}");
    }
}
