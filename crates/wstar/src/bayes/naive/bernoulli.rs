//! Bernoulli naive Bayes: independent binary features xⱼ > threshold.
//!
//! Let Nₖⱼ be the weight of the rows of class k with xⱼ > threshold, and Nₖ the weight of all rows of class k. Then
//! p(xⱼ > threshold | k) = (Nₖⱼ + α) / (Nₖ + 2α): Lidstone's rule, which is Laplace's for α = 1. The scores are linear
//! in the indicators: wₖⱼ = ln p − ln(1 − p), bₖ = ln πₖ + Σⱼ ln(1 − p).

use serde::{Deserialize, Serialize};

use crate::bayes::naive::check_alpha;
use crate::bayes::weighted_rows::Sample;
use crate::scoring::{Linear, Scorer};
use wstar_data::Dataset;
use wstar_data::error::{Error, Result};

/// The estimated counts and the settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Bernoulli {
    /// The weight of each class.
    pub(crate) totals: Vec<f64>,
    /// The weight of the rows above the threshold, for each class and column.
    pub(crate) counts: Vec<Vec<f64>>,
    /// The pseudo-count added to the counts of both values.
    pub(crate) alpha: f64,
    /// The threshold; it is not negative, so that an absent entry of a sparse row is not above it.
    pub(crate) threshold: f64,
}

/// Counts the rows above the threshold for each class and column.
pub fn fit(data: &Dataset, alpha: f64, threshold: f64) -> Result<Bernoulli> {
    check_alpha(alpha)?;
    if !(threshold.is_finite() && threshold >= 0.0) {
        return Err(
            Error::settings(format!("a threshold of {threshold} is not usable"))
                .remedy("it must be 0 or more"),
        );
    }
    let sample = Sample::new(data)?;
    Ok(Bernoulli {
        counts: counts(&sample, threshold),
        totals: sample.totals,
        alpha,
        threshold,
    })
}

/// The weight of the rows above the threshold, for each class and column.
pub(super) fn counts(sample: &Sample<'_>, threshold: f64) -> Vec<Vec<f64>> {
    sample.sums(sample.data.features(), |sums, _, weight, row| {
        row.for_each(|j, v| {
            if v > threshold {
                sums[j] += weight;
            }
        });
    })
}

impl Bernoulli {
    /// p(xⱼ > threshold | k).
    pub fn probability(&self, k: usize, j: usize) -> f64 {
        (self.counts[k][j] + self.alpha) / (self.totals[k] + 2.0 * self.alpha)
    }

    /// The score functions.
    pub fn scorer(&self) -> Scorer {
        let all: f64 = self.totals.iter().sum();
        let mut weights = Vec::with_capacity(self.counts.len());
        let mut intercepts = Vec::with_capacity(self.counts.len());
        for (counts, total) in self.counts.iter().zip(&self.totals) {
            let whole = (total + 2.0 * self.alpha).ln();
            let yes = |count: &f64| (count + self.alpha).ln() - whole;
            // Computed without 1 − p, which would round to 0 for p close to 1.
            let no = |count: &f64| ((total - count).max(0.0) + self.alpha).ln() - whole;
            weights.push(counts.iter().map(|count| yes(count) - no(count)).collect());
            intercepts.push((total / all).ln() + counts.iter().map(no).sum::<f64>());
        }
        Scorer::Linear(Linear {
            weights,
            intercepts,
            threshold: Some(self.threshold),
        })
    }
}
