//! Which multipliers a certificate must store: as few as it takes.

use rayon::prelude::*;

use crate::certify::DualityGap;
use crate::certify::duality::{Definition, DualPoint, StoredDual, certify as certify_gap};
use crate::error::Result;
use crate::loss::{Loss, LossName, on_loss};
use crate::oracle::{Blocks, Rows};

/// Multipliers that differ from what the side of the kink tells by less than this share of their range are not
/// stored, and the others perhaps coarsely; tried in turn, until the gap is small enough.
const PRECISIONS: [(f64, bool); 6] = [
    (1e-4, true),
    (1e-4, false),
    (1e-6, false),
    (1e-8, false),
    (1e-10, false),
    (0.0, false),
];

/// A claim that holds and is no better than this part of the one before is not made better by more digits.
const NO_BETTER: f64 = 0.9;

/// So many rows may be stored with every digit beside those that a vertex needs.
const FEW: usize = 1000;

/// Rows that one task looks at.
const BLOCK: usize = 1024;

/// A score this near to its kink, relatively, may fall on either side of it in another order of summing.
const NEAR: f64 = 1e-9;

/// Certifies a point; `dual` are the solver's multipliers, which a loss with a kink needs, and a smooth one if its
/// slopes are too small to be seen in the scores, and `reached` is the relative gap that it found with them.
pub(super) fn certify(
    rows: &Rows<'_>,
    definition: &Definition,
    parameters: &[f64],
    dual: Option<&[f64]>,
    tol: f64,
    reached: f64,
) -> Result<DualityGap> {
    let mut best: Option<DualityGap> = None;
    if dual.is_none() || definition.loss.is_smooth() {
        let claim = certify_slopes(&mut rows.borrowed(), definition, parameters, tol)?;
        if claim.holds() {
            return Ok(claim);
        }
        best = Some(claim);
    }
    let (Some(dual), true) = (dual, definition.loss != LossName::Softmax) else {
        return match best {
            Some(best) => Ok(best),
            None => certify_slopes(&mut rows.borrowed(), definition, parameters, tol),
        };
    };
    let off = deviations(rows, definition, parameters, dual);
    // A vertex has so few that all of them are stored with every digit.
    let few = definition.penalty.is_none()
        && definition.loss.is_absolute()
        && off.len() <= FEW + 4 * definition.layout.len();
    let from = if few { PRECISIONS.len() - 1 } else { 0 };
    let unbounded = definition.loss == LossName::Squared;
    for (threshold, coarse) in PRECISIONS.into_iter().skip(from) {
        if coarse && unbounded {
            continue;
        }
        let pairs: Vec<(u64, f64)> = off
            .iter()
            .filter(|&&(_, deviation)| deviation > threshold)
            .map(|&(i, _)| (i as u64, share(rows, definition, i, dual[i])))
            .collect();
        let point = DualPoint::Stored(StoredDual::new(&pairs, coarse));
        let claim = certify_gap(&mut rows.borrowed(), definition, parameters, point, tol)?;
        // Half the tolerance leaves room for more than other machines' rounding; more digits lead no further than the solver was.
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
        None => certify_slopes(&mut rows.borrowed(), definition, parameters, tol),
    }
}

/// Certifies a point by the slopes of its loss alone.
pub(super) fn certify_slopes(
    blocks: &mut dyn Blocks,
    definition: &Definition,
    parameters: &[f64],
    tol: f64,
) -> Result<DualityGap> {
    certify_gap(blocks, definition, parameters, DualPoint::Slopes, tol)
}

/// Where a multiplier lies within its range.
fn share(rows: &Rows<'_>, definition: &Definition, i: usize, alpha: f64) -> f64 {
    let (least, greatest) =
        on_loss!(definition.loss, loss => loss.slopes(rows.targets[i]), softmax => (0.0, 1.0));
    let slope = -alpha / rows.weights.get(i);
    let share = match (least.is_finite(), greatest.is_finite()) {
        (true, true) => (greatest - slope) / (greatest - least),
        // t/(1 + t) for the distance t from the only end.
        (false, true) => (greatest - slope) / (1.0 + (greatest - slope)),
        (true, false) => (slope - least) / (1.0 + (slope - least)),
        (false, false) => return -slope,
    };
    share.clamp(0.0, 1.0)
}

/// Rows whose multiplier is not what the side of the kink tells, with how far off it is as a share of the weight.
fn deviations(
    rows: &Rows<'_>,
    definition: &Definition,
    parameters: &[f64],
    dual: &[f64],
) -> Vec<(usize, f64)> {
    let (w, b) = definition.layout.output(parameters, 0);
    let kinked = !definition.loss.is_smooth();
    let blocks: Vec<Vec<(usize, f64)>> = (0..rows.len().div_ceil(BLOCK))
        .into_par_iter()
        .map(|block| {
            let range = block * BLOCK..((block + 1) * BLOCK).min(rows.len());
            let mut scores = vec![0.0; range.len()];
            rows.design.scores(range.clone(), w, &mut scores);
            let mut found = Vec::new();
            on_loss!(definition.loss, loss => {
                for (i, z) in range.zip(scores) {
                    let (weight, y, z) = (rows.weights.get(i), rows.targets[i], z + b);
                    if weight == 0.0 {
                        continue;
                    }
                    let near = NEAR * (1.0 + z.abs());
                    // Whatever the threshold, what rounding could turn must be stored.
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
