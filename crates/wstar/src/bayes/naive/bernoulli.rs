//! Independent yes/no features: whether xⱼ > threshold.
//!
//! With Nₖⱼ the weight of the rows of class k that say yes in column j, and Nₖ that of all its rows,
//! p(xⱼ = yes | k) = (Nₖⱼ + α) / (Nₖ + 2α): Lidstone's rule, Laplace's with α = 1. The scores are linear
//! in the indicators: wₖⱼ = ln p − ln(1 − p), bₖ = ln πₖ + Σⱼ ln(1 − p).

use serde::{Deserialize, Serialize};

use super::check_alpha;
use crate::bayes::sample::Sample;
use crate::bayes::score::{Linear, Scorer};
use crate::data::Dataset;
use crate::error::{Error, Result};

/// Counts of yes, and what smooths them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bernoulli {
    /// The weight of each class.
    pub totals: Vec<f64>,
    /// The weight of the rows of each class that say yes in each column.
    pub counts: Vec<Vec<f64>>,
    /// What is added to the count of yes and of no.
    pub alpha: f64,
    /// A value above it is a yes; not negative, so that an absent entry of a sparse row is a no.
    pub threshold: f64,
}

/// Counts the rows above the threshold for each class and column.
pub fn fit(data: &Dataset, alpha: f64, threshold: f64) -> Result<Bernoulli> {
    check_alpha(alpha)?;
    if !(threshold.is_finite() && threshold >= 0.0) {
        return Err(
            Error::settings(format!("a threshold of {threshold} is not usable")).hint("it must be 0 or more"),
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

/// The weight of the rows of each class that say yes in each column.
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
    /// p(xⱼ = yes | k).
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
            // Not as 1 − p, which would round to 0 where p is nearly 1.
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
