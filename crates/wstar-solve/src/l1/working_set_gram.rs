//! The Gram matrix of a working set. For least squares it is the same for every penalty, so it grows with the
//! set, and the factor of the last face is kept with it.

use crate::l1::columns::Columns;
use crate::l1::orthant_newton::FaceCholesky;
use wstar_numeric::linalg::growing_matrix::GrowingMatrix;

/// A set of columns and their Gram matrix.
#[derive(Debug, Default)]
pub(super) struct SetGram {
    /// The columns, in the order in which they were added.
    pub(super) set: Vec<usize>,
    pub(super) matrix: GrowingMatrix,
    /// The Cholesky factor of a face of these columns.
    pub(super) factor: FaceCholesky,
}

impl SetGram {
    /// Adds those of the chosen columns that are missing. Drops columns that were not chosen if the matrix
    /// would otherwise exceed `most`. Row i has the weight hᵢ, or 1 without `h`.
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

    /// Drops all columns that are not wanted.
    fn retain(&mut self, wanted: &[bool]) {
        let kept: Vec<usize> = (0..wanted.len()).filter(|&at| wanted[at]).collect();
        self.matrix.retain(&kept);
        self.set = kept.iter().map(|&at| self.set[at]).collect();
        self.factor.clear();
    }
}
