//! The design matrix: dense, CSR or column-major, stored in `f32` if every value is exact in `f32`, else in `f64`.
//!
//! - `row`: a borrowed row of any storage, with dot products and updates.
//! - `dense`, `column_major`: dense matrices stored by rows or by columns.
//! - `csr`: sparse matrices in CSR format.
//! - `row_subset`, `column_subset`: copies of selected rows, or of selected columns of a sparse design.
//! - `interleaved_columns`: selected columns of a sparse design in the SELL format.
//! - `from_arrays`: designs from the rows or matrices of a program.
//! - `sparsify`: dense rows that are mostly zeros, converted to CSR.

pub(crate) mod column_major;
pub(crate) mod column_subset;
mod csr;
mod dense;
mod from_arrays;
pub(crate) mod interleaved_columns;
pub(crate) mod row;
pub(crate) mod row_subset;
pub(crate) mod sparsify;

pub use csr::Csr;
pub use dense::Dense;

use std::ops::Range;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::{ColumnMajor, Row};
use wstar_numeric::double_double;
use wstar_numeric::prefetch::prefetch;

/// The design matrix in one of its storage formats. The format does not change a result: `f32` is used only if every value
/// is exact in `f32`, and solver vectors are always `f64`.
#[derive(Debug, Clone, PartialEq)]
pub enum Design {
    /// Dense, `f32`.
    Dense32(Dense<f32>),
    /// Dense, `f64`.
    Dense64(Dense<f64>),
    /// Sparse, `f32`.
    Sparse32(Csr<f32>),
    /// Sparse, `f64`.
    Sparse64(Csr<f64>),
    /// Dense, column-major, `f32`.
    Columns32(ColumnMajor<f32>),
    /// Dense, column-major, `f64`.
    Columns64(ColumnMajor<f64>),
}

/// Evaluates an expression on the matrix of any storage format.
macro_rules! on_storage {
    ($design:expr, $matrix:ident => $body:expr) => {
        match $design {
            Design::Dense32($matrix) => $body,
            Design::Dense64($matrix) => $body,
            Design::Sparse32($matrix) => $body,
            Design::Sparse64($matrix) => $body,
            Design::Columns32($matrix) => $body,
            Design::Columns64($matrix) => $body,
        }
    };
}

impl Design {
    /// The number of rows.
    #[inline]
    pub fn rows(&self) -> usize {
        on_storage!(self, matrix => matrix.rows())
    }

    /// The number of columns.
    #[inline]
    pub fn features(&self) -> usize {
        on_storage!(self, matrix => matrix.features())
    }

    /// The number of stored values.
    #[inline]
    pub fn stored(&self) -> usize {
        on_storage!(self, matrix => matrix.values().len())
    }

    /// Whether rows are stored sparsely.
    #[inline]
    pub fn is_sparse(&self) -> bool {
        matches!(self, Design::Sparse32(_) | Design::Sparse64(_))
    }

    /// Row `i`.
    #[inline]
    pub fn row(&self, i: usize) -> Row<'_> {
        match self {
            Design::Dense32(matrix) => Row::Dense32(matrix.row(i)),
            Design::Dense64(matrix) => Row::Dense64(matrix.row(i)),
            Design::Sparse32(matrix) => {
                let (indices, values) = matrix.row(i);
                Row::Sparse32(indices, values)
            }
            Design::Sparse64(matrix) => {
                let (indices, values) = matrix.row(i);
                Row::Sparse64(indices, values)
            }
            Design::Columns32(matrix) => Row::Strided32(matrix.rest_from(i), matrix.rows()),
            Design::Columns64(matrix) => Row::Strided64(matrix.rest_from(i), matrix.rows()),
        }
    }

    /// Prefetches the start and end offsets of row `i` of a sparse design.
    #[inline]
    pub fn prefetch_offsets(&self, i: usize) {
        match self {
            Design::Sparse32(matrix) => prefetch(&matrix.starts[i..i + 2]),
            Design::Sparse64(matrix) => prefetch(&matrix.starts[i..i + 2]),
            _ => {}
        }
    }

    /// `out[i] = xᵢ·w` for the rows of a range; the bits are those of [`Row::dot`].
    pub fn scores(&self, rows: Range<usize>, w: &[f64], out: &mut [f64]) {
        match self {
            Design::Dense32(matrix) if w.len() == matrix.features => {
                wstar_numeric::dense::scores(matrix.block(rows), w, out)
            }
            Design::Dense64(matrix) if w.len() == matrix.features => {
                wstar_numeric::dense::scores(matrix.block(rows), w, out)
            }
            Design::Sparse32(matrix) => matrix.block(rows).scores(w, out),
            Design::Sparse64(matrix) => matrix.block(rows).scores(w, out),
            _ => rows.zip(out).for_each(|(i, out)| *out = self.row(i).dot(w)),
        }
    }

    /// `out[i] = Σⱼ wⱼxᵢⱼ²` for the rows of a range.
    pub fn squares(&self, rows: Range<usize>, w: &[f64], out: &mut [f64]) {
        match self {
            Design::Dense32(matrix) if w.len() == matrix.features => {
                wstar_numeric::dense::squares(matrix.block(rows), w, out);
            }
            Design::Dense64(matrix) if w.len() == matrix.features => {
                wstar_numeric::dense::squares(matrix.block(rows), w, out);
            }
            _ => {
                for (i, out) in rows.zip(out) {
                    *out = 0.0;
                    self.row(i).for_each(|j, x| *out += w[j] * x * x);
                }
            }
        }
    }

    /// `sum += Σᵢ scales[i]·xᵢ` for the rows of a range; the bits are those of [`Row::add_to`], row by row.
    pub fn add_rows(&self, rows: Range<usize>, scales: &[f64], sum: &mut [f64]) {
        match self {
            Design::Dense32(matrix) if sum.len() == matrix.features => {
                wstar_numeric::dense::add_rows(scales, matrix.block(rows), sum);
            }
            Design::Dense64(matrix) if sum.len() == matrix.features => {
                wstar_numeric::dense::add_rows(scales, matrix.block(rows), sum);
            }
            Design::Sparse32(matrix) => matrix.block(rows).add_rows(scales, sum),
            Design::Sparse64(matrix) => matrix.block(rows).add_rows(scales, sum),
            _ => {
                for (i, &scale) in rows.zip(scales).filter(|(_, scale)| **scale != 0.0) {
                    self.row(i).add_to(scale, sum);
                }
            }
        }
    }

    /// [`add_rows`](Design::add_rows) with compensated sums: the rounding errors of `sums` are added to `errors`.
    pub fn add_rows_compensated(
        &self,
        rows: Range<usize>,
        scales: &[f64],
        sums: &mut [f64],
        errors: &mut [f64],
    ) {
        match self {
            Design::Dense32(matrix) if sums.len() == matrix.features => {
                double_double::add_rows(scales, matrix.block(rows), sums, errors);
            }
            Design::Dense64(matrix) if sums.len() == matrix.features => {
                double_double::add_rows(scales, matrix.block(rows), sums, errors);
            }
            _ => {
                for (i, &scale) in rows.zip(scales).filter(|(_, scale)| **scale != 0.0) {
                    self.row(i).for_each(|j, x| {
                        let (sum, rounding) = double_double::two_sum(sums[j], scale * x);
                        sums[j] = sum;
                        errors[j] += rounding;
                    });
                }
            }
        }
    }

    /// All rows in order.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        (0..self.rows()).map(|i| self.row(i))
    }

    /// A dense design from rows of numbers, in `f32` if that is exact.
    ///
    /// ```
    /// let design = wstar_data::Design::from_rows(&[vec![0.0, 1.5], vec![0.1, 2.0]]).unwrap();
    /// assert_eq!((design.rows(), design.features()), (2, 2));
    /// assert!(matches!(design, wstar_data::Design::Dense64(_)), "0.1 is not exact in f32");
    /// ```
    pub fn from_rows<R: AsRef<[f64]>>(rows: &[R]) -> Result<Self> {
        let features = rows.first().map_or(0, |row| row.as_ref().len());
        let mut values = Vec::with_capacity(rows.len() * features);
        for (i, row) in rows.iter().enumerate() {
            let row = row.as_ref();
            if row.len() != features {
                return Err(Error::data(format!(
                    "row {i} has {} values where the first has {features}",
                    row.len()
                )));
            }
            values.extend_from_slice(row);
        }
        Design::from_dense(values, rows.len(), features)
    }

    /// A dense design from its values in row-major order, in `f32` if that is exact.
    ///
    /// ```
    /// use wstar_data::Design;
    /// let design = Design::from_dense(vec![1.0, 2.0, 3.0, 4.0], 2, 2)?;
    /// assert_eq!(design.row(1).to_dense(2), [3.0, 4.0]);
    /// # Ok::<(), wstar_data::error::Error>(())
    /// ```
    #[inline]
    pub fn from_dense(values: Vec<f64>, rows: usize, features: usize) -> Result<Self> {
        if let Some(at) = values.iter().position(|v| !v.is_finite()) {
            let (row, column) = (at / features.max(1), at % features.max(1));
            return Err(Error::data(format!(
                "row {row}, column {column}: {} is not a finite number",
                values[at]
            )));
        }
        Ok(Design::Dense64(Dense::new(values, rows, features)?).narrowest())
    }

    /// A sparse design from its CSR arrays, in `f32` if that is exact.
    ///
    /// ```
    /// use wstar_data::Design;
    /// // The rows (0, 5) and (7, 0): where each row starts, then the column and the value of each entry.
    /// let design = Design::from_csr(vec![0, 1, 2], vec![1, 0], vec![5.0, 7.0], 2)?;
    /// assert_eq!(design.row(0).to_dense(2), [0.0, 5.0]);
    /// # Ok::<(), wstar_data::error::Error>(())
    /// ```
    pub fn from_csr(
        starts: Vec<usize>,
        indices: Vec<u32>,
        values: Vec<f64>,
        features: usize,
    ) -> Result<Self> {
        if let Some(at) = values.iter().position(|v| !v.is_finite()) {
            let row = starts.partition_point(|&start| start <= at).saturating_sub(1);
            let column = indices.get(at).copied().unwrap_or_default();
            return Err(Error::data(format!(
                "row {row}, column {column}: {} is not a finite number",
                values[at]
            )));
        }
        Ok(Design::Sparse64(Csr::new(starts, indices, values, features)?).narrowest())
    }

    /// The same rows in `f32` if that is exact.
    #[must_use]
    pub fn narrowest(self) -> Self {
        let narrow = |values: &[f64]| {
            let exact = values.par_iter().all(|&v| exact_in_f32(v));
            exact.then(|| values.par_iter().map(|&v| v as f32).collect::<Vec<f32>>())
        };
        let narrower = match &self {
            Design::Dense64(matrix) => narrow(&matrix.values).map(|values| {
                Design::Dense32(Dense {
                    values: values.into(),
                    rows: matrix.rows,
                    features: matrix.features,
                })
            }),
            Design::Sparse64(matrix) => narrow(&matrix.values).map(|values| {
                Design::Sparse32(Csr {
                    starts: matrix.starts.clone(),
                    indices: matrix.indices.clone(),
                    values: values.into(),
                    features: matrix.features,
                })
            }),
            _ => None,
        };
        narrower.unwrap_or(self)
    }
}

/// Whether the value is exact in `f32`.
pub(crate) fn exact_in_f32(value: f64) -> bool {
    f64::from(value as f32) == value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_precision_is_used_only_if_exact() {
        let integers = Design::from_rows(&[vec![1.0, 16_777_216.0]]).unwrap();
        assert!(matches!(integers, Design::Dense32(_)));
        let beyond = Design::from_rows(&[vec![1.0, 16_777_217.0]]).unwrap();
        assert!(matches!(beyond, Design::Dense64(_)));
        let sparse = Design::from_csr(vec![0, 1], vec![3], vec![1e300], 5).unwrap();
        assert!(matches!(sparse, Design::Sparse64(_)));
    }

    #[test]
    fn non_finite_values_are_refused_by_row_and_column() {
        let error = Design::from_rows(&[vec![1.0, 2.0], vec![3.0, f64::NAN]]).unwrap_err();
        assert!(error.to_string().contains("row 1, column 1"), "{error}");
        let error = Design::from_csr(vec![0, 1, 1, 2], vec![0, 4], vec![1.0, f64::INFINITY], 5).unwrap_err();
        assert!(error.to_string().contains("row 2, column 4"), "{error}");
    }

    #[test]
    fn selecting_rows_keeps_their_values() {
        let sparse = Design::from_csr(vec![0, 1, 3, 3], vec![1, 0, 2], vec![5.0, 6.0, 7.0], 3).unwrap();
        let picked = sparse.select(&[2, 1, 1]);
        assert_eq!(picked.row(0).to_dense(3), [0.0, 0.0, 0.0]);
        assert_eq!(picked.row(2).to_dense(3), [6.0, 0.0, 7.0]);
        // Enough rows for more than one task.
        let many: Vec<usize> = (0..5000).map(|k| k % 3).collect();
        let dense = Design::from_rows(&[vec![0.1, 1.0], vec![2.0, 3.0], vec![4.0, 5.0]]).unwrap();
        for design in [sparse, dense] {
            let picked = design.select(&many);
            assert_eq!(picked.rows(), 5000);
            for (k, &i) in many.iter().enumerate() {
                assert_eq!(picked.row(k).to_dense(3), design.row(i).to_dense(3));
            }
        }
    }
}
