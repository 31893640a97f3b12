//! Learning from a non-random training set: prototypes that a designer chose, not a sample.
//!
//! Problem: θₖ = argmax over θ of the smallest p(x | k, θ) among the prototypes x of class k. For a Gaussian
//! with identity covariance and mean c that is the smallest enclosing ball, min over c of maxᵢ ‖xᵢ − c‖, and
//! how often a prototype occurs does not matter. Its dual: max over λ ≥ 0, Σλ = 1 of
//! Σ λᵢ‖xᵢ‖² − ‖Σ λᵢxᵢ‖², whose every feasible value is at most R*². So a centre and multipliers prove each
//! other: lo ≤ R* ≤ hi.

mod distance;
mod support;

use serde::{Deserialize, Serialize};

use super::sample::Sample;
use super::score::{Linear, Scorer};
use crate::data::{Dataset, Design};
use crate::error::{Error, Result};
use crate::kernel::dense;
use distance::{squared_distance, squared_distances};

/// The smallest enclosing ball of one class, with what proves it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ball {
    /// The centre.
    pub centre: Vec<f64>,
    /// The largest distance of a prototype from the centre: at least R*.
    pub radius: f64,
    /// What the multipliers prove: at most R*.
    pub lower: f64,
    /// The rows of the training set that hold the ball in place.
    pub support: Vec<usize>,
    /// The weight of each of them in the convex combination that is the centre.
    pub multipliers: Vec<f64>,
}

impl Ball {
    /// (hi − lo) / hi: how far at most the radius is from the smallest one.
    pub fn relative_gap(&self) -> f64 {
        relative_gap(self.lower, self.radius)
    }

    pub(crate) fn is_whole(&self, features: usize) -> bool {
        self.centre.len() == features
            && self.centre.iter().all(|c| c.is_finite())
            && self.radius.is_finite()
            && self.radius >= 0.0
            && self.support.len() == self.multipliers.len()
            && self.multipliers.iter().all(|m| m.is_finite() && *m >= 0.0)
    }
}

/// (hi − lo) / hi, and 0 for a ball that is a point.
pub fn relative_gap(lower: f64, upper: f64) -> f64 {
    if upper > 0.0 { (upper - lower) / upper } else { 0.0 }
}

/// The smallest enclosing ball of each class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Minimax {
    /// One ball a class.
    pub balls: Vec<Ball>,
}

impl Minimax {
    /// The nearest centre, as linear functions: wₖ = cₖ, bₖ = −½‖cₖ‖².
    ///
    /// As densities they are Gaussians of identity covariance and equal priors; the middle of the centres
    /// is taken as origin, which changes all scores of a row by the same amount.
    pub fn scorer(&self) -> Scorer {
        let features = self.balls.first().map_or(0, |ball| ball.centre.len());
        let middle: Vec<f64> = (0..features)
            .map(|j| self.balls.iter().map(|ball| ball.centre[j]).sum::<f64>() / self.balls.len() as f64)
            .collect();
        let weights: Vec<Vec<f64>> = self
            .balls
            .iter()
            .map(|ball| ball.centre.iter().zip(&middle).map(|(c, m)| c - m).collect())
            .collect();
        let intercepts = weights
            .iter()
            .map(|w| -dense::dot(w, &middle) - 0.5 * dense::squared_norm(w))
            .collect();
        Scorer::Linear(Linear {
            weights,
            intercepts,
            threshold: None,
        })
    }

    /// The largest relative gap of a ball.
    pub fn relative_gap(&self) -> f64 {
        self.balls.iter().map(Ball::relative_gap).fold(0.0, f64::max)
    }
}

/// Finds the smallest enclosing ball of each class. Rows of weight 0 are left out; other weights, like
/// repetitions, do not matter.
pub fn fit(data: &Dataset) -> Result<Minimax> {
    let sample = Sample::new(data)?;
    let means = sample.means();
    let balls = sample
        .rows_by_class()
        .iter()
        .zip(&means)
        .map(|(rows, mean)| support::enclose(&data.design, rows, mean))
        .collect();
    Ok(Minimax { balls })
}

/// Recomputes [lo, hi] of every ball from the data, the centres and the multipliers alone.
pub fn verify(data: &Dataset, minimax: &Minimax) -> Result<Vec<(f64, f64)>> {
    let sample = Sample::new(data)?;
    if minimax.balls.len() != sample.classes.len()
        || !minimax.balls.iter().all(|ball| ball.is_whole(data.features()))
    {
        return Err(Error::model("the balls of the model do not fit the data").in_file(&data.source));
    }
    sample
        .rows_by_class()
        .iter()
        .zip(&minimax.balls)
        .enumerate()
        .map(|(k, (rows, ball))| {
            if let Some(i) = ball.support.iter().find(|i| rows.binary_search(i).is_err()) {
                return Err(Error::model(format!(
                    "row {i}, a support point of class {}, is not a row of that class",
                    sample.shown(k)
                ))
                .in_file(&data.source));
            }
            Ok(interval(
                &data.design,
                rows,
                &ball.centre,
                &ball.support,
                &ball.multipliers,
            ))
        })
        .collect()
}

/// [lo, hi] for the radius of the smallest ball around the given rows: hi is the largest distance from the
/// centre; lo² = Σλ‖x − c‖² − ‖Σλ(x − c)‖² over the support, the dual value, taken about the centre so that
/// no digits are lost. Multipliers are first scaled to sum to 1; negative ones prove nothing and give lo = 0.
pub fn interval(
    design: &Design,
    rows: &[usize],
    centre: &[f64],
    support: &[usize],
    multipliers: &[f64],
) -> (f64, f64) {
    let upper = squared_distances(design, rows, centre)
        .into_iter()
        .fold(0.0, f64::max)
        .sqrt();
    let total: f64 = multipliers.iter().sum();
    if !(total.is_finite() && total > 0.0 && multipliers.iter().all(|&m| m >= 0.0)) {
        return (0.0, upper);
    }
    let mut spread = 0.0;
    let mut mean = vec![0.0; centre.len()];
    for (&i, multiplier) in support.iter().zip(multipliers) {
        let share = multiplier / total;
        let row = design.row(i);
        spread += share * squared_distance(row, centre, dense::squared_norm(centre));
        row.add_to(share, &mut mean);
        dense::axpy(-share, centre, &mut mean);
    }
    let lower = (spread - dense::squared_norm(&mean)).max(0.0).sqrt();
    (lower.min(upper), upper)
}
