//! Bounds on the maximum margin, rounded outwards.
//!
//! Scores and hull points are summed in double-double, and their errors are bounded by sums of absolute
//! values with safety factors. So `lower` never exceeds the margin of the hyperplane, and `upper` is never
//! below half the distance of the two hull points.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::exact::Signed;
use crate::proof::combination::Combination;
use wstar_data::Row;
use wstar_numeric::double_double::{DoubleDouble, two_prod, two_sum};

/// Relative error of a double-double operation. Derived: 2⁻¹⁰⁴ ≈ 4.9·10⁻³², times a safety factor of 20.
const ERROR: f64 = 1e-30;
/// Absolute error allowed for each term. Derived: `two_prod` is exact for products of at least 2⁻⁹⁶⁹ ≈
/// 2·10⁻²⁹².
const UNDERFLOW: f64 = 1e-290;
/// Relative correction for a rounded operation. Derived: eight times the unit roundoff.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// Bounds on the maximum margin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// A lower bound: the margin of some hyperplane. 0 if none separates, or none whose coefficients are
    /// doubles.
    pub lower: f64,
    /// An upper bound on every margin.
    pub upper: f64,
}

/// A point of each class's hull, as rows with multipliers that are normalised by their sum. Without an
/// intercept there is one hull, of all `yᵢxᵢ`, stored in `positive`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hulls {
    /// The point of the positive class.
    pub positive: Vec<(u64, f64)>,
    /// The point of the negative class.
    pub negative: Vec<(u64, f64)>,
}

/// A lower bound on the margin of a hyperplane over all rows that take part; 0 if it does not separate or
/// if rounding hides that it does.
pub(super) fn lower(signed: &Signed<'_>, weights: &[f64], intercept: f64) -> f64 {
    let norm = norm_above(weights);
    let rows: Vec<usize> = signed.participants().collect();
    let least = rows
        .par_iter()
        .map(|&i| {
            score_below(
                signed.design.row(i),
                f64::from(signed.signs[i].signum()),
                weights,
                intercept,
            )
        })
        .reduce(|| f64::INFINITY, f64::min);
    let margin = least / norm * (1.0 - ROUNDING);
    if margin.is_finite() && norm.is_finite() && margin > 0.0 {
        margin
    } else {
        0.0
    }
}

/// A lower bound on `y(w·x + b)`.
fn score_below(row: Row<'_>, y: f64, weights: &[f64], intercept: f64) -> f64 {
    let (mut sum, mut errors, mut size, mut terms) = (intercept, 0.0, intercept.abs(), 1.0);
    row.for_each(|j, x| {
        let (product, error) = two_prod(x, weights.get(j).copied().unwrap_or_default());
        let (next, rounding) = two_sum(sum, product);
        sum = next;
        errors += rounding + error;
        size += product.abs();
        terms += 1.0;
    });
    let score = DoubleDouble::from(sum) + errors;
    // `errors` is summed in double precision: its terms are at most 2⁻⁵³ of the sizes, so its rounding
    // error is of order n·2⁻¹⁰⁶.
    let bound = terms * terms * (size * ERROR + UNDERFLOW);
    let below = y * score.high - (score.low.abs() + bound);
    if below.is_nan() {
        f64::NEG_INFINITY
    } else {
        below - below.abs() * ROUNDING
    }
}

/// An upper bound on `‖w‖`.
fn norm_above(weights: &[f64]) -> f64 {
    // Scaled so that no square overflows or underflows.
    let largest = weights.iter().map(|w| w.abs()).fold(0.0, f64::max);
    if largest == 0.0 {
        return 0.0;
    }
    let squares: f64 = weights.iter().map(|w| (w / largest) * (w / largest)).sum();
    let factor = 1.0 + weights.len() as f64 * ROUNDING;
    squares.sqrt() * factor * largest * (1.0 + ROUNDING) + f64::MIN_POSITIVE
}

/// An upper bound on half the distance of the two hull points (without an intercept: on the norm of the
/// one). `f64::MAX` if the rows or multipliers do not define points of the hulls.
pub(super) fn upper(signed: &Signed<'_>, hulls: &Hulls) -> f64 {
    let width = signed.design.features();
    let mut seen = vec![false; signed.design.rows()];
    let mut point = Point::new(width);
    if signed.intercept {
        let sides = [(&hulls.positive, 1), (&hulls.negative, -1)];
        sides
            .iter()
            .all(|(list, y)| point.add(signed, list, Some(*y), &mut seen))
            .then_some(())
    } else {
        (hulls.negative.is_empty() && point.add(signed, &hulls.positive, None, &mut seen)).then_some(())
    }
    .map_or(f64::MAX, |()| {
        point.norm_above() / if signed.intercept { 2.0 } else { 1.0 }
    })
}

/// The bounds that a combination proves: an exact one proves that the maximum margin is 0.
pub(super) fn of_combination(signed: &Signed<'_>, combination: &Combination) -> Interval {
    if combination.exact {
        return Interval {
            lower: 0.0,
            upper: 0.0,
        };
    }
    let upper = decimal_hulls(signed, combination).map_or(f64::MAX, |hulls| upper(signed, &hulls));
    Interval { lower: 0.0, upper }
}

/// The two hull points of a combination with decimal weights, if all weights are positive numbers.
pub(super) fn decimal_hulls(signed: &Signed<'_>, combination: &Combination) -> Option<Hulls> {
    if combination.points.len() != combination.weights.len() {
        return None;
    }
    let mut hulls = Hulls::default();
    for (&i, text) in combination.points.iter().zip(&combination.weights) {
        let weight: f64 = text.parse().ok()?;
        let y = usize::try_from(i)
            .ok()
            .and_then(|i| signed.signs.get(i).copied())?;
        if !(weight > 0.0 && weight.is_finite()) || y == 0 {
            return None;
        }
        let side = if y < 0 && signed.intercept {
            &mut hulls.negative
        } else {
            &mut hulls.positive
        };
        side.push((i, weight));
    }
    Some(hulls)
}

/// Sums of `±λᵢxᵢ` in double-double, with the sums of absolute values that bound their errors.
struct Point {
    sum: Vec<DoubleDouble>,
    size: Vec<f64>,
    terms: f64,
}

impl Point {
    fn new(width: usize) -> Self {
        Point {
            sum: vec![DoubleDouble::ZERO; width],
            size: vec![0.0; width],
            terms: 1.0,
        }
    }

    /// Adds `Σλᵢyᵢxᵢ/Σλᵢ`. Returns `false` if a row does not exist, is repeated, does not take part or is
    /// of another class, or if the multipliers are not nonnegative numbers with a positive sum.
    fn add(
        &mut self,
        signed: &Signed<'_>,
        list: &[(u64, f64)],
        class: Option<i8>,
        seen: &mut [bool],
    ) -> bool {
        let mut total = DoubleDouble::ZERO;
        for &(_, multiplier) in list {
            total = total + multiplier;
        }
        if !(total.high > 0.0 && total.high.is_finite()) {
            return false;
        }
        for &(i, multiplier) in list {
            let Some(i) = usize::try_from(i)
                .ok()
                .filter(|&i| i < seen.len().min(signed.signs.len()))
            else {
                return false;
            };
            let y = signed.signs[i].signum();
            let fits = y != 0 && class.is_none_or(|class| class == y);
            if !fits || multiplier.is_nan() || multiplier < 0.0 || std::mem::replace(&mut seen[i], true) {
                return false;
            }
            let share = DoubleDouble::from(multiplier * f64::from(y)) / total;
            signed.design.row(i).for_each(|j, x| {
                let term = share * x;
                self.sum[j] += term;
                self.size[j] += term.high.abs();
            });
            self.terms += 1.0;
        }
        true
    }

    fn norm_above(&self) -> f64 {
        let bound = |size: &f64| self.terms * (size * ERROR + UNDERFLOW);
        let above: Vec<f64> = self
            .sum
            .iter()
            .zip(&self.size)
            .map(|(sum, size)| (sum.high.abs() + sum.low.abs() + bound(size)) * (1.0 + ROUNDING))
            .collect();
        let norm = norm_above(&above);
        if norm.is_nan() {
            f64::MAX
        } else {
            norm.min(f64::MAX)
        }
    }
}
