//! One entry of the interior point method, which is a row or a weight under ℓ1: its loss, a slope strictly
//! inside its interval, and the multipliers of both bounds.

use crate::interior_point::piecewise_loss::PiecewiseLoss;
use crate::newton_system::scalar::Scalar;

/// The loss c·ℓ(z) with its slope s and multipliers: p = s − lo and q = hi − s, and at the optimum v − u =
/// z − at − s/κ, pu = 0, qv = 0. For an infinite bound the multiplier is 0 and the distance is 1; if both
/// bounds are infinite, p is s itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<S> {
    /// The weight; an entry of weight 0 is ignored.
    pub(super) weight: f64,
    pub(super) piecewise: PiecewiseLoss,
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

/// The complementarity along a direction, and the longest feasible step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reach {
    /// The coefficients of Σ c(pu + qv) after a step t, as a polynomial in t.
    pub(super) along: [f64; 3],
    /// The longest step that keeps p, q, u and v nonnegative.
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

    /// Σ c(pu + qv) after a step of this length.
    pub(super) fn at(&self, step: f64) -> f64 {
        self.along[0] + step * (self.along[1] + step * self.along[2])
    }
}

impl<S: Scalar> Entry<S> {
    /// The entry at score z on the central path, pu = qv = τ.
    pub(super) fn new(weight: f64, piecewise: PiecewiseLoss, z: f64, tau: f64) -> Self {
        let (p, q) = piecewise.start(z, tau);
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
            piecewise,
            z: S::from(z),
            u: multiplier(piecewise.lo, p),
            v: multiplier(piecewise.hi, q),
            p: S::from(p),
            q: S::from(q),
            dz: zero,
            ds: zero,
            du: zero,
            dv: zero,
        }
    }

    /// Whether s has an upper bound.
    fn below(&self) -> bool {
        self.piecewise.hi.is_finite()
    }

    /// Whether s has a lower bound.
    fn above(&self) -> bool {
        self.piecewise.lo.is_finite()
    }

    /// z − at − s/κ.
    pub(super) fn residual(&self) -> S {
        let residual = self.z - S::from(self.piecewise.at);
        if self.piecewise.inverse_curvature > 0.0 {
            residual - self.slope() * self.piecewise.inverse_curvature
        } else {
            residual
        }
    }

    /// The loss, without the weight.
    pub(super) fn loss(&self) -> f64 {
        self.piecewise.value(self.z.value())
    }

    /// The conjugate ℓ\*(s) at the slope.
    pub(super) fn conjugate(&self) -> S {
        let slope = self.slope();
        let linear = slope * self.piecewise.at;
        if self.piecewise.inverse_curvature > 0.0 {
            linear + slope * slope * (0.5 * self.piecewise.inverse_curvature)
        } else {
            linear
        }
    }

    /// The slope, clamped to its interval against rounding.
    pub(super) fn slope(&self) -> S {
        let (lo, hi) = (S::from(self.piecewise.lo), S::from(self.piecewise.hi));
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

    /// Whether the slope is at a bound of its interval, up to a tolerance. A kink of ℓ1 whose slope is not at
    /// a bound holds its weight at 0.
    pub(super) fn is_at_bound(&self) -> bool {
        /// Relative distance at which a slope counts as being at its bound. Heuristic: trades wrongly zeroed
        /// weights against missed zeros; not measured yet.
        const NEAR: f64 = 0.01;
        self.weight == 0.0 || self.p.value().min(self.q.value()) <= NEAR * self.piecewise.hi
    }

    /// ds/dz, the derivative of the slope with respect to the score.
    pub(super) fn curvature(&self) -> S {
        let (p, q) = (self.p, self.q);
        if self.piecewise.inverse_curvature > 0.0 {
            S::from(1.0) / (self.u / p + self.v / q + S::from(self.piecewise.inverse_curvature))
        } else {
            p * q / (self.u * q + self.v * p)
        }
    }

    /// The derivative with respect to τ of the change of the slope, before multiplying by `curvature`.
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

    /// pu + qv.
    pub(super) fn complementarity(&self) -> f64 {
        (self.p * self.u + self.q * self.v).value()
    }

    /// Sets the predictor's direction (τ = 0) for a change `dz` of the score.
    pub(super) fn predict(&mut self, dz: S) {
        self.dz = dz;
        self.ds = self.curvature() * (dz + self.residual());
        self.du = -self.u - self.u * self.ds / self.p;
        self.dv = -self.v + self.v * self.ds / self.q;
    }

    /// The second-order term of the predictor, before multiplying by `curvature`.
    pub(super) fn second_order(&self) -> S {
        -self.ds * (self.dv / self.q + self.du / self.p)
    }

    /// Replaces the predictor's direction by the corrector's.
    pub(super) fn correct(&mut self, dz: S, tau: f64) {
        let (low, high) = (self.ds * self.du, self.ds * self.dv);
        let right = dz + self.residual() + self.centring() * tau + self.second_order();
        let ds = self.curvature() * right;
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

    /// Adds this entry's complementarity along the direction to `reach`, and limits its step.
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

    /// Takes a step along the direction.
    pub(super) fn advance(&mut self, step: f64) {
        // Smallest slack or multiplier: if one were rounded to 0, it would cause a division by zero. Derived: far
        // above the underflow of f64, 1e-308.
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
