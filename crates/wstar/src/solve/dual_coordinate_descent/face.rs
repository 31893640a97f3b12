//! Conjugate gradients on a face of the box (Moré and Toraldo 1991): once coordinate descent has found which
//! multipliers are strictly inside, the rest of the way is a linear system in those alone.
//!
//! One more large eigenvalue costs conjugate gradients one more step, so a free intercept's ρ is larger here,
//! and the multiplier of Σα = 0 is found sooner.

use rayon::prelude::*;

use super::State;
use crate::oracle::products::total;
use crate::problem::Intercept;

/// Steps at most: a search costs about as much as this many epochs over the rows inside.
const MOST_STEPS: usize = 30;
/// The face is left when a step gains less than this part of the best step's gain.
const LEAST_GAIN: f64 = 0.05;
/// Halvings of the step along the projected path.
const MOST_HALVINGS: usize = 8;
/// Rows whose pulls are summed together before they are added to those of the others.
const ROWS_A_PULL: usize = 1 << 13;
/// How much larger ρ is on a face.
const MORE_AUGMENTATION: f64 = 10.0;

impl State<'_> {
    /// Minimises over the multipliers inside their boxes, then follows that direction along the box.
    pub(super) fn search_face(&mut self) {
        let inside: Vec<usize> = (0..self.multipliers.len())
            .filter(|&i| self.coordinates[i].is_inside(self.multipliers[i]))
            .collect();
        if inside.is_empty() {
            return;
        }
        let own = self.share;
        if self.intercept == Intercept::Free {
            self.share *= MORE_AUGMENTATION;
        }
        let slopes: Vec<f64> = inside
            .par_iter()
            .map(|&i| self.coordinates[i].slope(self.multipliers[i], self.score(i)))
            .collect();
        let direction = self.conjugate_gradients(&inside, &slopes);
        let whole = self.follow(&inside, &slopes, &direction);
        if self.intercept == Intercept::Free {
            // Of a direction that was cut short, the sum says nothing about the multiplier.
            if whole {
                self.offset += self.share * self.sum;
            }
            self.share = own;
        }
    }

    /// X̃ᵀ of a change: its weights, and its sum.
    fn pull(&self, inside: &[usize], change: &[f64]) -> (Vec<f64>, f64) {
        let pulls: Vec<Vec<f64>> = inside
            .par_chunks(ROWS_A_PULL)
            .zip(change.par_chunks(ROWS_A_PULL))
            .map(|(inside, change)| {
                let mut w = vec![0.0; self.w.len()];
                for (&i, &a) in inside.iter().zip(change) {
                    if a != 0.0 {
                        self.rows.design.row(i).add_to(a / self.l2, &mut w);
                    }
                }
                w
            })
            .collect();
        (total(&pulls), change.iter().sum())
    }

    fn conjugate_gradients(&self, inside: &[usize], slopes: &[f64]) -> Vec<f64> {
        let scales: Vec<f64> = inside
            .iter()
            .map(|&i| {
                let curvature = self.coordinates[i].norm + self.coordinates[i].curve;
                if curvature > 0.0 { 1.0 / curvature } else { 0.0 }
            })
            .collect();
        let mut solution = vec![0.0; inside.len()];
        let mut residual: Vec<f64> = slopes.iter().map(|slope| -slope).collect();
        let scaled = |r: &[f64]| -> Vec<f64> { r.iter().zip(&scales).map(|(r, s)| r * s).collect() };
        let mut direction = scaled(&residual);
        let mut size: f64 = dot(&residual, &direction);
        let mut best_gain = 0.0f64;
        for _ in 0..MOST_STEPS {
            let (w, sum) = self.pull(inside, &direction);
            let product: Vec<f64> = inside
                .par_iter()
                .zip(&direction)
                .map(|(&i, d)| {
                    self.rows.design.row(i).dot(&w) + self.share * sum + self.coordinates[i].curve * d
                })
                .collect();
            let curvature = dot(&direction, &product);
            if curvature.is_nan() || curvature <= 0.0 || size <= 0.0 {
                break;
            }
            let step = size / curvature;
            for k in 0..solution.len() {
                solution[k] += step * direction[k];
                residual[k] -= step * product[k];
            }
            let gain = 0.5 * step * size;
            if gain <= LEAST_GAIN * best_gain {
                break;
            }
            best_gain = best_gain.max(gain);
            let next = scaled(&residual);
            let next_size = dot(&residual, &next);
            let keep = next_size / size;
            direction
                .iter_mut()
                .zip(&next)
                .for_each(|(d, n)| *d = n + keep * *d);
            size = next_size;
        }
        solution
    }

    /// Takes the longest of the steps 1, ½, ¼ … along the direction, bent at the box, that gains anything;
    /// whether that was all of it.
    fn follow(&mut self, inside: &[usize], slopes: &[f64], direction: &[f64]) -> bool {
        let mut step = 1.0;
        for _ in 0..MOST_HALVINGS {
            let change: Vec<f64> = inside
                .iter()
                .zip(direction)
                .map(|(&i, d)| {
                    let (coordinate, a) = (&self.coordinates[i], self.multipliers[i]);
                    (a + step * d).clamp(coordinate.low, coordinate.high) - a
                })
                .collect();
            let (w, sum) = self.pull(inside, &change);
            let own = inside.iter().zip(&change);
            let curve: f64 = own.map(|(&i, d)| self.coordinates[i].curve * d * d).sum();
            let square = self.l2 * dot(&w, &w) + self.share * sum * sum + curve;
            if dot(slopes, &change) + 0.5 * square < 0.0 {
                for (&i, d) in inside.iter().zip(direction) {
                    let coordinate = &self.coordinates[i];
                    self.multipliers[i] =
                        (self.multipliers[i] + step * d).clamp(coordinate.low, coordinate.high);
                }
                self.w.iter_mut().zip(&w).for_each(|(to, from)| *to += from);
                self.sum += sum;
                let all_inside = || {
                    inside
                        .iter()
                        .all(|&i| self.coordinates[i].is_inside(self.multipliers[i]))
                };
                return step == 1.0 && all_inside();
            }
            step *= 0.5;
        }
        false
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    crate::kernel::dense::dot(a, b)
}
