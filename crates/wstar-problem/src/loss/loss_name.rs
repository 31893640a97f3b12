//! The losses by name, and the macro that evaluates an expression with the loss of a name.

use serde::{Deserialize, Serialize};

use crate::loss::Quantile;

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
    /// max(q(y − z), (q − 1)(y − z)) for a quantile of level q.
    Quantile(Quantile),
    /// (t − σ(z))² with t = 1 for the positive class, else 0. Not convex.
    SigmoidMse,
    /// log Σⱼ e^(zⱼ) − z_k for the true class k, with one score for each class.
    Softmax,
}

/// Evaluates an expression with the scalar loss that a [`LossName`] stands for, monomorphised for each loss. Softmax is not a
/// scalar loss and evaluates `$otherwise`.
#[macro_export]
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

impl LossName {
    /// All losses without a parameter, which excludes quantiles.
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

    /// The name on the command line and in model files.
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

    /// Whether ℓ is convex in the score.
    #[inline]
    pub fn is_convex(self) -> bool {
        self != LossName::SigmoidMse
    }

    /// Whether ℓ is differentiable everywhere, so that gradient methods apply.
    #[inline]
    pub fn is_smooth(self) -> bool {
        self != LossName::Hinge && !self.is_absolute()
    }

    /// Whether ℓ is twice continuously differentiable.
    #[inline]
    pub fn is_twice_smooth(self) -> bool {
        self.is_smooth() && !matches!(self, LossName::SquaredHinge | LossName::ModifiedHuber)
    }

    /// Whether ℓ is the absolute or the pinball loss, linear on both sides of the target.
    #[inline]
    pub fn is_absolute(self) -> bool {
        matches!(self, LossName::Absolute | LossName::Quantile(_))
    }
}
