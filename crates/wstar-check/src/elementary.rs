//! The exponential function of numbers that are not positive, and log(1 + x) of numbers that are not negative.
//!
//! **Lemma (exp).** For −700 ≤ x ≤ 0 the computed value has a relative error of at most 4u.
//! *Proof.* k = round(x·log₂e), |k| ≤ 1010, so |x − k·ln 2| ≤ 0.3467. HI has 32 bits, so k·HI is exact. x − k·HI is exact: if k ≠ 0,
//! then |x| ≥ 0.34, both are multiples of 2⁻⁵⁴, and the difference is below ½. So r = fl(x − k·HI − fl(k·LO)) is within 0.36u of
//! x − k·ln 2. The Taylor series of e^r, cut after degree 13, leaves out less than 0.3467¹⁴/14!·1.03 < 5·10⁻¹⁸ < 0.07u·e^r. Let Q_k =
//! Σ_{j≥k} r^{j−k}/j!, which Horner's rule computes as 1/k! + r·Q_{k+1} with an error δ_k ≤ u(|Q_k| + |rQ_{k+1}| + 1/k!) + |r|δ_{k+1}, to first
//! order in u; the last term in brackets is the rounding of the coefficient and is absent for k ≤ 2. So δ₀/e^r ≤ u(1 + 2|rQ₁|/e^r +
//! 2r²Q₂/e^r + 3.1·Σ_{k≥3} |r|ᵏQ_k/e^r) with |rQ₁|/e^r = |1 − e^{−r}| ≤ 0.4145, |Q_k| ≤ e^{0.3467/(k+1)}/k! and e^{−r} ≤ 1.4145: at most 2.07u. The
//! sum 2.07u + 0.36u + 0.07u is below 4u. The factor 2ᵏ is exact, because the result is at least 2⁻¹⁰¹¹. ∎
//!
//! **Lemma (log1p).** For 0 ≤ x ≤ 1 the computed value of log(1 + x) has a relative error of at most 256u.
//! *Proof.* log(1 + x) = 2·artanh(s) with s = x/(2 + x) ≤ 1/3. The computed s has a relative error of at most 2.01u, which
//! changes artanh(s) by at most the factor (1 + 2.4u), as s/((1 − s²)·artanh s) ≤ 9/8. Let q = fl(s²), with a relative error of
//! at most 5.1u. All of the 18 terms s·q^k/(2k + 1) are positive; Horner's rule with 17 products and sums and rounded
//! coefficients has a relative error of at most γ₃₆, and q^17 one of at most 90u. The remainder is below s·9⁻¹⁸/37·9/8 < 0.01u
//! of the result, and the last product costs u. The total is below 140u. ∎

use std::f64::consts::LN_2;

use crate::arithmetic::{Interval, ONE, U};
use crate::mutant::Mutant;

const EXP_ERROR: f64 = 4.0 * U;
const LOG_ERROR: f64 = 256.0 * U;
/// e⁻⁷⁰⁰ is smaller.
const EXP_OF_MINUS_700: f64 = 1e-304;
/// The double below log 2 and the one above it.
const LN2: Interval = Interval {
    lo: LN_2,
    hi: LN_2.next_up(),
};
/// 1/k! for k = 0, …, 13, rounded; k! is exact.
const INVERSE_FACTORIALS: [f64; 14] = {
    let (mut inverses, mut factorial, mut k) = ([1.0; 14], 1.0, 1);
    while k < 14 {
        factorial *= k as f64;
        inverses[k] = 1.0 / factorial;
        k += 1;
    }
    inverses
};

/// e^x for −700 ≤ x ≤ 0.
fn exp_rounded(x: f64) -> f64 {
    const HI: f64 = 6.931_471_803_691_238e-1; // 0x3fe62e42fee00000
    const LO: f64 = 1.908_214_929_270_587_7e-10;
    let k = (x * std::f64::consts::LOG2_E).round();
    let r = (x - k * HI) - k * LO;
    let coefficients = INVERSE_FACTORIALS.iter().rev();
    let series = coefficients.fold(0.0, |sum, coefficient| coefficient + sum * r);
    series * f64::from_bits(((1023 + k as i64) as u64) << 52)
}

/// A proved interval around a computed positive number.
fn relative(x: f64, error: f64) -> Interval {
    let errors = Interval::new(-error, error).unless(Mutant::TinyRoundoff);
    Interval::point(x) * (ONE + errors)
}

/// e^x of the numbers of an interval that are at most 0.
pub(crate) fn exp_of_negative(x: Interval) -> Interval {
    let lo = match x.lo >= -700.0 {
        true => relative(exp_rounded(x.lo.min(0.0)), EXP_ERROR).lo,
        false => 0.0,
    };
    let hi = match (x.hi >= 0.0, x.hi >= -700.0) {
        (true, _) => 1.0,
        (_, true) => relative(exp_rounded(x.hi), EXP_ERROR).hi.min(1.0),
        _ => EXP_OF_MINUS_700,
    };
    Interval::new(lo, hi)
}

/// log(1 + x) for 0 ≤ x ≤ 1.
fn log1p_rounded(x: f64) -> f64 {
    let s = x / (2.0 + x);
    let q = s * s;
    let series = (0..18)
        .rev()
        .fold(0.0, |sum, k| 1.0 / f64::from(2 * k + 1) + sum * q);
    2.0 * s * series
}

/// log(1 + x) of one number of at least 0.
fn log1p_of(x: f64) -> Interval {
    if x <= 1e-20 {
        // x − x²/2 ≤ log(1 + x) ≤ x.
        return Interval::new(x.next_down().max(0.0), x);
    }
    if x <= 1.0 {
        return relative(log1p_rounded(x), LOG_ERROR);
    }
    // 1 + x = 2ᵏ(1 + f): log(1 + x) = k·ln 2 + log(1 + f), for both ends of the interval of 1 + x.
    let whole = Interval::point(1.0) + Interval::point(x);
    let of_end = |end: f64| {
        if !end.is_finite() {
            return Interval::WHOLE;
        }
        let k = ((end.to_bits() >> 52) & 0x7ff) as i64 - 1023;
        let f = f64::from_bits((end.to_bits() & ((1 << 52) - 1)) | (1023 << 52)) - 1.0;
        let fraction = relative(log1p_rounded(f), LOG_ERROR);
        k as f64 * LN2 + fraction
    };
    of_end(whole.lo).hull(of_end(whole.hi))
}

/// log(1 + x) of the numbers of an interval that are at least 0.
pub(crate) fn log1p(x: Interval) -> Interval {
    let lo = log1p_of(x.lo.max(0.0));
    if x.lo == x.hi {
        return lo;
    }
    match x.hi.is_finite() {
        true => Interval::new(lo.lo, log1p_of(x.hi.max(0.0)).hi),
        false => Interval::new(lo.lo, f64::INFINITY),
    }
}

/// log x of an interval of positive numbers: log(1 + (x − 1)) for x ≥ 1, otherwise −log(1 + (1/x − 1)).
pub(crate) fn log(x: Interval) -> Interval {
    let one = Interval::point(1.0);
    let of_end = |end: f64| match (end > 0.0 && end.is_finite(), end >= 1.0) {
        (false, _) => Interval::WHOLE,
        (_, true) => log1p(Interval::point(end) - one),
        (_, false) => -log1p(one / Interval::point(end) - one),
    };
    Interval::new(of_end(x.lo).lo, of_end(x.hi).hi)
}
