//! The largest margin where the columns are too many for a matrix of their own size: text, above all.
//!
//! Minimise ½‖Σαᵢyᵢxᵢ‖² − Σαᵢ subject to α ≥ 0 and, with an intercept, Σαᵢyᵢ = 0: one multiplier at a time in random
//! order (Hsieh et al. 2008), the intercept being the multiplier of the last condition (augmented Lagrangian);
//! and, since that creeps towards the end, conjugate gradients on the face of the positive multipliers. Only w and α
//! are held. If no hyperplane separates, the multipliers grow without end, those of a circuit most.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::session::Session;
use crate::exact::Signed;
use crate::kernel::dense::{axpy, dot, squared_norm};
use crate::model::Hyperplane;

/// Epochs between two measurements.
const EPOCHS: usize = 6;
/// Steps of conjugate gradients at a time.
const STEPS: usize = 200;
/// Faces tried at a time: each is left where a multiplier reaches 0.
const FACES: usize = 30;
/// The intercept's share in the squared norm of a row, while it is being found.
const SHARE: f64 = 0.1;

/// What an interval of the margin is made from.
#[derive(Debug, Clone)]
pub(super) struct Measured {
    /// The hyperplane with its best intercept.
    pub(super) plane: Hyperplane,
    /// Its margin; not positive if it does not separate.
    pub(super) lower: f64,
    /// No margin is larger.
    pub(super) upper: f64,
}

impl Measured {
    /// How much is missing, relatively.
    pub(super) fn gap(&self) -> f64 {
        if self.upper > 0.0 {
            (self.upper - self.lower) / self.upper
        } else {
            0.0
        }
    }
}

/// Dual ascent over some rows.
pub(super) struct Ascent<'a> {
    signed: Signed<'a>,
    rows: Vec<usize>,
    squares: Vec<f64>,
    alpha: Vec<f64>,
    weights: Vec<f64>,
    /// The intercept is `offset + rho·Σαᵢyᵢ`.
    offset: f64,
    rho: f64,
    balance: f64,
    random: ChaCha8Rng,
}

impl<'a> Ascent<'a> {
    /// All multipliers 0.
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
            rho: if signed.intercept { SHARE * mean } else { 0.0 },
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

    /// Some epochs over the rows that are near the margin, the first over all.
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

    /// Makes Σαᵢyᵢ = 0 by shrinking the heavier class, and w what the multipliers say.
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

    /// Maximises over the positive multipliers, one face after another.
    fn climb(&mut self, gap: f64, session: &mut Session<'_>) {
        self.settle();
        for _ in 0..FACES {
            let face: Vec<usize> = (0..self.rows.len()).filter(|&k| self.alpha[k] > 0.0).collect();
            if face.len() < 2 || session.stop() {
                return;
            }
            let (step, weights) = self.conjugate(&face, (0.01 * gap).clamp(1e-12, 0.01));
            let mut length = 1.0f64;
            for (&k, &s) in face.iter().zip(&step) {
                if s < 0.0 {
                    length = length.min(self.alpha[k] / -s);
                }
            }
            for (&k, &s) in face.iter().zip(&step) {
                let moved = self.alpha[k] + length * s;
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
            // The intercept that the rows of the face agree on best.
            let face: Vec<usize> = (0..self.rows.len()).filter(|&k| self.alpha[k] > 0.0).collect();
            let sum: f64 = face
                .iter()
                .map(|&k| self.label(k) - self.project(k, &self.weights))
                .sum();
            self.offset = sum / face.len().max(1) as f64;
        }
    }

    /// The step to the maximum over these multipliers with Σαᵢyᵢ kept, and what it adds to w: as far as the slopes
    /// have shrunk to this part of what they were.
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

    /// The interval of the margin that w and α give.
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

    /// One round: some epochs, then the face if the largest margin is wanted; and where that has come to.
    pub(super) fn round(&mut self, largest: bool, session: &mut Session<'_>) -> Measured {
        self.descend();
        let before = self.measure();
        // Before anything separates, the face is no guide, and without a separator it has no maximum.
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
        let _ = session.passed(self.rows.len(), usize::from(measured.lower <= 0.0));
        measured
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Design;
    use crate::watch::{Budget, Unwatched};
    use rand::RngExt;

    #[test]
    fn the_interval_closes_on_separable_rows() {
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
