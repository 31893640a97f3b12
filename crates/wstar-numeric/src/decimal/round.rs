//! Correctly rounded conversion from decimal to binary: `digits / 10^decimals` as the nearest `f64`.
//!
//! For up to 19 digits and 27 decimals, one product with a reciprocal almost always decides the rounding (D. Lemire, *Number
//! parsing at a gigabyte per second*, 2021): first with a reciprocal of 64 bits, then with one of 128. The undecided cases,
//! mostly values that are exact in binary, take one exact division if the digits form an integer up to 2⁵³ and the power of
//! ten is at most 10²² (W. D. Clinger, *How to read floating point numbers accurately*, 1990). The caller handles the rest.

/// The powers of ten that are exact in `f64`.
pub(super) static POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// The maximum number of decimals for which a reciprocal is stored. Derived: 5²⁷ is the largest power of five below 2⁶³.
const MOST_DECIMALS: usize = 27;

/// The number of stored mantissa bits of a double.
const STORED: u32 = 52;

/// The 128 leading bits of 5⁻ⁿ for n ≥ 1, rounded down; the highest bit is set.
const RECIPROCALS: [u128; MOST_DECIMALS + 1] = {
    let mut table = [0; MOST_DECIMALS + 1];
    let mut power: u128 = 1;
    let mut n = 1;
    while n <= MOST_DECIMALS {
        power *= 5;
        // 2ᵏ/5ⁿ by long division in base 2, with the k for which the quotient has 128 bits.
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

/// The 64 leading bits of 5⁻ⁿ, and an exponent field one below that of the double 2⁶²·10⁻ⁿ. The length is a power of two, so
/// that a masked index needs no bounds check. Entries without a reciprocal are 0, for which every product is undecided.
pub(super) static SHORT_RECIPROCALS: [(u64, u64); 32] = {
    let mut table = [(0, 0); 32];
    let mut n = 1;
    while n <= MOST_DECIMALS {
        table[n] = ((RECIPROCALS[n] >> 64) as u64, (exponent(n) + 1022) as u64);
        n += 1;
    }
    table
};

/// The binary exponent of the product of a normalised number (at least 2⁶³) with a reciprocal, if the product has 127 bits.
const fn exponent(decimals: usize) -> i64 {
    // 217706/2¹⁶ approximates log₂10 accurately enough for these powers.
    ((-(decimals as i64) * 217_706) >> 16) + 63
}

/// `digits / 10^decimals`, correctly rounded; `None` if one product or one division does not decide.
#[inline(always)]
pub fn decimal(digits: u64, decimals: usize) -> Option<f64> {
    match SHORT_RECIPROCALS.get(decimals) {
        Some(_) => quick_decimal(digits, decimals).or_else(|| careful(digits, decimals)),
        None => None,
    }
}

/// [`decimal`] for at most 31 decimals by one product of 64 bits; `None` where that does not decide. It never decides for
/// `decimals` = 0, and otherwise fails in about one of 256 cases.
#[inline(always)]
pub fn quick_decimal(digits: u64, decimals: usize) -> Option<f64> {
    let leading = digits.leading_zeros();
    let (reciprocal, exponent) = SHORT_RECIPROCALS[decimals % 32];
    let product = u128::from(digits.wrapping_shl(leading)) * u128::from(reciprocal);
    let high = (product >> 64) as u64;
    // The truncated reciprocal makes the product too small by less than 2⁶⁴, one unit of its upper half. The leading 54 bits
    // of that half are the mantissa and the rounding bit. They are correct unless all lower bits are ones, and a tie or a
    // value next to a tie requires that all lower bits are zeros.
    if (high + 1) & 0x1FF <= 1 {
        return None;
    }
    let carried = high >> 63;
    // The implicit bit of the mantissa, and a carry from rounding, add to the exponent field.
    let mantissa = ((high >> (9 + carried)) + 1) >> 1;
    let exponent = exponent + carried - u64::from(leading);
    Some(f64::from_bits((exponent << STORED) + mantissa))
}

/// The maximum number of digits for which every integer is exact in `f64`. Derived: 10¹⁵ < 2⁵³ < 10¹⁶.
pub const SHORT: usize = 15;

/// `digits / 10^decimals`, correctly rounded, for at most [`SHORT`] digits and at most [`SHORT`] decimals: one division of two
/// exact numbers.
#[inline(always)]
pub fn short_decimal(digits: u64, decimals: usize) -> f64 {
    digits as i64 as f64 / POWERS[decimals]
}

/// [`decimal`] where the short product does not decide: by a product of 192 bits, or else by an exact division.
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

/// `digits / 10^decimals` by a product of 192 bits; `None` if that does not decide.
fn scaled(digits: u64, decimals: usize) -> Option<f64> {
    if digits == 0 || decimals == 0 || decimals > MOST_DECIMALS {
        return None;
    }
    let leading = digits.leading_zeros();
    let normal = u128::from(digits << leading);
    // The reciprocal rounded up.
    let reciprocal = RECIPROCALS[decimals] + 1;
    let upper = normal * (reciprocal >> 64);
    let lower = normal * (reciprocal & u128::from(u64::MAX));
    let product = upper + (lower >> 64);
    let (high, low) = ((product >> 64) as u64, product as u64);
    // The reciprocal is too large by at most one unit, so the product is within one unit of the exact value. The rounding is
    // undecided only if the bits below the rounding bit may be exactly 0: a tie, or a value next to a tie.
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
    fn boundary_values_are_rounded_correctly() {
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
        fn rounding_agrees_with_the_standard_library(digits in any::<u64>(), bits in 1u32..=64, decimals in 0usize..33) {
            agrees(digits >> (64 - bits), decimals);
        }

        #[test]
        fn ties_and_their_neighbours_are_rounded_correctly(bits in any::<u64>(), power in 0u32..5, shift in -2i64..=2) {
            // (2k + 1)/2 for a mantissa k of 53 bits, times a power of ten.
            let middle = ((1u64 << 53) | (bits >> 11) | 1).checked_mul(10u64.pow(power));
            if let Some(middle) = middle {
                agrees(middle.wrapping_add_signed(shift), power as usize);
                agrees(middle.wrapping_add_signed(shift) / 2, power as usize + 1);
            }
        }
    }
}
