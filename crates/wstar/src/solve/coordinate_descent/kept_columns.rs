//! Columns of a dense matrix that lies row by row, copied together once they are wanted: a working set has few of many,
//! and a copy of all would double the memory.

use std::sync::OnceLock;

use rayon::prelude::*;

use crate::data::Dense;

/// Rows that are gone through at a time, and columns that one task copies: the pages of all those places are known to the
/// processor at once.
const ROWS: usize = 32;
const COLUMNS: usize = 64;

/// The columns that were wanted so far.
#[derive(Debug)]
pub(super) struct KeptColumns<T> {
    matrix: Dense<T>,
    columns: Vec<OnceLock<Vec<T>>>,
}

impl<T: Copy + Default + Send + Sync> KeptColumns<T> {
    /// None yet.
    pub(super) fn new(matrix: &Dense<T>) -> Self {
        KeptColumns {
            columns: (0..matrix.features()).map(|_| OnceLock::new()).collect(),
            matrix: matrix.clone(),
        }
    }

    /// Column `j`, from now on kept.
    pub(super) fn column(&self, j: usize) -> Option<&[T]> {
        let one = || (0..self.matrix.rows()).map(|i| self.matrix.row(i)[j]).collect();
        Some(self.columns.get(j)?.get_or_init(one))
    }

    /// Those of some columns that are not kept.
    pub(super) fn missing(&self, chosen: &[usize]) -> Vec<usize> {
        let is_missing = |j: &usize| self.columns.get(*j).is_some_and(|column| column.get().is_none());
        chosen.iter().copied().filter(is_missing).collect()
    }

    /// Keeps these as well.
    pub(super) fn keep(&self, chosen: &[usize]) {
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
                // Whoever came first has the same.
                let _ = self.columns[j].set(copy);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_of_the_matrix_however_they_were_asked_for() {
        let (rows, features) = (101, 150);
        let values: Vec<f32> = (0..rows * features).map(|at| at as f32).collect();
        let kept = KeptColumns::new(&Dense::new(values, rows, features).unwrap());
        let expected = |j: usize| -> Vec<f32> { (0..rows).map(|i| (i * features + j) as f32).collect() };
        assert_eq!(kept.column(7).unwrap(), expected(7));
        let chosen: Vec<usize> = (0..features).rev().filter(|j| j % 2 == 1).collect();
        assert_eq!(kept.missing(&chosen).len(), chosen.len() - 1);
        kept.keep(&chosen);
        assert!(kept.missing(&chosen).is_empty());
        assert_eq!(kept.missing(&[8, features]), [8]);
        assert!((0..features).all(|j| kept.column(j).unwrap() == expected(j)));
        assert!(kept.column(features).is_none());
    }
}
