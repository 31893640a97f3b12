//! Parsing of a single number, correctly rounded, and fast on the decimals that are common in data files.
//!
//! Digits are read eight at a time with few branches, because a mispredicted branch costs more than the arithmetic. Numbers
//! of up to 19 digits without an exponent are rounded by [`decimal`]; all others go to the crate `fast-float2`.

use crate::decimal::eight;
use crate::decimal::round::{SHORT, decimal, short_decimal};

/// 10ⁿ for n ≤ 8, the number of leading digits of a word.
const SHIFTS: [u64; 9] = [
    1,
    10,
    100,
    1_000,
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
];

/// The number at the start of `text`, and its length in bytes; `POINT` is the decimal point.
///
/// Words such as `inf` and `nan` are not accepted. A number too large for `f64` is infinite.
#[inline(always)]
pub fn prefix<const POINT: u8>(text: &[u8]) -> Option<(f64, usize)> {
    // There is no branch on the sign, because the signs of real data are unpredictable.
    let first = *text.first()?;
    let negative = first == b'-';
    let start = usize::from(negative | (first == b'+'));
    let (mut mantissa, mut count) = digits(text, start, 0);
    let mut at = start + count;
    let mut fraction = 0;
    if text.get(at) == Some(&POINT) {
        at += 1;
        (mantissa, fraction) = digits(text, at, mantissa);
        at += fraction;
        count += fraction;
    }
    if count == 0 {
        return None;
    }
    let exponent = matches!(text.get(at), Some(b'e' | b'E'));
    if count > 19 || exponent {
        return general::<POINT>(text);
    }
    let size = if count <= SHORT {
        short_decimal(mantissa, fraction)
    } else if let Some(size) = decimal(mantissa, fraction) {
        size
    } else {
        return general::<POINT>(text);
    };
    Some((f64::from_bits(size.to_bits() | u64::from(negative) << 63), at))
}

/// Appends the digits at `start` to the decimal digits of `value`; returns the new integer and the number of digits appended.
/// With more than 19 digits in total the integer is meaningless.
#[inline(always)]
pub fn digits(text: &[u8], start: usize, mut value: u64) -> (u64, usize) {
    let mut at = start;
    while let Some(word) = word(text, at) {
        let (digits, count) = leading_digits(word);
        value = value.wrapping_mul(SHIFTS[count]).wrapping_add(eight(digits));
        at += count;
        if count < 8 {
            return (value, at - start);
        }
        // The number of digits of long decimals varies between 15 and 18, so two more words are read without a branch.
        if let Some(second) = crate::decimal::parse::word(text, at)
            && let Some(third) = crate::decimal::parse::word(text, at + 8)
        {
            let (digits, count) = leading_digits(second);
            value = value.wrapping_mul(SHIFTS[count]).wrapping_add(eight(digits));
            let third = if count == 8 { third } else { NO_DIGIT };
            let (digits, more) = leading_digits(third);
            value = value.wrapping_mul(SHIFTS[more]).wrapping_add(eight(digits));
            at += count + more;
            if more < 8 {
                return (value, at - start);
            }
        }
    }
    while let Some(digit) = text
        .get(at)
        .map(|byte| byte.wrapping_sub(b'0'))
        .filter(|&digit| digit < 10)
    {
        value = value.wrapping_mul(10).wrapping_add(digit.into());
        at += 1;
    }
    (value, at - start)
}

/// A word whose first byte is not a digit.
const NO_DIGIT: u64 = 0;

/// Eight bytes as a word, the first one in the lowest byte.
#[inline(always)]
fn word(text: &[u8], at: usize) -> Option<u64> {
    let bytes = text.get(at..)?.first_chunk::<8>()?;
    Some(u64::from_le_bytes(*bytes))
}

/// The values of the leading digits of a word, shifted to its end with zeros before them, and the number of these digits.
#[inline(always)]
fn leading_digits(word: u64) -> (u64, usize) {
    // Digits become their values; in all other bytes the tested bit is set.
    let word = word ^ 0x3030_3030_3030_3030;
    let others = (word.wrapping_add(0x7676_7676_7676_7676) | word) & 0x8080_8080_8080_8080;
    let count = others.trailing_zeros() / 8;
    // Two shifts by half, because a shift by 64 bits overflows and the case without digits should not need a branch.
    let half = 32 - 4 * count;
    ((word << half) << half, count as usize)
}

/// The number that `text` consists of; `None` unless the whole text is one number.
pub fn whole<const POINT: u8>(text: &[u8]) -> Option<f64> {
    let (value, length) = prefix::<POINT>(text)?;
    (length == text.len()).then_some(value)
}

/// [`prefix`] by `fast-float2`, for all numbers that the fast path does not handle.
#[cold]
fn general<const POINT: u8>(text: &[u8]) -> Option<(f64, usize)> {
    if POINT == b'.' {
        return fast_float2::parse_partial(text).ok();
    }
    let length = text
        .iter()
        .position(|&byte| {
            !(byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'e' | b'E') || byte == POINT)
        })
        .unwrap_or(text.len());
    let pointed: Vec<u8> = text[..length]
        .iter()
        .map(|&byte| if byte == POINT { b'.' } else { byte })
        .collect();
    fast_float2::parse_partial(pointed).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn agrees(text: &str) {
        let ours = whole::<b'.'>(text.as_bytes());
        let std = text.parse::<f64>().ok();
        assert_eq!(ours.map(f64::to_bits), std.map(f64::to_bits), "{text}");
        let comma = text.replace('.', ",");
        assert_eq!(
            whole::<b','>(comma.as_bytes()).map(f64::to_bits),
            std.map(f64::to_bits),
            "{comma}"
        );
    }

    #[test]
    fn all_forms_of_numbers_are_parsed() {
        for text in [
            "0",
            "-0",
            "+1",
            "1.",
            ".5",
            "-.5e3",
            "1e5",
            "1E-5",
            "1e+5",
            "00012.50",
            "1e400",
            "-1e400",
            "1e-400",
            "9007199254740993",
            "9007199254740992",
            "0.1",
            "123456789012345678901234567890",
            "0.00000000000000000000000000000000001",
            "2.2250738585072014e-308",
            "4.9e-324",
            "179769313486231570000000000000000000000.5",
        ] {
            agrees(text);
        }
        for text in [
            "", ".", "-", "+", "e5", "inf", "nan", "infinity", "1e", "1e+", "--1", "1.2.3", "0x10", "1_0",
            " 1", "1 ",
        ] {
            assert_eq!(whole::<b'.'>(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(prefix::<b'.'>(b"12.5:3"), Some((12.5, 4)));
        assert_eq!(prefix::<b'.'>(b"1e5x"), Some((1e5, 3)));
        assert_eq!(prefix::<b','>(b"12,5;3"), Some((12.5, 4)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn decimals_are_rounded_as_std_rounds_them(text in "[+-]?[0-9]{0,21}(\\.[0-9]{0,24})?(e[+-]?[0-9]{1,3})?") {
            let bare = text.trim_start_matches(['+', '-']);
            if bare.starts_with(|c: char| c.is_ascii_digit()) || bare.starts_with('.') && bare[1..].starts_with(|c: char| c.is_ascii_digit()) {
                agrees(&text);
            }
        }

        #[test]
        fn long_decimals_are_rounded_as_std_rounds_them(digits in any::<u64>(), decimals in 0usize..=28, bits in 1u32..64) {
            let digits = format!("{:0>30}", digits >> (64 - bits));
            let (whole, fraction) = digits.split_at(30 - decimals);
            agrees(&format!("{}.{fraction}", whole.trim_start_matches('0')).replace("..", "."));
            agrees(&format!("0{}.{fraction}", whole.trim_start_matches('0')));
        }

        #[test]
        fn halfway_cases_are_rounded_as_std_rounds_them(bits in any::<u64>(), power in 0i32..10, shift in -2i64..=2) {
            // Numbers at and next to the midpoint of two doubles.
            let mantissa = (1u64 << 53) | (bits >> 11) | 1;
            let scale = 10u128.pow(power as u32);
            let middle = (u128::from(mantissa) * scale) as i128 + i128::from(shift);
            let text = format!("{:0>12}", middle);
            let (whole, fraction) = text.split_at(text.len() - power as usize);
            agrees(&format!("{whole}.{fraction}"));
        }

        #[test]
        fn every_double_reads_back(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            agrees(&format!("{value}"));
            agrees(&format!("{value:e}"));
        }
    }
}
