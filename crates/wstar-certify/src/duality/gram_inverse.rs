//! The proof that a factor nearly inverts a Gram matrix.
//!
//! **Lemma.** Let H be a Gram matrix of order p over n rows, Ĥ the matrix computed from it in any order of summation, d²_a at least the
//! sum of the magnitudes of the terms of H_aa, and R any nonsingular matrix. Then ‖RHRᵀ − I‖ ≤ ε = ‖fl(RĤRᵀ) − I‖_F +
//! (γ_{2p+8} + γ_{n+16})·1.05·‖|R|d‖². If ε < 1, H is positive definite, and aᵀH⁻¹g = (Ra)ᵀ(I + E)⁻¹(Rg) with ‖E‖ ≤ ε, so
//! |aᵀH⁻¹g| ≤ ‖Ra‖·‖Rg‖/(1 − ε). `docs/proofs.md` has the proof.

use faer::{Mat, MatRef};

use crate::duality::error_bounds::{Rounding, upwards};
use crate::sequential::{inverse_factor, product};

/// R with RHRᵀ ≈ I.
pub(super) struct GramInverse {
    pub(super) r: Mat<f64>,
    /// ε.
    epsilon: f64,
    rounding: Rounding,
}

impl GramInverse {
    /// The factor of a computed Gram matrix over `rows` rows, whose entries have terms of magnitude at most d_a·d_b; `None` if
    /// it is not proved to be positive definite. `relative` is the relative error of the terms.
    pub(super) fn new(
        gram: &Mat<f64>,
        d: &[f64],
        rows: usize,
        relative: f64,
        rounding: Rounding,
    ) -> Option<Self> {
        let order = gram.nrows();
        let r = inverse_factor(gram)?;
        let product = product(product(r.as_ref(), gram.as_ref()).as_ref(), r.transpose());
        let mut squares = 0.0;
        for a in 0..order {
            for b in 0..order {
                let off = product[(a, b)] - f64::from(u8::from(a == b));
                squares += off * off;
            }
        }
        let sizes: f64 = (0..order)
            .map(|a| (0..=a).map(|b| r[(a, b)].abs() * d[b]).sum::<f64>().powi(2))
            .sum();
        let gamma = rounding.gamma(2 * order + 8) + rounding.gamma(rows + 16) + relative;
        let epsilon = upwards(squares.sqrt() + 1.05 * gamma * sizes);
        (epsilon < 0.5).then_some(GramInverse { r, epsilon, rounding })
    }

    /// An upper bound of ‖Rg‖/(1 − ε) for g within `errors` of `values`.
    pub(super) fn norm(&self, values: &[f64], errors: &[f64]) -> f64 {
        let order = values.len();
        let gamma = self.rounding.gamma(order + 4);
        let squares: f64 = (0..order)
            .map(|a| {
                let (mut sum, mut size, mut error) = (0.0, 0.0, 0.0);
                for b in 0..=a {
                    let factor = self.r[(a, b)];
                    sum += factor * values[b];
                    size += (factor * values[b]).abs();
                    error += factor.abs() * errors[b];
                }
                (f64::abs(sum) + gamma * size + error).powi(2)
            })
            .sum();
        upwards(squares.sqrt() / (1.0 - self.epsilon))
    }

    /// Upper bounds of ‖Rxᵢ‖ for the rows xᵢ of a matrix, whose columns are those from `first` on.
    pub(super) fn row_norms(&self, x: MatRef<'_, f64>, first: usize) -> Vec<f64> {
        let columns = self.r.as_ref().subcols(first, x.ncols());
        let products = product(x, columns.transpose());
        let frobenius = columns.norm_l2();
        let gamma = self.rounding.gamma(x.ncols() + 8);
        (0..x.nrows())
            .map(|i| {
                let own = products.row(i).norm_l2();
                upwards(own + gamma * frobenius * x.row(i).norm_l2())
            })
            .collect()
    }
}

/// The columns of a Gram matrix whose part outside the span of the columns before them is nothing but rounding, and the others.
///
/// For a dependent column j let xⱼ = X_I c + e. Then the product of e with the move onto the constraints of the columns I is at most
/// ‖e‖·λ, in the norm of the weights.
pub(super) struct Dependence {
    pub(super) independent: Vec<usize>,
    pub(super) dependent: Vec<DependentColumn>,
}

/// A dependent column.
pub(super) struct DependentColumn {
    pub(super) column: usize,
    /// c.
    pub(super) coefficients: Vec<f64>,
    /// An upper bound of ‖e‖.
    pub(super) distance: f64,
}

impl Dependence {
    /// By Cholesky's factorisation without the dependent columns.
    pub(super) fn new(gram: &Mat<f64>, d: &[f64], rows: usize, rounding: Rounding) -> Option<Self> {
        /// A pivot below this share of the diagonal is rounding. Heuristic: between the square of a useful condition number and
        /// rounding; not measured yet.
        const RANK: f64 = 1e-11;
        let order = gram.nrows();
        let mut independent: Vec<usize> = Vec::new();
        let mut factor: Vec<Vec<f64>> = Vec::new();
        let mut dependent = Vec::new();
        for j in 0..order {
            let mut row: Vec<f64> = Vec::with_capacity(independent.len() + 1);
            for (at, &i) in independent.iter().enumerate() {
                let known: f64 = row.iter().zip(&factor[at]).map(|(a, b)| a * b).sum();
                row.push((gram[(j.max(i), j.min(i))] - known) / factor[at][at]);
            }
            let pivot = gram[(j, j)] - row.iter().map(|x| x * x).sum::<f64>();
            if pivot > RANK * gram[(j, j)] {
                row.push(pivot.sqrt());
                factor.push(row);
                independent.push(j);
                continue;
            }
            // c by backward substitution in the transposed factor.
            let mut coefficients = row;
            for at in (0..coefficients.len()).rev() {
                let below = (at + 1..coefficients.len()).map(|k| factor[k][at] * coefficients[k]);
                let below: f64 = below.sum();
                coefficients[at] = (coefficients[at] - below) / factor[at][at];
            }
            let c = &coefficients;
            let entry = |a: usize, b: usize| gram[(a.max(b), a.min(b))];
            let mut square = gram[(j, j)];
            for (&i, ci) in independent.iter().zip(c) {
                square -= 2.0 * ci * entry(j, i);
                square += ci
                    * independent
                        .iter()
                        .zip(c)
                        .map(|(&k, ck)| ck * entry(i, k))
                        .sum::<f64>();
            }
            let size = d[j]
                + independent
                    .iter()
                    .zip(c)
                    .map(|(&i, c)| c.abs() * d[i])
                    .sum::<f64>();
            let gamma = rounding.gamma(rows + 4 * order + 32);
            let distance = upwards((square.max(0.0) + 2.0 * gamma * size * size).sqrt());
            if !distance.is_finite() {
                return None;
            }
            dependent.push(DependentColumn {
                column: j,
                coefficients,
                distance,
            });
        }
        Some(Dependence {
            independent,
            dependent,
        })
    }
}

/// H⁻¹g for a symmetric matrix, after scaling its diagonal to 1; `None` if it is not positive definite.
pub(super) fn solve(gram: &Mat<f64>, g: &[f64]) -> Option<Vec<f64>> {
    let order = g.len();
    let scale: Vec<f64> = (0..order)
        .map(|j| match gram[(j, j)] > 0.0 {
            true => gram[(j, j)].sqrt().recip(),
            false => 0.0,
        })
        .collect();
    // Scaled columns without curvature have a 1 on the diagonal, and a solution of 0.
    let unit = Mat::from_fn(order, order, |i, j| match i == j {
        true => 1.0 + RIDGE,
        false => gram[(i.max(j), i.min(j))] * scale[i] * scale[j],
    });
    let r = inverse_factor(&unit)?;
    let scaled: Vec<f64> = g.iter().zip(&scale).map(|(g, scale)| g * scale).collect();
    let half: Vec<f64> = (0..order)
        .map(|a| (0..=a).map(|b| r[(a, b)] * scaled[b]).sum())
        .collect();
    let solution: Vec<f64> = (0..order)
        .map(|b| (b..order).map(|a| r[(a, b)] * half[a]).sum::<f64>() * scale[b])
        .collect();
    solution.iter().all(|v| v.is_finite()).then_some(solution)
}

/// Added to the unit diagonal. Heuristic: it lets dependent columns pass the factorisation, and changes the direction by rounding
/// only; not measured yet.
const RIDGE: f64 = 1e-13;
