//! What fits to the same rows share, whatever their penalty: the columns, their lengths, and products of least squares.

use std::sync::{Arc, Mutex, OnceLock};

use crate::error::Result;
use crate::oracle::{Layout, Rows};
use crate::solve::coordinate_descent::columns::Columns;
use crate::solve::coordinate_descent::pulls::Pulls;
use crate::solve::coordinate_descent::set_gram::SetGram;

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
    /// Where the last fit of least squares ended.
    end: Mutex<Option<End>>,
}

/// A point of least squares, of rows that all count the same, and what is known there.
#[derive(Debug)]
pub(super) struct End {
    pub(super) weight: f64,
    pub(super) at: Vec<f64>,
    /// The weight and the end of the fit before.
    pub(super) before: Option<(f64, Vec<f64>)>,
    pub(super) scores: Vec<f64>,
    pub(super) pulls: Pulls,
}

impl End {
    /// Where the optimum of rows that count `weight` times is to be expected: along the penalties it moves on straight
    /// lines for as long as no weight comes or goes (Osborne, Presnell and Turlach 2000).
    pub(super) fn expected(&self, weight: f64) -> Option<Vec<f64>> {
        let (before, from) = self.before.as_ref()?;
        let step = (weight.recip() - self.weight.recip()) / (self.weight.recip() - before.recip());
        let pairs = self.at.iter().zip(from);
        let expected = pairs.map(|(&at, &from)| {
            let to = at + step * (at - from);
            // Those that came or went are not on a line, and those that would cross 0 end there.
            if at * from <= 0.0 || !to.is_finite() {
                at
            } else if to * at <= 0.0 {
                0.0
            } else {
                to
            }
        });
        Some(expected.collect())
    }
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

    /// ‖xⱼ‖² of every column.
    pub(super) fn squares(&self, columns: &Columns) -> &[f64] {
        self.0.squares.get_or_init(|| columns.squares(None))
    }

    /// Takes the last Gram matrix of rows that count once; it may be of no column.
    pub(super) fn take_gram(&self) -> SetGram {
        let kept = self.0.gram.lock();
        kept.map(|mut kept| std::mem::take(&mut *kept))
            .unwrap_or_default()
    }

    /// Keeps one for the next fit.
    pub(super) fn keep_gram(&self, gram: SetGram) {
        if let Ok(mut kept) = self.0.gram.lock() {
            *kept = gram;
        }
    }

    /// Takes the end of the last fit, if this one starts there.
    pub(super) fn take_end(&self, start: &[f64]) -> Option<End> {
        let mut kept = self.0.end.lock().ok()?;
        kept.take().filter(|end| end.at == start)
    }

    /// Keeps where a fit ended.
    pub(super) fn keep_end(&self, end: End) {
        if let Ok(mut kept) = self.0.end.lock() {
            *kept = Some(end);
        }
    }
}
