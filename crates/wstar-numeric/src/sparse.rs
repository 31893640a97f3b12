//! Dot products and updates of sparse rows against `f64` vectors, in O(nnz).
//!
//! As for dense rows, sums run in eight lanes that are added in a fixed order.
#![allow(unsafe_code)]

use crate::dense::{LANES, add_lanes};
use crate::dispatch::widest;

widest! {
    /// Whether the indices of a row are strictly increasing and all its values are nonzero.
    pub fn is_tidy<T>(indices: &[u32], values: &[T]) -> bool = is_tidy_plain;
}

/// The loops have no early exit, so that the compiler can vectorise them.
#[inline(always)]
fn is_tidy_plain<T: Copy + Into<f64>>(indices: &[u32], values: &[T]) -> bool {
    let pairs = indices.iter().zip(indices.iter().skip(1));
    let increasing = pairs.fold(true, |so_far, (a, b)| so_far & (a < b));
    values
        .iter()
        .fold(increasing, |so_far, &value| so_far & (value.into() != 0.0))
}

/// The number of entries whose index is below `length`.
fn count_below(indices: &[u32], length: usize) -> usize {
    match indices.last() {
        Some(&last) if last as usize >= length => indices.partition_point(|&j| (j as usize) < length),
        _ => indices.len(),
    }
}

/// `x·w`; the weight of entries beyond the end of `w` is 0.
#[inline]
pub fn dot<T: Copy + Into<f64>>(indices: &[u32], values: &[T], w: &[f64]) -> f64 {
    // For rows of a few entries the scalar loop is faster than a gather.
    #[cfg(target_arch = "x86_64")]
    if indices.len() >= LANES && crate::dispatch::has_avx512() && i32::try_from(w.len()).is_ok() {
        // SAFETY: the check above has shown that the processor has the instructions; there is no other condition.
        return unsafe { avx512::dot(indices, values, w) };
    }
    dot_plain(indices, values, w)
}

#[inline]
fn dot_plain<T: Copy + Into<f64>>(indices: &[u32], values: &[T], w: &[f64]) -> f64 {
    let stored = count_below(indices, w.len()).min(values.len());
    let (indices, rest) = indices[..stored].as_chunks::<LANES>();
    let (values, last) = values[..stored].as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for (j, v) in indices.iter().zip(values) {
        for lane in 0..LANES {
            lanes[lane] += w[j[lane] as usize] * v[lane].into();
        }
    }
    for (lane, (&j, &v)) in rest.iter().zip(last).enumerate() {
        lanes[lane] += w[j as usize] * v.into();
    }
    add_lanes(lanes)
}

/// `x·w` for `N` vectors `w` at once, stored feature by feature; the weight of entries beyond the end is 0.
///
/// Each sum runs in the order of [`dot`], so both give the same bits.
pub fn dot_each<T: Copy + Into<f64>, const N: usize>(
    indices: &[u32],
    values: &[T],
    vectors: &[[f64; N]],
) -> [f64; N] {
    let stored = count_below(indices, vectors.len());
    let mut lanes = [[0.0; N]; LANES];
    for (at, (&j, &v)) in indices[..stored].iter().zip(values).enumerate() {
        let value: f64 = v.into();
        for (sum, w) in lanes[at % LANES].iter_mut().zip(&vectors[j as usize]) {
            *sum += w * value;
        }
    }
    std::array::from_fn(|k| add_lanes(std::array::from_fn(|lane| lanes[lane][k])))
}

/// `w[j] += scale·x[j]` for every stored entry; entries beyond the end of `w` are skipped.
#[inline]
pub fn axpy<T: Copy + Into<f64>>(scale: f64, indices: &[u32], values: &[T], w: &mut [f64]) {
    for (&j, &v) in indices.iter().zip(values) {
        if let Some(w) = w.get_mut(j as usize) {
            *w += scale * v.into();
        }
    }
}

/// Consecutive rows of a matrix in CSR format: row `i` has the entries `starts[i]..starts[i + 1]`.
#[derive(Clone, Copy)]
pub struct SparseRows<'a, T> {
    /// The start of each row, and the end of the last one.
    pub(crate) starts: &'a [usize],
    /// The column indices of the whole matrix, including rows outside this range.
    pub(crate) indices: &'a [u32],
    /// The values of the same entries.
    pub(crate) values: &'a [T],
}

impl<'a, T> SparseRows<'a, T> {
    /// Rows of a matrix: the start of each row and the end of the last one, and all indices and values of the matrix.
    #[inline]
    pub fn new(starts: &'a [usize], indices: &'a [u32], values: &'a [T]) -> Self {
        SparseRows {
            starts,
            indices,
            values,
        }
    }
}

impl<'a, T: Copy + Into<f64>> SparseRows<'a, T> {
    fn rows(self) -> impl Iterator<Item = (&'a [u32], &'a [T])> {
        self.starts
            .windows(2)
            .map(move |ends| (&self.indices[ends[0]..ends[1]], &self.values[ends[0]..ends[1]]))
    }

    /// `out[i] = xᵢ·w`; the bits are those of [`dot`].
    pub fn scores(self, w: &[f64], out: &mut [f64]) {
        #[cfg(target_arch = "x86_64")]
        if crate::dispatch::has_avx512() && i32::try_from(w.len()).is_ok() {
            // SAFETY: the check above has shown that the processor has the instructions; there is no other condition.
            unsafe { avx512::scores(self, w, out) };
            return;
        }
        for ((indices, values), out) in self.rows().zip(out) {
            *out = dot_plain(indices, values, w);
        }
    }

    /// `sum += Σᵢ scales[i]·xᵢ`; the bits are those of [`axpy`], row by row.
    pub fn add_rows(self, scales: &[f64], sum: &mut [f64]) {
        for ((indices, values), &scale) in self.rows().zip(scales) {
            // Many rows can have scale 0, for example those outside the margin of a hinge loss.
            if scale != 0.0 {
                axpy(scale, indices, values, sum);
            }
        }
    }

    /// Adds Σᵢ hᵢ xᵢxᵢᵀ to the lower triangle of a column-major matrix with this stride between columns. The column
    /// indices of each row must be increasing.
    pub fn add_gram(self, h: &[f64], gram: &mut [f64], stride: usize) {
        for ((indices, values), &h) in self.rows().zip(h) {
            if h == 0.0 {
                continue;
            }
            for (at, (&column, &value)) in indices.iter().zip(values).enumerate() {
                let scaled = h * value.into();
                let column = &mut gram[column as usize * stride..][..stride];
                for (&row, &value) in indices[at..].iter().zip(&values[at..]) {
                    column[row as usize] += scaled * value.into();
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;
    use std::ops::Range;

    use crate::dense::{LANES, add_lanes};
    use crate::sparse::{SparseRows, dot_plain};

    /// [`SparseRows::scores`]: the scalar loop for short rows, gathers for the others.
    #[target_feature(enable = "avx512f,avx512vl,avx512dq")]
    pub(super) fn scores<T: Copy + Into<f64>>(rows: SparseRows<'_, T>, w: &[f64], out: &mut [f64]) {
        for (ends, out) in rows.starts.windows(2).zip(out) {
            let row = ends[0]..ends[1];
            *out = match row.len() {
                ..LANES => dot_plain(&rows.indices[row.clone()], &rows.values[row], w),
                _ => dot_within(rows.indices, rows.values, row, w),
            };
        }
    }

    /// [`super::dot_plain`] with eight weights gathered at once. `w` must have fewer than 2³¹ entries, because the gather
    /// instruction reads indices as signed 32-bit integers.
    #[target_feature(enable = "avx512f,avx512vl,avx512dq")]
    pub(super) fn dot<T: Copy + Into<f64>>(indices: &[u32], values: &[T], w: &[f64]) -> f64 {
        let stored = indices.len().min(values.len());
        dot_within(&indices[..stored], &values[..stored], 0..stored, w)
    }

    /// [`dot`] for one row of a matrix. The last block of eight also loads entries of the following rows and masks them out.
    #[target_feature(enable = "avx512f,avx512vl,avx512dq")]
    fn dot_within<T: Copy + Into<f64>>(
        all_indices: &[u32],
        all_values: &[T],
        row: Range<usize>,
        w: &[f64],
    ) -> f64 {
        let end = row.end;
        let (indices, rest) = all_indices[row.clone()].as_chunks::<LANES>();
        let (values, last) = all_values[row].as_chunks::<LANES>();
        let length = _mm256_set1_epi32(w.len() as i32);
        let mut lanes = _mm512_setzero_pd();
        let mut add = |indices: &[u32; LANES], values: [f64; LANES], stored: __mmask8| {
            // SAFETY: the array has eight indices, and the load has no alignment requirement.
            let indices = unsafe { _mm256_loadu_si256(indices.as_ptr().cast()) };
            let within = _mm256_mask_cmplt_epu32_mask(stored, indices, length);
            // SAFETY: the mask selects only indices that the comparison found to be within `w`.
            let weights =
                unsafe { _mm512_mask_i32gather_pd::<8>(_mm512_setzero_pd(), within, indices, w.as_ptr()) };
            // SAFETY: the array has eight values, and the load has no alignment requirement.
            let values = unsafe { _mm512_loadu_pd(values.as_ptr()) };
            // Product and sum are rounded separately, so the bits are those of the scalar loop.
            lanes = _mm512_mask_add_pd(lanes, within, lanes, _mm512_mul_pd(weights, values));
        };
        for (indices, values) in indices.iter().zip(values) {
            add(indices, values.map(Into::into), 0xff);
        }
        let behind = end - rest.len();
        let whole = all_indices[behind..].first_chunk::<LANES>();
        let whole = whole.zip(all_values[behind..].first_chunk::<LANES>());
        if let Some((indices, values)) = whole {
            add(indices, values.map(Into::into), (1 << rest.len()) - 1);
        }
        let mut sums = [0.0; LANES];
        // SAFETY: the array holds the eight values that are stored.
        unsafe { _mm512_storeu_pd(sums.as_mut_ptr(), lanes) };
        if whole.is_none() {
            // At the end of the matrix fewer than eight entries can be loaded. A scalar loop is faster than waiting for a
            // padded copy.
            for (sum, (&j, &value)) in sums.iter_mut().zip(rest.iter().zip(last)) {
                if let Some(w) = w.get(j as usize) {
                    *sum += w * value.into();
                }
            }
        }
        add_lanes(sums)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_stored_entries_count() {
        let mut w = vec![1.0, 2.0, 3.0];
        assert_eq!(dot(&[0, 2, 9], &[10.0f32, 1.0, 5.0], &w), 13.0);
        axpy(2.0, &[2, 9], &[1.0, 1.0], &mut w);
        assert_eq!(w, [1.0, 2.0, 5.0]);
        let each = [[1.0, 0.5], [2.0, 7.0], [3.0, -0.25]];
        assert_eq!(dot_each(&[0, 2, 9], &[10.0f32, 1.0, 5.0], &each), [13.0, 4.75]);
    }

    proptest! {
        #[test]
        fn is_tidy_detects_disorder_and_zeros(
            mut entries in prop::collection::btree_map(0u32..90, 1..9i8, 0..40).prop_map(|row| row.into_iter().collect::<Vec<_>>()),
            at in 0usize..40,
            change in 0..4,
        ) {
            let tidy = |entries: &[(u32, i8)]| {
                let (indices, values): (Vec<u32>, Vec<f64>) = entries.iter().map(|&(j, v)| (j, f64::from(v))).unzip();
                is_tidy(&indices, &values)
            };
            prop_assert!(tidy(&entries));
            if at + 1 < entries.len() && change > 0 {
                match change {
                    1 => entries[at].1 = 0,
                    2 => entries[at].0 = entries[at + 1].0,
                    _ => entries.swap(at, at + 1),
                }
                prop_assert!(!tidy(&entries));
            }
        }

        #[test]
        fn dot_agrees_with_the_scalar_loop(entries in prop::collection::btree_map(0u32..60, -1e3..1e3f64, 0..50), w in prop::collection::vec(-1e3..1e3f64, 0..60)) {
            let (indices, values): (Vec<u32>, Vec<f64>) = entries.into_iter().unzip();
            let weight = |j: &u32| w.get(*j as usize).copied().unwrap_or(0.0);
            let terms = indices.iter().zip(&values).map(|(j, v)| weight(j) * v);
            let (plain, size) = terms.fold((0.0, 0.0), |(sum, size), term: f64| (sum + term, size + term.abs()));
            let found = dot(&indices, &values, &w);
            prop_assert!((found - plain).abs() <= 1e-14 * size);
            prop_assert_eq!(found.to_bits(), dot_plain(&indices, &values, &w).to_bits());
            let short: Vec<f32> = values.iter().map(|&v| v as f32).collect();
            prop_assert_eq!(dot(&indices, &short, &w).to_bits(), dot_plain(&indices, &short, &w).to_bits());
            let vectors: Vec<[f64; 3]> = w.iter().map(|&w| [w, 2.0 * w, -w]).collect();
            prop_assert_eq!(dot_each(&indices, &values, &vectors), [found, 2.0 * found, -found]);
        }

        #[test]
        fn blocks_of_rows_have_the_same_bits_as_single_rows(
            rows in prop::collection::vec(prop::collection::btree_map(0u32..40, -9..9i8, 0..20), 0..9),
            h in prop::array::uniform9(-3..3i8),
        ) {
            let features = 40;
            let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
            for (j, v) in rows.iter().flatten() {
                indices.push(*j);
                values.push(f64::from(*v));
            }
            for row in &rows {
                starts.push(starts.last().unwrap() + row.len());
            }
            let block = SparseRows { starts: &starts, indices: &indices, values: &values };
            let w: Vec<f64> = (0..features).map(|j| 0.1 * j as f64).collect();
            let h = h.map(f64::from);
            let (mut out, mut sum) = (vec![1.0; rows.len()], w.clone());
            block.scores(&w, &mut out);
            block.add_rows(&h, &mut sum);
            let stride = features + 1;
            let (mut gram, mut single) = (vec![0.0; stride * features], w.clone());
            let mut plain = gram.clone();
            block.add_gram(&h, &mut gram, stride);
            for (i, (indices, values)) in block.rows().enumerate() {
                prop_assert_eq!(out[i].to_bits(), dot(indices, values, &w).to_bits());
                axpy(h[i], indices, values, &mut single);
                for (&column, a) in indices.iter().zip(values) {
                    for (&row, b) in indices.iter().zip(values).filter(|(row, _)| **row >= column) {
                        plain[column as usize * stride + row as usize] += h[i] * a * b;
                    }
                }
            }
            prop_assert_eq!(sum, single);
            // The sums are of small integers, so they are exact in any order.
            prop_assert_eq!(gram, plain);
        }
    }
}
