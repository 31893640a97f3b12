//! What estimated densities become for prediction: for each class the logarithm of p(x, k), up to a term
//! that all classes share and that no decision depends on.

use rayon::prelude::*;

use crate::data::{Design, Row};
use crate::kernel::dense;

/// Rows scored by one task.
const BLOCK: usize = 256;

/// One linear function a class.
#[derive(Debug, Clone, PartialEq)]
pub struct Linear {
    /// The weights of each class.
    pub weights: Vec<Vec<f64>>,
    /// The intercept of each class.
    pub intercepts: Vec<f64>,
    /// If given, the functions are linear not in x but in the indicators of xⱼ > threshold.
    pub threshold: Option<f64>,
}

impl Linear {
    /// With two classes: the hyperplane `w·x + b = 0` between them, positive on the side of the last class.
    pub fn hyperplane(&self) -> Option<(Vec<f64>, f64)> {
        match (self.weights.as_slice(), self.intercepts.as_slice()) {
            ([u, v], [a, b]) => Some((v.iter().zip(u).map(|(v, u)| v - u).collect(), b - a)),
            _ => None,
        }
    }
}

/// One Gaussian a class: constant − ½‖L⁻¹(x − μ)‖², with LLᵀ the covariance.
#[derive(Debug, Clone, PartialEq)]
pub struct Quadratic {
    pub(crate) constants: Vec<f64>,
    pub(crate) means: Vec<Vec<f64>>,
    /// Cholesky factors, row by row; one for each class, or a single one for all.
    pub(crate) factors: Vec<Vec<f64>>,
}

/// One Gaussian of independent features a class: constant − ½ Σ (xⱼ − μⱼ)² / σⱼ².
#[derive(Debug, Clone, PartialEq)]
pub struct Diagonal {
    constants: Vec<f64>,
    means: Vec<Vec<f64>>,
    /// 1 / (2σ²).
    halves: Vec<Vec<f64>>,
    /// The value at x = 0, from which a sparse row departs only where it has entries.
    at_zero: Vec<f64>,
}

impl Diagonal {
    pub(crate) fn new(priors: &[f64], means: &[Vec<f64>], variances: &[Vec<f64>]) -> Self {
        let halves: Vec<Vec<f64>> = variances
            .iter()
            .map(|row| row.iter().map(|v| 0.5 / v).collect())
            .collect();
        let constants: Vec<f64> = priors
            .iter()
            .zip(variances)
            .map(|(prior, row)| {
                prior.ln() - 0.5 * row.iter().map(|v| (std::f64::consts::TAU * v).ln()).sum::<f64>()
            })
            .collect();
        let at_zero = (0..priors.len())
            .map(|k| {
                constants[k]
                    - means[k]
                        .iter()
                        .zip(&halves[k])
                        .map(|(m, h)| m * m * h)
                        .sum::<f64>()
            })
            .collect();
        Diagonal {
            constants,
            means: means.to_vec(),
            halves,
            at_zero,
        }
    }

    fn log_joint(&self, row: Row<'_>, k: usize) -> f64 {
        let (means, halves) = (&self.means[k], &self.halves[k]);
        let features = means.len();
        let mut sum = 0.0;
        match row {
            Row::Dense32(_) | Row::Dense64(_) => {
                row.for_each(|j, v| {
                    if j < features {
                        sum -= (v - means[j]) * (v - means[j]) * halves[j];
                    }
                });
                self.constants[k] + sum
            }
            Row::Sparse32(..) | Row::Sparse64(..) => {
                row.for_each(|j, v| {
                    if j < features {
                        sum += v * (2.0 * means[j] - v) * halves[j];
                    }
                });
                self.at_zero[k] + sum
            }
        }
    }
}

/// The score functions of an estimate, ready to be applied to rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Scorer {
    /// Linear in x (shared covariance, minimax) or in its indicators (Bernoulli, multinomial).
    Linear(Linear),
    /// A full covariance for each class.
    Quadratic(Quadratic),
    /// Independent features with a variance each.
    Diagonal(Diagonal),
}

impl Scorer {
    /// The number of classes.
    pub fn classes(&self) -> usize {
        match self {
            Scorer::Linear(linear) => linear.intercepts.len(),
            Scorer::Quadratic(quadratic) => quadratic.constants.len(),
            Scorer::Diagonal(diagonal) => diagonal.constants.len(),
        }
    }

    /// The number of features.
    pub fn features(&self) -> usize {
        let rows = match self {
            Scorer::Linear(linear) => &linear.weights,
            Scorer::Quadratic(quadratic) => &quadratic.means,
            Scorer::Diagonal(diagonal) => &diagonal.means,
        };
        rows.first().map_or(0, Vec::len)
    }

    /// The linear functions, where the scores are linear.
    pub fn linear(&self) -> Option<&Linear> {
        match self {
            Scorer::Linear(linear) => Some(linear),
            _ => None,
        }
    }

    /// Writes ln p(x, k), up to a term that all classes share, for each class of `out`.
    pub fn log_joint(&self, row: Row<'_>, out: &mut [f64]) {
        match self {
            Scorer::Linear(linear) => {
                for ((out, weights), intercept) in out.iter_mut().zip(&linear.weights).zip(&linear.intercepts)
                {
                    *out = intercept
                        + match linear.threshold {
                            None => row.dot(weights),
                            Some(threshold) => above(row, threshold, weights),
                        };
                }
            }
            Scorer::Quadratic(quadratic) => quadratic.log_joint(row, out),
            Scorer::Diagonal(diagonal) => {
                for (k, out) in out.iter_mut().enumerate().take(diagonal.constants.len()) {
                    *out = diagonal.log_joint(row, k);
                }
            }
        }
    }

    /// Writes p(k | x) for each class of `out`.
    pub fn posterior(&self, row: Row<'_>, out: &mut [f64]) {
        self.log_joint(row, out);
        normalize(out);
    }

    /// The log joint densities of every row: `classes` numbers a row, row by row.
    pub fn log_joints(&self, design: &Design) -> Vec<f64> {
        let classes = self.classes();
        let mut scores = vec![0.0; design.rows() * classes];
        scores
            .par_chunks_mut((BLOCK * classes).max(1))
            .enumerate()
            .for_each(|(block, scores)| {
                for (at, out) in scores.chunks_mut(classes).enumerate() {
                    self.log_joint(design.row(block * BLOCK + at), out);
                }
            });
        scores
    }

    /// The posterior probabilities of every row: `classes` numbers a row, row by row.
    pub fn posteriors(&self, design: &Design) -> Vec<f64> {
        let classes = self.classes();
        let mut scores = self.log_joints(design);
        scores.chunks_mut(classes.max(1)).for_each(normalize);
        scores
    }
}

impl Quadratic {
    fn log_joint(&self, row: Row<'_>, out: &mut [f64]) {
        let features = self.means.first().map_or(0, Vec::len);
        let mut x = vec![0.0; features];
        row.for_each(|j, v| {
            if let Some(x) = x.get_mut(j) {
                *x = v;
            }
        });
        let mut z = vec![0.0; features];
        for (k, (out, constant)) in out.iter_mut().zip(&self.constants).enumerate() {
            let factor = self.factors.get(k).unwrap_or(&self.factors[0]);
            for ((z, x), mean) in z.iter_mut().zip(&x).zip(&self.means[k]) {
                *z = x - mean;
            }
            solve_lower(factor, &mut z);
            *out = constant - 0.5 * dense::squared_norm(&z);
        }
    }
}

/// `z ← L⁻¹z`, with L lower triangular and stored row by row.
pub(crate) fn solve_lower(factor: &[f64], z: &mut [f64]) {
    let mut start = 0;
    for i in 0..z.len() {
        let row = &factor[start..=start + i];
        z[i] = (z[i] - dense::dot(&row[..i], z)) / row[i];
        start += i + 1;
    }
}

/// `z ← L⁻ᵀz`, with L lower triangular and stored row by row.
pub(crate) fn solve_upper(factor: &[f64], z: &mut [f64]) {
    let mut end = factor.len();
    for i in (0..z.len()).rev() {
        let row = &factor[end - (i + 1)..end];
        z[i] /= row[i];
        let value = z[i];
        dense::axpy(-value, &row[..i], z);
        end -= i + 1;
    }
}

fn above(row: Row<'_>, threshold: f64, weights: &[f64]) -> f64 {
    let mut sum = 0.0;
    row.for_each(|j, v| {
        if v > threshold && j < weights.len() {
            sum += weights[j];
        }
    });
    sum
}

/// Turns log joint densities into posterior probabilities, by the log-sum-exp rule: whatever the size of
/// the logarithms, the largest class gets a finite probability and the sum is 1.
pub fn normalize(scores: &mut [f64]) {
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut total = 0.0;
    for score in scores.iter_mut() {
        *score = (*score - largest).exp();
        total += *score;
    }
    scores.iter_mut().for_each(|score| *score /= total);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn posteriors_survive_any_size_of_the_logarithms() {
        let mut scores = [-1e6, -1e6 + 3f64.ln()];
        normalize(&mut scores);
        assert!((scores[0] - 0.25).abs() < 1e-9 && (scores[1] - 0.75).abs() < 1e-9);
        let mut far = [1e300, -1e300];
        normalize(&mut far);
        assert_eq!(far, [1.0, 0.0]);
    }

    #[test]
    fn triangular_solves_undo_the_products() {
        // L = [2 0 0; 1 3 0; 4 5 6], z = (1, 2, 3).
        let factor = [2.0, 1.0, 3.0, 4.0, 5.0, 6.0];
        let mut z = [2.0, 7.0, 32.0];
        solve_lower(&factor, &mut z);
        assert_eq!(z, [1.0, 2.0, 3.0]);
        let mut z = [16.0, 21.0, 18.0];
        solve_upper(&factor, &mut z);
        assert_eq!(z, [1.0, 2.0, 3.0]);
    }
}
