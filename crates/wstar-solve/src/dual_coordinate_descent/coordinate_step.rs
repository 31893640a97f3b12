//! The subproblem of one multiplier: minimise the dual objective over α with all other multipliers fixed.
//!
//! With the row's score z and Q = ‖x̃‖²/l2, this is (α − α₀)z + ½Q(α − α₀)² + c ℓ\*(y, −α/c). For every
//! loss here except the logistic one, c ℓ\* equals −αy + ½α²·curve on an interval, so the minimiser is a
//! Newton step clamped to that interval (Hsieh and others 2008; see the parent module).

use crate::kink::Kink;
use wstar_problem::loss::LossName;

/// The data of one row's multiplier: its bounds and curvature.
#[derive(Debug, Clone, Copy)]
pub(super) struct Coordinate {
    /// The label or the target.
    pub(super) y: f64,
    /// The row's weight c; a row of weight 0 is ignored.
    pub(super) weight: f64,
    /// The lower and the upper bound of the multiplier.
    pub(super) low: f64,
    pub(super) high: f64,
    /// The curvature of the conjugate term c ℓ\*.
    pub(super) curve: f64,
    /// ‖x̃‖²/l2.
    pub(super) norm: f64,
}

impl Coordinate {
    pub(super) fn new(loss: LossName, y: f64, weight: f64, norm: f64) -> Self {
        let (low, high) = match loss {
            LossName::Absolute | LossName::Quantile(_) => {
                let (least, greatest) = Kink::new(loss, y).map_or((0.0, 0.0), |kink| (kink.lo, kink.hi));
                (-weight * greatest, -weight * least)
            }
            LossName::Squared => (f64::NEG_INFINITY, f64::INFINITY),
            LossName::SquaredHinge if y > 0.0 => (0.0, f64::INFINITY),
            LossName::SquaredHinge => (f64::NEG_INFINITY, 0.0),
            LossName::ModifiedHuber if y > 0.0 => (0.0, 4.0 * weight),
            LossName::ModifiedHuber => (-4.0 * weight, 0.0),
            _ if y > 0.0 => (0.0, weight),
            _ => (-weight, 0.0),
        };
        let curve = match loss {
            _ if weight == 0.0 => 0.0,
            LossName::Squared => 1.0 / weight,
            LossName::SquaredHinge | LossName::ModifiedHuber => 0.5 / weight,
            _ => 0.0,
        };
        // A row of weight 0 contributes nothing, so its multiplier is fixed at 0.
        let (low, high) = if weight == 0.0 { (0.0, 0.0) } else { (low, high) };
        Coordinate {
            y,
            weight,
            low,
            high,
            curve,
            norm,
        }
    }

    /// The derivative of the dual objective (which is minimised) with respect to this multiplier.
    pub(super) fn slope(&self, multiplier: f64, z: f64) -> f64 {
        z - self.y + self.curve * multiplier
    }

    /// Whether the multiplier is strictly inside its bounds.
    pub(super) fn is_inside(&self, multiplier: f64) -> bool {
        self.low < multiplier && multiplier < self.high
    }

    /// The minimising multiplier with all others fixed.
    pub(super) fn best(&self, multiplier: f64, slope: f64) -> f64 {
        let curvature = self.norm + self.curve;
        if curvature > 0.0 {
            (multiplier - slope / curvature).clamp(self.low, self.high)
        } else if slope > 0.0 {
            self.low
        } else if slope < 0.0 {
            self.high
        } else {
            multiplier
        }
    }

    /// The minimising multiplier for the logistic loss (Yu, Huang and Lin 2011), parametrised by the log-odds
    /// u with a = cσ(u). The equation h(u) = Q(cσ(u) − a₀) + m + u = 0 has h′ ≥ 1, so Newton's method
    /// safeguarded by a bracket converges.
    pub(super) fn best_logistic(&self, multiplier: f64, z: f64) -> f64 {
        let (c, before, margin) = (self.weight, self.y * multiplier, self.y * z);
        let (mut low, mut high) = (-margin - self.norm * (c - before), -margin + self.norm * before);
        let mut u = (before / (c - before)).ln();
        if !(low < u && u < high) {
            u = low + 0.5 * (high - low);
        }
        let mut share = sigmoid(u);
        for _ in 0..50 {
            let off = self.norm * (c * share - before) + margin + u;
            if off > 0.0 {
                high = u;
            } else {
                low = u;
            }
            // Derived: 50 machine epsilons, the rounding error of the equation.
            if off.abs() <= 1e-14 * (1.0 + margin.abs()) || low >= high {
                break;
            }
            let next = u - off / (1.0 + self.norm * c * share * (1.0 - share));
            u = if low < next && next < high {
                next
            } else {
                low + 0.5 * (high - low)
            };
            share = sigmoid(u);
        }
        self.y * (c * share).min(c)
    }
}

fn sigmoid(u: f64) -> f64 {
    let e = (-u.abs()).exp();
    if u > 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wstar_problem::loss::{Absolute, Hinge, Logistic, Loss, Quantile, Squared, SquaredHinge};

    proptest! {
        #[test]
        fn no_other_multiplier_has_a_smaller_objective(
            loss in 0..6usize,
            positive in any::<bool>(),
            c in 0.01..20.0f64,
            norm in 0.01..10.0f64,
            z in -4.0..4.0f64,
            shares in prop::array::uniform2(0.001..0.999f64),
        ) {
            let name = [
                LossName::Hinge,
                LossName::SquaredHinge,
                LossName::Logistic,
                LossName::Absolute,
                LossName::Squared,
                LossName::Quantile(Quantile::new(0.2).unwrap()),
            ][loss];
            let y = if positive { 1.0 } else { -1.0 };
            let coordinate = Coordinate::new(name, y, c, norm);
            let [from, other] = shares.map(|share| match name {
                LossName::Absolute | LossName::Squared => c * (2.0 * share - 1.0),
                LossName::Quantile(_) => c * (share - 0.8),
                _ => y * c * share,
            });
            let best = if name == LossName::Logistic {
                coordinate.best_logistic(from, z)
            } else {
                coordinate.best(from, coordinate.slope(from, z))
            };
            let cost = |a: f64| {
                let s = -a / c;
                let conjugate = match name {
                    LossName::Hinge => Hinge.conjugate(y, s),
                    LossName::SquaredHinge => SquaredHinge.conjugate(y, s),
                    LossName::Logistic => Logistic.conjugate(y, s),
                    LossName::Absolute => Absolute::BOTH.conjugate(y, s),
                    LossName::Quantile(q) => Absolute::quantile(q).conjugate(y, s.clamp(-0.2, 0.8)),
                    _ => Squared.conjugate(y, s),
                };
                (a - from) * z + 0.5 * norm * (a - from).powi(2) + c * conjugate
            };
            prop_assert!(cost(best) <= cost(other) + 1e-9 * (1.0 + cost(other).abs()));
            prop_assert!(cost(best) <= cost(from) + 1e-9 * (1.0 + cost(from).abs()));
        }
    }
}
