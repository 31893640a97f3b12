//! The columns, their norms and, for least squares, the products of columns, shared by all fits to the
//! same rows whatever their penalty.

use std::sync::{Arc, Mutex, OnceLock};

use crate::l1::columns::Columns;
use crate::l1::correlations::Correlations;
use crate::l1::working_set_gram::SetGram;
use wstar_data::error::Result;
use wstar_data::linear::Layout;
use wstar_problem::objective::Rows;

/// The columns of one design, computed once for all fits to it.
#[derive(Debug, Clone, Default)]
pub struct SharedColumns(Arc<Cache>);

#[derive(Debug, Default)]
struct Cache {
    columns: OnceLock<Columns>,
    /// ‖xⱼ‖².
    squares: OnceLock<Vec<f64>>,
    /// The Gram matrix with unit weights.
    gram: Mutex<SetGram>,
    /// The end point of the last least-squares fit.
    end: Mutex<Option<LeastSquaresPoint>>,
}

/// A point of a least-squares fit with equal weights, and what is known there.
#[derive(Debug)]
pub(super) struct LeastSquaresPoint {
    pub(super) weight: f64,
    pub(super) at: Vec<f64>,
    /// The weight and the end point of the fit before.
    pub(super) previous: Option<(f64, Vec<f64>)>,
    pub(super) scores: Vec<f64>,
    pub(super) correlations: Correlations,
}

impl LeastSquaresPoint {
    /// Extrapolates the optimum for another weight. As a function of 1/weight, the lasso path is piecewise
    /// linear, with kinks only where a weight enters or leaves the support (M. R. Osborne, B. Presnell and
    /// B. A. Turlach, A new approach to variable selection in least squares problems, IMA J. Numerical Analysis
    /// 20, 2000).
    pub(super) fn extrapolated(&self, weight: f64) -> Option<Vec<f64>> {
        let (previous, from) = self.previous.as_ref()?;
        let step = (weight.recip() - self.weight.recip()) / (self.weight.recip() - previous.recip());
        let pairs = self.at.iter().zip(from);
        let extrapolated = pairs.map(|(&at, &from)| {
            let to = at + step * (at - from);
            // A weight that entered or left the support keeps its value, and one that would cross 0 stops
            // there.
            if at * from <= 0.0 || !to.is_finite() {
                at
            } else if to * at <= 0.0 {
                0.0
            } else {
                to
            }
        });
        Some(extrapolated.collect())
    }
}

impl SharedColumns {
    /// The columns of these rows, which must be those of the first call.
    pub(super) fn columns(&self, rows: &Rows<'_>, layout: Layout) -> Result<&Columns> {
        if let Some(columns) = self.0.columns.get() {
            return Ok(columns);
        }
        let columns = Columns::new(rows.design, layout)?;
        Ok(self.0.columns.get_or_init(|| columns))
    }

    /// ‖xⱼ‖² of every column.
    pub(super) fn squares(&self, columns: &Columns) -> &[f64] {
        self.0.squares.get_or_init(|| columns.squares(None))
    }

    /// Takes the last Gram matrix with unit weights, which may be empty.
    pub(super) fn take_gram(&self) -> SetGram {
        let stored = self.0.gram.lock();
        stored
            .map(|mut stored| std::mem::take(&mut *stored))
            .unwrap_or_default()
    }

    /// Stores a Gram matrix for the next fit.
    pub(super) fn store_gram(&self, gram: SetGram) {
        if let Ok(mut stored) = self.0.gram.lock() {
            *stored = gram;
        }
    }

    /// Takes the end point of the last fit, if this fit starts there.
    pub(super) fn take_end(&self, start: &[f64]) -> Option<LeastSquaresPoint> {
        let mut stored = self.0.end.lock().ok()?;
        stored.take().filter(|end| end.at == start)
    }

    /// Stores the end point of a fit.
    pub(super) fn store_end(&self, end: LeastSquaresPoint) {
        if let Ok(mut stored) = self.0.end.lock() {
            *stored = Some(end);
        }
    }
}
