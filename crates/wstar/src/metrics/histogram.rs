//! Histograms with bins of equal width for several groups, and quantiles.

use crate::metrics::{check, weight};
use wstar_data::error::{Error, Result};

/// A histogram of several groups, with bins of equal width.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Histogram {
    /// The edges of the bins: one more than the number of bins.
    pub(crate) edges: Vec<f64>,
    /// The weight in each bin, group by group.
    pub(crate) counts: Vec<Vec<f64>>,
}

impl Histogram {
    /// The edges of the bins: one more than the number of bins.
    pub fn edges(&self) -> &[f64] {
        &self.edges
    }

    /// The weight in each bin, group by group.
    pub fn counts(&self) -> &[Vec<f64>] {
        &self.counts
    }

    /// The weight of the largest bin.
    pub fn highest(&self) -> f64 {
        self.counts.iter().flatten().copied().fold(0.0, f64::max)
    }
}

/// Counts values of several groups in bins of equal width between the smallest and the largest value. An edge belongs
/// to the bin above it; the last edge belongs to the last bin.
///
/// ```
/// use wstar::metrics;
/// let found = metrics::histogram(&[0.0, 1.0, 1.5, 4.0], &[0, 0, 1, 1], 2, None, 4)?;
/// assert_eq!(found.counts(), [[1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 0.0, 1.0]]);
/// # Ok::<(), wstar::Error>(())
/// ```
pub fn histogram(
    values: &[f64],
    groups: &[u32],
    count: usize,
    weights: Option<&[f64]>,
    bins: usize,
) -> Result<Histogram> {
    check(values.len(), groups.len(), weights)?;
    if let Some(i) = values.iter().position(|value| !value.is_finite()) {
        return Err(Error::data(format!(
            "row {i}: {} is not a finite number",
            values[i]
        )));
    }
    if let Some(i) = groups.iter().position(|&group| group as usize >= count) {
        return Err(Error::data(format!("row {i}: group {} of {count}", groups[i])));
    }
    if bins == 0 {
        return Err(Error::settings("a histogram needs a bin"));
    }
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (low, high) = match low < high {
        true => (low, high),
        // If all values are equal, the range is extended on both sides. Heuristic: by ½, or by a thousandth of the
        // value; any range shows the same histogram.
        false if low.is_finite() => {
            let extension = (0.5f64).max(low.abs() * 1e-3);
            (low - extension, low + extension)
        }
        false => (0.0, 1.0),
    };
    // Dividing before subtracting avoids overflow of the difference.
    let width = high / bins as f64 - low / bins as f64;
    let mut counts = vec![vec![0.0; bins]; count];
    for (i, (&value, &group)) in values.iter().zip(groups).enumerate() {
        let bin = ((value / width - low / width) as usize).min(bins - 1);
        counts[group as usize][bin] += weight(weights, i);
    }
    let mut edges: Vec<f64> = (0..bins).map(|k| low + width * k as f64).collect();
    edges.push(high);
    Ok(Histogram { edges, counts })
}

/// The weighted quantiles: for each share, the smallest value that is at least as large as this share of the weight.
/// The result is empty if no row has positive weight.
///
/// ```
/// use wstar::metrics;
/// assert_eq!(metrics::quantiles(&[3.0, 1.0, 2.0], None, &[0.5])?, [2.0]);
/// # Ok::<(), wstar::Error>(())
/// ```
pub fn quantiles(values: &[f64], weights: Option<&[f64]>, shares: &[f64]) -> Result<Vec<f64>> {
    check(values.len(), values.len(), weights)?;
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]).then(a.cmp(&b)));
    order.retain(|&i| weight(weights, i) > 0.0);
    let total: f64 = order.iter().map(|&i| weight(weights, i)).sum();
    let Some(&last) = order.last() else {
        return Ok(Vec::new());
    };
    let at = |&share: &f64| {
        let mut reached = 0.0;
        let found = order.iter().find(|&&i| {
            reached += weight(weights, i);
            // The tolerance allows for rounding in the sums of weights. Heuristic: 1e-12 is far above it; not measured yet.
            reached >= share * total * (1.0 - 1e-12)
        });
        values[*found.unwrap_or(&last)]
    };
    Ok(shares.iter().map(at).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn counted_by_hand() {
        let found = histogram(&[0.0, 1.0, 1.5, 2.0, 4.0], &[0, 0, 1, 1, 1], 2, None, 4).unwrap();
        assert_eq!(found.edges, [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(found.counts, [[1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0]]);
        let single = histogram(&[3.0, 3.0], &[0, 0], 1, Some(&[1.0, 0.5]), 2).unwrap();
        assert_eq!(single.edges, [2.5, 3.0, 3.5]);
        assert_eq!(single.counts, [[0.0, 1.5]]);
        assert_eq!(single.highest(), 1.5);
        assert!(histogram(&[f64::NAN], &[0], 1, None, 2).is_err());
        assert!(histogram(&[1.0], &[1], 1, None, 2).is_err());
        assert!(histogram(&[1.0], &[0], 1, None, 0).is_err());
        assert_eq!(
            quantiles(&[3.0, 1.0, 2.0, 4.0], None, &[0.0, 0.25, 0.5, 0.51, 1.0]).unwrap(),
            [1.0, 1.0, 2.0, 3.0, 4.0]
        );
        assert_eq!(
            quantiles(&[3.0, 1.0], Some(&[3.0, 1.0]), &[0.25, 0.26]).unwrap(),
            [1.0, 3.0]
        );
        assert!(quantiles(&[], None, &[0.5]).unwrap().is_empty());
    }

    proptest! {
        #[test]
        fn no_row_is_lost(
            rows in prop::collection::vec((-1e300..1e300f64, 0u32..3, 0u8..4), 0..50), bins in 1usize..20
        ) {
            let values: Vec<f64> = rows.iter().map(|row| row.0).collect();
            let groups: Vec<u32> = rows.iter().map(|row| row.1).collect();
            let weights: Vec<f64> = rows.iter().map(|row| f64::from(row.2)).collect();
            let found = histogram(&values, &groups, 3, Some(&weights), bins).unwrap();
            prop_assert_eq!(found.edges.len(), bins + 1);
            prop_assert!(found.edges.windows(2).all(|pair| pair[0] < pair[1]));
            for group in 0..3 {
                let expected: f64 = rows.iter().filter(|row| row.1 == group).map(|row| f64::from(row.2)).sum();
                prop_assert_eq!(found.counts[group as usize].iter().sum::<f64>(), expected);
            }
        }
    }
}
