//! The columns of a design, copied once unless they lie together already: a design transposed, so that a column is a row like any other.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use rayon::prelude::*;

use crate::data::{Csr, Dense, Design, Row};
use crate::error::Result;
use crate::kernel::dense::axpy;
use crate::oracle::Layout;
use crate::solve::orthant::Growing;

/// Rows that one thread takes at a time.
const BLOCK: usize = 4096;
/// How many times sooner an entry of a sparse row is summed than one of a column.
const ROWS_GAIN: usize = 2;
/// Sums of sparse columns that are made side by side at most, and the columns that are worth one.
const PARTS: usize = 4;
const LEAST_PART: usize = 256;

/// Dense columns whose products are made together, and rows at a time: both stay in a core's second cache.
const SIDE: usize = 128;
const SLAB: usize = 1024;

/// The columns, with that of the intercept after those of the features.
#[derive(Debug)]
pub(super) struct Columns {
    transposed: Design,
    layout: Layout,
    rows: usize,
}

impl Columns {
    /// The design's entries, column by column.
    pub(super) fn new(design: &Design, layout: Layout) -> Result<Self> {
        let transposed = match design {
            Design::Dense32(matrix) => Design::Dense32(transposed_dense(matrix)?),
            Design::Dense64(matrix) => Design::Dense64(transposed_dense(matrix)?),
            Design::Sparse32(matrix) => Design::Sparse32(transposed_sparse(matrix)?),
            Design::Sparse64(matrix) => Design::Sparse64(transposed_sparse(matrix)?),
            Design::Columns32(matrix) => Design::Dense32(matrix.transposed()?),
            Design::Columns64(matrix) => Design::Dense64(matrix.transposed()?),
        };
        Ok(Columns {
            transposed,
            layout,
            rows: design.rows(),
        })
    }

    /// xⱼ·v.
    pub(super) fn dot(&self, j: usize, v: &[f64]) -> f64 {
        if self.layout.is_intercept(j) {
            v.iter().sum()
        } else if j < self.transposed.rows() {
            self.transposed.row(j).dot(v)
        } else {
            0.0
        }
    }

    /// ‖xⱼ‖².
    pub(super) fn squared_length(&self, j: usize) -> f64 {
        if self.layout.is_intercept(j) {
            self.rows as f64
        } else if j < self.transposed.rows() {
            self.transposed.row(j).squared_norm()
        } else {
            0.0
        }
    }

    /// Σᵢ hᵢ xᵢⱼ².
    pub(super) fn square(&self, j: usize, h: &[f64]) -> f64 {
        if self.layout.is_intercept(j) {
            return h.iter().sum();
        }
        let mut sum = 0.0;
        if j < self.transposed.rows() {
            self.transposed.row(j).for_each(|i, x| sum += h[i] * x * x);
        }
        sum
    }

    /// v += scale·h∘xⱼ.
    pub(super) fn add_weighted(&self, j: usize, scale: f64, h: &[f64], v: &mut [f64]) {
        if self.layout.is_intercept(j) {
            v.iter_mut().zip(h).for_each(|(v, h)| *v += scale * h);
        } else if j < self.transposed.rows() {
            self.transposed.row(j).for_each(|i, x| v[i] += scale * x * h[i]);
        }
    }

    /// Σᵢ hᵢ xᵢⱼ xᵢₖ of all columns of a set with those from place `from` on, into both triangles of a matrix; without
    /// `h` every row counts once.
    pub(super) fn add_products(
        &self,
        design: &Design,
        set: &[usize],
        from: usize,
        h: Option<&[f64]>,
        gram: &mut Growing,
    ) {
        if design.is_sparse() {
            let rows: Vec<Vec<f64>> = (from..set.len())
                .into_par_iter()
                .map_init(
                    || vec![0.0; self.layout.width()],
                    |sums, at| {
                        self.add_rows(design, set[at], h, sums);
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

    /// Writes some rows of dense columns one after another.
    fn pack(&self, chosen: &[usize], span: Range<usize>, h: Option<&[f64]>, out: &mut Vec<f64>) {
        out.clear();
        out.resize(chosen.len() * span.len(), 0.0);
        for (&j, out) in chosen.iter().zip(out.chunks_exact_mut(span.len().max(1))) {
            if self.layout.is_intercept(j) {
                out.fill(1.0);
            } else if let Some(part) = dense_part(&self.transposed, j, span.clone()) {
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
    fn add_rows(&self, design: &Design, j: usize, h: Option<&[f64]>, sums: &mut [f64]) {
        let (sums, intercept) = sums.split_at_mut(self.layout.features);
        let mut add = |i: usize, x: f64| {
            let scale = h.map_or(x, |h| h[i] * x);
            design.row(i).add_to(scale, sums);
            intercept.iter_mut().for_each(|sum| *sum += scale);
        };
        if self.layout.is_intercept(j) {
            (0..self.rows).for_each(|i| add(i, 1.0));
        } else if j < self.transposed.rows() {
            self.transposed.row(j).for_each(add);
        }
    }

    /// Σ along·xⱼ over the chosen columns of a design.
    pub(super) fn combine(&self, design: &Design, chosen: &[usize], along: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.rows];
        if self.transposed.is_sparse() {
            let entries = |j: usize| match j < self.transposed.rows() {
                true => self.transposed.row(j).stored(),
                false => 0,
            };
            let pairs = || chosen.iter().zip(along).filter(|(_, d)| **d != 0.0);
            if pairs().map(|(&j, _)| entries(j)).sum::<usize>() * ROWS_GAIN > design.stored() {
                let mut whole = vec![0.0; self.layout.width()];
                pairs().for_each(|(&j, &d)| whole[j] = d);
                let (w, b) = self.layout.output(&whole, 0);
                out.par_chunks_mut(BLOCK).enumerate().for_each(|(block, out)| {
                    design.scores(block * BLOCK..block * BLOCK + out.len(), w, out);
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
                        } else if j < self.transposed.rows() {
                            self.transposed.row(j).add_to(d, &mut out);
                        }
                    }
                    out
                })
                .collect();
            parts.iter().for_each(|part| axpy(1.0, part, &mut out));
            return out;
        }
        out.par_chunks_mut(BLOCK).enumerate().for_each(|(block, out)| {
            let span = block * BLOCK..block * BLOCK + out.len();
            for (&j, &d) in chosen.iter().zip(along).filter(|(_, d)| **d != 0.0) {
                if self.layout.is_intercept(j) {
                    out.iter_mut().for_each(|out| *out += d);
                } else if let Some(part) = dense_part(&self.transposed, j, span.clone()) {
                    part.add_to(d, out);
                }
            }
        });
        out
    }
}

/// Some rows of a dense column.
fn dense_part(transposed: &Design, j: usize, span: std::ops::Range<usize>) -> Option<Row<'_>> {
    match transposed {
        Design::Dense32(matrix) if j < matrix.rows() => Some(Row::Dense32(&matrix.row(j)[span])),
        Design::Dense64(matrix) if j < matrix.rows() => Some(Row::Dense64(&matrix.row(j)[span])),
        _ => None,
    }
}

fn transposed_dense<T: Copy + Default + Send + Sync + 'static>(matrix: &Dense<T>) -> Result<Dense<T>> {
    let (rows, features) = (matrix.rows(), matrix.features());
    let mut values = vec![T::default(); rows * features];
    // A few columns at a time, so that each line of the cache that a row brings is used at once.
    const TOGETHER: usize = 16;
    values
        .par_chunks_mut((TOGETHER * rows).max(1))
        .enumerate()
        .for_each(|(block, columns)| {
            for i in 0..rows {
                let row = &matrix.row(i)[block * TOGETHER..];
                for (column, &value) in columns.chunks_exact_mut(rows).zip(row) {
                    column[i] = value;
                }
            }
        });
    Dense::new(values, features, rows)
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
            }
            assert_eq!(columns.dot(21, &v), v.iter().sum::<f64>());
            for h in [None, Some(v.as_slice())] {
                let set = [7, 21, 3, 0, 20, 12];
                let mut gram = Growing::default();
                for (from, size) in [(0, 2), (2, 3), (3, 6)] {
                    gram.resize(size);
                    columns.add_products(&design, &set[..size], from, h, &mut gram);
                }
                let entry = |i: usize, j: usize| rows[i].get(j).copied().unwrap_or(1.0);
                for (a, &j) in set.iter().enumerate() {
                    for (b, &k) in set.iter().enumerate() {
                        let terms = (0..37).map(|i| h.map_or(1.0, |h| h[i]) * entry(i, j) * entry(i, k));
                        assert_eq!(gram.column(a)[b], terms.sum::<f64>());
                    }
                }
            }
            let combined = columns.combine(&design, &all, &along);
            for (row, combined) in rows.iter().zip(combined) {
                let expected: f64 = row.iter().zip(&along).map(|(x, d)| x * d).sum();
                assert_eq!(combined, expected + along[21]);
            }
        }
    }
}
