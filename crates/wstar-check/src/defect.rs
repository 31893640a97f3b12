//! The defect of a row in Fenchel's inequality, FY(α, z) = cℓ(z) + cℓ*(−α/c) + αz ≥ 0, for a multiplier α with −α/c in the
//! closed range of slopes of ℓ (otherwise ℓ* is infinite).
//!
//! Let h = y − z, or h = yz (logistic), or h = 1 − yz (hinges), and a = α, or a = yα for y = ±1. Then
//!
//! | loss | range of a | FY |
//! |---|---|---|
//! | squared | all | (a − ch)²/(2c) |
//! | hinge | [0, c] | (c − a)h for h ≥ 0, a·abs(h) for h < 0 |
//! | squared hinge | a ≥ 0 | (a − 2ch)²/(4c) for h > 0, a²/(4c) + a·abs(h) for h ≤ 0 |
//! | modified Huber | [0, 4c] | the same for h ≤ 2, (4c − a)²/(4c) + (4c − a)(h − 2) for h > 2 |
//! | quantile q | [−(1 − q)c, qc] | (qc − a)h for h ≥ 0, ((1 − q)c + a)·abs(h) for h < 0 |
//! | logistic | [0, c] | c·KL(p'‖p), p' = (a/c, 1 − a/c), p = (σ(−h), σ(h)) |
//! | softmax | p' in the simplex | c·KL(p'‖p), α = c(e_y − p'), p = softmax(z) |
//!
//! *Proof.* Insert the conjugates −a + a²/(4c) (squared hinge, modified Huber), −a (hinge), −αy (quantile), Σp' log p' (softmax) and
//! complete the squares. For modified Huber beyond h = 2 let h = 2 + g: 4c(1 + g) + a²/(4c) − a(2 + g) =
//! (4c − a)²/(4c) + (4c − a)g. ∎
//!
//! FY is convex in z, as ℓ is. So its maximum over an interval of h is at an end of the interval. The multiplier is an interval:
//! every formula is evaluated in interval arithmetic, and a occurs in it once, or in factors that increase together.
//!
//! **Lemma (relative entropy).** KL(p'‖p) = Σ pₖφ(ωₖ) with pₖ' = pₖ(1 + ωₖ) and φ(ω) = (1 + ω)log(1 + ω) − ω, and
//! φ(ω) ≤ ½ω²(1 + max(−ω, 0)) for ω ≥ −1. *Proof.* Σpₖωₖ = 0 gives the sum. For ω ≥ 0, φ(0) = φ'(0) = 0 and φ'' = 1/(1 + ω) ≤ 1. For
//! ω < 0 the series φ = Σ_{n≥2} |ω|ⁿ/(n(n − 1)) is at most ½ω² + |ω|³·Σ_{n≥3} 1/(n(n − 1)) = ½ω² + ½|ω|³. ∎
//! Besides, pφ(ω) = p' log p' + p' log(1/p) − p' + p ≤ p'·log(1/p) + p for p' ≤ 1: this bound is used where p is tiny.

use crate::arithmetic::{Interval, U, larger};
use crate::elementary::{exp_of_negative, log1p};
use crate::mutant::{self, Mutant};
use crate::problem::Loss;

const ONE: Interval = Interval { lo: 1.0, hi: 1.0 };
/// At least log 2.
const LOG_2: f64 = 0.694;

/// The constant t and the sign s for which h = t − s·z, and the sign of a/α.
pub(crate) fn residual_of(loss: Loss, y: f64) -> (f64, f64, f64) {
    match loss {
        Loss::Logistic => (0.0, -y, y),
        Loss::Hinge | Loss::SquaredHinge | Loss::ModifiedHuber => (1.0, y, y),
        _ => (y, 1.0, 1.0),
    }
}

/// Doubles that bound a closed interval inside of the range of a.
pub(crate) fn range(loss: Loss, c: f64) -> (f64, f64) {
    match loss {
        Loss::Squared => (f64::NEG_INFINITY, f64::INFINITY),
        Loss::Logistic | Loss::Hinge => (0.0, c),
        Loss::SquaredHinge => (0.0, f64::INFINITY),
        Loss::ModifiedHuber => (0.0, 4.0 * c),
        Loss::Absolute => (-c, c),
        Loss::Quantile(_) => {
            let (below, above) = ends(loss, c);
            (-below.lo, above.lo)
        }
        Loss::Softmax | Loss::SigmoidMse => (0.0, 0.0),
    }
}

/// Minus the least a and the greatest a of a loss with kinks: (1 − q)c and qc, for the absolute loss c and c, for the hinge 0 and c.
pub(crate) fn ends(loss: Loss, c: f64) -> (Interval, Interval) {
    let c = Interval::point(c);
    match loss {
        Loss::Quantile(q) => ((ONE - Interval::point(q)) * c, q * c),
        Loss::Hinge => (Interval::ZERO, c),
        _ => (c, c),
    }
}

/// An interval that contains c·ℓ for all h of an interval.
pub(crate) fn value(loss: Loss, c: f64, h: Interval) -> Interval {
    let at = |end: f64| {
        let h = Interval::point(end);
        match loss {
            Loss::Logistic => (-h).positive_part() + log1p(exp_of_negative(-h.abs())),
            Loss::ModifiedHuber if end > 2.0 => 4.0 * (h - ONE),
            _ => h.positive_part().square(),
        }
    };
    c * match loss {
        Loss::Squared => 0.5 * h.square(),
        Loss::Hinge => h.positive_part(),
        Loss::Absolute => h.abs(),
        Loss::Quantile(q) => (q * h).max((Interval::point(q) - ONE) * h),
        _ if h == Interval::WHOLE => h,
        _ => at(h.lo).hull(at(h.hi)),
    }
}

/// An upper bound on FY for all a and h of two intervals; infinite if a may leave its range.
pub(crate) fn defect(loss: Loss, c: f64, a: Interval, h: Interval) -> f64 {
    let (least, greatest) = range(loss, c);
    let inside = least <= a.lo && a.hi <= greatest || mutant::is(Mutant::NoRange);
    if !(inside && h.lo.is_finite() && h.hi.is_finite()) {
        return f64::INFINITY;
    }
    if loss == Loss::Squared {
        let c = Interval::point(c);
        return halved(((a - c * h).square() / (2.0 * c)).hi);
    }
    let at_lower = defect_at(loss, c, a, h.lo);
    match h.lo == h.hi {
        true => at_lower,
        false => larger(at_lower, defect_at(loss, c, a, h.hi)),
    }
}

/// The same number, unless a test makes it wrong.
fn halved(bound: f64) -> f64 {
    let factor = if mutant::is(Mutant::HalfRowDefect) {
        0.5
    } else {
        1.0
    };
    factor * bound
}

/// An upper bound on FY for one h.
fn defect_at(loss: Loss, c: f64, a: Interval, end: f64) -> f64 {
    let weight = Interval::point(c);
    let h = Interval::point(end);
    let bound = match loss {
        Loss::Logistic => weight * logistic_entropy(weight, a, h),
        Loss::Hinge if end >= 0.0 => (weight - a) * h,
        Loss::Hinge => a * -h,
        Loss::Absolute | Loss::Quantile(_) => {
            let (below, above) = ends(loss, c);
            if end >= 0.0 {
                (above - a) * h
            } else {
                (below + a) * -h
            }
        }
        Loss::ModifiedHuber if end > 2.0 => {
            let rest = 4.0 * weight - a;
            rest.square() / (4.0 * weight) + rest * (h - ONE - ONE)
        }
        _ if end > 0.0 => (a - 2.0 * weight * h).square() / (4.0 * weight),
        _ => a.square() / (4.0 * weight) + a * -h,
    };
    halved(bound.hi)
}

/// KL(p'‖p) for p' = (a/c, (c − a)/c) and p = (σ(−h), σ(h)).
fn logistic_entropy(c: Interval, a: Interval, h: Interval) -> Interval {
    let e = exp_of_negative(-h.abs());
    let (smaller, greater) = (e / (ONE + e), ONE / (ONE + e));
    let (of_smaller, of_greater) = match h.lo > 0.0 {
        true => (a / c, (c - a) / c),
        false => ((c - a) / c, a / c),
    };
    entropy_term(of_smaller, smaller, h.abs().hi + LOG_2) + entropy_term(of_greater, greater, LOG_2)
}

/// From 0 to an upper bound of pφ(ω), p' = p(1 + ω), given an upper bound of log(1/p).
pub(crate) fn entropy_term(p_dual: Interval, p: Interval, log_inverse: f64) -> Interval {
    let far = (p_dual * Interval::point(log_inverse.next_up()) + p).hi;
    if p.lo <= 0.0 {
        return Interval::new(0.0, far);
    }
    let omega = p_dual / p - ONE;
    let near = 0.5 * p * omega.square() * (ONE + (-omega).positive_part());
    Interval::new(0.0, near.hi.min(far))
}

/// a for the slope of the loss at h: any double of the range, of which nothing is required.
pub(crate) fn slope(loss: Loss, c: f64, h: f64) -> f64 {
    let (least, greatest) = range(loss, c);
    let a = match loss {
        Loss::Squared => c * h,
        Loss::Logistic => {
            let e = (-h.abs()).exp();
            let smaller = c * (e / (1.0 + e));
            if h > 0.0 { smaller } else { c - smaller }
        }
        Loss::SquaredHinge | Loss::ModifiedHuber => 2.0 * c * h.max(0.0),
        _ if h > 0.0 => greatest,
        _ => least,
    };
    a.max(least).min(greatest)
}

/// cℓ'' at a point with the multiplier a.
pub(crate) fn curvature(loss: Loss, c: f64, a: f64, h: f64) -> f64 {
    match loss {
        Loss::Squared => c,
        Loss::Logistic => a * ((c - a) / c),
        Loss::SquaredHinge if h > 0.0 => 2.0 * c,
        Loss::ModifiedHuber if h > 0.0 && h < 2.0 => 2.0 * c,
        _ => 0.0,
    }
}

/// How far a row takes part in moves onto the equality constraints: any number of at least 0, and 0 at the ends of the range.
pub(crate) fn slack(loss: Loss, c: f64, a: f64) -> f64 {
    let (least, greatest) = range(loss, c);
    match loss {
        Loss::Squared => c,
        Loss::Logistic | Loss::Hinge => a * ((c - a) / c) * (1.0 - 4.0 * U),
        Loss::SquaredHinge => a.min(2.0 * c),
        _ => (a - least).min(greatest - a).min(2.0 * c),
    }
}

/// a for a stored share: the position of −α/c between the ends of the slopes, or s/(1 − s) from the only finite end, or α/c.
pub(crate) fn of_share(loss: Loss, c: f64, y: f64, share: f64) -> f64 {
    let (least, greatest) = range(loss, c);
    let a = match loss {
        Loss::Squared => c * share,
        Loss::SquaredHinge => c * (share / (1.0 - share)),
        // α runs from −greatest slope to −least slope; a = yα runs backwards for y = −1.
        Loss::Logistic | Loss::Hinge | Loss::ModifiedHuber if y < 0.0 => (1.0 - share) * greatest,
        Loss::Absolute => c * (2.0 * share - 1.0),
        Loss::Quantile(q) => c * (share - (1.0 - q)),
        _ => share * greatest,
    };
    a.max(least).min(greatest)
}
