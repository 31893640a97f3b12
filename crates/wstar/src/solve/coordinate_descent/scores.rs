//! The rows' side of the working set's steps: the score of every row, and the loss's slope and curvature
//! there. A step along a line and the best intercept need nothing else, and so read no row.

use rayon::prelude::*;

use crate::loss::{Loss, LossName, on_loss};
use crate::oracle::{LinePoint, Rows};

/// Rows whose losses are summed together, whatever the number of threads.
const BLOCK: usize = 4096;
/// Steps towards the best intercept at most: Newton takes a few, halving a bracket sixty.
const MOST_STEPS: usize = 100;

/// Scores, and what the loss makes of them.
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
    /// At these scores.
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

    /// Brings slopes, curvatures and the value up to date with the scores.
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

    /// The loss a part of a step away, with its slope and curvature.
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

    /// Goes to other scores.
    pub(super) fn replace(&mut self, scores: Vec<f64>) {
        self.scores = scores;
        self.differentiate();
    }

    /// Moves the scores by step·q.
    pub(super) fn advance(&mut self, along: &[f64], step: f64) {
        crate::kernel::dense::axpy(step, along, &mut self.scores);
        self.differentiate();
    }

    /// Adds to all scores what makes the loss least, by Newton's method within a bracket; gives what was added.
    pub(super) fn centre(&mut self) -> f64 {
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        let mut moved = 0.0;
        let size: f64 = self.slopes.iter().map(|slope| slope.abs()).sum();
        for _ in 0..MOST_STEPS {
            let slope: f64 = self.slopes.iter().sum();
            let curvature: f64 = self.curvatures.iter().sum();
            if slope.abs() <= 1e-15 * size {
                break;
            }
            if slope > 0.0 {
                high = moved;
            } else {
                low = moved;
            }
            // A flat loss makes Newton leap; no leap of more than 10 is needed to cross a score of its own size.
            let leap = (slope / curvature).clamp(-10.0, 10.0);
            let mut next = if curvature > 0.0 {
                moved - leap
            } else {
                moved - 10.0 * slope.signum()
            };
            if next <= low || next >= high {
                next = 0.5 * (low + high);
            }
            let by = next - moved;
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
