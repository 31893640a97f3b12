//! Stationarity: the size of the gradient at a point, which is what can be certified where the objective is not convex.
//!
//! Each partial derivative is divided by its largest possible magnitude, Σᵢ cᵢ |xᵢⱼ| · max|ℓ'|, so the measure does not change
//! with the scale of a column or of C.
//!
//! - `relative_gradient`: the gradient, recomputed from the rows.
//! - `firth_gradient`: the gradient of Firth's penalised likelihood.
//! - `score`: the score of a row with exact products.

mod firth_gradient;
mod relative_gradient;
mod score;

pub use relative_gradient::stationarity;

use serde::{Deserialize, Serialize};
use wstar_data::{Objection, Quantity};
use wstar_numeric::agreement::agree;

/// The claim that no partial derivative exceeds `slope` times its largest possible magnitude.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Stationarity {
    /// The objective at the model.
    pub objective: f64,
    /// The largest relative partial derivative.
    pub slope: f64,
    /// The tolerance for `slope`.
    pub tol: f64,
    /// The number of rows with a weight above 0.
    pub(crate) rows: u64,
}

impl Stationarity {
    /// Whether the slope is within the tolerance, according to the claim.
    pub fn holds(&self) -> bool {
        self.slope <= self.tol
    }

    /// The statements of this claim that the recomputed one contradicts.
    pub fn objections(&self, found: &Stationarity) -> Vec<Objection> {
        let mut objections = Vec::new();
        if self.rows != found.rows {
            objections.push(Objection::Rows {
                claimed: self.rows,
                found: found.rows,
            });
        }
        if !agree(self.objective, found.objective) {
            objections.push(Objection::Differs {
                quantity: Quantity::Objective,
                claimed: self.objective,
                found: found.objective,
            });
        }
        if !found.holds() {
            objections.push(Objection::Slope {
                slope: found.slope,
                tol: found.tol,
            });
        }
        objections
    }
}
