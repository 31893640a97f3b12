//! Rows of a column-major matrix: entry `j` is `stride` values after entry `j − 1`.
//!
//! Consecutive rows share cache lines, so reading them in order costs little more than reading contiguous rows. Sums use
//! the same lanes as [`dense`](super::dense), so both give the same bits.

use crate::dense::{LANES, add_lanes};

/// The entries of the row whose first entry is `x[0]`.
fn entries<T: Copy + Into<f64>>(x: &[T], stride: usize) -> impl ExactSizeIterator<Item = f64> {
    x.iter().step_by(stride.max(1)).map(|&x| x.into())
}

/// The number of entries of the row.
pub fn len<T>(x: &[T], stride: usize) -> usize {
    x.len().div_ceil(stride.max(1))
}

/// Σ f(xⱼ, j) over the first `length` entries.
fn sum<T: Copy + Into<f64>>(x: &[T], stride: usize, length: usize, f: impl Fn(f64, usize) -> f64) -> f64 {
    let whole = length - length % LANES;
    let mut lanes = [0.0; LANES];
    let mut tail = 0.0;
    for (j, x) in entries(x, stride).take(length).enumerate() {
        if j < whole {
            lanes[j % LANES] += f(x, j);
        } else {
            tail += f(x, j);
        }
    }
    add_lanes(lanes) + tail
}

/// `x·w` over the shorter of the two lengths.
pub fn dot<T: Copy + Into<f64>>(x: &[T], stride: usize, w: &[f64]) -> f64 {
    sum(x, stride, len(x, stride).min(w.len()), |x, j| x * w[j])
}

/// `w += scale·x`.
pub fn axpy<T: Copy + Into<f64>>(scale: f64, x: &[T], stride: usize, w: &mut [f64]) {
    for (w, x) in w.iter_mut().zip(entries(x, stride)) {
        *w += scale * x;
    }
}

/// `‖x‖²`.
pub fn squared_norm<T: Copy + Into<f64>>(x: &[T], stride: usize) -> f64 {
    sum(x, stride, len(x, stride), |x, _| x * x)
}

/// Calls `visit(column, value)` for every entry.
pub fn for_each<T: Copy + Into<f64>>(x: &[T], stride: usize, mut visit: impl FnMut(usize, f64)) {
    entries(x, stride).enumerate().for_each(|(j, x)| visit(j, x));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn strided_rows_have_the_same_bits_as_contiguous_rows(
            columns in prop::collection::vec(prop::array::uniform3(-1e3..1e3f64), 0..40),
            w in prop::collection::vec(-1e3..1e3f64, 0..40),
            row in 0..3usize,
        ) {
            let contiguous: Vec<f64> = columns.iter().map(|column| column[row]).collect();
            let x = columns.as_flattened().get(row..).unwrap_or_default();
            prop_assert_eq!(len(x, 3), contiguous.len());
            prop_assert_eq!(dot(x, 3, &w), dense::dot(&contiguous, &w));
            prop_assert_eq!(squared_norm(x, 3), dense::squared_norm(&contiguous));
            let mut moved = [w.clone(), w];
            axpy(0.3, x, 3, &mut moved[0]);
            dense::axpy(0.3, &contiguous, &mut moved[1]);
            prop_assert_eq!(&moved[0], &moved[1]);
        }
    }
}
