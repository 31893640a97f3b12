//! Convex combinations of points that vanish, as the proof file stores them.

use serde::{Deserialize, Serialize};

use crate::exact::Circuit;
use crate::proof::fraction::fractions;

/// Weights λ > 0 with `Σλᵢaᵢ = 0`, summing to 1 over each class (without an intercept: in all).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Combination {
    /// The rows, counted from 0, in increasing order.
    pub points: Vec<u64>,
    /// Their weights: `"p/q"`, or decimals if not exact.
    pub weights: Vec<String>,
    /// Whether the sum is exactly 0. Otherwise it is near 0, within a bound that the margin interval
    /// states.
    pub exact: bool,
}

impl Combination {
    /// A combination with exact weights.
    pub fn exact(circuit: &Circuit) -> Self {
        Combination {
            points: circuit.points.clone(),
            weights: fractions(&circuit.weights),
            exact: true,
        }
    }

    /// A combination with floating-point weights, for when exact ones take too long. Weights of 0 are left
    /// out.
    pub fn decimal(weights: &[(u64, f64)]) -> Self {
        let mut kept: Vec<(u64, f64)> = weights
            .iter()
            .copied()
            .filter(|&(_, weight)| weight > 0.0)
            .collect();
        kept.sort_unstable_by_key(|&(i, _)| i);
        Combination {
            points: kept.iter().map(|&(i, _)| i).collect(),
            weights: kept.iter().map(|&(_, weight)| weight.to_string()).collect(),
            exact: false,
        }
    }
}
