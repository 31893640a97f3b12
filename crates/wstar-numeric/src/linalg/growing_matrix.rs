//! A column-major square matrix that gains rows and columns at its end: a Gram matrix, or its factor.

use std::ops::Range;

use faer::{MatMut, MatRef};

/// A reallocation enlarges the side by one `GROWTH`-th, so that the cost of moving the entries is amortised.
/// Heuristic: a larger value saves memory and moves the entries more often; not measured yet.
const GROWTH: usize = 8;

/// The matrix. Memory reserved for growth is not touched until it is used.
#[derive(Debug, Default)]
pub struct GrowingMatrix {
    values: Vec<f64>,
    /// The distance from a column to the next.
    stride: usize,
    size: usize,
}

/// A view of a column-major square matrix.
#[derive(Clone, Copy)]
pub struct Square<'a> {
    values: &'a [f64],
    stride: usize,
    size: usize,
}

impl<'a> Square<'a> {
    /// A view of contiguous columns.
    pub fn new(values: &'a [f64], size: usize) -> Self {
        Square {
            values,
            stride: size,
            size,
        }
    }

    /// Column `j`.
    pub fn column(&self, j: usize) -> &'a [f64] {
        &self.values[j * self.stride..][..self.size]
    }
}

impl GrowingMatrix {
    /// A view of the matrix at its present size.
    pub fn view(&self) -> Square<'_> {
        Square {
            values: &self.values,
            stride: self.stride,
            size: self.size,
        }
    }

    /// Column `j`.
    pub fn column(&self, j: usize) -> &[f64] {
        &self.values[j * self.stride..][..self.size]
    }

    /// Column `j`, mutable.
    pub fn column_mut(&mut self, j: usize) -> &mut [f64] {
        &mut self.values[j * self.stride..][..self.size]
    }

    /// Changes the size. The values of new entries are unspecified; the caller writes them.
    pub fn resize(&mut self, size: usize) {
        if size > self.stride {
            let stride = size + size / GROWTH;
            self.values.reserve_exact(stride * stride - self.values.len());
            self.values.resize(self.size * stride, 0.0);
            // Columns move in place, the last one first, so that a large matrix is never in memory twice.
            for j in (1..self.size).rev() {
                let from = j * self.stride;
                self.values.copy_within(from..from + self.size, j * stride);
            }
            self.stride = stride;
        }
        self.size = size;
        self.values.resize(size * self.stride, 0.0);
    }

    /// Keeps the given rows and columns, which are in increasing order, and drops the others.
    pub fn retain(&mut self, kept: &[usize]) {
        for (to, &from) in kept.iter().enumerate() {
            for (row, &at) in kept.iter().enumerate() {
                self.values[to * self.stride + row] = self.values[from * self.stride + at];
            }
        }
        self.resize(kept.len());
    }

    /// A block of the matrix.
    pub fn block(&self, rows: Range<usize>, columns: Range<usize>) -> MatRef<'_, f64> {
        self.whole()
            .submatrix(rows.start, columns.start, rows.len(), columns.len())
    }

    /// A mutable block of the matrix.
    pub fn block_mut(&mut self, rows: Range<usize>, columns: Range<usize>) -> MatMut<'_, f64> {
        let (size, stride) = (self.size, self.stride);
        MatMut::from_column_major_slice_with_stride_mut(&mut self.values, size, size, stride).submatrix_mut(
            rows.start,
            columns.start,
            rows.len(),
            columns.len(),
        )
    }

    fn whole(&self) -> MatRef<'_, f64> {
        MatRef::from_column_major_slice_with_stride(&self.values, self.size, self.size, self.stride)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resize_and_retain_keep_the_entries() {
        let entry = |i: usize, j: usize| (100 * i + j) as f64;
        let mut matrix = GrowingMatrix::default();
        let mut names: Vec<usize> = Vec::new();
        for size in [3, 4, 11, 12, 40] {
            let before = names.len();
            names.extend(100 * size..100 * size + size - before);
            matrix.resize(size);
            for (j, &column) in names.iter().enumerate() {
                let from = if j < before { before } else { 0 };
                (from..size).for_each(|i| matrix.column_mut(j)[i] = entry(names[i], column));
            }
            for (j, &column) in names.iter().enumerate() {
                let expected: Vec<f64> = names.iter().map(|&row| entry(row, column)).collect();
                assert_eq!(matrix.column(j), expected);
                assert_eq!(matrix.view().column(j), expected);
            }
        }
        let kept: Vec<usize> = (0..40).filter(|at| at % 3 != 1).collect();
        matrix.retain(&kept);
        for (j, &column) in kept.iter().enumerate() {
            let expected: Vec<f64> = kept.iter().map(|&row| entry(names[row], names[column])).collect();
            assert_eq!(matrix.column(j), expected);
        }
    }
}
