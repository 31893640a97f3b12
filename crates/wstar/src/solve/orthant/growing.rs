//! A square matrix that grows at its end, column by column: a Gram matrix, or the factor of one.

use std::ops::Range;

use faer::{MatMut, MatRef};

/// It grows by at least so small a part of itself, that it need not be moved too often.
const GROWTH: usize = 8;

/// The matrix; memory that it may grow into is not touched before.
#[derive(Debug, Default)]
pub(crate) struct Growing {
    values: Vec<f64>,
    /// From a column to the next.
    stride: usize,
    size: usize,
}

/// A square matrix, column by column.
#[derive(Clone, Copy)]
pub(crate) struct Square<'a> {
    values: &'a [f64],
    stride: usize,
    size: usize,
}

impl<'a> Square<'a> {
    /// Whose columns lie one after another.
    pub(crate) fn new(values: &'a [f64], size: usize) -> Self {
        Square {
            values,
            stride: size,
            size,
        }
    }

    /// Column `j`.
    pub(super) fn column(&self, j: usize) -> &'a [f64] {
        &self.values[j * self.stride..][..self.size]
    }
}

impl Growing {
    /// As it is now.
    pub(crate) fn view(&self) -> Square<'_> {
        Square {
            values: &self.values,
            stride: self.stride,
            size: self.size,
        }
    }

    /// Column `j`.
    pub(crate) fn column(&self, j: usize) -> &[f64] {
        &self.values[j * self.stride..][..self.size]
    }

    /// Column `j`.
    pub(crate) fn column_mut(&mut self, j: usize) -> &mut [f64] {
        &mut self.values[j * self.stride..][..self.size]
    }

    /// Makes it larger, or smaller; what is new is there to be written.
    pub(crate) fn resize(&mut self, size: usize) {
        if size > self.stride {
            let stride = size + size / GROWTH;
            self.values.reserve_exact(stride * stride - self.values.len());
            self.values.resize(self.size * stride, 0.0);
            // In place, the last column first: a large matrix is never there twice.
            for j in (1..self.size).rev() {
                let from = j * self.stride;
                self.values.copy_within(from..from + self.size, j * stride);
            }
            self.stride = stride;
        }
        self.size = size;
        self.values.resize(size * self.stride, 0.0);
    }

    /// Keeps some rows and columns, which are given in order.
    pub(crate) fn retain(&mut self, kept: &[usize]) {
        for (to, &from) in kept.iter().enumerate() {
            for (row, &at) in kept.iter().enumerate() {
                self.values[to * self.stride + row] = self.values[from * self.stride + at];
            }
        }
        self.resize(kept.len());
    }

    /// A block of it.
    pub(super) fn block(&self, rows: Range<usize>, columns: Range<usize>) -> MatRef<'_, f64> {
        self.whole()
            .submatrix(rows.start, columns.start, rows.len(), columns.len())
    }

    /// A block of it, to be written.
    pub(super) fn block_mut(&mut self, rows: Range<usize>, columns: Range<usize>) -> MatMut<'_, f64> {
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
    fn what_was_there_stays() {
        let entry = |i: usize, j: usize| (100 * i + j) as f64;
        let mut matrix = Growing::default();
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
