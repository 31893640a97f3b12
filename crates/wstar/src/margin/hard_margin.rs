//! The maximum-margin hyperplane, with its support vectors and the numbers that prove it.
//!
//! Primal: minimise ½‖w‖² subject to yᵢ(w·xᵢ + b) ≥ 1. Dual: maximise Σαᵢ − ½‖Σαᵢyᵢxᵢ‖² subject to α ≥ 0 and, with an
//! intercept, Σαᵢyᵢ = 0. All that is reported is computed from the data after the search, in double-double
//! where it cancels: a feasible hyperplane, feasible multipliers, and what is left between their values.

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::decide::fits_in_memory;
use super::frame::{Frame, Scaling};
use super::ranges::Ranges;
use super::session::Session;
use super::wide::Ascent;
use super::working_set::{Found, Search};
use super::{Question, Separated, check, separate};
use crate::certify::proof::{Classes, Verdict};
use crate::data::Row;
use crate::error::Result;
use crate::exact::Signed;
use crate::kernel::double_double::DoubleDouble;
use crate::model::Hyperplane;
use crate::watch::{Budget, Status, Watch};

/// Rounds of the ascent in which it must get nearer.
const PATIENCE: usize = 12;

/// The maximum-margin hyperplane of separable classes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HardMargin {
    /// In its canonical form: the nearest rows have yᵢ(w·xᵢ + b) = 1.
    pub hyperplane: Hyperplane,
    /// The rows with αᵢ > 0, in order; w = Σαᵢyᵢxᵢ up to the gap.
    pub support: Vec<(u64, f64)>,
    /// ½‖w‖².
    pub primal: f64,
    /// Σαᵢ − ½‖Σαᵢyᵢxᵢ‖².
    pub dual: f64,
    /// (primal − dual)/primal.
    pub relative_gap: f64,
    /// The distance of the nearest rows from the hyperplane, 1/‖w‖; the width between the classes is twice that.
    pub margin: f64,
    /// The most by which a row misses 1.
    pub violation: f64,
    /// The largest αᵢ(yᵢ(w·xᵢ + b) − 1) of any row, relative to Σα.
    pub slackness: f64,
    /// |Σαᵢyᵢ| relative to Σα; 0 without an intercept, where nothing asks for it.
    pub imbalance: f64,
    /// `Converged` if the gap is as small as was asked.
    pub status: Status,
    /// Passes over the rows.
    pub passes: u64,
    /// Changes of the active set.
    pub pivots: u64,
}

/// What there is to say about the maximum margin.
#[derive(Debug, Clone)]
pub enum MaximumMargin {
    /// The hyperplane.
    Found(Box<HardMargin>),
    /// No hyperplane separates, and why; or it was not found out.
    Refused(Box<Separated>),
}

/// Finds the maximum-margin hyperplane to a relative gap of `tol`; or proves that there is none.
pub fn hard_margin(
    signed: &Signed<'_>,
    classes: Classes,
    tol: f64,
    budget: Budget,
    watch: &mut dyn Watch,
) -> Result<MaximumMargin> {
    check(signed)?;
    let mut session = Session::start(budget, watch);
    let rows: Vec<usize> = signed.participants().collect();
    let ranges = Ranges::of(signed, &rows);
    let frame = Frame::new(*signed, &ranges, Scaling::Alike);
    let mut found = if fits_in_memory(frame.dimension(), rows.len()) {
        let mut search = Search::new(frame, &rows);
        let separates = search.decide(&mut session) == Found::Separates;
        separates.then(|| report(signed, &rows, &search.hyperplane(), &search.multipliers()))
    } else {
        ascend(signed, &rows, tol, &mut session)
    };
    if let Some(margin) = &mut found {
        margin.status = match session.stopped {
            _ if margin.relative_gap <= tol => Status::Converged,
            Some(status) => status,
            None => Status::Completed,
        };
        (margin.passes, margin.pivots) = (session.passes, session.pivots);
    }
    match found {
        Some(margin) if margin.primal.is_finite() => return Ok(MaximumMargin::Found(Box::new(margin))),
        _ => {}
    }
    let separated = separate(signed, classes, Question::Margin, budget, watch)?;
    // Rounding may have hidden a hyperplane that is there: its margin is what is known then.
    if let (Some(proof), Some(plane)) = (&separated.proof, &separated.hyperplane)
        && proof.verdict == Verdict::Separable
        && let Some(hulls) = &proof.hulls
    {
        let all = hulls.positive.iter().chain(&hulls.negative);
        let multipliers: Vec<(usize, f64)> = all.map(|&(i, a)| (i as usize, a)).collect();
        let mut margin = report(signed, &rows, plane, &multipliers);
        if margin.primal.is_finite() {
            margin.status = if margin.relative_gap <= tol {
                Status::Converged
            } else {
                Status::Completed
            };
            (margin.passes, margin.pivots) = (separated.passes, separated.pivots);
            return Ok(MaximumMargin::Found(Box::new(margin)));
        }
    }
    Ok(MaximumMargin::Refused(Box::new(separated)))
}

/// The same where the columns are too many.
fn ascend(signed: &Signed<'_>, rows: &[usize], tol: f64, session: &mut Session<'_>) -> Option<HardMargin> {
    let mut ascent = Ascent::new(*signed, rows);
    let mut best: Option<HardMargin> = None;
    let mut idle = 0;
    while idle < PATIENCE && session.stopped.is_none() {
        let measured = ascent.round(true, session);
        idle += 1;
        if measured.lower <= 0.0 {
            continue;
        }
        let margin = report(signed, rows, &measured.plane, &ascent.multipliers());
        if best
            .as_ref()
            .is_none_or(|best| margin.relative_gap < 0.9 * best.relative_gap)
        {
            idle = 0;
            best = Some(margin);
        }
        if best.as_ref().is_some_and(|best| best.relative_gap <= tol) {
            break;
        }
    }
    best
}

/// w·x in double-double.
fn long_dot(row: Row<'_>, w: &[f64]) -> DoubleDouble {
    let mut sum = DoubleDouble::ZERO;
    row.for_each(|j, x| sum += DoubleDouble::product(x, w.get(j).copied().unwrap_or_default()));
    sum
}

/// The hyperplane made feasible, the multipliers made feasible, and what they prove.
fn report(
    signed: &Signed<'_>,
    rows: &[usize],
    plane: &Hyperplane,
    multipliers: &[(usize, f64)],
) -> HardMargin {
    // The nearest row of each class decides the best intercept and the margin.
    let projections: Vec<DoubleDouble> = rows
        .par_iter()
        .with_min_len(256)
        .map(|&i| long_dot(signed.design.row(i), &plane.weights))
        .collect();
    let nearest = |y: i8| {
        let own = rows
            .iter()
            .zip(&projections)
            .filter(|&(&i, _)| !signed.intercept || signed.signs[i] == y);
        own.map(|(&i, p)| p.scaled(f64::from(signed.signs[i]))).fold(
            DoubleDouble::from(f64::INFINITY),
            |least, p| {
                if (p - least).high < 0.0 || least.high.is_infinite() {
                    p
                } else {
                    least
                }
            },
        )
    };
    let (least, shift) = if signed.intercept {
        let (positive, negative) = (nearest(1), nearest(-1));
        (
            (positive + negative).scaled(0.5),
            (negative - positive).scaled(0.5),
        )
    } else {
        (nearest(1), DoubleDouble::ZERO)
    };
    let canonical = |x: DoubleDouble| (x / least).value();
    let weights: Vec<f64> = plane
        .weights
        .iter()
        .map(|&w| canonical(DoubleDouble::from(w)))
        .collect();
    let intercept = canonical(shift);
    let mut square = DoubleDouble::ZERO;
    weights
        .iter()
        .for_each(|&w| square += DoubleDouble::product(w, w));
    let primal = if least.high > 0.0 {
        square.value() / 2.0
    } else {
        f64::INFINITY
    };

    let mut alpha: Vec<(usize, f64)> = multipliers.iter().copied().filter(|&(_, a)| a > 0.0).collect();
    balance(signed, &mut alpha);
    let mut total = DoubleDouble::ZERO;
    let mut point = vec![DoubleDouble::ZERO; signed.design.features()];
    for &(i, a) in &alpha {
        total += DoubleDouble::from(a);
        let signed_alpha = a * f64::from(signed.signs[i]);
        signed
            .design
            .row(i)
            .for_each(|j, x| point[j] += DoubleDouble::product(signed_alpha, x));
    }
    let mut distance = DoubleDouble::ZERO;
    point.iter().for_each(|&p| distance += p * p);
    // The best multiple of α: D(tα) = tΣα − ½t²‖Σαyx‖².
    let factor = total / distance;
    let dual = (total * factor).value() / 2.0;
    alpha.iter_mut().for_each(|(_, a)| *a = (factor * *a).value());
    let balanced: DoubleDouble = alpha.iter().fold(DoubleDouble::ZERO, |sum, &(i, a)| {
        sum + a * f64::from(signed.signs[i])
    });
    let total = (total * factor).value();

    let of_row: FxHashMap<usize, f64> = alpha.iter().copied().collect();
    let canonical_plane = Hyperplane::new(weights, intercept);
    let (mut violation, mut slackness) = (0.0f64, 0.0f64);
    for &i in rows {
        let score = (long_dot(signed.design.row(i), &canonical_plane.weights) + intercept)
            .scaled(f64::from(signed.signs[i]));
        let beyond = (score - DoubleDouble::from(1.0)).value();
        violation = violation.max(-beyond);
        if let Some(a) = of_row.get(&i) {
            slackness = slackness.max((a * beyond).abs() / total);
        }
    }
    HardMargin {
        margin: 1.0 / square.sqrt().value(),
        hyperplane: canonical_plane,
        support: alpha.into_iter().map(|(i, a)| (i as u64, a)).collect(),
        primal,
        dual,
        relative_gap: (primal - dual) / primal,
        violation,
        slackness,
        imbalance: if signed.intercept {
            (balanced.value() / total).abs()
        } else {
            0.0
        },
        status: Status::Completed,
        passes: 0,
        pivots: 0,
    }
}

/// Makes Σαᵢyᵢ = 0 as nearly as doubles can, by what it takes of the largest multipliers.
fn balance(signed: &Signed<'_>, alpha: &mut [(usize, f64)]) {
    if !signed.intercept {
        return;
    }
    let sums = |alpha: &[(usize, f64)]| {
        let sum = |y: i8| {
            let own = alpha.iter().filter(|&&(i, _)| signed.signs[i] == y);
            own.fold(DoubleDouble::ZERO, |sum, &(_, a)| sum + a)
        };
        (sum(1), sum(-1))
    };
    let (positive, negative) = sums(alpha);
    let ratio = (negative / positive).value();
    if ratio.is_finite() && ratio > 0.0 {
        for (i, a) in alpha.iter_mut() {
            if signed.signs[*i] > 0 {
                *a *= ratio;
            }
        }
    }
    let (positive, negative) = sums(alpha);
    let rest = (positive - negative).value();
    let largest = alpha
        .iter_mut()
        .filter(|(i, _)| signed.signs[*i] > 0)
        .max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((_, a)) = largest {
        *a = (*a - rest).max(0.0);
    }
}
