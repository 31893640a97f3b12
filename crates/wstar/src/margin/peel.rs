//! Peeling: columns that separate weakly by themselves.
//!
//! If no value of a column in one class is above any in the other, the hyperplane at the threshold between
//! them has every row on its right side or on itself. Whatever the rows *on* it can do, all rows can, for a large
//! enough multiple of this hyperplane takes care of the others. So the rows off it are dropped, the column
//! is then constant, and the next column may have become one that separates. One-hot data fall apart this way.

use super::ranges::{Columns, Ranges, every_class};
use crate::data::Dataset;
use crate::exact::Signed;

/// A column's hyperplane `±(xⱼ − t) ≥ 0`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Threshold {
    pub(super) column: usize,
    /// +1 if the positive class is above.
    pub(super) sign: f64,
    pub(super) at: f64,
}

/// What is left.
#[derive(Debug, Clone)]
pub(super) struct Peeled {
    /// The rows that are left, in order.
    pub(super) rows: Vec<usize>,
    /// How many have gone.
    pub(super) gone: usize,
    /// The first column that separated, and how.
    pub(super) first: Option<Threshold>,
    /// The columns of what is left.
    pub(super) ranges: Ranges,
}

/// The hyperplane of column `j`, if it has some row off itself and none on the wrong side.
fn threshold(ranges: &Ranges, j: usize, intercept: bool) -> Option<Threshold> {
    let [p, n] = ranges.column(j);
    let between = |low: f64, high: f64| {
        // One end of the gap where no number lies inside, or where the middle is not a number.
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
        let (least, largest) = ranges.whole(j);
        return ((above || below) && (least < 0.0 || largest > 0.0)).then_some(Threshold {
            column: j,
            sign: if above { 1.0 } else { -1.0 },
            at: 0.0,
        });
    }
    let (least, largest) = ranges.whole(j);
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

/// A column that separates weakly by itself, if there is one. Some rows rule out most columns before all are looked at.
pub(crate) fn weak_column(signed: &Signed<'_>) -> Option<usize> {
    const FEW: usize = 1000;
    let rows: Vec<usize> = signed.participants().collect();
    let some: Vec<usize> = rows
        .iter()
        .copied()
        .step_by(rows.len().div_ceil(FEW).max(1))
        .collect();
    let few = Ranges::of(signed, &some);
    // A column that is constant in a part of the rows may still separate all of them.
    let may = |j: usize| {
        let (least, largest) = few.whole(j);
        least >= largest || threshold(&few, j, signed.intercept).is_some()
    };
    let wanted: Vec<bool> = (0..few.features()).map(may).collect();
    if !wanted.contains(&true) {
        return None;
    }
    let all = Ranges::of_some(signed, &rows, &wanted);
    (0..all.features()).find(|&j| wanted[j] && threshold(&all, j, signed.intercept).is_some())
}

/// For each class a column that separates it weakly from all others, if there is one; in one pass for all of them. Rows with a
/// weight of 0 do not count.
pub(crate) fn weak_columns(
    data: &Dataset,
    codes: &[u32],
    classes: usize,
    intercept: bool,
) -> Vec<Option<usize>> {
    let rows: Vec<usize> = (0..data.rows()).filter(|&i| data.weight(i) > 0.0).collect();
    let seen = every_class(&data.design, &rows, classes, |i| codes[i] as usize, Columns::see);
    (0..classes)
        .map(|class| {
            let ranges = Ranges::against(&seen, class);
            (0..ranges.features()).find(|&j| threshold(&ranges, j, intercept).is_some())
        })
        .collect()
}

/// Peels these rows until no column separates. `stop` ends it early, which leaves more rows and is as right.
pub(super) fn peel(signed: &Signed<'_>, mut rows: Vec<usize>, stop: &mut dyn FnMut() -> bool) -> Peeled {
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
            // The intercept alone has them all on one side.
            rows.clear();
        }
        if rows.is_empty() || thresholds.is_empty() || stop() {
            return Peeled {
                gone: all - rows.len(),
                rows,
                first,
                ranges,
            };
        }
        let mut at = vec![f64::NAN; ranges.features()];
        thresholds.iter().for_each(|t| at[t.column] = t.at);
        let off_zero = thresholds.iter().filter(|t| t.at != 0.0).count();
        rows.retain(|&i| {
            // Entries that are not stored are 0, and on the threshold if that is.
            let (mut off, mut stored_off_zero) = (false, 0);
            signed.design.row(i).for_each(|j, x| {
                off |= !at[j].is_nan() && x != at[j];
                stored_off_zero += usize::from(!at[j].is_nan() && at[j] != 0.0);
            });
            !(off || stored_off_zero < off_zero)
        });
    }
}
