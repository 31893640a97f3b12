//! Learning as parameter estimation: densities p(x, k) are estimated from the training set, and rows are
//! then decided as if the estimate were the truth, by the decision of least expected loss.
//!
//! ```text
//! Dataset ──fit(Settings)──▶ Estimate (what is stored) ──scorer()──▶ Scorer ──▶ log joint, posterior
//!                                                       Penalties::decide ◀──────────────┘
//! ```

mod decision;
pub mod gaussian;
pub mod minimax;
pub mod naive;
pub(crate) mod sample;
mod score;

pub use decision::{Penalties, Strategy, bayes_strategy};
pub use gaussian::Gaussian;
pub use minimax::{Ball, Minimax};
pub use naive::{Bernoulli, Multinomial, NaiveGaussian};
pub use score::{Diagonal, Linear, Quadratic, Scorer, normalize};

use serde::{Deserialize, Serialize};

use crate::data::Dataset;
use crate::error::{Error, Result};

/// Which density is estimated, and how.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "family")]
pub enum Settings {
    /// A Gaussian with its own covariance for each class: quadratic boundaries.
    Gaussian {
        /// From 0 to 1; see [`gaussian`].
        shrinkage: f64,
    },
    /// Gaussians that share one covariance: linear boundaries.
    Lda {
        /// From 0 to 1; see [`gaussian`].
        shrinkage: f64,
    },
    /// Independent Gaussian features.
    NaiveGaussian {
        /// The share of the largest variance that is added to every variance; 1e-9 by default.
        var_smoothing: f64,
    },
    /// Independent yes/no features.
    NaiveBernoulli {
        /// Added to every count; 1 by default.
        alpha: f64,
        /// A value above it is a yes; 0 by default.
        threshold: f64,
    },
    /// Rows of counts.
    NaiveMultinomial {
        /// Added to every count; 1 by default.
        alpha: f64,
    },
    /// The smallest ball around the prototypes of each class.
    Minimax,
}

impl Settings {
    /// A covariance for each class, no shrinkage.
    pub const GAUSSIAN: Settings = Settings::Gaussian { shrinkage: 0.0 };
    /// A shared covariance, no shrinkage.
    pub const LDA: Settings = Settings::Lda { shrinkage: 0.0 };
    /// Gaussian naive Bayes with its default smoothing.
    pub const NAIVE_GAUSSIAN: Settings = Settings::NaiveGaussian { var_smoothing: 1e-9 };
    /// Bernoulli naive Bayes with Laplace's smoothing, yes above 0.
    pub const NAIVE_BERNOULLI: Settings = Settings::NaiveBernoulli {
        alpha: 1.0,
        threshold: 0.0,
    };
    /// Multinomial naive Bayes with Laplace's smoothing.
    pub const NAIVE_MULTINOMIAL: Settings = Settings::NaiveMultinomial { alpha: 1.0 };
}

/// What was estimated: all that prediction and re-checking need.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "density")]
pub enum Estimate {
    /// Gaussians with full covariances, shared or not.
    Gaussian(Gaussian),
    /// Independent Gaussian features.
    NaiveGaussian(NaiveGaussian),
    /// Independent yes/no features.
    NaiveBernoulli(Bernoulli),
    /// Rows of counts.
    NaiveMultinomial(Multinomial),
    /// Smallest enclosing balls.
    Minimax(Minimax),
}

/// Estimates the densities of the classes.
///
/// ```
/// use wstar::bayes::{self, Settings};
/// use wstar::data::Dataset;
/// let rows = [[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [9.0, 9.0], [7.0, 9.0], [9.0, 7.0]].map(Vec::from);
/// let data = Dataset::labelled(&rows, &["a", "a", "a", "b", "b", "b"]).unwrap();
/// let scorer = bayes::fit(&data, &Settings::LDA).unwrap().scorer().unwrap();
/// let mut posterior = [0.0; 2];
/// scorer.posterior(data.design.row(0), &mut posterior);
/// assert!(posterior[0] > 0.99);
/// ```
pub fn fit(data: &Dataset, settings: &Settings) -> Result<Estimate> {
    Ok(match *settings {
        Settings::Gaussian { shrinkage } => Estimate::Gaussian(gaussian::fit(data, false, shrinkage)?),
        Settings::Lda { shrinkage } => Estimate::Gaussian(gaussian::fit(data, true, shrinkage)?),
        Settings::NaiveGaussian { var_smoothing } => {
            Estimate::NaiveGaussian(naive::fit_gaussian(data, var_smoothing)?)
        }
        Settings::NaiveBernoulli { alpha, threshold } => {
            Estimate::NaiveBernoulli(naive::fit_bernoulli(data, alpha, threshold)?)
        }
        Settings::NaiveMultinomial { alpha } => {
            Estimate::NaiveMultinomial(naive::fit_multinomial(data, alpha)?)
        }
        Settings::Minimax => Estimate::Minimax(minimax::fit(data)?),
    })
}

impl Estimate {
    /// The score functions of the classes. Call [`Estimate::check`] first on an estimate that was read
    /// from a file.
    pub fn scorer(&self) -> Result<Scorer> {
        Ok(match self {
            Estimate::Gaussian(gaussian) => gaussian.scorer()?,
            Estimate::NaiveGaussian(naive) => naive.scorer(),
            Estimate::NaiveBernoulli(bernoulli) => bernoulli.scorer(),
            Estimate::NaiveMultinomial(multinomial) => multinomial.scorer(),
            Estimate::Minimax(minimax) => minimax.scorer(),
        })
    }

    /// The settings that made it.
    pub fn settings(&self) -> Settings {
        match self {
            Estimate::Gaussian(Gaussian {
                shared, shrinkage, ..
            }) => match *shared {
                true => Settings::Lda {
                    shrinkage: *shrinkage,
                },
                false => Settings::Gaussian {
                    shrinkage: *shrinkage,
                },
            },
            Estimate::NaiveGaussian(NaiveGaussian { var_smoothing, .. }) => Settings::NaiveGaussian {
                var_smoothing: *var_smoothing,
            },
            Estimate::NaiveBernoulli(Bernoulli { alpha, threshold, .. }) => Settings::NaiveBernoulli {
                alpha: *alpha,
                threshold: *threshold,
            },
            Estimate::NaiveMultinomial(Multinomial { alpha, .. }) => {
                Settings::NaiveMultinomial { alpha: *alpha }
            }
            Estimate::Minimax(_) => Settings::Minimax,
        }
    }

    /// Refuses an estimate whose parts do not fit each other or the number of features and classes, or
    /// hold what no fit gives: what must be asked before an estimate from a file is used.
    pub fn check(&self, features: usize, classes: usize) -> Result<()> {
        let whole = match self {
            Estimate::Gaussian(g) => {
                let covariances = if g.shared { 1 } else { classes };
                distribution(&g.priors, classes)
                    && (0.0..=1.0).contains(&g.shrinkage)
                    && table(&g.means, classes, features, f64::is_finite)
                    && table(
                        &g.covariances,
                        covariances,
                        gaussian::triangle(features),
                        f64::is_finite,
                    )
                    && g.densities().is_ok()
            }
            Estimate::NaiveGaussian(naive) => {
                distribution(&naive.priors, classes)
                    && not_negative(naive.var_smoothing)
                    && table(&naive.means, classes, features, f64::is_finite)
                    && table(&naive.variances, classes, features, not_negative)
                    && naive.degenerate().is_none()
            }
            Estimate::NaiveBernoulli(bernoulli) => {
                not_negative(bernoulli.threshold)
                    && counted(
                        &bernoulli.totals,
                        &bernoulli.counts,
                        bernoulli.alpha,
                        classes,
                        features,
                    )
            }
            Estimate::NaiveMultinomial(multinomial) => counted(
                &multinomial.totals,
                &multinomial.counts,
                multinomial.alpha,
                classes,
                features,
            ),
            Estimate::Minimax(minimax) => {
                minimax.balls.len() == classes && minimax.balls.iter().all(|ball| ball.is_whole(features))
            }
        };
        if whole && features > 0 && classes > 1 {
            return Ok(());
        }
        Err(Error::model(format!(
            "the estimated densities are damaged, or not for {features} features and {classes} classes"
        )))
    }
}

fn not_negative(value: f64) -> bool {
    value.is_finite() && value >= 0.0
}

fn distribution(priors: &[f64], classes: usize) -> bool {
    priors.len() == classes
        && priors.iter().all(|p| *p > 0.0 && *p <= 1.0)
        && (priors.iter().sum::<f64>() - 1.0).abs() < 1e-6
}

fn table(rows: &[Vec<f64>], height: usize, width: usize, good: impl Fn(f64) -> bool) -> bool {
    rows.len() == height
        && rows
            .iter()
            .all(|row| row.len() == width && row.iter().all(|&value| good(value)))
}

fn counted(totals: &[f64], counts: &[Vec<f64>], alpha: f64, classes: usize, features: usize) -> bool {
    totals.len() == classes
        && totals.iter().all(|&total| total.is_finite() && total > 0.0)
        && alpha.is_finite()
        && alpha > 0.0
        && table(counts, classes, features, not_negative)
}
