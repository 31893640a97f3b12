//! The least and the largest value of every column, class by class.

use rayon::prelude::*;

use crate::data::{Design, Row};
use crate::exact::Signed;

/// Rows of a block: the same for any number of threads, so that sums are too.
const BLOCK: usize = 4096;
/// The most blocks, since each has its own columns.
const BLOCKS: usize = 32;

/// One column of one class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Range {
    /// The least value; infinite if the class has no rows.
    pub(super) least: f64,
    /// The largest value; minus infinity if the class has no rows.
    pub(super) largest: f64,
}

/// All columns of one class.
#[derive(Debug, Clone)]
pub(super) struct Columns {
    rows: usize,
    least: Vec<f64>,
    largest: Vec<f64>,
    sum: Vec<f64>,
    /// How many rows have an entry stored.
    stored: Vec<usize>,
}

impl Columns {
    fn empty(features: usize) -> Self {
        Columns {
            rows: 0,
            least: vec![f64::INFINITY; features],
            largest: vec![f64::NEG_INFINITY; features],
            sum: vec![0.0; features],
            stored: vec![0; features],
        }
    }

    pub(super) fn see(&mut self, row: Row<'_>) {
        self.rows += 1;
        match row {
            Row::Dense32(x) => self.see_all(x),
            Row::Dense64(x) => self.see_all(x),
            sparse => sparse.for_each(|j, x| self.see_one(j, x)),
        }
    }

    fn see_one(&mut self, j: usize, x: f64) {
        self.least[j] = self.least[j].min(x);
        self.largest[j] = self.largest[j].max(x);
        self.sum[j] += x;
        self.stored[j] += 1;
    }

    fn see_all<T: Copy + Into<f64>>(&mut self, x: &[T]) {
        let columns = self.least.iter_mut().zip(&mut self.largest).zip(&mut self.sum);
        for (((least, largest), sum), &x) in columns.zip(x) {
            let x = x.into();
            *least = if x < *least { x } else { *least };
            *largest = if x > *largest { x } else { *largest };
            *sum += x;
        }
    }

    fn merge(&mut self, other: &Columns) {
        self.rows += other.rows;
        for j in 0..self.least.len() {
            self.least[j] = self.least[j].min(other.least[j]);
            self.largest[j] = self.largest[j].max(other.largest[j]);
            self.sum[j] += other.sum[j];
            self.stored[j] += other.stored[j];
        }
    }

    /// Entries that are not stored are 0.
    fn see_zeros(&mut self) {
        for j in 0..self.least.len() {
            if self.stored[j] < self.rows {
                self.least[j] = self.least[j].min(0.0);
                self.largest[j] = self.largest[j].max(0.0);
            }
        }
    }
}

/// The columns of some classes of rows, where `class` tells each row's; a sparse row's zeros are seen too.
pub(super) fn every_class(
    design: &Design,
    rows: &[usize],
    classes: usize,
    class: impl Fn(usize) -> usize + Sync,
    see: impl Fn(&mut Columns, Row<'_>) + Sync,
) -> Vec<Columns> {
    let empty = || vec![Columns::empty(design.features()); classes];
    let block = BLOCK.max(rows.len().div_ceil(BLOCKS));
    let parts: Vec<Vec<Columns>> = rows
        .par_chunks(block)
        .map(|rows| {
            let mut part = empty();
            for &i in rows {
                see(&mut part[class(i)], design.row(i));
            }
            part
        })
        .collect();
    let mut all = empty();
    for part in parts {
        all.iter_mut().zip(&part).for_each(|(to, from)| to.merge(from));
    }
    if design.is_sparse() {
        all.iter_mut().for_each(Columns::see_zeros);
    }
    all
}

/// The columns of some rows.
#[derive(Debug, Clone)]
pub(super) struct Ranges {
    /// Of the positive class, and of the negative.
    classes: [Columns; 2],
}

impl Ranges {
    /// The ranges of these rows.
    pub(super) fn of(signed: &Signed<'_>, rows: &[usize]) -> Self {
        Ranges::by(signed, rows, Columns::see)
    }

    /// The same of the wanted columns alone; what is said of others has no meaning.
    pub(super) fn of_some(signed: &Signed<'_>, rows: &[usize], wanted: &[bool]) -> Self {
        Ranges::by(signed, rows, |columns, row| match row {
            // One after another they are seen sooner than chosen.
            Row::Dense32(_) | Row::Dense64(_) => columns.see(row),
            row => {
                columns.rows += 1;
                row.for_each(|j, x| {
                    if wanted[j] {
                        columns.see_one(j, x);
                    }
                });
            }
        })
    }

    fn by(signed: &Signed<'_>, rows: &[usize], see: impl Fn(&mut Columns, Row<'_>) + Sync) -> Self {
        let class = |i: usize| usize::from(signed.signs[i] < 0);
        Ranges::against(&every_class(signed.design, rows, 2, class, see), 0)
    }

    /// One class, and all others together.
    pub(super) fn against(all: &[Columns], class: usize) -> Self {
        let mut others = Columns::empty(all[class].least.len());
        for (_, other) in all.iter().enumerate().filter(|(k, _)| *k != class) {
            others.merge(other);
        }
        Ranges {
            classes: [all[class].clone(), others],
        }
    }

    /// How many rows each class has.
    pub(super) fn rows(&self) -> [usize; 2] {
        self.classes.each_ref().map(|class| class.rows)
    }

    /// Column `j` of the positive class, and of the negative.
    pub(super) fn column(&self, j: usize) -> [Range; 2] {
        self.classes.each_ref().map(|class| Range {
            least: class.least[j],
            largest: class.largest[j],
        })
    }

    /// How many columns there are.
    pub(super) fn features(&self) -> usize {
        self.classes[0].least.len()
    }

    /// The least and the largest value of column `j`.
    pub(super) fn whole(&self, j: usize) -> (f64, f64) {
        let [p, n] = self.column(j);
        (p.least.min(n.least), p.largest.max(n.largest))
    }

    /// The mean of column `j`; its value where it is constant.
    pub(super) fn mean(&self, j: usize) -> f64 {
        let (least, largest) = self.whole(j);
        let [p, n] = &self.classes;
        let mean = (p.sum[j] + n.sum[j]) / (p.rows + n.rows).max(1) as f64;
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
