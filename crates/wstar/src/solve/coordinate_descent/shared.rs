//! What fits to the same rows share, whatever their penalty: the columns, their lengths, and products of least squares.

use std::sync::{Arc, Mutex, OnceLock};

use rayon::prelude::*;

use crate::error::Result;
use crate::oracle::{Layout, Rows, Weights};
use crate::solve::coordinate_descent::columns::Columns;

/// A set of columns and their Gram matrix.
pub(super) type SetGram = (Vec<usize>, Vec<f64>);

/// The columns of one design, made once for all fits that are given the same.
#[derive(Debug, Clone, Default)]
pub struct SharedColumns(Arc<Made>);

#[derive(Debug, Default)]
struct Made {
    columns: OnceLock<Columns>,
    /// ‖xⱼ‖².
    squares: OnceLock<Vec<f64>>,
    /// Of rows that count once.
    gram: Mutex<SetGram>,
}

impl SharedColumns {
    /// The columns of these rows, which must be those of the first call.
    pub(super) fn columns(&self, rows: &Rows<'_>, layout: Layout) -> Result<&Columns> {
        if let Some(columns) = self.0.columns.get() {
            return Ok(columns);
        }
        let made = Columns::new(rows.design, layout)?;
        Ok(self.0.columns.get_or_init(|| made))
    }

    /// Σᵢ cᵢ xᵢⱼ² of every column.
    pub(super) fn squares(&self, columns: &Columns, rows: &Rows<'_>, layout: Layout) -> Vec<f64> {
        let all = |weights: &[f64]| -> Vec<f64> {
            let columns = (0..layout.len())
                .into_par_iter()
                .map(|j| columns.square(j, weights));
            columns.collect()
        };
        match &rows.weights {
            Weights::Each(weights) => all(weights),
            Weights::Same(weight) => {
                let squares = self.0.squares.get_or_init(|| all(&vec![1.0; rows.len()]));
                squares.iter().map(|square| weight * square).collect()
            }
        }
    }

    /// Takes the last Gram matrix of least squares, for these weights; it may be of no column.
    pub(super) fn take_gram(&self, weights: &Weights<'_>) -> SetGram {
        match (weights, self.0.gram.lock()) {
            (Weights::Same(weight), Ok(mut kept)) => {
                let (set, mut gram) = std::mem::take(&mut *kept);
                gram.iter_mut().for_each(|product| *product *= weight);
                (set, gram)
            }
            _ => SetGram::default(),
        }
    }

    /// Keeps one for the next fit.
    pub(super) fn keep_gram(&self, weights: &Weights<'_>, (set, mut gram): SetGram) {
        if let (&Weights::Same(weight), Ok(mut kept)) = (weights, self.0.gram.lock())
            && weight > 0.0
        {
            gram.iter_mut().for_each(|product| *product /= weight);
            *kept = (set, gram);
        }
    }
}
