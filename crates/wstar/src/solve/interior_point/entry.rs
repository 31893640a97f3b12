//! One row of the interior point method, or one weight under ℓ1: its loss, a slope strictly inside its interval,
//! and the multipliers of both ends.

use super::piece::Piece;
use super::scalar::Scalar;

/// c·ℓ(z) with its slope s and multipliers: p = s − lo, q = hi − s, and at the optimum
/// v − u = z − at − bend·s, pu = 0, qv = 0. An end that there is not has the multiplier 0 and is 1 away; without any,
/// p is s itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<S> {
    /// Its weight; an entry of weight 0 takes no part.
    pub(super) weight: f64,
    pub(super) piece: Piece,
    pub(super) z: S,
    p: S,
    q: S,
    u: S,
    v: S,
    dz: S,
    ds: S,
    du: S,
    dv: S,
}

/// Sums over entries along a direction, and how far it may be followed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reach {
    /// Σ c(pu + qv) after a step t is the sum of `along[k]`·tᵏ.
    pub(super) along: [f64; 3],
    /// The longest step that keeps everything at least 0.
    pub(super) step: f64,
}

impl Default for Reach {
    fn default() -> Self {
        Reach {
            along: [0.0; 3],
            step: f64::INFINITY,
        }
    }
}

impl Reach {
    pub(super) fn merge(&mut self, other: &Reach) {
        self.along
            .iter_mut()
            .zip(other.along)
            .for_each(|(to, from)| *to += from);
        self.step = self.step.min(other.step);
    }

    /// Σ c(pu + qv) after a step.
    pub(super) fn at(&self, step: f64) -> f64 {
        self.along[0] + step * (self.along[1] + step * self.along[2])
    }
}

impl<S: Scalar> Entry<S> {
    /// At the point with pu = qv = τ that belongs to the score z.
    pub(super) fn new(weight: f64, piece: Piece, z: f64, tau: f64) -> Self {
        let (p, q) = piece.start(z, tau);
        let zero = S::from(0.0);
        let multiplier = |end: f64, distance: f64| {
            if end.is_finite() {
                S::from(tau) / S::from(distance)
            } else {
                zero
            }
        };
        Entry {
            weight,
            piece,
            z: S::from(z),
            u: multiplier(piece.lo, p),
            v: multiplier(piece.hi, q),
            p: S::from(p),
            q: S::from(q),
            dz: zero,
            ds: zero,
            du: zero,
            dv: zero,
        }
    }

    /// Whether s has an upper end.
    fn below(&self) -> bool {
        self.piece.hi.is_finite()
    }

    /// Whether s has a lower end.
    fn above(&self) -> bool {
        self.piece.lo.is_finite()
    }

    /// z − at − bend·s.
    pub(super) fn residual(&self) -> S {
        let residual = self.z - S::from(self.piece.at);
        if self.piece.bend > 0.0 {
            residual - self.slope() * self.piece.bend
        } else {
            residual
        }
    }

    /// The loss, without its weight.
    pub(super) fn loss(&self) -> f64 {
        self.piece.value(self.z.value())
    }

    /// The conjugate of the loss at the slope.
    pub(super) fn conjugate(&self) -> S {
        let slope = self.slope();
        let linear = slope * self.piece.at;
        if self.piece.bend > 0.0 {
            linear + slope * slope * (0.5 * self.piece.bend)
        } else {
            linear
        }
    }

    /// The slope, inside its interval whatever the rounding.
    pub(super) fn slope(&self) -> S {
        let (lo, hi) = (S::from(self.piece.lo), S::from(self.piece.hi));
        match (self.above(), self.below()) {
            (true, true) => {
                let slope = if self.p < self.q { lo + self.p } else { hi - self.q };
                if slope < lo {
                    lo
                } else if slope > hi {
                    hi
                } else {
                    slope
                }
            }
            (false, true) => hi - self.q,
            (true, false) => lo + self.p,
            (false, false) => self.p,
        }
    }

    /// Whether the slope is as good as at an end of its interval: any other kink holds its score at 0.
    pub(super) fn is_at_end(&self) -> bool {
        /// How near that is, relatively.
        const NEAR: f64 = 0.01;
        self.weight == 0.0 || self.p.value().min(self.q.value()) <= NEAR * self.piece.hi
    }

    /// How the slope answers to the score: ds/dz.
    pub(super) fn curvature(&self) -> S {
        let (p, q) = (self.p, self.q);
        if self.piece.bend > 0.0 {
            S::from(1.0) / (self.u / p + self.v / q + S::from(self.piece.bend))
        } else {
            p * q / (self.u * q + self.v * p)
        }
    }

    /// What one unit of τ adds to the change of the slope, before the curvature.
    pub(super) fn centring(&self) -> S {
        let over = |there: bool, distance: S| {
            if there {
                S::from(1.0) / distance
            } else {
                S::from(0.0)
            }
        };
        over(self.above(), self.p) - over(self.below(), self.q)
    }

    /// Σ of complementarities.
    pub(super) fn complementarity(&self) -> f64 {
        (self.p * self.u + self.q * self.v).value()
    }

    /// Takes the predictor's direction, for a change `dz` of the score and τ = 0.
    pub(super) fn predict(&mut self, dz: S) {
        self.dz = dz;
        self.ds = self.curvature() * (dz + self.residual());
        self.du = -self.u - self.u * self.ds / self.p;
        self.dv = -self.v + self.v * self.ds / self.q;
    }

    /// The predictor's second-order term, before the curvature.
    pub(super) fn second_order(&self) -> S {
        -self.ds * (self.dv / self.q + self.du / self.p)
    }

    /// Replaces the predictor's direction by the corrector's.
    pub(super) fn correct(&mut self, dz: S, tau: f64) {
        let (low, high) = (self.ds * self.du, self.ds * self.dv);
        let pull = dz + self.residual() + self.centring() * tau + self.second_order();
        let ds = self.curvature() * pull;
        let tau = S::from(tau);
        if self.above() {
            self.du = (tau - self.p * self.u - low - self.u * ds) / self.p;
        }
        if self.below() {
            self.dv = (tau - self.q * self.v + high + self.v * ds) / self.q;
        }
        self.ds = ds;
        self.dz = dz;
    }

    /// Adds what the direction does to the sums.
    pub(super) fn reach(&self, reach: &mut Reach) {
        let c = self.weight;
        let (p, q, u, v) = (self.p.value(), self.q.value(), self.u.value(), self.v.value());
        let (ds, du, dv) = (self.ds.value(), self.du.value(), self.dv.value());
        reach.along[0] += c * self.complementarity();
        reach.along[1] += c * (p * du + u * ds + q * dv - v * ds);
        reach.along[2] += c * ds * (du - dv);
        let mut keep = |value: f64, change: f64| {
            if change < 0.0 {
                reach.step = reach.step.min(-value / change);
            }
        };
        if self.above() {
            keep(p, ds);
            keep(u, du);
        }
        if self.below() {
            keep(q, -ds);
            keep(v, dv);
        }
    }

    /// Follows the direction.
    pub(super) fn advance(&mut self, step: f64) {
        // Rounding must not bring a zero: it would divide.
        const LEAST: f64 = 1e-200;
        let moved = |value: S, change: S| {
            let moved = value + change * step;
            if moved.value() > LEAST {
                moved
            } else {
                S::from(LEAST)
            }
        };
        self.z += self.dz * step;
        let (above, below) = (self.above(), self.below());
        if above {
            self.p = moved(self.p, self.ds);
            self.u = moved(self.u, self.du);
        } else if !below {
            self.p += self.ds * step;
        }
        if below {
            self.q = moved(self.q, -self.ds);
            self.v = moved(self.v, self.dv);
        }
    }
}
