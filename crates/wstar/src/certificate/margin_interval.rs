//! The margin interval: a hyperplane proves a lower bound on the best margin, and two points of the hulls prove an
//! upper bound.
//!
//! For any point `p = Σλᵢxᵢ` of the positive hull and `q` of the negative one, no hyperplane has a margin
//! larger than `‖p − q‖/2`. Without an intercept, no hyperplane has a margin larger than `‖Σλᵢyᵢxᵢ‖`.

use std::ops::ControlFlow;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::online::{Examples, label};
use wstar_data::error::Result;
use wstar_data::linear::Hyperplane;
use wstar_numeric::agreement::AGREEMENT;
use wstar_numeric::dense;

/// The claim that the best margin lies between two numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Separation {
    /// The margin of the hyperplane; negative if it does not separate.
    pub lower: f64,
    /// An upper bound on the margin of any hyperplane.
    pub upper: f64,
    /// The relative tolerance: the claim is `upper − lower ≤ epsilon·upper`.
    pub epsilon: f64,
    /// Whether hyperplanes have an intercept.
    pub intercept: bool,
    /// The rows and multipliers of the point of the positive hull (without an intercept, of the single hull).
    pub positive: Vec<(u64, f64)>,
    /// The rows and multipliers of the point of the negative hull.
    pub negative: Vec<(u64, f64)>,
    /// The hyperplane whose margin is claimed.
    pub hyperplane: Hyperplane,
}

impl Separation {
    /// Whether the interval is as narrow as requested.
    pub fn holds(&self) -> bool {
        self.lower > 0.0 && self.upper - self.lower <= (self.epsilon + AGREEMENT) * self.upper
    }
}

/// Sets the intercept of the best hyperplane with this normal: the threshold halfway between the classes.
pub fn centre(
    examples: &mut dyn Examples,
    discriminant: usize,
    of: usize,
    normal: &mut Hyperplane,
) -> Result<()> {
    let (mut least, mut largest) = (f64::INFINITY, f64::NEG_INFINITY);
    let _ = examples.pass(0, &mut |example| {
        let projection = example.row.dot(&normal.weights);
        if label(example.class, discriminant, of) > 0.0 {
            least = least.min(projection);
        } else {
            largest = largest.max(projection);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let intercept = -(least + largest) / 2.0;
    if intercept.is_finite() {
        normal.intercept = intercept;
    }
    Ok(())
}

/// Recomputes the interval from the data: the margin of the hyperplane, and the distance between the points
/// given by the multipliers.
pub fn recompute_separation(examples: &mut dyn Examples, claims: &[Separation]) -> Result<Vec<Separation>> {
    struct Part {
        least: f64,
        point: Vec<f64>,
        multipliers: [FxHashMap<u64, f64>; 2],
        totals: [f64; 2],
        found: usize,
        honest: bool,
    }
    let features = claims
        .iter()
        .map(|claim| claim.hyperplane.weights.len())
        .max()
        .unwrap_or_default();
    let mut parts: Vec<Part> = claims
        .iter()
        .map(|claim| Part {
            least: f64::INFINITY,
            point: vec![0.0; features],
            multipliers: [&claim.positive, &claim.negative].map(|list| list.iter().copied().collect()),
            // Dividing by the sum makes the multipliers convex weights despite rounding.
            totals: [&claim.positive, &claim.negative].map(|list| list.iter().map(|&(_, m)| m).sum()),
            found: 0,
            honest: [&claim.positive, &claim.negative]
                .iter()
                .all(|list| list.iter().all(|&(_, m)| m >= 0.0)),
        })
        .collect();
    let _ = examples.pass(0, &mut |example| {
        for (k, (part, claim)) in parts.iter_mut().zip(claims).enumerate() {
            let y = label(example.class, k, claims.len());
            part.least = part.least.min(y * claim.hyperplane.score(example.row));
            for side in 0..2 {
                let Some(multiplier) = part.multipliers[side].get(&example.id) else {
                    continue;
                };
                part.found += 1;
                // A row of the other class in a hull invalidates the proof.
                part.honest &= !claim.intercept || (y > 0.0) == (side == 0);
                example
                    .row
                    .add_to(y * multiplier / part.totals[side], &mut part.point);
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(parts
        .into_iter()
        .zip(claims)
        .map(|(part, claim)| {
            let norm = claim.hyperplane.norm();
            let distance = dense::squared_norm(&part.point).sqrt();
            // Rows that are not in the data, or are listed twice, would make the distance too small.
            let complete = part.found == claim.positive.len() + claim.negative.len()
                && part.totals[0] > 0.0
                && (part.totals[1] > 0.0) == claim.intercept;
            Separation {
                lower: if norm > 0.0 { part.least / norm } else { 0.0 },
                upper: match (part.honest && complete, claim.intercept) {
                    (false, _) => f64::MAX,
                    (true, true) => distance / 2.0,
                    (true, false) => distance,
                },
                ..claim.clone()
            }
        })
        .collect())
}
