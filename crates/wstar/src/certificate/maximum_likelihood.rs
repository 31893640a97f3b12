//! Verifies estimated densities. Maximum-likelihood estimates have a closed form, so a model is verified by computing
//! the definitions again, directly and row by row, and comparing the parameters.

use rayon::prelude::*;

use crate::bayes::{Bernoulli, Estimate, Gaussian, Multinomial, NaiveGaussian};
use crate::scoring::Scorer;
use wstar_data::Dataset;
use wstar_data::error::{Error, Result};
use wstar_numeric::double_double::Compensated;

/// Columns of a covariance recomputed per task. Heuristic: parallelism against rereading the rows; not measured yet.
const BAND: usize = 32;

/// The smallest relative standard deviation that is resolved. A standard deviation below this fraction of the mean is
/// mostly rounding error, so its parameters are compared relative to this fraction of the mean instead.
/// Heuristic: trades sensitivity on nearly constant columns against false alarms; not measured yet.
const ROUNDING: f64 = 1e-8;

/// The result of the verification.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agreement {
    /// The largest relative difference of any parameter from its definition. Means are compared relative
    /// to their magnitude or the standard deviation, whichever is larger; covariances relative to the product
    /// of the two standard deviations.
    pub deviation: f64,
    /// The log-likelihood of the data, Σ c ln p(x, k). For counts it omits the multinomial coefficients,
    /// which do not depend on the parameters.
    pub log_likelihood: f64,
}

/// Recomputes every parameter of an estimate from the data. Smallest enclosing balls are not a maximum-likelihood
/// estimate; for those, see [`crate::bayes::minimax::verify`].
pub fn recompute(data: &Dataset, estimate: &Estimate) -> Result<Agreement> {
    let (codes, classes) = data.require_classes()?;
    estimate
        .check(data.features(), classes.len())
        .map_err(|error| error.in_file(data.source()))?;
    let mut totals = vec![0.0; classes.len()];
    for (i, &code) in codes.iter().enumerate() {
        totals[code as usize] += data.weight(i);
    }
    let given = Given { data, codes, totals };
    let deviation = match estimate {
        Estimate::Gaussian(gaussian) => given.gaussian(gaussian),
        Estimate::NaiveGaussian(naive) => given.naive_gaussian(naive),
        Estimate::NaiveBernoulli(bernoulli) => given.bernoulli(bernoulli),
        Estimate::NaiveMultinomial(multinomial) => given.multinomial(multinomial),
        Estimate::Minimax(_) => {
            return Err(Error::model(
                "smallest enclosing balls have no likelihood to recompute",
            ));
        }
    };
    let scorer = match estimate {
        // The linear scores omit terms that the classes share; the likelihood needs every term.
        Estimate::Gaussian(gaussian) => Scorer::Quadratic(gaussian.densities()?),
        other => other.scorer()?,
    };
    Ok(Agreement {
        deviation,
        log_likelihood: given.log_likelihood(&scorer),
    })
}

struct Given<'a> {
    data: &'a Dataset,
    codes: &'a [u32],
    totals: Vec<f64>,
}

impl Given<'_> {
    fn log_likelihood(&self, scorer: &Scorer) -> f64 {
        let mut sum = Compensated::default();
        for (k, rows) in self.rows_by_class().iter().enumerate() {
            let scores = scorer.log_joints_of(self.data.design(), rows, k);
            for (&i, score) in rows.iter().zip(scores) {
                sum.add(self.data.weight(i) * score);
            }
        }
        sum.value()
    }

    /// Σ c f(x) for each class and column, by compensated summation in the order of the rows.
    fn column_sums(&self, term: impl Fn(usize, usize, f64) -> f64) -> Vec<Vec<f64>> {
        let mut sums = vec![vec![Compensated::default(); self.data.features()]; self.totals.len()];
        for (i, (row, &code)) in self.data.design().iter().zip(self.codes).enumerate() {
            let weight = self.data.weight(i);
            let k = code as usize;
            row.for_each(|j, v| sums[k][j].add(weight * term(k, j, v)));
        }
        let values = |row: Vec<Compensated>| row.iter().map(|sum| sum.value()).collect();
        sums.into_iter().map(values).collect()
    }

    fn means(&self) -> Vec<Vec<f64>> {
        let mut means = self.column_sums(|_, _, v| v);
        for (means, total) in means.iter_mut().zip(&self.totals) {
            means.iter_mut().for_each(|mean| *mean /= total);
        }
        means
    }

    fn priors(&self, claimed: &[f64]) -> f64 {
        let all: f64 = self.totals.iter().sum();
        let pairs = claimed.iter().zip(&self.totals);
        pairs
            .map(|(p, total)| relative(*p, total / all, 0.0))
            .fold(0.0, worse)
    }

    fn gaussian(&self, claimed: &Gaussian) -> f64 {
        let means = self.means();
        let covariances = self.covariances(&means, claimed.shared);
        let mut worst = self.priors(&claimed.priors);
        for (k, covariance) in covariances.iter().enumerate() {
            let deviations: Vec<f64> = (0..means[0].len())
                .map(|j| {
                    let size = means.iter().fold(0.0f64, |size, mean| size.max(mean[j].abs()));
                    covariance[j][j].sqrt().max(ROUNDING * size)
                })
                .collect();
            let mut entries = claimed.covariances[k].iter();
            for (i, row) in covariance.iter().enumerate() {
                for (j, (value, claim)) in row[..=i].iter().zip(&mut entries).enumerate() {
                    worst = worse(worst, relative(*claim, *value, deviations[i] * deviations[j]));
                }
            }
            let of_these = if claimed.shared { 0..means.len() } else { k..k + 1 };
            for k in of_these {
                for (j, (claim, mean)) in claimed.means[k].iter().zip(&means[k]).enumerate() {
                    worst = worse(worst, relative(*claim, *mean, deviations[j]));
                }
            }
        }
        worst
    }

    /// Covariances about the class means, one band of rows of the matrix at a time. Four data rows are
    /// added at once, which takes a quarter of the memory traffic.
    fn covariances(&self, means: &[Vec<f64>], shared: bool) -> Vec<Vec<Vec<f64>>> {
        let features = self.data.features();
        let rows = self.rows_by_class();
        let count = if shared { 1 } else { means.len() };
        let all: f64 = self.totals.iter().sum();
        (0..count)
            .map(|matrix| {
                let (total, members) = if shared {
                    (all, 0..means.len())
                } else {
                    (self.totals[matrix], matrix..matrix + 1)
                };
                let bands: Vec<Vec<Vec<f64>>> = (0..features.div_ceil(BAND))
                    .into_par_iter()
                    .map(|band| {
                        let columns = band * BAND..((band + 1) * BAND).min(features);
                        let mut sums = vec![vec![0.0; columns.end]; columns.len()];
                        for k in members.clone() {
                            for four in rows[k].chunks(4) {
                                let mut x: [Vec<f64>; 4] = Default::default();
                                let mut weights = [0.0; 4];
                                for (at, x) in x.iter_mut().enumerate() {
                                    *x = vec![0.0; features];
                                    if let Some(&i) = four.get(at) {
                                        x.iter_mut().zip(&means[k]).for_each(|(x, mean)| *x = -mean);
                                        self.data.design().row(i).add_to(1.0, x);
                                        weights[at] = self.data.weight(i);
                                    }
                                }
                                let [x0, x1, x2, x3] = &x;
                                for (sum, j) in sums.iter_mut().zip(columns.clone()) {
                                    let [a, b, c, d] = [0, 1, 2, 3].map(|at| weights[at] * x[at][j]);
                                    let quads = sum.iter_mut().zip(x0).zip(x1).zip(x2).zip(x3);
                                    for ((((sum, x0), x1), x2), x3) in quads {
                                        *sum += (a * x0 + b * x1) + (c * x2 + d * x3);
                                    }
                                }
                            }
                        }
                        sums.iter_mut().flatten().for_each(|sum| *sum /= total);
                        sums
                    })
                    .collect();
                bands.concat()
            })
            .collect()
    }

    fn rows_by_class(&self) -> Vec<Vec<usize>> {
        let mut rows = vec![Vec::new(); self.totals.len()];
        for (i, &code) in self.codes.iter().enumerate() {
            rows[code as usize].push(i);
        }
        rows
    }

    fn naive_gaussian(&self, claimed: &NaiveGaussian) -> f64 {
        let features = self.data.features();
        let means = self.means();
        let mut sums = vec![vec![Compensated::default(); features]; means.len()];
        let mut x = vec![0.0; features];
        for (i, (row, &code)) in self.data.design().iter().zip(self.codes).enumerate() {
            let (k, weight) = (code as usize, self.data.weight(i));
            x.iter_mut().zip(&means[k]).for_each(|(x, mean)| *x = -mean);
            row.add_to(1.0, &mut x);
            sums[k]
                .iter_mut()
                .zip(&x)
                .for_each(|(sum, x)| sum.add(weight * x * x));
        }
        let mut worst = self.priors(&claimed.priors);
        for (k, sums) in sums.iter().enumerate() {
            for (j, sum) in sums.iter().enumerate() {
                let variance = sum.value() / self.totals[k];
                let deviation = variance.sqrt().max(ROUNDING * means[k][j].abs());
                let squared = deviation * deviation;
                worst = worse(worst, relative(claimed.variances[k][j], variance, squared));
                worst = worse(worst, relative(claimed.means[k][j], means[k][j], deviation));
            }
        }
        worst
    }

    fn counts(&self, totals: &[f64], claimed: &[Vec<f64>], counts: &[Vec<f64>]) -> f64 {
        let cells = claimed.iter().flatten().zip(counts.iter().flatten());
        let totals = totals.iter().zip(&self.totals);
        cells
            .chain(totals)
            .map(|(a, b)| relative(*a, *b, 0.0))
            .fold(0.0, worse)
    }

    fn bernoulli(&self, claimed: &Bernoulli) -> f64 {
        let yes = self.column_sums(|_, _, v| f64::from(u8::from(v > claimed.threshold)));
        self.counts(&claimed.totals, &claimed.counts, &yes)
    }

    fn multinomial(&self, claimed: &Multinomial) -> f64 {
        self.counts(&claimed.totals, &claimed.counts, &self.column_sums(|_, _, v| v))
    }
}

/// `|a − b|` relative to the larger of `|b|` and a scale; 0 for equal values of any magnitude.
fn relative(a: f64, b: f64, scale: f64) -> f64 {
    if a == b {
        0.0
    } else {
        (a - b).abs() / b.abs().max(scale)
    }
}

/// The larger of two deviations; infinite if either is NaN.
fn worse(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::INFINITY
    } else {
        a.max(b)
    }
}
