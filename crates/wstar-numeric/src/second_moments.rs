//! Second moments of dense rows and their targets: the matrix MᵀM for M = (X, 1, y), which is all that the normal equations
//! of least squares need.
//!
//! Columns are processed in groups of eight. The remaining columns of each row are copied and padded to a whole group; the
//! constant 1 and the target are part of that padding, so Xᵀ1, Xᵀy and yᵀy cost almost nothing in addition to XᵀX. Products
//! are summed in tiles (`register_tile.rs`), a block of rows at a time, and stay in tile order until all rows are added.

use crate::dense::LANES;
use crate::register_tile::{Panel, SIDE, Tile, add_tile};
use crate::row_times_matrix::Group;

/// The maximum number of groups of columns in a tile. Derived: as in `gram`, the sums of a tile fit in registers.
const GROUPS: usize = 3;
/// The number of rows in a block, whose products are summed before they are added to the total.
/// Heuristic: a block should fit in the L1 cache and still amortise the updates of the total; not measured yet.
const AT_ONCE: usize = 64;

/// The products of the group `narrow` of columns with `groups` consecutive groups from `wide` on.
#[derive(Debug, Clone, Copy)]
struct Pairs {
    narrow: usize,
    wide: usize,
    groups: usize,
}

/// Accumulated sums of products of columns.
pub struct Moments {
    features: usize,
    /// The number of complete groups of columns, which are read in place.
    whole: usize,
    /// The products that are computed.
    pairs: Vec<Pairs>,
    /// Their sums, in the order of `pairs`.
    sums: Vec<Group>,
    /// For a block of rows: the columns outside complete groups, the constant 1 and the target, padded.
    rest: Vec<f64>,
}

impl Moments {
    /// The moments before any rows are added, for rows with this number of features.
    pub fn new(features: usize) -> Self {
        let whole = features / SIDE;
        let all = (features + 2).div_ceil(SIDE);
        let mut pairs = Vec::new();
        for wide in (0..whole).step_by(GROUPS) {
            let groups = GROUPS.min(whole - wide);
            // First the tiles on the diagonal, then the groups before them and the padded group or groups at the end.
            pairs.extend(on_diagonal(wide, groups));
            let others = (0..wide).chain(whole..all);
            pairs.extend(others.map(|narrow| Pairs { narrow, wide, groups }));
        }
        pairs.extend(on_diagonal(whole, all - whole));
        let groups: usize = pairs.iter().map(|pairs| pairs.groups).sum();
        Moments {
            features,
            whole,
            pairs,
            sums: vec![[0.0; LANES]; SIDE * groups],
            rest: vec![0.0; AT_ONCE * (all - whole) * SIDE],
        }
    }

    /// Adds the products of contiguous rows and their targets.
    pub fn add(&mut self, x: &[f64], y: &[f64]) {
        if self.features == 0 {
            y.chunks(AT_ONCE).for_each(|y| self.add_block(&[], y));
            return;
        }
        let blocks = x.chunks(AT_ONCE * self.features).zip(y.chunks(AT_ONCE));
        blocks.for_each(|(x, y)| self.add_block(x, y));
    }

    fn add_block(&mut self, x: &[f64], y: &[f64]) {
        let (features, own) = (self.features, self.whole * SIDE);
        let left = features - own;
        let length = self.rest.len() / AT_ONCE;
        for (i, (rest, &y)) in self.rest.chunks_exact_mut(length).zip(y).enumerate() {
            rest[..left].copy_from_slice(&x[i * features + own..(i + 1) * features]);
            (rest[left], rest[left + 1]) = (1.0, y);
        }
        let rest = &self.rest[..y.len() * length];
        let panel = |group: usize, groups: usize| match group.checked_sub(self.whole) {
            Some(group) => Panel::new(rest, length, group * SIDE, groups * SIDE),
            None => Panel::new(x, features, group * SIDE, groups * SIDE),
        };
        // The address of the next rows, and the number of their cache lines that are still to be prefetched.
        let (mut ahead, mut lines) = (x.as_ptr().wrapping_add(x.len()), x.len().div_ceil(SIDE));
        let mut sums = self.sums.as_mut_slice();
        for &Pairs { narrow, wide, groups } in &self.pairs {
            let (own, others) = std::mem::take(&mut sums).split_at_mut(SIDE * groups);
            sums = others;
            let (left, right) = (panel(narrow, 1), panel(wide, groups));
            let next = (lines > 0).then_some(ahead);
            match groups {
                1 => add_tile::<1>(left, right, next, as_tile(own)),
                2 => add_tile::<2>(left, right, next, as_tile(own)),
                _ => add_tile::<GROUPS>(left, right, next, as_tile(own)),
            }
            let prefetched = y.len().min(lines);
            (ahead, lines) = (ahead.wrapping_add(prefetched * SIDE), lines - prefetched);
        }
    }

    /// The moments so far: a symmetric matrix whose rows are the features, then the constant 1, then the target.
    pub fn matrix(&self) -> Vec<f64> {
        let side = self.features + 2;
        let mut matrix = vec![0.0; side * side];
        let mut sums = self.sums.iter();
        for &Pairs { narrow, wide, groups } in &self.pairs {
            for row in narrow * SIDE..(narrow + 1) * SIDE {
                for (group, sums) in sums.by_ref().take(groups).enumerate() {
                    for (column, &sum) in ((wide + group) * SIDE..).zip(sums) {
                        if row < side && column < side {
                            (matrix[row * side + column], matrix[column * side + row]) = (sum, sum);
                        }
                    }
                }
            }
        }
        matrix
    }
}

/// The products of consecutive groups with each other.
fn on_diagonal(first: usize, groups: usize) -> impl Iterator<Item = Pairs> {
    (0..groups).map(move |k| Pairs {
        narrow: first + k,
        wide: first + k,
        groups: groups - k,
    })
}

/// The sums as a tile.
fn as_tile<const G: usize>(sums: &mut [Group]) -> &mut Tile<G> {
    match sums.as_chunks_mut::<G>().0.first_chunk_mut() {
        Some(tile) => tile,
        None => unreachable!("a tile has eight columns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn moments_agree_with_the_definition(rows in 0..200usize, features in 0..70usize, cut in 0..200usize, seed in any::<u64>()) {
            // Small integers, so that every sum is exact in any order.
            let number = |k: usize| {
                let mixed = (k as u64 ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                ((mixed >> 40) % 41) as f64 - 20.0
            };
            let x: Vec<f64> = (0..rows * features).map(number).collect();
            let y: Vec<f64> = (0..rows).map(|i| number(!i)).collect();
            let mut moments = Moments::new(features);
            let cut = cut.min(rows);
            moments.add(&x[..cut * features], &y[..cut]);
            moments.add(&x[cut * features..], &y[cut..]);
            let side = features + 2;
            let mut known = vec![0.0; side * side];
            for i in 0..rows {
                let mut row = x[i * features..(i + 1) * features].to_vec();
                row.extend([1.0, y[i]]);
                for (j, a) in row.iter().enumerate() {
                    for (k, b) in row.iter().enumerate() {
                        known[j * side + k] += a * b;
                    }
                }
            }
            prop_assert_eq!(moments.matrix(), known);
        }
    }
}
