//! Makes a dual point feasible, by the least change of the multipliers that have slack.
//!
//! The constraints of output k are Aᵀα = 0, where the columns of A are the features without a penalty (the column of ones for a
//! free intercept). With the residual r and the slacks ρᵢ of the rows that may change, the change is
//! Δ = −ρ²A(Aᵀρ²A)⁺r, iteratively refined. If these rows cannot change the product with a column, its residual remains.
//!
//! A row of softmax has the probabilities p of all classes. One of them is often nearly 0, and then no slack remains for a
//! change of all outputs. Unless there are too many constraints, ρ² is therefore the matrix c(diag p − ppᵀ): the row changes
//! as it would with its scores, which makes no probability negative.

use std::sync::Arc;
use wstar_problem::on_loss;

use faer::{Mat, Side};

use crate::duality::constraints::{Care, can_repair_subgradients, constrained, is_joint};
use crate::duality::gathered_sums::{Gathered, MovableRow};
use wstar_data::linear::Layout;
use wstar_numeric::double_double::Compensated;
use wstar_problem::loss::{Loss, LossName, Softmax, VectorLoss};
use wstar_problem::penalty::Penalty;
use wstar_problem::problem::Problem;

/// Cap: with more equality constraints nothing is repaired, since that would take longer than the fit.
const MOST_CONSTRAINTS: usize = 3000;
/// Without a penalty a claim covers all weights with |wⱼ| up to this many times max(|wⱼ of the model|, 1). Cap: nothing is
/// claimed for larger weights.
const REACH: f64 = 1000.0;

/// Eigenvalues below this fraction of the largest count as 0. Heuristic: about 10³ units of rounding;
/// not measured yet.
const RANK: f64 = 1e-13;

/// A matrix with unit diagonal counts as regular if every squared pivot of its Cholesky factor is at least this. Heuristic:
/// accuracy of the inverse against the time of an eigendecomposition; not measured yet.
const REGULAR: f64 = 1e-8;
/// Up to this order plain loops are used, because the start-up cost of a library would exceed their time. Heuristic: not
/// measured yet.
const SMALL: usize = 64;

/// Cap: after this many rounds, constraints that the last repair has broken stay broken.
const MOST_ROUNDS: usize = 20;
/// The relative distance from its bound at which a repaired ℓ1 constraint is placed. Heuristic: safety against rounding,
/// against the change of α; not measured yet.
const INSIDE: f64 = 1e-10;

/// The target of (X̃ᵀα)ⱼ: the subgradient of the penalty at the parameter that is nearest to it, as at the optimum.
fn target_product(penalty: Penalty, weight: f64, product: f64) -> f64 {
    let bound = (1.0 - INSIDE) * penalty.l1;
    if weight == 0.0 || penalty.l2 == 0.0 {
        product.clamp(-bound, bound)
    } else {
        penalty.l2 * weight + penalty.l1.copysign(weight)
    }
}

/// Repairs the constraints. Returns the most that the remaining residual r can cost, Σ|rⱼ wⱼ| over all weights within
/// [`REACH`].
pub(super) fn repair(gathered: &mut Gathered, problem: &Problem, parameters: &[f64], care: Care) -> f64 {
    let equalities = constrained(problem);
    let layout = problem.layout();
    let rows = gathered.movable();
    let with_bounds = care == Care::Exact && can_repair_subgradients(problem);
    if !rows.is_empty() && equalities.len() <= MOST_CONSTRAINTS && (with_bounds || !equalities.is_empty()) {
        let mut changes = vec![vec![0.0; rows.len()]; layout.outputs];
        let mut columns: Vec<usize> = equalities.clone().collect();
        for round in 0..MOST_ROUNDS {
            if with_bounds {
                let broken = |j: usize| {
                    let (penalty, product) = (problem.penalty_of(j), gathered.products[j].value());
                    match penalty.l2 > 0.0 && parameters[j] != 0.0 {
                        true => product != target_product(penalty, parameters[j], product),
                        false => product.abs() > penalty.l1,
                    }
                };
                let newly: Vec<usize> = (0..layout.width())
                    .filter(|j| !columns.contains(j))
                    .filter(|j| (0..layout.outputs).any(|k| broken(k * layout.width() + j)))
                    .collect();
                columns.extend(&newly);
                if columns.is_empty() || (newly.is_empty() && round > 0) {
                    break;
                }
            } else if round > 0 {
                break;
            }
            let joint = is_joint(problem, columns.len());
            let system = System::new(&rows, &columns, layout, joint);
            for first in (0..layout.outputs).step_by(system.outputs) {
                let outputs = first..first + system.outputs;
                let at = |k: usize, j: usize| k * layout.width() + j;
                let mut residual: Vec<Compensated> = outputs
                    .clone()
                    .flat_map(|k| columns.iter().map(move |&j| at(k, j)))
                    .map(|at| {
                        let mut left = gathered.products[at];
                        let target_product =
                            target_product(problem.penalty_of(at), parameters[at], left.value());
                        left.add(-target_product);
                        left
                    })
                    .collect();
                if joint {
                    for (column, &j) in columns.iter().enumerate() {
                        let free = |k: &usize| {
                            let (penalty, product) =
                                (problem.penalty_of(at(*k, j)), gathered.products[at(*k, j)]);
                            let settled = penalty.l2 > 0.0 && parameters[at(*k, j)] != 0.0;
                            !settled && product.value().abs() < penalty.l1
                        };
                        share_out(&mut residual, column, columns.len(), free);
                    }
                }
                let solved = system.solve(&residual);
                for (i, change) in solved.chunks_exact(system.outputs).enumerate() {
                    for (k, &change) in (first..).zip(change) {
                        changes[k][i] += change;
                        let products = &mut gathered.products[k * layout.width()..(k + 1) * layout.width()];
                        for &(j, x) in &rows[i].entries {
                            products[j as usize].add_product(change, x);
                        }
                        if let Some(intercept) = products.get_mut(layout.features) {
                            intercept.add(change);
                        }
                    }
                }
            }
        }
        for (i, row) in rows.iter().enumerate() {
            let moved: Vec<f64> = (0..layout.outputs)
                .map(|k| row.alpha[k] + changes[k][i])
                .collect();
            gathered
                .conjugate
                .add(-conjugate(problem.loss(), row, &row.alpha));
            gathered.conjugate.add(conjugate(problem.loss(), row, &moved));
        }
    }
    let mut cost = 0.0;
    for k in 0..layout.outputs {
        for j in equalities.clone() {
            let at = k * layout.width() + j;
            cost += gathered.products[at].value().abs() * REACH * parameters[at].abs().max(1.0);
        }
    }
    cost
}

/// For every α of softmax the products of one column with all outputs sum to 0. So the outputs whose products are free to
/// change absorb the residual of the others.
fn share_out(residual: &mut [Compensated], column: usize, columns: usize, free: impl Fn(&usize) -> bool) {
    let outputs = residual.len() / columns;
    let total: f64 = (0..outputs).map(|k| residual[k * columns + column].value()).sum();
    let takers: Vec<usize> = (0..outputs).filter(free).collect();
    for &k in &takers {
        residual[k * columns + column].add(-total / takers.len() as f64);
    }
}

/// c·ℓ\*(−α/c).
fn conjugate(loss: LossName, row: &MovableRow, alpha: &[f64]) -> f64 {
    on_loss!(loss, loss => {
        let (slope, (least, greatest)) = (-alpha[0] / row.weight, loss.slopes(row.target));
        // Rounding can put the quotient just outside its range, where the conjugate would be +∞.
        let nearest = slope.clamp(least, greatest);
        // Derived: two roundings of the quotient, with a factor of 2.
        let slope = if (slope - nearest).abs() <= 4.0 * f64::EPSILON { nearest } else { slope };
        row.weight * loss.conjugate(row.target, slope)
    }, softmax => {
        let slopes: Vec<f64> = alpha.iter().map(|alpha| -alpha / row.weight).collect();
        row.weight * Softmax.conjugate(row.target as usize, &slopes)
    })
}

/// The rows that may change, as a weighted least-squares system.
struct System {
    /// The entries of the constrained columns, row by row.
    a: Vec<f64>,
    columns: usize,
    /// Row by row, the square matrix ρ with ρρᵀ = ρ², of the order of the outputs repaired at a time.
    rho: Vec<f64>,
    /// The number of outputs repaired at a time.
    outputs: usize,
    /// The pseudo-inverse of Aᵀρ²A.
    inverse: Mat<f64>,
}

impl System {
    fn new(rows: &[Arc<MovableRow>], chosen: &[usize], layout: Layout, joint: bool) -> Self {
        let columns = chosen.len();
        let mut position_of = vec![None; layout.width()];
        chosen
            .iter()
            .enumerate()
            .for_each(|(at, &j)| position_of[j] = Some(at));
        let mut a = vec![0.0; rows.len() * columns];
        for (row, a) in rows.iter().zip(a.chunks_exact_mut(columns)) {
            for &(j, x) in &row.entries {
                if let Some(at) = position_of[j as usize] {
                    a[at] = x;
                }
            }
            if layout.intercept
                && let Some(at) = position_of[layout.features]
            {
                a[at] = 1.0;
            }
        }
        let (rho, outputs) = match joint {
            true => (rows.iter().flat_map(|row| shifts(row)).collect(), layout.outputs),
            false => (rows.iter().map(|row| row.slack).collect(), 1),
        };
        let mut system = System {
            a,
            columns,
            rho,
            outputs,
            inverse: Mat::new(),
        };
        system.inverse = system.pseudo_inverse();
        system
    }

    /// The entries of the constrained columns of each row, and its matrix ρ.
    fn rows(&self) -> impl Iterator<Item = (&[f64], &[f64])> {
        let rho = self.rho.chunks_exact(self.outputs * self.outputs);
        self.a.chunks_exact(self.columns).zip(rho)
    }

    /// The changes, row by row, that cancel a residual given output by output.
    fn solve(&self, residual: &[Compensated]) -> Vec<f64> {
        /// Steps of iterative refinement. Cap: what remains then is rounding of the changes; each step gains nearly all digits
        /// of a double.
        const ROUNDS: usize = 4;
        let (outputs, columns) = (self.outputs, self.columns);
        let mut changes = vec![0.0; self.a.len() / columns * outputs];
        for _ in 0..ROUNDS {
            let mut left = residual.to_vec();
            for ((a, _), changes) in self.rows().zip(changes.chunks_exact(outputs)) {
                for (left, &change) in left.chunks_exact_mut(columns).zip(changes) {
                    for (left, &a) in left.iter_mut().zip(a) {
                        left.add_product(change, a);
                    }
                }
            }
            let mut multipliers = vec![0.0; left.len()];
            for (column, left) in self.inverse.col_iter().zip(&left) {
                let left = left.value();
                (multipliers.iter_mut().zip(column.iter())).for_each(|(sum, own)| *sum += own * left);
            }
            for ((a, rho), changes) in self.rows().zip(changes.chunks_exact_mut(outputs)) {
                let along: Vec<f64> = (0..outputs)
                    .map(|k| (0..columns).map(|j| a[j] * multipliers[k * columns + j]).sum())
                    .collect();
                for q in 0..outputs {
                    let way: f64 = (0..outputs).map(|k| rho[k * outputs + q] * along[k]).sum();
                    for (k, change) in changes.iter_mut().enumerate() {
                        *change -= rho[k * outputs + q] * way;
                    }
                }
            }
        }
        changes
    }

    /// (Aᵀρ²A)⁺, after scaling the diagonal to 1: by the inverse if the matrix is small and regular, else by its
    /// eigendecomposition.
    fn pseudo_inverse(&self) -> Mat<f64> {
        let (outputs, columns) = (self.outputs, self.columns);
        let size = outputs * columns;
        let mut scaled = Mat::zeros(self.a.len() / columns * outputs, size);
        for (i, (a, rho)) in self.rows().enumerate() {
            for q in 0..outputs {
                for k in 0..outputs {
                    for (j, a) in a.iter().enumerate() {
                        scaled[(i * outputs + q, k * columns + j)] = rho[k * outputs + q] * a;
                    }
                }
            }
        }
        let gram = match size <= SMALL {
            true => Mat::from_fn(size, size, |j, k| {
                let products = scaled.col(j).iter().zip(scaled.col(k).iter());
                products.map(|(a, b)| a * b).sum()
            }),
            false => scaled.transpose() * &scaled,
        };
        let scale: Vec<f64> = (0..size)
            .map(|j| {
                if gram[(j, j)] > 0.0 {
                    gram[(j, j)].sqrt().recip()
                } else {
                    0.0
                }
            })
            .collect();
        let unit = Mat::from_fn(size, size, |i, j| scale[i] * gram[(i, j)] * scale[j]);
        if size <= SMALL
            && let Some(inverse) = regular_inverse(&unit)
        {
            return Mat::from_fn(size, size, |i, j| scale[i] * inverse[(i, j)] * scale[j]);
        }
        let Ok(eigen) = unit.self_adjoint_eigen(Side::Lower) else {
            return Mat::zeros(size, size);
        };
        let values: Vec<f64> = (0..size).map(|j| eigen.S()[j]).collect();
        let largest = values.iter().copied().fold(0.0, f64::max);
        let half = Mat::from_fn(size, size, |i, j| {
            let value = values[j];
            let root = if value > RANK * largest {
                value.sqrt().recip()
            } else {
                0.0
            };
            scale[i] * eigen.U()[(i, j)] * root
        });
        &half * half.transpose()
    }
}

/// The inverse of a matrix with unit diagonal by its Cholesky factor; `None` if it is nearly singular.
fn regular_inverse(unit: &Mat<f64>) -> Option<Mat<f64>> {
    let size = unit.nrows();
    let mut lower = Mat::<f64>::zeros(size, size);
    for j in 0..size {
        for i in j..size {
            let known: f64 = (0..j).map(|k| lower[(i, k)] * lower[(j, k)]).sum();
            let left = unit[(i, j)] - known;
            lower[(i, j)] = match i == j {
                true if left >= REGULAR => left.sqrt(),
                true => return None,
                false => left / lower[(j, j)],
            };
        }
    }
    // L⁻¹, then L⁻ᵀL⁻¹.
    let mut inverse = Mat::<f64>::zeros(size, size);
    for j in 0..size {
        for i in j..size {
            let own = f64::from(u8::from(i == j));
            let known: f64 = (j..i).map(|k| lower[(i, k)] * inverse[(k, j)]).sum();
            inverse[(i, j)] = (own - known) / lower[(i, i)];
        }
    }
    Some(Mat::from_fn(size, size, |i, j| {
        (i.max(j)..size).map(|k| inverse[(k, i)] * inverse[(k, j)]).sum()
    }))
}

/// √c·(diag √p − p√pᵀ) of a row of softmax, whose product with its transpose is c(diag p − ppᵀ).
/// These are the matrices ρ of [`System`].
fn shifts(row: &MovableRow) -> Vec<f64> {
    let shares: Vec<f64> = (0..row.alpha.len()).map(|k| row.share(k)).collect();
    let mut rho = Vec::with_capacity(shares.len() * shares.len());
    for (k, p) in shares.iter().enumerate() {
        for (q, root) in shares.iter().map(|p| p.sqrt()).enumerate() {
            let own = if k == q { root } else { 0.0 };
            rho.push(row.weight.sqrt() * (own - p * root));
        }
    }
    rho
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn regular_matrices_are_inverted_and_singular_ones_refused(
            size in 1..9usize,
            values in prop::collection::vec(-1.0..1.0f64, 100),
        ) {
            // Gram matrices of unit vectors; in the singular case the last vector repeats the first.
            let column = |j: usize, i: usize| values[j * 10 + i] + if i == j { 2.0 } else { 0.0 };
            let length = |j: usize| (0..10).map(|i| column(j, i).powi(2)).sum::<f64>().sqrt();
            let unit = |size: usize, of: &dyn Fn(usize) -> usize| Mat::from_fn(size, size, |j, k| {
                let (j, k) = (of(j), of(k));
                if j == k {
                    return 1.0;
                }
                (0..10).map(|i| column(j, i) * column(k, i)).sum::<f64>() / (length(j) * length(k))
            });
            let regular = unit(size, &|j| j);
            let inverse = regular_inverse(&regular);
            prop_assume!(inverse.is_some());
            let product = &regular * inverse.unwrap();
            for j in 0..size {
                for k in 0..size {
                    let own = f64::from(u8::from(j == k));
                    prop_assert!((product[(j, k)] - own).abs() < 1e-6, "{} at {j}, {k}", product[(j, k)]);
                }
            }
            let singular = unit(size + 1, &|j| if j == size { 0 } else { j });
            prop_assert!(regular_inverse(&singular).is_none());
        }
    }
}
