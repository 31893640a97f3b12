//! Minimax estimation from a non-random training set: prototypes chosen by a designer, not a random sample.
//!
//! Problem: θₖ = argmax over θ of the smallest p(x | k, θ) among the prototypes x of class k. For a Gaussian
//! with identity covariance and mean c this is the smallest enclosing ball, min over c of maxᵢ ‖xᵢ − c‖, and
//! the number of repetitions of a prototype does not matter. The dual is max over λ ≥ 0, Σλ = 1 of
//! Σ λᵢ‖xᵢ‖² − ‖Σ λᵢxᵢ‖², and every feasible dual value is at most R*². A centre and multipliers therefore certify
//! an interval: lo ≤ R* ≤ hi.
//!
//! - `ball`: a ball, and the interval for the smallest radius.
//! - `enclosing_ball`: the smallest enclosing ball, by an active set of support points.
//! - `distance`: distances without cancellation.

mod ball;
mod distance;
mod enclosing_ball;

pub use ball::{Ball, interval, relative_gap};

use serde::{Deserialize, Serialize};

use crate::bayes::weighted_rows::Sample;
use crate::scoring::{Linear, Scorer};
use wstar_data::Dataset;
use wstar_data::error::{Error, Result};
use wstar_numeric::dense;

/// The smallest enclosing ball of each class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Minimax {
    /// One ball per class.
    pub balls: Vec<Ball>,
}

impl Minimax {
    /// The nearest-centre rule as linear functions: wₖ = cₖ, bₖ = −½‖cₖ‖².
    ///
    /// The corresponding densities are Gaussians with identity covariance and equal priors. The mean of the centres
    /// is used as the origin, which changes all scores of a row by the same amount.
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

    /// The largest relative gap of all balls.
    pub fn relative_gap(&self) -> f64 {
        self.balls.iter().map(Ball::relative_gap).fold(0.0, f64::max)
    }
}

/// Computes the smallest enclosing ball of each class. Rows of weight 0 are left out; other weights and
/// repetitions have no effect.
pub fn fit(data: &Dataset) -> Result<Minimax> {
    let sample = Sample::new(data)?;
    let means = sample.means();
    let balls = sample
        .rows_by_class()
        .iter()
        .zip(&means)
        .map(|(rows, mean)| enclosing_ball::enclose(data.design(), rows, mean))
        .collect();
    Ok(Minimax { balls })
}

/// Recomputes the interval [lo, hi] of every ball from the data, the centre and the multipliers.
pub fn verify(data: &Dataset, minimax: &Minimax) -> Result<Vec<(f64, f64)>> {
    let sample = Sample::new(data)?;
    if minimax.balls.len() != sample.classes.len()
        || !minimax.balls.iter().all(|ball| ball.is_whole(data.features()))
    {
        return Err(Error::model("the balls of the model do not fit the data").in_file(data.source()));
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
                .in_file(data.source()));
            }
            Ok(interval(
                data.design(),
                rows,
                &ball.centre,
                &ball.support,
                &ball.multipliers,
            ))
        })
        .collect()
}
