//! The settings of the Bayes rules with estimated class-conditional densities.

use serde::{Deserialize, Serialize};

use super::checks::misplaced;
use super::common::{Common, common_setters};
use super::{Density, Method, Options};
use crate::bayes::DensitySettings;
use wstar_data::error::Result;
use wstar_data::setting::Setting;

/// The share of the largest variance that Gaussian naive Bayes adds to every variance by default, as in scikit-learn.
const VAR_SMOOTHING: f64 = 1e-9;

/// The pseudo-count of naive Bayes by default: Laplace's rule of succession.
const ALPHA: f64 = 1.0;

/// The settings of a Bayes rule.
///
/// ```
/// use wstar::data::Dataset;
/// use wstar::settings::Densities;
/// let rows = [[0.0], [1.0], [4.0], [6.0]].map(Vec::from);
/// let data = Dataset::labelled(&rows, &["small", "small", "large", "large"])?;
/// let model = Densities::lda().fit(&data)?;
/// assert!(model.certificate().holds());
/// # Ok::<(), wstar::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[must_use]
pub struct Densities {
    /// The densities and how they are estimated.
    pub(crate) density: DensitySettings,
    /// The penalty matrix, row by row: W(k, d) is the penalty of deciding d when k is true. By default the 0–1 loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) penalties: Option<Vec<Vec<f64>>>,
    /// The settings of every method.
    pub(crate) common: Common,
    /// A setting that the densities do not have. It is refused by the fit, as setters cannot fail.
    #[serde(skip)]
    misplaced: Option<Setting>,
}

impl Densities {
    /// A Bayes rule with these densities.
    pub fn new(density: DensitySettings) -> Self {
        Densities {
            density,
            penalties: None,
            common: Common::default(),
            misplaced: None,
        }
    }

    /// Gaussians, each with its own covariance: quadratic discriminant analysis.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = Dataset::labelled(&[[0.0], [1.0], [3.0], [5.0]], &["low", "low", "high", "high"])?;
    /// let model = Densities::gaussian().fit(&data)?;
    /// assert!(model.probabilities(&data)?.is_some());
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn gaussian() -> Self {
        Densities::new(DensitySettings::Gaussian { shrinkage: 0.0 })
    }

    /// Gaussians with a shared covariance: linear discriminant analysis.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = Dataset::labelled(&[[0.0], [1.0], [3.0], [5.0]], &["low", "low", "high", "high"])?;
    /// let model = Densities::lda().shrinkage(0.1).fit(&data)?;
    /// assert_eq!(model.hyperplanes().map(|planes| planes.len()), Some(1));
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn lda() -> Self {
        Densities::new(DensitySettings::Lda { shrinkage: 0.0 })
    }

    /// Naive Bayes: features are independent within each class.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = Dataset::labelled(&[[3.0, 0.0], [2.0, 1.0], [0.0, 2.0], [1.0, 4.0]], &["low", "low", "high", "high"])?;
    /// let model = Densities::naive(Density::Multinomial).smoothing(0.5).fit(&data)?;
    /// assert!(model.verify(&data)?.holds());
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn naive(density: Density) -> Self {
        Densities::new(naive(density, None))
    }

    /// The mean of a Gaussian that maximises the smallest likelihood of any example of the class.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = Dataset::labelled(&[[0.0], [1.0], [3.0], [5.0]], &["low", "low", "high", "high"])?;
    /// let model = Densities::minimax().fit(&data)?;
    /// assert!(model.certificate().holds());
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn minimax() -> Self {
        Densities::new(DensitySettings::Minimax)
    }

    /// Sets the penalty matrix, row by row: W(k, d) is the penalty of deciding d when k is true.
    pub fn penalties(mut self, rows: Vec<Vec<f64>>) -> Self {
        self.penalties = Some(rows);
        self
    }

    /// Sets the shrinkage s of the covariances, from 0 to 1: (1 − s)Σ + s·(tr Σ/d)·I replaces Σ. Only for
    /// [`gaussian`](Densities::gaussian) and [`lda`](Densities::lda); the fit of others refuses it.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = Dataset::labelled(&[[0.0], [1.0], [3.0], [5.0]], &["low", "low", "high", "high"])?;
    /// assert!(Densities::lda().shrinkage(0.1).fit(&data).is_ok());
    /// assert!(Densities::minimax().shrinkage(0.1).fit(&data).is_err());
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn shrinkage(mut self, share: f64) -> Self {
        match &mut self.density {
            DensitySettings::Gaussian { shrinkage } | DensitySettings::Lda { shrinkage } => {
                *shrinkage = share
            }
            _ => self.misplaced = Some(Setting::Shrinkage),
        }
        self
    }

    /// Sets the smoothing of naive Bayes: the pseudo-count of binary features and counts, and for Gaussian features the
    /// share of the largest variance that is added to every variance. The fit of other densities refuses it.
    pub fn smoothing(mut self, smoothing: f64) -> Self {
        match &mut self.density {
            DensitySettings::NaiveGaussian { var_smoothing } => *var_smoothing = smoothing,
            DensitySettings::NaiveBernoulli { alpha, .. } | DensitySettings::NaiveMultinomial { alpha } => {
                *alpha = smoothing;
            }
            _ => self.misplaced = Some(Setting::Smoothing),
        }
        self
    }

    pub(super) fn check(&self) -> Result<()> {
        match self.misplaced {
            Some(setting) => Err(misplaced(setting, self.method())),
            None => Ok(()),
        }
    }

    pub(super) fn take(method: Method, options: &mut Options) -> Self {
        let density = match method {
            Method::Gaussian => DensitySettings::Gaussian {
                shrinkage: options.shrinkage.take().unwrap_or(0.0),
            },
            Method::NaiveBayes => naive(
                options.density.take().unwrap_or_default(),
                options.smoothing.take(),
            ),
            Method::Minimax => DensitySettings::Minimax,
            _ => DensitySettings::Lda {
                shrinkage: options.shrinkage.take().unwrap_or(0.0),
            },
        };
        Densities {
            density,
            penalties: options.penalties.take(),
            common: Common::take(options),
            misplaced: None,
        }
    }

    pub(super) fn give(&self, options: &mut Options) {
        let (density, smoothing, default) = match self.density {
            DensitySettings::Gaussian { shrinkage } | DensitySettings::Lda { shrinkage } => {
                options.shrinkage = Some(shrinkage).filter(|shrinkage| *shrinkage != 0.0);
                (None, None, 0.0)
            }
            DensitySettings::NaiveGaussian { var_smoothing } => (None, Some(var_smoothing), VAR_SMOOTHING),
            DensitySettings::NaiveBernoulli { alpha, .. } => (Some(Density::Bernoulli), Some(alpha), ALPHA),
            DensitySettings::NaiveMultinomial { alpha } => (Some(Density::Multinomial), Some(alpha), ALPHA),
            DensitySettings::Minimax => (None, None, 0.0),
        };
        options.density = density;
        options.smoothing = smoothing.filter(|smoothing| *smoothing != default);
        options.penalties = self.penalties.clone();
    }

    pub(super) fn method(&self) -> Method {
        match self.density {
            DensitySettings::Gaussian { .. } => Method::Gaussian,
            DensitySettings::Lda { .. } => Method::Lda,
            DensitySettings::NaiveGaussian { .. }
            | DensitySettings::NaiveBernoulli { .. }
            | DensitySettings::NaiveMultinomial { .. } => Method::NaiveBayes,
            DensitySettings::Minimax => Method::Minimax,
        }
    }
}

/// Naive Bayes with this density and smoothing.
fn naive(density: Density, smoothing: Option<f64>) -> DensitySettings {
    match density {
        Density::Gaussian => DensitySettings::NaiveGaussian {
            var_smoothing: smoothing.unwrap_or(VAR_SMOOTHING),
        },
        Density::Bernoulli => DensitySettings::NaiveBernoulli {
            alpha: smoothing.unwrap_or(ALPHA),
            threshold: 0.0,
        },
        Density::Multinomial => DensitySettings::NaiveMultinomial {
            alpha: smoothing.unwrap_or(ALPHA),
        },
    }
}

common_setters!(Densities, this => this.common);
