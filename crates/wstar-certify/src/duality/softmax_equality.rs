//! The move of softmax onto equality constraints.

use faer::Mat;

use crate::duality::claim_sums::{Claim, ClaimSums};
use crate::duality::column_defects::ColumnProduct;
use crate::duality::constraint_system::{CentredRows, Feasible, Gram, MOST_NUMBERS};
use crate::duality::error_bounds::upwards;
use crate::duality::moved_rows::{Duals, Moved, MovedRows, pairs};
use crate::duality::softmax_dual::SoftmaxDual;
use crate::sequential::product;
use wstar_numeric::double_double::Compensated;

/// The change of the column products by the move onto Σα = 0 of softmax along ν, of which a part of size `g` is not known.
fn add_known_move(
    claim: &Claim<'_>,
    sums: &ClaimSums,
    rows: &MovedRows,
    duals: &[SoftmaxDual],
    direction: &[f64],
    g: f64,
    products: &mut [ColumnProduct],
) {
    let (layout, rounding) = (claim.problem.layout(), claim.rounding);
    let (classes, n) = (layout.outputs, rows.len());
    let of_shares = 8.0 * (classes * classes + 8) as f64 * rounding.unit();
    for k in 0..classes {
        let (mut size, mut weight) = (0.0, 0.0);
        let changes: Vec<f64> = (0..n)
            .map(|i| {
                let (c, p) = (rows.weights[i], &duals[i].shares);
                let of = |k: usize| direction.get(k).copied().unwrap_or(0.0);
                let mean: f64 = p.iter().enumerate().map(|(l, p)| p * of(l)).sum();
                let sizes: f64 = p.iter().enumerate().map(|(l, p)| p * of(l).abs()).sum();
                size += c * p[k] * (of(k).abs() + sizes);
                weight += c * p[k];
                -c * p[k] * (of(k) - mean)
            })
            .collect();
        let mut change = vec![0.0; layout.features];
        rows.design.add_rows(0..n, &changes, &mut change);
        change.push(changes.iter().sum());
        let error = (rounding.gamma(n + classes + 32) + of_shares) * size + 1.01 * g * weight;
        let own = &mut products[k * layout.width()..(k + 1) * layout.width()];
        for ((product, change), largest) in own.iter_mut().zip(change).zip(&sums.largest) {
            let mut value = Compensated::default();
            value.add(product.value);
            value.add(change);
            *product = ColumnProduct {
                value: value.total(),
                error: upwards(product.error + error * largest),
            };
        }
    }
}

/// The move of softmax.
pub(super) fn onto(
    claim: &Claim<'_>,
    sums: &ClaimSums,
    rows: &MovedRows,
    moved: &Moved,
    order: usize,
) -> Option<Feasible> {
    let Duals::Classes(duals) = &moved.duals else {
        return None;
    };
    let (layout, rounding) = (claim.problem.layout(), claim.rounding);
    let (classes, n) = (layout.outputs, rows.len());
    let frame = CentredRows::new(claim, rows, &rows.weights, order);
    let free = classes - 1;
    if n * order > MOST_NUMBERS || n * free * free > 64 * MOST_NUMBERS {
        return None;
    }
    let mut gram = Mat::<f64>::zeros(free * order, free * order);
    let mut d = vec![0.0; free * order];
    for (k, l) in pairs(free) {
        let of_row = |i: usize| rows.weights[i] * duals[i].curvature(k, l);
        let weighted = Mat::from_fn(n, order, |i, j| of_row(i) * frame.x[(i, j)]);
        let pair = product(weighted.transpose(), frame.x.as_ref());
        for a in 0..order {
            for b in 0..order {
                gram[(k * order + a, l * order + b)] = pair[(a, b)];
                gram[(l * order + b, k * order + a)] = pair[(a, b)];
            }
        }
    }
    for (at, d) in d.iter_mut().enumerate() {
        let (k, a) = (at / order, at % order);
        let own = |i: usize| rows.weights[i] * duals[i].shares[k] * frame.x[(i, a)] * frame.x[(i, a)];
        *d = (1.02 * (0..n).map(own).sum::<f64>()).sqrt();
    }
    // The share of the class with the largest score is a difference, of at least 1/(2K).
    let of_shares = 4.0 * (classes * classes + 8) as f64 * rounding.unit();
    let (mut residual, mut errors) = (Vec::new(), Vec::new());
    for k in 0..free {
        let (own, error) = frame.residual(&moved.products, claim, k);
        residual.extend(own);
        errors.extend(error);
    }
    let gram = Gram { h: gram, d };
    let solved = gram.solve(
        claim,
        &residual,
        &errors,
        n,
        2.0 * of_shares + 16.0 * rounding.unit(),
    )?;
    let lambda = solved.lambda;
    let mut largest: f64 = 0.0;
    let mut first = 0;
    for k in 0..free {
        let own: Vec<usize> = solved
            .independent
            .iter()
            .filter(|&&at| at / order == k)
            .map(|at| at % order)
            .collect();
        let x = Mat::from_fn(n, own.len(), |i, a| frame.x[(i, own[a])]);
        let norms = solved.factor.row_norms(x.as_ref(), first);
        first += own.len();
        largest = norms.into_iter().fold(largest, f64::max);
    }
    // ν_k·x̃ minus their mean with weights p' is at most twice the largest.
    let g = upwards(2.0 * largest * lambda);
    if g > 0.5 {
        return None;
    }
    let scores = rows.class_scores().iter().zip(duals).zip(&rows.weights);
    let logs: f64 = scores
        .map(|((scores, dual), c)| c * dual.log_ratios(scores, rounding))
        .sum();
    let defects = upwards(moved.defects + 0.5 * (1.0 + g) * lambda * lambda + g * logs);
    let mut products = moved.products.clone();
    if order < layout.width() {
        let rest = solved.rest(&gram, &residual, &errors, n, rounding);
        let g = 2.0 * largest * rest.lambda;
        add_known_move(claim, sums, rows, duals, &rest.direction, g, &mut products);
    }
    Some(Feasible {
        defects: defects + solved.charge(claim, &frame),
        products,
        reach: solved.reach(),
    })
}
