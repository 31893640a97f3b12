//! A few columns of a sparse design, copied so that they lie together: products with them then touch nothing else.

use rayon::prelude::*;

use crate::data::compress::{BLOCK, counted};
use crate::data::{Csr, Design};

/// The place of a column that is left out.
const ABSENT: u32 = u32::MAX;

impl Design {
    /// The same rows with these columns alone, which are given in increasing order and numbered anew; columns beyond the
    /// last have no entries. None if the design is dense.
    pub(crate) fn narrowed(&self, columns: &[usize]) -> Option<Design> {
        let mut places = vec![ABSENT; self.features()];
        for (place, &j) in columns.iter().enumerate() {
            if let Some(to) = places.get_mut(j) {
                *to = u32::try_from(place).ok()?;
            }
        }
        match self {
            Design::Sparse32(matrix) => narrow(matrix, &places, columns.len()).map(Design::Sparse32),
            Design::Sparse64(matrix) => narrow(matrix, &places, columns.len()).map(Design::Sparse64),
            _ => None,
        }
    }
}

fn narrow<T: Copy + Default + Send + Sync + 'static>(
    matrix: &Csr<T>,
    places: &[u32],
    features: usize,
) -> Option<Csr<T>> {
    let counts: Vec<usize> = (0..matrix.rows())
        .into_par_iter()
        .with_min_len(BLOCK)
        .map(|i| {
            // A sum and not a filter: which columns are kept is nothing that a processor could guess.
            let kept = |&j: &u32| usize::from(places[j as usize] != ABSENT);
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
                // Written whether it is kept or not: what is not kept is written over.
                let place = places[j as usize];
                (indices[next], values[next]) = (place, value);
                next += usize::from(place != ABSENT);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dense;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn chosen_columns_stay_what_they_are(
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
