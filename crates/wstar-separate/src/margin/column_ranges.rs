//! The minimum, maximum and mean of every column, class by class.

use rayon::prelude::*;

use crate::exact::Signed;
use wstar_data::{Design, Row};

/// Least number of rows in a block. Blocks do not depend on the number of threads, so sums are
/// reproducible. Heuristic: trades scheduling overhead for parallelism; not measured yet.
const BLOCK: usize = 4096;
/// Cap: the number of blocks, since every block holds its own columns; blocks grow beyond it.
const BLOCKS: usize = 32;

/// The range of one column in one class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Range {
    /// The minimum; +∞ if the class has no rows.
    pub(super) least: f64,
    /// The maximum; −∞ if the class has no rows.
    pub(super) largest: f64,
}

/// The statistics of all columns of one class.
#[derive(Debug, Clone)]
pub(super) struct Columns {
    rows: usize,
    least: Vec<f64>,
    largest: Vec<f64>,
    sum: Vec<f64>,
    /// The number of rows in which the entry is stored.
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

    pub(super) fn add_row(&mut self, row: Row<'_>) {
        self.rows += 1;
        match row {
            Row::Dense32(x) => self.add_dense(x),
            Row::Dense64(x) => self.add_dense(x),
            sparse => sparse.for_each(|j, x| self.add_entry(j, x)),
        }
    }

    fn add_entry(&mut self, j: usize, x: f64) {
        self.least[j] = self.least[j].min(x);
        self.largest[j] = self.largest[j].max(x);
        self.sum[j] += x;
        self.stored[j] += 1;
    }

    fn add_dense<T: Copy + Into<f64>>(&mut self, x: &[T]) {
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

    /// Accounts for the entries that are not stored, which are 0.
    fn add_implicit_zeros(&mut self) {
        for j in 0..self.least.len() {
            if self.stored[j] < self.rows {
                self.least[j] = self.least[j].min(0.0);
                self.largest[j] = self.largest[j].max(0.0);
            }
        }
    }
}

/// The column statistics of each class, where `class` maps a row to its class. Entries of sparse rows that
/// are not stored count as 0.
pub(super) fn every_class(
    design: &Design,
    rows: &[usize],
    classes: usize,
    class: impl Fn(usize) -> usize + Sync,
    add_row: impl Fn(&mut Columns, Row<'_>) + Sync,
) -> Vec<Columns> {
    let empty = || vec![Columns::empty(design.features()); classes];
    let block = BLOCK.max(rows.len().div_ceil(BLOCKS));
    let locals: Vec<Vec<Columns>> = rows
        .par_chunks(block)
        .map(|rows| {
            let mut local = empty();
            for &i in rows {
                add_row(&mut local[class(i)], design.row(i));
            }
            local
        })
        .collect();
    let mut all = empty();
    for local in locals {
        all.iter_mut().zip(&local).for_each(|(to, from)| to.merge(from));
    }
    if design.is_sparse() {
        all.iter_mut().for_each(Columns::add_implicit_zeros);
    }
    all
}

/// The column statistics of the positive and of the negative class.
#[derive(Debug, Clone)]
pub(super) struct Ranges {
    /// The positive class, then the negative class.
    classes: [Columns; 2],
}

impl Ranges {
    /// The ranges of all columns over these rows.
    pub(super) fn of(signed: &Signed<'_>, rows: &[usize]) -> Self {
        Ranges::by(signed, rows, Columns::add_row)
    }

    /// The ranges of the wanted columns only; the values of all other columns are meaningless.
    pub(super) fn of_some(signed: &Signed<'_>, rows: &[usize], wanted: &[bool]) -> Self {
        Ranges::by(signed, rows, |columns, row| match row {
            // For dense rows, updating all columns is faster than selecting some.
            Row::Dense32(_) | Row::Dense64(_) => columns.add_row(row),
            row => {
                columns.rows += 1;
                row.for_each(|j, x| {
                    if wanted[j] {
                        columns.add_entry(j, x);
                    }
                });
            }
        })
    }

    fn by(signed: &Signed<'_>, rows: &[usize], add_row: impl Fn(&mut Columns, Row<'_>) + Sync) -> Self {
        let class = |i: usize| usize::from(signed.signs[i] < 0);
        Ranges::against(&every_class(signed.design, rows, 2, class, add_row), 0)
    }

    /// One class against all others together.
    pub(super) fn against(all: &[Columns], class: usize) -> Self {
        let mut others = Columns::empty(all[class].least.len());
        for (_, other) in all.iter().enumerate().filter(|(k, _)| *k != class) {
            others.merge(other);
        }
        Ranges {
            classes: [all[class].clone(), others],
        }
    }

    /// The number of rows of each class.
    pub(super) fn rows(&self) -> [usize; 2] {
        self.classes.each_ref().map(|class| class.rows)
    }

    /// Column `j` in the positive class, and in the negative class.
    pub(super) fn column(&self, j: usize) -> [Range; 2] {
        self.classes.each_ref().map(|class| Range {
            least: class.least[j],
            largest: class.largest[j],
        })
    }

    /// The number of columns.
    pub(super) fn features(&self) -> usize {
        self.classes[0].least.len()
    }

    /// The minimum and maximum of column `j` over both classes.
    pub(super) fn overall(&self, j: usize) -> (f64, f64) {
        let [p, n] = self.column(j);
        (p.least.min(n.least), p.largest.max(n.largest))
    }

    /// The mean of column `j`, clamped to its range, so a constant column yields its value. 0 if the mean
    /// is not finite.
    pub(super) fn mean(&self, j: usize) -> f64 {
        let (least, largest) = self.overall(j);
        let [p, n] = &self.classes;
        let mean = (p.sum[j] + n.sum[j]) / (p.rows + n.rows).max(1) as f64;
        if mean.is_finite() {
            mean.clamp(least.min(largest), largest.max(least))
        } else {
            0.0
        }
    }

    /// The columns that can distinguish rows: not constant or, without an intercept, not identically 0.
    pub(super) fn distinguishing(&self, intercept: bool) -> Vec<usize> {
        (0..self.features())
            .filter(|&j| {
                let (least, largest) = self.overall(j);
                least < largest || !intercept && least != 0.0 && least <= largest
            })
            .collect()
    }
}
