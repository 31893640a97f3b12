//! Certificates: small objects that prove a claim. They are recomputed from the data and never taken from a solver.
//!
//! - `mistake_bound`, `margin_buckets`: the mistake bound of the perceptron family, and the margins that it tries.
//! - `margin_interval`: lower and upper bound on the best margin.
//! - `optimum_enclosure`: digits of the optimum of every subproblem.
//! - [`maximum_likelihood`]: estimated densities, recomputed from their definitions.
//!
//! The duality gap and stationarity are in [`crate::certify`], the maximum margin and the least error in
//! [`crate::separate`].

mod margin_buckets;
mod margin_interval;
pub mod maximum_likelihood;
mod mistake_bound;
mod optimum_enclosure;

pub use margin_interval::{Separation, centre, recompute_separation};
pub use mistake_bound::{MistakeBound, RunConditions, bound_mistakes, recompute_mistakes};
pub(crate) use optimum_enclosure::{enclose_part, is_wanted};
pub use wstar_certify::duality::DualityGap;
pub use wstar_certify::enclosure::{Enclosure, StandardErrors};
pub use wstar_certify::stationarity::{Stationarity, stationarity};
pub use wstar_separate::least_error::error_certificate::{ErrorProof, LeastError};
pub use wstar_separate::margin::margin_certificate::LargestMargin;
pub use wstar_separate::proof::Proof;

use serde::{Deserialize, Serialize};

use wstar_data::error::{Error, Result};
use wstar_numeric::agreement::AGREEMENT;

/// The claim that a model makes about itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Certificate {
    /// An upper bound on the number of mistakes of a perceptron: one claim for each discriminant.
    MistakeBound {
        /// The claims.
        parts: Vec<MistakeBound>,
    },
    /// An interval that contains the best margin: one claim for each discriminant.
    Separation {
        /// The claims.
        parts: Vec<Separation>,
    },
    /// The parameters are the closed-form estimates from the data.
    MaximumLikelihood {
        /// The largest relative deviation of a parameter from its definition.
        deviation: f64,
        /// The log-likelihood of the data under the model.
        log_likelihood: f64,
    },
    /// An interval that contains the radius of the smallest enclosing ball of each class.
    EnclosingBall {
        /// Lower and upper bound on each radius.
        radii: Vec<(f64, f64)>,
        /// The largest `(upper − lower)/upper`.
        relative_gap: f64,
    },
    /// The objective is within a proven gap of its minimum: one claim for each problem of the fit.
    DualityGap {
        /// The claims.
        parts: Vec<DualityGap>,
    },
    /// The gradient is close to 0. For a nonconvex loss nothing stronger can be certified.
    Stationarity {
        /// The claims.
        parts: Vec<Stationarity>,
    },
    /// No hyperplane makes fewer errors.
    MinError(LeastError),
    /// No hyperplane has a larger margin: one claim for each discriminant.
    HardMargin {
        /// The claims.
        parts: Vec<LargestMargin>,
    },
    /// Nothing was proved, because the data were read only once.
    None,
}

/// The largest relative width of the interval of an enclosing ball's radius for the certificate to hold.
/// Heuristic: far above the solver's tolerance of 1e-13, so that rounding cannot fail it; not measured yet.
pub(crate) const BALL_GAP: f64 = 1e-6;

impl Certificate {
    /// The name of the kind, as in the command line's JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Certificate::MistakeBound { .. } => "mistake-bound",
            Certificate::Separation { .. } => "separation",
            Certificate::MaximumLikelihood { .. } => "maximum-likelihood",
            Certificate::EnclosingBall { .. } => "enclosing-ball",
            Certificate::DualityGap { .. } => "duality-gap",
            Certificate::Stationarity { .. } => "stationarity",
            Certificate::MinError(_) => "min-error",
            Certificate::HardMargin { .. } => "hard-margin",
            Certificate::None => "none",
        }
    }

    /// Whether every claim holds according to the numbers in the certificate.
    pub fn holds(&self) -> bool {
        match self {
            Certificate::MistakeBound { parts } => !parts.is_empty() && parts.iter().all(MistakeBound::holds),
            Certificate::Separation { parts } => !parts.is_empty() && parts.iter().all(Separation::holds),
            Certificate::MaximumLikelihood { deviation, .. } => *deviation <= AGREEMENT,
            Certificate::EnclosingBall { relative_gap, .. } => *relative_gap <= BALL_GAP,
            Certificate::DualityGap { parts } => !parts.is_empty() && parts.iter().all(DualityGap::holds),
            Certificate::Stationarity { parts } => !parts.is_empty() && parts.iter().all(Stationarity::holds),
            Certificate::MinError(claim) => claim.holds(),
            Certificate::HardMargin { parts } => !parts.is_empty() && parts.iter().all(LargestMargin::holds),
            Certificate::None => false,
        }
    }
}

impl Certificate {
    /// Rejects a certificate whose claims do not fit the model, which a damaged file may contain.
    pub(crate) fn check(&self, features: usize, classes: usize) -> Result<()> {
        let discriminants = wstar_data::discriminants(classes);
        let fits = match self {
            Certificate::MistakeBound { parts } => {
                parts.len() == discriminants
                    && parts.iter().all(|part| part.separator.weights.len() <= features)
            }
            Certificate::Separation { parts } => {
                parts.len() == discriminants
                    && parts.iter().all(|part| part.hyperplane.weights.len() == features)
            }
            Certificate::EnclosingBall { radii, .. } => radii.len() == classes,
            Certificate::DualityGap { parts } => {
                !parts.is_empty() && parts.iter().all(|part| part.dual_point.is_whole())
            }
            Certificate::MinError(_) => classes == 2,
            Certificate::HardMargin { parts } => parts.len() == discriminants,
            Certificate::MaximumLikelihood { .. } | Certificate::Stationarity { .. } | Certificate::None => {
                true
            }
        };
        if fits {
            Ok(())
        } else {
            Err(Error::model("the certificate does not fit the model"))
        }
    }
}
