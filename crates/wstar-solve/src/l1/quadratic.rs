//! The smooth part of a quadratic model, as the operations that its minimisation needs.

use crate::l1::conjugate_gradients::conjugate_gradients;
use wstar_data::error::Result;

/// A quadratic with Hessian H, at a point that moves.
pub(crate) trait Quadratic {
    /// Hⱼⱼ.
    fn curvature(&self, j: usize) -> f64;
    /// The gradient at the point.
    fn slopes(&self) -> Vec<f64>;
    /// The product of H, restricted to the rows and columns of a face, with a vector over the face.
    fn product(&mut self, face: &[usize], along: &[f64]) -> Result<Vec<f64>>;
    /// Moves the coordinates of a face.
    fn shift(&mut self, face: &[usize], by: &[f64]) -> Result<()>;
    /// How accurately faces are to be minimised.
    fn effort(&self) -> Effort;

    /// Subtracts the contribution of one coordinate of a face from a product, without a new product; false if
    /// it cannot.
    fn remove_coordinate(&self, _face: &[usize], _position: usize, _by: f64, _product: &mut [f64]) -> bool {
        false
    }

    /// A descent direction over a face: about (H + own)⁻¹·neg_gradient. Entries of the residual of at most
    /// `abs_tol` may remain.
    fn newton(
        &mut self,
        face: &[usize],
        own: &[f64],
        neg_gradient: &[f64],
        abs_tol: f64,
    ) -> Result<Vec<f64>> {
        let diagonal: Vec<f64> = face
            .iter()
            .zip(own)
            .map(|(&j, own)| self.curvature(j) + own)
            .collect();
        let effort = self.effort();
        let product = |along: &[f64]| {
            let mut product = self.product(face, along)?;
            add_product(&mut product, own, along);
            Ok(product)
        };
        // Cap: without rounding as many products as coordinates suffice.
        let most = effort.most_products.min(2 * face.len() + 10);
        conjugate_gradients(product, &diagonal, neg_gradient, effort.face_tol, abs_tol, most)
    }
}

/// A quadratic that can move one coordinate at a time at little cost.
pub(crate) trait CoordinateQuadratic: Quadratic {
    /// Component j of the gradient at the point.
    fn slope(&self, j: usize) -> f64;
    /// Moves one coordinate.
    fn step(&mut self, j: usize, by: f64);
}

/// A quadratic whose whole gradient moves at once, at the cost of a product.
pub(crate) trait ProductQuadratic: Quadratic {
    /// The product of H with a vector over a face, for all coordinates.
    fn whole_product(&mut self, face: &[usize], along: &[f64]) -> Result<Vec<f64>>;
    /// Moves by `step` times the vector that gave this product.
    fn advance(&mut self, step: f64, product: &[f64]);
}

/// How much work a face is worth, which depends on the cost of a product.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Effort {
    /// The relative residual of a face's linear system.
    pub(crate) face_tol: f64,
    /// The most products for one linear system.
    pub(crate) most_products: usize,
    /// How many weights may reach 0 one after another before the next linear system.
    pub(crate) most_stops: usize,
    /// The most linear systems in a round, while weights keep reaching 0.
    pub(crate) most_faces: usize,
    /// The most rounds.
    pub(crate) most_rounds: usize,
    /// Sweeps over the nonzero weights for each sweep over all.
    pub(crate) short_sweeps: usize,
}

/// product += own∘along.
pub(crate) fn add_product(product: &mut [f64], own: &[f64], along: &[f64]) {
    for ((product, own), along) in product.iter_mut().zip(own).zip(along) {
        *product += own * along;
    }
}
