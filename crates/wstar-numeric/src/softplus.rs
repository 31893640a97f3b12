//! The logistic loss log(1 + e^(−m)) and its derivatives for many margins m at once.
//!
//! With t = e^(−|m|), log(1 + t) = 2·artanh(s) for s = t/(2 + t), a power series in s² ≤ 1/9. The exponential is a power of
//! two times a Taylor polynomial on |r| ≤ ½·log 2. Both need only sums and products, which vectorise, and are accurate to a
//! few units in the last place: the exponential to [`EXP_ERROR`], the probabilities to [`SHARE_ERROR`].
#![allow(unsafe_code)]

use crate::dispatch::widest;

widest! {
    /// For each margin m: `values` = log(1 + e^(−m)); `wrongs` = p = 1/(1 + e^m), the probability of the other label;
    /// `curvatures` = p(1 − p).
    pub fn losses<T>(margins: &[T], values: &mut [f64], wrongs: &mut [f64], curvatures: &mut [f64]) -> () = losses_plain;

    /// e^x for each x ≤ 0; 0 for x < −708.
    pub fn exponentials_of<T>(x: &[T], out: &mut [f64]) -> () = exponentials_of_plain;
}

/// The relative error of the exponential. Derived: 4u with u = 2⁻⁵³; `wstar-check` has the proof for the same algorithm
/// (`elementary.rs`).
pub const EXP_ERROR: f64 = 4.0 / (1u64 << 53) as f64;

/// The relative error of the smaller of p and 1 − p, and of p(1 − p). Derived: e = e^(−|m|) errs by 4u, 1/(1 + e) by 4u + 2u,
/// each product by u: below 16u.
pub const SHARE_ERROR: f64 = 16.0 / (1u64 << 53) as f64;

/// The number of margins processed side by side. Derived: one AVX-512 register has eight doubles.
const LANES: usize = 8;
type Lanes = [f64; LANES];

#[inline(always)]
fn losses_plain<T: Copy + Into<f64>>(
    margins: &[T],
    values: &mut [f64],
    wrongs: &mut [f64],
    curvatures: &mut [f64],
) {
    let length = margins.len();
    let mut start = 0;
    while start < length {
        let end = (start + LANES).min(length);
        let mut m = [0.0; LANES];
        m.iter_mut()
            .zip(&margins[start..end])
            .for_each(|(m, &margin)| *m = margin.into());
        let (value, wrong, curvature) = eight(m);
        values[start..end].copy_from_slice(&value[..end - start]);
        wrongs[start..end].copy_from_slice(&wrong[..end - start]);
        curvatures[start..end].copy_from_slice(&curvature[..end - start]);
        start = end;
    }
}

#[inline(always)]
fn exponentials_of_plain<T: Copy + Into<f64>>(x: &[T], out: &mut [f64]) {
    for (x, out) in x.chunks(LANES).zip(out.chunks_mut(LANES)) {
        let mut lanes = [0.0; LANES];
        lanes.iter_mut().zip(x).for_each(|(lane, &x)| *lane = x.into());
        out.copy_from_slice(&exponentials(lanes)[..x.len()]);
    }
}

#[inline(always)]
fn eight(m: Lanes) -> (Lanes, Lanes, Lanes) {
    let e = exponentials(map(m, |m| -m.abs()));
    let logarithm = logs_of_one_plus(e);
    let share = map(e, |e| 1.0 / (1.0 + e));
    let value = both(logarithm, m, |log, m| log + (-m).max(0.0));
    let less = both(e, share, |e, share| e * share);
    let curvature = both(less, share, |less, share| less * share);
    let mut wrong = share;
    for lane in 0..LANES {
        wrong[lane] = if m[lane] > 0.0 { less[lane] } else { share[lane] };
    }
    (value, wrong, curvature)
}

#[inline(always)]
fn map(mut x: Lanes, f: impl Fn(f64) -> f64) -> Lanes {
    for x in &mut x {
        *x = f(*x);
    }
    x
}

#[inline(always)]
fn both(mut x: Lanes, y: Lanes, f: impl Fn(f64, f64) -> f64) -> Lanes {
    for lane in 0..LANES {
        x[lane] = f(x[lane], y[lane]);
    }
    x
}

/// The Taylor coefficients 1/k! of the exponential, from k = 13 down to 0.
const FACTORIALS: [f64; 14] = [
    1.0 / 6_227_020_800.0,
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
    1.0,
    1.0,
];

/// e^x for x ≤ 0; 0 where the result would be subnormal.
#[inline(always)]
fn exponentials(x: Lanes) -> Lanes {
    /// Adding 3·2⁵¹ rounds to the nearest integer and leaves it in the last bits of the sum.
    const ROUND: f64 = (3u64 << 51) as f64;
    /// log 2 as the sum of two numbers, the first with so few bits that its integer multiples are exact.
    const LOG_2: (f64, f64) = (0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10);
    /// The smallest argument that is evaluated. Derived: e^(−708) is above the smallest normal number 2⁻¹⁰²² ≈ e^(−708.4).
    const LEAST: f64 = -708.0;
    let within = map(x, |x| x.max(LEAST));
    let rounded = map(within, |x| x * std::f64::consts::LOG2_E + ROUND);
    let r = both(within, rounded, |x, rounded| {
        let k = rounded - ROUND;
        (x - k * LOG_2.0) - k * LOG_2.1
    });
    let mut sum = [0.0; LANES];
    for term in FACTORIALS {
        sum = both(sum, r, |sum, r| sum * r + term);
    }
    let power = map(rounded, |rounded| {
        f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52)
    });
    let sum = both(sum, power, |sum, power| sum * power);
    both(sum, x, |sum, x| if x < LEAST { 0.0 } else { sum })
}

/// The coefficients 1/(2k + 1) of artanh, from k = 15 down to 1.
const ODDS: [f64; 15] = [
    1.0 / 31.0,
    1.0 / 29.0,
    1.0 / 27.0,
    1.0 / 25.0,
    1.0 / 23.0,
    1.0 / 21.0,
    1.0 / 19.0,
    1.0 / 17.0,
    1.0 / 15.0,
    1.0 / 13.0,
    1.0 / 11.0,
    1.0 / 9.0,
    1.0 / 7.0,
    1.0 / 5.0,
    1.0 / 3.0,
];

/// log(1 + e) for e in [0, 1].
#[inline(always)]
fn logs_of_one_plus(e: Lanes) -> Lanes {
    twice_artanh(map(e, |e| e / (2.0 + e)))
}

/// log((1 + s)/(1 − s)) for s² ≤ 1/9.
#[inline(always)]
fn twice_artanh(s: Lanes) -> Lanes {
    let square = map(s, |s| s * s);
    let mut sum = [0.0; LANES];
    for term in ODDS {
        sum = both(sum, square, |sum, square| (sum + term) * square);
    }
    both(s, sum, |s, sum| 2.0 * s + 2.0 * s * sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn losses_agree_with_the_standard_functions(margins in prop::collection::vec(prop_oneof![-40.0..40.0f64, -800.0..800.0f64], 0..40)) {
            let mut found: [Vec<f64>; 3] = std::array::from_fn(|_| vec![0.0; margins.len()]);
            let [values, wrongs, curvatures] = &mut found;
            losses(&margins, values, wrongs, curvatures);
            for (((m, value), wrong), curvature) in margins.iter().zip(&*values).zip(&*wrongs).zip(&*curvatures) {
                let e = (-m.abs()).exp();
                let known = e.ln_1p() + (-m).max(0.0);
                let other = if *m > 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) };
                // The absolute tolerance covers subnormal results, which are flushed to 0.
                prop_assert!((value - known).abs() <= 1e-15 * known + 1e-307, "{m}: {value}, not {known}");
                prop_assert!((wrong - other).abs() <= 1e-15 * other + 1e-307, "{m}: {wrong}, not {other}");
                let both = e / ((1.0 + e) * (1.0 + e));
                prop_assert!((curvature - both).abs() <= 1e-15 * both + 1e-307, "{m}: {curvature}, not {both}");
            }
            let mut plain = found.clone();
            let [values, wrongs, curvatures] = &mut plain;
            losses_plain(&margins, values, wrongs, curvatures);
            prop_assert_eq!(plain, found);
        }
    }

    proptest! {
        #[test]
        fn exponentials_agree_with_the_standard_function(x in prop::collection::vec(prop_oneof![-40.0..0.0f64, -800.0..0.0f64], 0..40)) {
            let mut found = vec![1.0; x.len()];
            exponentials_of(&x, &mut found);
            for (x, found) in x.iter().zip(&found) {
                let known = if *x < -708.0 { 0.0 } else { x.exp() };
                // Derived: 4 units of rounding of ours and half of one of the standard function.
                prop_assert!((found - known).abs() <= 4.5 * 0.5 * f64::EPSILON * known, "{x}: {found}, not {known}");
            }
            let mut plain = vec![1.0; x.len()];
            exponentials_of_plain(&x, &mut plain);
            prop_assert_eq!(plain, found);
        }
    }

    #[test]
    fn zero_and_extreme_margins_are_exact() {
        let margins = [0.0, -0.0, 1e300, -1e300, f64::MIN_POSITIVE];
        let (mut values, mut wrongs, mut curvatures) = ([0.0; 5], [0.0; 5], [0.0; 5]);
        losses(&margins, &mut values, &mut wrongs, &mut curvatures);
        let log_2 = std::f64::consts::LN_2;
        assert_eq!(values, [log_2, log_2, 0.0, 1e300, log_2]);
        assert_eq!(wrongs, [0.5, 0.5, 0.0, 1.0, 0.5]);
        assert_eq!(curvatures, [0.25, 0.25, 0.0, 0.0, 0.25]);
    }
}
