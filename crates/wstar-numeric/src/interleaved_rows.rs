//! Blocks of short sparse rows in the SELL-C-σ format with C = 16: the first entries of sixteen rows, then their second
//! entries, and so on (M. Kreutzer, G. Hager, G. Wellein, H. Fehske and A. R. Bishop, A unified sparse matrix data format for
//! efficient general sparse matrix-vector multiplication on modern processors with wide SIMD units, SIAM J. Sci. Comput. 36,
//! 2014).
//!
//! Rows are sorted by length, and shorter rows are padded with zeros in column 0. The loops therefore have no unpredictable
//! row ends, and sixteen weights are gathered for sixteen sums. Column indices have two bytes. Values are stored in single
//! precision, for products that need no more, and also in double precision if the caller needs digits that `f32` lacks.
#![allow(unsafe_code)]

/// The number of rows side by side. Derived: one AVX-512 register has 16 single-precision numbers.
const SIDE: usize = 16;
/// The maximum number of rows in a block. Cap: [`Interleaved::new`] returns `None` for more rows.
pub const MOST_ROWS: usize = 256;
/// The maximum number of columns. Derived: column indices have 16 bits. [`Interleaved::new`] returns `None` for more.
pub const MOST_COLUMNS: usize = 1 << 16;
/// The smallest absolute value of a nonzero entry. Derived: products of squares of such values stay far from underflow in
/// single precision.
const LEAST: f64 = 1e-6;
/// The largest absolute value of an entry. Derived: products of squares of such values stay far from overflow in single
/// precision.
const MOST: f64 = 1e6;

/// A block of rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Interleaved {
    width: usize,
    /// The row of each lane.
    order: Vec<u16>,
    /// The length of the longest row in each group of sixteen.
    lengths: Vec<u32>,
    /// The column indices, all less than `width`.
    columns: Vec<[u16; SIDE]>,
    /// The values in single precision.
    singles: Vec<[f32; SIDE]>,
    /// The values in double precision; empty unless they are `f64` and the block is exact.
    doubles: Vec<[f64; SIDE]>,
}

impl Interleaved {
    /// A block of rows: row `i` has the entries `ends[i]..ends[i + 1]`. Values are rounded to single precision unless the
    /// block is to be `exact`. Returns `None` if there are too many rows or columns, or if a value is too large or too small
    /// for single precision.
    pub fn new<T: Copy + Into<f64>>(
        ends: &[usize],
        columns: &[u16],
        values: &[T],
        width: usize,
        exact: bool,
    ) -> Option<Self> {
        let rows = ends.len().saturating_sub(1);
        let entries = *ends.first()?..*ends.last()?;
        let (own, own_values) = (columns.get(entries.clone())?, values.get(entries)?);
        let widest = own.iter().fold(0, |most, &j| most.max(j));
        let fit = |&value: &T| {
            let size = value.into().abs();
            size == 0.0 || (LEAST..=MOST).contains(&size)
        };
        let fits = own_values.iter().fold(true, |so_far, value| so_far & fit(value));
        let within = own.is_empty() || usize::from(widest) < width;
        if rows > MOST_ROWS || width > MOST_COLUMNS || !within || !fits || !ends.is_sorted() {
            return None;
        }
        let length = |row: u16| ends[usize::from(row) + 1] - ends[usize::from(row)];
        let mut order: Vec<u16> = (0..rows as u16).collect();
        order.sort_by_key(|&row| std::cmp::Reverse(length(row)));
        let lengths: Vec<usize> = order.chunks(SIDE).map(|side| length(side[0])).collect();
        let stored = lengths.iter().sum();
        let mut block = Interleaved {
            width,
            order,
            lengths: lengths.iter().map(|&length| length as u32).collect(),
            columns: vec![[0; SIDE]; stored],
            singles: vec![[0.0; SIDE]; stored],
            doubles: vec![[0.0; SIDE]; if exact && size_of::<T>() > 4 { stored } else { 0 }],
        };
        let mut first = 0;
        for (side, length) in block.order.chunks(SIDE).zip(lengths) {
            for (lane, &row) in side.iter().enumerate() {
                let row = ends[usize::from(row)]..ends[usize::from(row) + 1];
                for (at, (&j, &value)) in (first..).zip(columns[row.clone()].iter().zip(&values[row])) {
                    block.columns[at][lane] = j;
                    block.singles[at][lane] = value.into() as f32;
                    if let Some(to) = block.doubles.get_mut(at) {
                        to[lane] = value.into();
                    }
                }
            }
            first += length;
        }
        Some(block)
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.order.len()
    }

    /// The groups of rows side by side: their row indices and the range of their entries.
    fn sides(&self) -> impl Iterator<Item = (&[u16], std::ops::Range<usize>)> {
        let mut end = 0;
        self.order
            .chunks(SIDE)
            .zip(&self.lengths)
            .map(move |(side, &length)| {
                let start = end;
                end += length as usize;
                (side, start..end)
            })
    }

    /// `out[i] = xᵢ·w`; `w` has a weight for each column.
    pub fn scores(&self, w: &[f64], out: &mut [f64]) {
        if self.doubles.is_empty() {
            self.scores_of(&self.singles, w, out);
        } else {
            self.scores_of(&self.doubles, w, out);
        }
    }

    fn scores_of<T: Copy + Into<f64>>(&self, values: &[[T; SIDE]], w: &[f64], out: &mut [f64]) {
        let w = &w[..self.width];
        #[cfg(target_arch = "x86_64")]
        if crate::dispatch::has_avx512() {
            // SAFETY: the check above has shown that the processor has the instructions, and all column indices are less
            // than the length of `w`.
            unsafe { avx512::scores(self, values, w, out) };
            return;
        }
        self.scores_plain(values, w, out);
    }

    fn scores_plain<T: Copy + Into<f64>>(&self, values: &[[T; SIDE]], w: &[f64], out: &mut [f64]) {
        for (side, entries) in self.sides() {
            let mut sums = [0.0; SIDE];
            for (columns, values) in self.columns[entries.clone()].iter().zip(&values[entries]) {
                for lane in 0..SIDE {
                    sums[lane] += w[usize::from(columns[lane])] * values[lane].into();
                }
            }
            side.iter()
                .zip(sums)
                .for_each(|(&row, sum)| out[usize::from(row)] = sum);
        }
    }

    /// `sum += Σᵢ scales[i]·xᵢ`.
    pub fn add_rows(&self, scales: &[f64], sum: &mut [f64]) {
        if self.doubles.is_empty() {
            self.add_each(&self.singles, |value| value.map(f64::from), scales, sum);
        } else {
            self.add_each(&self.doubles, |value| value, scales, sum);
        }
    }

    /// `sum[j] += Σᵢ scales[i]·xᵢⱼ²`.
    pub fn add_squares(&self, scales: &[f64], sum: &mut [f64]) {
        let square = |value: [f64; SIDE]| value.map(|value| value * value);
        if self.doubles.is_empty() {
            self.add_each(&self.singles, |value| square(value.map(f64::from)), scales, sum);
        } else {
            self.add_each(&self.doubles, square, scales, sum);
        }
    }

    fn add_each<T: Copy>(
        &self,
        values: &[[T; SIDE]],
        number: impl Fn([T; SIDE]) -> [f64; SIDE],
        scales: &[f64],
        sum: &mut [f64],
    ) {
        let sum = &mut sum[..self.width];
        for (side, entries) in self.sides() {
            let mut own = [0.0; SIDE];
            own.iter_mut()
                .zip(side)
                .for_each(|(to, &row)| *to = scales[usize::from(row)]);
            for (columns, &values) in self.columns[entries.clone()].iter().zip(&values[entries]) {
                let mut shares = number(values);
                shares.iter_mut().zip(own).for_each(|(share, own)| *share *= own);
                for (&j, share) in columns.iter().zip(shares) {
                    // SAFETY: all column indices are less than the width, which is the length of `sum`.
                    unsafe { *sum.get_unchecked_mut(usize::from(j)) += share };
                }
            }
        }
    }

    /// A number for each row, multiplied by `times`, in the layout that [`Interleaved::add_product`] expects.
    pub fn arranged(&self, numbers: &[f64], times: f64) -> Vec<[f32; SIDE]> {
        let sides = self.order.chunks(SIDE).map(|side| {
            let mut own = [0.0; SIDE];
            let numbers = side.iter().map(|&row| (numbers[usize::from(row)] * times) as f32);
            own.iter_mut().zip(numbers).for_each(|(to, number)| *to = number);
            own
        });
        sides.collect()
    }

    /// `sum += Σᵢ hᵢ(xᵢ·w + b)·xᵢ` in single precision; returns Σᵢ hᵢ(xᵢ·w + b).
    pub fn add_product(&self, h: &[[f32; SIDE]], w: &[f32], b: f32, sum: &mut [f32]) -> f64 {
        let (w, sum) = (&w[..self.width], &mut sum[..self.width]);
        #[cfg(target_arch = "x86_64")]
        if crate::dispatch::has_avx512() {
            // SAFETY: the check above has shown that the processor has the instructions, and all column indices are less
            // than the length of `w`.
            return unsafe { avx512::add_product(self, h, w, b, sum) };
        }
        self.add_product_plain(h, w, b, sum)
    }

    fn add_product_plain(&self, h: &[[f32; SIDE]], w: &[f32], b: f32, sum: &mut [f32]) -> f64 {
        let mut total = 0.0;
        for ((_, entries), h) in self.sides().zip(h) {
            let mut scales = [b; SIDE];
            let (columns, values) = (&self.columns[entries.clone()], &self.singles[entries]);
            for (columns, values) in columns.iter().zip(values) {
                for lane in 0..SIDE {
                    scales[lane] += w[usize::from(columns[lane])] * values[lane];
                }
            }
            scales.iter_mut().zip(h).for_each(|(scale, h)| *scale *= h);
            add_singles(columns, values, scales, sum);
            total += f64::from(scales.iter().sum::<f32>());
        }
        total
    }
}

/// Adds multiples of a group of rows; all column indices must be within `sum`.
#[inline(always)]
fn add_singles(columns: &[[u16; SIDE]], values: &[[f32; SIDE]], scales: [f32; SIDE], sum: &mut [f32]) {
    for (columns, values) in columns.iter().zip(values) {
        let mut shares = *values;
        shares
            .iter_mut()
            .zip(scales)
            .for_each(|(share, scale)| *share *= scale);
        for (&j, share) in columns.iter().zip(shares) {
            debug_assert!(usize::from(j) < sum.len());
            // SAFETY: all column indices of a block are less than its width, which is the length of `sum` in both callers.
            unsafe { *sum.get_unchecked_mut(usize::from(j)) += share };
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;

    use crate::interleaved_rows::{Interleaved, SIDE, add_singles};

    /// [`Interleaved::scores_plain`], with eight weights gathered at once.
    ///
    /// # Safety
    ///
    /// `w` must have an entry for each column of the block.
    #[target_feature(enable = "avx512f,avx512vl,avx512dq")]
    pub(super) unsafe fn scores<T: Copy + Into<f64>>(
        block: &Interleaved,
        values: &[[T; SIDE]],
        w: &[f64],
        out: &mut [f64],
    ) {
        for (side, entries) in block.sides() {
            let mut sums = [_mm512_setzero_pd(); 2];
            for (columns, values) in block.columns[entries.clone()].iter().zip(&values[entries]) {
                let columns = load_columns(columns);
                let values: [f64; SIDE] = (*values).map(Into::into);
                let halves = [
                    _mm512_castsi512_si256(columns),
                    _mm512_extracti64x4_epi64::<1>(columns),
                ];
                for half in 0..2 {
                    // SAFETY: all column indices are within `w`, as the caller guarantees.
                    let weights = unsafe { _mm512_i32gather_pd::<8>(halves[half], w.as_ptr()) };
                    // SAFETY: eight of the sixteen values are loaded, and the load has no alignment requirement.
                    let values = unsafe { _mm512_loadu_pd(values[8 * half..].as_ptr()) };
                    // Product and sum are rounded separately, so the bits are those of the scalar loop.
                    sums[half] = _mm512_add_pd(sums[half], _mm512_mul_pd(weights, values));
                }
            }
            let mut all = [0.0; SIDE];
            for half in 0..2 {
                // SAFETY: eight of the sixteen numbers of the array are stored.
                unsafe { _mm512_storeu_pd(all[8 * half..].as_mut_ptr(), sums[half]) };
            }
            side.iter()
                .zip(all)
                .for_each(|(&row, sum)| out[usize::from(row)] = sum);
        }
    }

    /// [`Interleaved::add_product_plain`], with sixteen weights gathered at once.
    ///
    /// # Safety
    ///
    /// `w` must have an entry for each column of the block.
    #[target_feature(enable = "avx512f,avx512vl,avx512dq")]
    pub(super) unsafe fn add_product(
        block: &Interleaved,
        h: &[[f32; SIDE]],
        w: &[f32],
        b: f32,
        sum: &mut [f32],
    ) -> f64 {
        let mut total = 0.0;
        for ((_, entries), h) in block.sides().zip(h) {
            let mut lanes = _mm512_set1_ps(b);
            let (columns, values) = (&block.columns[entries.clone()], &block.singles[entries]);
            for (columns, values) in columns.iter().zip(values) {
                // SAFETY: all column indices are within `w`, as the caller guarantees.
                let weights = unsafe { _mm512_i32gather_ps::<4>(load_columns(columns), w.as_ptr()) };
                // SAFETY: the array has sixteen values, and the load has no alignment requirement.
                let values = unsafe { _mm512_loadu_ps(values.as_ptr()) };
                lanes = _mm512_add_ps(lanes, _mm512_mul_ps(weights, values));
            }
            let mut scales = [0.0; SIDE];
            // SAFETY: the array holds the sixteen numbers that are stored.
            unsafe { _mm512_storeu_ps(scales.as_mut_ptr(), lanes) };
            scales.iter_mut().zip(h).for_each(|(scale, h)| *scale *= h);
            add_singles(columns, values, scales, sum);
            total += f64::from(scales.iter().sum::<f32>());
        }
        total
    }

    /// Sixteen column indices, widened to 32 bits.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,avx512dq")]
    fn load_columns(columns: &[u16; SIDE]) -> __m512i {
        // SAFETY: the array has sixteen indices, and the load has no alignment requirement.
        _mm512_cvtepu16_epi32(unsafe { _mm256_loadu_si256(columns.as_ptr().cast()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The row ends, column indices and values of rows, as [`Interleaved::new`] expects them.
    fn row_arrays(rows: &[std::collections::BTreeMap<u16, f64>]) -> (Vec<usize>, Vec<u16>, Vec<f64>) {
        let mut ends = vec![0];
        for row in rows {
            ends.push(ends[ends.len() - 1] + row.len());
        }
        let (columns, values) = rows.iter().flatten().unzip();
        (ends, columns, values)
    }

    proptest! {
        #[test]
        fn blocks_agree_with_single_rows(
            rows in prop::collection::vec(prop::collection::btree_map(0u16..40, prop_oneof![-9.0..-0.1f64, 0.1..9.0f64], 0..20), 0..60),
            seed in any::<u32>(),
        ) {
            let width = 40;
            let number = |k: usize| ((k as u32 ^ seed).wrapping_mul(0x9e37_79b9) >> 8) as f64 / f64::from(1 << 24) - 0.5;
            let (w, scales): (Vec<f64>, Vec<f64>) = ((0..width).map(number).collect(), (0..rows.len()).map(|i| number(99 + i)).collect());
            let (ends, columns, values) = row_arrays(&rows);
            let singles: Vec<f32> = values.iter().map(|&v| v as f32).collect();
            for (block, exact) in [
                (Interleaved::new(&ends, &columns, &values, width, true).unwrap(), true),
                (Interleaved::new(&ends, &columns, &values, width, false).unwrap(), false),
                (Interleaved::new(&ends, &columns, &singles, width, true).unwrap(), false),
            ] {
                let value = |v: f64| if exact { v } else { f64::from(v as f32) };
                let score = |i: usize| rows[i].iter().map(|(&j, &v)| value(v) * w[usize::from(j)]).sum::<f64>();
                prop_assert_eq!(block.rows(), rows.len());
                let mut out = vec![1.0; rows.len()];
                block.scores(&w, &mut out);
                let mut plain = out.clone();
                if exact { block.scores_plain(&block.doubles, &w, &mut plain) } else { block.scores_plain(&block.singles, &w, &mut plain) }
                prop_assert_eq!(&plain, &out);
                let (mut sum, mut squares) = (w.clone(), w.clone());
                block.add_rows(&scales, &mut sum);
                block.add_squares(&scales, &mut squares);
                let short: Vec<f32> = w.iter().map(|&w| w as f32).collect();
                let arranged = block.arranged(&scales, 2.0);
                let (mut product, mut plain) = (vec![0.0f32; width], vec![0.0f32; width]);
                let total = block.add_product(&arranged, &short, 0.25, &mut product);
                prop_assert_eq!(block.add_product_plain(&arranged, &short, 0.25, &mut plain).to_bits(), total.to_bits());
                prop_assert_eq!(&plain, &product);
                let curved = |i: usize| 2.0 * scales[i] * (score(i) + 0.25);
                prop_assert!((total - (0..rows.len()).map(curved).sum::<f64>()).abs() <= 1e-3);
                for (i, out) in out.iter().enumerate() {
                    prop_assert!((out - score(i)).abs() <= 1e-13 * 200.0);
                }
                for j in 0..width {
                    let column = |f: &dyn Fn(usize, f64) -> f64| -> f64 {
                        rows.iter().enumerate().filter_map(|(i, row)| row.get(&(j as u16)).map(|&v| f(i, value(v)))).sum()
                    };
                    prop_assert!((sum[j] - w[j] - column(&|i, v| scales[i] * v)).abs() <= 1e-12);
                    prop_assert!((squares[j] - w[j] - column(&|i, v| scales[i] * v * v)).abs() <= 1e-11);
                    prop_assert!((f64::from(product[j]) - column(&|i, v| curved(i) * v)).abs() <= 1e-2);
                }
            }
        }
    }

    #[test]
    fn unsuitable_rows_are_refused() {
        assert!(Interleaved::new(&[0, 1], &[3], &[1.0], 4, true).is_some());
        assert!(
            Interleaved::new(&[0, 1], &[4], &[1.0], 4, true).is_none(),
            "a column index beyond the width"
        );
        assert!(
            Interleaved::new(&[0, 1], &[0], &[1e30], 4, true).is_none(),
            "a value too large for single precision"
        );
        assert!(
            Interleaved::new(&[0, 1], &[0], &[1e-30], 4, true).is_none(),
            "a value too small for single precision"
        );
        assert!(
            Interleaved::new(&[0, 1], &[0], &[f64::NAN], 4, true).is_none(),
            "NaN"
        );
        assert!(
            Interleaved::new(&[0, 2], &[0], &[1.0], 4, true).is_none(),
            "a missing entry"
        );
        let ends: Vec<usize> = vec![0; MOST_ROWS + 2];
        assert!(
            Interleaved::new(&ends, &[], &[1.0f32; 0], 4, true).is_none(),
            "too many rows"
        );
    }
}
