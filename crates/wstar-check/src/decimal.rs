//! Numbers as decimal text that never says more than was proved.

/// A bound from above with two significant digits, rounded up.
pub(crate) fn at_most(bound: f64) -> String {
    if bound == 0.0 {
        return "0".into();
    }
    if !bound.is_finite() {
        return "not bounded".into();
    }
    let unit = 10f64.powi(bound.abs().log10().floor() as i32);
    // Rounding to two digits changes a number by at most 0.05 units.
    let mut raised = bound;
    loop {
        let text = format!("{raised:.1e}");
        if text.parse::<f64>().is_ok_and(|value| value > bound) || !raised.is_finite() {
            return text;
        }
        raised += 0.02 * unit.max(f64::MIN_POSITIVE);
    }
}

/// The ends of an interval, each moved outwards by one unit in the last place, so that its decimal text lies outside.
pub(crate) fn interval((low, high): (f64, f64)) -> String {
    match low.is_finite() && high.is_finite() {
        true => format!("{:?} to {:?}", low.next_down(), high.next_up()),
        false => "not enclosed".into(),
    }
}

/// The digits of a significand. Derived: an integer of so many digits fits into 128 bits, with a factor of 10³ to spare.
const DIGITS: usize = 35;

/// A decimal number and a power of ten, such that every number within `radius` of high + low is within that power of the decimal
/// number: `-10.65133062095797 ± 1e-14`. `None` if the radius leaves no digit.
pub(crate) fn enclosure(high: f64, low: f64, radius: f64) -> Option<String> {
    if ![high, low, radius].iter().all(|value| value.is_finite()) {
        return None;
    }
    if high == 0.0 {
        return (low == 0.0).then(|| format!("0 ± {}", at_most(radius)));
    }
    // The standard library rounds the exact decimal expansion of high to these digits: high = value · 10^last, up to half a unit.
    let text = format!("{high:.*e}", DIGITS - 1);
    let (mantissa, exponent) = text.split_once('e')?;
    let last = exponent.parse::<i32>().ok()? - (DIGITS as i32 - 1);
    let unit: f64 = format!("1e{last}").parse().ok()?;
    // Both quotients have a relative error below 3 · 2⁻⁵³, and four units cover the rounding to whole units.
    let (low, radius) = (low / unit, radius / unit);
    let radius = (radius + 1e-15 * (low.abs() + radius)).ceil() + 4.0;
    if !(unit.is_normal() && low.abs() < 1e35 && radius < 1e35) {
        return None;
    }
    let mut value = mantissa.replace('.', "").parse::<i128>().ok()? + low.round() as i128;
    let radius = radius as i128;
    // The last digits are dropped until the dropped part and the radius are at most half a unit each.
    let (mut unit, mut dropped) = (1i128, 0i32);
    while radius.checked_mul(2)? > unit {
        unit = unit.checked_mul(10)?;
        dropped += 1;
    }
    let (quotient, rest) = (value.div_euclid(unit), value.rem_euclid(unit));
    value = quotient + i128::from(rest >= unit - rest);
    (value != 0).then(|| format!("{} ± 1e{}", plain(value, last + dropped), last + dropped))
}

/// value · 10^last as a decimal number, in scientific notation if it is long.
fn plain(value: i128, last: i32) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let digits = value.unsigned_abs().to_string();
    let point = digits.len() as i32 + last;
    if last > 0 || point < -4 {
        let (first, rest) = digits.split_at(1);
        let dot = if rest.is_empty() { "" } else { "." };
        format!("{sign}{first}{dot}{rest}e{}", point - 1)
    } else if last == 0 {
        format!("{sign}{digits}")
    } else if point > 0 {
        let (whole, fraction) = digits.split_at(point as usize);
        format!("{sign}{whole}.{fraction}")
    } else {
        format!("{sign}0.{}{digits}", "0".repeat(-point as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_rounded_up() {
        for (bound, text) in [
            (1.21e-11, "1.3e-11"),
            (0.0, "0"),
            (9.96, "1.0e1"),
            (f64::INFINITY, "not bounded"),
        ] {
            assert_eq!(at_most(bound), text);
        }
        for k in 1..2000 {
            let bound = 1.37f64.powi(k - 1000);
            let value: f64 = at_most(bound).parse().unwrap();
            assert!(value > bound && value < 1.2 * bound, "{bound} {value}");
        }
    }

    #[test]
    fn enclosures_contain_the_interval() {
        let enclosed = |high, low, radius| enclosure(high, low, radius).unwrap();
        assert_eq!(
            enclosed(-10.65133062095797, 0.0, 4e-15),
            "-10.65133062095797 ± 1e-14"
        );
        assert_eq!(
            enclosed(0.005498916934904633, 0.0, 4e-17),
            "0.0054989169349046 ± 1e-16"
        );
        assert_eq!(enclosed(1.0, 1e-20, 1e-22), "1.000000000000000000010 ± 1e-21");
        assert_eq!(enclosed(1.0, -1e-20, 1e-22), "0.999999999999999999990 ± 1e-21");
        assert_eq!(enclosed(123456.0, 0.0, 30.0), "1.235e5 ± 1e2");
        assert_eq!(enclosed(3.25e-9, 0.0, 1e-12), "3.25e-9 ± 1e-11");
        assert_eq!(enclosed(0.0, 0.0, 1e-12), "0 ± 1.1e-12");
        assert_eq!(enclosure(1.0, 0.0, f64::INFINITY), None);
        assert_eq!(enclosure(1.0, 0.0, 1e3), None);
        assert_eq!(enclosed(1e300, 1e-300, 1e290), "1.000000000e300 ± 1e291");
    }
}
