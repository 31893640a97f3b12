//! The losses that the method takes, as one formula: ℓ(z) = max over lo ≤ s ≤ hi of s·(z − at) − bend·s²/2.
//!
//! Without a bend that is a loss with one kink (hinge, absolute). With one the loss is a parabola of curvature
//! 1/bend, which goes over into a line where a slope has an end: squared hinge has one end, squared loss none.

use crate::loss::LossName;
use crate::solve::kink::Kink;

/// The loss of one row, or ℓ1 of one weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Piece {
    /// The least slope, at most 0; may be −∞ if there is a bend.
    pub(super) lo: f64,
    /// The greatest slope, at least 0; may be +∞ if there is a bend.
    pub(super) hi: f64,
    /// The score with the least loss.
    pub(super) at: f64,
    /// One over the curvature.
    pub(super) bend: f64,
}

impl Piece {
    /// The loss of this name where the truth is `y`; none if it is no such loss.
    pub(super) fn new(loss: LossName, y: f64) -> Option<Self> {
        if let Some(kink) = Kink::new(loss, y) {
            return Some(Piece {
                lo: kink.lo,
                hi: kink.hi,
                at: kink.at,
                bend: 0.0,
            });
        }
        match loss {
            LossName::SquaredHinge => Some(Piece {
                lo: if y > 0.0 { f64::NEG_INFINITY } else { 0.0 },
                hi: if y > 0.0 { 0.0 } else { f64::INFINITY },
                at: y.signum(),
                bend: 0.5,
            }),
            LossName::ModifiedHuber => Some(Piece {
                lo: if y > 0.0 { -4.0 } else { 0.0 },
                hi: if y > 0.0 { 0.0 } else { 4.0 },
                at: y.signum(),
                bend: 0.5,
            }),
            LossName::Squared => Some(Piece {
                lo: f64::NEG_INFINITY,
                hi: f64::INFINITY,
                at: y,
                bend: 1.0,
            }),
            _ => None,
        }
    }

    /// |z|.
    pub(super) const ABSOLUTE: Piece = Piece {
        lo: -1.0,
        hi: 1.0,
        at: 0.0,
        bend: 0.0,
    };

    /// The same loss times a positive number.
    pub(super) fn times(self, factor: f64) -> Self {
        Piece {
            lo: self.lo * factor,
            hi: self.hi * factor,
            at: self.at,
            bend: self.bend / factor,
        }
    }

    /// How many of its slopes' ends there are.
    pub(super) fn ends(self) -> f64 {
        f64::from(u8::from(self.lo.is_finite()) + u8::from(self.hi.is_finite()))
    }

    /// ∂ℓ/∂z; at a kink, the greatest.
    pub(super) fn slope(self, z: f64) -> f64 {
        if self.bend > 0.0 {
            ((z - self.at) / self.bend).clamp(self.lo, self.hi)
        } else if z < self.at {
            self.lo
        } else {
            self.hi
        }
    }

    /// ℓ(z).
    pub(super) fn value(self, z: f64) -> f64 {
        let beyond = z - self.at;
        if self.bend > 0.0 {
            let slope = self.slope(z);
            slope * (beyond - 0.5 * self.bend * slope)
        } else {
            (self.lo * beyond).max(self.hi * beyond)
        }
    }

    /// About how large the products of slopes and scores are at z.
    pub(super) fn size(self, z: f64) -> f64 {
        let beyond = (z - self.at).abs();
        if self.bend > 0.0 {
            beyond * beyond / self.bend
        } else {
            beyond * (self.hi - self.lo)
        }
    }

    /// How far s is from both of its ends where the products with their multipliers are τ; without a lower end s itself
    /// in the place of the first, unless there is an upper one.
    pub(super) fn start(self, z: f64, tau: f64) -> (f64, f64) {
        let beyond = z - self.at;
        if self.bend > 0.0 {
            // bend·q² + beyond·q = τ for the distance q from an upper end at 0.
            let distance = |beyond: f64| {
                let root = (beyond * beyond + 4.0 * self.bend * tau).sqrt();
                if beyond > 0.0 {
                    2.0 * tau / (beyond + root)
                } else {
                    (root - beyond) / (2.0 * self.bend)
                }
            };
            return match (self.lo.is_finite(), self.hi.is_finite()) {
                (_, true) => (1.0, distance(beyond)),
                (true, false) => (distance(-beyond), 1.0),
                (false, false) => (beyond / self.bend, 1.0),
            };
        }
        let width = self.hi - self.lo;
        let rho = beyond * width / tau;
        let off = 0.5 * rho / (2.0 + (4.0 + rho * rho).sqrt());
        let least = 1e-12;
        (width * (0.5 + off).max(least), width * (0.5 - off).max(least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{Loss, on_loss};

    #[test]
    fn the_pieces_are_the_losses() {
        for name in [
            LossName::Hinge,
            LossName::Absolute,
            LossName::SquaredHinge,
            LossName::Squared,
        ] {
            for y in [-1.0, 1.0] {
                let piece = Piece::new(name, y).unwrap();
                for z in [-3.0, -1.5, -0.5, 0.0, 0.25, 2.0] {
                    on_loss!(name, loss => {
                        assert_eq!(piece.times(4.0).value(z), 4.0 * loss.value(y, z));
                        assert_eq!(piece.value(z), loss.value(y, z));
                        assert_eq!(piece.slope(z), loss.slope(y, z));
                        assert_eq!((piece.lo, piece.hi), loss.slopes(y));
                    }, softmax => unreachable!());
                }
            }
        }
        assert_eq!(Piece::new(LossName::Logistic, 1.0), None);
    }

    /// At the start v − u = z − at − bend·s with both multipliers τ over their distances.
    #[test]
    fn the_start_is_on_the_central_path() {
        for name in [LossName::Hinge, LossName::Absolute, LossName::SquaredHinge] {
            for y in [-1.0, 1.0] {
                let piece = Piece::new(name, y).unwrap();
                for (z, tau) in [(0.0, 1.0), (5.0, 0.1), (-7.0, 0.3), (1.0, 1e-3)] {
                    let (p, q) = piece.start(z, tau);
                    let u = if piece.lo.is_finite() { tau / p } else { 0.0 };
                    let v = if piece.hi.is_finite() { tau / q } else { 0.0 };
                    let s = if piece.hi.is_finite() {
                        piece.hi - q
                    } else {
                        piece.lo + p
                    };
                    let off = v - u - (z - piece.at - piece.bend * s);
                    assert!(off.abs() < 1e-9, "{name:?} {y} {z} {tau}: {off}");
                }
            }
        }
    }
}
