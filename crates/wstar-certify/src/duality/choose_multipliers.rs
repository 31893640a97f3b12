//! Chooses the multipliers that a certificate stores: as few and as coarse as the tolerance allows.

use rayon::prelude::*;
use wstar_problem::on_loss;

use crate::duality::DualityGap;
use crate::duality::{DualPoint, StoredDual, certify as certify_gap, certify_as_stored};
use wstar_data::error::Result;
use wstar_problem::loss::{Loss, LossName};
use wstar_problem::objective::{Blocks, Rows};
use wstar_problem::problem::Problem;

/// Pairs of a threshold and whether to store coarsely (16 bits), tried in turn until the gap is small enough. Multipliers that
/// differ from the slope on their side of the kink by no more than the threshold, relative to the weight, are not stored.
/// Heuristic: size of the certificate against passes over the rows; not measured yet.
const PRECISIONS: [(f64, bool); 6] = [
    (1e-4, true),
    (1e-4, false),
    (1e-6, false),
    (1e-8, false),
    (1e-10, false),
    (0.0, false),
];

/// If a claim holds and its gap exceeds this fraction of the previous one, more digits are not tried. Heuristic: not measured
/// yet.
const NO_BETTER: f64 = 0.9;

/// A vertex with at most this many rows to store, beyond four per parameter, is stored in full precision at once. Heuristic:
/// size of the certificate against passes over the rows; not measured yet.
const FEW: usize = 1000;

/// Rows per task. Heuristic: scheduling overhead against load balance; not measured yet.
const BLOCK: usize = 1024;

/// The relative distance from the kink within which the side of a score depends on the order of summation. Heuristic: far above
/// the rounding of a score; not measured yet.
const NEAR: f64 = 1e-9;

/// Certifies a point. `dual` are the multipliers of the solver. A loss with a kink needs them, and so does a smooth loss whose
/// slopes are lost in the rounding of the scores. `reached` is the relative gap that the solver found with them.
pub fn certify(
    rows: &Rows<'_>,
    problem: &Problem,
    parameters: &[f64],
    dual: Option<&[f64]>,
    tol: f64,
    reached: f64,
) -> Result<DualityGap> {
    let mut best: Option<DualityGap> = None;
    if dual.is_none() || problem.loss().is_smooth() {
        let claim = certify_slopes(&mut rows.borrowed(), problem, parameters, tol)?;
        if claim.holds() {
            return Ok(claim);
        }
        best = Some(claim);
    }
    let (Some(dual), true) = (dual, problem.loss() != LossName::Softmax) else {
        return match best {
            Some(best) => Ok(best),
            None => certify_slopes(&mut rows.borrowed(), problem, parameters, tol),
        };
    };
    let off = deviations(rows, problem, parameters, dual);
    // A vertex has few such rows, so all of them are stored in full precision.
    let few = problem.penalty().is_none()
        && problem.loss().is_absolute()
        && off.len() <= FEW + 4 * problem.layout().len();
    let from = if few { PRECISIONS.len() - 1 } else { 0 };
    let unbounded = problem.loss() == LossName::Squared;
    for (threshold, coarse) in PRECISIONS.into_iter().skip(from) {
        if coarse && unbounded {
            continue;
        }
        let pairs: Vec<(u64, f64)> = off
            .iter()
            .filter(|&&(_, deviation)| deviation > threshold)
            .map(|&(i, _)| (i as u64, share(rows, problem, i, dual[i])))
            .collect();
        let point = DualPoint::Stored(StoredDual::new(&pairs, coarse));
        // Changes of the multipliers could hide that the stored ones are too coarse to show the weights.
        let claim = match threshold > 0.0 {
            true => certify_as_stored(&mut rows.borrowed(), problem, parameters, point, tol)?,
            false => certify_gap(&mut rows.borrowed(), problem, parameters, point, tol)?,
        };
        // Half the tolerance leaves a margin for the rounding of other machines. More digits cannot make the gap smaller than
        // the one that the solver reached; in that case the margin is 1 %. Heuristic: both shares are not measured yet.
        let no_further = NO_BETTER * claim.relative_gap <= reached;
        let share = if no_further { 0.99 } else { 0.5 };
        if claim.holds() && claim.relative_gap <= share * tol {
            return Ok(claim);
        }
        let before = best.as_ref().map_or(f64::INFINITY, |best| best.gap);
        let enough = claim.holds() && claim.gap > NO_BETTER * before;
        if best.as_ref().is_none_or(|best| claim.gap < best.gap) {
            best = Some(claim);
        }
        if enough && best.as_ref().is_some_and(DualityGap::holds) {
            break;
        }
    }
    match best {
        Some(best) => Ok(best),
        None => certify_slopes(&mut rows.borrowed(), problem, parameters, tol),
    }
}

/// Certifies a point with the multipliers given by the slopes of the loss.
pub fn certify_slopes(
    blocks: &mut dyn Blocks,
    problem: &Problem,
    parameters: &[f64],
    tol: f64,
) -> Result<DualityGap> {
    certify_gap(blocks, problem, parameters, DualPoint::Slopes, tol)
}

/// The position of a multiplier within its range, as [`StoredDual`] stores it.
fn share(rows: &Rows<'_>, problem: &Problem, i: usize, alpha: f64) -> f64 {
    let (least, greatest) =
        on_loss!(problem.loss(), loss => loss.slopes(rows.targets[i]), softmax => (0.0, 1.0));
    let slope = -alpha / rows.weights.get(i);
    let share = match (least.is_finite(), greatest.is_finite()) {
        (true, true) => (greatest - slope) / (greatest - least),
        // t/(1 + t) for the distance t from the only finite end.
        (false, true) => (greatest - slope) / (1.0 + (greatest - slope)),
        (true, false) => (slope - least) / (1.0 + (slope - least)),
        (false, false) => return -slope,
    };
    share.clamp(0.0, 1.0)
}

/// The rows whose multiplier differs from −cᵢ ℓ'(zᵢ), with |αᵢ + cᵢ ℓ'(zᵢ)|/cᵢ; +∞ for rows on the kink of the loss.
fn deviations(rows: &Rows<'_>, problem: &Problem, parameters: &[f64], dual: &[f64]) -> Vec<(usize, f64)> {
    let (w, b) = problem.layout().output(parameters, 0);
    let kinked = !problem.loss().is_smooth();
    let blocks: Vec<Vec<(usize, f64)>> = (0..rows.len().div_ceil(BLOCK))
        .into_par_iter()
        .map(|block| {
            let range = block * BLOCK..((block + 1) * BLOCK).min(rows.len());
            let mut scores = vec![0.0; range.len()];
            rows.design.scores(range.clone(), w, &mut scores);
            let mut found = Vec::new();
            on_loss!(problem.loss(), loss => {
                for (i, z) in range.zip(scores) {
                    let (weight, y, z) = (rows.weights.get(i), rows.targets[i], z + b);
                    if weight == 0.0 {
                        continue;
                    }
                    let near = NEAR * (1.0 + z.abs());
                    // Rows on the kink are stored at every threshold, because rounding decides their slope.
                    let off = match kinked && loss.slope(y, z - near) != loss.slope(y, z + near) {
                        true => f64::INFINITY,
                        false => (dual[i] + weight * loss.slope(y, z)).abs() / weight,
                    };
                    if off > 0.0 {
                        found.push((i, off));
                    }
                }
            }, softmax => ());
            found
        })
        .collect();
    blocks.concat()
}
