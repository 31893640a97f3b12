//! The maximum margin by dual ascent, for problems with too many columns for a dense factor, such as text.
//!
//! Problem: minimise ½‖Σαᵢyᵢxᵢ‖² − Σαᵢ subject to α ≥ 0 and, with an intercept, Σαᵢyᵢ = 0.
//!
//! The method is dual coordinate descent in random order (C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S.
//! Keerthi and S. Sundararajan, A dual coordinate descent method for large-scale linear SVM, ICML 2008).
//! The equality constraint is handled by an augmented Lagrangian, whose multiplier is the intercept.
//! Coordinate descent converges slowly near the optimum, so conjugate gradients then solve on the face of
//! the positive multipliers. Memory is w and α only. If no hyperplane separates, the multipliers grow
//! without bound, and those of a circuit grow fastest.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::exact::Signed;
use crate::margin::search_budget::Session;
use wstar_data::linear::Hyperplane;
use wstar_numeric::dense::{axpy, dot, squared_norm};

/// Epochs of coordinate descent per round. Heuristic: trades progress per round for the cost of measuring
/// it; not measured yet.
const EPOCHS: usize = 6;
/// Cap: conjugate gradient steps on one face; the step found so far is used beyond it.
const STEPS: usize = 200;
/// Cap: faces per round; a face is left when a multiplier reaches 0, and the next round continues beyond
/// it.
const FACES: usize = 30;
/// Penalty of the augmented Lagrangian, relative to the mean squared norm of the rows. Heuristic: trades
/// the balance Σαᵢyᵢ for the conditioning of w; not measured yet.
const PENALTY_FACTOR: f64 = 0.1;

/// Bounds on the maximum margin from one iterate.
#[derive(Debug, Clone)]
pub(super) struct Measured {
    /// The hyperplane, with its optimal intercept.
    pub(super) plane: Hyperplane,
    /// Its margin, a lower bound; not positive if the hyperplane does not separate.
    pub(super) lower: f64,
    /// An upper bound on every margin.
    pub(super) upper: f64,
}

impl Measured {
    /// The relative gap between the bounds.
    pub(super) fn gap(&self) -> f64 {
        if self.upper > 0.0 {
            (self.upper - self.lower) / self.upper
        } else {
            0.0
        }
    }
}

/// The state of dual ascent on some rows.
pub(super) struct Ascent<'a> {
    signed: Signed<'a>,
    rows: Vec<usize>,
    squares: Vec<f64>,
    alpha: Vec<f64>,
    weights: Vec<f64>,
    /// The intercept is `offset + rho·Σαᵢyᵢ`; `balance` is Σαᵢyᵢ.
    offset: f64,
    rho: f64,
    balance: f64,
    random: ChaCha8Rng,
}

impl<'a> Ascent<'a> {
    /// Starts with all multipliers 0.
    pub(super) fn new(signed: Signed<'a>, rows: &[usize]) -> Self {
        let squares: Vec<f64> = rows
            .iter()
            .map(|&i| signed.design.row(i).squared_norm())
            .collect();
        let mean = squares.iter().sum::<f64>() / squares.len().max(1) as f64;
        Ascent {
            alpha: vec![0.0; rows.len()],
            weights: vec![0.0; signed.design.features()],
            rows: rows.to_vec(),
            squares,
            offset: 0.0,
            rho: if signed.intercept {
                PENALTY_FACTOR * mean
            } else {
                0.0
            },
            balance: 0.0,
            random: ChaCha8Rng::seed_from_u64(0),
            signed,
        }
    }

    fn label(&self, k: usize) -> f64 {
        f64::from(self.signed.signs[self.rows[k]])
    }

    fn project(&self, k: usize, w: &[f64]) -> f64 {
        self.signed.design.row(self.rows[k]).dot(w)
    }

    /// The rows with a positive multiplier.
    pub(super) fn multipliers(&self) -> Vec<(usize, f64)> {
        let positive = self.rows.iter().zip(&self.alpha).filter(|&(_, &a)| a > 0.0);
        positive.map(|(&i, &a)| (i, a)).collect()
    }

    /// `EPOCHS` epochs of coordinate descent. The first visits all rows, each later one only the rows near
    /// the margin.
    fn descend(&mut self) {
        let mut near: Vec<usize> = (0..self.rows.len()).collect();
        for epoch in 0..EPOCHS {
            near.shuffle(&mut self.random);
            let mut kept = Vec::with_capacity(near.len());
            for &k in &near {
                let y = self.label(k);
                let intercept = self.offset + self.rho * self.balance;
                let missing = 1.0 - y * (self.project(k, &self.weights) + intercept);
                let curvature = self.squares[k] + self.rho;
                if curvature <= 0.0 {
                    continue;
                }
                let step = (missing / curvature).max(-self.alpha[k]);
                if step != 0.0 {
                    self.alpha[k] += step;
                    self.balance += step * y;
                    self.signed
                        .design
                        .row(self.rows[k])
                        .add_to(step * y, &mut self.weights);
                }
                // A row is near the margin if its score is below 1.5. Heuristic: trades the time of an epoch for
                // rows that are left out too early; not measured yet.
                if self.alpha[k] > 0.0 || missing > -0.5 {
                    kept.push(k);
                }
            }
            near = kept;
            if epoch + 1 == EPOCHS {
                self.offset += self.rho * self.balance;
            }
        }
    }

    /// Makes Σαᵢyᵢ = 0 by shrinking the multipliers of the heavier class, and recomputes w from the
    /// multipliers.
    fn settle(&mut self) {
        if self.signed.intercept {
            let sum = |y: i8| -> f64 {
                let own = self
                    .rows
                    .iter()
                    .zip(&self.alpha)
                    .filter(|&(&i, _)| self.signed.signs[i] == y);
                own.map(|(_, a)| a).sum()
            };
            let (positive, negative) = (sum(1), sum(-1));
            let least = positive.min(negative);
            for (&i, a) in self.rows.iter().zip(&mut self.alpha) {
                let own = if self.signed.signs[i] > 0 {
                    positive
                } else {
                    negative
                };
                if own > 0.0 {
                    *a *= least / own;
                }
            }
        }
        self.balance = 0.0;
        self.weights.fill(0.0);
        for (&i, &a) in self.rows.iter().zip(&self.alpha) {
            if a > 0.0 {
                self.signed
                    .design
                    .row(i)
                    .add_to(a * f64::from(self.signed.signs[i]), &mut self.weights);
            }
        }
    }

    /// Maximises the dual over the positive multipliers, one face after another.
    fn climb(&mut self, gap: f64, session: &mut Session<'_>) {
        self.settle();
        for _ in 0..FACES {
            let face: Vec<usize> = (0..self.rows.len()).filter(|&k| self.alpha[k] > 0.0).collect();
            if face.len() < 2 || session.stop() {
                return;
            }
            // Heuristic: the residual of a face relative to the gap; not measured yet.
            let (step, weights) = self.conjugate(&face, (0.01 * gap).clamp(1e-12, 0.01));
            let mut length = 1.0f64;
            for (&k, &s) in face.iter().zip(&step) {
                if s < 0.0 {
                    length = length.min(self.alpha[k] / -s);
                }
            }
            for (&k, &s) in face.iter().zip(&step) {
                let moved = self.alpha[k] + length * s;
                // Derived: 50 machine epsilons; the multiplier is 0 up to rounding.
                self.alpha[k] = if moved <= 1e-14 * self.alpha[k].abs() {
                    0.0
                } else {
                    moved
                };
            }
            axpy(length, &weights, &mut self.weights);
            if length >= 1.0 {
                break;
            }
        }
        self.settle();
        if self.signed.intercept {
            // The intercept that fits the rows of the face best in the least-squares sense.
            let face: Vec<usize> = (0..self.rows.len()).filter(|&k| self.alpha[k] > 0.0).collect();
            let sum: f64 = face
                .iter()
                .map(|&k| self.label(k) - self.project(k, &self.weights))
                .sum();
            self.offset = sum / face.len().max(1) as f64;
        }
    }

    /// The step to the maximum over the multipliers of the face with Σαᵢyᵢ fixed, and the change of w, by
    /// conjugate gradients. The iteration ends when the norm of the residual is at most `accuracy` times
    /// its first value.
    fn conjugate(&self, face: &[usize], accuracy: f64) -> (Vec<f64>, Vec<f64>) {
        let labels: Vec<f64> = face.iter().map(|&k| self.label(k)).collect();
        let level = |x: &mut [f64]| {
            if self.signed.intercept {
                let mean = dot(&labels, x) / labels.len() as f64;
                axpy(-mean, &labels, x);
            }
        };
        let mut rest: Vec<f64> = face
            .iter()
            .zip(&labels)
            .map(|(&k, y)| 1.0 - y * self.project(k, &self.weights))
            .collect();
        level(&mut rest);
        let mut direction = rest.clone();
        let mut step = vec![0.0; face.len()];
        let mut added = vec![0.0; self.weights.len()];
        let mut square = squared_norm(&rest);
        let goal = square * accuracy * accuracy;
        for _ in 0..STEPS.min(2 * face.len()) {
            let mut along = vec![0.0; self.weights.len()];
            for ((&k, y), d) in face.iter().zip(&labels).zip(&direction) {
                self.signed.design.row(self.rows[k]).add_to(y * d, &mut along);
            }
            let curvature = squared_norm(&along);
            if curvature <= 0.0 || square <= goal {
                break;
            }
            let length = square / curvature;
            axpy(length, &direction, &mut step);
            axpy(length, &along, &mut added);
            let mut image: Vec<f64> = face
                .iter()
                .zip(&labels)
                .map(|(&k, y)| y * self.project(k, &along))
                .collect();
            level(&mut image);
            axpy(-length, &image, &mut rest);
            let next = squared_norm(&rest);
            let ratio = next / square;
            square = next;
            direction
                .iter_mut()
                .zip(&rest)
                .for_each(|(d, r)| *d = r + ratio * *d);
        }
        (step, added)
    }

    /// The bounds on the margin that follow from w and α.
    pub(super) fn measure(&self) -> Measured {
        let (mut least, mut largest) = (f64::INFINITY, f64::NEG_INFINITY);
        let mut sums = [0.0; 2];
        let mut points = vec![vec![0.0; self.weights.len()]; if self.signed.intercept { 2 } else { 1 }];
        for (k, &i) in self.rows.iter().enumerate() {
            let projection = self.project(k, &self.weights);
            let y = self.signed.signs[i];
            match (self.signed.intercept, y > 0) {
                (true, true) => least = least.min(projection),
                (true, false) => largest = largest.max(projection),
                (false, _) => least = least.min(projection * f64::from(y)),
            }
            if self.alpha[k] > 0.0 {
                let side = usize::from(self.signed.intercept && y < 0);
                sums[side] += self.alpha[k];
                self.signed
                    .design
                    .row(i)
                    .add_to(self.alpha[k] * f64::from(y), &mut points[side]);
            }
        }
        let norm = squared_norm(&self.weights).sqrt();
        let mut point = vec![0.0; self.weights.len()];
        points
            .iter()
            .zip(sums)
            .for_each(|(p, sum)| axpy(1.0 / sum, p, &mut point));
        let distance = squared_norm(&point).sqrt();
        let (intercept, margin, upper) = if self.signed.intercept {
            (-(least + largest) / 2.0, (least - largest) / 2.0, distance / 2.0)
        } else {
            (0.0, least, distance)
        };
        Measured {
            plane: Hyperplane::new(self.weights.clone(), intercept),
            lower: if norm > 0.0 {
                margin / norm
            } else {
                f64::NEG_INFINITY
            },
            upper: if upper.is_finite() { upper } else { f64::INFINITY },
        }
    }

    /// One round: coordinate descent, then the face if `largest` is set. Returns the bounds that were
    /// reached.
    pub(super) fn round(&mut self, largest: bool, session: &mut Session<'_>) -> Measured {
        self.descend();
        let before = self.measure();
        // Unless w separates, the positive multipliers do not identify the optimal face, and the dual may
        // be unbounded.
        let measured = if largest && before.lower > 0.0 {
            let kept = (
                self.alpha.clone(),
                self.weights.clone(),
                self.offset,
                self.balance,
            );
            self.climb(before.gap(), session);
            let after = self.measure();
            if after.gap() <= before.gap() {
                after
            } else {
                (self.alpha, self.weights, self.offset, self.balance) = kept;
                before
            }
        } else {
            before
        };
        let _ = session.record_pass(self.rows.len(), usize::from(measured.lower <= 0.0));
        measured
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use wstar_data::Design;
    use wstar_data::run::{Budget, Unwatched};

    #[test]
    fn bounds_converge_on_separable_rows() {
        let mut random = ChaCha8Rng::seed_from_u64(9);
        for trial in 0..40 {
            let (n, d) = (30 + trial, 3 + trial % 5);
            let intercept = trial % 2 == 0;
            let rows: Vec<Vec<f64>> = (0..n)
                .map(|_| {
                    (0..d)
                        .map(|_| random.random_range(-1.0..1.0))
                        .collect::<Vec<f64>>()
                })
                .filter(|x| (x[0] - x[1] + 0.5 * x[2]).abs() > 0.1)
                .collect();
            let signs: Vec<i8> = rows
                .iter()
                .map(|x| if x[0] - x[1] + 0.5 * x[2] > 0.0 { 1 } else { -1 })
                .collect();
            let design = Design::from_rows(&rows).unwrap();
            let signed = Signed {
                design: &design,
                signs: &signs,
                intercept,
            };
            let all: Vec<usize> = (0..rows.len()).collect();
            let mut watch = Unwatched;
            let mut session = Session::start(Budget::default(), &mut watch);
            let mut ascent = Ascent::new(signed, &all);
            let gap = (0..200)
                .map(|_| ascent.round(true, &mut session).gap())
                .find(|&gap| gap <= 1e-9);
            assert!(gap.is_some_and(|gap| gap > -1e-12), "{:?}", ascent.measure());
        }
    }
}
