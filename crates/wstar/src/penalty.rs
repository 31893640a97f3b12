//! Penalties on the weights: R(w) = l1·‖w‖₁ + l2·½‖w‖².
//!
//! None, ℓ2, ℓ1 and the elastic net are one family, so they are one type: each formula below holds for all
//! four, and a solver that handles the pair handles every penalty.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The penalties by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
    /// Its name on the command line and in model files.
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
    /// The share of ‖w‖₁.
    pub l1: f64,
    /// The share of ½‖w‖².
    pub l2: f64,
}

impl Penalty {
    /// No penalty.
    pub const NONE: Penalty = Penalty { l1: 0.0, l2: 0.0 };
    /// ½‖w‖².
    pub const L2: Penalty = Penalty { l1: 0.0, l2: 1.0 };
    /// ‖w‖₁.
    pub const L1: Penalty = Penalty { l1: 1.0, l2: 0.0 };

    /// The penalty of this name; the elastic net takes its share of ℓ1, ρ from 0 to 1.
    pub fn new(name: PenaltyName, l1_ratio: f64) -> Result<Self> {
        if !(0.0..=1.0).contains(&l1_ratio) {
            return Err(Error::settings(format!(
                "--l1-ratio must lie between 0 and 1, not {l1_ratio}"
            )));
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

    /// Whether it is 0 everywhere.
    pub fn is_none(self) -> bool {
        self.l1 == 0.0 && self.l2 == 0.0
    }

    /// Whether it has a gradient everywhere.
    pub fn is_smooth(self) -> bool {
        self.l1 == 0.0
    }

    /// R(w), summed over these weights.
    pub fn value(self, w: &[f64]) -> f64 {
        w.iter().map(|&w| self.of(w)).sum()
    }

    /// R of one weight.
    pub fn of(self, w: f64) -> f64 {
        self.l1 * w.abs() + 0.5 * self.l2 * w * w
    }

    /// argmin over v of ½(v − u)² + step·R(v): soft thresholding, then shrinking.
    pub fn prox(self, u: f64, step: f64) -> f64 {
        let threshold = step * self.l1;
        (u - u.clamp(-threshold, threshold)) / (1.0 + step * self.l2)
    }

    /// The conjugate R\*(u) = sup_w (u·w − R(w)) for one weight: +∞ where a bare ℓ1 (or no) penalty is outweighed.
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

    /// The distance from −g to the subdifferential of R at `w`, where `g` is the loss's gradient: 0 at an optimum.
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
        fn fenchel_youngs_inequality_holds_and_is_tight(p in penalties(), w in -5.0..5.0f64, u in -5.0..5.0f64) {
            prop_assert!(p.of(w) + p.conjugate(u) >= u * w - 1e-12);
            if w != 0.0 {
                let subgradient = p.l1 * w.signum() + p.l2 * w;
                prop_assert!((p.of(w) + p.conjugate(subgradient) - subgradient * w).abs() < 1e-9);
            }
        }

        #[test]
        fn no_point_beats_the_prox(p in penalties(), u in -5.0..5.0f64, step in 0.01..3.0f64, other in -5.0..5.0f64) {
            let cost = |v: f64| 0.5 * (v - u) * (v - u) + step * p.of(v);
            let best = p.prox(u, step);
            prop_assert!(cost(best) <= cost(other) + 1e-12);
            // At the prox, (v − u)/step is minus a subgradient.
            prop_assert!(p.violation(best, (best - u) / step) < 1e-9);
        }
    }

    #[test]
    fn a_share_beyond_one_is_refused() {
        assert!(Penalty::new(PenaltyName::ElasticNet, 1.5).is_err());
        assert!(Penalty::new(PenaltyName::ElasticNet, f64::NAN).is_err());
    }
}
