//! From decimal to binary, correctly rounded: `digits / 10^decimals` as the nearest `f64`.
//!
//! A decimal with up to 19 digits and 27 decimals is nearly always one product with a reciprocal away from its
//! value (D. Lemire, *Number parsing at a gigabyte per second*, 2021): with one of 64 bits first, then with one
//! of 128. What such a product cannot decide, values that are exact in binary above all, is one exact division
//! away if its digits make an integer up to 2⁵³ and its power of ten is at most 10²² (W. D. Clinger, *How to
//! read floating point numbers accurately*, 1990). The rest is for a slower way.

/// The powers of ten that `f64` holds exactly.
pub(super) static POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// The most decimals for which there is a reciprocal: 5²⁷ is the largest power of five below 2⁶³.
const MOST_DECIMALS: usize = 27;

/// Bits of a double's mantissa that are stored.
const STORED: u32 = 52;

/// 128 leading bits of 5⁻ⁿ for n ≥ 1, rounded down; the highest one is set.
const RECIPROCALS: [u128; MOST_DECIMALS + 1] = {
    let mut table = [0; MOST_DECIMALS + 1];
    let mut power: u128 = 1;
    let mut n = 1;
    while n <= MOST_DECIMALS {
        power *= 5;
        // 2ᵏ/5ⁿ with k so large that the quotient has 128 bits, by long division in base 2.
        let (mut quotient, mut rest) = (0u128, 1u128);
        while quotient < 1 << 127 {
            rest <<= 1;
            quotient <<= 1;
            if rest >= power {
                rest -= power;
                quotient += 1;
            }
        }
        table[n] = quotient;
        n += 1;
    }
    table
};

/// 64 leading bits of 5⁻ⁿ, and the exponent field of a double one below that of 2⁶²·10⁻ⁿ. There is a power of two
/// of them, so that a place needs no check; those without a reciprocal have 0, of which no product is decided.
pub(super) static SHORT_RECIPROCALS: [(u64, u64); 32] = {
    let mut table = [(0, 0); 32];
    let mut n = 1;
    while n <= MOST_DECIMALS {
        table[n] = ((RECIPROCALS[n] >> 64) as u64, (exponent(n) + 1022) as u64);
        n += 1;
    }
    table
};

/// The exponent of the product of a number from 2⁶³ on with a reciprocal, if it has 127 bits.
const fn exponent(decimals: usize) -> i64 {
    // 217706/2¹⁶ is log₂10, near enough for these powers.
    ((-(decimals as i64) * 217_706) >> 16) + 63
}

/// `digits / 10^decimals`, correctly rounded, or `None` where that takes more than a product or a quotient.
#[inline(always)]
pub fn decimal(digits: u64, decimals: usize) -> Option<f64> {
    match SHORT_RECIPROCALS.get(decimals) {
        Some(_) => quick_decimal(digits, decimals).or_else(|| careful(digits, decimals)),
        None => None,
    }
}

/// The same for at most 31 decimals, or `None` where one short product does not decide: for whole numbers
/// always, else in one of 256 cases.
#[inline(always)]
pub fn quick_decimal(digits: u64, decimals: usize) -> Option<f64> {
    let leading = digits.leading_zeros();
    let (reciprocal, exponent) = SHORT_RECIPROCALS[decimals % 32];
    let product = u128::from(digits.wrapping_shl(leading)) * u128::from(reciprocal);
    let high = (product >> 64) as u64;
    // The product is too small by less than 2⁶⁴, a unit of its upper half, where 54 bits or 55 are the mantissa
    // and the bit that rounds. They are right unless all below are ones; and a tie, or what is just beside one,
    // only if all below are zeros.
    if (high + 1) & 0x1FF <= 1 {
        return None;
    }
    let carried = high >> 63;
    // The mantissa brings its highest bit with it, and rounding may bring one more: both go into the exponent.
    let mantissa = ((high >> (9 + carried)) + 1) >> 1;
    let exponent = exponent + carried - u64::from(leading);
    Some(f64::from_bits((exponent << STORED) + mantissa))
}

/// So many digits always make an integer that `f64` holds exactly.
pub const SHORT: usize = 15;

/// `digits / 10^decimals`, correctly rounded, for at most [`SHORT`] digits and as many decimals.
#[inline(always)]
pub fn short_decimal(digits: u64, decimals: usize) -> f64 {
    digits as i64 as f64 / POWERS[decimals]
}

#[cold]
#[inline(never)]
fn careful(digits: u64, decimals: usize) -> Option<f64> {
    if let Some(value) = scaled(digits, decimals) {
        Some(value)
    } else if digits <= 1 << 53 && decimals < POWERS.len() {
        Some(digits as f64 / POWERS[decimals])
    } else {
        None
    }
}

/// The same with a product of 192 bits.
fn scaled(digits: u64, decimals: usize) -> Option<f64> {
    if digits == 0 || decimals == 0 || decimals > MOST_DECIMALS {
        return None;
    }
    let leading = digits.leading_zeros();
    let normal = u128::from(digits << leading);
    // Rounded up.
    let reciprocal = RECIPROCALS[decimals] + 1;
    let upper = normal * (reciprocal >> 64);
    let lower = normal * (reciprocal & u128::from(u64::MAX));
    let product = upper + (lower >> 64);
    let (high, low) = ((product >> 64) as u64, product as u64);
    // The reciprocal is too large by at most one unit, so the product is within one unit of the truth. All
    // that could hide is whether the bits below the one that rounds are exactly 0: a tie, or just beside one.
    let carried = (high >> 63) as u32;
    let kept = carried + 64 - STORED - 3;
    let below = high & ((1 << kept) - 1);
    if below == 0 && low <= 1 {
        return None;
    }
    let mut mantissa = high >> kept;
    let exponent = exponent(decimals) + i64::from(carried) - i64::from(leading) + 1023;
    mantissa += mantissa & 1;
    mantissa >>= 1;
    let overflow = mantissa >> (STORED + 1);
    let bits = ((exponent as u64 + overflow) << STORED) | (mantissa >> overflow) & ((1 << STORED) - 1);
    Some(f64::from_bits(bits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn agrees(digits: u64, decimals: usize) {
        let expected: f64 = format!("{digits}e-{decimals}").parse().unwrap();
        let same = |value: f64| assert_eq!(value.to_bits(), expected.to_bits(), "{digits}e-{decimals}");
        decimal(digits, decimals).into_iter().for_each(same);
        scaled(digits, decimals).into_iter().for_each(same);
        if decimals < 32 {
            quick_decimal(digits, decimals).into_iter().for_each(same);
        }
        if digits < 10u64.pow(15) && decimals <= 15 {
            same(short_decimal(digits, decimals));
            assert!(decimal(digits, decimals).is_some());
        }
    }

    #[test]
    fn the_borders_of_the_tables() {
        for decimals in 0..40 {
            for digits in [
                0,
                1,
                5,
                10,
                1 << 53,
                (1 << 53) + 1,
                9_999_999_999_999_999_999,
                u64::MAX,
            ] {
                agrees(digits, decimals);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(50_000))]

        #[test]
        fn agrees_with_the_plain_version(digits in any::<u64>(), bits in 1u32..=64, decimals in 0usize..33) {
            agrees(digits >> (64 - bits), decimals);
        }

        #[test]
        fn ties_and_their_neighbours(bits in any::<u64>(), power in 0u32..5, shift in -2i64..=2) {
            // (2k + 1)/2 for a mantissa k of 53 bits, times a power of ten.
            let middle = ((1u64 << 53) | (bits >> 11) | 1).checked_mul(10u64.pow(power));
            if let Some(middle) = middle {
                agrees(middle.wrapping_add_signed(shift), power as usize);
                agrees(middle.wrapping_add_signed(shift) / 2, power as usize + 1);
            }
        }
    }
}
