//! The quadratic model of a working set by its columns, for sets whose products would take too much room.

use rayon::prelude::*;

use crate::error::Result;
use crate::kernel::dense::axpy;
use crate::solve::coordinate_descent::columns::Columns;
use crate::solve::orthant::{Curved, Effort, Stepped, add_product, conjugate_gradients};

/// How loosely a face is minimised at most.
const LOOSEST_FACE: f64 = 0.1;

/// A quadratic by the columns of a working set.
pub(super) struct ColumnModel<'a> {
    pub(super) columns: &'a Columns,
    pub(super) set: &'a [usize],
    /// The curvature of every row.
    pub(super) rows: &'a [f64],
    pub(super) diagonal: &'a [f64],
    pub(super) gradient: &'a [f64],
    /// The curvature of every row times how far its score has moved.
    pub(super) pulls: Vec<f64>,
    /// Whether the model is the loss itself, and so is worth the way to its minimum.
    pub(super) is_loss: bool,
    /// Who was in the last face.
    pub(super) last: Vec<bool>,
}

impl Curved for ColumnModel<'_> {
    fn curvature(&self, j: usize) -> f64 {
        self.diagonal[j]
    }

    fn slopes(&self) -> Vec<f64> {
        let all = (0..self.set.len()).into_par_iter();
        all.map(|j| self.slope(j)).collect()
    }

    fn product(&mut self, face: &[usize], along: &[f64]) -> Result<Vec<f64>> {
        let pulls = self.pulls_of(face, along);
        Ok(self.columns.dots(&self.chosen(face), &pulls))
    }

    fn shift(&mut self, face: &[usize], by: &[f64]) -> Result<()> {
        let pulls = self.pulls_of(face, by);
        axpy(1.0, &pulls, &mut self.pulls);
        Ok(())
    }

    fn effort(&self) -> Effort {
        Effort {
            face_tol: 1e-4,
            most_products: 100,
            most_stops: 10,
            most_faces: 3,
            most_rounds: 30,
            short_sweeps: if self.is_loss { 1 } else { 4 },
        }
    }

    fn newton(&mut self, face: &[usize], own: &[f64], falls: &[f64], enough: f64) -> Result<Vec<f64>> {
        let mut now = vec![false; self.set.len()];
        face.iter().for_each(|&j| now[j] = true);
        let pairs = self.last.iter().zip(&now);
        let changed = pairs.filter(|(before, now)| before != now).count();
        self.last = now;
        let effort = self.effort();
        // Where weights still come and go, a face that is minimised exactly is soon another; but a model of a loss that
        // bends is not gone over again.
        let (tol, enough) = if self.is_loss {
            let changed = changed as f64 / face.len() as f64;
            (changed.clamp(effort.face_tol, LOOSEST_FACE), enough)
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
        let most = effort.most_products.min(2 * face.len() + 10);
        conjugate_gradients(product, &diagonal, falls, tol, enough, most)
    }
}

impl Stepped for ColumnModel<'_> {
    fn slope(&self, j: usize) -> f64 {
        self.gradient[j] + self.columns.dot(self.set[j], &self.pulls)
    }

    fn step(&mut self, j: usize, by: f64) {
        self.columns
            .add_weighted(self.set[j], by, self.rows, &mut self.pulls);
    }
}

impl ColumnModel<'_> {
    /// The columns of a face.
    fn chosen(&self, face: &[usize]) -> Vec<usize> {
        face.iter().map(|&j| self.set[j]).collect()
    }

    fn pulls_of(&self, face: &[usize], along: &[f64]) -> Vec<f64> {
        let mut pulls = self.columns.combine(&self.chosen(face), along);
        pulls.iter_mut().zip(self.rows).for_each(|(pull, h)| *pull *= h);
        pulls
    }
}
