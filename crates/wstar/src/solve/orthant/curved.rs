//! The smooth part of a quadratic model, by what a way to minimise it asks of it.

use crate::error::Result;
use crate::solve::orthant::conjugate::conjugate_gradients;

/// The smooth part of the model at a point that moves.
pub(crate) trait Curved {
    /// Hⱼⱼ.
    fn curvature(&self, j: usize) -> f64;
    /// All slopes at the point.
    fn slopes(&self) -> Vec<f64>;
    /// The rows of H of these coordinates, times a vector over the same.
    fn product(&mut self, face: &[usize], along: &[f64]) -> Result<Vec<f64>>;
    /// Moves several coordinates.
    fn shift(&mut self, face: &[usize], by: &[f64]) -> Result<()>;
    /// How the model's faces are to be minimised.
    fn effort(&self) -> Effort;

    /// Takes what one coordinate of a face gave to a product away again, without a new product; whether it could.
    fn without(&self, _face: &[usize], _place: usize, _by: f64, _product: &mut [f64]) -> bool {
        false
    }

    /// A direction of descent over a face: nearly (H + own)⁻¹·falls. Falls of not more than `enough` may be left.
    fn newton(&mut self, face: &[usize], own: &[f64], falls: &[f64], enough: f64) -> Result<Vec<f64>> {
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
        let most = effort.most_products.min(2 * face.len() + 10);
        conjugate_gradients(product, &diagonal, falls, effort.face_tol, enough, most)
    }
}

/// A model that moves one coordinate at a time at little cost.
pub(crate) trait Stepped: Curved {
    /// The slope at the point.
    fn slope(&self, j: usize) -> f64;
    /// Moves one coordinate.
    fn step(&mut self, j: usize, by: f64);
}

/// A model whose slopes all move at once, at the cost of a product.
pub(crate) trait Pulled: Curved {
    /// H times a vector over these coordinates.
    fn whole_product(&mut self, face: &[usize], along: &[f64]) -> Result<Vec<f64>>;
    /// Moves by `step` times the vector that had this product.
    fn advance(&mut self, step: f64, product: &[f64]);
}

/// How much work a face is worth, which depends on what a product costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Effort {
    /// How exactly a face's linear system is solved.
    pub(crate) face_tol: f64,
    /// Products at most for it.
    pub(crate) most_products: usize,
    /// How many weights may come to 0 one after another before the next system.
    pub(crate) most_stops: usize,
    /// Systems at most in a round, for as long as weights come to 0.
    pub(crate) most_faces: usize,
    /// Rounds at most.
    pub(crate) most_rounds: usize,
    /// Sweeps over the weights that are not 0, for each sweep over all.
    pub(crate) short_sweeps: usize,
}

pub(crate) fn add_product(product: &mut [f64], own: &[f64], along: &[f64]) {
    for ((product, own), along) in product.iter_mut().zip(own).zip(along) {
        *product += own * along;
    }
}
