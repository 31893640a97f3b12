//! Quadratics given by their full Hessian, or by products with it.

use rayon::prelude::*;

use crate::l1::face_cholesky::{FaceCholesky, Scaled};
use crate::l1::quadratic::{CoordinateQuadratic, Effort, ProductQuadratic, Quadratic};
use wstar_data::error::Result;
use wstar_numeric::dense::{axpy, dot};
use wstar_numeric::linalg::growing_matrix::Square;
use wstar_problem::objective::{Query, SumOverRows};

/// Multiplications above which a product runs in parallel. Heuristic: cost of starting threads against the
/// work; not measured yet.
const PARALLEL_WORK: usize = 1 << 17;
/// Slopes that one task updates at a time. Heuristic: task overhead against parallelism; not measured yet.
const BLOCK: usize = 512;

/// A quadratic with its full Hessian, a multiple of a matrix.
pub(crate) struct Gram<'a> {
    matrix: Square<'a>,
    times: f64,
    slopes: Vec<f64>,
    /// The factor of the last face, which may come from an earlier model with the same matrix.
    factor: &'a mut FaceCholesky,
}

impl<'a> Gram<'a> {
    /// A quadratic with the Hessian `times·matrix` and these slopes at the start.
    pub(crate) fn new(
        matrix: Square<'a>,
        times: f64,
        slopes: Vec<f64>,
        factor: &'a mut FaceCholesky,
    ) -> Self {
        Gram {
            matrix,
            times,
            slopes,
            factor,
        }
    }

    /// `times` the chosen rows of the matrix, times a vector over the coordinates of the face.
    fn rows_times(&self, rows: &[usize], face: &[usize], along: &[f64]) -> Vec<f64> {
        let mut whole = vec![0.0; self.slopes.len()];
        face.iter()
            .zip(along)
            .for_each(|(&j, &d)| whole[j] = self.times * d);
        let row = |&j: &usize| dot(self.matrix.column(j), &whole);
        if rows.len() * whole.len() < PARALLEL_WORK {
            return rows.iter().map(row).collect();
        }
        rows.par_iter().map(row).collect()
    }

    /// Adds `times` the columns of the face, combined by `along`, to a vector.
    fn add_columns(&self, face: &[usize], along: &[f64], to: &mut [f64]) {
        let add = |from: usize, to: &mut [f64]| {
            for (&j, &d) in face.iter().zip(along).filter(|(_, d)| **d != 0.0) {
                axpy(self.times * d, &self.matrix.column(j)[from..from + to.len()], to);
            }
        };
        if face.len() * to.len() < PARALLEL_WORK {
            add(0, to);
            return;
        }
        let blocks = to.par_chunks_mut(BLOCK).enumerate();
        blocks.for_each(|(block, to)| add(block * BLOCK, to));
    }
}

impl Quadratic for Gram<'_> {
    fn curvature(&self, j: usize) -> f64 {
        self.times * self.matrix.column(j)[j]
    }

    fn slopes(&self) -> Vec<f64> {
        self.slopes.clone()
    }

    fn product(&mut self, face: &[usize], along: &[f64]) -> Result<Vec<f64>> {
        Ok(self.rows_times(face, face, along))
    }

    fn remove_coordinate(&self, face: &[usize], position: usize, by: f64, product: &mut [f64]) -> bool {
        let column = self.matrix.column(face[position]);
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
            // Heuristic: work on one model against the number of models; all limits are not measured yet.
            face_tol: 1e-10,
            most_products: usize::MAX,
            most_stops: 1000,
            most_faces: 20,
            // With many parameters a round takes as long as several factorisations, so there are fewer rounds.
            most_rounds: (20_000 / self.slopes.len().max(1)).clamp(25, 300),
            short_sweeps: 4,
        }
    }

    fn newton(
        &mut self,
        face: &[usize],
        own: &[f64],
        neg_gradient: &[f64],
        _abs_tol: f64,
    ) -> Result<Vec<f64>> {
        // On a unit diagonal one small ridge is small relative to every column, whatever the scale. It
        // separates dependent columns: along them the solution is long, and a weight reaches 0 there. A much
        // smaller ridge would give steps of mere rounding. The error that the ridge causes is left for the
        // next face.
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
        // Heuristic: the ridges are far above rounding and small relative to a unit diagonal; not
        // measured yet.
        for (ridge, refactor) in [(1e-9, false), (1e-9, true), (1e-6, true), (1e-3, true)] {
            let scaled = Scaled {
                column: |j: usize| matrix.column(j),
                face,
                shares: &shares,
                ridge,
            };
            if !self.factor.update(&scaled, refactor) {
                continue;
            }
            let solve = |right: &[f64]| {
                let scaled = right.iter().zip(&scale).map(|(r, scale)| r * scale);
                let mut x = self.factor.solve(scaled);
                x.iter_mut().zip(&scale).for_each(|(x, scale)| *x *= scale);
                x
            };
            let mut along = solve(neg_gradient);
            // One refinement removes the effect of the ridge in the stiff directions.
            let mut residual = self.rows_times(face, face, &along);
            for (k, residual) in residual.iter_mut().enumerate() {
                *residual = neg_gradient[k] - *residual - own[k] * along[k];
            }
            axpy(1.0, &solve(&residual), &mut along);
            if along.iter().all(|d| d.is_finite()) && dot(&along, neg_gradient) > 0.0 {
                return Ok(along);
            }
        }
        Ok(neg_gradient
            .iter()
            .zip(&scale)
            .map(|(g, scale)| g * scale * scale)
            .collect())
    }
}

impl CoordinateQuadratic for Gram<'_> {
    fn slope(&self, j: usize) -> f64 {
        self.slopes[j]
    }

    fn step(&mut self, j: usize, by: f64) {
        axpy(self.times * by, self.matrix.column(j), &mut self.slopes);
    }
}

impl ProductQuadratic for Gram<'_> {
    fn whole_product(&mut self, face: &[usize], along: &[f64]) -> Result<Vec<f64>> {
        let mut product = vec![0.0; self.slopes.len()];
        self.add_columns(face, along, &mut product);
        Ok(product)
    }

    fn advance(&mut self, step: f64, product: &[f64]) {
        axpy(step, product, &mut self.slopes);
    }
}

/// A quadratic given by products of its Hessian with vectors, each of which is a pass over the rows.
pub(crate) struct HessianProducts<'a, 'o> {
    oracle: &'a mut (dyn SumOverRows + 'o),
    at: &'a [f64],
    diagonal: &'a [f64],
    slopes: Vec<f64>,
    effort: Effort,
}

impl<'a, 'o> HessianProducts<'a, 'o> {
    /// The quadratic model around a point, with these slopes there.
    pub(crate) fn new(
        oracle: &'a mut (dyn SumOverRows + 'o),
        at: &'a [f64],
        diagonal: &'a [f64],
        slopes: Vec<f64>,
        effort: Effort,
    ) -> Self {
        HessianProducts {
            oracle,
            at,
            diagonal,
            slopes,
            effort,
        }
    }
}

impl ProductQuadratic for HessianProducts<'_, '_> {
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

impl Quadratic for HessianProducts<'_, '_> {
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
