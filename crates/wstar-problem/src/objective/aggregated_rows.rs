//! Duplicate rows, aggregated: rows with the same features and target become one row with the sum of their weights.
//!
//! Data with few categories have many duplicates: of three million flights only a third are distinct. The loss depends only on
//! a row and its target, so the optimum is unchanged. A solver that passes over its rows often, or stores much per row, then
//! needs a third of the time and of the memory.
//!
//! Rows are compared by a 64-bit hash (a folded 128-bit product, as in Wang Yi's wyhash). Among a million distinct rows a
//! collision happens about once in ten million fits. The optimum would then be slightly wrong, and the certificate, which is
//! computed from all rows, would show it.

use std::borrow::Cow;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::objective::{Rows, Weights};
use wstar_data::{Design, Row};

/// Cap: fewer rows than this are not aggregated, since they are cheap to solve as they are.
const MIN_ROWS: usize = 1 << 17;
/// Rows per task of hashing. Heuristic: scheduling overhead against load balance; not measured yet.
const BLOCK: usize = 1 << 13;
/// Buckets of hashes, by their leading 8 bits. The first bucket alone decides whether aggregation pays off. Heuristic: the
/// accuracy of that estimate against its time; not measured yet.
const BUCKETS: usize = 256;
/// The least ratio of all rows to distinct ones for which rows are aggregated. Heuristic: the cost of aggregating against the
/// time saved; not measured yet.
const MIN_RATIO: usize = 2;

/// The distinct rows, each with the total weight of its duplicates.
pub struct AggregatedRows {
    design: Design,
    targets: Vec<f64>,
    weights: Vec<f64>,
    /// For each distinct row, the number of duplicates with a weight above 0.
    counts: Vec<u32>,
    /// For each row, the index of its distinct row.
    distinct_index: Vec<u32>,
}

impl AggregatedRows {
    /// Aggregates the rows; `None` if there are few rows or few duplicates.
    pub fn of(rows: &Rows<'_>) -> Option<Self> {
        if rows.len() < MIN_ROWS || u32::try_from(rows.len()).is_err() {
            return None;
        }
        let hashes = hashes(rows);
        let first_duplicates = first_duplicates(&hashes)?;
        drop(hashes);
        let mut distinct_index = first_duplicates;
        let mut distinct = Vec::new();
        for i in 0..distinct_index.len() {
            let first = distinct_index[i] as usize;
            distinct_index[i] = if first == i {
                distinct.push(i);
                (distinct.len() - 1) as u32
            } else {
                // The first duplicate came earlier, so its index is known.
                distinct_index[first]
            };
        }
        let (mut weights, mut counts) = (vec![0.0; distinct.len()], vec![0; distinct.len()]);
        for (i, &index) in distinct_index.iter().enumerate() {
            let weight = rows.weights.get(i);
            weights[index as usize] += weight;
            counts[index as usize] += u32::from(weight > 0.0);
        }
        Some(AggregatedRows {
            // Indicators of categories are 0 and 1, which f32 represents exactly.
            design: rows.design.select(&distinct).narrowest(),
            targets: distinct.iter().map(|&i| rows.targets[i]).collect(),
            weights,
            counts,
            distinct_index,
        })
    }

    /// Takes the number of duplicates with a weight above 0 of each distinct row; empty on a second call.
    pub fn take_counts(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.counts)
    }

    /// The distinct rows.
    pub fn rows(&self) -> Rows<'_> {
        Rows {
            design: &self.design,
            targets: Cow::Borrowed(&self.targets),
            weights: Weights::Each(Cow::Borrowed(&self.weights)),
        }
    }

    /// The multipliers of all rows from those of the distinct ones: duplicates have the same αᵢ/cᵢ.
    pub fn expand(&self, multipliers: &[f64], rows: &Rows<'_>) -> Vec<f64> {
        let of = |(i, &index): (usize, &u32)| {
            let (index, weight) = (index as usize, rows.weights.get(i));
            match self.weights[index] {
                // A row without duplicates, or of weight 0: the multiplier is copied without rounding.
                whole if whole == weight => multipliers[index],
                whole => weight * (multipliers[index] / whole),
            }
        };
        self.distinct_index.par_iter().enumerate().map(of).collect()
    }
}

/// The hash of every row together with its target.
fn hashes(rows: &Rows<'_>) -> Vec<u64> {
    let mut hashes = vec![0; rows.len()];
    hashes
        .par_chunks_mut(BLOCK)
        .enumerate()
        .for_each(|(block, hashes)| {
            for (i, hash) in (block * BLOCK..).zip(hashes) {
                *hash = hash_of(rows.design.row(i), rows.targets[i]);
            }
        });
    hashes
}

fn hash_of(row: Row<'_>, target: f64) -> u64 {
    /// Arbitrary odd numbers with many bits set.
    const SALT: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93];
    // Adding 0 maps −0 to 0, so that both have the same hash.
    let bits = |value: f64| (value + 0.0).to_bits();
    let mut hash = fold(bits(target) ^ SALT[0], SALT[1]);
    row.for_each(|j, value| hash = fold(hash ^ bits(value), (j as u64 + 1).wrapping_mul(SALT[0]) ^ SALT[1]));
    hash
}

/// The exclusive or of both halves of the 128-bit product.
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ (product >> 64) as u64
}

/// For each row, the first row with the same hash; `None` if there are too few duplicates.
fn first_duplicates(hashes: &[u64]) -> Option<Vec<u32>> {
    let bucket_of = |hash: u64| (hash >> 56) as usize;
    let mut starts = [0usize; BUCKETS + 1];
    hashes.iter().for_each(|&hash| starts[bucket_of(hash) + 1] += 1);
    for bucket in 0..BUCKETS {
        starts[bucket + 1] += starts[bucket];
    }
    // Duplicates share a bucket, so the ratio within one bucket estimates the ratio overall.
    let sampled: FxHashMap<u64, ()> = (hashes
        .iter()
        .filter(|hash| bucket_of(**hash) == 0)
        .map(|&hash| (hash, ())))
    .collect();
    if MIN_RATIO * sampled.len() > starts[1] {
        return None;
    }
    let mut order = vec![0u32; hashes.len()];
    let mut next = starts;
    for (i, &hash) in hashes.iter().enumerate() {
        let index = &mut next[bucket_of(hash)];
        order[*index] = i as u32;
        *index += 1;
    }
    let mut buckets = Vec::with_capacity(BUCKETS);
    let mut rest = order.as_mut_slice();
    for bucket in 0..BUCKETS {
        let (bucket_rows, others) = rest.split_at_mut(starts[bucket + 1] - starts[bucket]);
        buckets.push(bucket_rows);
        rest = others;
    }
    let pairs: Vec<Vec<(u32, u32)>> = buckets
        .into_par_iter()
        .map(|rows| {
            let mut first: FxHashMap<u64, u32> = FxHashMap::default();
            rows.iter()
                .map(|&i| (i, *first.entry(hashes[i as usize]).or_insert(i)))
                .collect()
        })
        .collect();
    let mut first_duplicates = order;
    for (i, first) in pairs.into_iter().flatten() {
        first_duplicates[i as usize] = first;
    }
    Some(first_duplicates)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wstar_data::{Csr, Dense};

    /// Rows of `kinds` distinct values, dense or sparse, with targets and the given weights.
    fn set(kinds: usize, weights: Weights<'static>, sparse: bool) -> (Design, Vec<f64>, Weights<'static>) {
        let n = MIN_ROWS + 1234;
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
    fn duplicate_rows_are_merged() {
        let n = MIN_ROWS + 1234;
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
            let merged = AggregatedRows::of(&rows).unwrap();
            let few = merged.rows();
            assert_eq!(few.len(), 1000);
            let counted = (0..n).filter(|&i| rows.weights.get(i) > 0.0).count();
            assert_eq!(
                merged.counts.iter().map(|&count| count as usize).sum::<usize>(),
                counted
            );
            assert!((few.total_weight() - rows.total_weight()).abs() < 1e-9 * rows.total_weight());
            for (i, &index) in merged.distinct_index.iter().enumerate() {
                let index = index as usize;
                assert_eq!(few.targets[index], rows.targets[i]);
                assert_eq!(few.design.row(index).to_dense(3), design.row(i).to_dense(3));
            }
            // A multiplier at its bound is at its bound in every duplicate, and Xᵀα is unchanged.
            let multipliers: Vec<f64> = (0..few.len())
                .map(|k| few.weights.get(k) * if k % 2 == 0 { 1.0 } else { 0.25 })
                .collect();
            let all = merged.expand(&multipliers, &rows);
            let (mut product, mut known) = (vec![0.0; 3], vec![0.0; 3]);
            for (i, &alpha) in all.iter().enumerate() {
                let share = if merged.distinct_index[i].is_multiple_of(2) {
                    1.0
                } else {
                    0.25
                };
                assert!((alpha - share * rows.weights.get(i)).abs() <= 1e-15 * rows.weights.get(i));
                design.row(i).add_to(alpha, &mut product);
            }
            for (k, &alpha) in multipliers.iter().enumerate() {
                few.design.row(k).add_to(alpha, &mut known);
            }
            for (product, known) in product.iter().zip(&known) {
                assert!((product - known).abs() <= 1e-9 * known.abs().max(1.0));
            }
        }
    }

    #[test]
    fn distinct_rows_are_not_aggregated() {
        let (design, targets, weights) = set(MIN_ROWS, Weights::Same(1.0), true);
        let rows = Rows {
            design: &design,
            targets: targets.into(),
            weights,
        };
        assert!(AggregatedRows::of(&rows).is_none());
    }
}
