//! The columns of a design, copied once unless they lie together already: a design transposed, so that a column is a row like any other.

use rayon::prelude::*;

use crate::data::{Csr, Dense, Design, Row};
use crate::error::Result;
use crate::kernel::dense::axpy;
use crate::oracle::Layout;

/// Rows that one thread takes at a time.
const BLOCK: usize = 4096;
/// Sums of sparse columns that are made side by side at most, and the columns that are worth one.
const PARTS: usize = 4;
const LEAST_PART: usize = 256;

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

    /// Σᵢ hᵢ xᵢⱼ xᵢₖ for all pairs of a set of columns, column by column. Pairs of columns that are also in
    /// `known`, another set with its matrix, are taken from there.
    pub(super) fn gram(&self, set: &[usize], h: &[f64], known: Option<(&[usize], &[f64])>) -> Vec<f64> {
        let (known_set, known_gram) = known.unwrap_or((&[], &[]));
        let places: Vec<Option<usize>> = set.iter().map(|j| known_set.binary_search(j).ok()).collect();
        let lower: Vec<Vec<f64>> = (0..set.len())
            .into_par_iter()
            .map_init(
                || vec![0.0; self.rows],
                |weighted, a| {
                    let row = |b: usize| {
                        let (place, other) = (places[a]?, places[b]?);
                        Some(known_gram[place * known_set.len() + other])
                    };
                    if (0..=a).all(|b| row(b).is_some()) {
                        return (0..=a).filter_map(row).collect();
                    }
                    self.add_weighted(set[a], 1.0, h, weighted);
                    let products = (0..=a)
                        .map(|b| row(b).unwrap_or_else(|| self.dot(set[b], weighted)))
                        .collect();
                    self.clear(set[a], weighted);
                    products
                },
            )
            .collect();
        let mut gram = vec![0.0; set.len() * set.len()];
        for (a, row) in lower.iter().enumerate() {
            for (b, &value) in row.iter().enumerate() {
                gram[a * set.len() + b] = value;
                gram[b * set.len() + a] = value;
            }
        }
        gram
    }

    /// Puts 0 wherever column `j` has an entry.
    fn clear(&self, j: usize, v: &mut [f64]) {
        if self.transposed.is_sparse() && !self.layout.is_intercept(j) {
            if j < self.transposed.rows() {
                self.transposed.row(j).for_each(|i, _| v[i] = 0.0);
            }
        } else {
            v.fill(0.0);
        }
    }

    /// Σ along·xⱼ over the chosen columns.
    pub(super) fn combine(&self, chosen: &[usize], along: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.rows];
        if self.transposed.is_sparse() {
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
            let combined = columns.combine(&all, &along);
            for (row, combined) in rows.iter().zip(combined) {
                let expected: f64 = row.iter().zip(&along).map(|(x, d)| x * d).sum();
                assert_eq!(combined, expected + along[21]);
            }
        }
    }
}
