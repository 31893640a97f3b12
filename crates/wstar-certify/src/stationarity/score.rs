//! The score of a row with exact products, so that columns far from 0 do not cost digits.

use wstar_data::Row;
use wstar_numeric::double_double::Compensated;

/// w·x + b, rounded once after summation in two doubles.
pub(super) fn score(row: Row<'_>, w: &[f64], b: f64) -> f64 {
    let mut sum = Compensated::default();
    row.for_each(|j, x| sum.add_product(w[j], x));
    sum.add(b);
    sum.value()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancellation_costs_no_digits() {
        let row = Row::Dense64(&[1e7 + 0.5, 1e7]);
        assert_eq!(score(row, &[0.1, -0.1], 0.0), 0.1 * 0.5);
        let offset = Row::Dense64(&[12_345_678.25]);
        assert_eq!(score(offset, &[3.0], -37_037_034.0), 0.75);
    }
}
