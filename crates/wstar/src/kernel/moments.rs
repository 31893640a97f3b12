//! Second moments of dense rows with their targets: the sums of all products of two of the columns (x, 1, y), which are all
//! that the normal equations of least squares need.
//!
//! The ones and the targets stand beside what is left of a row when its columns are taken in groups of eight, in a copy that
//! has to be filled up anyway: Xᵀ1, Xᵀy and yᵀy then cost nothing beside XᵀX. Products are summed in tiles (`tile.rs`), a few
//! rows at a time, and stay in the order of the tiles until all rows are there.

use super::dense::LANES;
use super::several::Group;
use super::tile::{Panel, SIDE, Tile, add_tile};

/// Groups of columns of a tile at most.
const GROUPS: usize = 3;
/// Rows whose products are summed before they are added to those of others.
const AT_ONCE: usize = 64;

/// The products of a group of columns with some groups of columns that follow each other.
#[derive(Debug, Clone, Copy)]
struct Pairs {
    narrow: usize,
    wide: usize,
    groups: usize,
}

/// Sums of products of columns.
pub struct Moments {
    features: usize,
    /// Groups of columns that are taken where they lie.
    whole: usize,
    /// Which products there are, and their sums one after another.
    pairs: Vec<Pairs>,
    sums: Vec<Group>,
    /// The columns that no group was left for, the ones and the targets, of a few rows.
    rest: Vec<f64>,
}

impl Moments {
    /// Of no rows, which are to have so many features.
    pub fn new(features: usize) -> Self {
        let whole = features / SIDE;
        let all = (features + 2).div_ceil(SIDE);
        let mut pairs = Vec::new();
        for wide in (0..whole).step_by(GROUPS) {
            let groups = GROUPS.min(whole - wide);
            // Those that are a tile's own on the diagonal; then what is before and behind, which the rest always is.
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

    /// Adds the products of rows that lie one after another, and of their targets.
    pub fn add(&mut self, x: &[f64], y: &[f64]) {
        if self.features == 0 {
            y.chunks(AT_ONCE).for_each(|y| self.add_few(&[], y));
            return;
        }
        let pieces = x.chunks(AT_ONCE * self.features).zip(y.chunks(AT_ONCE));
        pieces.for_each(|(x, y)| self.add_few(x, y));
    }

    fn add_few(&mut self, x: &[f64], y: &[f64]) {
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
        // The next rows, and how many lines of memory they still are.
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
            let asked = y.len().min(lines);
            (ahead, lines) = (ahead.wrapping_add(asked * SIDE), lines - asked);
        }
    }

    /// The moments so far: a symmetric matrix, the features first, then the ones and the targets.
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

/// The products of some groups with each other.
fn on_diagonal(first: usize, groups: usize) -> impl Iterator<Item = Pairs> {
    (0..groups).map(move |k| Pairs {
        narrow: first + k,
        wide: first + k,
        groups: groups - k,
    })
}

/// The sums of a tile.
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
        fn agree_with_the_definition(rows in 0..200usize, features in 0..70usize, cut in 0..200usize, seed in any::<u64>()) {
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
