//! The bound on the gap from its parts: the defects of the rows, the column products u = X̃ᵀα, and P.
//!
//! **Columns.** With t = s·u, s the sign of w, and l2 > 0: FR = (t − l1 − l2|w|)²/(2l2) for t ≥ l1; otherwise
//! ½l2w² + |w|(l1 − t) + max(−t − l1, 0)²/(2l2). FR is convex in u, so its maximum over an interval is at an end.
//!
//! **Pure ℓ1.** R\*(u) = 0 for |u| ≤ l1, otherwise ∞. Let T ≤ 1 with T·|uⱼ| ≤ l1 for all penalised j. ℓ\* is convex and
//! ℓ\*(0) = 0, so FY(Tα) ≤ T·FY(α) + (1 − T)·cℓ(z), and gap ≤ T·ΣFY + (1 − T)·Σcℓ + Σ|w|(l1 − T·s·u).

use wstar_numeric::double_double::{Compensated, DoubleDouble};
use wstar_problem::penalty::Penalty;

use crate::duality::claim_sums::{Claim, ClaimSums};
use crate::duality::error_bounds::{Rounding, larger, upwards};

/// The column product of a parameter, within `error` of the exact one.
#[derive(Debug, Clone, Copy)]
pub(super) struct ColumnProduct {
    pub(super) value: DoubleDouble,
    pub(super) error: f64,
}

/// The column products of a pass.
pub(super) fn column_products(sums: &ClaimSums) -> Vec<ColumnProduct> {
    let products = sums.products.iter().zip(&sums.errors);
    products
        .map(|(product, &error)| ColumnProduct {
            value: product.total(),
            error,
        })
        .collect()
}

/// An upper bound on P − inf P, for rows with this sum of defects, after all moves onto equality constraints.
pub(super) fn gap(claim: &Claim<'_>, sums: &ClaimSums, defects: f64, columns: &[ColumnProduct]) -> f64 {
    let (problem, rounding) = (claim.problem, claim.rounding);
    let penalized = || {
        columns
            .iter()
            .zip(claim.parameters)
            .enumerate()
            .map(|(j, (&u, &w))| (problem.penalty_of(j), u, w))
            .filter(|(penalty, ..)| !penalty.is_none())
    };
    let penalty = problem.penalty();
    if penalty.l2 > 0.0 || penalty.l1 == 0.0 {
        let of_columns: f64 = penalized()
            .map(|(penalty, u, w)| defect(penalty, w, u, rounding))
            .sum();
        return upwards(defects + of_columns);
    }
    let largest = penalized()
        .map(|(_, u, _)| u.value.value().abs() + u.error)
        .fold(0.0, larger);
    let shrink = match largest > penalty.l1 {
        true => penalty.l1 / largest * (1.0 - 4.0 * f64::EPSILON),
        false => 1.0,
    };
    let of_columns: f64 = penalized()
        .map(|(_, u, w)| {
            let mut slack = Compensated::default();
            slack.add(penalty.l1);
            slack.add_product(u.value, -shrink.copysign(w));
            w.abs()
                * (slack.value() + u.error + 4.0 * rounding.unit() * rounding.unit() * penalty.l1).max(0.0)
        })
        .sum();
    let losses = sums.loss.value() + sums.loss_error;
    // 1 − T is rounded relative to itself, as T is a double.
    upwards(shrink * defects + (1.0 - shrink) * losses + of_columns)
}

/// An upper bound on FR for l2 > 0.
fn defect(penalty: Penalty, w: f64, u: ColumnProduct, rounding: Rounding) -> f64 {
    let (l1, l2) = (penalty.l1, penalty.l2);
    let side = if w == 0.0 { u.value.value() } else { w };
    let tiny = 16.0 * rounding.unit() * rounding.unit();
    let size = w.abs();
    let spare = u.error + tiny * (u.value.value().abs() + l1 + l2 * size);
    // t − l1 and t − l1 − l2|w|.
    let mut beyond = Compensated::default();
    beyond.add(u.value.scaled(1.0_f64.copysign(side)));
    beyond.add(-l1);
    let beyond_l1 = beyond.value();
    beyond.add_product(-l2, size);
    let off = beyond.value();
    if w == 0.0 {
        return (beyond_l1 + spare).max(0.0).powi(2) / (2.0 * l2);
    }
    let quadratic = (off.abs() + spare).powi(2) / (2.0 * l2);
    if beyond_l1 - spare >= 0.0 || l1 == 0.0 {
        return quadratic;
    }
    let below = -beyond_l1 + spare;
    let linear = 0.5 * l2 * size * size + size * below + (below - 2.0 * l1).max(0.0).powi(2) / (2.0 * l2);
    match beyond_l1 + spare >= 0.0 {
        true => larger(quadratic, linear),
        false => linear,
    }
}
