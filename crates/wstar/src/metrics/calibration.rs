//! Calibration curves: the observed frequency of the positive class for rows of similar predicted probability.
//!
//! Rows are sorted by their probability and cut into bins of about equal weight; equal probabilities stay
//! together. Each bin's frequency has Wilson's interval (E. B. Wilson, Probable inference, the law of succession,
//! and statistical inference, J. American Statistical Association 22, 1927), which stays within [0, 1] and is
//! accurate for few rows.

use rayon::prelude::*;

use crate::metrics::{check, weight};
use wstar_data::error::{Error, Result};
use wstar_numeric::tail_probabilities::normal_quantile;

/// A bin of rows with similar probabilities.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct CalibrationBin {
    /// The total weight of the rows.
    pub(crate) weight: f64,
    /// The mean predicted probability.
    pub(crate) predicted: f64,
    /// The fraction of positive rows.
    pub(crate) observed: f64,
    /// The lower end of the confidence interval of `observed`.
    pub(crate) lower: f64,
    /// The upper end of the confidence interval.
    pub(crate) upper: f64,
}

impl CalibrationBin {
    /// The total weight of the rows.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// The mean predicted probability.
    pub fn predicted(&self) -> f64 {
        self.predicted
    }

    /// The fraction of positive rows.
    pub fn observed(&self) -> f64 {
        self.observed
    }

    /// The lower end of the confidence interval of `observed`.
    pub fn lower(&self) -> f64 {
        self.lower
    }

    /// The upper end of the confidence interval.
    pub fn upper(&self) -> f64 {
        self.upper
    }
}

/// Bins of about equal weight, in increasing order of probability, with confidence intervals of the given level.
///
/// ```
/// use wstar::metrics;
/// let positive = [false, true, false, true];
/// let bins = metrics::calibration(&positive, &[0.2, 0.2, 0.8, 0.8], None, 2, 0.95)?;
/// assert_eq!((bins[0].predicted(), bins[0].observed()), (0.2, 0.5));
/// # Ok::<(), wstar::Error>(())
/// ```
pub fn calibration(
    positive: &[bool],
    probabilities: &[f64],
    weights: Option<&[f64]>,
    bins: usize,
    level: f64,
) -> Result<Vec<CalibrationBin>> {
    check(positive.len(), probabilities.len(), weights)?;
    if let Some(i) = probabilities.iter().position(|p| !(0.0..=1.0).contains(p)) {
        return Err(Error::data(format!(
            "row {i}: {} is not a probability",
            probabilities[i]
        )));
    }
    let mut order: Vec<usize> = (0..positive.len()).collect();
    order.par_sort_unstable_by(|&a, &b| probabilities[a].total_cmp(&probabilities[b]).then(a.cmp(&b)));
    let total: f64 = order.iter().map(|&i| weight(weights, i)).sum();
    let mut found: Vec<CalibrationBin> = Vec::new();
    let (mut left, mut within, mut predicted, mut observed) = (total, 0.0, 0.0, 0.0);
    for tied in order.chunk_by(|&a, &b| probabilities[a] == probabilities[b]) {
        for &i in tied {
            let w = weight(weights, i);
            within += w;
            predicted += w * probabilities[i];
            observed += if positive[i] { w } else { 0.0 };
        }
        // The remaining weight is divided by the number of remaining bins, so that many equal probabilities fill one
        // bin without emptying the others.
        let share = left / bins.saturating_sub(found.len()).max(1) as f64;
        let last = tied.last() == order.last();
        if within > 0.0 && (last || within >= share) {
            let (lower, upper) = wilson(observed, within, level)?;
            found.push(CalibrationBin {
                weight: within,
                predicted: predicted / within,
                observed: observed / within,
                lower,
                upper,
            });
            left -= within;
            (within, predicted, observed) = (0.0, 0.0, 0.0);
        }
    }
    Ok(found)
}

/// Wilson's confidence interval for a proportion, from `successes` in `trials`; with no trials it is [0, 1].
pub fn wilson(successes: f64, trials: f64, level: f64) -> Result<(f64, f64)> {
    if !(level > 0.0 && level < 1.0) {
        return Err(Error::settings(format!(
            "a confidence level lies between 0 and 1, not {level}"
        )));
    }
    if !(0.0..=trials).contains(&successes) {
        return Err(Error::data(format!(
            "{successes} of {trials} is not a proportion"
        )));
    }
    if trials == 0.0 {
        return Ok((0.0, 1.0));
    }
    let z = normal_quantile(1.0 - level);
    let share = successes / trials;
    let extra = z * z / trials;
    let centre = (share + extra / 2.0) / (1.0 + extra);
    let half = (share * (1.0 - share) * extra + extra * extra / 4.0).sqrt() / (1.0 + extra);
    // The interval must contain 0 if there are no successes, and 1 if there are only successes, despite rounding.
    let lower = if successes == 0.0 {
        0.0
    } else {
        (centre - half).max(0.0)
    };
    let upper = if successes == trials {
        1.0
    } else {
        (centre + half).min(1.0)
    };
    Ok((lower, upper))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn wilsons_interval_as_published() {
        // Newcombe (1998), table I, method 3 (score without continuity correction).
        for (successes, trials, lower, upper) in [
            (81.0, 263.0, 0.2553, 0.3662),
            (15.0, 148.0, 0.0624, 0.1605),
            (0.0, 20.0, 0.0000, 0.1611),
            (1.0, 29.0, 0.0061, 0.1718),
        ] {
            let found = wilson(successes, trials, 0.95).unwrap();
            assert!(
                (found.0 - lower).abs() < 5e-5 && (found.1 - upper).abs() < 5e-5,
                "{found:?}"
            );
        }
        assert_eq!(wilson(0.0, 0.0, 0.95).unwrap(), (0.0, 1.0));
        assert!(wilson(3.0, 2.0, 0.95).is_err());
        assert!(wilson(1.0, 2.0, 1.0).is_err());
    }

    #[test]
    fn bins_by_hand() {
        let probabilities = [0.1, 0.2, 0.3, 0.6, 0.7, 0.8];
        let positive = [false, false, true, true, false, true];
        let bins = calibration(&positive, &probabilities, None, 2, 0.95).unwrap();
        assert_eq!(bins.len(), 2);
        assert_eq!((bins[0].weight, bins[1].weight), (3.0, 3.0));
        assert!((bins[0].predicted - 0.2).abs() < 1e-15 && (bins[1].predicted - 0.7).abs() < 1e-15);
        assert!((bins[0].observed - 1.0 / 3.0).abs() < 1e-15 && (bins[1].observed - 2.0 / 3.0).abs() < 1e-15);
        assert!(calibration(&[true], &[1.5], None, 2, 0.95).is_err());
        assert!(calibration(&[], &[], None, 2, 0.95).unwrap().is_empty());
    }

    proptest! {
        #[test]
        fn bins_hold_all_rows_and_equal_probabilities_stay_together(
            rows in prop::collection::vec((any::<bool>(), 0u8..9, 0u8..4), 1..80), count in 1usize..12
        ) {
            let positive: Vec<bool> = rows.iter().map(|row| row.0).collect();
            let probabilities: Vec<f64> = rows.iter().map(|row| f64::from(row.1) / 8.0).collect();
            let weights: Vec<f64> = rows.iter().map(|row| f64::from(row.2)).collect();
            let bins = calibration(&positive, &probabilities, Some(&weights), count, 0.9).unwrap();
            prop_assert!(bins.len() <= count);
            let total: f64 = weights.iter().sum();
            prop_assert_eq!(bins.iter().map(|bin| bin.weight).sum::<f64>(), total);
            let hits: f64 = positive.iter().zip(&weights).filter(|row| *row.0).map(|row| row.1).sum();
            let observed: f64 = bins.iter().map(|bin| bin.weight * bin.observed).sum();
            prop_assert!((observed - hits).abs() < 1e-9);
            prop_assert!(bins.windows(2).all(|pair| pair[0].predicted < pair[1].predicted));
            prop_assert!(bins.iter().all(|b| b.lower <= b.observed + 1e-12 && b.observed <= b.upper + 1e-12));
        }
    }
}
