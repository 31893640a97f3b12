//! Bayesian decision rules: class densities p(x, k) are estimated from the training set, and each row gets the
//! decision of least expected loss, as if the estimate were exact.
//!
//! ```text
//! Dataset ──fit──▶ Estimate (what is stored) ──scorer()──▶ Scorer ──▶ log joint, posterior
//!                                                       Penalties::decide ◀──────────────┘
//! ```
//!
//! - [`class_gaussians`]: Gaussians with full covariances, shared or not.
//! - [`naive`]: naive Bayes with Gaussian, Bernoulli or multinomial features.
//! - [`minimax`]: smallest enclosing balls of prototypes.
//! - `decision`: the decision of least expected loss.
//! - `weighted_rows`: the weighted training sample, and sums over its rows.

pub mod class_gaussians;
mod decision;
pub mod minimax;
pub mod naive;
pub(crate) mod weighted_rows;

use crate::scoring::Scorer;
pub use class_gaussians::Gaussian;
pub use decision::{Penalties, Strategy, bayes_strategy};
pub use minimax::{Ball, Minimax};
pub use naive::{Bernoulli, Multinomial, NaiveGaussian};

use serde::{Deserialize, Serialize};

use wstar_data::Dataset;
use wstar_data::error::{Error, Result};

/// The density family and its settings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "family")]
#[non_exhaustive]
pub enum DensitySettings {
    /// A Gaussian with its own covariance for each class: quadratic boundaries.
    Gaussian {
        /// Covariance shrinkage, from 0 to 1; see [`class_gaussians`].
        shrinkage: f64,
    },
    /// Gaussians with a shared covariance: linear boundaries.
    Lda {
        /// Covariance shrinkage, from 0 to 1; see [`class_gaussians`].
        shrinkage: f64,
    },
    /// Independent Gaussian features.
    NaiveGaussian {
        /// The fraction of the largest variance that is added to every variance; 1e-9 by default.
        var_smoothing: f64,
    },
    /// Independent binary features.
    NaiveBernoulli {
        /// The pseudo-count added to every count; 1 by default.
        alpha: f64,
        /// The threshold above which a value counts as 1; 0 by default.
        threshold: f64,
    },
    /// Rows of counts (multinomial).
    NaiveMultinomial {
        /// The pseudo-count added to every count; 1 by default.
        alpha: f64,
    },
    /// The smallest enclosing ball of the prototypes of each class.
    Minimax,
}

impl DensitySettings {
    /// One covariance per class, no shrinkage.
    pub const GAUSSIAN: DensitySettings = DensitySettings::Gaussian { shrinkage: 0.0 };
    /// A shared covariance, no shrinkage.
    pub const LDA: DensitySettings = DensitySettings::Lda { shrinkage: 0.0 };
    /// Gaussian naive Bayes with its default smoothing.
    pub const NAIVE_GAUSSIAN: DensitySettings = DensitySettings::NaiveGaussian { var_smoothing: 1e-9 };
    /// Bernoulli naive Bayes with Laplace smoothing and threshold 0.
    pub const NAIVE_BERNOULLI: DensitySettings = DensitySettings::NaiveBernoulli {
        alpha: 1.0,
        threshold: 0.0,
    };
    /// Multinomial naive Bayes with Laplace smoothing.
    pub const NAIVE_MULTINOMIAL: DensitySettings = DensitySettings::NaiveMultinomial { alpha: 1.0 };
}

/// The estimated parameters, which are sufficient for prediction and verification.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "density")]
#[non_exhaustive]
pub enum Estimate {
    /// Gaussians with full covariances, shared or not.
    Gaussian(Gaussian),
    /// Independent Gaussian features.
    NaiveGaussian(NaiveGaussian),
    /// Independent binary features.
    NaiveBernoulli(Bernoulli),
    /// Rows of counts (multinomial).
    NaiveMultinomial(Multinomial),
    /// Smallest enclosing balls.
    Minimax(Minimax),
}

/// Estimates the densities of the classes.
///
/// ```
/// use wstar::bayes;
/// use wstar::bayes::DensitySettings;
/// use wstar::data::Dataset;
/// let rows = [[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [9.0, 9.0], [7.0, 9.0], [9.0, 7.0]].map(Vec::from);
/// let data = Dataset::labelled(&rows, &["a", "a", "a", "b", "b", "b"]).unwrap();
/// let scorer = bayes::fit(&data, &DensitySettings::LDA).unwrap().scorer().unwrap();
/// let mut posterior = [0.0; 2];
/// scorer.posterior(data.design().row(0), &mut posterior);
/// assert!(posterior[0] > 0.99);
/// ```
pub fn fit(data: &Dataset, settings: &DensitySettings) -> Result<Estimate> {
    Ok(match *settings {
        DensitySettings::Gaussian { shrinkage } => {
            Estimate::Gaussian(class_gaussians::fit(data, false, shrinkage)?)
        }
        DensitySettings::Lda { shrinkage } => {
            Estimate::Gaussian(class_gaussians::fit(data, true, shrinkage)?)
        }
        DensitySettings::NaiveGaussian { var_smoothing } => {
            Estimate::NaiveGaussian(naive::fit_gaussian(data, var_smoothing)?)
        }
        DensitySettings::NaiveBernoulli { alpha, threshold } => {
            Estimate::NaiveBernoulli(naive::fit_bernoulli(data, alpha, threshold)?)
        }
        DensitySettings::NaiveMultinomial { alpha } => {
            Estimate::NaiveMultinomial(naive::fit_multinomial(data, alpha)?)
        }
        DensitySettings::Minimax => Estimate::Minimax(minimax::fit(data)?),
    })
}

impl Estimate {
    /// The score functions of the classes. An estimate that was read from a file must pass [`Estimate::check`]
    /// first.
    pub fn scorer(&self) -> Result<Scorer> {
        Ok(match self {
            Estimate::Gaussian(gaussian) => gaussian.scorer()?,
            Estimate::NaiveGaussian(naive) => naive.scorer(),
            Estimate::NaiveBernoulli(bernoulli) => bernoulli.scorer(),
            Estimate::NaiveMultinomial(multinomial) => multinomial.scorer(),
            Estimate::Minimax(minimax) => minimax.scorer(),
        })
    }

    /// The settings of the fit.
    pub fn settings(&self) -> DensitySettings {
        match self {
            Estimate::Gaussian(Gaussian {
                shared, shrinkage, ..
            }) => match *shared {
                true => DensitySettings::Lda {
                    shrinkage: *shrinkage,
                },
                false => DensitySettings::Gaussian {
                    shrinkage: *shrinkage,
                },
            },
            Estimate::NaiveGaussian(NaiveGaussian { var_smoothing, .. }) => DensitySettings::NaiveGaussian {
                var_smoothing: *var_smoothing,
            },
            Estimate::NaiveBernoulli(Bernoulli { alpha, threshold, .. }) => DensitySettings::NaiveBernoulli {
                alpha: *alpha,
                threshold: *threshold,
            },
            Estimate::NaiveMultinomial(Multinomial { alpha, .. }) => {
                DensitySettings::NaiveMultinomial { alpha: *alpha }
            }
            Estimate::Minimax(_) => DensitySettings::Minimax,
        }
    }

    /// Rejects an estimate whose fields are inconsistent with each other or with the number of features and classes, or
    /// have values that no fit produces. Call it before using an estimate from a file.
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
                        class_gaussians::triangle(features),
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
        // Heuristic: allows for rounded priors in a file; not measured yet.
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
