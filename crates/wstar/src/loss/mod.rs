//! Losses: what it costs to score `z` where the truth is `y`. Scalar mathematics; nothing here sees a design.
//!
//! For classifiers `y` is −1 or +1; for regression it is the target itself. Every convex loss here is at
//! least 0 and reaches 0, so its conjugate is 0 at 0 or above: what the [gap](crate::problem) relies on.

mod absolute;
mod hinge;
mod logistic;
mod modified_huber;
mod sigmoid_mse;
mod softmax;
mod squared;
mod squared_hinge;

pub use absolute::{Absolute, Quantile};
pub use hinge::Hinge;
pub use logistic::Logistic;
pub use modified_huber::ModifiedHuber;
pub use sigmoid_mse::SigmoidMse;
pub use softmax::Softmax;
pub use squared::Squared;
pub use squared_hinge::SquaredHinge;

use serde::{Deserialize, Serialize};

/// A loss ℓ(y, z) of one score.
pub trait Loss: Copy + Send + Sync {
    /// ℓ(y, z).
    fn value(self, y: f64, z: f64) -> f64;
    /// ∂ℓ/∂z; at a kink, one of the subgradients.
    fn slope(self, y: f64, z: f64) -> f64;
    /// ∂²ℓ/∂z²; where it jumps, one of its limits.
    fn curvature(self, y: f64, z: f64) -> f64;
    /// The conjugate ℓ\*(y, s) = sup_z (s·z − ℓ(y, z)): +∞ where `s` is no slope of ℓ.
    fn conjugate(self, y: f64, s: f64) -> f64;
    /// The same for many rows.
    fn conjugates(self, y: &[f64], slopes: &[f64], out: &mut [f64]) {
        for ((&y, &s), out) in y.iter().zip(slopes).zip(out) {
            *out = self.conjugate(y, s);
        }
    }
    /// The least and the greatest slope: the interval outside of which the conjugate is +∞.
    fn slopes(self, y: f64) -> (f64, f64);

    /// Value, slope and curvature at once.
    fn all(self, y: f64, z: f64) -> (f64, f64, f64) {
        (self.value(y, z), self.slope(y, z), self.curvature(y, z))
    }

    /// The same for many rows: overwrites the scores by the slopes.
    fn each(self, y: &[f64], scores: &mut [f64], values: &mut [f64], mut curvatures: Option<&mut [f64]>) {
        for (at, ((&y, z), value)) in y.iter().zip(scores).zip(values).enumerate() {
            let curvature;
            (*value, *z, curvature) = self.all(y, *z);
            if let Some(curvatures) = curvatures.as_deref_mut() {
                curvatures[at] = curvature;
            }
        }
    }
}

/// A loss ℓ(k, z) of a vector of scores, one for each class, where the truth is class `k`.
pub trait VectorLoss: Copy + Send + Sync {
    /// ℓ(k, z); overwrites the scores by the gradient ∂ℓ/∂z.
    fn value_and_gradient(self, class: usize, scores: &mut [f64]) -> f64;
    /// ∂²ℓ/∂z² · v at the scores that gave this gradient.
    fn curvature_times(self, class: usize, gradient: &[f64], v: &[f64], out: &mut [f64]);
    /// The conjugate ℓ\*(k, s) = sup_z (s·z − ℓ(k, z)).
    fn conjugate(self, class: usize, s: &[f64]) -> f64;
}

/// The losses by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossName {
    /// ½(y − z)².
    Squared,
    /// log(1 + e^(−yz)).
    Logistic,
    /// max(0, 1 − yz).
    Hinge,
    /// max(0, 1 − yz)².
    SquaredHinge,
    /// max(0, 1 − yz)² where yz ≥ −1, else −4yz.
    ModifiedHuber,
    /// |y − z|.
    Absolute,
    /// max(q(y − z), (q − 1)(y − z)) of a quantile q.
    Quantile(Quantile),
    /// (t − σ(z))², t = 1 for the positive class, else 0: not convex.
    SigmoidMse,
    /// −log of the share of the true class in e^z: one score for each class.
    Softmax,
}

/// Runs the same expression on whichever scalar loss a name stands for; softmax, which is none, gives `$otherwise`.
macro_rules! on_loss {
    ($name:expr, $loss:ident => $body:expr, softmax => $otherwise:expr) => {
        match $name {
            $crate::loss::LossName::Squared => {
                let $loss = $crate::loss::Squared;
                $body
            }
            $crate::loss::LossName::Logistic => {
                let $loss = $crate::loss::Logistic;
                $body
            }
            $crate::loss::LossName::Hinge => {
                let $loss = $crate::loss::Hinge;
                $body
            }
            $crate::loss::LossName::SquaredHinge => {
                let $loss = $crate::loss::SquaredHinge;
                $body
            }
            $crate::loss::LossName::ModifiedHuber => {
                let $loss = $crate::loss::ModifiedHuber;
                $body
            }
            $crate::loss::LossName::Absolute => {
                let $loss = $crate::loss::Absolute::BOTH;
                $body
            }
            $crate::loss::LossName::Quantile(quantile) => {
                let $loss = $crate::loss::Absolute::quantile(quantile);
                $body
            }
            $crate::loss::LossName::SigmoidMse => {
                let $loss = $crate::loss::SigmoidMse;
                $body
            }
            $crate::loss::LossName::Softmax => $otherwise,
        }
    };
}
pub(crate) use on_loss;

impl LossName {
    /// All losses that are named; quantiles come by their number.
    pub const ALL: [LossName; 8] = [
        LossName::Squared,
        LossName::Logistic,
        LossName::Hinge,
        LossName::SquaredHinge,
        LossName::ModifiedHuber,
        LossName::Absolute,
        LossName::SigmoidMse,
        LossName::Softmax,
    ];

    /// Its name on the command line and in model files.
    pub fn name(self) -> &'static str {
        match self {
            LossName::Squared => "squared",
            LossName::Logistic => "logistic",
            LossName::Hinge => "hinge",
            LossName::SquaredHinge => "squared-hinge",
            LossName::ModifiedHuber => "modified-huber",
            LossName::Absolute => "absolute",
            LossName::Quantile(_) => "quantile",
            LossName::SigmoidMse => "sigmoid-mse",
            LossName::Softmax => "softmax",
        }
    }

    /// Whether every local optimum is the optimum.
    pub fn is_convex(self) -> bool {
        self != LossName::SigmoidMse
    }

    /// Whether it has a slope everywhere, so that gradients lead to the optimum.
    pub fn is_smooth(self) -> bool {
        self != LossName::Hinge && !self.is_absolute()
    }

    /// Whether its curvature has no jumps.
    pub fn is_twice_smooth(self) -> bool {
        self.is_smooth() && !matches!(self, LossName::SquaredHinge | LossName::ModifiedHuber)
    }

    /// Whether it is for a real target.
    pub fn is_for_regression(self) -> bool {
        self == LossName::Squared || self.is_absolute()
    }

    /// Whether it is linear on both sides of the target.
    pub fn is_absolute(self) -> bool {
        matches!(self, LossName::Absolute | LossName::Quantile(_))
    }
}
