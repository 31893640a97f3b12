//! The hyperplane of a proof, with coefficients that doubles need not represent.

use num_rational::BigRational;
use serde::{Deserialize, Serialize};

use crate::proof::fraction::Fraction;
use wstar_data::linear::Hyperplane;

/// The hyperplane `w·x + b = 0`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Normal {
    /// w.
    pub weights: Vec<Fraction>,
    /// b; 0 without an intercept.
    pub intercept: Fraction,
}

impl From<&Hyperplane> for Normal {
    fn from(plane: &Hyperplane) -> Self {
        Normal {
            weights: plane.weights.iter().map(|&w| Fraction::Double(w)).collect(),
            intercept: Fraction::Double(plane.intercept),
        }
    }
}

impl Normal {
    /// From one vector of rationals, whose last entry is the intercept if there is one.
    pub fn from_rationals(vector: &[BigRational], intercept: bool) -> Self {
        let mut numbers = Fraction::all(vector);
        let last = if intercept { numbers.pop() } else { None };
        Normal {
            weights: numbers,
            intercept: last.unwrap_or(Fraction::Double(0.0)),
        }
    }
}
