//! The design matrix: dense or CSR, stored in `f32` where every value is exact in it, else in `f64`.

use std::ops::Range;

use rayon::prelude::*;

use crate::data::{Columns, Row};
use crate::error::{Error, Result};
use crate::kernel::memory::Memory;
use crate::kernel::prefetch::prefetch;
use crate::kernel::sparse::Entries;
use crate::kernel::{dense, double_double};

/// A dense matrix, row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct Dense<T> {
    pub(super) values: Memory<T>,
    pub(super) rows: usize,
    pub(super) features: usize,
}

impl<T> Dense<T> {
    /// A matrix of `rows` × `features` from its values, row by row.
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
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn features(&self) -> usize {
        self.features
    }

    /// All values, row by row.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// All values, row by row, without the matrix around them.
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
    pub(crate) fn block(&self, rows: Range<usize>) -> &[T] {
        &self.values[rows.start * self.features..rows.end * self.features]
    }
}

/// A sparse matrix in compressed rows; the indices of a row increase strictly.
#[derive(Debug, Clone, PartialEq)]
pub struct Csr<T> {
    pub(super) starts: Memory<usize>,
    pub(super) indices: Memory<u32>,
    pub(super) values: Memory<T>,
    pub(super) features: usize,
}

impl<T> Csr<T> {
    /// A matrix from its parts: row `i` holds the entries `starts[i]..starts[i + 1]`.
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

    /// The same without a look at the parts, for a caller who has seen to it that they fit.
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
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// The number of columns.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Where each row starts, and the end of the last one.
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// The columns of all entries.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// The values of all entries.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Row starts, columns and values.
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

    /// Columns and values of row `i`.
    #[inline]
    pub fn row(&self, i: usize) -> (&[u32], &[T]) {
        let span = self.starts[i]..self.starts[i + 1];
        (&self.indices[span.clone()], &self.values[span])
    }

    /// The rows of a range.
    pub(crate) fn block(&self, rows: Range<usize>) -> Entries<'_, T> {
        Entries {
            starts: &self.starts[rows.start..rows.end + 1],
            indices: &self.indices,
            values: &self.values,
        }
    }

    /// The same entries in a matrix with more columns (never fewer than are used).
    #[must_use]
    pub fn widened(mut self, features: usize) -> Self {
        self.features = self.features.max(features);
        self
    }
}

/// The design matrix in one of its storages. Storage never changes an answer: `f32` is used
/// only where every value is exact in it, and solver vectors are always `f64`.
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
    /// Dense, column by column, `f32`.
    Columns32(Columns<f32>),
    /// Dense, column by column, `f64`.
    Columns64(Columns<f64>),
}

/// Runs the same expression on whichever storage a design has.
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
    pub fn rows(&self) -> usize {
        on_storage!(self, matrix => matrix.rows())
    }

    /// The number of columns.
    pub fn features(&self) -> usize {
        on_storage!(self, matrix => matrix.features())
    }

    /// How many values are stored.
    pub fn stored(&self) -> usize {
        on_storage!(self, matrix => matrix.values().len())
    }

    /// Whether rows are stored sparsely.
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

    /// Asks for what tells where row `i` lies, which will be needed soon.
    #[inline]
    pub(crate) fn prefetch_place(&self, i: usize) {
        match self {
            Design::Sparse32(matrix) => prefetch(&matrix.starts[i..i + 2]),
            Design::Sparse64(matrix) => prefetch(&matrix.starts[i..i + 2]),
            _ => {}
        }
    }

    /// `out[i] = xᵢ·w` for the rows of a range: what [`Row::dot`] gives of each, to the bit.
    pub(crate) fn scores(&self, rows: Range<usize>, w: &[f64], out: &mut [f64]) {
        match self {
            Design::Dense32(matrix) if w.len() == matrix.features => {
                dense::scores(matrix.block(rows), w, out)
            }
            Design::Dense64(matrix) if w.len() == matrix.features => {
                dense::scores(matrix.block(rows), w, out)
            }
            Design::Sparse32(matrix) => matrix.block(rows).scores(w, out),
            Design::Sparse64(matrix) => matrix.block(rows).scores(w, out),
            _ => rows.zip(out).for_each(|(i, out)| *out = self.row(i).dot(w)),
        }
    }

    /// `out[i] = Σⱼ wⱼxᵢⱼ²` for the rows of a range.
    pub(crate) fn squares(&self, rows: Range<usize>, w: &[f64], out: &mut [f64]) {
        match self {
            Design::Dense32(matrix) if w.len() == matrix.features => {
                dense::squares(matrix.block(rows), w, out);
            }
            Design::Dense64(matrix) if w.len() == matrix.features => {
                dense::squares(matrix.block(rows), w, out);
            }
            _ => {
                for (i, out) in rows.zip(out) {
                    *out = 0.0;
                    self.row(i).for_each(|j, x| *out += w[j] * x * x);
                }
            }
        }
    }

    /// `sum += Σᵢ scales[i]·xᵢ` for the rows of a range: what [`Row::add_to`] adds of each, to the bit.
    pub(crate) fn add_rows(&self, rows: Range<usize>, scales: &[f64], sum: &mut [f64]) {
        match self {
            Design::Dense32(matrix) if sum.len() == matrix.features => {
                dense::add_rows(scales, matrix.block(rows), sum);
            }
            Design::Dense64(matrix) if sum.len() == matrix.features => {
                dense::add_rows(scales, matrix.block(rows), sum);
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

    /// What [`add_rows`](Design::add_rows) adds, with what rounding takes off the sums kept as their errors.
    pub(crate) fn add_rows_compensated(
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
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        (0..self.rows()).map(|i| self.row(i))
    }

    /// A dense design from rows of numbers, in the narrowest storage that is exact.
    ///
    /// ```
    /// let design = wstar::data::Design::from_rows(&[vec![0.0, 1.5], vec![0.1, 2.0]]).unwrap();
    /// assert_eq!((design.rows(), design.features()), (2, 2));
    /// assert!(matches!(design, wstar::data::Design::Dense64(_)), "0.1 is not exact in f32");
    /// ```
    pub fn from_rows(rows: &[Vec<f64>]) -> Result<Self> {
        let features = rows.first().map_or(0, Vec::len);
        if let Some(i) = rows.iter().position(|row| row.len() != features) {
            return Err(Error::data(format!(
                "row {i} has {} values where the first has {features}",
                rows[i].len()
            )));
        }
        Design::from_dense(rows.concat(), rows.len(), features)
    }

    /// A dense design from its values row by row, in the narrowest storage that is exact.
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

    /// A sparse design from its parts, in the narrowest storage that is exact.
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

    /// The same rows in the narrowest storage that is exact.
    #[must_use]
    pub(crate) fn narrowest(self) -> Self {
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

/// Whether `f32` holds this value without rounding.
pub(crate) fn exact_in_f32(value: f64) -> bool {
    f64::from(value as f32) == value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_is_the_narrowest_that_is_exact() {
        let integers = Design::from_rows(&[vec![1.0, 16_777_216.0]]).unwrap();
        assert!(matches!(integers, Design::Dense32(_)));
        let beyond = Design::from_rows(&[vec![1.0, 16_777_217.0]]).unwrap();
        assert!(matches!(beyond, Design::Dense64(_)));
        let sparse = Design::from_csr(vec![0, 1], vec![3], vec![1e300], 5).unwrap();
        assert!(matches!(sparse, Design::Sparse64(_)));
    }

    #[test]
    fn what_is_not_a_number_is_refused_by_row_and_column() {
        let error = Design::from_rows(&[vec![1.0, 2.0], vec![3.0, f64::NAN]]).unwrap_err();
        assert!(error.to_string().contains("row 1, column 1"), "{error}");
        let error = Design::from_csr(vec![0, 1, 1, 2], vec![0, 4], vec![1.0, f64::INFINITY], 5).unwrap_err();
        assert!(error.to_string().contains("row 2, column 4"), "{error}");
    }

    #[test]
    fn broken_sparse_parts_are_refused() {
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

    #[test]
    fn selecting_rows_keeps_their_values() {
        let sparse = Design::from_csr(vec![0, 1, 3, 3], vec![1, 0, 2], vec![5.0, 6.0, 7.0], 3).unwrap();
        let picked = sparse.select(&[2, 1, 1]);
        assert_eq!(picked.row(0).to_dense(3), [0.0, 0.0, 0.0]);
        assert_eq!(picked.row(2).to_dense(3), [6.0, 0.0, 7.0]);
        // More than one task copies.
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
