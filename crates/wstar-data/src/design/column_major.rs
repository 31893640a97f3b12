//! Dense column-major matrices, as in Fortran and many data frames.

use crate::Dense;
use crate::error::{Error, Result};
use wstar_numeric::buffer::Memory;

/// A dense column-major matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnMajor<T> {
    values: Memory<T>,
    rows: usize,
    features: usize,
}

impl<T> ColumnMajor<T> {
    /// A matrix of `rows` × `features` from its values in column-major order.
    pub fn new(values: impl Into<Memory<T>>, rows: usize, features: usize) -> Result<Self> {
        let values = values.into();
        if rows.checked_mul(features) != Some(values.len()) {
            return Err(Error::data(format!(
                "{} values do not make {features} columns of {rows}",
                values.len()
            )));
        }
        Ok(ColumnMajor {
            values,
            rows,
            features,
        })
    }

    /// The number of rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    #[inline]
    pub fn features(&self) -> usize {
        self.features
    }

    /// All values in column-major order.
    #[inline]
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The values from the first one of row `i` on; the other values of the row follow at a stride of `rows`.
    pub(crate) fn rest_from(&self, i: usize) -> &[T] {
        &self.values[i.min(self.values.len())..]
    }

    /// The transpose, as a row-major matrix on the same memory.
    #[inline]
    pub fn transposed(&self) -> Result<Dense<T>> {
        Dense::new(self.values.clone(), self.features, self.rows)
    }

    /// The rows with the given indices, in that order.
    pub(super) fn select(&self, rows: &[usize]) -> Self
    where
        T: Copy + Send + Sync + 'static,
    {
        let mut values = Vec::with_capacity(rows.len() * self.features);
        for column in self.values.chunks_exact(self.rows.max(1)) {
            values.extend(rows.iter().map(|&i| column[i]));
        }
        ColumnMajor {
            values: values.into(),
            rows: rows.len(),
            features: self.features,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Design;

    #[test]
    fn column_major_rows_have_the_expected_values() {
        let columns = ColumnMajor::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3, 2).unwrap();
        assert_eq!(columns.transposed().unwrap().row(1), [4.0, 5.0, 6.0]);
        let design = Design::Columns64(columns);
        let rows: Vec<Vec<f64>> = design.iter().map(|row| row.to_dense(2)).collect();
        assert_eq!(rows, [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]);
        assert_eq!(design.select(&[2, 0]).row(0).to_dense(2), [3.0, 6.0]);
        assert_eq!(design.row(2).dot(&[1.0, 10.0]), 63.0);
        assert!(ColumnMajor::new(vec![1.0], 2, 1).is_err());
    }
}
