//! The pass over the rows in two doubles: each row has its own error bounds, and products lose nothing. It is used where the
//! bounds of [`fast_pass`](super::fast_pass) are too wide.

use std::ops::Range;

use rayon::prelude::*;

use crate::duality::claim_sums::{Claim, ClaimSums};
use crate::duality::row_dual::{Multiplier, Residual, Score, sign, value};
use crate::duality::softmax_dual::{ClassScores, SoftmaxDual};
use wstar_data::error::Result;
use wstar_numeric::double_double::Compensated;
use wstar_problem::loss::LossName;
use wstar_problem::objective::products::lanes_for;
use wstar_problem::objective::{Blocks, Rows};

/// Cap: more threads than these stay idle.
const MOST_LANES: usize = 32;

/// The sums of all rows. With `inwards`, multipliers at an end of their range are moved into it by a tiny part.
pub(super) fn gather(blocks: &mut dyn Blocks, claim: &Claim<'_>, inwards: bool) -> Result<ClaimSums> {
    let mut total = ClaimSums::new(claim.problem);
    claim.pass(blocks, &mut |rows, first| {
        let count = lanes_for(rows.design, claim.problem.layout().len(), MOST_LANES);
        let lanes: Vec<ClaimSums> = (0..count)
            .into_par_iter()
            .map(|lane| {
                let range = rows.len() * lane / count..rows.len() * (lane + 1) / count;
                gather_rows(rows, first, range, claim, inwards)
            })
            .collect();
        lanes.iter().for_each(|lane| total.merge(lane));
        Ok(())
    })?;
    Ok(total)
}

/// The multiplier of a row with one score.
pub(super) fn multiplier(
    claim: &Claim<'_>,
    c: f64,
    y: f64,
    residual: Residual,
    share: Option<f64>,
    inwards: bool,
) -> Multiplier {
    let loss = claim.problem.loss();
    let own = match share {
        Some(share) => Multiplier::of_share(loss, c, y, share),
        None => Multiplier::of_slope(loss, c, residual.h),
    };
    if inwards { own.inwards(loss, c) } else { own }
}

fn gather_rows(
    rows: &Rows<'_>,
    first: u64,
    range: Range<usize>,
    claim: &Claim<'_>,
    inwards: bool,
) -> ClaimSums {
    let (problem, rounding) = (claim.problem, claim.rounding);
    let (layout, loss) = (problem.layout(), problem.loss());
    let width = layout.width();
    let mut sums = ClaimSums::new(problem);
    let mut sizes = vec![0.0; layout.len()];
    let mut terms = 0;
    for i in range {
        let (c, y, row) = (rows.weights.get(i), rows.targets[i], rows.design.row(i));
        if c == 0.0 {
            continue;
        }
        sums.rows += 1;
        // `spare` is added to the size of the multiplier, which its error is relative to.
        let mut scatter = |k: usize, alpha: Multiplier, spare: f64| {
            let own = k * width..(k + 1) * width;
            let (products, sizes) = (&mut sums.products[own.clone()], &mut sizes[own]);
            let mut add = |j: usize, x: f64| {
                products[j].add_product(alpha.high, x);
                if alpha.low != 0.0 {
                    products[j].add_product(alpha.low, x);
                }
                sizes[j] += (alpha.high.abs() + alpha.low.abs() + spare) * x.abs();
            };
            if alpha != Multiplier::default() || spare > 0.0 {
                row.for_each(&mut add);
                if layout.intercept {
                    add(layout.features, 1.0);
                }
            }
        };
        if loss == LossName::Softmax {
            let scores = ClassScores::new(row, claim, y as usize);
            let dual = SoftmaxDual::new(&scores, None);
            sums.support += 1;
            sums.defects += c * dual.divergence(&scores, rounding);
            let (value, error) = scores.value();
            let mut product = Compensated::default();
            product.add_product(c, value);
            sums.loss.add(product.total());
            sums.loss_error += c * error;
            for k in 0..layout.outputs {
                scatter(k, dual.multiplier(k, c), dual.sum_size(k, c));
            }
            sums.score_error = sums.score_error.max(scores.error);
        } else {
            let score = Score::new(row, layout.output(claim.parameters, 0), rounding);
            let residual = Residual::new(loss, y, score, rounding);
            let share = claim.share(first + i as u64);
            let own = multiplier(claim, c, y, residual, share, inwards);
            sums.support += u64::from(own.value() != 0.0);
            sums.at_bound += u64::from(own.is_at_bound(loss, c));
            let defect = own.defect(loss, c, 0.0, residual, rounding);
            match share {
                Some(_) => sums.stored_defects += defect,
                None => sums.defects += defect,
            }
            let (value, error) = value(loss, y, score);
            sums.loss.add_product(c, value);
            sums.loss_error += c * error;
            let sign = sign(loss, y);
            scatter(
                0,
                Multiplier {
                    high: sign * own.high,
                    low: sign * own.low,
                },
                0.0,
            );
            sums.score_error = sums.score_error.max(score.error);
        }
        terms += 2 * layout.outputs;
        row.for_each(|j, x| sums.largest[j] = sums.largest[j].max(x.abs()));
    }
    if layout.intercept {
        sums.largest[layout.features] = 1.0;
    }
    let errors = sums.errors.iter_mut().zip(&sizes);
    errors.for_each(|(error, &size)| *error = rounding.compensated(size, terms));
    sums
}
