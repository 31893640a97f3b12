//! Conjugate gradients on a face of the box (J. J. Moré and G. Toraldo, On the solution of large
//! quadratic programming problems with bound constraints, SIAM J. Optimization 1, 1991).
//!
//! Problem: minimise the dual objective over the multipliers strictly inside their bounds, with all
//! others fixed. Once coordinate descent has identified these multipliers, the dual restricted to them is
//! an unconstrained quadratic, minimised by a linear system.
//!
//! For a free intercept ρ is larger here, so that the multiplier of Σα = 0 is found in fewer updates. A
//! larger ρ adds one large eigenvalue, which costs conjugate gradients only one more iteration.

use rayon::prelude::*;

use crate::dual_coordinate_descent::dual_state::DualState;
use wstar_problem::objective::products::total;
use wstar_problem::problem::Intercept;

/// Maximum number of iterations. Cap: beyond it the current solution is used; a search then costs about as
/// much as this many epochs over the rows on the face.
const MAX_ITERATIONS: usize = 30;
/// The iteration stops when the decrease of a step is below this fraction of the largest decrease so far.
/// Heuristic: trades accuracy on this face against time spent on a face that may change; not measured yet.
const MIN_RELATIVE_DECREASE: f64 = 0.05;
/// Maximum number of halvings of the step along the projected path. Cap: beyond it the multipliers stay as
/// they are.
const MAX_HALVINGS: usize = 8;
/// Rows whose contributions to a column product are summed sequentially before the partial sums are added.
/// Heuristic: trades parallelism against the memory of the partial sums; not measured yet.
const ROWS_PER_PARTIAL_SUM: usize = 1 << 13;
/// Factor by which ρ is increased on a face. Heuristic: trades the condition number of the system against the
/// convergence of the intercept; not measured yet.
const FACE_AUGMENTATION: f64 = 10.0;

impl DualState<'_> {
    /// Minimises over the multipliers strictly inside their bounds, then takes a projected step in that
    /// direction.
    pub(super) fn search_face(&mut self) {
        let inside: Vec<usize> = (0..self.multipliers.len())
            .filter(|&i| self.coordinates[i].is_inside(self.multipliers[i]))
            .collect();
        if inside.is_empty() {
            return;
        }
        let own = self.rho;
        if self.intercept == Intercept::Free {
            self.rho *= FACE_AUGMENTATION;
        }
        let slopes: Vec<f64> = inside
            .par_iter()
            .map(|&i| self.coordinates[i].slope(self.multipliers[i], self.score(i)))
            .collect();
        let direction = self.conjugate_gradients(&inside, &slopes);
        let full_step = self.projected_step(&inside, &slopes, &direction);
        if self.intercept == Intercept::Free {
            // If the step was shortened or clamped, Σα is no estimate of the change of the Lagrange
            // multiplier.
            if full_step {
                self.offset += self.rho * self.sum;
            }
            self.rho = own;
        }
    }

    /// The column product X̃ᵀδ/l2 of a change δ of the multipliers, and Σδ.
    fn column_product(&self, inside: &[usize], change: &[f64]) -> (Vec<f64>, f64) {
        let partial_sums: Vec<Vec<f64>> = inside
            .par_chunks(ROWS_PER_PARTIAL_SUM)
            .zip(change.par_chunks(ROWS_PER_PARTIAL_SUM))
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
        (total(&partial_sums), change.iter().sum())
    }

    /// The Newton direction on the face, by conjugate gradients with a diagonal preconditioner.
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
        for _ in 0..MAX_ITERATIONS {
            let (w, sum) = self.column_product(inside, &direction);
            let product: Vec<f64> = inside
                .par_iter()
                .zip(&direction)
                .map(|(&i, d)| {
                    self.rows.design.row(i).dot(&w) + self.rho * sum + self.coordinates[i].curve * d
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
            if gain <= MIN_RELATIVE_DECREASE * best_gain {
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

    /// Takes the first of the steps 1, ½, ¼, … along the direction, clamped to the box, that decreases the
    /// objective. Returns whether the full step was taken without clamping.
    fn projected_step(&mut self, inside: &[usize], slopes: &[f64], direction: &[f64]) -> bool {
        let mut step = 1.0;
        for _ in 0..MAX_HALVINGS {
            let change: Vec<f64> = inside
                .iter()
                .zip(direction)
                .map(|(&i, d)| {
                    let (coordinate, a) = (&self.coordinates[i], self.multipliers[i]);
                    (a + step * d).clamp(coordinate.low, coordinate.high) - a
                })
                .collect();
            let (w, sum) = self.column_product(inside, &change);
            let own = inside.iter().zip(&change);
            let curve: f64 = own.map(|(&i, d)| self.coordinates[i].curve * d * d).sum();
            let square = self.l2 * dot(&w, &w) + self.rho * sum * sum + curve;
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
    wstar_numeric::dense::dot(a, b)
}
