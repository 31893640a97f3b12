//! Quadratics by their whole Hessian, and by products with it.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Mat, MatMut, Par};

use crate::error::Result;
use crate::kernel::dense::{axpy, dot};
use crate::oracle::{Oracle, Query};
use crate::solve::orthant::curved::{Curved, Effort, Pulled, Stepped};

/// A quadratic by its whole Hessian, column by column.
pub(crate) struct Gram<'a> {
    hessian: &'a [f64],
    slopes: Vec<f64>,
}

impl<'a> Gram<'a> {
    /// With these slopes to begin with.
    pub(crate) fn new(hessian: &'a [f64], slopes: Vec<f64>) -> Self {
        Gram { hessian, slopes }
    }

    fn column(&self, j: usize) -> &'a [f64] {
        let length = self.slopes.len();
        &self.hessian[j * length..(j + 1) * length]
    }
}

impl Curved for Gram<'_> {
    fn curvature(&self, j: usize) -> f64 {
        self.column(j)[j]
    }

    fn slopes(&self) -> Vec<f64> {
        self.slopes.clone()
    }

    fn product(&mut self, face: &[usize], along: &[f64]) -> Result<Vec<f64>> {
        let mut whole = vec![0.0; self.slopes.len()];
        face.iter().zip(along).for_each(|(&j, &d)| whole[j] = d);
        Ok(face.iter().map(|&j| dot(self.column(j), &whole)).collect())
    }

    fn without(&self, face: &[usize], place: usize, by: f64, product: &mut [f64]) -> bool {
        let column = self.column(face[place]);
        let products = product.iter_mut().zip(face);
        products.for_each(|(product, &j)| *product -= by * column[j]);
        true
    }

    fn shift(&mut self, face: &[usize], by: &[f64]) -> Result<()> {
        for (&j, &by) in face.iter().zip(by) {
            self.step(j, by);
        }
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
        }
    }

    fn newton(&mut self, face: &[usize], own: &[f64], falls: &[f64]) -> Result<Vec<f64>> {
        // On a unit diagonal one small number is small beside all columns, whatever their scale. It keeps
        // dependent columns apart: along them the solution is long, and ends where a weight comes to 0. Much
        // smaller, it would make steps of mere rounding; what it leaves undone is left for the next face.
        let scale: Vec<f64> = face
            .iter()
            .zip(own)
            .map(|(&j, own)| (self.curvature(j) + own).sqrt().recip())
            .map(|scale| if scale.is_finite() { scale } else { 0.0 })
            .collect();
        for ridge in [1e-9, 1e-6, 1e-3] {
            let mut matrix = Mat::from_fn(face.len(), face.len(), |r, c| {
                if r == c {
                    1.0 + ridge
                } else {
                    self.column(face[c])[face[r]] * scale[r] * scale[c]
                }
            });
            let scratch = cholesky_in_place_scratch::<f64>(face.len(), Par::Seq, Default::default());
            let mut memory = MemBuffer::new(scratch);
            // One thread: the bits of a parallel factorisation depend on how it was split.
            let factored = cholesky_in_place(
                matrix.as_mut(),
                Default::default(),
                Par::Seq,
                MemStack::new(&mut memory),
                Default::default(),
            );
            if factored.is_err() {
                continue;
            }
            let solve = |right: &[f64]| {
                let mut x: Vec<f64> = right.iter().zip(&scale).map(|(r, scale)| r * scale).collect();
                let mut column = MatMut::from_column_major_slice_mut(&mut x, face.len(), 1);
                solve_lower_triangular_in_place(matrix.as_ref(), column.as_mut(), Par::Seq);
                solve_upper_triangular_in_place(matrix.as_ref().transpose(), column.as_mut(), Par::Seq);
                x.iter_mut().zip(&scale).for_each(|(x, scale)| *x *= scale);
                x
            };
            let mut along = solve(falls);
            // Once more for what the small number left undone in the stiff directions.
            let mut left = self.product(face, &along)?;
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
        let length = self.slopes.len();
        axpy(by, &self.hessian[j * length..(j + 1) * length], &mut self.slopes);
    }
}

impl Pulled for Gram<'_> {
    fn whole_product(&mut self, face: &[usize], along: &[f64]) -> Result<Vec<f64>> {
        let mut product = vec![0.0; self.slopes.len()];
        for (&j, &d) in face.iter().zip(along) {
            axpy(d, self.column(j), &mut product);
        }
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
