//! The Hessian of a working set applied by its columns, for sets whose Gram matrix would take too much
//! memory.

use rayon::prelude::*;

use crate::l1::columns::Columns;
use crate::l1::orthant_newton::{CoordinateQuadratic, Effort, Quadratic, add_product, conjugate_gradients};
use wstar_data::error::Result;
use wstar_numeric::dense::axpy;

/// The largest relative residual of a face's linear system. Heuristic: fewer products against fewer faces;
/// not measured yet.
const LOOSEST_FACE: f64 = 0.1;

/// A quadratic with Hessian X_Sᵀ·diag(h)·X_S for the columns X_S of a working set.
pub(super) struct ColumnModel<'a> {
    pub(super) columns: &'a Columns,
    pub(super) set: &'a [usize],
    /// hᵢ, the curvature of every row.
    pub(super) rows: &'a [f64],
    pub(super) diagonal: &'a [f64],
    pub(super) gradient: &'a [f64],
    /// hᵢ times the change of the row's score: the change of the row's slope.
    pub(super) row_slopes: Vec<f64>,
    /// Whether the model equals the loss, so that it is worth minimising accurately.
    pub(super) is_loss: bool,
    /// Which weights were in the last face.
    pub(super) last: Vec<bool>,
}

impl Quadratic for ColumnModel<'_> {
    fn curvature(&self, j: usize) -> f64 {
        self.diagonal[j]
    }

    fn slopes(&self) -> Vec<f64> {
        let all = (0..self.set.len()).into_par_iter();
        all.map(|j| self.slope(j)).collect()
    }

    fn product(&mut self, face: &[usize], along: &[f64]) -> Result<Vec<f64>> {
        let row_slopes = self.row_slopes_of(face, along);
        Ok(self.columns.dots(&self.chosen(face), &row_slopes))
    }

    fn shift(&mut self, face: &[usize], by: &[f64]) -> Result<()> {
        let row_slopes = self.row_slopes_of(face, by);
        axpy(1.0, &row_slopes, &mut self.row_slopes);
        Ok(())
    }

    fn effort(&self) -> Effort {
        Effort {
            // Heuristic: work on one model against the number of models; all limits are not measured yet.
            face_tol: 1e-4,
            most_products: 100,
            most_stops: 10,
            most_faces: 3,
            most_rounds: 30,
            short_sweeps: if self.is_loss { 1 } else { 4 },
        }
    }

    fn newton(
        &mut self,
        face: &[usize],
        own: &[f64],
        neg_gradient: &[f64],
        abs_tol: f64,
    ) -> Result<Vec<f64>> {
        let mut now = vec![false; self.set.len()];
        face.iter().for_each(|&j| now[j] = true);
        let pairs = self.last.iter().zip(&now);
        let changed = pairs.filter(|(before, now)| before != now).count();
        self.last = now;
        let effort = self.effort();
        // While weights still enter and leave, the minimum of a face is soon replaced by that of another one,
        // so it is solved loosely. A model that only approximates the loss is not minimised again, so it is
        // solved accurately.
        let (tol, abs_tol) = if self.is_loss {
            let changed = changed as f64 / face.len() as f64;
            (changed.clamp(effort.face_tol, LOOSEST_FACE), abs_tol)
        } else {
            (effort.face_tol, 0.0)
        };
        let diagonal: Vec<f64> = face
            .iter()
            .zip(own)
            .map(|(&j, own)| self.diagonal[j] + own)
            .collect();
        let product = |along: &[f64]| {
            let mut product = self.product(face, along)?;
            add_product(&mut product, own, along);
            Ok(product)
        };
        // Cap: without rounding as many products as coordinates suffice.
        let most = effort.most_products.min(2 * face.len() + 10);
        conjugate_gradients(product, &diagonal, neg_gradient, tol, abs_tol, most)
    }
}

impl CoordinateQuadratic for ColumnModel<'_> {
    fn slope(&self, j: usize) -> f64 {
        self.gradient[j] + self.columns.dot(self.set[j], &self.row_slopes)
    }

    fn step(&mut self, j: usize, by: f64) {
        self.columns
            .add_weighted(self.set[j], by, self.rows, &mut self.row_slopes);
    }
}

impl ColumnModel<'_> {
    /// The columns of a face, by their index in the design.
    fn chosen(&self, face: &[usize]) -> Vec<usize> {
        face.iter().map(|&j| self.set[j]).collect()
    }

    /// h∘(X_F·along) for the columns X_F of a face.
    fn row_slopes_of(&self, face: &[usize], along: &[f64]) -> Vec<f64> {
        let mut row_slopes = self.columns.combine(&self.chosen(face), along);
        row_slopes
            .iter_mut()
            .zip(self.rows)
            .for_each(|(slope, h)| *slope *= h);
        row_slopes
    }
}
