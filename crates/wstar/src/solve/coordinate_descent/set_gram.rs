//! The Gram matrix of a working set. That of least squares is the same for every penalty, so it grows with the set,
//! and with it the factor of the last face.

use crate::solve::coordinate_descent::columns::Columns;
use crate::solve::orthant::{Factor, Growing};

/// Columns and their products.
#[derive(Debug, Default)]
pub(super) struct SetGram {
    /// The columns, in the order in which they came.
    pub(super) set: Vec<usize>,
    pub(super) matrix: Growing,
    /// Of a face of these columns.
    pub(super) factor: Factor,
}

impl SetGram {
    /// Takes in those of these columns that it does not have, and forgets others if they would make it larger than
    /// `most`. Rows count `h` times, or once.
    pub(super) fn include(&mut self, columns: &Columns, chosen: &[usize], h: Option<&[f64]>, most: usize) {
        let last = self.set.iter().chain(chosen).max().map_or(0, |&j| j + 1);
        let mut missing = vec![false; last];
        chosen.iter().for_each(|&j| missing[j] = true);
        let wanted: Vec<bool> = self.set.iter().map(|&j| missing[j]).collect();
        self.set.iter().for_each(|&j| missing[j] = false);
        let new: Vec<usize> = chosen.iter().copied().filter(|&j| missing[j]).collect();
        if self.set.len() + new.len() > most.max(chosen.len()) {
            self.retain(&wanted);
        }
        let before = self.set.len();
        self.set.extend(new);
        self.matrix.resize(self.set.len());
        columns.add_products(&self.set, before, h, &mut self.matrix);
    }

    /// Forgets the others.
    fn retain(&mut self, wanted: &[bool]) {
        let kept: Vec<usize> = (0..wanted.len()).filter(|&at| wanted[at]).collect();
        self.matrix.retain(&kept);
        self.set = kept.iter().map(|&at| self.set[at]).collect();
        self.factor.clear();
    }
}
