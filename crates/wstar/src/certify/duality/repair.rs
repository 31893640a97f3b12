//! Makes a dual point meet its constraints, by the least change of the multipliers that have room.
//!
//! The constraints of output k are Aᵀα = 0, with the rows of A the features that no penalty sees (the column
//! of ones for a free intercept). With residual r and rooms ρᵢ on the rows that may move, the change is
//! Δ = −ϱ²A(Aᵀϱ²A)⁺r, refined until rounding; where a column is out of these rows' reach, its residual stays.

use faer::{Mat, Side};

use crate::certify::compensated::Compensated;
use crate::certify::duality::pass::{Gathered, Roomy, constrained};
use crate::certify::duality::{Care, Definition, REACH, penalty_of};
use crate::loss::{Loss, LossName, Softmax, VectorLoss, on_loss};
use crate::oracle::Layout;
use crate::penalty::Penalty;

/// More constraints than these would take longer than the fit.
const MOST_CONSTRAINTS: usize = 3000;
/// And than these if it is only a penalty's constraints that are missed by rounding.
const MOST_CAREFUL: usize = 1000;
/// Eigenvalues below this share of the largest are taken for 0.
const RANK: f64 = 1e-13;

/// Rounds in which constraints that a repair has newly broken are repaired in turn.
const MOST_ROUNDS: usize = 20;
/// How far inside its bound a repaired ℓ1 constraint is put, relatively.
const INSIDE: f64 = 1e-10;

/// Whether the pulls that a penalty asks for can be repaired.
pub(super) fn is_worth_care(definition: &Definition) -> bool {
    let layout = definition.layout;
    !definition.penalty.is_none() && layout.outputs == 1 && layout.width() <= MOST_CAREFUL
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
                    let off = match penalty.l2 > 0.0 && parameters[j] != 0.0 {
                        true => pull != wanted(penalty, parameters[j], pull),
                        false => pull.abs() > penalty.l1,
                    };
                    off && !columns.contains(&j)
                };
                let newly: Vec<usize> = (0..layout.width()).filter(|&j| broken(j)).collect();
                columns.extend(&newly);
                if columns.is_empty() || (newly.is_empty() && round > 0) {
                    break;
                }
            } else if round > 0 {
                break;
            }
            let system = System::new(rows.iter().map(AsRef::as_ref).collect(), &columns, layout);
            for (k, total) in changes.iter_mut().enumerate() {
                let pulls = &mut gathered.pulls[k * layout.width()..(k + 1) * layout.width()];
                let residual: Vec<Compensated> = columns
                    .iter()
                    .map(|&j| {
                        let mut left = pulls[j];
                        let at = k * layout.width() + j;
                        left.add(-wanted(
                            penalty_of(definition, at),
                            parameters[at],
                            pulls[j].value(),
                        ));
                        left
                    })
                    .collect();
                for (i, change) in system.solve(&residual).into_iter().enumerate() {
                    total[i] += change;
                    for &(j, x) in &rows[i].entries {
                        add_product(&mut pulls[j as usize], change, x);
                    }
                    if let Some(intercept) = pulls.get_mut(layout.features) {
                        intercept.add(change);
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

/// Adds a·b with the error of the product.
pub(super) fn add_product(sum: &mut Compensated, a: f64, b: f64) {
    let product = a * b;
    sum.add(product);
    sum.add(a.mul_add(b, -product));
}

/// The rows that may move, as a least-squares system.
struct System<'a> {
    rows: Vec<&'a Roomy>,
    /// Row by row, the constrained columns.
    a: Vec<f64>,
    columns: usize,
    /// The pseudo-inverse of Aᵀϱ²A.
    inverse: Mat<f64>,
}

impl<'a> System<'a> {
    fn new(rows: Vec<&'a Roomy>, chosen: &[usize], layout: Layout) -> Self {
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
        let inverse = pseudo_inverse(&rows, &a, columns);
        System {
            rows,
            a,
            columns,
            inverse,
        }
    }

    /// The changes that make up for a residual.
    fn solve(&self, residual: &[Compensated]) -> Vec<f64> {
        /// Each round gains nearly all digits of a double; the rest is rounding of the changes themselves.
        const ROUNDS: usize = 4;
        let mut changes = vec![0.0; self.rows.len()];
        for _ in 0..ROUNDS {
            let mut left = residual.to_vec();
            for (a, &change) in self.a.chunks_exact(self.columns).zip(&changes) {
                for (left, &a) in left.iter_mut().zip(a) {
                    add_product(left, change, a);
                }
            }
            let left = Mat::from_fn(self.columns, 1, |j, _| left[j].value());
            let multipliers = &self.inverse * left;
            for ((row, a), change) in self
                .rows
                .iter()
                .zip(self.a.chunks_exact(self.columns))
                .zip(&mut changes)
            {
                let along: f64 = a.iter().enumerate().map(|(j, a)| a * multipliers[(j, 0)]).sum();
                *change -= row.room * row.room * along;
            }
        }
        changes
    }
}

/// (Aᵀϱ²A)⁺, by its eigenvalues after scaling the diagonal to 1.
fn pseudo_inverse(rows: &[&Roomy], a: &[f64], columns: usize) -> Mat<f64> {
    let scaled = Mat::from_fn(rows.len(), columns, |i, j| rows[i].room * a[i * columns + j]);
    let gram = scaled.transpose() * &scaled;
    let scale: Vec<f64> = (0..columns)
        .map(|j| {
            if gram[(j, j)] > 0.0 {
                gram[(j, j)].sqrt().recip()
            } else {
                0.0
            }
        })
        .collect();
    let unit = Mat::from_fn(columns, columns, |i, j| scale[i] * gram[(i, j)] * scale[j]);
    let Ok(eigen) = unit.self_adjoint_eigen(Side::Lower) else {
        return Mat::zeros(columns, columns);
    };
    let values: Vec<f64> = (0..columns).map(|j| eigen.S()[j]).collect();
    let largest = values.iter().copied().fold(0.0, f64::max);
    let half = Mat::from_fn(columns, columns, |i, j| {
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
