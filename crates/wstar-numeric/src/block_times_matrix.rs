//! Blocks of dense rows against several vectors at once: scores X·W and column products Xᵀ·R.
//!
//! The vectors are stored feature by feature in groups of eight: `weights[j][g]` holds the entries of eight vectors for
//! feature j. The sums of eight rows (scores) or eight features (column products) stay in registers. Fused multiply-adds
//! are used where the processor has them, so the last bits of the results depend on the processor.
#![allow(unsafe_code)]

use crate::dense::LANES;
use crate::register_tile::{Panel, SIDE, Tile, tile};
use crate::row_times_matrix::Group;

/// The number of rows in a block of column products.
/// Heuristic: few enough that the pages of a block stay in the TLB while the next block is prefetched; not measured yet.
const ROWS: usize = 32;

/// `out[i] = Σⱼ xᵢⱼ·weights[j]` for rows of `x` of length `weights.len()`.
pub fn scores<const G: usize>(x: &[f64], weights: &[[Group; G]], out: &mut [[Group; G]]) {
    let width = weights.len();
    if width == 0 {
        out.fill([[0.0; LANES]; G]);
        return;
    }
    for (x, out) in x.chunks(SIDE * width).zip(out.chunks_mut(SIDE)) {
        // An incomplete tile repeats its last row.
        let last = out.len() - 1;
        let rows = std::array::from_fn(|i| &x[i.min(last) * width..][..width]);
        let tile = score_tile(rows, weights);
        out.copy_from_slice(&tile[..out.len()]);
    }
}

/// `sums[j] += Σᵢ xᵢⱼ·residuals[i]` for rows of `x` of length `sums.len()`.
pub fn add_column_products<const G: usize>(x: &[f64], residuals: &[[Group; G]], sums: &mut [[Group; G]]) {
    let width = sums.len();
    let whole = width - width % SIDE;
    for (rows, residuals) in x.chunks((ROWS * width).max(1)).zip(residuals.chunks(ROWS)) {
        let flat = residuals.as_flattened().as_flattened();
        let mut ahead = rows.as_ptr().wrapping_add(rows.len());
        for first in (0..whole).step_by(SIDE) {
            let features = Panel::new(rows, width, first, SIDE);
            let own = tile(features, Panel::new(flat, LANES * G, 0, LANES * G), Some(ahead));
            ahead = ahead.wrapping_add(residuals.len() * LANES);
            for (sum, own) in sums[first..first + SIDE].iter_mut().zip(&own) {
                add(sum, 1.0, own);
            }
        }
    }
    if whole == width {
        return;
    }
    for (x, residuals) in x.chunks_exact(width.max(1)).zip(residuals) {
        for (sum, &x) in sums[whole..].iter_mut().zip(&x[whole..]) {
            add(sum, x, residuals);
        }
    }
}

#[inline(always)]
fn add<const G: usize>(to: &mut [Group; G], x: f64, from: &[Group; G]) {
    let pairs = to.as_flattened_mut().iter_mut().zip(from.as_flattened());
    pairs.for_each(|(to, from)| *to += x * from);
}

fn score_tile<const G: usize>(rows: [&[f64]; SIDE], weights: &[[Group; G]]) -> Tile<G> {
    #[cfg(target_arch = "x86_64")]
    if crate::dispatch::has_avx512() {
        // SAFETY: the check above has shown that the processor has the instructions; there is no other condition.
        return unsafe { score_tile_avx512(rows, weights) };
    }
    score_tile_plain(rows, weights)
}

fn score_tile_plain<const G: usize>(rows: [&[f64]; SIDE], weights: &[[Group; G]]) -> Tile<G> {
    rows.map(|row| {
        let mut sums = [[0.0; LANES]; G];
        for (&x, weights) in row.iter().zip(weights) {
            add(&mut sums, x, weights);
        }
        sums
    })
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn score_tile_avx512<const G: usize>(rows: [&[f64]; SIDE], weights: &[[Group; G]]) -> Tile<G> {
    use std::arch::x86_64::{
        _MM_HINT_T0, _mm_prefetch, _mm512_fmadd_pd, _mm512_loadu_pd, _mm512_set1_pd, _mm512_setzero_pd,
    };
    let mut sums = [[_mm512_setzero_pd(); G]; SIDE];
    let mut w = [_mm512_setzero_pd(); G];
    let rows = rows.map(|row| &row[..weights.len()]);
    // The following rows are prefetched at the same time, one cache line for each feature.
    let mut ahead = rows[SIDE - 1].as_ptr().wrapping_add(weights.len());
    for (j, weights) in weights.iter().enumerate() {
        _mm_prefetch::<_MM_HINT_T0>(ahead.cast());
        ahead = ahead.wrapping_add(LANES);
        for g in 0..G {
            // SAFETY: a group has the eight doubles that are read.
            w[g] = unsafe { _mm512_loadu_pd(weights[g].as_ptr()) };
        }
        for i in 0..SIDE {
            let x = _mm512_set1_pd(rows[i][j]);
            for g in 0..G {
                sums[i][g] = _mm512_fmadd_pd(x, w[g], sums[i][g]);
            }
        }
    }
    stored(sums)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn stored<const G: usize>(sums: [[std::arch::x86_64::__m512d; G]; SIDE]) -> Tile<G> {
    let mut out = [[[0.0; LANES]; G]; SIDE];
    for i in 0..SIDE {
        for g in 0..G {
            // SAFETY: a group has the eight doubles that are written.
            unsafe { std::arch::x86_64::_mm512_storeu_pd(out[i][g].as_mut_ptr(), sums[i][g]) };
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Small integers, so that every sum is exact in any order.
    fn number(k: usize, seed: u64) -> f64 {
        let mixed = (k as u64 ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((mixed >> 40) % 41) as f64 - 20.0
    }

    fn groups<const G: usize>(count: usize, seed: u64) -> Vec<[Group; G]> {
        let entry = |i, g, lane| number((i * G + g) * LANES + lane, seed);
        (0..count)
            .map(|i| std::array::from_fn(|g| std::array::from_fn(|lane| entry(i, g, lane))))
            .collect()
    }

    fn agree<const G: usize>(rows: usize, width: usize, seed: u64) -> Result<(), TestCaseError> {
        let x: Vec<f64> = (0..rows * width).map(|k| number(k, !seed)).collect();
        let (weights, residuals) = (groups::<G>(width, seed), groups::<G>(rows, seed ^ 3));
        let mut out = groups::<G>(rows, 1);
        scores(&x, &weights, &mut out);
        let mut sums = groups::<G>(width, 2);
        let start = sums.clone();
        add_column_products(&x, &residuals, &mut sums);
        for g in 0..G {
            for lane in 0..LANES {
                for i in 0..rows {
                    let known: f64 = (0..width).map(|j| x[i * width + j] * weights[j][g][lane]).sum();
                    prop_assert_eq!(out[i][g][lane], known);
                }
                for j in 0..width {
                    let known: f64 = (0..rows).map(|i| x[i * width + j] * residuals[i][g][lane]).sum();
                    prop_assert_eq!(sums[j][g][lane], start[j][g][lane] + known);
                }
            }
        }
        if width >= SIDE && rows >= SIDE {
            let own: [&[f64]; SIDE] = std::array::from_fn(|i| &x[i * width..(i + 1) * width]);
            prop_assert_eq!(score_tile(own, &weights), score_tile_plain(own, &weights));
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn agrees_with_the_definition(rows in 0..40usize, width in 0..30usize, seed in any::<u64>()) {
            agree::<1>(rows, width, seed)?;
            agree::<2>(rows, width, seed)?;
            agree::<3>(rows, width, seed)?;
        }
    }
}
