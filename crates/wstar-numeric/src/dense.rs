//! Dot products and updates of dense rows against `f64` vectors.
//!
//! Sums run in eight lanes that are added in a fixed order, so the compiler can use SIMD and the result is the same on every
//! machine.
#![allow(unsafe_code)]

use crate::dispatch::widest;
use crate::prefetch::prefetch_behind;

/// The number of partial sums that run side by side. Derived: one AVX-512 register has eight doubles. Every sum depends on
/// it: another value changes the last bits of all results.
pub const LANES: usize = 8;

widest! {
    /// `x·w` over the shorter of the two lengths.
    pub fn dot<T>(x: &[T], w: &[f64]) -> f64 = dot_plain;

    /// `w += scale·x`.
    pub fn axpy<T>(scale: f64, x: &[T], w: &mut [f64]) -> () = axpy_plain;

    /// `out[i] = xᵢ·w` for contiguous rows of length `w.len()`; the bits are those of [`dot`].
    pub fn scores<T>(x: &[T], w: &[f64], out: &mut [f64]) -> () = scores_plain;

    /// `out[i] = Σⱼ wⱼxᵢⱼ²` for contiguous rows of length `w.len()`.
    pub fn squares<T>(x: &[T], w: &[f64], out: &mut [f64]) -> () = squares_plain;

    /// `sum += Σᵢ scales[i]·xᵢ` for contiguous rows of length `sum.len()`; the bits are those of [`axpy`], row by row.
    pub fn add_rows<T>(scales: &[f64], x: &[T], sum: &mut [f64]) -> () = add_rows_plain;

    /// Whether any value is outside [−`limit`, `limit`] or NaN.
    pub fn any_beyond<T>(x: &[T], limit: f64) -> bool = any_beyond_plain;

    /// `largest[j] = max(largest[j], |xᵢⱼ|)` over contiguous rows of length `largest.len()`. A NaN is ignored.
    pub fn add_magnitudes<T>(x: &[T], largest: &mut [f64]) -> () = add_magnitudes_plain;

    /// `max |xⱼ|`, at least 0. A NaN is ignored.
    pub fn magnitude<T>(x: &[T]) -> f64 = magnitude_plain;

    /// `‖x‖²`.
    pub fn squared_norm<T>(x: &[T]) -> f64 = squared_norm_plain;
}

#[inline(always)]
fn dot_plain<T: Copy + Into<f64>>(x: &[T], w: &[f64]) -> f64 {
    let length = x.len().min(w.len());
    let (x, w) = (&x[..length], &w[..length]);
    let mut lanes = [0.0; LANES];
    let (x_blocks, w_blocks) = (x.chunks_exact(LANES), w.chunks_exact(LANES));
    let tail: f64 = x_blocks
        .remainder()
        .iter()
        .zip(w_blocks.remainder())
        .map(|(&a, &b)| a.into() * b)
        .sum();
    for (a, b) in x_blocks.zip(w_blocks) {
        for lane in 0..LANES {
            lanes[lane] += a[lane].into() * b[lane];
        }
    }
    add_lanes(lanes) + tail
}

#[inline(always)]
fn axpy_plain<T: Copy + Into<f64>>(scale: f64, x: &[T], w: &mut [f64]) {
    for (w, &x) in w.iter_mut().zip(x) {
        *w += scale * x.into();
    }
}

/// The prefetch distance, in bytes, for rows that are read in order. Without prefetching, long rows are read at half of the
/// memory bandwidth. Heuristic: far enough to hide the latency of memory, near enough that the lines stay in the L2 cache;
/// the distance itself is not measured yet.
const AHEAD: usize = 8 << 10;

#[inline(always)]
fn scores_plain<T: Copy + Into<f64>>(x: &[T], w: &[f64], out: &mut [f64]) {
    if w.is_empty() {
        out.fill(0.0);
        return;
    }
    for (row, out) in x.chunks_exact(w.len()).zip(out) {
        prefetch_behind(row, AHEAD);
        *out = dot_plain(row, w);
    }
}

#[inline(always)]
fn squares_plain<T: Copy + Into<f64>>(x: &[T], w: &[f64], out: &mut [f64]) {
    if w.is_empty() {
        out.fill(0.0);
        return;
    }
    let (w_blocks, w_rest) = w.as_chunks::<LANES>();
    for (row, out) in x.chunks_exact(w.len()).zip(out) {
        prefetch_behind(row, AHEAD);
        let (blocks, rest) = row.as_chunks::<LANES>();
        let mut lanes = [0.0; LANES];
        for (x, w) in blocks.iter().zip(w_blocks) {
            for lane in 0..LANES {
                let value: f64 = x[lane].into();
                lanes[lane] += value * value * w[lane];
            }
        }
        let tail = rest.iter().zip(w_rest).map(|(&x, w)| x.into() * x.into() * w);
        *out = add_lanes(lanes) + tail.sum::<f64>();
    }
}

#[inline(always)]
fn add_rows_plain<T: Copy + Into<f64>>(scales: &[f64], x: &[T], sum: &mut [f64]) {
    /// Four rows at a time: the sums are read and written a quarter as often.
    /// Heuristic: memory traffic against registers; not measured yet.
    const ROWS: usize = 4;
    let width = sum.len();
    if width == 0 {
        return;
    }
    let (fours, rest) = scales.as_chunks::<ROWS>();
    let (whole, last) = x.split_at(fours.len() * ROWS * width);
    for (scales, rows) in fours.iter().zip(whole.chunks_exact(ROWS * width)) {
        // Many rows can have scale 0, for example those outside the margin of a hinge loss.
        if *scales == [0.0; ROWS] {
            continue;
        }
        let (ab, cd) = rows.split_at(2 * width);
        let ((a, b), (c, d)) = (ab.split_at(width), cd.split_at(width));
        for ((((sum, &a), &b), &c), &d) in sum.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            *sum += scales[0] * a.into();
            *sum += scales[1] * b.into();
            *sum += scales[2] * c.into();
            *sum += scales[3] * d.into();
        }
    }
    for (&scale, row) in rest.iter().zip(last.chunks_exact(width)) {
        axpy_plain(scale, row, sum);
    }
}

#[inline(always)]
fn any_beyond_plain<T: Copy + Into<f64>>(x: &[T], limit: f64) -> bool {
    let mut any = false;
    // Heuristic: small enough to stop soon after a hit, large enough to vectorise; not measured yet.
    for block in x.chunks(64) {
        prefetch_behind(block, AHEAD);
        // No early exit within a block, so that the loop vectorises. A NaN fails the comparison and counts as outside.
        any = block.iter().fold(any, |any, &x| {
            let within = x.into().abs() <= limit;
            any | !within
        });
    }
    any
}

#[inline(always)]
fn add_magnitudes_plain<T: Copy + Into<f64>>(x: &[T], largest: &mut [f64]) {
    /// Rows that are combined before `largest` is updated, so that it is read and written less often.
    const ROWS: usize = 4;
    let width = largest.len();
    if width == 0 {
        return;
    }
    let size = |x: T| -> f64 { x.into().abs() };
    let greater = |a: f64, b: f64| if b > a { b } else { a };
    let fours = x.chunks_exact(ROWS * width);
    for row in fours.remainder().chunks_exact(width) {
        for (largest, &x) in largest.iter_mut().zip(row) {
            *largest = greater(*largest, size(x));
        }
    }
    for rows in fours {
        let (ab, cd) = rows.split_at(2 * width);
        let ((a, b), (c, d)) = (ab.split_at(width), cd.split_at(width));
        for ((((largest, &a), &b), &c), &d) in largest.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            let upper = greater(greater(0.0, size(a)), size(b));
            let lower = greater(greater(0.0, size(c)), size(d));
            *largest = greater(*largest, greater(upper, lower));
        }
    }
}

#[inline(always)]
fn magnitude_plain<T: Copy + Into<f64>>(x: &[T]) -> f64 {
    let mut lanes = [0.0; LANES];
    let (blocks, rest) = x.as_chunks::<LANES>();
    for block in blocks {
        for lane in 0..LANES {
            let size = block[lane].into().abs();
            lanes[lane] = if size > lanes[lane] { size } else { lanes[lane] };
        }
    }
    let rest = rest.iter().map(|&x| x.into().abs());
    rest.chain(lanes).fold(0.0, f64::max)
}

#[inline(always)]
fn squared_norm_plain<T: Copy + Into<f64>>(x: &[T]) -> f64 {
    let blocks = x.chunks_exact(LANES);
    let tail: f64 = blocks.remainder().iter().map(|&a| a.into() * a.into()).sum();
    let mut lanes = [0.0; LANES];
    for block in blocks {
        for lane in 0..LANES {
            let value: f64 = block[lane].into();
            lanes[lane] += value * value;
        }
    }
    add_lanes(lanes) + tail
}

/// The sum of the lanes, in a fixed order.
pub(super) fn add_lanes(lanes: [f64; LANES]) -> f64 {
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn vector_operations_agree_with_the_scalar_loop(pairs in prop::collection::vec((-1e3..1e3f64, -1e3..1e3f64), 0..70)) {
            let (x, w): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let plain: f64 = x.iter().zip(&w).map(|(a, b)| a * b).sum();
            let size: f64 = x.iter().zip(&w).map(|(a, b)| (a * b).abs()).sum();
            prop_assert!((dot(&x, &w) - plain).abs() <= 1e-14 * size);
            prop_assert!((squared_norm(&x) - dot(&x, &x)).abs() == 0.0);
            prop_assert_eq!(dot(&x, &w).to_bits(), dot_plain(&x, &w).to_bits());
            prop_assert_eq!(squared_norm(&x).to_bits(), squared_norm_plain(&x).to_bits());

            prop_assert_eq!(magnitude(&x), x.iter().fold(0.0, |largest: f64, x| largest.max(x.abs())));

            let mut moved = w.clone();
            axpy(0.5, &x, &mut moved);
            for ((m, w), x) in moved.iter().zip(&w).zip(&x) {
                prop_assert_eq!(*m, w + 0.5 * x);
            }
        }

        #[test]
        fn blocks_of_rows_have_the_same_bits_as_single_rows(
            values in prop::collection::vec(-1e3..1e3f64, 0..200),
            width in 0..20usize,
            zeros in any::<u32>(),
        ) {
            let rows = values.len() / width.max(1);
            let w: Vec<f64> = (0..width).map(|j| 0.1 + j as f64).collect();
            let x = &values[..rows * width];
            let mut out = vec![1.0; rows];
            scores(x, &w, &mut out);
            let mut largest = vec![2.5; width];
            add_magnitudes(x, &mut largest);
            for (j, largest) in largest.iter().enumerate() {
                prop_assert_eq!(*largest, (0..rows).fold(2.5, |most: f64, i| most.max(x[i * width + j].abs())));
            }
            let mut squares_of = vec![1.0; rows];
            squares(x, &w, &mut squares_of);
            let scales: Vec<f64> = (0..rows).map(|i| if zeros >> (i % 32) & 1 == 0 { 0.0 } else { 0.3 * i as f64 }).collect();
            let (mut sum, mut single) = (w.clone(), w.clone());
            add_rows(&scales, x, &mut sum);
            for (i, row) in x.chunks_exact(width.max(1)).enumerate() {
                prop_assert_eq!(out[i].to_bits(), dot(row, &w).to_bits());
                let plain: f64 = row.iter().zip(&w).map(|(x, w)| w * x * x).sum();
                prop_assert!((squares_of[i] - plain).abs() <= 1e-14 * plain);
                axpy(scales[i], row, &mut single);
            }
            prop_assert_eq!(sum, single);
            let most = values.iter().fold(0.0f64, |most, x| most.max(x.abs()));
            prop_assert!(!any_beyond(&values, most));
            for wrong in [f64::NAN, f64::INFINITY, -2.0 * most - 1.0] {
                let mut one = values.clone();
                one.push(wrong);
                prop_assert!(any_beyond(&one, most));
            }
        }

        #[test]
        fn integers_are_exact_in_any_order(x in prop::collection::vec(-255i16..=255, 0..900)) {
            let floats: Vec<f32> = x.iter().map(|&v| v.into()).collect();
            let exact: i64 = x.iter().map(|&v| i64::from(v) * i64::from(v)).sum();
            prop_assert_eq!(squared_norm(&floats), exact as f64);
        }
    }
}
