//! Dense row-major matrices.

use std::ops::Range;

use crate::error::{Error, Result};
use wstar_numeric::buffer::Memory;

/// A dense row-major matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Dense<T> {
    pub(super) values: Memory<T>,
    pub(super) rows: usize,
    pub(super) features: usize,
}

impl<T> Dense<T> {
    /// A matrix of `rows` × `features` from its values in row-major order.
    pub fn new(values: impl Into<Memory<T>>, rows: usize, features: usize) -> Result<Self> {
        let values = values.into();
        if rows.checked_mul(features) != Some(values.len()) {
            return Err(Error::data(format!(
                "{} values do not make {rows} rows of {features}",
                values.len()
            )));
        }
        Ok(Dense {
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

    /// All values in row-major order.
    #[inline]
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The values as a vector in row-major order.
    #[inline]
    pub fn into_values(self) -> Vec<T>
    where
        T: Clone + Send + Sync + 'static,
    {
        self.values.into_vec()
    }

    /// Row `i`.
    #[inline]
    pub fn row(&self, i: usize) -> &[T] {
        self.block(i..i + 1)
    }

    /// The rows of a range.
    #[inline]
    pub fn block(&self, rows: Range<usize>) -> &[T] {
        &self.values[rows.start * self.features..rows.end * self.features]
    }
}
