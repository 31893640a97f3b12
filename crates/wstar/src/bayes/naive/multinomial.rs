//! Rows of counts, such as words of a text: each row is a sequence of independent draws of columns.
//!
//! With Nₖⱼ the weighted sum of column j over class k and Nₖ = Σⱼ Nₖⱼ, the probability of column j is
//! θₖⱼ = (Nₖⱼ + α) / (Nₖ + αd). The scores are linear: wₖⱼ = ln θₖⱼ, bₖ = ln πₖ. The multinomial
//! coefficient of a row is the same for all classes and is left out.

use serde::{Deserialize, Serialize};

use super::check_alpha;
use crate::bayes::sample::Sample;
use crate::bayes::score::{Linear, Scorer};
use crate::data::Dataset;
use crate::error::{Error, Result};

/// Column sums, and what smooths them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Multinomial {
    /// The weight of each class.
    pub totals: Vec<f64>,
    /// The weighted sum of each column over each class.
    pub counts: Vec<Vec<f64>>,
    /// What is added to every sum.
    pub alpha: f64,
}

/// Sums the columns for each class; a negative value is refused with its row and column.
pub fn fit(data: &Dataset, alpha: f64) -> Result<Multinomial> {
    check_alpha(alpha)?;
    let sample = Sample::new(data)?;
    Ok(Multinomial {
        counts: counts(&sample)?,
        totals: sample.totals,
        alpha,
    })
}

/// The weighted sum of each column over each class.
pub(super) fn counts(sample: &Sample<'_>) -> Result<Vec<Vec<f64>>> {
    refuse_negative(sample.data)?;
    let features = sample.data.features();
    Ok(sample.sums(features, |sums, _, weight, row| row.add_to(weight, sums)))
}

fn refuse_negative(data: &Dataset) -> Result<()> {
    for (i, row) in data.design.iter().enumerate() {
        let mut negative = None;
        row.for_each(|j, v| {
            if v < 0.0 {
                negative.get_or_insert((j, v));
            }
        });
        if let Some((j, v)) = negative {
            return Err(Error::data(format!(
                "row {i}, column {}: {v} is negative, where multinomial naive Bayes needs counts",
                data.schema.feature_name(j)
            ))
            .hint("use Gaussian or Bernoulli naive Bayes, and do not standardise counts")
            .in_file(&data.source));
        }
    }
    Ok(())
}

impl Multinomial {
    /// θₖⱼ.
    pub fn probability(&self, k: usize, j: usize) -> f64 {
        let counts = &self.counts[k];
        (counts[j] + self.alpha) / (counts.iter().sum::<f64>() + self.alpha * counts.len() as f64)
    }

    /// The score functions.
    pub fn scorer(&self) -> Scorer {
        let all: f64 = self.totals.iter().sum();
        let weights = self
            .counts
            .iter()
            .map(|counts| {
                let whole = (counts.iter().sum::<f64>() + self.alpha * counts.len() as f64).ln();
                counts
                    .iter()
                    .map(|count| (count + self.alpha).ln() - whole)
                    .collect()
            })
            .collect();
        Scorer::Linear(Linear {
            weights,
            intercepts: self.totals.iter().map(|total| (total / all).ln()).collect(),
            threshold: None,
        })
    }
}
