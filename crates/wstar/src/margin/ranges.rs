//! The least and the largest value of every column, class by class.

use rayon::prelude::*;

use crate::exact::Signed;

/// Rows of a block: the same for any number of threads, so that sums are too.
const BLOCK: usize = 8192;
/// The most blocks, since each has its own columns.
const BLOCKS: usize = 32;

/// One column of one class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Range {
    /// The least value; infinite if the class has no rows.
    pub(super) least: f64,
    /// The largest value; minus infinity if the class has no rows.
    pub(super) largest: f64,
    sum: f64,
    stored: usize,
}

const EMPTY: Range = Range {
    least: f64::INFINITY,
    largest: f64::NEG_INFINITY,
    sum: 0.0,
    stored: 0,
};

impl Range {
    fn see(&mut self, x: f64) {
        self.least = self.least.min(x);
        self.largest = self.largest.max(x);
        self.sum += x;
        self.stored += 1;
    }

    fn merge(&mut self, other: &Range) {
        self.least = self.least.min(other.least);
        self.largest = self.largest.max(other.largest);
        self.sum += other.sum;
        self.stored += other.stored;
    }
}

/// The columns of some rows.
#[derive(Debug, Clone)]
pub(super) struct Ranges {
    /// Of the positive class, and of the negative.
    classes: [Vec<Range>; 2],
    /// How many rows each has.
    pub(super) rows: [usize; 2],
}

impl Ranges {
    fn empty(features: usize) -> Self {
        Ranges {
            classes: [vec![EMPTY; features], vec![EMPTY; features]],
            rows: [0, 0],
        }
    }

    /// The ranges of these rows.
    pub(super) fn of(signed: &Signed<'_>, rows: &[usize]) -> Self {
        let features = signed.design.features();
        let block = BLOCK.max(rows.len().div_ceil(BLOCKS));
        let parts: Vec<Ranges> = rows
            .par_chunks(block)
            .map(|rows| {
                let mut part = Ranges::empty(features);
                for &i in rows {
                    let side = usize::from(signed.signs[i] < 0);
                    part.rows[side] += 1;
                    let class = &mut part.classes[side];
                    signed.design.row(i).for_each(|j, x| class[j].see(x));
                }
                part
            })
            .collect();
        let mut all = Ranges::empty(features);
        for part in parts {
            for side in 0..2 {
                all.rows[side] += part.rows[side];
                let both = all.classes[side].iter_mut().zip(&part.classes[side]);
                both.for_each(|(to, from)| to.merge(from));
            }
        }
        for side in 0..2 {
            for range in &mut all.classes[side] {
                if range.stored < all.rows[side] {
                    range.least = range.least.min(0.0);
                    range.largest = range.largest.max(0.0);
                }
            }
        }
        all
    }

    /// Column `j` of the positive class, and of the negative.
    pub(super) fn column(&self, j: usize) -> [Range; 2] {
        [self.classes[0][j], self.classes[1][j]]
    }

    /// How many columns there are.
    pub(super) fn features(&self) -> usize {
        self.classes[0].len()
    }

    /// The least and the largest value of column `j`.
    pub(super) fn whole(&self, j: usize) -> (f64, f64) {
        let [p, n] = self.column(j);
        (p.least.min(n.least), p.largest.max(n.largest))
    }

    /// The mean of column `j`; its value where it is constant.
    pub(super) fn mean(&self, j: usize) -> f64 {
        let (least, largest) = self.whole(j);
        let [p, n] = self.column(j);
        let mean = (p.sum + n.sum) / (self.rows[0] + self.rows[1]).max(1) as f64;
        if mean.is_finite() {
            mean.clamp(least.min(largest), largest.max(least))
        } else {
            0.0
        }
    }

    /// The columns that tell any two rows apart: not constant, or not 0 where there is no intercept.
    pub(super) fn telling(&self, intercept: bool) -> Vec<usize> {
        (0..self.features())
            .filter(|&j| {
                let (least, largest) = self.whole(j);
                least < largest || !intercept && least != 0.0 && least <= largest
            })
            .collect()
    }
}
