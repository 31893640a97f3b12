//! The averaged perceptron (Y. Freund and R. E. Schapire, Large margin classification using the perceptron
//! algorithm, Machine Learning 37, 1999; M. Collins, Discriminative training methods for hidden Markov models,
//! EMNLP 2002): the mean of all hyperplanes of the run, each weighted by the number of examples for which it was
//! the current one.
//!
//! Let `wₜ` be the weights before example `t`, and `w_{T+1}` the last ones. The prediction uses `Σ wₜ / (T+1)`.
//! An update `Δₜ` made at example `t` is contained in the `T+1−t` hyperplanes that follow, so the sum is `(T+1)·w
//! − Σ t·Δₜ`. This takes two sparse updates per mistake, and none otherwise.

use crate::online::{Change, Learner, Perceptron, Seen};
use wstar_data::Row;
use wstar_data::linear::Hyperplane;

/// A perceptron that accumulates the mean of its hyperplanes.
#[derive(Debug, Clone)]
pub struct Averaged {
    perceptron: Perceptron,
    /// `Σ t·Δₜ`.
    late: Hyperplane,
    examples: u64,
}

impl Averaged {
    /// Averages the hyperplanes of this perceptron, starting with the current one.
    pub fn new(perceptron: Perceptron) -> Self {
        let features = perceptron.hyperplane().weights.len();
        Averaged {
            perceptron,
            late: Hyperplane::zero(features),
            examples: 0,
        }
    }

    /// The mean of all hyperplanes so far.
    pub fn mean(&self) -> Hyperplane {
        let moments = (self.examples + 1) as f64;
        let last = self.perceptron.hyperplane();
        Hyperplane::new(
            last.weights
                .iter()
                .zip(&self.late.weights)
                .map(|(w, late)| w - late / moments)
                .collect(),
            last.intercept - self.late.intercept / moments,
        )
    }
}

impl Learner for Averaged {
    fn see(&mut self, id: u64, x: Row<'_>, y: f64, weight: f64) -> Seen {
        self.examples += 1;
        let seen = self.perceptron.see(id, x, y, weight);
        if let Change::Add(step) = seen.change {
            let intercept = self.perceptron.rule().intercept;
            self.late.add(self.examples as f64 * step, x, intercept);
        }
        seen
    }

    fn errs(&self, score: f64, y: f64) -> bool {
        self.perceptron.errs(score, y)
    }

    fn hyperplane(&self) -> &Hyperplane {
        self.perceptron.hyperplane()
    }
}
