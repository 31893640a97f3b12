//! The pocket algorithm with ratchet (S. I. Gallant, Perceptron-based learning algorithms, IEEE Trans. Neural
//! Networks 1, 1990): a perceptron runs, and the hyperplane with the smallest training error so far is kept in
//! the pocket.
//!
//! Counting errors takes a pass over the data. A hyperplane therefore becomes a candidate only at the end of a
//! pass, or when it has classified more consecutive examples correctly than the pocket hyperplane had. The
//! ratchet: a candidate replaces the pocket hyperplane only if it makes fewer errors on the whole set.

use rayon::prelude::*;

use crate::online::{Change, Learner, Perceptron, Seen, label};
use wstar_data::linear::Hyperplane;
use wstar_data::{Dataset, Row};

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
    /// Whether the current hyperplane has been compared with the pocket hyperplane.
    checked: bool,
    /// Whether the current hyperplane is the pocket hyperplane.
    pocketed: bool,
}

/// Two weighted error rates of a hyperplane: the rate of wrong predictions, and the rate of mistakes, which is larger
/// if some rows score exactly 0. They are compared in this order, so that of two hyperplanes without prediction errors
/// the one that separates is kept.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
struct Errors {
    predicted: f64,
    mistaken: f64,
}

impl<'a> Pocket<'a> {
    /// Adds a pocket to a perceptron; errors are counted for this discriminant on these data.
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

    /// The pocket hyperplane.
    pub fn best(&self) -> &Hyperplane {
        &self.best
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
        // Rows per summation block. Fixed blocks that are summed in order give the same bits for any number of threads.
        // Heuristic: trades scheduling overhead against load balance; not measured yet.
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
                    let score = hyperplane.score(self.data.design().row(i));
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
