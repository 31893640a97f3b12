//! Columns that separate weakly by themselves, and the removal of the rows that they separate strictly.
//!
//! Suppose every value of a column in one class is at most every value in the other class. Then the
//! hyperplane at the threshold between them has no row on its wrong side. Any separation of the rows *on*
//! it extends to all rows, because a large enough multiple of this hyperplane dominates on the other rows.
//! So the rows off it can be removed. The column is then constant, and another column may have become
//! separating. One-hot data are often decided this way.

use crate::exact::Signed;
use crate::margin::column_ranges::{Columns, Ranges, every_class};
use wstar_data::Dataset;

/// A column's hyperplane `±(xⱼ − t) ≥ 0`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Threshold {
    pub(super) column: usize,
    /// +1 if the positive class is above the threshold, −1 if it is below.
    pub(super) sign: f64,
    pub(super) at: f64,
}

/// The result of [`remove_separated_rows`].
#[derive(Debug, Clone)]
pub(super) struct RemainingRows {
    /// The remaining rows, in increasing order.
    pub(super) rows: Vec<usize>,
    /// The number of rows that were removed.
    pub(super) removed: usize,
    /// The first column that separated, with its threshold.
    pub(super) first: Option<Threshold>,
    /// The column ranges of the remaining rows.
    pub(super) ranges: Ranges,
}

/// The threshold of column `j`, if no row is on its wrong side and some row is off it.
fn threshold(ranges: &Ranges, j: usize, intercept: bool) -> Option<Threshold> {
    let [p, n] = ranges.column(j);
    let between = |low: f64, high: f64| {
        // One end of the gap, if no double lies strictly inside it or the midpoint is NaN.
        let middle = low + (high - low) / 2.0;
        if low < middle && middle < high {
            middle
        } else {
            low
        }
    };
    let (above, below) = (p.least >= n.largest, n.least >= p.largest);
    if !intercept {
        let above = p.least >= 0.0 && n.largest <= 0.0;
        let below = n.least >= 0.0 && p.largest <= 0.0;
        let (least, largest) = ranges.overall(j);
        return ((above || below) && (least < 0.0 || largest > 0.0)).then_some(Threshold {
            column: j,
            sign: if above { 1.0 } else { -1.0 },
            at: 0.0,
        });
    }
    let (least, largest) = ranges.overall(j);
    if least >= largest || !(above || below) {
        return None;
    }
    Some(Threshold {
        column: j,
        sign: if above { 1.0 } else { -1.0 },
        at: if above {
            between(n.largest, p.least)
        } else {
            between(p.largest, n.least)
        },
    })
}

/// A column that separates weakly by itself, if there is one. A sample of the rows first rules out most
/// columns.
pub fn weak_column(signed: &Signed<'_>) -> Option<usize> {
    /// Rows of the sample. Heuristic: trades the cost of the sample for the columns it rules out; not
    /// measured yet.
    const SAMPLE: usize = 1000;
    let rows: Vec<usize> = signed.participants().collect();
    let sample: Vec<usize> = rows
        .iter()
        .copied()
        .step_by(rows.len().div_ceil(SAMPLE).max(1))
        .collect();
    let sampled = Ranges::of(signed, &sample);
    // A column that is constant on the sample may still separate all rows.
    let may = |j: usize| {
        let (least, largest) = sampled.overall(j);
        least >= largest || threshold(&sampled, j, signed.intercept).is_some()
    };
    let wanted: Vec<bool> = (0..sampled.features()).map(may).collect();
    if !wanted.contains(&true) {
        return None;
    }
    let all = Ranges::of_some(signed, &rows, &wanted);
    (0..all.features()).find(|&j| wanted[j] && threshold(&all, j, signed.intercept).is_some())
}

/// For each class, a column that separates it weakly from all other classes, if there is one. One pass over
/// the data serves all classes. Rows of weight 0 do not take part.
pub fn weak_columns(data: &Dataset, codes: &[u32], classes: usize, intercept: bool) -> Vec<Option<usize>> {
    let rows: Vec<usize> = (0..data.rows()).filter(|&i| data.weight(i) > 0.0).collect();
    let seen = every_class(
        data.design(),
        &rows,
        classes,
        |i| codes[i] as usize,
        Columns::add_row,
    );
    (0..classes)
        .map(|class| {
            let ranges = Ranges::against(&seen, class);
            (0..ranges.features()).find(|&j| threshold(&ranges, j, intercept).is_some())
        })
        .collect()
}

/// Removes rows until no column separates. If `stop` ends it early, more rows remain and the result is
/// still valid.
pub(super) fn remove_separated_rows(
    signed: &Signed<'_>,
    mut rows: Vec<usize>,
    stop: &mut dyn FnMut() -> bool,
) -> RemainingRows {
    let all = rows.len();
    let mut first = None;
    loop {
        let ranges = Ranges::of(signed, &rows);
        let single = signed.intercept && ranges.rows().contains(&0);
        let thresholds: Vec<Threshold> = if single {
            Vec::new()
        } else {
            (0..ranges.features())
                .filter_map(|j| threshold(&ranges, j, signed.intercept))
                .collect()
        };
        first = first.or(thresholds.first().copied());
        if single {
            // Only one class is left: the intercept alone separates it.
            rows.clear();
        }
        if rows.is_empty() || thresholds.is_empty() || stop() {
            return RemainingRows {
                removed: all - rows.len(),
                rows,
                first,
                ranges,
            };
        }
        let mut at = vec![f64::NAN; ranges.features()];
        thresholds.iter().for_each(|t| at[t.column] = t.at);
        let off_zero = thresholds.iter().filter(|t| t.at != 0.0).count();
        rows.retain(|&i| {
            // Entries that are not stored are 0; they lie on the threshold if it is 0.
            let (mut off, mut stored_off_zero) = (false, 0);
            signed.design.row(i).for_each(|j, x| {
                off |= !at[j].is_nan() && x != at[j];
                stored_off_zero += usize::from(!at[j].is_nan() && at[j] != 0.0);
            });
            !(off || stored_off_zero < off_zero)
        });
    }
}
