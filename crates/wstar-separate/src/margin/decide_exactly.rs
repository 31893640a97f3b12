//! Deciding separability in exact arithmetic, where floating point cannot.
//!
//! [`decide`] solves Gordan's alternative in integers ([`gordan`]) on a working set of rows, and adds
//! violated rows until all rows agree. With `faces` it also performs facial reduction: rows in the span of
//! a vanishing combination are removed, and the question is asked again in the space orthogonal to them.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed as _, ToPrimitive, Zero};
use rayon::prelude::*;

use crate::exact::{self, Alternative, Circuit, ExactOutcome, Plane, Signed, gordan};
use crate::margin::search_budget::Session;
use wstar_data::linear::Hyperplane;

/// Multiples of the hyperplane that are rounded until one separates every row strictly. Cap: beyond it the
/// hyperplane is reported in fractions.
const FACTORS: usize = 64;
/// Violated rows that join the working set at a time. Heuristic: trades the size of the integer problem for
/// the number of passes; not measured yet.
const BATCH: usize = 200;

/// The outcome of [`decide`].
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Decided {
    /// Every row has a positive product with this vector.
    Separable(Vec<BigInt>),
    /// A vanishing combination, and a vector that is 0 on its span and positive on all other rows.
    Weakly(Circuit, Vec<BigInt>),
    /// A vanishing combination of points that span all rows.
    Overlap(Circuit),
    /// A vanishing combination; facial reduction was not requested.
    Circuit(Circuit),
    /// The search was stopped.
    Stopped,
}

/// Decides for `rows`, starting from the working set `initial`. Without `faces` only strict separability is
/// decided.
pub(super) fn decide(
    signed: &Signed<'_>,
    rows: &[usize],
    initial: &[usize],
    faces: bool,
    session: &mut Session<'_>,
) -> Decided {
    let mut open: Vec<usize> = rows.to_vec();
    let mut working: Vec<usize> = if initial.is_empty() {
        rows.iter()
            .copied()
            .step_by(rows.len().div_ceil(BATCH).max(1))
            .collect()
    } else {
        initial.to_vec()
    };
    let mut weights: Vec<(usize, BigRational)> = Vec::new();
    let mut free: Vec<usize> = Vec::new();
    loop {
        match gordan(signed, &working, &|_| false, &free, &mut || session.stop()) {
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
                if session.record_pass(open.len(), missing.len()) {
                    return Decided::Stopped;
                }
                let stride = missing.len().div_ceil(BATCH);
                working.extend(missing.into_iter().step_by(stride));
                working.sort_unstable();
                working.dedup();
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
                working.retain(outside);
                if open.is_empty() {
                    return circuit(signed, &weights).map_or(Decided::Stopped, Decided::Overlap);
                }
                if working.is_empty() {
                    working = open.iter().copied().step_by(open.len().div_ceil(BATCH)).collect();
                }
                free = independent(signed, &face);
            }
        }
    }
}

/// Adds a multiple of `before` to `found` so that no weight on the rows of `before` is negative. The sum of
/// two vanishing combinations vanishes too.
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

/// The combination with its weights normalised, or `None` if they are all zero.
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

/// An integer vector orthogonal to the face, drawn pseudo-randomly from a fixed seed. Almost surely it is
/// orthogonal to no row outside the span of the face; a failure would be found by the check of the proof.
fn probe(signed: &Signed<'_>, face: &[usize]) -> Option<Vec<BigInt>> {
    use rand::{RngExt, SeedableRng};
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(face.len() as u64);
    let guess: Vec<f64> = (0..signed.width())
        .map(|_| f64::from(random.random_range(1i32..i32::MAX)))
        .collect();
    match exact::vanishing(signed, face, &guess, &exact::Deadline::unlimited()) {
        ExactOutcome::Found(v) => Some(exact::cleared(&v)),
        ExactOutcome::Absent | ExactOutcome::BudgetSpent => None,
    }
}

/// A maximal independent subset of the rows of the face.
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

/// Rounds `v` to doubles so that every row stays strictly on its side, if some multiple of `v` allows it.
/// Each multiple of `v` rounds differently.
pub(super) fn rounded(signed: &Signed<'_>, rows: &[usize], v: &[BigInt]) -> Option<Hyperplane> {
    let most = v.iter().map(BigInt::bits).max().unwrap_or_default();
    // 900 bits exceed the precision of any double and stay within its exponent range.
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

/// Whether every row is strictly on its side of the hyperplane with integer coefficients.
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

/// Whether every row is strictly on its side of the hyperplane of doubles, by exact signs.
pub(super) fn separates(signed: &Signed<'_>, rows: &[usize], plane: &Hyperplane) -> bool {
    let finite = plane.intercept.is_finite() && plane.weights.iter().all(|w| w.is_finite());
    finite
        && rows.par_iter().all(|&i| {
            let order = exact::sign::sign(signed.design.row(i), &plane.weights, plane.intercept);
            if signed.signs[i] < 0 {
                order.is_lt()
            } else {
                order.is_gt()
            }
        })
}
