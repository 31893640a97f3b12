//! Makes a dual point meet its constraints, by the least change of the multipliers that have room.
//!
//! The constraints of output k are Aᵀα = 0, with the rows of A the features that no penalty sees (the column
//! of ones for a free intercept). With residual r and rooms ρᵢ on the rows that may move, the change is
//! Δ = −ϱ²A(Aᵀϱ²A)⁺r, refined until rounding; where a column is out of these rows' reach, its residual stays.
//!
//! A row of softmax has shares p of all classes, and one of them is often all but 0, so that no room is left to all
//! at once. Unless there are too many constraints, ρ² is then the matrix c(diag p − ppᵀ): the row moves as it would
//! with its scores, which takes no share below 0.

use std::sync::Arc;

use faer::{Mat, Side};

use crate::certify::duality::pass::{Gathered, Roomy, constrained};
use crate::certify::duality::{Care, Definition, REACH, penalty_of};
use crate::kernel::double_double::Compensated;
use crate::loss::{Loss, LossName, Softmax, VectorLoss, on_loss};
use crate::oracle::Layout;
use crate::penalty::Penalty;

/// More constraints than these would take longer than the fit.
const MOST_CONSTRAINTS: usize = 3000;
/// And than these if it is only a penalty's constraints that are missed by rounding.
const MOST_CAREFUL: usize = 1000;
/// And than these if the outputs of softmax are repaired together.
const MOST_TOGETHER: usize = 1200;
/// Eigenvalues below this share of the largest are taken for 0.
const RANK: f64 = 1e-13;

/// A matrix with a diagonal of 1 is regular if no column has less than this left beside those before it, squared.
const REGULAR: f64 = 1e-8;
/// Up to this size, a library would take longer to find out which machine it is on than plain loops take.
const SMALL: usize = 64;

/// Rounds in which constraints that a repair has newly broken are repaired in turn.
const MOST_ROUNDS: usize = 20;
/// How far inside its bound a repaired ℓ1 constraint is put, relatively.
const INSIDE: f64 = 1e-10;

/// Whether the pulls that a penalty asks for can be repaired.
pub(super) fn is_worth_care(definition: &Definition) -> bool {
    let layout = definition.layout;
    let fits = match layout.outputs {
        1 => layout.width() <= MOST_CAREFUL,
        _ => layout.len() <= MOST_TOGETHER,
    };
    !definition.penalty.is_none() && fits
}

/// Whether the outputs of softmax are repaired together, for so many constraints of each.
pub(super) fn is_together(definition: &Definition, constraints: usize) -> bool {
    definition.loss == LossName::Softmax && constraints * definition.layout.outputs <= MOST_TOGETHER
}

/// Where the pull at a parameter should be: at the optimum it is a subgradient of the penalty.
fn wanted(penalty: Penalty, weight: f64, pull: f64) -> f64 {
    let bound = (1.0 - INSIDE) * penalty.l1;
    if weight == 0.0 || penalty.l2 == 0.0 {
        pull.clamp(-bound, bound)
    } else {
        penalty.l2 * weight + penalty.l1.copysign(weight)
    }
}

/// Repairs; gives what the remaining residual can cost, for all weights within reach.
pub(super) fn repair(
    gathered: &mut Gathered,
    definition: &Definition,
    parameters: &[f64],
    care: Care,
) -> f64 {
    let equalities = constrained(definition);
    let layout = definition.layout;
    let rows = gathered.movable();
    let with_bounds = care == Care::Every && is_worth_care(definition);
    if !rows.is_empty() && equalities.len() <= MOST_CONSTRAINTS && (with_bounds || !equalities.is_empty()) {
        let mut changes = vec![vec![0.0; rows.len()]; layout.outputs];
        let mut columns: Vec<usize> = equalities.clone().collect();
        for round in 0..MOST_ROUNDS {
            if with_bounds {
                let broken = |j: usize| {
                    let (penalty, pull) = (penalty_of(definition, j), gathered.pulls[j].value());
                    match penalty.l2 > 0.0 && parameters[j] != 0.0 {
                        true => pull != wanted(penalty, parameters[j], pull),
                        false => pull.abs() > penalty.l1,
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
            let together = is_together(definition, columns.len());
            let system = System::new(&rows, &columns, layout, together);
            for first in (0..layout.outputs).step_by(system.outputs) {
                let outputs = first..first + system.outputs;
                let at = |k: usize, j: usize| k * layout.width() + j;
                let mut residual: Vec<Compensated> = outputs
                    .clone()
                    .flat_map(|k| columns.iter().map(move |&j| at(k, j)))
                    .map(|at| {
                        let mut left = gathered.pulls[at];
                        let wanted = wanted(penalty_of(definition, at), parameters[at], left.value());
                        left.add(-wanted);
                        left
                    })
                    .collect();
                if together {
                    for (place, &j) in columns.iter().enumerate() {
                        let free = |k: &usize| {
                            let (penalty, pull) =
                                (penalty_of(definition, at(*k, j)), gathered.pulls[at(*k, j)]);
                            let settled = penalty.l2 > 0.0 && parameters[at(*k, j)] != 0.0;
                            !settled && pull.value().abs() < penalty.l1
                        };
                        share_out(&mut residual, place, columns.len(), free);
                    }
                }
                let solved = system.solve(&residual);
                for (i, change) in solved.chunks_exact(system.outputs).enumerate() {
                    for (k, &change) in (first..).zip(change) {
                        changes[k][i] += change;
                        let pulls = &mut gathered.pulls[k * layout.width()..(k + 1) * layout.width()];
                        for &(j, x) in &rows[i].entries {
                            pulls[j as usize].add_product(change, x);
                        }
                        if let Some(intercept) = pulls.get_mut(layout.features) {
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
                .add(-conjugate(definition.loss, row, &row.alpha));
            gathered.conjugate.add(conjugate(definition.loss, row, &moved));
        }
    }
    let mut cost = 0.0;
    for k in 0..layout.outputs {
        for j in equalities.clone() {
            let at = k * layout.width() + j;
            cost += gathered.pulls[at].value().abs() * REACH * parameters[at].abs().max(1.0);
        }
    }
    cost
}

/// The pulls of all outputs on one column are 0 in sum, whatever α is: those that are free to move take up what the
/// others are to lose.
fn share_out(residual: &mut [Compensated], place: usize, columns: usize, free: impl Fn(&usize) -> bool) {
    let outputs = residual.len() / columns;
    let total: f64 = (0..outputs).map(|k| residual[k * columns + place].value()).sum();
    let takers: Vec<usize> = (0..outputs).filter(free).collect();
    for &k in &takers {
        residual[k * columns + place].add(-total / takers.len() as f64);
    }
}

/// c·ℓ\*(−α/c).
fn conjugate(loss: LossName, row: &Roomy, alpha: &[f64]) -> f64 {
    on_loss!(loss, loss => {
        let (slope, (least, greatest)) = (-alpha[0] / row.weight, loss.slopes(row.target));
        // The quotient may miss an end of the range by a rounding, and infinity is no answer to that.
        let nearest = slope.clamp(least, greatest);
        let slope = if (slope - nearest).abs() <= 4.0 * f64::EPSILON { nearest } else { slope };
        row.weight * loss.conjugate(row.target, slope)
    }, softmax => {
        let slopes: Vec<f64> = alpha.iter().map(|alpha| -alpha / row.weight).collect();
        row.weight * Softmax.conjugate(row.target as usize, &slopes)
    })
}

/// The rows that may move, as a least-squares system.
struct System {
    /// Row by row, the constrained columns.
    a: Vec<f64>,
    columns: usize,
    /// Row by row, the square matrix of the ways to move, whose product with its transpose is ρ².
    ways: Vec<f64>,
    /// Outputs that are repaired at a time.
    outputs: usize,
    /// The pseudo-inverse of Aᵀϱ²A.
    inverse: Mat<f64>,
}

impl System {
    fn new(rows: &[Arc<Roomy>], chosen: &[usize], layout: Layout, together: bool) -> Self {
        let columns = chosen.len();
        let mut place = vec![None; layout.width()];
        chosen.iter().enumerate().for_each(|(at, &j)| place[j] = Some(at));
        let mut a = vec![0.0; rows.len() * columns];
        for (row, a) in rows.iter().zip(a.chunks_exact_mut(columns)) {
            for &(j, x) in &row.entries {
                if let Some(at) = place[j as usize] {
                    a[at] = x;
                }
            }
            if layout.intercept
                && let Some(at) = place[layout.features]
            {
                a[at] = 1.0;
            }
        }
        let (ways, outputs) = match together {
            true => (rows.iter().flat_map(|row| shifts(row)).collect(), layout.outputs),
            false => (rows.iter().map(|row| row.room).collect(), 1),
        };
        let mut system = System {
            a,
            columns,
            ways,
            outputs,
            inverse: Mat::new(),
        };
        system.inverse = system.pseudo_inverse();
        system
    }

    /// The constrained columns of each row, and its ways to move.
    fn rows(&self) -> impl Iterator<Item = (&[f64], &[f64])> {
        let ways = self.ways.chunks_exact(self.outputs * self.outputs);
        self.a.chunks_exact(self.columns).zip(ways)
    }

    /// The changes that make up for a residual, given output by output: row by row.
    fn solve(&self, residual: &[Compensated]) -> Vec<f64> {
        /// Each round gains nearly all digits of a double; the rest is rounding of the changes themselves.
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
            for ((a, ways), changes) in self.rows().zip(changes.chunks_exact_mut(outputs)) {
                let along: Vec<f64> = (0..outputs)
                    .map(|k| (0..columns).map(|j| a[j] * multipliers[k * columns + j]).sum())
                    .collect();
                for q in 0..outputs {
                    let way: f64 = (0..outputs).map(|k| ways[k * outputs + q] * along[k]).sum();
                    for (k, change) in changes.iter_mut().enumerate() {
                        *change -= ways[k * outputs + q] * way;
                    }
                }
            }
        }
        changes
    }

    /// (Aᵀϱ²A)⁺, by its eigenvalues after scaling the diagonal to 1; a small one that is regular by its inverse.
    fn pseudo_inverse(&self) -> Mat<f64> {
        let (outputs, columns) = (self.outputs, self.columns);
        let size = outputs * columns;
        let mut scaled = Mat::zeros(self.a.len() / columns * outputs, size);
        for (i, (a, ways)) in self.rows().enumerate() {
            for q in 0..outputs {
                for k in 0..outputs {
                    for (j, a) in a.iter().enumerate() {
                        scaled[(i * outputs + q, k * columns + j)] = ways[k * outputs + q] * a;
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

/// The inverse of a matrix with a diagonal of 1, by its Cholesky factor; none where it is nearly singular.
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
    // The factor's own inverse, then its product with itself.
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
fn shifts(row: &Roomy) -> Vec<f64> {
    let shares: Vec<f64> = (0..row.alpha.len()).map(|k| row.share(k)).collect();
    let mut ways = Vec::with_capacity(shares.len() * shares.len());
    for (k, p) in shares.iter().enumerate() {
        for (q, root) in shares.iter().map(|p| p.sqrt()).enumerate() {
            let own = if k == q { root } else { 0.0 };
            ways.push(row.weight.sqrt() * (own - p * root));
        }
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_regular_matrix_has_its_inverse_and_a_singular_one_none(
            size in 1..9usize,
            values in prop::collection::vec(-1.0..1.0f64, 100),
        ) {
            // The products of columns of length 1, of which the last is one of the others or none.
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
