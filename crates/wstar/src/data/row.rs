//! One row of a design, whatever its storage: the unit that the mistake-driven learners see.

use crate::kernel::prefetch::prefetch;
use crate::kernel::{dense, sparse, strided};

/// A borrowed row. Vectors it meets are always `f64`, whatever the row is stored in.
#[derive(Debug, Clone, Copy)]
pub enum Row<'a> {
    /// Every value, in `f32`.
    Dense32(&'a [f32]),
    /// Every value, in `f64`.
    Dense64(&'a [f64]),
    /// Column indices (increasing) and their values, in `f32`.
    Sparse32(&'a [u32], &'a [f32]),
    /// Column indices (increasing) and their values, in `f64`.
    Sparse64(&'a [u32], &'a [f64]),
    /// Every value, in `f32`: the first, and each that lies so many values after the one before.
    Strided32(&'a [f32], usize),
    /// Every value, in `f64`: the first, and each that lies so many values after the one before.
    Strided64(&'a [f64], usize),
}

impl Row<'_> {
    /// `x·w`. Entries of a sparse row beyond the end of `w` meet a weight of 0.
    #[inline]
    pub fn dot(self, w: &[f64]) -> f64 {
        match self {
            Row::Dense32(x) => dense::dot(x, w),
            Row::Dense64(x) => dense::dot(x, w),
            Row::Sparse32(j, x) => sparse::dot(j, x, w),
            Row::Sparse64(j, x) => sparse::dot(j, x, w),
            Row::Strided32(x, stride) => strided::dot(x, stride, w),
            Row::Strided64(x, stride) => strided::dot(x, stride, w),
        }
    }

    /// `w += scale·x`. The vector must be as long as the row's largest index asks for.
    #[inline]
    pub fn add_to(self, scale: f64, w: &mut [f64]) {
        match self {
            Row::Dense32(x) => dense::axpy(scale, x, w),
            Row::Dense64(x) => dense::axpy(scale, x, w),
            Row::Sparse32(j, x) => sparse::axpy(scale, j, x, w),
            Row::Sparse64(j, x) => sparse::axpy(scale, j, x, w),
            Row::Strided32(x, stride) => strided::axpy(scale, x, stride, w),
            Row::Strided64(x, stride) => strided::axpy(scale, x, stride, w),
        }
    }

    /// `‖x‖²`.
    pub fn squared_norm(self) -> f64 {
        match self {
            Row::Dense32(x) | Row::Sparse32(_, x) => dense::squared_norm(x),
            Row::Dense64(x) | Row::Sparse64(_, x) => dense::squared_norm(x),
            Row::Strided32(x, stride) => strided::squared_norm(x, stride),
            Row::Strided64(x, stride) => strided::squared_norm(x, stride),
        }
    }

    /// Whether `scale·|xⱼ| > boundsⱼ` for any entry.
    pub fn exceeds(self, scale: f64, bounds: &[f64]) -> bool {
        match self {
            Row::Dense32(x) => dense::exceeds(scale, x, bounds),
            Row::Dense64(x) => dense::exceeds(scale, x, bounds),
            row => {
                let mut any = false;
                row.for_each(|j, x| any |= scale * x.abs() > bounds[j]);
                any
            }
        }
    }

    /// Asks for the row's memory, which will be needed soon.
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
            // Its values lie in as many places as there are columns.
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
            Row::Strided32(x, stride) => strided::for_each(x, stride, visit),
            Row::Strided64(x, stride) => strided::for_each(x, stride, visit),
        }
    }

    /// One more than the last column that the row can touch: how long a vector must be to meet it.
    pub fn width(self) -> usize {
        match self {
            Row::Dense32(x) => x.len(),
            Row::Dense64(x) => x.len(),
            Row::Sparse32(j, _) | Row::Sparse64(j, _) => j.last().map_or(0, |&j| j as usize + 1),
            Row::Strided32(x, stride) => strided::len(x, stride),
            Row::Strided64(x, stride) => strided::len(x, stride),
        }
    }

    /// How many entries are stored.
    pub fn stored(self) -> usize {
        match self {
            Row::Dense32(x) | Row::Sparse32(_, x) => x.len(),
            Row::Dense64(x) | Row::Sparse64(_, x) => x.len(),
            Row::Strided32(x, stride) => strided::len(x, stride),
            Row::Strided64(x, stride) => strided::len(x, stride),
        }
    }

    /// Whether only entries that are not 0 need be stored.
    pub fn is_sparse(self) -> bool {
        matches!(self, Row::Sparse32(..) | Row::Sparse64(..))
    }

    /// The row as a dense vector of `features` values.
    pub fn to_dense(self, features: usize) -> Vec<f64> {
        let mut x = vec![0.0; features];
        self.for_each(|j, v| x[j] = v);
        x
    }
}
