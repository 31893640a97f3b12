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
    best_errors: Errors,
    best_run: u64,
    run: u64,
    /// Whether the current hyperplane has been compared with the one in the pocket.
    checked: bool,
    /// Whether the current hyperplane is the one in the pocket.
    pocketed: bool,
}

/// The shares of the weight that a hyperplane predicts wrongly, and that it would still learn from: more,
/// where it scores exactly 0. Compared in this order, so that of two faultless hyperplanes the one that
/// separates is kept.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
struct Errors {
    predicted: f64,
    mistaken: f64,
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
            best_errors: Errors {
                predicted: f64::INFINITY,
                mistaken: f64::INFINITY,
            },
            best_run: 0,
            run: 0,
            checked: false,
            pocketed: false,
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
        self.best_errors.predicted
    }

    fn compare(&mut self) {
        if self.checked {
            return;
        }
        self.checked = true;
        let errors = self.errors(self.perceptron.hyperplane());
        if errors < self.best_errors {
            self.best_errors = errors;
            self.best_run = self.run;
            self.pocketed = true;
            self.best.clone_from(self.perceptron.hyperplane());
        }
    }

    fn errors(&self, hyperplane: &Hyperplane) -> Errors {
        // Fixed blocks, summed in order: the same bits for any number of threads.
        const BLOCK: usize = 4096;
        let ties = self.perceptron.rule().ties;
        let sums: Vec<[f64; 3]> = self
            .codes
            .par_chunks(BLOCK)
            .enumerate()
            .map(|(block, codes)| {
                let mut sums = [0.0; 3];
                for (i, &class) in (block * BLOCK..).zip(codes) {
                    let y = label(class, self.discriminant, self.discriminants);
                    let score = hyperplane.score(self.data.design.row(i));
                    let counted = [
                        ties.is_positive(score) != (y > 0.0),
                        ties.is_mistake(score, y),
                        true,
                    ];
                    let weight = self.data.weight(i);
                    for (sum, counts) in sums.iter_mut().zip(counted) {
                        *sum += if counts { weight } else { 0.0 };
                    }
                }
                sums
            })
            .collect();
        let [wrong, mistaken, total] = sums.iter().fold([0.0; 3], |[a, b, c], part| {
            [a + part[0], b + part[1], c + part[2]]
        });
        let share = |part: f64| if total > 0.0 { part / total } else { 0.0 };
        Errors {
            predicted: share(wrong),
            mistaken: share(mistaken),
        }
    }
}

impl Learner for Pocket<'_> {
    fn see(&mut self, id: u64, x: Row<'_>, y: f64, weight: f64) -> Seen {
        let seen = self.perceptron.see(id, x, y, weight);
        if seen.change == Change::None {
            self.run += 1;
            if self.run > self.best_run {
                if self.pocketed {
                    self.best_run = self.run;
                } else {
                    self.compare();
                }
            }
        } else {
            self.run = 0;
            self.checked = false;
            self.pocketed = false;
        }
        seen
    }

    fn errs(&self, score: f64, y: f64) -> bool {
        self.perceptron.errs(score, y)
    }

    fn hyperplane(&self) -> &Hyperplane {
        self.perceptron.hyperplane()
    }

    fn end_pass(&mut self) {
        self.compare();
    }
}
