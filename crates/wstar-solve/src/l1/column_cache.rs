//! A cache of the columns of a dense matrix stored row by row.
//!
//! A column is copied when it is first used. A working set has few of many columns, and a copy of all of them
//! would double the memory.

use std::sync::OnceLock;

use rayon::prelude::*;

use wstar_data::Dense;

/// Rows copied at a time by one task. Heuristic: the pages of these rows and of [`COLUMNS`] copies fit in the
/// processor's TLB; not measured yet.
const ROWS: usize = 32;
/// Columns that one task copies. Heuristic: as [`ROWS`]; not measured yet.
const COLUMNS: usize = 64;

/// The columns copied so far.
#[derive(Debug)]
pub(super) struct ColumnCache<T> {
    matrix: Dense<T>,
    columns: Vec<OnceLock<Vec<T>>>,
}

impl<T: Copy + Default + Send + Sync> ColumnCache<T> {
    /// An empty cache.
    pub(super) fn new(matrix: &Dense<T>) -> Self {
        ColumnCache {
            columns: (0..matrix.features()).map(|_| OnceLock::new()).collect(),
            matrix: matrix.clone(),
        }
    }

    /// Column `j`, which is cached if it was not yet; `None` beyond the last column.
    pub(super) fn column(&self, j: usize) -> Option<&[T]> {
        let one = || (0..self.matrix.rows()).map(|i| self.matrix.row(i)[j]).collect();
        Some(self.columns.get(j)?.get_or_init(one))
    }

    /// Which of the chosen columns are not in the cache.
    pub(super) fn missing(&self, chosen: &[usize]) -> Vec<usize> {
        let is_missing = |j: &usize| self.columns.get(*j).is_some_and(|column| column.get().is_none());
        chosen.iter().copied().filter(is_missing).collect()
    }

    /// Adds the chosen columns to the cache.
    pub(super) fn load(&self, chosen: &[usize]) {
        let mut missing = self.missing(chosen);
        missing.sort_unstable();
        missing.par_chunks(COLUMNS).for_each(|chosen| {
            let rows = self.matrix.rows();
            let mut copies = vec![vec![T::default(); rows]; chosen.len()];
            for first in (0..rows).step_by(ROWS) {
                let end = (first + ROWS).min(rows);
                for (&j, copy) in chosen.iter().zip(&mut copies) {
                    for (i, to) in (first..end).zip(&mut copy[first..end]) {
                        *to = self.matrix.row(i)[j];
                    }
                }
            }
            for (&j, copy) in chosen.iter().zip(copies) {
                // If another thread was first, its copy is the same.
                let _ = self.columns[j].set(copy);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_columns_equal_those_of_the_matrix() {
        let (rows, features) = (101, 150);
        let values: Vec<f32> = (0..rows * features).map(|at| at as f32).collect();
        let cache = ColumnCache::new(&Dense::new(values, rows, features).unwrap());
        let expected = |j: usize| -> Vec<f32> { (0..rows).map(|i| (i * features + j) as f32).collect() };
        assert_eq!(cache.column(7).unwrap(), expected(7));
        let chosen: Vec<usize> = (0..features).rev().filter(|j| j % 2 == 1).collect();
        assert_eq!(cache.missing(&chosen).len(), chosen.len() - 1);
        cache.load(&chosen);
        assert!(cache.missing(&chosen).is_empty());
        assert_eq!(cache.missing(&[8, features]), [8]);
        assert!((0..features).all(|j| cache.column(j).unwrap() == expected(j)));
        assert!(cache.column(features).is_none());
    }
}
