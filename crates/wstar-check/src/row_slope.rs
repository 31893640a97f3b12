//! −dP/dz of a row, α = −cℓ'(z), in two doubles with a bound on its error, and the curvature cℓ''(z).
//!
//! Squared hinge and modified Huber: α is 2c times h, clipped to [0, 2] or to h ≥ 0. It is monotone in h and changes no faster
//! than 2ch, which bounds its error near a kink. There the curvature counts as 0, and as 2c in an upper bound.

use crate::arithmetic::{Interval, two_prod};
use crate::defect::residual_of;
use crate::elementary::exp_of_negative;
use crate::problem::Loss;
use crate::products::Score;

const ONE: Interval = Interval { lo: 1.0, hi: 1.0 };
/// Distance from a kink within which the side of a row is not used.
pub(crate) const UNSURE: f64 = 1e-6;

/// A row's contribution: −dP/dz in two doubles with its error, and the curvature.
pub(crate) struct RowSlope {
    pub(crate) hi: f64,
    pub(crate) lo: f64,
    pub(crate) error: f64,
    pub(crate) curvature: Interval,
    /// An upper bound of curvatures near a kink.
    pub(crate) unsure: f64,
}

/// σ(−h) and σ(h).
pub(crate) fn probabilities(h: Interval) -> (Interval, Interval) {
    let at = |h: f64| {
        let e = exp_of_negative(Interval::point(-h.abs()));
        let (p, q) = (e / (ONE + e), ONE / (ONE + e));
        if h > 0.0 { (p, q) } else { (q, p) }
    };
    let (low, high) = (at(h.lo), at(h.hi));
    (high.0.hull(low.0), low.1.hull(high.1))
}

impl RowSlope {
    /// The row of a scalar loss.
    pub(crate) fn new(loss: Loss, c: f64, y: f64, score: Score) -> RowSlope {
        let (t, s, sign) = residual_of(loss, y);
        let weight = Interval::point(c);
        if loss == Loss::Logistic {
            let h = score.residual(t, s);
            let (p, q) = probabilities(h);
            let a = weight * p;
            let middle = sign * a.middle();
            let error = (a - Interval::point(a.middle())).abs().hi;
            return RowSlope {
                hi: middle,
                lo: 0.0,
                error,
                curvature: weight * p * q,
                unsure: 0.0,
            };
        }
        let (high, low, error) = score.residual_pair(t, s);
        let h = score.residual(t, s);
        let kinks: &[f64] = match loss {
            Loss::Squared => &[],
            Loss::SquaredHinge => &[0.0],
            _ => &[0.0, 2.0],
        };
        let near = kinks.iter().any(|&kink| {
            (h - Interval::point(kink)).lo <= UNSURE && (h - Interval::point(kink)).hi >= -UNSURE
        });
        let factor = if loss == Loss::Squared { c } else { 2.0 * c };
        let (high, low, error) = match loss {
            Loss::Squared => (high, low, error),
            _ if h.hi <= 0.0 => (0.0, 0.0, 0.0),
            Loss::ModifiedHuber if h.lo >= 2.0 => (2.0, 0.0, 0.0),
            // Near a kink the slope is monotone and changes no faster than h.
            _ if near => (
                h.middle().max(0.0),
                0.0,
                (h - Interval::point(h.middle())).abs().hi,
            ),
            _ => (high, low, error),
        };
        let (high, low) = if loss == Loss::ModifiedHuber && high > 2.0 {
            (2.0, 0.0)
        } else {
            (high, low)
        };
        let (p, e) = two_prod(factor, high);
        let rest = Interval::point(e) + Interval::point(factor) * Interval::point(low);
        let low = rest.middle();
        let error =
            (Interval::point(factor) * Interval::point(error) + (rest - Interval::point(low)).abs()).hi;
        let beyond = near || h.hi <= 0.0 || (loss == Loss::ModifiedHuber && h.lo >= 2.0);
        let flat = loss != Loss::Squared && beyond;
        let curvature = if flat {
            Interval::ZERO
        } else {
            Interval::point(factor)
        };
        RowSlope {
            hi: sign * p,
            lo: sign * low,
            error,
            curvature,
            unsure: if near { factor } else { 0.0 },
        }
    }
}
