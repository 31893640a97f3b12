//! The margin's interval, rounded outwards.
//!
//! Scores and hull points are summed in double-double, whose errors are bounded here by what plain sums of sizes
//! say, with room to spare; so `lower` never exceeds the hyperplane's margin, and `upper` is never below half the
//! distance of the two points.

use rayon::prelude::*;

use super::{Combination, Hulls, Interval};
use crate::data::Row;
use crate::exact::Signed;
use crate::kernel::double_double::{DoubleDouble, two_prod, two_sum};

/// What a double-double operation may err by, relative to what it sums: 2⁻¹⁰⁴ and some.
const ERROR: f64 = 1e-30;
/// Products below this lose their low part.
const UNDERFLOW: f64 = 1e-290;
/// One rounding up or down, and a little more.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// The margin of a hyperplane over all rows that take part, at most; 0 where it does not separate, or where
/// rounding hides that.
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

/// A number that `y(w·x + b)` is not below.
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
    // `errors` is summed in plain arithmetic: its terms are 2⁻⁵³ of the sizes, its errors n·2⁻¹⁰⁶.
    let bound = terms * terms * (size * ERROR + UNDERFLOW);
    let below = y * score.high - (score.low.abs() + bound);
    if below.is_nan() {
        f64::NEG_INFINITY
    } else {
        below - below.abs() * ROUNDING
    }
}

/// A number that `‖w‖` is not above.
fn norm_above(weights: &[f64]) -> f64 {
    // Scaled, so that no square leaves the range.
    let largest = weights.iter().map(|w| w.abs()).fold(0.0, f64::max);
    if largest == 0.0 {
        return 0.0;
    }
    let squares: f64 = weights.iter().map(|w| (w / largest) * (w / largest)).sum();
    let factor = 1.0 + weights.len() as f64 * ROUNDING;
    squares.sqrt() * factor * largest * (1.0 + ROUNDING) + f64::MIN_POSITIVE
}

/// Half the distance of the two hull points (without an intercept: the norm of the one), at least. The largest double if the
/// rows or multipliers make no points of the hulls.
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

/// What a combination says of the margin: nothing is separated by any if it is exact.
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

/// The two hull points of a combination with decimal weights, if all are numbers above 0.
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

/// Sums of `±λᵢxᵢ` in double-double, with the sizes that bound their errors.
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

    /// Adds `Σλᵢyᵢxᵢ/Σλᵢ`; `false` if a row does not exist, was there before, takes no part or is of another
    /// class, or if multipliers are not numbers from 0 on with a sum above 0.
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
