//! Certificates: small objects that prove a claim, recomputed from the data and never taken from a solver.

pub mod duality;
mod firth;
mod hard_margin;
pub(crate) mod least_error;
pub mod likelihood;
mod mistakes;
pub mod proof;
mod separation;
mod stationarity;

pub use duality::DualityGap;
pub use hard_margin::LargestMargin;
pub use least_error::{ErrorProof, LeastError};
pub use mistakes::{MistakeBound, RunConditions, bound_mistakes, recompute_mistakes};
pub use proof::Proof;
pub use separation::{Separation, centre, recompute_separation};
pub use stationarity::{Stationarity, stationarity};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// How far recomputed numbers may differ from the stored ones, relatively: what summing in another
/// order can do, with room to spare.
pub(crate) const AGREEMENT: f64 = 1e-9;

/// Whether two numbers agree up to rounding.
pub(crate) fn agree(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= AGREEMENT * a.abs().max(b.abs())
}

/// What a model claims about itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Certificate {
    /// A perceptron cannot have made more mistakes than this: one claim for each discriminant.
    MistakeBound {
        /// The claims.
        parts: Vec<MistakeBound>,
    },
    /// The best margin lies in this interval: one claim for each discriminant.
    Separation {
        /// The claims.
        parts: Vec<Separation>,
    },
    /// The parameters are the closed-form estimates from these data.
    MaximumLikelihood {
        /// The largest relative deviation of a parameter from its definition.
        deviation: f64,
        /// The log-likelihood of the data under the model.
        log_likelihood: f64,
    },
    /// The radius of the smallest ball around each class lies in its interval.
    EnclosingBall {
        /// Lower and upper bound of each radius.
        radii: Vec<(f64, f64)>,
        /// The largest `(upper − lower)/upper`.
        relative_gap: f64,
    },
    /// The objective is within so much of its least value: one claim for each problem of the fit.
    DualityGap {
        /// The claims.
        parts: Vec<DualityGap>,
    },
    /// The gradient is all but 0: all that can be said where a loss is not convex.
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
    /// Nothing was proved: the data went by only once.
    None,
}

/// How narrow, relatively, the interval of a smallest ball's radius must be.
pub(crate) const BALL_GAP: f64 = 1e-6;

impl Certificate {
    /// Its name, as in the command line's JSON.
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

    /// Whether every part of the claim holds by the numbers it carries.
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
    /// Refuses a certificate whose parts do not fit the model, as a damaged file may hold.
    pub(crate) fn check(&self, features: usize, classes: usize) -> Result<()> {
        let discriminants = crate::online::discriminants(classes);
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
