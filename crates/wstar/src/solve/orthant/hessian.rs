//! Quadratics by their whole Hessian, and by products with it.

use rayon::prelude::*;

use crate::error::Result;
use crate::kernel::dense::{axpy, dot};
use crate::oracle::{Oracle, Query};
use crate::solve::orthant::curved::{Curved, Effort, Pulled, Stepped};
use crate::solve::orthant::factor::{Factor, Scaled};
use crate::solve::orthant::growing::Square;

/// Products of which a few threads are done sooner than one.
const MANY: usize = 1 << 17;
/// Slopes that one thread moves at a time.
const BLOCK: usize = 512;

/// A quadratic by its whole Hessian, a multiple of a matrix.
pub(crate) struct Gram<'a> {
    matrix: Square<'a>,
    times: f64,
    slopes: Vec<f64>,
    /// Of the last face; it may be one of an earlier model with the same matrix.
    factor: &'a mut Factor,
}

impl<'a> Gram<'a> {
    /// With these slopes to begin with.
    pub(crate) fn new(matrix: Square<'a>, times: f64, slopes: Vec<f64>, factor: &'a mut Factor) -> Self {
        Gram {
            matrix,
            times,
            slopes,
            factor,
        }
    }

    /// `times` the rows of the matrix, times a vector over some coordinates.
    fn rows_times(&self, rows: &[usize], face: &[usize], along: &[f64]) -> Vec<f64> {
        let mut whole = vec![0.0; self.slopes.len()];
        face.iter()
            .zip(along)
            .for_each(|(&j, &d)| whole[j] = self.times * d);
        let row = |&j: &usize| dot(self.matrix.column(j), &whole);
        if rows.len() * whole.len() < MANY {
            return rows.iter().map(row).collect();
        }
        rows.par_iter().map(row).collect()
    }

    /// Adds a multiple of columns to a vector.
    fn add_columns(&self, face: &[usize], along: &[f64], to: &mut [f64]) {
        let add = |from: usize, to: &mut [f64]| {
            for (&j, &d) in face.iter().zip(along).filter(|(_, d)| **d != 0.0) {
                axpy(self.times * d, &self.matrix.column(j)[from..from + to.len()], to);
            }
        };
        if face.len() * to.len() < MANY {
            add(0, to);
            return;
        }
        let blocks = to.par_chunks_mut(BLOCK).enumerate();
        blocks.for_each(|(block, to)| add(block * BLOCK, to));
    }
}

impl Curved for Gram<'_> {
    fn curvature(&self, j: usize) -> f64 {
        self.times * self.matrix.column(j)[j]
    }

    fn slopes(&self) -> Vec<f64> {
        self.slopes.clone()
    }

    fn product(&mut self, face: &[usize], along: &[f64]) -> Result<Vec<f64>> {
        Ok(self.rows_times(face, face, along))
    }

    fn without(&self, face: &[usize], place: usize, by: f64, product: &mut [f64]) -> bool {
        let column = self.matrix.column(face[place]);
        let by = self.times * by;
        let products = product.iter_mut().zip(face);
        products.for_each(|(product, &j)| *product -= by * column[j]);
        true
    }

    fn shift(&mut self, face: &[usize], by: &[f64]) -> Result<()> {
        let mut slopes = std::mem::take(&mut self.slopes);
        self.add_columns(face, by, &mut slopes);
        self.slopes = slopes;
        Ok(())
    }

    fn effort(&self) -> Effort {
        Effort {
            face_tol: 1e-10,
            most_products: usize::MAX,
            most_stops: 1000,
            most_faces: 20,
            // A round takes as long as several factorisations.
            most_rounds: (20_000 / self.slopes.len().max(1)).clamp(25, 300),
            short_sweeps: 4,
        }
    }

    fn newton(&mut self, face: &[usize], own: &[f64], falls: &[f64], _enough: f64) -> Result<Vec<f64>> {
        // On a unit diagonal one small number is small beside all columns, whatever their scale. It keeps
        // dependent columns apart: along them the solution is long, and ends where a weight comes to 0. Much
        // smaller, it would make steps of mere rounding; what it leaves undone is left for the next face.
        let diagonal = face.iter().zip(own).map(|(&j, own)| self.curvature(j) + own);
        let scale: Vec<f64> = diagonal
            .clone()
            .map(|diagonal| diagonal.sqrt().recip())
            .map(|scale| if scale.is_finite() { scale } else { 0.0 })
            .collect();
        let shares: Vec<f64> = diagonal
            .zip(own)
            .map(|(diagonal, own)| if diagonal > 0.0 { own / diagonal } else { 0.0 })
            .collect();
        let matrix = self.matrix;
        for (ridge, anew) in [(1e-9, false), (1e-9, true), (1e-6, true), (1e-3, true)] {
            let scaled = Scaled {
                column: |j: usize| matrix.column(j),
                face,
                shares: &shares,
                ridge,
            };
            if !self.factor.follow(&scaled, anew) {
                continue;
            }
            let solve = |right: &[f64]| {
                let scaled = right.iter().zip(&scale).map(|(r, scale)| r * scale);
                let mut x = self.factor.solve(scaled);
                x.iter_mut().zip(&scale).for_each(|(x, scale)| *x *= scale);
                x
            };
            let mut along = solve(falls);
            // Once more for what the small number left undone in the stiff directions.
            let mut left = self.rows_times(face, face, &along);
            for (k, left) in left.iter_mut().enumerate() {
                *left = falls[k] - *left - own[k] * along[k];
            }
            axpy(1.0, &solve(&left), &mut along);
            if along.iter().all(|d| d.is_finite()) && dot(&along, falls) > 0.0 {
                return Ok(along);
            }
        }
        Ok(falls
            .iter()
            .zip(&scale)
            .map(|(fall, scale)| fall * scale * scale)
            .collect())
    }
}

impl Stepped for Gram<'_> {
    fn slope(&self, j: usize) -> f64 {
        self.slopes[j]
    }

    fn step(&mut self, j: usize, by: f64) {
        axpy(self.times * by, self.matrix.column(j), &mut self.slopes);
    }
}

impl Pulled for Gram<'_> {
    fn whole_product(&mut self, face: &[usize], along: &[f64]) -> Result<Vec<f64>> {
        let mut product = vec![0.0; self.slopes.len()];
        self.add_columns(face, along, &mut product);
        Ok(product)
    }

    fn advance(&mut self, step: f64, product: &[f64]) {
        axpy(step, product, &mut self.slopes);
    }
}

/// A quadratic by products of its Hessian with vectors, each of which is a pass over the rows.
pub(crate) struct Products<'a, 'o> {
    oracle: &'a mut (dyn Oracle + 'o),
    at: &'a [f64],
    diagonal: &'a [f64],
    slopes: Vec<f64>,
    effort: Effort,
}

impl<'a, 'o> Products<'a, 'o> {
    /// Around a point, with these slopes there.
    pub(crate) fn new(
        oracle: &'a mut (dyn Oracle + 'o),
        at: &'a [f64],
        diagonal: &'a [f64],
        slopes: Vec<f64>,
        effort: Effort,
    ) -> Self {
        Products {
            oracle,
            at,
            diagonal,
            slopes,
            effort,
        }
    }
}

impl Pulled for Products<'_, '_> {
    fn whole_product(&mut self, face: &[usize], along: &[f64]) -> Result<Vec<f64>> {
        let mut whole = vec![0.0; self.slopes.len()];
        face.iter().zip(along).for_each(|(&j, &d)| whole[j] = d);
        let query = Query::Product {
            at: self.at,
            along: &whole,
        };
        Ok(self.oracle.ask(query)?.gradient)
    }

    fn advance(&mut self, step: f64, product: &[f64]) {
        axpy(step, product, &mut self.slopes);
    }
}

impl Curved for Products<'_, '_> {
    fn curvature(&self, j: usize) -> f64 {
        self.diagonal[j]
    }

    fn slopes(&self) -> Vec<f64> {
        self.slopes.clone()
    }

    fn product(&mut self, face: &[usize], along: &[f64]) -> Result<Vec<f64>> {
        let whole = self.whole_product(face, along)?;
        Ok(face.iter().map(|&j| whole[j]).collect())
    }

    fn shift(&mut self, face: &[usize], by: &[f64]) -> Result<()> {
        let product = self.whole_product(face, by)?;
        axpy(1.0, &product, &mut self.slopes);
        Ok(())
    }

    fn effort(&self) -> Effort {
        self.effort
    }
}
