//! Rows that are alike in everything but their weight, as one row that weighs as much as all of them.
//!
//! Data of few categories repeat themselves: of three million flights a third are different. A solver that passes over its
//! rows often, or keeps much beside each, then has a third of the work and of the memory, for the same optimum: the loss
//! sees a row and its target, and weights add up.
//!
//! Rows are told apart by a mark of 64 bits (the fold of a product of 128, as in Wang Yi's wyhash). Some million different
//! rows share one by chance about once in ten million fits; the optimum would then be a little off, and the certificate,
//! which sees every row, would tell.

use std::borrow::Cow;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::data::{Design, Row};
use crate::oracle::{Rows, Weights};

/// Rows fewer than these are no burden.
const MANY: usize = 1 << 17;
/// Rows that one task marks.
const BLOCK: usize = 1 << 13;
/// One mark in so many tells whether merging is worth while, and there are as many buckets of marks.
const BUCKETS: usize = 256;
/// All rows are at least so many times as many as different ones, or nothing is merged.
const LEAST_SHARE: usize = 2;

/// Different rows, each with the weight of all that are like it.
pub(crate) struct Merged {
    design: Design,
    targets: Vec<f64>,
    weights: Vec<f64>,
    /// How many rows with a weight are like each.
    counts: Vec<u32>,
    /// Which of them each row is.
    places: Vec<u32>,
}

impl Merged {
    /// The different ones of these rows, if they are many and most are like others.
    pub(crate) fn of(rows: &Rows<'_>) -> Option<Self> {
        if rows.len() < MANY || u32::try_from(rows.len()).is_err() {
            return None;
        }
        let marks = marks(rows);
        let firsts = firsts(&marks)?;
        drop(marks);
        let mut places = firsts;
        let mut different = Vec::new();
        for i in 0..places.len() {
            let first = places[i] as usize;
            places[i] = if first == i {
                different.push(i);
                (different.len() - 1) as u32
            } else {
                // The first of its kind came before, and has its place already.
                places[first]
            };
        }
        let (mut weights, mut counts) = (vec![0.0; different.len()], vec![0; different.len()]);
        for (i, &place) in places.iter().enumerate() {
            let weight = rows.weights.get(i);
            weights[place as usize] += weight;
            counts[place as usize] += u32::from(weight > 0.0);
        }
        Some(Merged {
            // Categories are 0 and 1, which half the memory holds as well.
            design: rows.design.select(&different).narrowest(),
            targets: different.iter().map(|&i| rows.targets[i]).collect(),
            weights,
            counts,
            places,
        })
    }

    /// How many rows with a weight are like each of the different ones; to be asked once.
    pub(crate) fn take_counts(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.counts)
    }

    /// The different rows.
    pub(crate) fn rows(&self) -> Rows<'_> {
        Rows {
            design: &self.design,
            targets: Cow::Borrowed(&self.targets),
            weights: Weights::Each(Cow::Borrowed(&self.weights)),
        }
    }

    /// The multipliers of all rows from those of the different ones: like rows have the same one for their weight.
    pub(crate) fn spread(&self, multipliers: &[f64], rows: &Rows<'_>) -> Vec<f64> {
        let of = |(i, &place): (usize, &u32)| {
            let (place, weight) = (place as usize, rows.weights.get(i));
            match self.weights[place] {
                // Alone, or nothing: no rounding then.
                whole if whole == weight => multipliers[place],
                whole => weight * (multipliers[place] / whole),
            }
        };
        self.places.par_iter().enumerate().map(of).collect()
    }
}

/// The mark of every row with its target.
fn marks(rows: &Rows<'_>) -> Vec<u64> {
    let mut marks = vec![0; rows.len()];
    marks
        .par_chunks_mut(BLOCK)
        .enumerate()
        .for_each(|(block, marks)| {
            for (i, mark) in (block * BLOCK..).zip(marks) {
                *mark = mark_of(rows.design.row(i), rows.targets[i]);
            }
        });
    marks
}

fn mark_of(row: Row<'_>, target: f64) -> u64 {
    /// Any odd numbers of many bits would do.
    const SALT: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93];
    // 0 and −0 are the same number.
    let bits = |value: f64| (value + 0.0).to_bits();
    let mut mark = fold(bits(target) ^ SALT[0], SALT[1]);
    row.for_each(|j, value| mark = fold(mark ^ bits(value), (j as u64 + 1).wrapping_mul(SALT[0]) ^ SALT[1]));
    mark
}

/// Both halves of a product, one over the other.
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ (product >> 64) as u64
}

/// The first row that is like each; none where too few are like others.
fn firsts(marks: &[u64]) -> Option<Vec<u32>> {
    let bucket_of = |mark: u64| (mark >> 56) as usize;
    let mut starts = [0usize; BUCKETS + 1];
    marks.iter().for_each(|&mark| starts[bucket_of(mark) + 1] += 1);
    for bucket in 0..BUCKETS {
        starts[bucket + 1] += starts[bucket];
    }
    // Like rows are in the same bucket, so that one of them tells of all.
    let one: FxHashMap<u64, ()> = (marks
        .iter()
        .filter(|mark| bucket_of(**mark) == 0)
        .map(|&mark| (mark, ())))
    .collect();
    if LEAST_SHARE * one.len() > starts[1] {
        return None;
    }
    let mut order = vec![0u32; marks.len()];
    let mut next = starts;
    for (i, &mark) in marks.iter().enumerate() {
        let place = &mut next[bucket_of(mark)];
        order[*place] = i as u32;
        *place += 1;
    }
    let mut parts = Vec::with_capacity(BUCKETS);
    let mut rest = order.as_mut_slice();
    for bucket in 0..BUCKETS {
        let (part, others) = rest.split_at_mut(starts[bucket + 1] - starts[bucket]);
        parts.push(part);
        rest = others;
    }
    let pairs: Vec<Vec<(u32, u32)>> = parts
        .into_par_iter()
        .map(|rows| {
            let mut first: FxHashMap<u64, u32> = FxHashMap::default();
            rows.iter()
                .map(|&i| (i, *first.entry(marks[i as usize]).or_insert(i)))
                .collect()
        })
        .collect();
    let mut firsts = order;
    for (i, first) in pairs.into_iter().flatten() {
        firsts[i as usize] = first;
    }
    Some(firsts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Csr, Dense};

    /// Rows of few values, in both storages, each with a target and a weight.
    fn set(kinds: usize, weights: Weights<'static>, sparse: bool) -> (Design, Vec<f64>, Weights<'static>) {
        let n = MANY + 1234;
        let kind = |i: usize| (i * 7919 + i / 37) % kinds;
        let row = |i: usize| [(kind(i) % 3) as f64, (kind(i) / 3) as f64 * 0.5, -1.0];
        let targets = (0..n)
            .map(|i| if kind(i) % 2 == 0 { 1.0 } else { -1.0 })
            .collect();
        let design = if sparse {
            let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
            for i in 0..n {
                for (j, x) in (0..).zip(row(i)).filter(|(_, x)| *x != 0.0) {
                    indices.push(j);
                    values.push(x);
                }
                starts.push(indices.len());
            }
            Design::Sparse64(Csr::new(starts, indices, values, 3).unwrap())
        } else {
            Design::Dense64(Dense::new((0..n).flat_map(row).collect::<Vec<f64>>(), n, 3).unwrap())
        };
        (design, targets, weights)
    }

    #[test]
    fn like_rows_are_one_and_weigh_as_much_as_all() {
        let n = MANY + 1234;
        let each = || Weights::Each((0..n).map(|i| (i % 5) as f64).collect());
        for (sparse, weights) in [
            (true, Weights::Same(0.5)),
            (false, Weights::Same(0.5)),
            (true, each()),
            (false, each()),
        ] {
            let (design, targets, weights) = set(1000, weights, sparse);
            let rows = Rows {
                design: &design,
                targets: targets.into(),
                weights,
            };
            let merged = Merged::of(&rows).unwrap();
            let few = merged.rows();
            assert_eq!(few.len(), 1000);
            let counted = (0..n).filter(|&i| rows.weights.get(i) > 0.0).count();
            assert_eq!(
                merged.counts.iter().map(|&count| count as usize).sum::<usize>(),
                counted
            );
            assert!((few.total_weight() - rows.total_weight()).abs() < 1e-9 * rows.total_weight());
            for (i, &place) in merged.places.iter().enumerate() {
                let place = place as usize;
                assert_eq!(few.targets[place], rows.targets[i]);
                assert_eq!(few.design.row(place).to_dense(3), design.row(i).to_dense(3));
            }
            // A multiplier at its bound is at it in every row, and what it pulls by is the same.
            let multipliers: Vec<f64> = (0..few.len())
                .map(|k| few.weights.get(k) * if k % 2 == 0 { 1.0 } else { 0.25 })
                .collect();
            let all = merged.spread(&multipliers, &rows);
            let (mut pull, mut known) = (vec![0.0; 3], vec![0.0; 3]);
            for (i, &alpha) in all.iter().enumerate() {
                let share = if merged.places[i].is_multiple_of(2) {
                    1.0
                } else {
                    0.25
                };
                assert!((alpha - share * rows.weights.get(i)).abs() <= 1e-15 * rows.weights.get(i));
                design.row(i).add_to(alpha, &mut pull);
            }
            for (k, &alpha) in multipliers.iter().enumerate() {
                few.design.row(k).add_to(alpha, &mut known);
            }
            for (pull, known) in pull.iter().zip(&known) {
                assert!((pull - known).abs() <= 1e-9 * known.abs().max(1.0));
            }
        }
    }

    #[test]
    fn different_rows_are_left_alone() {
        let (design, targets, weights) = set(MANY, Weights::Same(1.0), true);
        let rows = Rows {
            design: &design,
            targets: targets.into(),
            weights,
        };
        assert!(Merged::of(&rows).is_none());
    }
}
