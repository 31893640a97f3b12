//! The columns of a design. Columns of sparse rows are copied once, as the rows of the transpose; columns of
//! dense rows are copied when they are first used; a design stored by columns is used in place.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use rayon::prelude::*;

use crate::l1::column_cache::ColumnCache;
use wstar_data::error::Result;
use wstar_data::linear::Layout;
use wstar_data::{Csr, Design, Row};
use wstar_numeric::dense::axpy;
use wstar_numeric::linalg::growing_matrix::GrowingMatrix;

/// Rows that one task processes at a time. Heuristic: task overhead against parallelism; not measured yet.
const BLOCK: usize = 4096;
/// The speed of summing entries by sparse rows, as a multiple of the speed by columns. Heuristic: contiguous
/// writes against scattered ones; not measured yet.
const ROW_SPEEDUP: usize = 2;
/// The most partial sums over sparse columns computed in parallel. Heuristic: parallelism against memory of n
/// numbers each; not measured yet.
const MOST_PARTIAL_SUMS: usize = 4;
/// The least number of columns in one partial sum. Heuristic: task overhead against parallelism; not measured
/// yet.
const LEAST_COLUMNS_OF_A_SUM: usize = 256;

/// The number of uncached dense columns beyond which column products are computed by a pass over the rows.
/// Heuristic: copies of columns against a product with all of them; not measured yet.
const MOST_UNCACHED: usize = 64;
/// The number of row ranges of such a pass. Heuristic: parallelism against memory for partial sums; not
/// measured yet. It is fixed, so that sums do not depend on the number of threads.
const LANES: usize = 8;

/// Dense columns whose products are computed together. Heuristic: a tile of SIDE × SLAB numbers stays in a
/// core's L2 cache; not measured yet.
const SIDE: usize = 128;
/// Rows of such a tile. Heuristic: as [`SIDE`]; not measured yet.
const SLAB: usize = 1024;

/// The columns of the features, followed by that of the intercept.
#[derive(Debug)]
pub(super) struct Columns {
    design: Design,
    stored: Stored,
    layout: Layout,
    rows: usize,
}

/// How the columns are stored.
#[derive(Debug)]
enum Stored {
    /// As the rows of this transposed design.
    Transposed(Design),
    Cached32(ColumnCache<f32>),
    Cached64(ColumnCache<f64>),
}

impl Columns {
    /// The columns of a design.
    pub(super) fn new(design: &Design, layout: Layout) -> Result<Self> {
        let stored = match design {
            Design::Dense32(matrix) => Stored::Cached32(ColumnCache::new(matrix)),
            Design::Dense64(matrix) => Stored::Cached64(ColumnCache::new(matrix)),
            Design::Sparse32(matrix) => Stored::Transposed(Design::Sparse32(transposed_sparse(matrix)?)),
            Design::Sparse64(matrix) => Stored::Transposed(Design::Sparse64(transposed_sparse(matrix)?)),
            Design::Columns32(matrix) => Stored::Transposed(Design::Dense32(matrix.transposed()?)),
            Design::Columns64(matrix) => Stored::Transposed(Design::Dense64(matrix.transposed()?)),
        };
        Ok(Columns {
            // A clone shares the memory.
            design: design.clone(),
            stored,
            layout,
            rows: design.rows(),
        })
    }

    /// Column `j` of a feature; `None` beyond the last one with entries.
    fn column(&self, j: usize) -> Option<Row<'_>> {
        match &self.stored {
            Stored::Transposed(transposed) => (j < transposed.rows()).then(|| transposed.row(j)),
            Stored::Cached32(cache) => cache.column(j).map(Row::Dense32),
            Stored::Cached64(cache) => cache.column(j).map(Row::Dense64),
        }
    }

    /// Loads columns that will be used repeatedly into the cache.
    pub(super) fn load(&self, chosen: &[usize]) {
        match &self.stored {
            Stored::Transposed(_) => {}
            Stored::Cached32(cache) => cache.load(chosen),
            Stored::Cached64(cache) => cache.load(chosen),
        }
    }

    /// xⱼ·v.
    pub(super) fn dot(&self, j: usize, v: &[f64]) -> f64 {
        if self.layout.is_intercept(j) {
            return v.iter().sum();
        }
        self.column(j).map_or(0.0, |column| column.dot(v))
    }

    /// xⱼ·v for the chosen columns.
    pub(super) fn dots(&self, chosen: &[usize], v: &[f64]) -> Vec<f64> {
        let missing = match &self.stored {
            Stored::Transposed(_) => 0,
            Stored::Cached32(cache) => cache.missing(chosen).len(),
            Stored::Cached64(cache) => cache.missing(chosen).len(),
        };
        if missing <= MOST_UNCACHED {
            return chosen.par_iter().map(|&j| self.dot(j, v)).collect();
        }
        let all = self.sums(|rows, sums| self.design.add_rows(rows.clone(), &v[rows], sums));
        let of = |&j: &usize| match self.layout.is_intercept(j) {
            true => v.iter().sum(),
            false => all.get(j).copied().unwrap_or(0.0),
        };
        chosen.iter().map(of).collect()
    }

    /// Σᵢ hᵢ xᵢⱼ² for all columns; hᵢ = 1 without `h`.
    pub(super) fn squares(&self, h: Option<&[f64]>) -> Vec<f64> {
        let own = |i: usize| h.map_or(1.0, |h| h[i]);
        let mut all = match &self.stored {
            Stored::Transposed(transposed) => {
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

    /// Sums over the rows for every feature, in a fixed number of row ranges, so that the rounding does not
    /// depend on the threads.
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

    /// Computes Σᵢ hᵢ xᵢⱼ xᵢₖ for all columns of `set` with those from index `from` on, into both triangles
    /// of a matrix; hᵢ = 1 without `h`.
    pub(super) fn add_products(
        &self,
        set: &[usize],
        from: usize,
        h: Option<&[f64]>,
        gram: &mut GrowingMatrix,
    ) {
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
        self.load(set);
        let blocks: Vec<(usize, Mat<f64>)> = (0..set.len().div_ceil(SIDE))
            .into_par_iter()
            .map(|block| {
                let own = block * SIDE..((block + 1) * SIDE).min(set.len());
                // The product of two new columns is computed with the block of the earlier one.
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

    /// Σᵢ hᵢ xᵢⱼ xᵢₖ of the dense columns `left` with the columns `right`.
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

    /// A range of rows of a dense column.
    fn part(&self, j: usize, span: Range<usize>) -> Option<Row<'_>> {
        match self.column(j)? {
            Row::Dense32(column) => Some(Row::Dense32(&column[span])),
            Row::Dense64(column) => Some(Row::Dense64(&column[span])),
            _ => None,
        }
    }

    /// Copies a range of rows of dense columns, one column after another, weighted by `h`.
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

    /// sums += X̃ᵀ(h∘xⱼ), over the sparse rows in which column `j` has an entry; most columns have few.
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

    /// Σⱼ alongⱼ·xⱼ over the chosen columns.
    pub(super) fn combine(&self, chosen: &[usize], along: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.rows];
        let pairs = || chosen.iter().zip(along).filter(|(_, d)| **d != 0.0);
        if self.design.is_sparse() {
            let entries = |j: usize| self.column(j).map_or(0, |column| column.stored());
            if pairs().map(|(&j, _)| entries(j)).sum::<usize>() * ROW_SPEEDUP > self.design.stored() {
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
            // A fixed number of partial sums, so that the rounding does not depend on the threads.
            let part = chosen
                .len()
                .div_ceil(MOST_PARTIAL_SUMS)
                .max(LEAST_COLUMNS_OF_A_SUM);
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
        self.load(&pairs().map(|(&j, _)| j).collect::<Vec<_>>());
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

/// The transpose of a sparse matrix.
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
    fn dense_and_sparse_columns_agree() {
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
                let mut gram = GrowingMatrix::default();
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
