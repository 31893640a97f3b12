//! A dense matrix that lies column by column, as Fortran and many data frames have it.

use crate::data::Dense;
use crate::error::{Error, Result};
use crate::kernel::memory::Memory;

/// A dense matrix, column by column.
#[derive(Debug, Clone, PartialEq)]
pub struct Columns<T> {
    values: Memory<T>,
    rows: usize,
    features: usize,
}

impl<T> Columns<T> {
    /// A matrix of `rows` × `features` from its values, column by column.
    pub fn new(values: impl Into<Memory<T>>, rows: usize, features: usize) -> Result<Self> {
        let values = values.into();
        if rows.checked_mul(features) != Some(values.len()) {
            return Err(Error::data(format!(
                "{} values do not make {features} columns of {rows}",
                values.len()
            )));
        }
        Ok(Columns {
            values,
            rows,
            features,
        })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn features(&self) -> usize {
        self.features
    }

    /// All values, column by column.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The values from the first one of row `i` on: its others follow `rows` values after each other.
    pub(crate) fn rest_from(&self, i: usize) -> &[T] {
        &self.values[i.min(self.values.len())..]
    }

    /// The same memory, with its columns as rows.
    pub(crate) fn transposed(&self) -> Result<Dense<T>> {
        Dense::new(self.values.clone(), self.features, self.rows)
    }

    /// The rows at the given positions, in that order.
    pub(super) fn select(&self, rows: &[usize]) -> Self
    where
        T: Copy + Send + Sync + 'static,
    {
        let mut values = Vec::with_capacity(rows.len() * self.features);
        for column in self.values.chunks_exact(self.rows.max(1)) {
            values.extend(rows.iter().map(|&i| column[i]));
        }
        Columns {
            values: values.into(),
            rows: rows.len(),
            features: self.features,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Design;

    #[test]
    fn rows_are_those_of_the_same_matrix_row_by_row() {
        let columns = Columns::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3, 2).unwrap();
        assert_eq!(columns.transposed().unwrap().row(1), [4.0, 5.0, 6.0]);
        let design = Design::Columns64(columns);
        let rows: Vec<Vec<f64>> = design.iter().map(|row| row.to_dense(2)).collect();
        assert_eq!(rows, [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]);
        assert_eq!(design.select(&[2, 0]).row(0).to_dense(2), [3.0, 6.0]);
        assert_eq!(design.row(2).dot(&[1.0, 10.0]), 63.0);
        assert!(Columns::new(vec![1.0], 2, 1).is_err());
    }
}
