//! Readable formatting of numbers and counts.

use wstar::inference::Inference;

/// A number with about four significant digits.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        "0".into()
    } else if (1e-3..1e5).contains(&size) {
        let digits = (3 - size.log10().floor() as i32).clamp(0, 6) as usize;
        let text = format!("{value:.digits$}");
        match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
            false => text,
        }
    } else {
        format!("{value:.3e}")
    }
}

/// Statistics of the fit as a whole, such as the log-likelihood and AIC.
pub fn statistics(inference: &Inference) -> Vec<String> {
    [
        ("log-likelihood", inference.log_likelihood()),
        ("AIC", inference.aic()),
        ("BIC", inference.bic()),
        ("residual deviation", inference.residual_deviation()),
        ("adjusted R²", inference.adjusted_r_squared()),
    ]
    .into_iter()
    .filter_map(|(name, value)| value.map(|value| format!("{name} {}", number(value))))
    .collect()
}

/// An integer with commas between groups of three digits.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A fraction as a percentage.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// "1 row", "2 rows".
pub fn plural(value: u64, noun: &str) -> String {
    let ending = match (value, noun.ends_with('s')) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{} {noun}{ending}", count(value))
}

/// The first `most` items of a list, followed by the number of the remaining ones.
pub fn shortened(items: &[String], most: usize) -> String {
    if items.len() <= most {
        items.join(", ")
    } else {
        format!("{}, … {} more", items[..most].join(", "), items.len() - most)
    }
}

/// "1 pass", "2 passes".
pub fn passes(passes: u64) -> String {
    plural(passes, "pass")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted() {
        let shown = [0.0, 1.0, -2.417_34, 0.001_234_56, 12345.6, 1e-7, 3.0e9].map(number);
        assert_eq!(
            shown,
            ["0", "1", "-2.417", "0.001235", "12346", "1.000e-7", "3.000e9"]
        );
        assert_eq!([7, 1234, 1_000_000].map(count), ["7", "1,234", "1,000,000"]);
        assert_eq!(
            [passes(1), passes(2), plural(1, "class")],
            ["1 pass", "2 passes", "1 class"]
        );
    }
}
