//! Weighted Gram matrices of dense rows: G += Σᵢ hᵢ xᵢxᵢᵀ.
//!
//! Rows are read in place, in blocks that fit in the cache. Their products are summed in tiles of 8 × 24 columns
//! (`register_tile.rs`; K. Goto and R. van de Geijn, Anatomy of high-performance matrix multiplication, ACM Trans. Math.
//! Softw. 34, 2008) while the next rows are prefetched. A block is copied only if its weights differ, to scale its rows, or
//! if its rows are shorter than a tile, to pad them.

use std::ops::Range;

use crate::dense::axpy;
use crate::register_tile::{Panel, SIDE, tile, wide};
use crate::row_times_matrix::Group;

/// Groups of [`SIDE`] columns in a tile. Derived: 8 × 3 sums take 24 of the 32 AVX-512 registers.
const GROUPS: usize = 3;

/// The number of rows whose products are summed before they are added to the matrix: as many as fit in the L1 cache for
/// the columns of a tile. Measured: on 1M × 100 with 32 KB of L1 and vectors of four doubles, 26 GFLOP/s with 128 rows and
/// 37 GFLOP/s with 64.
pub fn rows_at_once() -> usize {
    if wide() { 128 } else { 64 }
}

/// The lower triangle of a Gram matrix in column-major order, to which products are added.
pub struct LowerTriangle<'a> {
    /// The entries.
    pub gram: &'a mut [f64],
    /// The distance from a column to the next. It exceeds the width if other rows are stored below the matrix.
    pub stride: usize,
}

/// Adds Σᵢ hᵢ xᵢxᵢᵀ to the lower triangle of a matrix. The rows of `x` are `width` long.
pub fn add_gram(x: &[f64], width: usize, h: &[f64], output: &mut LowerTriangle<'_>) {
    if width == 0 {
        return;
    }
    let mut scaled = Vec::new();
    let mut padded = Vec::new();
    let least = width.next_multiple_of(SIDE);
    let at_once = rows_at_once();
    for (chunk, h) in x.chunks(at_once * width).zip(h.chunks(at_once)) {
        let ahead = chunk.as_ptr().wrapping_add(chunk.len());
        // Rows at least as wide as a tile are covered by tiles that overlap at the end; shorter rows are padded with zeros.
        let (rows, length) = if width < GROUPS * SIDE && width < least {
            padded.clear();
            padded.resize(h.len() * least, 0.0);
            for (to, from) in padded.chunks_exact_mut(least).zip(chunk.chunks_exact(width)) {
                to[..width].copy_from_slice(from);
            }
            (padded.as_slice(), least)
        } else {
            (chunk, width)
        };
        let same = h.iter().all(|&other| other == h[0]);
        if !same {
            scaled.clear();
            for (row, h) in rows.chunks_exact(length).zip(h) {
                scaled.extend(row.iter().map(|x| h * x));
            }
        }
        Products {
            rows,
            scaled: if same { rows } else { &scaled },
            length,
            width,
            factor: if same { h[0] } else { 1.0 },
            ahead,
            left: chunk.len().div_ceil(SIDE),
        }
        .add(output);
    }
}

/// A block of rows, and the same rows times their weights.
struct Products<'a> {
    rows: &'a [f64],
    scaled: &'a [f64],
    /// The stored length of a row, padding included.
    length: usize,
    width: usize,
    /// The factor by which the products are still to be multiplied.
    factor: f64,
    /// The address of the next rows, for prefetching.
    ahead: *const f64,
    /// The number of cache lines still to be prefetched.
    left: usize,
}

impl Products<'_> {
    fn add(&mut self, output: &mut LowerTriangle<'_>) {
        let mut wide = 0;
        while wide < self.width {
            let groups = (self.width - wide).div_ceil(SIDE).min(GROUPS);
            let start = wide.min(self.length - groups * SIDE);
            let end = (start + groups * SIDE).min(self.width);
            for narrow in (0..end).step_by(SIDE) {
                // Groups of columns to the left of the tile's own columns are above the diagonal: skip them.
                let above = narrow.min(self.length - SIDE).saturating_sub(start) / SIDE;
                let span = wide..end;
                match groups - above {
                    1 => self.add_tile::<1>(narrow, start + above * SIDE, span, output),
                    2 => self.add_tile::<2>(narrow, start + above * SIDE, span, output),
                    _ => self.add_tile::<GROUPS>(narrow, start + above * SIDE, span, output),
                }
            }
            wide = end;
        }
    }

    /// Adds the products of the `SIDE` columns from `narrow` on with the G groups of columns from `start` on, restricted to
    /// the columns in `span` and to the lower triangle.
    fn add_tile<const G: usize>(
        &mut self,
        narrow: usize,
        start: usize,
        span: Range<usize>,
        output: &mut LowerTriangle<'_>,
    ) {
        let first = narrow.min(self.length - SIDE);
        let ahead = (self.left > 0).then_some(self.ahead);
        let sums = tile::<G>(
            Panel::new(self.rows, self.length, first, SIDE),
            Panel::new(self.scaled, self.length, start, G * SIDE),
            ahead,
        );
        let prefetched = (self.rows.len() / self.length).min(self.left);
        (self.ahead, self.left) = (self.ahead.wrapping_add(prefetched * SIDE), self.left - prefetched);
        for (column, sums) in (first..span.end.min(first + SIDE))
            .zip(&sums)
            .skip(narrow - first)
        {
            self.add_column(sums, start, span.start.max(column)..span.end, column, output);
        }
    }

    fn add_column(
        &self,
        sums: &[Group],
        start: usize,
        rows: Range<usize>,
        column: usize,
        output: &mut LowerTriangle<'_>,
    ) {
        let from = &sums.as_flattened()[rows.start - start..rows.end - start];
        let to = &mut output.gram[column * output.stride..][rows];
        axpy(self.factor, from, to);
    }
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
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn agrees_with_the_definition(
            rows in 0..300usize,
            width in 1..60usize,
            below in 0..3usize,
            same in any::<bool>(),
            seed in any::<u64>(),
        ) {
            let (x, mut h) = (numbers(rows * width, seed), numbers(rows, !seed));
            if same {
                h.fill(3.0);
            }
            let stride = width + below;
            let mut gram = numbers(stride * width, seed ^ 7);
            let mut plain = gram.clone();
            for (x, h) in x.chunks_exact(width).zip(&h) {
                for column in 0..width {
                    for row in column..width {
                        plain[column * stride + row] += h * x[row] * x[column];
                    }
                }
            }
            add_gram(&x, width, &h, &mut LowerTriangle { gram: &mut gram, stride });
            // The upper triangle and the rows below the matrix are unchanged.
            prop_assert_eq!(gram, plain);
        }
    }
}
