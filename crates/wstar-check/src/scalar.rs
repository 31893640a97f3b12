//! The dual point and the gap of a loss of one score.
//!
//! **The multipliers** are doubles, moved onto the equality constraints by real numbers (`constraint.rs`). Hints of the certificate only
//! choose them; nothing about the choice is used.

use crate::arithmetic::{Interval, IntervalSum};
use crate::bound::{Attempt, Choice, SMALLEST_MULTIPLIER, conclude};
use crate::constraint::Constraints;
use crate::defect::{curvature, defect, of_share, range, residual_of, slack, slope, value};
use crate::mutant::Mutant;
use crate::problem::Subproblem;
use crate::products::{ColumnSums, Score};

/// How far multipliers at an end of their range are moved towards 0 if no row can move onto Σα = 0, relatively.
const INWARDS: f64 = 1.0 / (1u64 << 40) as f64;

pub(crate) fn attempt(sub: &Subproblem<'_>, point: &[f64], choice: Choice<'_>) -> Option<Attempt> {
    let (design, loss, features) = (sub.design, sub.problem.loss, sub.problem.features);
    let mut constraints = Constraints::new(sub, 1)?;
    let mut sums = [ColumnSums::new(sub.problem.width())];
    // a, k and the interval of h of each row.
    let mut states = Vec::with_capacity(design.rows());
    let mut total = IntervalSum::default();
    let mut stored = choice.shares.iter().peekable();
    for i in sub.rows() {
        let (row, y, c) = (design.row(i), sub.targets[i], sub.weights[i]);
        let (t, s, sign) = residual_of(loss, y);
        let (least, greatest) = range(loss, c);
        let h = Score::new(row, features, point).residual(t, s);
        while stored.next_if(|(at, _)| *at < i as u64).is_some() {}
        let mut a = match stored.peek() {
            Some(&&(at, share)) if at == i as u64 => of_share(loss, c, y, share),
            _ => slope(loss, c, h.middle()),
        };
        let corrected = |a: f64, factor: f64, direction: Option<&[f64]>| {
            let along = direction.map_or(0.0, |v| row.along(features, v));
            let moved = a - sign * factor * along;
            if moved.is_finite() {
                moved.max(least).min(greatest)
            } else {
                a
            }
        };
        a = corrected(a, curvature(loss, c, a, h.middle()), choice.newton);
        a = corrected(a, slack(loss, c, a), choice.correction);
        if choice.inwards && (a == greatest || a == least) {
            a -= a * INWARDS;
        }
        a = if a.abs() < SMALLEST_MULTIPLIER { 0.0 } else { a };
        let k = Some(slack(loss, c, a))
            .filter(|k| *k > SMALLEST_MULTIPLIER)
            .unwrap_or(0.0);
        sums[0].add(row, features, sign * a);
        constraints.add(row, &[k], k);
        total.add(value(loss, c, h));
        states.push((a, k, h));
    }
    let total = total.interval();
    let moved = constraints.moves(&sums, 0.0);
    let range = moved.as_ref().map_or(Interval::WHOLE, |moved| moved.range);
    let feasible = if moved.is_some() {
        Interval::ZERO
    } else {
        Interval::WHOLE
    };
    let reach = Interval::new(0.0, range.unless(Mutant::NoMoves).hi);
    let defect_of = |(i, &(a, k, h)): (usize, &(f64, f64, Interval))| {
        let a = Interval::point(a).widened((k * reach).hi);
        Interval::point(defect(loss, sub.weights[i], a, h))
    };
    let rows = feasible + sub.rows().zip(&states).map(defect_of).sum::<Interval>();
    let gap = conclude(sub, point, total, rows, &constraints.moved(&sums, range));
    #[cfg(test)]
    crate::recorder::record(sub, states.iter().map(|state| (state.0, state.1)).unzip(), &gap);
    Some(Attempt {
        gap,
        correction: moved.map(|moved| moved.direction),
    })
}
