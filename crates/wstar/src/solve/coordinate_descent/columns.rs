//! The columns of a design: those of sparse rows copied once, so that a column is a row like any other; those of dense rows
//! copied when they are wanted; those that lie together already used where they are.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use rayon::prelude::*;

use crate::data::{Csr, Design, Row};
use crate::error::Result;
use crate::kernel::dense::axpy;
use crate::oracle::Layout;
use crate::solve::coordinate_descent::kept_columns::KeptColumns;
use crate::solve::orthant::Growing;

/// Rows that one thread takes at a time.
const BLOCK: usize = 4096;
/// How many times sooner an entry of a sparse row is summed than one of a column.
const ROWS_GAIN: usize = 2;
/// Sums of sparse columns that are made side by side at most, and the columns that are worth one.
const PARTS: usize = 4;
const LEAST_PART: usize = 256;

/// More columns than these that are not kept are asked row by row, in so many parts.
const FEW: usize = 64;
const LANES: usize = 8;

/// Dense columns whose products are made together, and rows at a time: both stay in a core's second cache.
const SIDE: usize = 128;
const SLAB: usize = 1024;

/// The columns, with that of the intercept after those of the features.
#[derive(Debug)]
pub(super) struct Columns {
    design: Design,
    stored: Stored,
    layout: Layout,
    rows: usize,
}

/// Where columns lie.
#[derive(Debug)]
enum Stored {
    /// As the rows of this design.
    Whole(Design),
    Kept32(KeptColumns<f32>),
    Kept64(KeptColumns<f64>),
}

impl Columns {
    /// The design's entries, column by column.
    pub(super) fn new(design: &Design, layout: Layout) -> Result<Self> {
        let stored = match design {
            Design::Dense32(matrix) => Stored::Kept32(KeptColumns::new(matrix)),
            Design::Dense64(matrix) => Stored::Kept64(KeptColumns::new(matrix)),
            Design::Sparse32(matrix) => Stored::Whole(Design::Sparse32(transposed_sparse(matrix)?)),
            Design::Sparse64(matrix) => Stored::Whole(Design::Sparse64(transposed_sparse(matrix)?)),
            Design::Columns32(matrix) => Stored::Whole(Design::Dense32(matrix.transposed()?)),
            Design::Columns64(matrix) => Stored::Whole(Design::Dense64(matrix.transposed()?)),
        };
        Ok(Columns {
            // The same memory.
            design: design.clone(),
            stored,
            layout,
            rows: design.rows(),
        })
    }

    /// Column `j` of a feature that has entries.
    fn column(&self, j: usize) -> Option<Row<'_>> {
        match &self.stored {
            Stored::Whole(transposed) => (j < transposed.rows()).then(|| transposed.row(j)),
            Stored::Kept32(kept) => kept.column(j).map(Row::Dense32),
            Stored::Kept64(kept) => kept.column(j).map(Row::Dense64),
        }
    }

    /// Makes ready for these columns to be asked for, one by one and often.
    pub(super) fn keep(&self, chosen: &[usize]) {
        match &self.stored {
            Stored::Whole(_) => {}
            Stored::Kept32(kept) => kept.keep(chosen),
            Stored::Kept64(kept) => kept.keep(chosen),
        }
    }

    /// xⱼ·v.
    pub(super) fn dot(&self, j: usize, v: &[f64]) -> f64 {
        if self.layout.is_intercept(j) {
            return v.iter().sum();
        }
        self.column(j).map_or(0.0, |column| column.dot(v))
    }

    /// xⱼ·v of some columns.
    pub(super) fn dots(&self, chosen: &[usize], v: &[f64]) -> Vec<f64> {
        let missing = match &self.stored {
            Stored::Whole(_) => 0,
            Stored::Kept32(kept) => kept.missing(chosen).len(),
            Stored::Kept64(kept) => kept.missing(chosen).len(),
        };
        if missing <= FEW {
            return chosen.par_iter().map(|&j| self.dot(j, v)).collect();
        }
        let all = self.sums(|rows, sums| self.design.add_rows(rows.clone(), &v[rows], sums));
        let of = |&j: &usize| match self.layout.is_intercept(j) {
            true => v.iter().sum(),
            false => all.get(j).copied().unwrap_or(0.0),
        };
        chosen.iter().map(of).collect()
    }

    /// Σᵢ hᵢ xᵢⱼ² of all columns; without `h` every row counts once.
    pub(super) fn squares(&self, h: Option<&[f64]>) -> Vec<f64> {
        let own = |i: usize| h.map_or(1.0, |h| h[i]);
        let mut all = match &self.stored {
            Stored::Whole(transposed) => {
                let square = |j| match h {
                    Some(h) => self.square(j, h),
                    None => transposed.row(j).squared_norm(),
                };
                (0..transposed.rows()).into_par_iter().map(square).collect()
            }
            _ => self.sums(|rows, sums| {
                for i in rows {
                    self.design.row(i).for_each(|j, x| sums[j] += own(i) * x * x);
                }
            }),
        };
        all.resize(self.layout.features, 0.0);
        all.extend(
            self.layout
                .intercept
                .then(|| (0..self.rows).map(own).sum::<f64>()),
        );
        all
    }

    /// Sums over the rows for every feature that has entries; a fixed number of parts, so that the bits do not depend on
    /// the threads.
    fn sums(&self, add: impl Fn(Range<usize>, &mut [f64]) + Sync) -> Vec<f64> {
        let parts: Vec<Vec<f64>> = (0..LANES)
            .into_par_iter()
            .map(|lane| {
                let mut sums = vec![0.0; self.design.features()];
                add(
                    self.rows * lane / LANES..self.rows * (lane + 1) / LANES,
                    &mut sums,
                );
                sums
            })
            .collect();
        let mut sums = vec![0.0; self.design.features()];
        parts.iter().for_each(|part| axpy(1.0, part, &mut sums));
        sums
    }

    /// Σᵢ hᵢ xᵢⱼ².
    pub(super) fn square(&self, j: usize, h: &[f64]) -> f64 {
        if self.layout.is_intercept(j) {
            return h.iter().sum();
        }
        let mut sum = 0.0;
        if let Some(column) = self.column(j) {
            column.for_each(|i, x| sum += h[i] * x * x);
        }
        sum
    }

    /// v += scale·h∘xⱼ.
    pub(super) fn add_weighted(&self, j: usize, scale: f64, h: &[f64], v: &mut [f64]) {
        if self.layout.is_intercept(j) {
            v.iter_mut().zip(h).for_each(|(v, h)| *v += scale * h);
        } else if let Some(column) = self.column(j) {
            column.for_each(|i, x| v[i] += scale * x * h[i]);
        }
    }

    /// Σᵢ hᵢ xᵢⱼ xᵢₖ of all columns of a set with those from place `from` on, into both triangles of a matrix; without
    /// `h` every row counts once.
    pub(super) fn add_products(&self, set: &[usize], from: usize, h: Option<&[f64]>, gram: &mut Growing) {
        if self.design.is_sparse() {
            let rows: Vec<Vec<f64>> = (from..set.len())
                .into_par_iter()
                .map_init(
                    || vec![0.0; self.layout.width()],
                    |sums, at| {
                        self.add_rows(set[at], h, sums);
                        let products = set[..=at].iter().map(|&j| sums[j]).collect();
                        sums.fill(0.0);
                        products
                    },
                )
                .collect();
            for (at, row) in (from..).zip(&rows) {
                gram.column_mut(at)[..=at].copy_from_slice(row);
                (0..at).for_each(|j| gram.column_mut(j)[at] = row[j]);
            }
            return;
        }
        self.keep(set);
        let blocks: Vec<(usize, Mat<f64>)> = (0..set.len().div_ceil(SIDE))
            .into_par_iter()
            .map(|block| {
                let own = block * SIDE..((block + 1) * SIDE).min(set.len());
                // Of two new columns the later one sees to their product.
                let first = from.max(own.start);
                (first, self.dense_products(&set[own], &set[first..], h))
            })
            .collect();
        for (block, (first, products)) in blocks.iter().enumerate() {
            let own = block * SIDE..block * SIDE + products.nrows();
            for (at, product) in (*first..set.len()).zip(products.col_iter()) {
                for (j, &product) in own.clone().zip(product.iter()) {
                    gram.column_mut(at)[j] = product;
                    gram.column_mut(j)[at] = product;
                }
            }
        }
    }

    /// Σᵢ hᵢ xᵢⱼ xᵢₖ of some dense columns with others.
    fn dense_products(&self, left: &[usize], right: &[usize], h: Option<&[f64]>) -> Mat<f64> {
        let mut products = Mat::zeros(left.len(), right.len());
        let mut packed = [Vec::new(), Vec::new()];
        for first in (0..self.rows).step_by(SLAB) {
            let span = first..(first + SLAB).min(self.rows);
            let rows = span.len();
            let [x, y] = &mut packed;
            self.pack(left, span.clone(), h, x);
            for (at, right) in right.chunks(SIDE).enumerate() {
                self.pack(right, span.clone(), None, y);
                let x = MatRef::from_column_major_slice(x, rows, left.len());
                let y = MatRef::from_column_major_slice(y, rows, right.len());
                let to = products.as_mut().subcols_mut(at * SIDE, right.len());
                matmul(to, Accum::Add, x.transpose(), y, 1.0, Par::Seq);
            }
        }
        products
    }

    /// Some rows of a dense column.
    fn part(&self, j: usize, span: Range<usize>) -> Option<Row<'_>> {
        match self.column(j)? {
            Row::Dense32(column) => Some(Row::Dense32(&column[span])),
            Row::Dense64(column) => Some(Row::Dense64(&column[span])),
            _ => None,
        }
    }

    /// Writes some rows of dense columns one after another.
    fn pack(&self, chosen: &[usize], span: Range<usize>, h: Option<&[f64]>, out: &mut Vec<f64>) {
        out.clear();
        out.resize(chosen.len() * span.len(), 0.0);
        for (&j, out) in chosen.iter().zip(out.chunks_exact_mut(span.len().max(1))) {
            if self.layout.is_intercept(j) {
                out.fill(1.0);
            } else if let Some(part) = self.part(j, span.clone()) {
                part.add_to(1.0, out);
            }
            if let Some(h) = h {
                out.iter_mut()
                    .zip(&h[span.clone()])
                    .for_each(|(out, h)| *out *= h);
            }
        }
    }

    /// sums += X̃ᵀ(h∘xⱼ), by the sparse rows that column `j` meets: few, for most columns.
    fn add_rows(&self, j: usize, h: Option<&[f64]>, sums: &mut [f64]) {
        let (sums, intercept) = sums.split_at_mut(self.layout.features);
        let mut add = |i: usize, x: f64| {
            let scale = h.map_or(x, |h| h[i] * x);
            self.design.row(i).add_to(scale, sums);
            intercept.iter_mut().for_each(|sum| *sum += scale);
        };
        if self.layout.is_intercept(j) {
            (0..self.rows).for_each(|i| add(i, 1.0));
        } else if let Some(column) = self.column(j) {
            column.for_each(add);
        }
    }

    /// Σ along·xⱼ over the chosen columns.
    pub(super) fn combine(&self, chosen: &[usize], along: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.rows];
        let pairs = || chosen.iter().zip(along).filter(|(_, d)| **d != 0.0);
        if self.design.is_sparse() {
            let entries = |j: usize| self.column(j).map_or(0, |column| column.stored());
            if pairs().map(|(&j, _)| entries(j)).sum::<usize>() * ROWS_GAIN > self.design.stored() {
                let mut whole = vec![0.0; self.layout.width()];
                pairs().for_each(|(&j, &d)| whole[j] = d);
                let (w, b) = self.layout.output(&whole, 0);
                out.par_chunks_mut(BLOCK).enumerate().for_each(|(block, out)| {
                    self.design
                        .scores(block * BLOCK..block * BLOCK + out.len(), w, out);
                    out.iter_mut().for_each(|out| *out += b);
                });
                return out;
            }
            // A fixed number of sums, so that the bits do not depend on the threads.
            let part = chosen.len().div_ceil(PARTS).max(LEAST_PART);
            let parts: Vec<Vec<f64>> = chosen
                .par_chunks(part)
                .zip(along.par_chunks(part))
                .map(|(chosen, along)| {
                    let mut out = vec![0.0; self.rows];
                    for (&j, &d) in chosen.iter().zip(along).filter(|(_, d)| **d != 0.0) {
                        if self.layout.is_intercept(j) {
                            out.iter_mut().for_each(|out| *out += d);
                        } else if let Some(column) = self.column(j) {
                            column.add_to(d, &mut out);
                        }
                    }
                    out
                })
                .collect();
            parts.iter().for_each(|part| axpy(1.0, part, &mut out));
            return out;
        }
        self.keep(&pairs().map(|(&j, _)| j).collect::<Vec<_>>());
        out.par_chunks_mut(BLOCK).enumerate().for_each(|(block, out)| {
            let span = block * BLOCK..block * BLOCK + out.len();
            for (&j, &d) in pairs() {
                if self.layout.is_intercept(j) {
                    out.iter_mut().for_each(|out| *out += d);
                } else if let Some(part) = self.part(j, span.clone()) {
                    part.add_to(d, out);
                }
            }
        });
        out
    }
}

fn transposed_sparse<T: Copy + Default + Send + Sync + 'static>(matrix: &Csr<T>) -> Result<Csr<T>> {
    let mut starts = vec![0; matrix.features() + 1];
    for &j in matrix.indices() {
        starts[j as usize + 1] += 1;
    }
    for j in 0..matrix.features() {
        starts[j + 1] += starts[j];
    }
    let mut free = starts.clone();
    let mut indices = vec![0u32; matrix.indices().len()];
    let mut values = vec![T::default(); matrix.indices().len()];
    for i in 0..matrix.rows() {
        let (columns, row) = matrix.row(i);
        for (&j, &value) in columns.iter().zip(row) {
            let to = &mut free[j as usize];
            indices[*to] = i as u32;
            values[*to] = value;
            *to += 1;
        }
    }
    Csr::new(starts, indices, values, matrix.rows())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_every_storage_are_the_same() {
        let rows: Vec<Vec<f64>> = (0..37)
            .map(|i| {
                (0..21)
                    .map(|j| {
                        if (i * j) % 3 == 0 {
                            (i * 21 + j) as f64
                        } else {
                            0.0
                        }
                    })
                    .collect()
            })
            .collect();
        let dense = Design::from_rows(&rows).unwrap();
        let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in &rows {
            for (j, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                indices.push(j as u32);
                values.push(v);
            }
            starts.push(values.len());
        }
        let sparse = Design::from_csr(starts, indices, values, 21).unwrap();
        let layout = Layout {
            outputs: 1,
            features: 21,
            intercept: true,
        };
        let v: Vec<f64> = (0..37).map(|i| f64::from(i % 5) - 1.5).collect();
        let along: Vec<f64> = (0..22).map(|j| f64::from(j % 4) - 1.0).collect();
        let all: Vec<usize> = (0..22).collect();
        for design in [dense, sparse] {
            let columns = Columns::new(&design, layout).unwrap();
            for j in 0..21 {
                let expected: f64 = rows.iter().zip(&v).map(|(row, v)| row[j] * v).sum();
                assert_eq!(columns.dot(j, &v), expected);
                let expected: f64 = rows.iter().zip(&v).map(|(row, v)| row[j] * row[j] * v).sum();
                assert_eq!(columns.square(j, &v), expected);
                assert_eq!(columns.squares(Some(&v))[j], expected);
                let expected: f64 = rows.iter().map(|row| row[j] * row[j]).sum();
                assert_eq!(columns.squares(None)[j], expected);
            }
            assert_eq!(columns.squares(None)[21], 37.0);
            assert_eq!(columns.dot(21, &v), v.iter().sum::<f64>());
            for h in [None, Some(v.as_slice())] {
                let set = [7, 21, 3, 0, 20, 12];
                let mut gram = Growing::default();
                for (from, size) in [(0, 2), (2, 3), (3, 6)] {
                    gram.resize(size);
                    columns.add_products(&set[..size], from, h, &mut gram);
                }
                let entry = |i: usize, j: usize| rows[i].get(j).copied().unwrap_or(1.0);
                for (a, &j) in set.iter().enumerate() {
                    for (b, &k) in set.iter().enumerate() {
                        let terms = (0..37).map(|i| h.map_or(1.0, |h| h[i]) * entry(i, j) * entry(i, k));
                        assert_eq!(gram.column(a)[b], terms.sum::<f64>());
                    }
                }
            }
            let combined = columns.combine(&all, &along);
            for (row, combined) in rows.iter().zip(combined) {
                let expected: f64 = row.iter().zip(&along).map(|(x, d)| x * d).sum();
                assert_eq!(combined, expected + along[21]);
            }
        }
    }
}
