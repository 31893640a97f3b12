//! The pocket algorithm with ratchet (Gallant 1990): a perceptron runs, and the best hyperplane it has
//! held, by training error, is kept in the pocket.
//!
//! Counting errors takes a pass over the data, so a hyperplane is a candidate only when it has classified
//! more examples in a row than the one in the pocket had, and at the end of every pass. The ratchet: a
//! candidate goes into the pocket only if it makes fewer errors on the whole set.

use rayon::prelude::*;

use crate::data::{Dataset, Row};
use crate::model::Hyperplane;
use crate::online::{Change, Learner, Perceptron, Seen, label};

/// A perceptron with a pocket.
#[derive(Debug, Clone)]
pub struct Pocket<'a> {
    perceptron: Perceptron,
    data: &'a Dataset,
    codes: &'a [u32],
    discriminant: usize,
    discriminants: usize,
    best: Hyperplane,
    best_error: f64,
    best_run: u64,
    run: u64,
    /// Whether the current hyperplane has been compared with the one in the pocket.
    checked: bool,
}

impl<'a> Pocket<'a> {
    /// Gives a perceptron a pocket; the errors are counted for this discriminant on these data.
    pub fn new(
        perceptron: Perceptron,
        data: &'a Dataset,
        codes: &'a [u32],
        discriminant: usize,
        discriminants: usize,
    ) -> Self {
        let mut pocket = Pocket {
            best: perceptron.hyperplane().clone(),
            perceptron,
            data,
            codes,
            discriminant,
            discriminants,
            best_error: f64::INFINITY,
            best_run: 0,
            run: 0,
            checked: false,
        };
        pocket.compare();
        pocket
    }

    /// The hyperplane in the pocket.
    pub fn best(&self) -> &Hyperplane {
        &self.best
    }

    /// Its error on the whole set: the share of the weight that it classifies wrongly.
    pub fn best_error(&self) -> f64 {
        self.best_error
    }

    fn compare(&mut self) {
        if self.checked {
            return;
        }
        self.checked = true;
        let error = self.error(self.perceptron.hyperplane());
        if error < self.best_error {
            self.best_error = error;
            self.best_run = self.run;
            self.best.clone_from(self.perceptron.hyperplane());
        }
    }

    fn error(&self, hyperplane: &Hyperplane) -> f64 {
        // Fixed blocks, summed in order: the same bits for any number of threads.
        const BLOCK: usize = 4096;
        let ties = self.perceptron.rule().ties;
        let sums: Vec<(f64, f64)> = self
            .codes
            .par_chunks(BLOCK)
            .enumerate()
            .map(|(block, codes)| {
                let mut sums = (0.0, 0.0);
                for (i, &class) in (block * BLOCK..).zip(codes) {
                    let positive = label(class, self.discriminant, self.discriminants) > 0.0;
                    let weight = self.data.weight(i);
                    sums.1 += weight;
                    if ties.is_positive(hyperplane.score(self.data.design.row(i))) != positive {
                        sums.0 += weight;
                    }
                }
                sums
            })
            .collect();
        let (wrong, total) = sums
            .iter()
            .fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
        if total > 0.0 { wrong / total } else { 0.0 }
    }
}

impl Learner for Pocket<'_> {
    fn see(&mut self, id: u64, x: Row<'_>, y: f64, weight: f64) -> Seen {
        let seen = self.perceptron.see(id, x, y, weight);
        if seen.change == Change::None {
            self.run += 1;
            if self.run > self.best_run {
                self.compare();
            }
        } else {
            self.run = 0;
            self.checked = false;
        }
        seen
    }

    fn hyperplane(&self) -> &Hyperplane {
        self.perceptron.hyperplane()
    }

    fn end_pass(&mut self) {
        self.compare();
    }
}
