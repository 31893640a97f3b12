//! Gaussian naive Bayes: independent Gaussian features, with a mean and a variance for each class and column.
//!
//! The estimates are maximum likelihood, with variances divided by nₖ. Then `var_smoothing` times the
//! largest variance of a column over all rows is added to every variance, so that a column that is constant
//! within a class does not give it an infinite density.

use serde::{Deserialize, Serialize};
use wstar_data::error::Remedy;
use wstar_data::setting::Setting;

use crate::bayes::weighted_rows::Sample;
use crate::scoring::{Diagonal, Scorer};
use wstar_data::Dataset;
use wstar_data::error::{Error, Range, Result};

/// Estimated means and variances, before smoothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NaiveGaussian {
    /// The relative weight of each class.
    pub(crate) priors: Vec<f64>,
    /// The mean of each class in each column.
    pub means: Vec<Vec<f64>>,
    /// The variance of each class in each column.
    pub variances: Vec<Vec<f64>>,
    /// The smoothing, as a fraction of the largest variance of a column over all rows.
    pub(crate) var_smoothing: f64,
}

/// Estimates a Gaussian for each class and column.
pub fn fit(data: &Dataset, var_smoothing: f64) -> Result<NaiveGaussian> {
    if !(var_smoothing.is_finite() && var_smoothing >= 0.0) {
        return Err(
            Error::out_of_range(Setting::Smoothing, Range::AtLeast(0.0), var_smoothing)
                .remedy(Setting::Smoothing.to("1e-9")),
        );
    }
    let sample = Sample::new(data)?;
    let features = data.features();
    let means = sample.means();
    let variances = if data.design().is_sparse() {
        // The sum of c(x − μ)² over the stored entries, plus μ² times the weight of the rows without an entry.
        // All terms are non-negative, so nothing cancels. The third sum counts rows, so that a column without absent
        // entries is recognised whatever the rounding of its weights.
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
            data.schema().feature_name(j),
            sample.shown(k)
        ))
        .remedy(Remedy::Either(vec![
            "drop columns that never vary".into(),
            Setting::Smoothing.to("1e-9").into(),
        ]))
        .in_file(data.source()));
    }
    Ok(estimate)
}

impl NaiveGaussian {
    /// The amount added to every variance: `var_smoothing` times the largest variance of a column over all
    /// rows, which is the variance within classes plus the variance of the class means.
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

    /// A class and a column whose variance is 0, or too small to divide by, after smoothing.
    pub(crate) fn degenerate(&self) -> Option<(usize, usize)> {
        let floor = self.floor();
        self.variances.iter().enumerate().find_map(|(k, row)| {
            let small = |v: &f64| !(v + floor).is_normal() || !(0.5 / (v + floor)).is_finite();
            row.iter().position(small).map(|j| (k, j))
        })
    }
}
