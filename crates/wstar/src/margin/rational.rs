//! The same decisions without rounding, for what floating point cannot tell.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed as _, ToPrimitive, Zero};
use rayon::prelude::*;

use super::session::Session;
use crate::exact::{self, Alternative, Circuit, Exactly, Plane, Signed, gordan};
use crate::model::Hyperplane;

/// Factors that are tried until rounding leaves a hyperplane on its side of every row.
const FACTORS: usize = 64;
/// Rows that join the few at a time.
const BATCH: usize = 200;

/// What was decided about some rows.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Decided {
    /// Every row has a positive product with this.
    Separable(Vec<BigInt>),
    /// A combination that vanishes, and a vector that is 0 on its span and positive elsewhere.
    Weakly(Circuit, Vec<BigInt>),
    /// A combination that vanishes, of points that span all.
    Overlap(Circuit),
    /// A combination that vanishes; no more was asked for.
    Circuit(Circuit),
    /// It was stopped.
    Stopped,
}

/// Decides about `rows`, with `few` of them to start from; only whether they can be separated, unless `faces`.
pub(super) fn decide(
    signed: &Signed<'_>,
    rows: &[usize],
    few: &[usize],
    faces: bool,
    session: &mut Session<'_>,
) -> Decided {
    let mut open: Vec<usize> = rows.to_vec();
    let mut hand: Vec<usize> = if few.is_empty() {
        rows.iter()
            .copied()
            .step_by(rows.len().div_ceil(BATCH).max(1))
            .collect()
    } else {
        few.to_vec()
    };
    let mut weights: Vec<(usize, BigRational)> = Vec::new();
    let mut free: Vec<usize> = Vec::new();
    loop {
        match gordan(signed, &hand, &|_| false, &free, &mut || session.stop()) {
            Alternative::Stopped => return Decided::Stopped,
            Alternative::Separator(v) => {
                let plane = Plane::lifted(&v, signed.intercept);
                let side = |i: &usize| {
                    let order = plane.sign(signed.design.row(*i));
                    if signed.signs[*i] < 0 {
                        order.is_lt()
                    } else {
                        order.is_gt()
                    }
                };
                let missing: Vec<usize> = open.par_iter().copied().filter(|i| !side(i)).collect();
                if missing.is_empty() {
                    return match circuit(signed, &weights) {
                        None => Decided::Separable(v),
                        Some(circuit) => Decided::Weakly(circuit, v),
                    };
                }
                if session.passed(open.len(), missing.len()) {
                    return Decided::Stopped;
                }
                let stride = missing.len().div_ceil(BATCH);
                hand.extend(missing.into_iter().step_by(stride));
                hand.sort_unstable();
                hand.dedup();
            }
            Alternative::Combination(found) => {
                weights = joined(weights, found);
                if !faces {
                    return circuit(signed, &weights).map_or(Decided::Stopped, Decided::Circuit);
                }
                let face: Vec<usize> = weights.iter().map(|&(i, _)| i).collect();
                let Some(probe) = probe(signed, &face) else {
                    return Decided::Stopped;
                };
                let plane = Plane::lifted(&probe, signed.intercept);
                let outside = |i: &usize| !plane.sign(signed.design.row(*i)).is_eq();
                open = open.into_par_iter().filter(outside).collect();
                hand.retain(outside);
                if open.is_empty() {
                    return circuit(signed, &weights).map_or(Decided::Stopped, Decided::Overlap);
                }
                if hand.is_empty() {
                    hand = open.iter().copied().step_by(open.len().div_ceil(BATCH)).collect();
                }
                free = independent(signed, &face);
            }
        }
    }
}

/// A combination that vanishes, made positive where it is not by one that is on the rows before.
fn joined(
    before: Vec<(usize, BigRational)>,
    mut found: Vec<(usize, BigRational)>,
) -> Vec<(usize, BigRational)> {
    let mut factor = BigRational::from_integer(BigInt::from(1));
    for (i, weight) in found.iter().filter(|(_, w)| w.is_negative()) {
        if let Ok(k) = before.binary_search_by_key(i, |&(j, _)| j) {
            let needed = -weight / &before[k].1 + BigRational::from_integer(BigInt::from(1));
            factor = factor.max(needed);
        }
    }
    for (i, weight) in before {
        let scaled = weight * &factor;
        match found.binary_search_by_key(&i, |&(j, _)| j) {
            Ok(k) => found[k].1 += scaled,
            Err(k) => found.insert(k, (i, scaled)),
        }
    }
    found.retain(|(_, w)| !w.is_zero());
    found
}

/// Normed, if there are any.
fn circuit(signed: &Signed<'_>, weights: &[(usize, BigRational)]) -> Option<Circuit> {
    let counted = weights
        .iter()
        .filter(|&&(i, _)| !signed.intercept || signed.signs[i] > 0);
    let total: BigRational = counted.map(|(_, w)| w).sum();
    if total.is_zero() {
        return None;
    }
    Some(Circuit {
        points: weights.iter().map(|&(i, _)| i as u64).collect(),
        weights: weights.iter().map(|(_, w)| w / &total).collect(),
    })
}

/// A vector orthogonal to the face, drawn at random but always the same: orthogonal to no row outside its span, but for
/// an accident, which the check of the proof would find.
fn probe(signed: &Signed<'_>, face: &[usize]) -> Option<Vec<BigInt>> {
    use rand::{RngExt, SeedableRng};
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(face.len() as u64);
    let guess: Vec<f64> = (0..signed.width())
        .map(|_| f64::from(random.random_range(1i32..i32::MAX)))
        .collect();
    match exact::vanishing(signed, face, &guess, &exact::Budget::unlimited()) {
        Exactly::Found(v) => Some(exact::cleared(&v)),
        Exactly::Absent | Exactly::BudgetSpent => None,
    }
}

/// Rows of the face that are independent and span it.
fn independent(signed: &Signed<'_>, face: &[usize]) -> Vec<usize> {
    let mut kept: Vec<usize> = Vec::new();
    for &i in face {
        kept.push(i);
        if exact::rank_at_least(signed, &kept) < kept.len() {
            kept.pop();
        }
    }
    kept
}

/// The nearest doubles of v that keep every row strictly on its side, if rounding leaves any: other multiples of v
/// round otherwise.
pub(super) fn rounded(signed: &Signed<'_>, rows: &[usize], v: &[BigInt]) -> Option<Hyperplane> {
    let most = v.iter().map(BigInt::bits).max().unwrap_or_default();
    // 1000 bits are far more than any double, and within the range of all.
    let shift = most.saturating_sub(900);
    let unit: Vec<BigRational> = v
        .iter()
        .map(|x| BigRational::new(x.clone(), BigInt::from(1) << shift))
        .collect();
    (0..FACTORS).find_map(|k| {
        let factor = BigRational::new(BigInt::from(FACTORS + k), BigInt::from(FACTORS));
        let values: Option<Vec<f64>> = unit.iter().map(|x| (x * &factor).to_f64()).collect();
        let mut values = values.filter(|values| values.iter().all(|v| v.is_finite()))?;
        let largest = values.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        let scale = 2f64.powi(-(largest.log2() as i32).clamp(-1000, 1000));
        values.iter_mut().for_each(|v| *v *= scale);
        let intercept = if signed.intercept {
            values.pop().unwrap_or_default()
        } else {
            0.0
        };
        let plane = Hyperplane::new(values, intercept);
        separates(signed, rows, &plane).then_some(plane)
    })
}

/// Whether every row is strictly on its side of a hyperplane of integers.
pub(super) fn separates_exactly(signed: &Signed<'_>, rows: &[usize], v: &[BigInt]) -> bool {
    let plane = Plane::lifted(v, signed.intercept);
    rows.par_iter().all(|&i| {
        let order = plane.sign(signed.design.row(i));
        if signed.signs[i] < 0 {
            order.is_lt()
        } else {
            order.is_gt()
        }
    })
}

/// Whether every row is strictly on its side, exactly.
pub(super) fn separates(signed: &Signed<'_>, rows: &[usize], plane: &Hyperplane) -> bool {
    let finite = plane.intercept.is_finite() && plane.weights.iter().all(|w| w.is_finite());
    finite
        && rows.par_iter().all(|&i| {
            let order = exact::sign(signed.design.row(i), &plane.weights, plane.intercept);
            if signed.signs[i] < 0 {
                order.is_lt()
            } else {
                order.is_gt()
            }
        })
}
