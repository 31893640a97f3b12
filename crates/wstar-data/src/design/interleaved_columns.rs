//! Selected columns of a sparse design in the SELL format ([`Interleaved`]), which minimises the bytes that products read.

use rayon::prelude::*;

use crate::{Csr, Design};
use wstar_numeric::interleaved_rows::{Interleaved, MOST_COLUMNS, MOST_ROWS};

/// The minimum number of blocks of rows that one task fills.
/// Heuristic: fewer tasks allocate fewer buffers and balance the threads less well; not measured yet.
const LEAST_BLOCKS: usize = 8;
/// The new index of a column that is not selected.
const ABSENT: u16 = u16::MAX;

impl Design {
    /// The design restricted to the given columns, which must be in increasing order; `columns[k]` becomes column `k`. The
    /// rows are in blocks of [`MOST_ROWS`]; the last block may be shorter. Values are rounded to single precision unless
    /// `exact`. `None` if the design is dense, if there are too many columns, or if a value is too large or too small for
    /// single precision.
    pub fn interleaved(&self, columns: &[usize], exact: bool) -> Option<Vec<Interleaved>> {
        if columns.len() >= MOST_COLUMNS {
            return None;
        }
        let mut new_indices = vec![ABSENT; self.features()];
        for (index, &j) in columns.iter().enumerate() {
            if let Some(to) = new_indices.get_mut(j) {
                *to = index as u16;
            }
        }
        match self {
            Design::Sparse32(matrix) => interleave(matrix, &new_indices, columns.len(), exact),
            Design::Sparse64(matrix) => interleave(matrix, &new_indices, columns.len(), exact),
            _ => None,
        }
    }
}

fn interleave<T>(matrix: &Csr<T>, new_indices: &[u16], width: usize, exact: bool) -> Option<Vec<Interleaved>>
where
    T: Copy + Default + Into<f64> + Send + Sync,
{
    let starts = matrix.starts();
    let buffers = || (vec![0; MOST_ROWS + 1], Vec::<u16>::new(), Vec::<T>::new());
    (0..matrix.rows().div_ceil(MOST_ROWS))
        .into_par_iter()
        .with_min_len(LEAST_BLOCKS)
        .map_init(buffers, |(ends, columns, values), block| {
            let rows = block * MOST_ROWS..((block + 1) * MOST_ROWS).min(matrix.rows());
            // One additional entry, because entries that are not selected are written too.
            let most = starts[rows.end] - starts[rows.start] + 1;
            if columns.len() < most {
                columns.resize(most, 0);
                values.resize(most, T::default());
            }
            let mut next = 0;
            for (i, end) in rows.clone().zip(&mut ends[1..]) {
                let (indices, row) = matrix.row(i);
                for (&j, &value) in indices.iter().zip(row) {
                    // Every entry is written: a branch on whether a column is selected would be unpredictable.
                    let index = new_indices[j as usize];
                    (columns[next], values[next]) = (index, value);
                    next += usize::from(index != ABSENT);
                }
                *end = next;
            }
            Interleaved::new(&ends[..=rows.len()], columns, values, width, exact)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selected_columns_keep_their_values() {
        let (rows, features) = (1000, 7);
        let entry = |i: usize, j: usize| {
            let mixed = ((i * features + j) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
            if mixed.is_multiple_of(3) {
                0.1 * (mixed % 100) as f64 + 0.1
            } else {
                0.0
            }
        };
        let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for i in 0..rows {
            for j in (0..features).filter(|&j| entry(i, j) != 0.0) {
                indices.push(j as u32);
                values.push(entry(i, j));
            }
            starts.push(indices.len());
        }
        let design = Design::Sparse64(Csr::new(starts, indices, values, features).unwrap());
        let chosen = [1, 2, 5, 8];
        let blocks = design.interleaved(&chosen, true).unwrap();
        assert_eq!(blocks.iter().map(Interleaved::rows).sum::<usize>(), rows);
        let w = [1.0, -2.0, 0.5, 9.0];
        for (block, first) in blocks.iter().zip((0..).step_by(MOST_ROWS)) {
            let mut scores = vec![0.0; block.rows()];
            block.scores(&w, &mut scores);
            for (i, score) in (first..).zip(scores) {
                let expected = entry(i, 1) - 2.0 * entry(i, 2) + 0.5 * entry(i, 5);
                assert!(
                    (score - expected).abs() < 1e-12,
                    "row {i}: {score}, not {expected}"
                );
            }
        }
        let dense = Design::from_rows(&[vec![1.0]]).unwrap();
        assert!(dense.interleaved(&[0], true).is_none());
    }
}
