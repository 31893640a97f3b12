//! Blocks of dense rows against a few vectors at once: scores X·W and pulls Xᵀ·R.
//!
//! The vectors lie feature by feature, in groups of eight: `weights[j][g]` holds eight vectors' entries of feature j. Eight
//! rows (for scores) or eight features (for pulls) at a time keep their sums in registers. Where the processor
//! can join a product and a sum in one rounding it does, so last bits depend on the kind of processor.
#![allow(unsafe_code)]

use super::dense::LANES;
use super::several::Group;

/// Rows or features that are worked on side by side.
pub(super) const SIDE: usize = 8;
/// Sums of eight rows or features.
pub(super) type Tile<const G: usize> = [[Group; G]; SIDE];

/// `out[i] = Σⱼ xᵢⱼ·weights[j]` for rows of `x` that are as long as the weights.
pub fn scores<const G: usize>(x: &[f64], weights: &[[Group; G]], out: &mut [[Group; G]]) {
    let width = weights.len();
    if width == 0 {
        out.fill([[0.0; LANES]; G]);
        return;
    }
    for (x, out) in x.chunks(SIDE * width).zip(out.chunks_mut(SIDE)) {
        // A tile of fewer rows repeats the last one.
        let last = out.len() - 1;
        let rows = std::array::from_fn(|i| &x[i.min(last) * width..][..width]);
        let tile = score_tile(rows, weights);
        out.copy_from_slice(&tile[..out.len()]);
    }
}

/// `sums[j] += Σᵢ xᵢⱼ·pulls[i]` for rows of `x` that are as long as the sums.
pub fn add_pulls<const G: usize>(x: &[f64], pulls: &[[Group; G]], sums: &mut [[Group; G]]) {
    let width = sums.len();
    let whole = width - width % SIDE;
    for first in (0..whole).step_by(SIDE) {
        let tile = pull_tile(x, width, first, pulls);
        for (sum, own) in sums[first..first + SIDE].iter_mut().zip(&tile) {
            add(sum, 1.0, own);
        }
    }
    for (x, pulls) in x.chunks_exact(width.max(1)).zip(pulls) {
        for (sum, &x) in sums[whole..].iter_mut().zip(&x[whole..]) {
            add(sum, x, pulls);
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
    if super::widest::has_avx512() {
        // SAFETY: the processor has the instructions, as was just asked; there is no other condition.
        return unsafe { score_tile_avx512(rows, weights) };
    }
    score_tile_plain(rows, weights)
}

/// Σᵢ xᵢⱼ·pulls[i] for eight features from `first` on, of rows that are `width` long.
pub(super) fn pull_tile<const G: usize>(
    x: &[f64],
    width: usize,
    first: usize,
    pulls: &[[Group; G]],
) -> Tile<G> {
    #[cfg(target_arch = "x86_64")]
    {
        if super::widest::has_avx512() {
            // SAFETY: as above.
            return unsafe { pull_tile_avx512(x, width, first, pulls) };
        }
        if super::widest::has_avx2() && std::arch::is_x86_feature_detected!("fma") {
            // SAFETY: as above.
            return unsafe { pull_tile_avx2(x, width, first, pulls) };
        }
    }
    pull_tile_plain(x, width, first, pulls)
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

fn pull_tile_plain<const G: usize>(x: &[f64], width: usize, first: usize, pulls: &[[Group; G]]) -> Tile<G> {
    let mut sums = [[[0.0; LANES]; G]; SIDE];
    for (x, pulls) in x.chunks_exact(width).zip(pulls) {
        for (sums, &x) in sums.iter_mut().zip(&x[first..first + SIDE]) {
            add(sums, x, pulls);
        }
    }
    sums
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn score_tile_avx512<const G: usize>(rows: [&[f64]; SIDE], weights: &[[Group; G]]) -> Tile<G> {
    use std::arch::x86_64::{_mm512_fmadd_pd, _mm512_loadu_pd, _mm512_set1_pd, _mm512_setzero_pd};
    let mut sums = [[_mm512_setzero_pd(); G]; SIDE];
    let mut w = [_mm512_setzero_pd(); G];
    let rows = rows.map(|row| &row[..weights.len()]);
    for (j, weights) in weights.iter().enumerate() {
        for g in 0..G {
            // SAFETY: a group is the eight doubles that are read.
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
fn pull_tile_avx512<const G: usize>(x: &[f64], width: usize, first: usize, pulls: &[[Group; G]]) -> Tile<G> {
    use std::arch::x86_64::{_mm512_fmadd_pd, _mm512_loadu_pd, _mm512_set1_pd, _mm512_setzero_pd};
    let mut sums = [[_mm512_setzero_pd(); G]; SIDE];
    let mut r = [_mm512_setzero_pd(); G];
    for (x, pulls) in x.chunks_exact(width).zip(pulls) {
        let x = &x[first..first + SIDE];
        for g in 0..G {
            // SAFETY: a group is the eight doubles that are read.
            r[g] = unsafe { _mm512_loadu_pd(pulls[g].as_ptr()) };
        }
        for i in 0..SIDE {
            let x = _mm512_set1_pd(x[i]);
            for g in 0..G {
                sums[i][g] = _mm512_fmadd_pd(x, r[g], sums[i][g]);
            }
        }
    }
    stored(sums)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn pull_tile_avx2<const G: usize>(x: &[f64], width: usize, start: usize, pulls: &[[Group; G]]) -> Tile<G> {
    use std::arch::x86_64::{
        _mm256_fmadd_pd, _mm256_loadu_pd, _mm256_set1_pd, _mm256_setzero_pd, _mm256_storeu_pd,
    };
    /// Features at a time: with two halves of a group they leave registers for the factors.
    const AT_ONCE: usize = 4;
    let mut out = [[[0.0; LANES]; G]; SIDE];
    for g in 0..G {
        for first in (0..SIDE).step_by(AT_ONCE) {
            let mut sums = [[_mm256_setzero_pd(); 2]; AT_ONCE];
            for (x, pulls) in x.chunks_exact(width).zip(pulls) {
                let x = &x[start + first..start + first + AT_ONCE];
                let (left, right) = pulls[g].split_at(LANES / 2);
                // SAFETY: half a group is the four doubles that are read.
                let y = unsafe { [_mm256_loadu_pd(left.as_ptr()), _mm256_loadu_pd(right.as_ptr())] };
                for i in 0..AT_ONCE {
                    let x = _mm256_set1_pd(x[i]);
                    for half in 0..2 {
                        sums[i][half] = _mm256_fmadd_pd(x, y[half], sums[i][half]);
                    }
                }
            }
            for i in 0..AT_ONCE {
                let (left, right) = out[first + i][g].split_at_mut(LANES / 2);
                // SAFETY: half a group is the four doubles that are written.
                unsafe {
                    _mm256_storeu_pd(left.as_mut_ptr(), sums[i][0]);
                    _mm256_storeu_pd(right.as_mut_ptr(), sums[i][1]);
                }
            }
        }
    }
    out
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn stored<const G: usize>(sums: [[std::arch::x86_64::__m512d; G]; SIDE]) -> Tile<G> {
    let mut out = [[[0.0; LANES]; G]; SIDE];
    for i in 0..SIDE {
        for g in 0..G {
            // SAFETY: a group is the eight doubles that are written.
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
        let (weights, pulls) = (groups::<G>(width, seed), groups::<G>(rows, seed ^ 3));
        let mut out = groups::<G>(rows, 1);
        scores(&x, &weights, &mut out);
        let mut sums = groups::<G>(width, 2);
        let start = sums.clone();
        add_pulls(&x, &pulls, &mut sums);
        for g in 0..G {
            for lane in 0..LANES {
                for i in 0..rows {
                    let known: f64 = (0..width).map(|j| x[i * width + j] * weights[j][g][lane]).sum();
                    prop_assert_eq!(out[i][g][lane], known);
                }
                for j in 0..width {
                    let known: f64 = (0..rows).map(|i| x[i * width + j] * pulls[i][g][lane]).sum();
                    prop_assert_eq!(sums[j][g][lane], start[j][g][lane] + known);
                }
            }
        }
        if width >= SIDE && rows >= SIDE {
            let own: [&[f64]; SIDE] = std::array::from_fn(|i| &x[i * width..(i + 1) * width]);
            prop_assert_eq!(score_tile(own, &weights), score_tile_plain(own, &weights));
            let (ours, plain) = (
                pull_tile(&x, width, 0, &pulls),
                pull_tile_plain(&x, width, 0, &pulls),
            );
            prop_assert_eq!(ours, plain);
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
                // SAFETY: the processor has the instructions, as was just asked.
                prop_assert_eq!(unsafe { pull_tile_avx2(&x, width, 0, &pulls) }, plain);
            }
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
