//! Selected columns of a sparse design, copied into a smaller design, so that products with them read nothing else.

use rayon::prelude::*;

use crate::design::sparsify::{BLOCK, counted};
use crate::{Csr, Design};

/// The new index of a column that is not selected.
const ABSENT: u32 = u32::MAX;

impl Design {
    /// The design restricted to the given columns, which must be in increasing order; `columns[k]` becomes column `k`.
    /// Columns beyond the last one of the design have no entries. `None` if the design is dense.
    pub fn narrowed(&self, columns: &[usize]) -> Option<Design> {
        let mut new_indices = vec![ABSENT; self.features()];
        for (index, &j) in columns.iter().enumerate() {
            if let Some(to) = new_indices.get_mut(j) {
                *to = u32::try_from(index).ok()?;
            }
        }
        match self {
            Design::Sparse32(matrix) => narrow(matrix, &new_indices, columns.len()).map(Design::Sparse32),
            Design::Sparse64(matrix) => narrow(matrix, &new_indices, columns.len()).map(Design::Sparse64),
            _ => None,
        }
    }
}

fn narrow<T: Copy + Default + Send + Sync + 'static>(
    matrix: &Csr<T>,
    new_indices: &[u32],
    features: usize,
) -> Option<Csr<T>> {
    let counts: Vec<usize> = (0..matrix.rows())
        .into_par_iter()
        .with_min_len(BLOCK)
        .map(|i| {
            // A sum instead of a filter: a branch on whether a column is selected would be unpredictable.
            let kept = |&j: &u32| usize::from(new_indices[j as usize] != ABSENT);
            matrix.row(i).0.iter().map(kept).sum()
        })
        .collect();
    counted(&counts, features, |rows, indices, values| {
        let mut next = 0;
        for i in rows {
            let (columns, row) = matrix.row(i);
            for (&j, &value) in columns.iter().zip(row) {
                if next == indices.len() {
                    break;
                }
                // Every entry is written, without a branch; the next one overwrites an entry that is not selected.
                let index = new_indices[j as usize];
                (indices[next], values[next]) = (index, value);
                next += usize::from(index != ABSENT);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dense;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn selected_columns_keep_their_values(
            rows in 1..2500usize,
            chosen in prop::collection::btree_set(0..9usize, 0..9),
            seed in any::<u64>(),
        ) {
            let features = 7;
            let entry = |i: usize, j: usize| {
                let mixed = ((i * features + j) as u64 ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
                if mixed.is_multiple_of(3) { 0.1 * (mixed % 100) as f64 + 0.1 } else { 0.0 }
            };
            let values: Vec<f64> = (0..rows * features).map(|k| entry(k / features, k % features)).collect();
            let (mut starts, mut indices, mut stored) = (vec![0], Vec::new(), Vec::new());
            for row in values.chunks(features) {
                for (j, &value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                    indices.push(j as u32);
                    stored.push(value);
                }
                starts.push(indices.len());
            }
            let sparse = Design::Sparse64(Csr::new(starts, indices, stored, features).unwrap());
            let chosen: Vec<usize> = chosen.into_iter().collect();
            let narrow = sparse.narrowed(&chosen).unwrap();
            prop_assert_eq!((narrow.rows(), narrow.features()), (rows, chosen.len()));
            for i in 0..rows {
                let of = |&j: &usize| if j < features { entry(i, j) } else { 0.0 };
                let expected: Vec<f64> = chosen.iter().map(of).collect();
                prop_assert_eq!(narrow.row(i).to_dense(chosen.len()), expected);
            }
            let dense = Design::Dense64(Dense::new(values, rows, features).unwrap());
            prop_assert!(dense.narrowed(&chosen).is_none());
        }
    }
}
