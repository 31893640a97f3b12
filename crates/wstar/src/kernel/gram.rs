//! Weighted Gram matrices of dense rows: G += Σᵢ hᵢ xᵢxᵢᵀ.
//!
//! Rows are first copied into panels: eight columns side by side, times h, for one factor, and up to 24 for the other.
//! The innermost loop then reads both straight ahead and keeps 8 × 24 sums in registers (K. Goto and R. van de
//! Geijn, Anatomy of high-performance matrix multiplication, ACM Trans. Math. Softw. 34, 2008). Where the
//! processor can join a product and a sum in one rounding it does, so last bits depend on the kind of processor.
#![allow(unsafe_code)]

/// Columns of a narrow panel, and of a group of a wide one.
const SIDE: usize = 8;
/// Groups of a wide panel.
const GROUPS: usize = 3;
/// Rows whose panels stay in a core's first cache.
const ROWS: usize = 128;

/// Eight columns' entries of one row.
type Group = [f64; SIDE];
/// Sums for eight columns of a narrow panel and G groups of a wide one.
type Tile<const G: usize> = [[Group; G]; SIDE];

/// Adds Σᵢ hᵢ xᵢxᵢᵀ to the lower triangle of `gram`, which lies column by column. The rows of `x` are `width` long.
pub fn add_gram(x: &[f64], width: usize, h: &[f64], gram: &mut [f64]) {
    if width == 0 {
        return;
    }
    for (x, h) in x.chunks(ROWS * width).zip(h.chunks(ROWS)) {
        let panels = Panels::new(x, width, h);
        for wide in (0..panels.groups).step_by(GROUPS) {
            match panels.groups - wide {
                1 => panels.add::<1>(wide, gram),
                2 => panels.add::<2>(wide, gram),
                _ => panels.add::<GROUPS>(wide, gram),
            }
        }
    }
}

/// A few rows, column groups one after another; columns beyond the last are 0.
struct Panels {
    rows: usize,
    width: usize,
    groups: usize,
    /// Group by group: all rows of the first, then all of the second …
    scaled: Vec<Group>,
    /// Wide panel by wide panel: within one, row by row, its groups beside each other.
    plain: Vec<Group>,
}

impl Panels {
    fn new(x: &[f64], width: usize, h: &[f64]) -> Self {
        let (rows, groups) = (h.len(), width.div_ceil(SIDE));
        let mut scaled = vec![[0.0; SIDE]; groups * rows];
        let mut plain = scaled.clone();
        for (i, (row, &h)) in x.chunks_exact(width).zip(h).enumerate() {
            let (whole, rest) = row.as_chunks::<SIDE>();
            let mut last = [0.0; SIDE];
            last[..rest.len()].copy_from_slice(rest);
            for (group, entries) in whole
                .iter()
                .chain(std::iter::once(&last))
                .enumerate()
                .take(groups)
            {
                let panel = group - group % GROUPS;
                let beside = (groups - panel).min(GROUPS);
                plain[panel * rows + i * beside + group - panel] = *entries;
                scaled[group * rows + i] = entries.map(|entry| h * entry);
            }
        }
        Panels {
            rows,
            width,
            groups,
            scaled,
            plain,
        }
    }

    /// Adds the products of a wide panel, whose columns are rows of `gram`, with all narrow ones that are not beyond it.
    fn add<const G: usize>(&self, wide: usize, gram: &mut [f64]) {
        let (plain, _) = self.plain[wide * self.rows..(wide + G) * self.rows].as_chunks::<G>();
        for narrow in 0..(wide + G).min(self.groups) {
            let scaled = &self.scaled[narrow * self.rows..(narrow + 1) * self.rows];
            let sums = tile::<G>(scaled, plain);
            for (i, sums) in sums.iter().enumerate() {
                let column = narrow * SIDE + i;
                if column >= self.width {
                    break;
                }
                let first = (wide * SIDE).max(column);
                let end = ((wide + G) * SIDE).min(self.width);
                let to = &mut gram[column * self.width..][first..end];
                let from = &sums.as_flattened()[first - wide * SIDE..];
                to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
            }
        }
    }
}

/// Σ over rows of the outer product of a narrow and a wide panel's entries.
fn tile<const G: usize>(narrow: &[Group], wide: &[[Group; G]]) -> Tile<G> {
    #[cfg(target_arch = "x86_64")]
    {
        if super::widest::has_avx512() {
            // SAFETY: the processor has the instructions, as was just asked; there is no other condition.
            return unsafe { tile_avx512(narrow, wide) };
        }
        if super::widest::has_avx2() && std::arch::is_x86_feature_detected!("fma") {
            // SAFETY: as above.
            return unsafe { tile_avx2(narrow, wide) };
        }
    }
    tile_plain(narrow, wide)
}

fn tile_plain<const G: usize>(narrow: &[Group], wide: &[[Group; G]]) -> Tile<G> {
    let mut sums = [[[0.0; SIDE]; G]; SIDE];
    for (narrow, wide) in narrow.iter().zip(wide) {
        for (sums, x) in sums.iter_mut().zip(narrow) {
            for (sum, y) in sums.as_flattened_mut().iter_mut().zip(wide.as_flattened()) {
                *sum += x * y;
            }
        }
    }
    sums
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn tile_avx512<const G: usize>(narrow: &[Group], wide: &[[Group; G]]) -> Tile<G> {
    use std::arch::x86_64::{
        _mm512_fmadd_pd, _mm512_loadu_pd, _mm512_set1_pd, _mm512_setzero_pd, _mm512_storeu_pd,
    };
    let mut sums = [[_mm512_setzero_pd(); G]; SIDE];
    let mut y = [_mm512_setzero_pd(); G];
    for (narrow, wide) in narrow.iter().zip(wide) {
        for g in 0..G {
            // SAFETY: a group is the eight doubles that are read.
            y[g] = unsafe { _mm512_loadu_pd(wide[g].as_ptr()) };
        }
        for i in 0..SIDE {
            let x = _mm512_set1_pd(narrow[i]);
            for g in 0..G {
                sums[i][g] = _mm512_fmadd_pd(x, y[g], sums[i][g]);
            }
        }
    }
    let mut out = [[[0.0; SIDE]; G]; SIDE];
    for i in 0..SIDE {
        for g in 0..G {
            // SAFETY: a group is the eight doubles that are written.
            unsafe { _mm512_storeu_pd(out[i][g].as_mut_ptr(), sums[i][g]) };
        }
    }
    out
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn tile_avx2<const G: usize>(narrow: &[Group], wide: &[[Group; G]]) -> Tile<G> {
    use std::arch::x86_64::{
        _mm256_fmadd_pd, _mm256_loadu_pd, _mm256_set1_pd, _mm256_setzero_pd, _mm256_storeu_pd,
    };
    /// Columns of the narrow panel at a time: with two halves of a group they leave registers for the factors.
    const AT_ONCE: usize = 4;
    let mut out = [[[0.0; SIDE]; G]; SIDE];
    for g in 0..G {
        for first in (0..SIDE).step_by(AT_ONCE) {
            let mut sums = [[_mm256_setzero_pd(); 2]; AT_ONCE];
            for (narrow, wide) in narrow.iter().zip(wide) {
                let (left, right) = wide[g].split_at(SIDE / 2);
                // SAFETY: half a group is the four doubles that are read.
                let y = unsafe { [_mm256_loadu_pd(left.as_ptr()), _mm256_loadu_pd(right.as_ptr())] };
                for i in 0..AT_ONCE {
                    let x = _mm256_set1_pd(narrow[first + i]);
                    for half in 0..2 {
                        sums[i][half] = _mm256_fmadd_pd(x, y[half], sums[i][half]);
                    }
                }
            }
            for i in 0..AT_ONCE {
                let (left, right) = out[first + i][g].split_at_mut(SIDE / 2);
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Small integers, so that every sum is exact in any order.
    fn numbers(count: usize, seed: u64) -> Vec<f64> {
        (0..count as u64)
            .map(|k| {
                let mixed = (k ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                ((mixed >> 40) % 41) as f64 - 20.0
            })
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn agrees_with_the_definition(rows in 0..300usize, width in 1..60usize, seed in any::<u64>()) {
            let (x, h) = (numbers(rows * width, seed), numbers(rows, !seed));
            let mut gram = numbers(width * width, seed ^ 7);
            let mut plain = gram.clone();
            for (x, h) in x.chunks_exact(width).zip(&h) {
                for column in 0..width {
                    for row in column..width {
                        plain[column * width + row] += h * x[row] * x[column];
                    }
                }
            }
            add_gram(&x, width, &h, &mut gram);
            // The upper triangle is left as it was.
            prop_assert_eq!(gram, plain);
        }

        #[test]
        fn every_kind_of_processor_gives_the_same_sums(rows in 0..200usize, seed in any::<u64>()) {
            let (narrow, wide) = (numbers(rows * SIDE, seed), numbers(rows * SIDE * GROUPS, !seed));
            let (narrow, _) = narrow.as_chunks::<SIDE>();
            let (wide, _) = wide.as_chunks::<SIDE>();
            let (wide, _) = wide.as_chunks::<GROUPS>();
            let plain = tile_plain(narrow, wide);
            prop_assert_eq!(tile(narrow, wide), plain);
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
                // SAFETY: the processor has the instructions, as was just asked.
                prop_assert_eq!(unsafe { tile_avx2(narrow, wide) }, plain);
            }
        }
    }
}
