//! Metrics of predictions. All of them take optional sample weights: a row of weight 2 counts as two
//! rows. With no rows, or a total weight of 0, a metric is 0 unless it is documented otherwise; it is never NaN.
//!
//! - `threshold_curves`: ROC and precision–recall curves.
//! - `calibration`: calibration curves.
//! - `histogram`: histograms and quantiles.

mod calibration;
mod histogram;
mod threshold_curves;

pub use calibration::{CalibrationBin, calibration, wilson};
pub use histogram::{Histogram, histogram, quantiles};
pub use threshold_curves::{PrecisionRecall, Roc, precision_recall, roc};

use rayon::prelude::*;

use crate::bayes::Penalties;
use wstar_data::error::{Error, Result};

/// The smallest probability in [`log_loss`]. Cap: smaller probabilities are raised to it, so that the loss is finite.
pub const LEAST_PROBABILITY: f64 = f64::EPSILON;

fn weight(weights: Option<&[f64]>, i: usize) -> f64 {
    weights.map_or(1.0, |weights| weights[i])
}

/// Rejects predictions or weights whose number differs from the number of rows, and invalid weights.
fn check(rows: usize, predictions: usize, weights: Option<&[f64]>) -> Result<()> {
    if rows != predictions {
        return Err(Error::data(format!("{rows} rows but {predictions} predictions")));
    }
    match weights {
        Some(weights) if weights.len() != rows => Err(Error::data(format!(
            "{rows} rows but {} sample weights",
            weights.len()
        ))),
        Some(weights) if !weights.iter().all(|w| w.is_finite() && *w >= 0.0) => {
            Err(Error::data("a sample weight is negative or not finite"))
        }
        _ => Ok(()),
    }
}

/// The weighted mean of a term over rows; 0 if the total weight is 0.
fn mean(rows: usize, weights: Option<&[f64]>, term: impl Fn(usize) -> f64) -> f64 {
    let (mut sum, mut total) = (0.0, 0.0);
    for i in 0..rows {
        let w = weight(weights, i);
        sum += w * term(i);
        total += w;
    }
    if total > 0.0 { sum / total } else { 0.0 }
}

/// The fraction of rows that are misclassified.
///
/// ```
/// use wstar::metrics;
/// assert_eq!(metrics::error(&[0, 0, 1, 1], &[0, 1, 1, 1], None)?, 0.25);
/// # Ok::<(), wstar::Error>(())
/// ```
pub fn error(truth: &[u32], predicted: &[u32], weights: Option<&[f64]>) -> Result<f64> {
    check(truth.len(), predicted.len(), weights)?;
    Ok(mean(truth.len(), weights, |i| {
        f64::from(u8::from(truth[i] != predicted[i]))
    }))
}

/// The fraction of rows that are classified correctly.
///
/// ```
/// use wstar::metrics;
/// assert_eq!(metrics::accuracy(&[0, 0, 1, 1], &[0, 1, 1, 1], None)?, 0.75);
/// # Ok::<(), wstar::Error>(())
/// ```
pub fn accuracy(truth: &[u32], predicted: &[u32], weights: Option<&[f64]>) -> Result<f64> {
    check(truth.len(), predicted.len(), weights)?;
    Ok(mean(truth.len(), weights, |i| {
        f64::from(u8::from(truth[i] == predicted[i]))
    }))
}

/// The mean squared error of a real target.
///
/// ```
/// use wstar::metrics;
/// assert_eq!(metrics::mean_squared(&[1.0, 2.0], &[1.0, 4.0], None)?, 2.0);
/// # Ok::<(), wstar::Error>(())
/// ```
pub fn mean_squared(truth: &[f64], predicted: &[f64], weights: Option<&[f64]>) -> Result<f64> {
    check(truth.len(), predicted.len(), weights)?;
    Ok(mean(truth.len(), weights, |i| (truth[i] - predicted[i]).powi(2)))
}

/// The mean absolute error of a real target.
///
/// ```
/// use wstar::metrics;
/// assert_eq!(metrics::mean_absolute(&[1.0, 2.0], &[1.0, 4.0], None)?, 1.0);
/// # Ok::<(), wstar::Error>(())
/// ```
pub fn mean_absolute(truth: &[f64], predicted: &[f64], weights: Option<&[f64]>) -> Result<f64> {
    check(truth.len(), predicted.len(), weights)?;
    Ok(mean(truth.len(), weights, |i| (truth[i] - predicted[i]).abs()))
}

/// 1 − (mean squared error)/(variance of the target); `None` if the target is constant.
///
/// ```
/// use wstar::metrics;
/// assert_eq!(metrics::r_squared(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0], None)?, Some(1.0));
/// # Ok::<(), wstar::Error>(())
/// ```
pub fn r_squared(truth: &[f64], predicted: &[f64], weights: Option<&[f64]>) -> Result<Option<f64>> {
    let unexplained = mean_squared(truth, predicted, weights)?;
    let centre = mean(truth.len(), weights, |i| truth[i]);
    let variance = mean(truth.len(), weights, |i| (truth[i] - centre).powi(2));
    Ok((variance > 0.0).then(|| 1.0 - unexplained / variance))
}

/// The confusion matrix: the weight of the rows by true class (rows) and predicted class (columns).
///
/// ```
/// use wstar::metrics;
/// assert_eq!(metrics::confusion(&[0, 0, 1], &[0, 1, 1], 2, None)?, [[1.0, 1.0], [0.0, 1.0]]);
/// # Ok::<(), wstar::Error>(())
/// ```
pub fn confusion(
    truth: &[u32],
    predicted: &[u32],
    classes: usize,
    weights: Option<&[f64]>,
) -> Result<Vec<Vec<f64>>> {
    check(truth.len(), predicted.len(), weights)?;
    let mut table = vec![vec![0.0; classes]; classes];
    for (i, (&k, &d)) in truth.iter().zip(predicted).enumerate() {
        let cell = table.get_mut(k as usize).and_then(|row| row.get_mut(d as usize));
        let cell = cell.ok_or_else(|| Error::data(format!("row {i}: class {k} or {d} of {classes}")))?;
        *cell += weight(weights, i);
    }
    Ok(table)
}

/// The empirical risk: the mean of W(k, d) over the rows. With the 0–1 matrix it equals the error.
pub fn empirical_risk(
    truth: &[u32],
    decided: &[u32],
    penalties: &Penalties,
    weights: Option<&[f64]>,
) -> Result<f64> {
    let table = confusion(truth, decided, penalties.classes(), weights)?;
    let (mut sum, mut total) = (0.0, 0.0);
    for (k, row) in table.iter().enumerate() {
        for (d, count) in row.iter().enumerate() {
            sum += count * penalties.cost(k, d);
            total += count;
        }
    }
    Ok(if total > 0.0 { sum / total } else { 0.0 })
}

/// The mean of −ln p(true class). `probabilities` holds `classes` numbers per row, row by row.
///
/// Probabilities are clipped to at least [`LEAST_PROBABILITY`] (2.2e-16), so that a row whose true class has
/// probability 0 costs 36.04 instead of infinity.
///
/// ```
/// use wstar::metrics;
/// let loss = metrics::log_loss(&[0, 1], &[0.5, 0.5, 0.5, 0.5], 2, None)?;
/// assert!((loss - 2f64.ln()).abs() < 1e-15);
/// # Ok::<(), wstar::Error>(())
/// ```
pub fn log_loss(
    truth: &[u32],
    probabilities: &[f64],
    classes: usize,
    weights: Option<&[f64]>,
) -> Result<f64> {
    if truth.len().checked_mul(classes) != Some(probabilities.len()) {
        return Err(Error::data(format!(
            "{} probabilities do not make {} rows of {classes}",
            probabilities.len(),
            truth.len()
        )));
    }
    check(truth.len(), truth.len(), weights)?;
    if let Some(i) = truth.iter().position(|&k| k as usize >= classes) {
        return Err(Error::data(format!("row {i}: class {} of {classes}", truth[i])));
    }
    Ok(mean(truth.len(), weights, |i| {
        -probabilities[i * classes + truth[i] as usize]
            .clamp(LEAST_PROBABILITY, 1.0)
            .ln()
    }))
}

/// The area under the ROC curve: the probability that a positive row scores above a negative one. Equal
/// scores count one half, and pairs are weighted by the product of their weights. `None` if there are no positive rows,
/// no negative rows, or a score is NaN.
///
/// ```
/// use wstar::metrics;
/// assert_eq!(metrics::auc(&[false, true, true], &[0.1, 0.4, 0.9], None)?, Some(1.0));
/// # Ok::<(), wstar::Error>(())
/// ```
pub fn auc(positive: &[bool], scores: &[f64], weights: Option<&[f64]>) -> Result<Option<f64>> {
    check(positive.len(), scores.len(), weights)?;
    if scores.iter().any(|score| score.is_nan()) {
        return Ok(None);
    }
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.par_sort_unstable_by(|&a, &b| scores[a].total_cmp(&scores[b]).then(a.cmp(&b)));
    // `twice` is twice the weight of the pairs in the right order. With integer weights every number here is an
    // integer, and the final ratio is the only rounding. Ties are compared with ==, so that -0 ties with 0.
    let (mut twice, mut below) = (0.0, 0.0);
    let mut all_positive = 0.0;
    for tied in order.chunk_by(|&a, &b| scores[a] == scores[b]) {
        let (mut pos, mut neg) = (0.0, 0.0);
        for &i in tied {
            *(if positive[i] { &mut pos } else { &mut neg }) += weight(weights, i);
        }
        twice += pos * (2.0 * below + neg);
        below += neg;
        all_positive += pos;
    }
    let pairs = all_positive * below;
    Ok((pairs > 0.0).then(|| twice / (2.0 * pairs)))
}

/// The mean squared error.
pub fn mse(truth: &[f64], predicted: &[f64], weights: Option<&[f64]>) -> Result<f64> {
    check(truth.len(), predicted.len(), weights)?;
    Ok(mean(truth.len(), weights, |i| {
        (truth[i] - predicted[i]) * (truth[i] - predicted[i])
    }))
}

/// The mean absolute error.
pub fn mae(truth: &[f64], predicted: &[f64], weights: Option<&[f64]>) -> Result<f64> {
    check(truth.len(), predicted.len(), weights)?;
    Ok(mean(truth.len(), weights, |i| (truth[i] - predicted[i]).abs()))
}

/// The coefficient of determination, 1 − (squared error)/(squared error of the mean). For a constant
/// target it is 1 if every prediction is right, and 0 otherwise.
pub fn r2(truth: &[f64], predicted: &[f64], weights: Option<&[f64]>) -> Result<f64> {
    let residual = mse(truth, predicted, weights)?;
    // Centring about the first row of positive weight makes the mean of a constant exact.
    let first = (0..truth.len()).find(|&i| weight(weights, i) > 0.0);
    let first = first.map_or(0.0, |i| truth[i]);
    let centre = first + mean(truth.len(), weights, |i| truth[i] - first);
    let spread = mean(truth.len(), weights, |i| {
        (truth[i] - centre) * (truth[i] - centre)
    });
    Ok(if spread > 0.0 {
        1.0 - residual / spread
    } else if residual == 0.0 {
        1.0
    } else {
        0.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn counted_by_hand() {
        let (truth, predicted) = ([0, 0, 1, 1, 2], [0, 1, 1, 1, 0]);
        assert_eq!(error(&truth, &predicted, None).unwrap(), 0.4);
        assert_eq!(accuracy(&truth, &predicted, None).unwrap(), 0.6);
        assert_eq!(
            confusion(&truth, &predicted, 3, None).unwrap(),
            [[1.0, 1.0, 0.0], [0.0, 2.0, 0.0], [1.0, 0.0, 0.0]]
        );
        // W: 0 on the diagonal; deciding 1 for 0 costs 3, deciding 0 for 2 costs 7.
        let penalties = Penalties::new(vec![
            vec![0.0, 3.0, 1.0],
            vec![1.0, 0.0, 1.0],
            vec![7.0, 1.0, 0.0],
        ])
        .unwrap();
        assert_eq!(empirical_risk(&truth, &predicted, &penalties, None).unwrap(), 2.0);
        let risk = empirical_risk(&truth, &predicted, &Penalties::zero_one(3), None).unwrap();
        assert_eq!(risk, 0.4);
        // Weights 1, 2, 1, 1, 5: errors weigh 7 of 10.
        let weights = [1.0, 2.0, 1.0, 1.0, 5.0];
        assert_eq!(error(&truth, &predicted, Some(&weights)).unwrap(), 0.7);
    }

    #[test]
    fn log_loss_is_finite_if_the_true_class_has_probability_0() {
        let loss = log_loss(&[0, 1], &[0.25, 0.75, 0.5, 0.5], 2, None).unwrap();
        assert!((loss - (4f64.ln() + 2f64.ln()) / 2.0).abs() < 1e-15);
        let loss = log_loss(&[1], &[1.0, 0.0], 2, None).unwrap();
        assert!((loss - 36.043_653_389_117_15).abs() < 1e-9);
    }

    #[test]
    fn regression_by_hand() {
        let (truth, predicted) = ([1.0, 2.0, 3.0, 6.0], [1.0, 2.0, 4.0, 4.0]);
        assert_eq!(mse(&truth, &predicted, None).unwrap(), 1.25);
        assert_eq!(mae(&truth, &predicted, None).unwrap(), 0.75);
        // About the mean 3 the variance of the truth is (4 + 1 + 0 + 9) / 4 = 3.5.
        assert!((r2(&truth, &predicted, None).unwrap() - (1.0 - 1.25 / 3.5)).abs() < 1e-15);
        assert_eq!(r2(&[0.1; 3], &[0.1; 3], None).unwrap(), 1.0);
        assert_eq!(r2(&[0.1; 3], &[0.2; 3], None).unwrap(), 0.0);
    }

    #[test]
    fn mismatched_lengths_are_refused_and_no_metric_is_nan() {
        assert!(error(&[0], &[], None).is_err());
        assert!(mse(&[0.0], &[0.0], Some(&[1.0, 1.0])).is_err());
        assert!(mse(&[0.0], &[0.0], Some(&[-1.0])).is_err());
        assert!(confusion(&[3], &[0], 2, None).is_err());
        assert!(log_loss(&[0], &[1.0], 2, None).is_err());
        assert_eq!(error(&[], &[], None).unwrap(), 0.0);
        assert_eq!(r2(&[], &[], None).unwrap(), 1.0);
        assert_eq!(auc(&[true, true], &[1.0, 2.0], None).unwrap(), None);
        assert_eq!(auc(&[true, false], &[0.0, -0.0], None).unwrap(), Some(0.5));
    }

    proptest! {
        /// Few distinct scores make ties common; the definition sums over every pair.
        #[test]
        fn auc_is_the_share_of_ordered_pairs(
            rows in prop::collection::vec((any::<bool>(), -3i8..3, 0u8..4), 0..60)
        ) {
            let positive: Vec<bool> = rows.iter().map(|row| row.0).collect();
            let scores: Vec<f64> = rows.iter().map(|row| f64::from(row.1) / 3.0).collect();
            let weights: Vec<f64> = rows.iter().map(|row| f64::from(row.2)).collect();
            let (mut right, mut pairs) = (0.0, 0.0);
            for a in 0..rows.len() {
                for b in 0..rows.len() {
                    if positive[a] && !positive[b] {
                        let weight = weights[a] * weights[b];
                        pairs += weight;
                        if scores[a] > scores[b] {
                            right += weight;
                        } else if scores[a] == scores[b] {
                            right += 0.5 * weight;
                        }
                    }
                }
            }
            let expected = (pairs > 0.0).then(|| right / pairs);
            prop_assert_eq!(auc(&positive, &scores, Some(&weights)).unwrap(), expected);
        }

        #[test]
        fn a_weight_of_two_is_the_row_twice(
            rows in prop::collection::vec((-3.0..3.0f64, -3.0..3.0f64, 0usize..3), 1..30)
        ) {
            let truth: Vec<f64> = rows.iter().map(|row| row.0).collect();
            let predicted: Vec<f64> = rows.iter().map(|row| row.1).collect();
            let weights: Vec<f64> = rows.iter().map(|row| row.2 as f64).collect();
            let repeated = |values: &[f64]| -> Vec<f64> {
                values.iter().zip(&rows).flat_map(|(&v, row)| vec![v; row.2]).collect()
            };
            let (long_truth, long_predicted) = (repeated(&truth), repeated(&predicted));
            for metric in [mse, mae, r2] {
                let weighted = metric(&truth, &predicted, Some(&weights)).unwrap();
                let long = metric(&long_truth, &long_predicted, None).unwrap();
                prop_assert!((weighted - long).abs() <= 1e-9 * long.abs().max(1.0));
            }
        }
    }
}
