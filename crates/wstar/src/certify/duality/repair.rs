//! Makes a dual point meet its equality constraints, by the least change of the multipliers that have room.
//!
//! The constraints of output k are Aᵀα = 0, with the rows of A the features that no penalty sees (the column
//! of ones for a free intercept). With residual r and rooms ρᵢ on the rows that may move, the change is
//! Δ = −ϱ²A(Aᵀϱ²A)⁺r, refined until rounding; where a column is out of these rows' reach, its residual stays.

use std::ops::Range;

use faer::{Mat, Side};

use crate::certify::compensated::Compensated;
use crate::certify::duality::pass::{Gathered, Roomy, constrained};
use crate::certify::duality::{Definition, REACH};
use crate::loss::{Loss, LossName, Softmax, VectorLoss, on_loss};
use crate::oracle::Layout;

/// More constraints than these would take longer than the fit.
const MOST_CONSTRAINTS: usize = 3000;
/// Eigenvalues below this share of the largest are taken for 0.
const RANK: f64 = 1e-13;

/// Repairs; gives what the remaining residual can cost, for all weights within reach.
pub(super) fn repair(gathered: &mut Gathered, definition: &Definition, parameters: &[f64]) -> f64 {
    let span = constrained(definition);
    let layout = definition.layout;
    if span.is_empty() || gathered.pulls.is_empty() {
        return 0.0;
    }
    let rows = gathered.movable();
    if !rows.is_empty() && span.len() <= MOST_CONSTRAINTS {
        let system = System::new(rows.iter().map(AsRef::as_ref).collect(), span.clone(), layout);
        // One column of changes for each output.
        let changes: Vec<Vec<f64>> = (0..layout.outputs)
            .map(|k| {
                let residual = &gathered.pulls[k * layout.width()..][span.clone()];
                system.solve(residual)
            })
            .collect();
        for (i, row) in system.rows.iter().enumerate() {
            let moved: Vec<f64> = (0..layout.outputs)
                .map(|k| row.alpha[k] + changes[k][i])
                .collect();
            gathered
                .conjugate
                .add(-conjugate(definition.loss, row, &row.alpha));
            gathered.conjugate.add(conjugate(definition.loss, row, &moved));
            for (k, changes) in changes.iter().enumerate() {
                let pulls = &mut gathered.pulls[k * layout.width()..(k + 1) * layout.width()];
                for &(j, x) in &row.entries {
                    add_product(&mut pulls[j as usize], changes[i], x);
                }
                if let Some(intercept) = pulls.get_mut(layout.features) {
                    intercept.add(changes[i]);
                }
            }
        }
    }
    let mut cost = 0.0;
    for k in 0..layout.outputs {
        for j in span.clone() {
            let at = k * layout.width() + j;
            cost += gathered.pulls[at].value().abs() * REACH * parameters[at].abs().max(1.0);
        }
    }
    cost
}

/// c·ℓ\*(−α/c).
fn conjugate(loss: LossName, row: &Roomy, alpha: &[f64]) -> f64 {
    on_loss!(loss, loss => row.weight * loss.conjugate(row.target, -alpha[0] / row.weight),
    softmax => {
        let slopes: Vec<f64> = alpha.iter().map(|alpha| -alpha / row.weight).collect();
        row.weight * Softmax.conjugate(row.target as usize, &slopes)
    })
}

/// Adds a·b with the error of the product.
fn add_product(sum: &mut Compensated, a: f64, b: f64) {
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
    fn new(rows: Vec<&'a Roomy>, span: Range<usize>, layout: Layout) -> Self {
        let columns = span.len();
        let mut a = vec![0.0; rows.len() * columns];
        for (row, a) in rows.iter().zip(a.chunks_exact_mut(columns)) {
            for &(j, x) in row.entries.iter().filter(|(j, _)| span.contains(&(*j as usize))) {
                a[j as usize - span.start] = x;
            }
            if layout.intercept {
                a[columns - 1] = 1.0;
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
