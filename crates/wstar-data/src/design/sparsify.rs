//! Conversion of dense rows that are mostly zeros to CSR: images, counts, one-hot columns.

use std::ops::Range;

use rayon::prelude::*;

use crate::{Csr, Dense, Design};

/// The maximum density at which a whole design is converted.
/// Heuristic: a sparse entry takes the time of four to eight dense ones, and 1.5 times the memory; not measured yet.
const MOST: f64 = 0.125;
/// The maximum density at which a sample of rows is converted. Many products are made with these rows, so memory traffic
/// weighs more. Heuristic: it trades arithmetic for memory traffic; not measured yet.
const MOST_OF_FEW: f64 = 0.25;
/// The number of rows that one task counts or fills.
/// Heuristic: small tasks balance the threads, large tasks have less overhead; not measured yet.
pub(super) const BLOCK: usize = 1024;

impl Design {
    /// The design in CSR format, if it is dense and mostly zeros.
    #[inline]
    pub fn compressed(&self) -> Option<Design> {
        let rows = (self.rows(), |i| i);
        match self {
            Design::Dense32(matrix) => compress(matrix, rows, MOST).map(Design::Sparse32),
            Design::Dense64(matrix) => compress(matrix, rows, MOST).map(Design::Sparse64),
            _ => None,
        }
    }

    /// The rows with the given indices, in CSR format if they are mostly zeros.
    #[inline]
    pub fn select_compressed(&self, rows: &[usize]) -> Design {
        let few = (rows.len(), |i: usize| rows[i]);
        let compressed = match self {
            Design::Dense32(matrix) => compress(matrix, few, MOST_OF_FEW).map(Design::Sparse32),
            Design::Dense64(matrix) => compress(matrix, few, MOST_OF_FEW).map(Design::Sparse64),
            _ => None,
        };
        compressed.unwrap_or_else(|| self.select(rows))
    }
}

/// The CSR matrix of `rows` rows, row `i` of which is row `source(i)` of `matrix`; `None` if the density exceeds `most`.
fn compress<T: Copy + Default + PartialEq + Send + Sync + 'static>(
    matrix: &Dense<T>,
    (rows, source): (usize, impl Fn(usize) -> usize + Sync),
    most: f64,
) -> Option<Csr<T>> {
    let features = matrix.features();
    u32::try_from(features).ok()?;
    let zero = T::default();
    let counts: Vec<usize> = (0..rows)
        .into_par_iter()
        .with_min_len(BLOCK)
        .map(|i| {
            matrix
                .row(source(i))
                .iter()
                .filter(|&&value| value != zero)
                .count()
        })
        .collect();
    if counts.iter().sum::<usize>() as f64 > most * (rows * features) as f64 {
        return None;
    }
    counted(&counts, features, |rows, indices, values| {
        let entries = rows.flat_map(|i| {
            (0u32..)
                .zip(matrix.row(source(i)))
                .filter(|(_, value)| **value != zero)
        });
        for ((index, value), (j, &entry)) in indices.iter_mut().zip(values).zip(entries) {
            (*index, *value) = (j, entry);
        }
    })
}

/// A CSR matrix whose row `i` has `counts[i]` entries. `fill` writes the column indices and values of a block of rows.
pub(super) fn counted<T: Copy + Default + Send + Sync + 'static>(
    counts: &[usize],
    features: usize,
    fill: impl Fn(Range<usize>, &mut [u32], &mut [T]) + Sync,
) -> Option<Csr<T>> {
    let rows = counts.len();
    let mut starts = Vec::with_capacity(rows + 1);
    starts.push(0);
    for count in counts {
        starts.push(starts[starts.len() - 1] + count);
    }
    let (mut indices, mut values) = (vec![0; starts[rows]], vec![T::default(); starts[rows]]);
    let (mut left_indices, mut left_values) = (indices.as_mut_slice(), values.as_mut_slice());
    let mut blocks = Vec::new();
    for first in (0..rows).step_by(BLOCK) {
        let end = (first + BLOCK).min(rows);
        let (own_indices, rest) = std::mem::take(&mut left_indices).split_at_mut(starts[end] - starts[first]);
        left_indices = rest;
        let (own_values, rest) = std::mem::take(&mut left_values).split_at_mut(own_indices.len());
        left_values = rest;
        blocks.push((first..end, own_indices, own_values));
    }
    blocks
        .into_par_iter()
        .for_each(|(rows, indices, values)| fill(rows, indices, values));
    Csr::new(starts, indices, values, features).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn conversion_keeps_the_values(rows in 0..2500usize, features in 0..7usize, seed in any::<u64>(), one_in in 1..9u64) {
            let number = |k: u64| {
                let mixed = (k ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
                if mixed.is_multiple_of(one_in) { 0.1 * (mixed % 100) as f64 + 0.1 } else { 0.0 }
            };
            let values: Vec<f64> = (0..(rows * features) as u64).map(number).collect();
            let stored = values.iter().filter(|value| **value != 0.0).count();
            let dense = Design::Dense64(Dense::new(values.clone(), rows, features).unwrap());
            let compressed = dense.compressed();
            prop_assert_eq!(compressed.is_some(), stored as f64 <= MOST * values.len() as f64);
            if let Some(sparse) = compressed {
                prop_assert_eq!((sparse.rows(), sparse.features(), sparse.stored()), (rows, features, stored));
                for i in 0..rows {
                    prop_assert_eq!(sparse.row(i).to_dense(features), dense.row(i).to_dense(features));
                }
            }
            let few: Vec<usize> = (0..rows).rev().step_by(7).collect();
            let taken = dense.select_compressed(&few);
            prop_assert_eq!((taken.rows(), taken.features()), (few.len(), features));
            for (at, &i) in few.iter().enumerate() {
                prop_assert_eq!(taken.row(at).to_dense(features), dense.row(i).to_dense(features));
            }
        }
    }
}
