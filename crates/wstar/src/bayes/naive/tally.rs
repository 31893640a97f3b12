//! Naive Bayes learnt a batch of rows at a time: sums to which every batch adds its own.
//!
//! The sums determine the estimate and its likelihood, so that both are those of all rows together, in whatever batches they
//! came. Means and squared deviations of two batches are put together by Chan, Golub and LeVeque's rule (COMPSTAT 1982),
//! which subtracts no large sums from each other.

use crate::bayes::naive::{Bernoulli, Multinomial, NaiveGaussian};
use crate::bayes::sample::Sample;
use crate::bayes::{Estimate, Settings};
use crate::data::Dataset;
use crate::error::{Error, Result};

/// Sums over the rows of each class.
#[derive(Debug, Clone, PartialEq)]
pub struct Tally {
    /// The weight of each class.
    pub totals: Vec<f64>,
    /// For each class and column the weight of the rows that say yes, the sum, or (Gaussians) the mean.
    pub firsts: Vec<Vec<f64>>,
    /// Gaussians: Σ c(x − mean)² for each class and column.
    pub squares: Option<Vec<Vec<f64>>>,
}

impl Tally {
    /// The sums of one batch, in which classes may be missing.
    pub fn of(data: &Dataset, settings: &Settings) -> Result<Self> {
        let sample = Sample::partial(data)?;
        let features = data.features();
        Ok(match *settings {
            Settings::NaiveGaussian { .. } => {
                let means = sample.means();
                let squares = sample.sums(features, |sums, k, weight, row| {
                    // An absent entry of a sparse row is a 0, and differs from the mean like any other.
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
            Settings::NaiveBernoulli { threshold, .. } => Tally {
                firsts: super::bernoulli::counts(&sample, threshold),
                totals: sample.totals,
                squares: None,
            },
            Settings::NaiveMultinomial { .. } => Tally {
                firsts: super::multinomial::counts(&sample)?,
                totals: sample.totals,
                squares: None,
            },
            _ => return Err(Error::settings("only naive Bayes learns from batches")),
        })
    }

    /// Adds the sums of other rows; an error if they are of other classes or columns.
    pub fn add(&mut self, other: &Tally) -> Result<()> {
        let shape = |tally: &Tally| {
            let widths: Vec<usize> = tally.firsts.iter().map(Vec::len).collect();
            (tally.totals.len(), widths, tally.squares.is_some())
        };
        if shape(self) != shape(other) {
            return Err(Error::data("the rows before were of other classes or columns"));
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
                        // The first rows of a class keep their mean to the last bit.
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

    /// The estimate that the sums stand for; none if a class has not been seen, or (Gaussians) never varies.
    pub fn estimate(&self, settings: &Settings) -> Option<Estimate> {
        if self.totals.iter().any(|&total| total <= 0.0) {
            return None;
        }
        let all: f64 = self.totals.iter().sum();
        let estimate = match (*settings, &self.squares) {
            (Settings::NaiveGaussian { var_smoothing }, Some(squares)) => {
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
            (Settings::NaiveBernoulli { alpha, threshold }, None) => Estimate::NaiveBernoulli(Bernoulli {
                totals: self.totals.clone(),
                counts: self.firsts.clone(),
                alpha,
                threshold,
            }),
            (Settings::NaiveMultinomial { alpha }, None) => Estimate::NaiveMultinomial(Multinomial {
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
    use crate::certify::likelihood::recompute;

    fn data() -> Dataset {
        let rows: Vec<Vec<f64>> = (0..40)
            .map(|i| vec![f64::from(i % 7), f64::from(i * i % 5), 1e6 + f64::from(i % 3)])
            .collect();
        let labels: Vec<&str> = (0..40).map(|i| if i < 25 { "a" } else { "b" }).collect();
        let mut data = Dataset::labelled(&rows, &labels).unwrap();
        data.weights = Some((0..40).map(|i| f64::from(i % 4)).collect());
        data
    }

    #[test]
    fn batches_add_up_to_the_whole() {
        let data = data();
        for settings in [
            Settings::NAIVE_GAUSSIAN,
            Settings::NAIVE_BERNOULLI,
            Settings::NAIVE_MULTINOMIAL,
        ] {
            // The first two batches hold one class only.
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
        let mut tally = Tally::of(&data, &Settings::NAIVE_BERNOULLI).unwrap();
        let other = Tally::of(&data, &Settings::NAIVE_GAUSSIAN).unwrap();
        assert!(tally.add(&other).is_err());
        assert!(Tally::of(&data, &Settings::LDA).is_err());
    }
}
