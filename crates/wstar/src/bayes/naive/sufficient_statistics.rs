//! Naive Bayes on batches of rows, by sufficient statistics that are added from batch to batch.
//!
//! The sums determine the estimate and its likelihood, so both are those of all rows together, however the rows
//! were split into batches. Means and squared deviations of two batches are combined by the rule of T. F. Chan,
//! G. H. Golub and R. J. LeVeque (Updating formulae and a pairwise algorithm for computing sample variances,
//! COMPSTAT 1982), which avoids subtracting large sums.

use crate::bayes::naive::{Bernoulli, Multinomial, NaiveGaussian};
use crate::bayes::weighted_rows::Sample;
use crate::bayes::{DensitySettings, Estimate};
use wstar_data::Dataset;
use wstar_data::error::{Error, Result};

/// The sufficient statistics of each class.
#[derive(Debug, Clone, PartialEq)]
pub struct Tally {
    /// The weight of each class.
    pub totals: Vec<f64>,
    /// For each class and column: the weight of the rows above the threshold (Bernoulli), the sum (multinomial), or the
    /// mean (Gaussian).
    pub firsts: Vec<Vec<f64>>,
    /// Gaussian only: Σ c(x − mean)² for each class and column.
    pub squares: Option<Vec<Vec<f64>>>,
}

impl Tally {
    /// The sums of one batch, in which classes may be absent.
    pub fn of(data: &Dataset, settings: &DensitySettings) -> Result<Self> {
        let sample = Sample::partial(data)?;
        let features = data.features();
        Ok(match *settings {
            DensitySettings::NaiveGaussian { .. } => {
                let means = sample.means();
                let squares = sample.sums(features, |sums, k, weight, row| {
                    // Absent entries of a sparse row are zeros, which differ from the mean as well.
                    let row = row.to_dense(features);
                    for ((sum, value), mean) in sums.iter_mut().zip(row).zip(&means[k]) {
                        *sum += weight * (value - mean) * (value - mean);
                    }
                });
                Tally {
                    totals: sample.totals,
                    firsts: means,
                    squares: Some(squares),
                }
            }
            DensitySettings::NaiveBernoulli { threshold, .. } => Tally {
                firsts: crate::bayes::naive::bernoulli::counts(&sample, threshold),
                totals: sample.totals,
                squares: None,
            },
            DensitySettings::NaiveMultinomial { .. } => Tally {
                firsts: crate::bayes::naive::multinomial::counts(&sample)?,
                totals: sample.totals,
                squares: None,
            },
            _ => return Err(Error::settings("only naive Bayes learns from batches")),
        })
    }

    /// Adds the sums of another batch; an error if its classes or columns differ.
    pub fn add(&mut self, other: &Tally) -> Result<()> {
        let shape = |tally: &Tally| {
            let widths: Vec<usize> = tally.firsts.iter().map(Vec::len).collect();
            (tally.totals.len(), widths, tally.squares.is_some())
        };
        if shape(self) != shape(other) {
            return Err(Error::data("the earlier rows had other classes or columns"));
        }
        for (k, &added) in other.totals.iter().enumerate() {
            let before = self.totals[k];
            let total = before + added;
            let (own, others) = (&mut self.firsts[k], &other.firsts[k]);
            match (&mut self.squares, &other.squares) {
                (Some(squares), Some(other_squares)) if added > 0.0 => {
                    let cells = own.iter_mut().zip(others);
                    let squares = squares[k].iter_mut().zip(&other_squares[k]);
                    for ((mean, other_mean), (square, other_square)) in cells.zip(squares) {
                        let apart = other_mean - *mean;
                        // The first batch of a class sets the mean exactly, without rounding.
                        *mean = match before > 0.0 {
                            true => *mean + apart * (added / total),
                            false => *other_mean,
                        };
                        *square += other_square + apart * apart * (before * (added / total));
                    }
                }
                (Some(_), _) => {}
                _ => own.iter_mut().zip(others).for_each(|(sum, other)| *sum += other),
            }
            self.totals[k] = total;
        }
        Ok(())
    }

    /// The estimate from the sums; `None` if a class is absent or, for Gaussians, if a smoothed variance is 0.
    pub fn estimate(&self, settings: &DensitySettings) -> Option<Estimate> {
        if self.totals.iter().any(|&total| total <= 0.0) {
            return None;
        }
        let all: f64 = self.totals.iter().sum();
        let estimate = match (*settings, &self.squares) {
            (DensitySettings::NaiveGaussian { var_smoothing }, Some(squares)) => {
                let variances = squares.iter().zip(&self.totals);
                let naive = NaiveGaussian {
                    priors: self.totals.iter().map(|total| total / all).collect(),
                    means: self.firsts.clone(),
                    variances: variances
                        .map(|(squares, total)| squares.iter().map(|square| square / total).collect())
                        .collect(),
                    var_smoothing,
                };
                if naive.degenerate().is_some() {
                    return None;
                }
                Estimate::NaiveGaussian(naive)
            }
            (DensitySettings::NaiveBernoulli { alpha, threshold }, None) => {
                Estimate::NaiveBernoulli(Bernoulli {
                    totals: self.totals.clone(),
                    counts: self.firsts.clone(),
                    alpha,
                    threshold,
                })
            }
            (DensitySettings::NaiveMultinomial { alpha }, None) => Estimate::NaiveMultinomial(Multinomial {
                totals: self.totals.clone(),
                counts: self.firsts.clone(),
                alpha,
            }),
            _ => return None,
        };
        Some(estimate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bayes;
    use crate::certificate::maximum_likelihood::recompute;

    fn data() -> Dataset {
        let rows: Vec<Vec<f64>> = (0..40)
            .map(|i| vec![f64::from(i % 7), f64::from(i * i % 5), 1e6 + f64::from(i % 3)])
            .collect();
        let labels: Vec<&str> = (0..40).map(|i| if i < 25 { "a" } else { "b" }).collect();
        let mut data = Dataset::labelled(&rows, &labels).unwrap();
        let weights: Vec<f64> = (0..40).map(|i| f64::from(i % 4)).collect();
        data = data.with_weights(weights).unwrap();
        data
    }

    #[test]
    fn sums_of_batches_equal_the_sums_of_all_rows() {
        let data = data();
        for settings in [
            DensitySettings::NAIVE_GAUSSIAN,
            DensitySettings::NAIVE_BERNOULLI,
            DensitySettings::NAIVE_MULTINOMIAL,
        ] {
            // The first two batches contain only one class.
            let mut tally: Option<Tally> = None;
            for rows in [0..10, 10..20, 20..33, 33..40] {
                let batch = Tally::of(&data.select(&rows.collect::<Vec<_>>()), &settings).unwrap();
                tally = Some(match tally {
                    Some(mut tally) => {
                        tally.add(&batch).unwrap();
                        tally
                    }
                    None => {
                        assert!(batch.estimate(&settings).is_none());
                        batch
                    }
                });
            }
            let tally = tally.unwrap();
            let estimate = tally.estimate(&settings).unwrap();
            let found = recompute(&data, &estimate).unwrap();
            assert!(found.deviation < 1e-9, "{settings:?}: {found:?}");
            let whole = bayes::fit(&data, &settings).unwrap();
            let plain = recompute(&data, &whole).unwrap().log_likelihood;
            assert!((found.log_likelihood - plain).abs() < 1e-8 * plain.abs());
        }
    }

    #[test]
    fn sums_of_other_shapes_are_refused() {
        let data = data();
        let mut tally = Tally::of(&data, &DensitySettings::NAIVE_BERNOULLI).unwrap();
        let other = Tally::of(&data, &DensitySettings::NAIVE_GAUSSIAN).unwrap();
        assert!(tally.add(&other).is_err());
        assert!(Tally::of(&data, &DensitySettings::LDA).is_err());
    }
}
