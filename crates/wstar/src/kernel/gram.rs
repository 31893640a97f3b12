//! Weighted Gram matrices of dense rows: G += Σᵢ hᵢ xᵢxᵢᵀ.
//!
//! Rows are first copied into panels: eight columns side by side, times h, for one factor, and up to 24 for the other.
//! The innermost loop, that of `outputs.rs`, then reads both straight ahead and keeps 8 × 24 sums in registers
//! (K. Goto and R. van de Geijn, Anatomy of high-performance matrix multiplication, ACM Trans. Math. Softw. 34, 2008).

use super::outputs::{SIDE, pull_tile};
use super::several::Group;

/// Groups of a wide panel.
const GROUPS: usize = 3;
/// Rows whose panels stay in a core's first cache.
const ROWS: usize = 128;

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
            let sums = pull_tile::<G>(scaled.as_flattened(), SIDE, 0, plain);
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
    }
}
