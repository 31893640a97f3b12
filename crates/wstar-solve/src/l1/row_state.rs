//! The state of the rows in the steps on a working set: the score of every row, and the slope and curvature
//! of the loss there. A line search and the optimal intercept need nothing else, so they read no rows.

use rayon::prelude::*;
use wstar_problem::on_loss;

use wstar_problem::loss::{Loss, LossName};
use wstar_problem::objective::{LinePoint, Rows};

/// Rows whose losses are summed together. Heuristic: task overhead against parallelism; not measured yet. It
/// is fixed, so that sums do not depend on the number of threads.
const BLOCK: usize = 4096;
/// The most steps towards the optimal intercept. Cap: the last point is kept; Newton's method takes a few,
/// bisection sixty.
const MOST_STEPS: usize = 100;

/// The scores of all rows, with value, slopes and curvatures of the loss.
pub(super) struct Scores<'a> {
    pub(super) rows: &'a Rows<'a>,
    loss: LossName,
    /// zᵢ.
    pub(super) scores: Vec<f64>,
    /// cᵢ ℓ'(zᵢ).
    pub(super) slopes: Vec<f64>,
    /// cᵢ ℓ''(zᵢ).
    pub(super) curvatures: Vec<f64>,
    /// Σ cᵢ ℓ(zᵢ).
    pub(super) value: f64,
}

impl<'a> Scores<'a> {
    /// The state at these scores.
    pub(super) fn new(rows: &'a Rows<'a>, loss: LossName, scores: Vec<f64>) -> Self {
        let zeros = vec![0.0; scores.len()];
        let mut new = Scores {
            rows,
            loss,
            scores,
            slopes: zeros.clone(),
            curvatures: zeros,
            value: 0.0,
        };
        new.differentiate();
        new
    }

    /// Recomputes slopes, curvatures and the value from the scores.
    pub(super) fn differentiate(&mut self) {
        let (rows, loss) = (self.rows, self.loss);
        let values: Vec<f64> = self
            .scores
            .par_chunks(BLOCK)
            .zip(self.slopes.par_chunks_mut(BLOCK))
            .zip(self.curvatures.par_chunks_mut(BLOCK))
            .enumerate()
            .map(|(block, ((scores, slopes), curvatures))| {
                let first = block * BLOCK;
                let mut value = 0.0;
                on_loss!(loss, loss => for (at, &z) in scores.iter().enumerate() {
                    let weight = rows.weights.get(first + at);
                    let (l, slope, curvature) = loss.all(rows.targets[first + at], z);
                    value += weight * l;
                    slopes[at] = weight * slope;
                    curvatures[at] = weight * curvature;
                }, softmax => {});
                value
            })
            .collect();
        self.value = values.iter().sum();
    }

    /// The loss at the scores z + step·along, with its slope and curvature in `step`.
    pub(super) fn along(&self, along: &[f64], step: f64) -> LinePoint {
        let (rows, loss) = (self.rows, self.loss);
        let points: Vec<LinePoint> = self
            .scores
            .par_chunks(BLOCK)
            .zip(along.par_chunks(BLOCK))
            .enumerate()
            .map(|(block, (scores, along))| {
                let first = block * BLOCK;
                let mut sum = LinePoint::default();
                on_loss!(loss, loss => for (at, (z, q)) in scores.iter().zip(along).enumerate() {
                    let weight = rows.weights.get(first + at);
                    let (value, slope, curvature) = loss.all(rows.targets[first + at], z + step * q);
                    sum.value += weight * value;
                    sum.slope += weight * slope * q;
                    sum.curvature += weight * curvature * q * q;
                }, softmax => {});
                sum
            })
            .collect();
        points.iter().fold(LinePoint::default(), |sum, point| LinePoint {
            value: sum.value + point.value,
            slope: sum.slope + point.slope,
            curvature: sum.curvature + point.curvature,
        })
    }

    /// Replaces the scores.
    pub(super) fn replace(&mut self, scores: Vec<f64>) {
        self.scores = scores;
        self.differentiate();
    }

    /// Moves the scores by step·along.
    pub(super) fn advance(&mut self, along: &[f64], step: f64) {
        wstar_numeric::dense::axpy(step, along, &mut self.scores);
        self.differentiate();
    }

    /// Adds the constant to all scores that minimises the loss, by Newton's method within a bracket, and
    /// returns it.
    pub(super) fn optimise_intercept(&mut self) -> f64 {
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        let mut moved = 0.0;
        let size: f64 = self.slopes.iter().map(|slope| slope.abs()).sum();
        for _ in 0..MOST_STEPS {
            let slope: f64 = self.slopes.iter().sum();
            let curvature: f64 = self.curvatures.iter().sum();
            // Derived: a few machine epsilons; the slope is then rounding.
            if slope.abs() <= 1e-15 * size {
                break;
            }
            if slope > 0.0 {
                high = moved;
            } else {
                low = moved;
            }
            // Where the loss is flat, Newton steps are too long. Heuristic: steps of 10 are long relative to margins
            // of about 1 and short relative to an overflow; not measured yet.
            let bounded_step = (slope / curvature).clamp(-10.0, 10.0);
            let mut next = if curvature > 0.0 {
                moved - bounded_step
            } else {
                moved - 10.0 * slope.signum()
            };
            if next <= low || next >= high {
                next = 0.5 * (low + high);
            }
            let by = next - moved;
            // Derived: a step below the unit roundoff is rounding.
            if by == 0.0 || !by.is_finite() || by.abs() <= 1e-16 * next.abs() {
                break;
            }
            self.scores.iter_mut().for_each(|z| *z += by);
            moved = next;
            self.differentiate();
        }
        moved
    }
}
