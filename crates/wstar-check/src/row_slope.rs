//! The slopes and the curvature of a row's cℓ in its scores, with bounds on their errors.
//!
//! Squared hinge and modified Huber: α = −cℓ'(z) is 2c times h, clipped to [0, 2] or to h ≥ 0. It is monotone in h and changes no
//! faster than 2ch, which bounds its error near a kink. There the curvature counts as 0, and as 2c in an upper bound.

use crate::arithmetic::{Interval, ONE, larger, two_prod};
use crate::defect::{residual_of, value};
use crate::elementary::exp_of_negative;
use crate::problem::{Loss, Subproblem};
use crate::products::Score;
use crate::softmax::{RowScores, curvature};

/// Distance from a kink within which the side of a row is not used.
pub(crate) const UNSURE: f64 = 1e-6;

/// A row's contribution to gradient and Hessian.
#[derive(Default)]
pub(crate) struct RowSlope {
    /// −cdℓ/dz of each score in two doubles, and a bound on its error.
    pub(crate) slopes: Vec<(f64, f64, f64)>,
    /// The Hessian of cℓ in the scores, whose entries have at most this relative error.
    pub(crate) curvature: Vec<f64>,
    pub(crate) relative_error: f64,
    /// An upper bound of a curvature that counts as 0: near a kink, or too small.
    pub(crate) unsure: f64,
    /// cℓ, but for softmax.
    pub(crate) value: Interval,
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
    /// The contribution of row `i` at a point.
    pub(crate) fn new(sub: &Subproblem<'_>, i: usize, point: &[f64]) -> RowSlope {
        let (loss, c, y) = (sub.problem.loss, sub.weights[i], sub.targets[i]);
        let weight = Interval::point(c);
        if loss == Loss::Softmax {
            let shares = RowScores::new(sub, i, point).shares;
            let slope = |(k, &p): (usize, &Interval)| {
                let slope = c * (Interval::point(f64::from(u8::from(k == y as usize))) - p);
                (slope.middle(), 0.0, slope.radius())
            };
            let middles: Vec<f64> = shares.iter().map(|p| p.middle()).collect();
            // Shares enter the curvature as products of two.
            return RowSlope {
                slopes: shares.iter().enumerate().map(slope).collect(),
                curvature: curvature(c, &middles, shares.len()),
                relative_error: 2.1 * shares.iter().copied().map(relative_error).fold(0.0, larger),
                ..RowSlope::default()
            };
        }
        let score = Score::new(sub.design.row(i), sub.problem.features, point);
        let (t, s, sign) = residual_of(loss, y);
        let h = score.residual(t, s);
        let value = value(loss, c, h);
        if loss == Loss::Logistic {
            let (p, q) = probabilities(h);
            let (a, curvature) = (weight * p, weight * p * q);
            let slopes = vec![(sign * a.middle(), 0.0, a.radius())];
            let known = curvature.lo > 0.0;
            return RowSlope {
                slopes,
                curvature: vec![if known { curvature.middle() } else { 0.0 }],
                relative_error: if known { relative_error(curvature) } else { 0.0 },
                unsure: if known { 0.0 } else { curvature.hi },
                value,
            };
        }
        let (factor, kinks): (f64, &[f64]) = match loss {
            Loss::Squared => (c, &[]),
            Loss::SquaredHinge => (2.0 * c, &[0.0]),
            _ => (2.0 * c, &[0.0, 2.0]),
        };
        let distance = |kink: &f64| (h - Interval::point(*kink)).abs().lo;
        let near = kinks.iter().any(|kink| distance(kink) <= UNSURE);
        let beyond = loss != Loss::Squared && (h.hi <= 0.0 || kinks.len() == 2 && h.lo >= 2.0);
        let (high, low) = match (beyond, near) {
            (true, _) => (if h.hi <= 0.0 { 0.0 } else { 2.0 }, Interval::ZERO),
            (_, true) => (h.middle().max(0.0), h - Interval::point(h.middle())),
            _ => score.residual_parts(t, s),
        };
        let high = if kinks.len() == 2 { high.min(2.0) } else { high };
        let (p, e) = two_prod(factor, high);
        let rest = Interval::point(e) + factor * low;
        RowSlope {
            slopes: vec![(sign * p, sign * rest.middle(), rest.radius())],
            curvature: vec![if near || beyond { 0.0 } else { factor }],
            unsure: if near { factor } else { 0.0 },
            value,
            ..RowSlope::default()
        }
    }
}

/// How far the middle of a positive interval is from its ends, relatively.
fn relative_error(x: Interval) -> f64 {
    match x == Interval::ZERO {
        true => 0.0,
        false => (Interval::new(0.0, x.radius()) / x).hi,
    }
}
