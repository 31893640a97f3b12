//! The maximum-margin hyperplane, with its support vectors and the values that prove it optimal (B. E. Boser,
//! I. M. Guyon and V. N. Vapnik, A training algorithm for optimal margin classifiers, COLT 1992).
//!
//! Primal: minimise ½‖w‖² subject to yᵢ(w·xᵢ + b) ≥ 1. Dual: maximise Σαᵢ − ½‖Σαᵢyᵢxᵢ‖² subject to α ≥ 0
//! and, with an intercept, Σαᵢyᵢ = 0.
//!
//! All reported values are recomputed from the data after the search: a feasible hyperplane, feasible
//! multipliers and the gap between their objective values. Sums that cancel are computed in double-double.

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::exact::Signed;
use crate::margin::column_ranges::Ranges;
use crate::margin::coordinates::{Frame, Scaling};
use crate::margin::decide::fits_in_memory;
use crate::margin::dual_ascent::Ascent;
use crate::margin::row_working_set::{RowSearch, SearchResult};
use crate::margin::search_budget::Session;
use crate::margin::{Question, Separated, check, separate};
use crate::proof::{ClassNames, Verdict};
use wstar_data::Row;
use wstar_data::error::Result;
use wstar_data::linear::Hyperplane;
use wstar_data::run::{Budget, Status, Watch};
use wstar_numeric::double_double::DoubleDouble;

/// Rounds of dual ascent without a clear improvement of the gap before it stops. Heuristic: trades accuracy
/// for time; not measured yet.
const PATIENCE: usize = 12;

/// The maximum-margin hyperplane of separable classes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HardMargin {
    /// The hyperplane in canonical form: the nearest rows have yᵢ(w·xᵢ + b) = 1.
    pub hyperplane: Hyperplane,
    /// The rows with αᵢ > 0, in increasing order, with αᵢ; w = Σαᵢyᵢxᵢ up to the gap.
    pub support: Vec<(u64, f64)>,
    /// ½‖w‖².
    pub primal: f64,
    /// Σαᵢ − ½‖Σαᵢyᵢxᵢ‖².
    pub dual: f64,
    /// (primal − dual)/primal.
    pub relative_gap: f64,
    /// 1/‖w‖, the distance of the nearest rows from the hyperplane. The width between the classes is twice
    /// that.
    pub margin: f64,
    /// max 1 − yᵢ(w·xᵢ + b) over all rows, at least 0.
    pub violation: f64,
    /// max |αᵢ(yᵢ(w·xᵢ + b) − 1)| over all rows, relative to Σα.
    pub slackness: f64,
    /// |Σαᵢyᵢ| relative to Σα; 0 without an intercept, where the constraint does not exist.
    pub imbalance: f64,
    /// `Converged` if the relative gap is at most the requested tolerance.
    pub status: Status,
    /// The number of passes over the rows.
    pub passes: u64,
    /// The number of active-set changes.
    pub pivots: u64,
}

/// The outcome of [`hard_margin`].
#[derive(Debug, Clone)]
pub enum MaximumMargin {
    /// The maximum-margin hyperplane.
    Found(Box<HardMargin>),
    /// No hyperplane was found: the proof that none separates, or the reason why the search ended
    /// undecided.
    Refused(Box<Separated>),
}

/// Finds the maximum-margin hyperplane to a relative gap of `tol`, or proves that no hyperplane separates.
pub fn hard_margin(
    signed: &Signed<'_>,
    classes: ClassNames,
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
        let mut search = RowSearch::new(frame, &rows);
        let separates = search.decide(&mut session) == SearchResult::Separates;
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
    // The search can miss a hyperplane because of rounding where the exact decision finds one. Its margin
    // is then reported as far as it is known.
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

/// Dual ascent, for problems with too many columns for a dense factor.
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
            // Heuristic: a decrease by less than a tenth counts as none; not measured yet.
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

/// Scales the hyperplane and the multipliers to feasibility, and computes the values that they prove.
fn report(
    signed: &Signed<'_>,
    rows: &[usize],
    plane: &Hyperplane,
    multipliers: &[(usize, f64)],
) -> HardMargin {
    // The nearest row of each class determines the optimal intercept and the margin.
    let projections: Vec<DoubleDouble> = rows
        .par_iter()
        // Heuristic: scheduling overhead against balance; not measured yet.
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
    // The best multiple of α: D(tα) = tΣα − ½t²‖Σαyx‖² is maximal at t = Σα/‖Σαyx‖².
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

/// Makes Σαᵢyᵢ = 0 up to rounding: scales the positive class, then corrects its largest multiplier by the
/// remainder.
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
