//! Gaussian score functions: the logarithm of a class's density and prior, with full or diagonal covariances.

use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{MatMut, MatRef, Par};

use wstar_data::Row;
use wstar_numeric::dense;

/// One Gaussian per class: constant − ½‖L⁻¹(x − μ)‖², with LLᵀ the covariance.
#[derive(Debug, Clone, PartialEq)]
pub struct Quadratic {
    pub(crate) constants: Vec<f64>,
    pub(crate) means: Vec<Vec<f64>>,
    /// Cholesky factors in column-major order: one for each class, or a single one for all classes.
    pub(crate) factors: Vec<Vec<f64>>,
}

/// One Gaussian of independent features per class: constant − ½ Σ (xⱼ − μⱼ)² / σⱼ².
#[derive(Debug, Clone, PartialEq)]
pub struct Diagonal {
    pub(super) constants: Vec<f64>,
    pub(super) means: Vec<Vec<f64>>,
    /// 1 / (2σ²).
    halves: Vec<Vec<f64>>,
    /// The score at x = 0; the score of a sparse row differs from it only by terms of its entries.
    at_zero: Vec<f64>,
}

impl Diagonal {
    /// Creates the scorer from the prior, the means and the variances of each class.
    pub fn new(priors: &[f64], means: &[Vec<f64>], variances: &[Vec<f64>]) -> Self {
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

    pub(super) fn score(&self, row: Row<'_>, k: usize) -> f64 {
        let (means, halves) = (&self.means[k], &self.halves[k]);
        let features = means.len();
        let mut sum = 0.0;
        if row.is_sparse() {
            row.for_each(|j, v| {
                if j < features {
                    sum += v * (2.0 * means[j] - v) * halves[j];
                }
            });
            return self.at_zero[k] + sum;
        }
        match row {
            Row::Dense64(x) => return self.constants[k] - squares(x, means, halves),
            Row::Dense32(x) => return self.constants[k] - squares(x, means, halves),
            _ => row.for_each(|j, v| {
                if j < features {
                    sum -= (v - means[j]) * (v - means[j]) * halves[j];
                }
            }),
        }
        self.constants[k] + sum
    }
}

/// Σ (xⱼ − μⱼ)² hⱼ, summed in independent lanes that the compiler can vectorise.
fn squares<T: Copy + Into<f64>>(x: &[T], means: &[f64], halves: &[f64]) -> f64 {
    /// Independent partial sums. Heuristic: trades vector width against work on short rows; not measured yet.
    const LANES: usize = 4;
    let features = x.len().min(means.len()).min(halves.len());
    let mut lanes = [0.0; LANES];
    for start in (0..features).step_by(LANES) {
        let end = features.min(start + LANES);
        let (x, means, halves) = (&x[start..end], &means[start..end], &halves[start..end]);
        for (((lane, &x), mean), half) in lanes.iter_mut().zip(x).zip(means).zip(halves) {
            let from_mean = x.into() - mean;
            *lane += from_mean * from_mean * half;
        }
    }
    (lanes[0] + lanes[2]) + (lanes[1] + lanes[3])
}

impl Quadratic {
    /// The scores of the given rows for class `k`, by one triangular solve.
    pub(super) fn block(&self, rows: &[Row<'_>], k: usize) -> Vec<f64> {
        let mean = &self.means[k];
        let features = mean.len();
        let mut z = vec![0.0; features * rows.len()];
        for (row, z) in rows.iter().zip(z.chunks_mut(features)) {
            row.for_each(|j, v| {
                if let Some(z) = z.get_mut(j) {
                    *z = v;
                }
            });
            z.iter_mut().zip(mean).for_each(|(z, mean)| *z -= mean);
        }
        let factor = &self.factors[if self.factors.len() > 1 { k } else { 0 }];
        solve_lower_triangular_in_place(
            MatRef::from_column_major_slice(factor, features, features),
            MatMut::from_column_major_slice_mut(&mut z, features, rows.len()),
            Par::Seq,
        );
        z.chunks(features)
            .map(|z| self.constants[k] - 0.5 * dense::squared_norm(z))
            .collect()
    }
}
