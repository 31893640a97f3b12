//! Independent Gaussian features: a mean and a variance for each class and column.
//!
//! Maximum likelihood, variances divided by nₖ. To every variance is then added `var_smoothing` times the
//! largest variance of a column over all rows, so that a column that does not vary within a class does
//! not give it an infinite density.

use serde::{Deserialize, Serialize};

use crate::bayes::sample::Sample;
use crate::bayes::score::{Diagonal, Scorer};
use crate::data::Dataset;
use crate::error::{Error, Result};

/// Estimated means and variances, before smoothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NaiveGaussian {
    /// The relative weight of each class.
    pub priors: Vec<f64>,
    /// The mean of each class in each column.
    pub means: Vec<Vec<f64>>,
    /// The variance of each class in each column.
    pub variances: Vec<Vec<f64>>,
    /// The smoothing, as a share of the largest variance of a column over all rows.
    pub var_smoothing: f64,
}

/// Estimates a Gaussian for each class and column.
pub fn fit(data: &Dataset, var_smoothing: f64) -> Result<NaiveGaussian> {
    if !(var_smoothing.is_finite() && var_smoothing >= 0.0) {
        return Err(
            Error::settings(format!("a variance smoothing of {var_smoothing} is not usable"))
                .hint("it must be finite and not negative; 1e-9 is the default"),
        );
    }
    let sample = Sample::new(data)?;
    let features = data.features();
    let means = sample.means();
    let variances = if data.design.is_sparse() {
        // Σ c(x − μ)² over the stored entries, and μ² for the weight of the rows that have none: with
        // nothing subtracted, nothing cancels. The third sum counts rows, so that a full column is known
        // to be full whatever its weights round to.
        let sums = sample.sums(3 * features, |sums, k, weight, row| {
            row.for_each(|j, v| {
                let from_mean = v - means[k][j];
                sums[3 * j] += weight * from_mean * from_mean;
                sums[3 * j + 1] += weight;
                sums[3 * j + 2] += 1.0;
            });
        });
        let rows = sample.rows_by_class();
        (0..means.len())
            .map(|k| {
                let (total, count) = (sample.totals[k], rows[k].len() as f64);
                sums[k]
                    .chunks_exact(3)
                    .zip(&means[k])
                    .map(|(sum, mean)| {
                        let absent = if sum[2] < count {
                            (total - sum[1]).max(0.0)
                        } else {
                            0.0
                        };
                        (sum[0] + absent * mean * mean) / total
                    })
                    .collect()
            })
            .collect()
    } else {
        let mut sums = sample.sums(features, |sums, k, weight, row| {
            let mean = &means[k];
            row.for_each(|j, v| sums[j] += weight * (v - mean[j]) * (v - mean[j]));
        });
        for (sums, total) in sums.iter_mut().zip(&sample.totals) {
            sums.iter_mut().for_each(|sum| *sum /= total);
        }
        sums
    };
    let estimate = NaiveGaussian {
        priors: sample.priors(),
        means,
        variances,
        var_smoothing,
    };
    if let Some((k, j)) = estimate.degenerate() {
        return Err(Error::data(format!(
            "column {} does not vary in class {}: its variance is 0",
            data.schema.feature_name(j),
            sample.shown(k)
        ))
        .hint("drop columns that never vary, or use a positive --var-smoothing")
        .in_file(&data.source));
    }
    Ok(estimate)
}

impl NaiveGaussian {
    /// What is added to every variance: `var_smoothing` times the largest variance of a column over all
    /// rows, which is its variance within classes plus that of the class means.
    pub fn floor(&self) -> f64 {
        let features = self.means.first().map_or(0, Vec::len);
        let largest = (0..features)
            .map(|j| {
                let parts = || self.priors.iter().zip(&self.means).zip(&self.variances);
                let centre: f64 = parts().map(|((p, mean), _)| p * mean[j]).sum();
                parts()
                    .map(|((p, mean), variance)| p * (variance[j] + (mean[j] - centre) * (mean[j] - centre)))
                    .sum()
            })
            .fold(0.0, f64::max);
        self.var_smoothing * largest
    }

    /// The score functions.
    pub fn scorer(&self) -> Scorer {
        let floor = self.floor();
        let smoothed: Vec<Vec<f64>> = self
            .variances
            .iter()
            .map(|row| row.iter().map(|v| v + floor).collect())
            .collect();
        Scorer::Diagonal(Diagonal::new(&self.priors, &self.means, &smoothed))
    }

    /// A class and a column whose variance stays 0 (or too small to divide by) after smoothing.
    pub(crate) fn degenerate(&self) -> Option<(usize, usize)> {
        let floor = self.floor();
        self.variances.iter().enumerate().find_map(|(k, row)| {
            let small = |v: &f64| !(v + floor).is_normal() || !(0.5 / (v + floor)).is_finite();
            row.iter().position(small).map(|j| (k, j))
        })
    }
}
