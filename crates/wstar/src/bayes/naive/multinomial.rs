//! Multinomial naive Bayes for rows of counts, such as word counts: each row is a sequence of independent draws
//! of columns.
//!
//! Let Nₖⱼ be the weighted sum of column j over class k, and Nₖ = Σⱼ Nₖⱼ. The probability of column j is
//! θₖⱼ = (Nₖⱼ + α) / (Nₖ + αd). The scores are linear: wₖⱼ = ln θₖⱼ, bₖ = ln πₖ. The multinomial
//! coefficient of a row is the same for all classes and is omitted.

use serde::{Deserialize, Serialize};

use crate::bayes::naive::check_alpha;
use crate::bayes::weighted_rows::Sample;
use crate::scoring::{Linear, Scorer};
use wstar_data::Dataset;
use wstar_data::error::{Error, Result};

/// The estimated column sums and the smoothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Multinomial {
    /// The weight of each class.
    pub(crate) totals: Vec<f64>,
    /// The weighted sum of each column over each class.
    pub(crate) counts: Vec<Vec<f64>>,
    /// The pseudo-count added to every sum.
    pub(crate) alpha: f64,
}

/// Sums the columns for each class. A negative value is an error that names its row and column.
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
    for (i, row) in data.design().iter().enumerate() {
        let mut negative = None;
        row.for_each(|j, v| {
            if v < 0.0 {
                negative.get_or_insert((j, v));
            }
        });
        if let Some((j, v)) = negative {
            return Err(Error::data(format!(
                "row {i}, column {}: {v} is negative, where multinomial naive Bayes needs counts",
                data.schema().feature_name(j)
            ))
            .remedy("use Gaussian or Bernoulli naive Bayes, and do not standardise counts")
            .in_file(data.source()));
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
