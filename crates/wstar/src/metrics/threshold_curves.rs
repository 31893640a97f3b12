//! ROC and precision–recall curves of a score.
//!
//! Rows with equal scores are processed together, because no threshold separates them. A curve therefore does not
//! depend on the order of the rows, and the area under the ROC polygon is the rank statistic [`auc`](super::auc).

use rayon::prelude::*;

use crate::metrics::{check, weight};
use wstar_data::error::Result;

/// The weight of the rows that score at least a threshold, by their true class.
#[derive(Debug, Clone, Copy, PartialEq)]
struct RankPoint {
    /// The threshold; infinite at the first point, which no row reaches.
    threshold: f64,
    /// The weight of the positive rows that reach it.
    true_positive: f64,
    /// The weight of the negative rows that reach it.
    false_positive: f64,
}

/// The counts at every threshold, from the one that no row reaches to the one that all rows reach.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Roc {
    /// The points from (0, 0) to all rows.
    points: Vec<RankPoint>,
    /// The total weight of the positive rows.
    positive: f64,
    /// The total weight of the negative rows.
    negative: f64,
}

impl Roc {
    /// The curve: the false positive rate (x) and the true positive rate (y) at each threshold.
    pub fn rates(&self) -> impl ExactSizeIterator<Item = (f64, f64)> + '_ {
        let share = |point: &RankPoint| {
            (
                point.false_positive / self.negative,
                point.true_positive / self.positive,
            )
        };
        self.points.iter().map(share)
    }

    /// The area under the polygon through the points.
    pub fn area(&self) -> f64 {
        let twice: f64 = self
            .points
            .windows(2)
            .map(|pair| {
                (pair[1].false_positive - pair[0].false_positive)
                    * (pair[1].true_positive + pair[0].true_positive)
            })
            .sum();
        twice / (2.0 * self.positive * self.negative)
    }
}

/// The ROC curve of a score. `None` if there are no positive rows, no negative rows, or a score is NaN.
///
/// ```
/// use wstar::metrics;
/// let curve = metrics::roc(&[false, true, true], &[0.1, 0.4, 0.9], None)?.expect("both classes occur");
/// assert_eq!(curve.area(), 1.0);
/// # Ok::<(), wstar::Error>(())
/// ```
pub fn roc(positive: &[bool], scores: &[f64], weights: Option<&[f64]>) -> Result<Option<Roc>> {
    let points = ranked(positive, scores, weights)?;
    Ok(points.and_then(|points| {
        let last = points.last()?;
        let (positive, negative) = (last.true_positive, last.false_positive);
        (positive > 0.0 && negative > 0.0).then_some(Roc {
            points,
            positive,
            negative,
        })
    }))
}

/// The precision–recall curve: precision and recall at every threshold.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PrecisionRecall {
    /// Recall, precision and threshold, from the highest threshold down.
    pub(crate) points: Vec<(f64, f64, f64)>,
    /// The fraction of positive rows: the precision of predicting every row as positive.
    pub(crate) prevalence: f64,
}

impl PrecisionRecall {
    /// Recall, precision and threshold, from the highest threshold down.
    pub fn points(&self) -> &[(f64, f64, f64)] {
        &self.points
    }

    /// The fraction of positive rows: the precision of predicting every row as positive.
    pub fn prevalence(&self) -> f64 {
        self.prevalence
    }

    /// The average precision: the precision at each threshold, weighted by the increase in recall. It does not
    /// interpolate between thresholds, which would be too optimistic.
    pub fn average(&self) -> f64 {
        let mut before = 0.0;
        let steps = self.points.iter().map(|&(recall, precision, _)| {
            let added = recall - before;
            before = recall;
            added * precision
        });
        steps.sum()
    }
}

/// The precision–recall curve of a score. `None` if there are no positive rows or a score is NaN.
///
/// ```
/// use wstar::metrics;
/// let curve = metrics::precision_recall(&[false, true, true], &[0.1, 0.4, 0.9], None)?;
/// assert_eq!(curve.expect("a positive row").average(), 1.0);
/// # Ok::<(), wstar::Error>(())
/// ```
pub fn precision_recall(
    positive: &[bool],
    scores: &[f64],
    weights: Option<&[f64]>,
) -> Result<Option<PrecisionRecall>> {
    let points = ranked(positive, scores, weights)?;
    Ok(points.and_then(|points| {
        let last = *points.last()?;
        let all = last.true_positive;
        (all > 0.0).then(|| PrecisionRecall {
            // Precision is undefined where only rows of weight 0 reach the threshold.
            points: points
                .iter()
                .filter(|point| point.true_positive + point.false_positive > 0.0)
                .map(|point| {
                    let reached = point.true_positive + point.false_positive;
                    (
                        point.true_positive / all,
                        point.true_positive / reached,
                        point.threshold,
                    )
                })
                .collect(),
            prevalence: all / (all + last.false_positive),
        })
    }))
}

/// The counts at every distinct score, in decreasing order, after the point that no row reaches.
fn ranked(positive: &[bool], scores: &[f64], weights: Option<&[f64]>) -> Result<Option<Vec<RankPoint>>> {
    check(positive.len(), scores.len(), weights)?;
    if scores.iter().any(|score| score.is_nan()) {
        return Ok(None);
    }
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.par_sort_unstable_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
    let mut reached = RankPoint {
        threshold: f64::INFINITY,
        true_positive: 0.0,
        false_positive: 0.0,
    };
    let mut points = vec![reached];
    // Ties are compared with ==, so that -0 ties with 0.
    for tied in order.chunk_by(|&a, &b| scores[a] == scores[b]) {
        for &i in tied {
            let side = if positive[i] {
                &mut reached.true_positive
            } else {
                &mut reached.false_positive
            };
            *side += weight(weights, i);
        }
        reached.threshold = scores[tied[0]];
        points.push(reached);
    }
    Ok(Some(points))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::auc;
    use proptest::prelude::*;

    /// Fawcett, "An introduction to ROC analysis" (2006), figure 3: twenty rows, ten of each class.
    const FAWCETT: [(bool, f64); 20] = [
        (true, 0.9),
        (true, 0.8),
        (false, 0.7),
        (true, 0.6),
        (true, 0.55),
        (true, 0.54),
        (false, 0.53),
        (false, 0.52),
        (true, 0.51),
        (false, 0.505),
        (true, 0.4),
        (false, 0.39),
        (true, 0.38),
        (false, 0.37),
        (false, 0.36),
        (false, 0.35),
        (true, 0.34),
        (false, 0.33),
        (true, 0.30),
        (false, 0.1),
    ];

    #[test]
    fn the_roc_curve_of_the_tutorial() {
        let (positive, scores): (Vec<bool>, Vec<f64>) = FAWCETT.into_iter().unzip();
        let curve = roc(&positive, &scores, None).unwrap().unwrap();
        assert_eq!(curve.points.len(), 21);
        let rates: Vec<(f64, f64)> = curve.rates().collect();
        assert_eq!(
            rates[..5],
            [(0.0, 0.0), (0.0, 0.1), (0.0, 0.2), (0.1, 0.2), (0.1, 0.3)]
        );
        assert_eq!(rates[20], (1.0, 1.0));
        // 68 of the 100 pairs are ordered correctly.
        assert!((curve.area() - 0.68).abs() < 1e-12);
    }

    #[test]
    fn precision_by_hand() {
        // Ranked: +, −, + and −: precision 1, 1/2, 2/3, 1/2 at recall 1/2, 1/2, 1, 1.
        let curve = precision_recall(&[true, false, true, false], &[4.0, 3.0, 2.0, 1.0], None)
            .unwrap()
            .unwrap();
        let points: Vec<(f64, f64)> = curve.points.iter().map(|point| (point.0, point.1)).collect();
        assert_eq!(points, [(0.5, 1.0), (0.5, 0.5), (1.0, 2.0 / 3.0), (1.0, 0.5)]);
        assert!((curve.average() - (0.5 + 1.0 / 3.0)).abs() < 1e-15);
        assert_eq!(curve.prevalence, 0.5);
        assert_eq!(precision_recall(&[false], &[1.0], None).unwrap(), None);
        assert_eq!(roc(&[true, false], &[f64::NAN, 0.0], None).unwrap(), None);
        assert!(roc(&[true], &[], None).is_err());
    }

    proptest! {
        /// Few distinct scores make ties common.
        #[test]
        fn the_polygon_has_the_area_of_the_rank_statistic(
            rows in prop::collection::vec((any::<bool>(), -3i8..3, 0u8..4), 0..60)
        ) {
            let positive: Vec<bool> = rows.iter().map(|row| row.0).collect();
            let scores: Vec<f64> = rows.iter().map(|row| f64::from(row.1)).collect();
            let weights: Vec<f64> = rows.iter().map(|row| f64::from(row.2)).collect();
            let area = roc(&positive, &scores, Some(&weights)).unwrap().map(|curve| curve.area());
            let expected = auc(&positive, &scores, Some(&weights)).unwrap();
            match (area, expected) {
                (Some(area), Some(expected)) => prop_assert!((area - expected).abs() < 1e-12),
                other => prop_assert_eq!(other.0.is_some(), other.1.is_some()),
            }
        }

        #[test]
        fn curves_rise_and_stay_within_bounds(
            rows in prop::collection::vec((any::<bool>(), -3i8..3), 1..60)
        ) {
            let positive: Vec<bool> = rows.iter().map(|row| row.0).collect();
            let scores: Vec<f64> = rows.iter().map(|row| f64::from(row.1)).collect();
            if let Some(curve) = roc(&positive, &scores, None).unwrap() {
                let rates: Vec<(f64, f64)> = curve.rates().collect();
                prop_assert!(rates.windows(2).all(|p| p[0].0 <= p[1].0 && p[0].1 <= p[1].1));
                prop_assert_eq!(rates.last(), Some(&(1.0, 1.0)));
            }
            if let Some(curve) = precision_recall(&positive, &scores, None).unwrap() {
                prop_assert!(curve.points.iter().all(|p| (0.0..=1.0).contains(&p.1)));
                let last = curve.points.last().unwrap();
                prop_assert_eq!((last.0, last.1), (1.0, curve.prevalence));
                let average = curve.average();
                prop_assert!(average > 0.0 && average <= 1.0 + 1e-12);
            }
        }
    }
}
