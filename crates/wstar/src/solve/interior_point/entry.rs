//! One row of the interior point method, or one weight under ℓ1: a loss with a kink, a slope strictly
//! inside its interval, and the multipliers of both ends.

use crate::solve::kink::Kink;

/// c·max(lo·(z − at), hi·(z − at)) with its slope s and multipliers: p = s − lo, q = hi − s, and at the
/// optimum v − u = z − at, pu = 0, qv = 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    /// Its weight; an entry of weight 0 takes no part.
    pub(super) weight: f64,
    pub(super) kink: Kink,
    pub(super) z: f64,
    p: f64,
    q: f64,
    u: f64,
    v: f64,
    dz: f64,
    ds: f64,
    du: f64,
    dv: f64,
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

impl Entry {
    /// At the point with pu = qv = τ that belongs to the score z.
    pub(super) fn new(weight: f64, kink: Kink, z: f64, tau: f64) -> Self {
        let width = kink.width();
        let rho = (z - kink.at) * width / tau;
        let off = 0.5 * rho / (2.0 + (4.0 + rho * rho).sqrt());
        let least = 1e-12;
        let (p, q) = (width * (0.5 + off).max(least), width * (0.5 - off).max(least));
        Entry {
            weight,
            kink,
            z,
            p,
            q,
            u: tau / p,
            v: tau / q,
            dz: 0.0,
            ds: 0.0,
            du: 0.0,
            dv: 0.0,
        }
    }

    /// z − at.
    pub(super) fn residual(&self) -> f64 {
        self.z - self.kink.at
    }

    /// The loss, without its weight.
    pub(super) fn loss(&self) -> f64 {
        self.kink.value(self.z)
    }

    /// The slope, inside its interval whatever the rounding.
    pub(super) fn slope(&self) -> f64 {
        let slope = if self.p < self.q {
            self.kink.lo + self.p
        } else {
            self.kink.hi - self.q
        };
        slope.clamp(self.kink.lo, self.kink.hi)
    }

    /// How the slope answers to the score: ds/dz.
    pub(super) fn curvature(&self) -> f64 {
        let (p, q) = (self.p, self.q);
        p * q / (self.u * q + self.v * p)
    }

    /// What one unit of τ adds to the change of the slope, before the curvature.
    pub(super) fn centring(&self) -> f64 {
        1.0 / self.p - 1.0 / self.q
    }

    /// Σ of complementarities.
    pub(super) fn complementarity(&self) -> f64 {
        self.p * self.u + self.q * self.v
    }

    /// Takes the predictor's direction, for a change `dz` of the score and τ = 0.
    pub(super) fn predict(&mut self, dz: f64) {
        self.dz = dz;
        self.ds = self.curvature() * (dz + self.residual());
        self.du = -self.u - self.u * self.ds / self.p;
        self.dv = -self.v + self.v * self.ds / self.q;
    }

    /// The predictor's second-order term, before the curvature.
    pub(super) fn second_order(&self) -> f64 {
        -self.ds * (self.dv / self.q + self.du / self.p)
    }

    /// Replaces the predictor's direction by the corrector's.
    pub(super) fn correct(&mut self, dz: f64, tau: f64) {
        let (low, high) = (self.ds * self.du, self.ds * self.dv);
        let pull = dz + self.residual() + tau * self.centring() + self.second_order();
        let ds = self.curvature() * pull;
        self.du = (tau - self.p * self.u - low - self.u * ds) / self.p;
        self.dv = (tau - self.q * self.v + high + self.v * ds) / self.q;
        self.ds = ds;
        self.dz = dz;
    }

    /// Adds what the direction does to the sums.
    pub(super) fn reach(&self, reach: &mut Reach) {
        let c = self.weight;
        reach.along[0] += c * self.complementarity();
        reach.along[1] += c * (self.p * self.du + self.u * self.ds + self.q * self.dv - self.v * self.ds);
        reach.along[2] += c * self.ds * (self.du - self.dv);
        for (value, change) in [
            (self.p, self.ds),
            (self.q, -self.ds),
            (self.u, self.du),
            (self.v, self.dv),
        ] {
            if change < 0.0 {
                reach.step = reach.step.min(-value / change);
            }
        }
    }

    /// Follows the direction.
    pub(super) fn advance(&mut self, step: f64) {
        // Rounding must not bring a zero: it would divide.
        const LEAST: f64 = 1e-200;
        self.z += step * self.dz;
        self.p = (self.p + step * self.ds).max(LEAST);
        self.q = (self.q - step * self.ds).max(LEAST);
        self.u = (self.u + step * self.du).max(LEAST);
        self.v = (self.v + step * self.dv).max(LEAST);
    }
}
