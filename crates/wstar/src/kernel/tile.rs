//! The innermost loop of products of two matrices over their rows: Σᵢ xᵢⱼ·yᵢₖ for eight columns j and up to 24 columns k,
//! whose sums stay in registers.
//!
//! Where the processor can join a product and a sum in one rounding it does, so last bits depend on the kind of
//! processor. Rows that follow can be asked for meanwhile: a processor busy with products does not read ahead far
//! enough by itself (measured on 1M × 100: 75 GFLOP/s without, 125 with).
#![allow(unsafe_code)]

use super::dense::LANES;
use super::several::Group;

/// Columns of the first matrix that are worked on side by side.
pub(super) const SIDE: usize = 8;
/// Sums of eight columns with some groups of columns.
pub(super) type Tile<const G: usize> = [[Group; G]; SIDE];

/// Some neighbouring columns of rows that lie one after another.
#[derive(Clone, Copy)]
pub(super) struct Panel<'a> {
    values: &'a [f64],
    /// From a row to the next.
    stride: usize,
    /// That every row has, from where the values start.
    columns: usize,
    rows: usize,
}

impl<'a> Panel<'a> {
    /// `columns` columns from `first` on of rows that are `stride` long.
    pub(super) fn new(values: &'a [f64], stride: usize, first: usize, columns: usize) -> Self {
        assert!(first + columns <= stride);
        let rows = values.len() / stride.max(1);
        Panel {
            values: values.get(first..).unwrap_or_default(),
            stride,
            columns,
            rows,
        }
    }

    fn row(&self, i: usize) -> &'a [f64] {
        &self.values[i * self.stride..]
    }
}

/// Whether a tile's sums are in registers all at once, of eight numbers each.
pub(super) fn wide() -> bool {
    #[cfg(target_arch = "x86_64")]
    let wide = super::widest::has_avx512();
    #[cfg(not(target_arch = "x86_64"))]
    let wide = false;
    wide
}

/// Σᵢ xᵢⱼ·yᵢₖ over the rows that both have: 8 columns of `x`, 8·G of `y`. A line of memory is asked for with each row, from
/// `ahead` on.
pub(super) fn tile<const G: usize>(x: Panel<'_>, y: Panel<'_>, ahead: Option<*const f64>) -> Tile<G> {
    let mut sums = [[[0.0; LANES]; G]; SIDE];
    add_tile(x, y, ahead, &mut sums);
    sums
}

/// Adds the same, once it is summed up, to what there is.
pub(super) fn add_tile<const G: usize>(
    x: Panel<'_>,
    y: Panel<'_>,
    ahead: Option<*const f64>,
    sums: &mut Tile<G>,
) {
    // What is read without a look at the ends of the slices.
    assert!(x.columns >= SIDE && y.columns >= LANES * G);
    #[cfg(target_arch = "x86_64")]
    {
        if wide() {
            // SAFETY: the processor has the instructions, as was just asked; panels have their columns in every row.
            return unsafe {
                match ahead {
                    Some(ahead) => tile_avx512::<G, true>(x, y, ahead, sums),
                    None => tile_avx512::<G, false>(x, y, std::ptr::null(), sums),
                }
            };
        }
        if super::widest::has_avx2() && std::arch::is_x86_feature_detected!("fma") {
            // SAFETY: as above.
            return unsafe { tile_avx2::<G>(x, y, ahead, sums) };
        }
    }
    let _ = ahead;
    tile_plain::<G>(x, y, sums);
}

fn tile_plain<const G: usize>(x: Panel<'_>, y: Panel<'_>, out: &mut Tile<G>) {
    let mut sums = [[[0.0; LANES]; G]; SIDE];
    for i in 0..x.rows.min(y.rows) {
        for (sums, &x) in sums.iter_mut().zip(&x.row(i)[..SIDE]) {
            let pairs = sums.as_flattened_mut().iter_mut().zip(y.row(i));
            pairs.for_each(|(sum, y)| *sum += x * y);
        }
    }
    let out = out.as_flattened_mut().as_flattened_mut().iter_mut();
    out.zip(sums.as_flattened().as_flattened())
        .for_each(|(out, sum)| *out += sum);
}

/// # Safety
///
/// Every row of `x` has 8 columns behind it, every row of `y` 8·G, as those made by [`Panel::new`] for so many have.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn tile_avx512<const G: usize, const AHEAD: bool>(
    x: Panel<'_>,
    y: Panel<'_>,
    mut ahead: *const f64,
    out: &mut Tile<G>,
) {
    use std::arch::x86_64::{
        _MM_HINT_T1, _mm_prefetch, _mm512_add_pd, _mm512_fmadd_pd, _mm512_loadu_pd, _mm512_set1_pd,
        _mm512_setzero_pd, _mm512_storeu_pd,
    };
    let mut sums = [[_mm512_setzero_pd(); G]; SIDE];
    let mut r = [_mm512_setzero_pd(); G];
    let (mut left, mut right) = (x.values.as_ptr(), y.values.as_ptr());
    for _ in 0..x.rows.min(y.rows) {
        // SAFETY: the caller's promise. Pointers beyond the last row are made but not read; a prefetch reads nothing that
        // the program could see, wherever it points.
        unsafe {
            for (g, r) in r.iter_mut().enumerate() {
                *r = _mm512_loadu_pd(right.add(LANES * g));
            }
            if AHEAD {
                _mm_prefetch::<_MM_HINT_T1>(ahead.cast());
                ahead = ahead.wrapping_add(LANES);
            }
            for (i, sums) in sums.iter_mut().enumerate() {
                let x = _mm512_set1_pd(*left.add(i));
                for (sum, &r) in sums.iter_mut().zip(&r) {
                    *sum = _mm512_fmadd_pd(x, r, *sum);
                }
            }
        }
        (left, right) = (left.wrapping_add(x.stride), right.wrapping_add(y.stride));
    }
    for i in 0..SIDE {
        for g in 0..G {
            let out = out[i][g].as_mut_ptr();
            // SAFETY: a group is the eight doubles that are read and written.
            unsafe { _mm512_storeu_pd(out, _mm512_add_pd(_mm512_loadu_pd(out), sums[i][g])) };
        }
    }
}

/// # Safety
///
/// As for the wider one.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn tile_avx2<const G: usize>(
    x: Panel<'_>,
    y: Panel<'_>,
    mut ahead: Option<*const f64>,
    out: &mut Tile<G>,
) {
    for left in (0..SIDE).step_by(STRIP) {
        for group in 0..G {
            // SAFETY: the caller's promise: these columns are among the tile's.
            let sums = unsafe {
                match ahead.take() {
                    Some(ahead) => strip_avx2::<true>(x, y, (left, LANES * group), ahead),
                    None => strip_avx2::<false>(x, y, (left, LANES * group), std::ptr::null()),
                }
            };
            for (out, sums) in out[left..].iter_mut().zip(sums) {
                out[group].iter_mut().zip(sums).for_each(|(out, sum)| *out += sum);
            }
        }
    }
}

/// Columns of the first matrix that have their sums with a group in registers, where these are of four numbers. With more,
/// there is none left for the factors, and the compiler keeps one of the sums in memory.
#[cfg(target_arch = "x86_64")]
const STRIP: usize = 4;

/// The part of a tile from some columns of both matrices on: 4 of the first, a group of the second.
///
/// # Safety
///
/// As for the whole tile.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn strip_avx2<const AHEAD: bool>(
    x: Panel<'_>,
    y: Panel<'_>,
    (from_x, from_y): (usize, usize),
    mut ahead: *const f64,
) -> [Group; STRIP] {
    use std::arch::x86_64::{
        _MM_HINT_T0, _mm_prefetch, _mm256_fmadd_pd, _mm256_loadu_pd, _mm256_set1_pd, _mm256_setzero_pd,
        _mm256_storeu_pd,
    };
    let mut sums = [[_mm256_setzero_pd(); 2]; STRIP];
    let mut left = x.values.as_ptr().wrapping_add(from_x);
    let mut right = y.values.as_ptr().wrapping_add(from_y);
    for _ in 0..x.rows.min(y.rows) {
        // SAFETY: the caller's promise; half a group is the four doubles that are read. Pointers beyond the last row are
        // made but not read, and a prefetch may point anywhere.
        unsafe {
            if AHEAD {
                _mm_prefetch::<_MM_HINT_T0>(ahead.cast());
                ahead = ahead.wrapping_add(LANES);
            }
            let halves = [_mm256_loadu_pd(right), _mm256_loadu_pd(right.add(LANES / 2))];
            for (i, sums) in sums.iter_mut().enumerate() {
                let x = _mm256_set1_pd(*left.add(i));
                for (sum, &half) in sums.iter_mut().zip(&halves) {
                    *sum = _mm256_fmadd_pd(x, half, *sum);
                }
            }
        }
        (left, right) = (left.wrapping_add(x.stride), right.wrapping_add(y.stride));
    }
    let mut out = [[0.0; LANES]; STRIP];
    for (out, sums) in out.iter_mut().zip(&sums) {
        let (left, right) = out.split_at_mut(LANES / 2);
        // SAFETY: half a group is the four doubles that are written.
        unsafe {
            _mm256_storeu_pd(left.as_mut_ptr(), sums[0]);
            _mm256_storeu_pd(right.as_mut_ptr(), sums[1]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn agree<const G: usize>(rows: usize, spare: [usize; 4], seed: u64) -> Result<(), TestCaseError> {
        // Small integers, so that every sum is exact in any order.
        let number = |k: usize| {
            let mixed = (k as u64 ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            ((mixed >> 40) % 41) as f64 - 20.0
        };
        let [before, behind, before_y, behind_y] = spare;
        let (width, width_y) = (before + SIDE + behind, before_y + LANES * G + behind_y);
        let x: Vec<f64> = (0..rows * width).map(number).collect();
        let y: Vec<f64> = (0..rows * width_y).map(|k| number(!k)).collect();
        let (left, right) = (
            Panel::new(&x, width, before, SIDE),
            Panel::new(&y, width_y, before_y, LANES * G),
        );
        let mut known: Tile<G> = [[[0.0; LANES]; G]; SIDE];
        for i in 0..rows {
            for (j, sums) in known.iter_mut().enumerate() {
                for (k, sum) in sums.as_flattened_mut().iter_mut().enumerate() {
                    *sum += x[i * width + before + j] * y[i * width_y + before_y + k];
                }
            }
        }
        prop_assert_eq!(tile::<G>(left, right, None), known);
        prop_assert_eq!(tile::<G>(left, right, Some(x.as_ptr())), known);
        let doubled = known.map(|groups| groups.map(|group| group.map(|sum| 2.0 * sum)));
        let mut sums = known;
        add_tile::<G>(left, right, None, &mut sums);
        prop_assert_eq!(sums, doubled);
        let mut sums = known;
        tile_plain::<G>(left, right, &mut sums);
        prop_assert_eq!(sums, doubled);
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
            let mut sums = known;
            // SAFETY: the processor has the instructions, as was just asked.
            unsafe { tile_avx2::<G>(left, right, Some(x.as_ptr()), &mut sums) };
            prop_assert_eq!(sums, doubled);
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn agrees_with_the_definition(rows in 0..40usize, spare in prop::array::uniform4(0..9usize), seed in any::<u64>()) {
            agree::<1>(rows, spare, seed)?;
            agree::<2>(rows, spare, seed)?;
            agree::<3>(rows, spare, seed)?;
        }
    }
}
