//! One row of a design in any storage format: the unit on which mistake-driven learners work.

use wstar_numeric::prefetch::prefetch;
use wstar_numeric::{dense, sparse, strided_rows};

/// A borrowed row. The vectors with which it is combined are always `f64`, whatever the storage of the row.
#[derive(Debug, Clone, Copy)]
pub enum Row<'a> {
    /// All values, in `f32`.
    Dense32(&'a [f32]),
    /// All values, in `f64`.
    Dense64(&'a [f64]),
    /// Column indices (increasing) and their values, in `f32`.
    Sparse32(&'a [u32], &'a [f32]),
    /// Column indices (increasing) and their values, in `f64`.
    Sparse64(&'a [u32], &'a [f64]),
    /// All values, in `f32`: the first value of the slice and every stride-th value after it.
    Strided32(&'a [f32], usize),
    /// All values, in `f64`: the first value of the slice and every stride-th value after it.
    Strided64(&'a [f64], usize),
}

impl Row<'_> {
    /// `x·w`. The weight of entries beyond the end of `w` is 0.
    #[inline]
    pub fn dot(self, w: &[f64]) -> f64 {
        match self {
            Row::Dense32(x) => dense::dot(x, w),
            Row::Dense64(x) => dense::dot(x, w),
            Row::Sparse32(j, x) => sparse::dot(j, x, w),
            Row::Sparse64(j, x) => sparse::dot(j, x, w),
            Row::Strided32(x, stride) => strided_rows::dot(x, stride, w),
            Row::Strided64(x, stride) => strided_rows::dot(x, stride, w),
        }
    }

    /// `w += scale·x`. Entries beyond the end of `w` are skipped.
    #[inline]
    pub fn add_to(self, scale: f64, w: &mut [f64]) {
        match self {
            Row::Dense32(x) => dense::axpy(scale, x, w),
            Row::Dense64(x) => dense::axpy(scale, x, w),
            Row::Sparse32(j, x) => sparse::axpy(scale, j, x, w),
            Row::Sparse64(j, x) => sparse::axpy(scale, j, x, w),
            Row::Strided32(x, stride) => strided_rows::axpy(scale, x, stride, w),
            Row::Strided64(x, stride) => strided_rows::axpy(scale, x, stride, w),
        }
    }

    /// `‖x‖²`.
    #[inline]
    pub fn squared_norm(self) -> f64 {
        match self {
            Row::Dense32(x) | Row::Sparse32(_, x) => dense::squared_norm(x),
            Row::Dense64(x) | Row::Sparse64(_, x) => dense::squared_norm(x),
            Row::Strided32(x, stride) => strided_rows::squared_norm(x, stride),
            Row::Strided64(x, stride) => strided_rows::squared_norm(x, stride),
        }
    }

    /// Prefetches the row's memory.
    #[inline]
    pub fn prefetch(self) {
        match self {
            Row::Dense32(x) => prefetch(x),
            Row::Dense64(x) => prefetch(x),
            Row::Sparse32(j, x) => {
                prefetch(j);
                prefetch(x);
            }
            Row::Sparse64(j, x) => {
                prefetch(j);
                prefetch(x);
            }
            // The values are on as many cache lines as there are columns: prefetching them would cost as much as reading.
            Row::Strided32(..) | Row::Strided64(..) => {}
        }
    }

    /// Calls `visit(column, value)` for every stored entry, in order of columns.
    #[inline]
    pub fn for_each(self, mut visit: impl FnMut(usize, f64)) {
        match self {
            Row::Dense32(x) => (0..).zip(x).for_each(|(j, &v)| visit(j, v.into())),
            Row::Dense64(x) => (0..).zip(x).for_each(|(j, &v)| visit(j, v)),
            Row::Sparse32(j, x) => j.iter().zip(x).for_each(|(&j, &v)| visit(j as usize, v.into())),
            Row::Sparse64(j, x) => j.iter().zip(x).for_each(|(&j, &v)| visit(j as usize, v)),
            Row::Strided32(x, stride) => strided_rows::for_each(x, stride, visit),
            Row::Strided64(x, stride) => strided_rows::for_each(x, stride, visit),
        }
    }

    /// One more than the largest column index: the length of a vector that covers all entries of the row.
    #[inline]
    pub fn width(self) -> usize {
        match self {
            Row::Dense32(x) => x.len(),
            Row::Dense64(x) => x.len(),
            Row::Sparse32(j, _) | Row::Sparse64(j, _) => j.last().map_or(0, |&j| j as usize + 1),
            Row::Strided32(x, stride) => strided_rows::len(x, stride),
            Row::Strided64(x, stride) => strided_rows::len(x, stride),
        }
    }

    /// The number of stored entries.
    #[inline]
    pub fn stored(self) -> usize {
        match self {
            Row::Dense32(x) | Row::Sparse32(_, x) => x.len(),
            Row::Dense64(x) | Row::Sparse64(_, x) => x.len(),
            Row::Strided32(x, stride) => strided_rows::len(x, stride),
            Row::Strided64(x, stride) => strided_rows::len(x, stride),
        }
    }

    /// Whether zero entries may be absent.
    #[inline]
    pub fn is_sparse(self) -> bool {
        matches!(self, Row::Sparse32(..) | Row::Sparse64(..))
    }

    /// The row as a dense vector of `features` values.
    #[inline]
    pub fn to_dense(self, features: usize) -> Vec<f64> {
        let mut x = vec![0.0; features];
        self.for_each(|j, v| x[j] = v);
        x
    }
}
