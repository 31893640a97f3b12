//! Sparse matrices in CSR format.

use std::ops::Range;

use rayon::prelude::*;

use crate::error::{Error, Result};
use wstar_numeric::buffer::Memory;
use wstar_numeric::sparse::SparseRows;

/// A sparse matrix in CSR format; the column indices of each row are strictly increasing.
#[derive(Debug, Clone, PartialEq)]
pub struct Csr<T> {
    pub(super) starts: Memory<usize>,
    pub(super) indices: Memory<u32>,
    pub(super) values: Memory<T>,
    pub(super) features: usize,
}

impl<T> Csr<T> {
    /// A matrix from its three arrays: row `i` has the entries `starts[i]..starts[i + 1]`.
    pub fn new(
        starts: impl Into<Memory<usize>>,
        indices: impl Into<Memory<u32>>,
        values: impl Into<Memory<T>>,
        features: usize,
    ) -> Result<Self> {
        let matrix = Csr {
            starts: starts.into(),
            indices: indices.into(),
            values: values.into(),
            features,
        };
        matrix.check().map(|()| matrix)
    }

    /// [`Csr::new`] without validation, for callers that guarantee consistent arrays.
    pub(crate) fn of_sorted(starts: Vec<usize>, indices: Vec<u32>, values: Vec<T>, features: usize) -> Self
    where
        T: Send + Sync + 'static,
    {
        let matrix = Csr {
            starts: starts.into(),
            indices: indices.into(),
            values: values.into(),
            features,
        };
        debug_assert!(matrix.check().is_ok());
        matrix
    }

    fn check(&self) -> Result<()> {
        let starts: &[usize] = &self.starts;
        let ends_fit = starts.first() == Some(&0)
            && starts.last() == Some(&self.indices.len())
            && starts.is_sorted()
            && self.indices.len() == self.values.len();
        if !ends_fit {
            return Err(Error::data(
                "the row starts of a sparse matrix do not fit its entries",
            ));
        }
        let (entries, features): (&[u32], usize) = (&self.indices, self.features);
        let wrong = starts.par_windows(2).position_first(|bounds| {
            let row = &entries[bounds[0]..bounds[1]];
            let increasing = row.windows(2).all(|pair| pair[0] < pair[1]);
            !increasing || row.last().is_some_and(|&j| j as usize >= features)
        });
        if let Some(i) = wrong {
            return Err(Error::data(format!(
                "row {i} of a sparse matrix has unsorted, repeated or too large indices"
            )));
        }
        Ok(())
    }

    /// The number of rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// The number of columns.
    #[inline]
    pub fn features(&self) -> usize {
        self.features
    }

    /// The start of each row, and the end of the last one.
    #[inline]
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// The column indices of all entries.
    #[inline]
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// The values of all entries.
    #[inline]
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Row starts, column indices and values.
    #[inline]
    pub fn into_parts(self) -> (Vec<usize>, Vec<u32>, Vec<T>)
    where
        T: Clone + Send + Sync + 'static,
    {
        (
            self.starts.into_vec(),
            self.indices.into_vec(),
            self.values.into_vec(),
        )
    }

    /// Column indices and values of row `i`.
    #[inline]
    pub fn row(&self, i: usize) -> (&[u32], &[T]) {
        let span = self.starts[i]..self.starts[i + 1];
        (&self.indices[span.clone()], &self.values[span])
    }

    /// The rows of a range.
    #[inline]
    pub fn block(&self, rows: Range<usize>) -> SparseRows<'_, T> {
        SparseRows::new(
            &self.starts[rows.start..rows.end + 1],
            &self.indices,
            &self.values,
        )
    }

    /// The same entries in a matrix with at least `features` columns; the number of columns never decreases.
    #[must_use]
    pub fn widened(mut self, features: usize) -> Self {
        self.features = self.features.max(features);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inconsistent_csr_arrays_are_refused() {
        assert!(
            Csr::new(vec![0, 2], vec![1, 1], vec![1.0, 1.0], 3).is_err(),
            "repeated"
        );
        assert!(
            Csr::new(vec![0, 2], vec![2, 1], vec![1.0, 1.0], 3).is_err(),
            "unsorted"
        );
        assert!(Csr::new(vec![0, 1], vec![3], vec![1.0], 3).is_err(), "too large");
        assert!(
            Csr::new(vec![0, 5], vec![0], vec![1.0], 3).is_err(),
            "beyond the end"
        );
    }
}
