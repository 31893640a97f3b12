//! Numbers in text, correctly rounded, and fast on the short decimals that data files are made of.
//!
//! A decimal with at most 19 digits whose digits make an integer up to 2⁵³ and whose power of ten is
//! at most 10²² is one exact division away from its value (W. D. Clinger, *How to read floating point
//! numbers accurately*, 1990). Everything else goes to `fast-float2`.

const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// The number at the start of `text`, with how many bytes it takes; `POINT` is the decimal point.
///
/// Words (`inf`, `nan`) are no numbers. A number too large for `f64` is infinite.
#[inline(always)]
pub(crate) fn prefix<const POINT: u8>(text: &[u8]) -> Option<(f64, usize)> {
    let (negative, start) = match text.first()? {
        b'-' => (true, 1),
        b'+' => (false, 1),
        _ => (false, 0),
    };
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
    if count > 19 || mantissa > 1 << 53 || fraction >= POWERS.len() || exponent {
        return general::<POINT>(text);
    }
    let size = mantissa as f64 / POWERS[fraction];
    Some((if negative { -size } else { size }, at))
}

/// The digits at `start`, put behind those of `value`, with their number; beyond 19 digits in all the
/// integer means nothing.
#[inline(always)]
pub(crate) fn digits(text: &[u8], start: usize, mut value: u64) -> (u64, usize) {
    let mut at = start;
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

/// All of `text` as a number.
pub(crate) fn whole<const POINT: u8>(text: &[u8]) -> Option<f64> {
    let (value, length) = prefix::<POINT>(text)?;
    (length == text.len()).then_some(value)
}

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
    fn every_form_of_a_number() {
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
        fn every_double_reads_back(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            agrees(&format!("{value}"));
            agrees(&format!("{value:e}"));
        }
    }
}
