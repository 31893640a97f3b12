//! The losses that the method accepts, in one formula: ℓ(z) = max over lo ≤ s ≤ hi of s·(z − at) − s²/(2κ).
//!
//! With κ = ∞ this is a loss with one kink (hinge, absolute). With a finite curvature κ it is a parabola that
//! continues as a line where the slope reaches a bound: squared hinge has one bound, squared loss none.

use crate::kink::Kink;
use wstar_problem::loss::LossName;

/// The loss of one row, or the ℓ1 penalty of one weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PiecewiseLoss {
    /// The smallest slope, at most 0; may be −∞ if κ is finite.
    pub(super) lo: f64,
    /// The largest slope, at least 0; may be +∞ if κ is finite.
    pub(super) hi: f64,
    /// The score at which the loss is minimal.
    pub(super) at: f64,
    /// 1/κ; 0 for a loss with a kink.
    pub(super) inverse_curvature: f64,
}

impl PiecewiseLoss {
    /// The loss of this name for the target `y`; `None` if it does not have this form.
    pub(super) fn new(loss: LossName, y: f64) -> Option<Self> {
        if let Some(kink) = Kink::new(loss, y) {
            return Some(PiecewiseLoss {
                lo: kink.lo,
                hi: kink.hi,
                at: kink.at,
                inverse_curvature: 0.0,
            });
        }
        match loss {
            LossName::SquaredHinge => Some(PiecewiseLoss {
                lo: if y > 0.0 { f64::NEG_INFINITY } else { 0.0 },
                hi: if y > 0.0 { 0.0 } else { f64::INFINITY },
                at: y.signum(),
                inverse_curvature: 0.5,
            }),
            LossName::ModifiedHuber => Some(PiecewiseLoss {
                lo: if y > 0.0 { -4.0 } else { 0.0 },
                hi: if y > 0.0 { 0.0 } else { 4.0 },
                at: y.signum(),
                inverse_curvature: 0.5,
            }),
            LossName::Squared => Some(PiecewiseLoss {
                lo: f64::NEG_INFINITY,
                hi: f64::INFINITY,
                at: y,
                inverse_curvature: 1.0,
            }),
            _ => None,
        }
    }

    /// |z|.
    pub(super) const ABSOLUTE: PiecewiseLoss = PiecewiseLoss {
        lo: -1.0,
        hi: 1.0,
        at: 0.0,
        inverse_curvature: 0.0,
    };

    /// The loss multiplied by a positive factor.
    pub(super) fn times(self, factor: f64) -> Self {
        PiecewiseLoss {
            lo: self.lo * factor,
            hi: self.hi * factor,
            at: self.at,
            inverse_curvature: self.inverse_curvature / factor,
        }
    }

    /// The number of finite bounds of the slope.
    pub(super) fn finite_bounds(self) -> f64 {
        f64::from(u8::from(self.lo.is_finite()) + u8::from(self.hi.is_finite()))
    }

    /// ∂ℓ/∂z; at a kink, the largest subgradient.
    pub(super) fn slope(self, z: f64) -> f64 {
        if self.inverse_curvature > 0.0 {
            ((z - self.at) / self.inverse_curvature).clamp(self.lo, self.hi)
        } else if z < self.at {
            self.lo
        } else {
            self.hi
        }
    }

    /// ℓ(z).
    pub(super) fn value(self, z: f64) -> f64 {
        let beyond = z - self.at;
        if self.inverse_curvature > 0.0 {
            let slope = self.slope(z);
            slope * (beyond - 0.5 * self.inverse_curvature * slope)
        } else {
            (self.lo * beyond).max(self.hi * beyond)
        }
    }

    /// The order of magnitude of slope times score at z.
    pub(super) fn size(self, z: f64) -> f64 {
        let beyond = (z - self.at).abs();
        if self.inverse_curvature > 0.0 {
            beyond * beyond / self.inverse_curvature
        } else {
            beyond * (self.hi - self.lo)
        }
    }

    /// The distances p and q of s from its lower and upper bound at score z on the central path, pu = qv = τ.
    /// If a bound is infinite its distance is 1; if both are, p is s itself.
    pub(super) fn start(self, z: f64, tau: f64) -> (f64, f64) {
        let beyond = z - self.at;
        if self.inverse_curvature > 0.0 {
            // For the distance q from an upper bound at 0, this solves q²/κ + beyond·q = τ.
            let distance = |beyond: f64| {
                let root = (beyond * beyond + 4.0 * self.inverse_curvature * tau).sqrt();
                if beyond > 0.0 {
                    2.0 * tau / (beyond + root)
                } else {
                    (root - beyond) / (2.0 * self.inverse_curvature)
                }
            };
            return match (self.lo.is_finite(), self.hi.is_finite()) {
                (_, true) => (1.0, distance(beyond)),
                (true, false) => (distance(-beyond), 1.0),
                (false, false) => (beyond / self.inverse_curvature, 1.0),
            };
        }
        let width = self.hi - self.lo;
        let rho = beyond * width / tau;
        let off = 0.5 * rho / (2.0 + (4.0 + rho * rho).sqrt());
        // Heuristic: the smallest relative distance from a bound at the start, far above rounding; not
        // measured yet.
        let least = 1e-12;
        (width * (0.5 + off).max(least), width * (0.5 - off).max(least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wstar_problem::loss::Loss;
    use wstar_problem::on_loss;

    #[test]
    fn piecewise_losses_equal_the_losses() {
        for name in [
            LossName::Hinge,
            LossName::Absolute,
            LossName::SquaredHinge,
            LossName::Squared,
        ] {
            for y in [-1.0, 1.0] {
                let piecewise = PiecewiseLoss::new(name, y).unwrap();
                for z in [-3.0, -1.5, -0.5, 0.0, 0.25, 2.0] {
                    on_loss!(name, loss => {
                        assert_eq!(piecewise.times(4.0).value(z), 4.0 * loss.value(y, z));
                        assert_eq!(piecewise.value(z), loss.value(y, z));
                        assert_eq!(piecewise.slope(z), loss.slope(y, z));
                        assert_eq!((piecewise.lo, piecewise.hi), loss.slopes(y));
                    }, softmax => unreachable!());
                }
            }
        }
        assert_eq!(PiecewiseLoss::new(LossName::Logistic, 1.0), None);
    }

    /// On the central path v − u = z − at − s/κ holds with u = τ/p and v = τ/q.
    #[test]
    fn the_start_is_on_the_central_path() {
        for name in [LossName::Hinge, LossName::Absolute, LossName::SquaredHinge] {
            for y in [-1.0, 1.0] {
                let piecewise = PiecewiseLoss::new(name, y).unwrap();
                for (z, tau) in [(0.0, 1.0), (5.0, 0.1), (-7.0, 0.3), (1.0, 1e-3)] {
                    let (p, q) = piecewise.start(z, tau);
                    let u = if piecewise.lo.is_finite() { tau / p } else { 0.0 };
                    let v = if piecewise.hi.is_finite() { tau / q } else { 0.0 };
                    let s = if piecewise.hi.is_finite() {
                        piecewise.hi - q
                    } else {
                        piecewise.lo + p
                    };
                    let off = v - u - (z - piecewise.at - piecewise.inverse_curvature * s);
                    assert!(off.abs() < 1e-9, "{name:?} {y} {z} {tau}: {off}");
                }
            }
        }
    }
}
