//! Penalties on the weights: R(w) = l1·‖w‖₁ + l2·½‖w‖².
//!
//! No penalty, ℓ2, ℓ1 and the elastic net are one family and hence one type: each formula below holds for all
//! four, and a solver that handles the pair (l1, l2) handles every penalty.

use serde::{Deserialize, Serialize};
use wstar_data::error::Range;
use wstar_data::setting::Setting;

use wstar_data::error::{Error, Result};

/// The penalties by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PenaltyName {
    /// 0.
    None,
    /// ½‖w‖².
    L2,
    /// ‖w‖₁.
    L1,
    /// ρ‖w‖₁ + (1 − ρ)/2 ‖w‖².
    ElasticNet,
}

impl PenaltyName {
    /// The name on the command line and in model files.
    #[inline]
    pub fn name(self) -> &'static str {
        match self {
            PenaltyName::None => "none",
            PenaltyName::L2 => "l2",
            PenaltyName::L1 => "l1",
            PenaltyName::ElasticNet => "elastic-net",
        }
    }
}

/// R(w) = l1·‖w‖₁ + l2·½‖w‖².
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Penalty {
    /// The coefficient of ‖w‖₁.
    pub l1: f64,
    /// The coefficient of ½‖w‖².
    pub l2: f64,
}

impl Penalty {
    /// No penalty.
    pub const NONE: Penalty = Penalty { l1: 0.0, l2: 0.0 };
    /// ½‖w‖².
    pub const L2: Penalty = Penalty { l1: 0.0, l2: 1.0 };
    /// ‖w‖₁.
    pub const L1: Penalty = Penalty { l1: 1.0, l2: 0.0 };

    /// The penalty with this name; `l1_ratio` is ρ ∈ [0, 1] of the elastic net.
    pub fn new(name: PenaltyName, l1_ratio: f64) -> Result<Self> {
        if !(0.0..=1.0).contains(&l1_ratio) {
            return Err(Error::out_of_range(
                Setting::L1Ratio,
                Range::Between(0.0, 1.0),
                l1_ratio,
            ));
        }
        Ok(match name {
            PenaltyName::None => Penalty::NONE,
            PenaltyName::L2 => Penalty::L2,
            PenaltyName::L1 => Penalty::L1,
            PenaltyName::ElasticNet => Penalty {
                l1: l1_ratio,
                l2: 1.0 - l1_ratio,
            },
        })
    }

    /// Whether R is 0 everywhere.
    #[inline]
    pub fn is_none(self) -> bool {
        self.l1 == 0.0 && self.l2 == 0.0
    }

    /// Whether R is differentiable everywhere.
    #[inline]
    pub fn is_smooth(self) -> bool {
        self.l1 == 0.0
    }

    /// R(w) of a vector of weights.
    #[inline]
    pub fn value(self, w: &[f64]) -> f64 {
        w.iter().map(|&w| self.of(w)).sum()
    }

    /// R of one weight.
    #[inline]
    pub fn of(self, w: f64) -> f64 {
        self.l1 * w.abs() + 0.5 * self.l2 * w * w
    }

    /// The proximal operator argminᵥ ½(v − u)² + step·R(v): soft thresholding, then shrinkage.
    #[inline]
    pub fn prox(self, u: f64, step: f64) -> f64 {
        let threshold = step * self.l1;
        (u - u.clamp(-threshold, threshold)) / (1.0 + step * self.l2)
    }

    /// The conjugate R\*(u) = sup_w (u·w − R(w)) for one weight: with l2 = 0 it is +∞ where |u| > l1.
    #[inline]
    pub fn conjugate(self, u: f64) -> f64 {
        let beyond = (u.abs() - self.l1).max(0.0);
        if beyond == 0.0 {
            0.0
        } else if self.l2 > 0.0 {
            0.5 * beyond * beyond / self.l2
        } else {
            f64::INFINITY
        }
    }

    /// The distance of −g from the subdifferential ∂R(w), where `g` is the gradient of the loss: 0 at an optimum.
    #[inline]
    pub fn violation(self, w: f64, g: f64) -> f64 {
        let g = g + self.l2 * w;
        if w > 0.0 {
            (g + self.l1).abs()
        } else if w < 0.0 {
            (g - self.l1).abs()
        } else {
            (g.abs() - self.l1).max(0.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn penalties() -> impl Strategy<Value = Penalty> {
        prop_oneof![
            Just(Penalty::L2),
            Just(Penalty::L1),
            (0.01..0.99f64).prop_map(|l1| Penalty { l1, l2: 1.0 - l1 }),
        ]
    }

    proptest! {
        #[test]
        fn fenchel_young_inequality_holds_and_is_tight(p in penalties(), w in -5.0..5.0f64, u in -5.0..5.0f64) {
            prop_assert!(p.of(w) + p.conjugate(u) >= u * w - 1e-12);
            if w != 0.0 {
                let subgradient = p.l1 * w.signum() + p.l2 * w;
                prop_assert!((p.of(w) + p.conjugate(subgradient) - subgradient * w).abs() < 1e-9);
            }
        }

        #[test]
        fn prox_is_the_minimiser(p in penalties(), u in -5.0..5.0f64, step in 0.01..3.0f64, other in -5.0..5.0f64) {
            let cost = |v: f64| 0.5 * (v - u) * (v - u) + step * p.of(v);
            let best = p.prox(u, step);
            prop_assert!(cost(best) <= cost(other) + 1e-12);
            // At v = prox(u), (v − u)/step is minus a subgradient.
            prop_assert!(p.violation(best, (best - u) / step) < 1e-9);
        }
    }

    #[test]
    fn l1_ratio_outside_unit_interval_is_refused() {
        assert!(Penalty::new(PenaltyName::ElasticNet, 1.5).is_err());
        assert!(Penalty::new(PenaltyName::ElasticNet, f64::NAN).is_err());
    }
}
