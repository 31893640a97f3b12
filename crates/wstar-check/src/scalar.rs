//! The dual point and the gap of a loss of one score.
//!
//! **The multipliers** of scalar losses are doubles, moved onto the equality constraints by real numbers (`constraint.rs`). Hints of
//! the certificate only choose them; nothing about the choice is used.

use crate::arithmetic::{Interval, IntervalSum};
use crate::bound::{Attempt, Choice, Gap, SMALLEST_MULTIPLIER, conclude, ends, penalty};
use crate::constraint::{self, Move, Reach, SlackSums};
use crate::defect::{curvature, defect, of_share, range, residual_of, slack, slope, value};
use crate::mutant::{self, Mutant};
use crate::problem::{Intercept, Subproblem};
use crate::products::{ColumnSums, Score};

/// How far multipliers at an end of their range are moved towards 0 if no row can move onto Σα = 0, relatively.
const INWARDS: f64 = 1.0 / (1u64 << 40) as f64;

/// The multiplier of a row, and the interval of its residual.
struct RowState {
    a: f64,
    h: Interval,
}

/// One attempt for a scalar loss.
pub(crate) fn attempt(sub: &Subproblem<'_>, point: &[f64], choice: Choice<'_>) -> Attempt {
    let (problem, design) = (&sub.problem, sub.design);
    let (features, loss) = (problem.features, problem.loss);
    let penalized = problem.l1 > 0.0 || problem.l2 > 0.0;
    let free = penalized && problem.intercept == Intercept::Free;
    let mut sums = ColumnSums::new(problem.width());
    let mut slack_sums = SlackSums::new(if free { features } else { 0 });
    let mut slacks = vec![0.0; design.rows()];
    let mut states = Vec::with_capacity(design.rows());
    let mut total = IntervalSum::default();
    let mut stored = choice.shares.iter().peekable();
    for i in sub.rows() {
        let (row, y, c) = (design.row(i), sub.targets[i], sub.weights[i]);
        let (t, s, sign) = residual_of(loss, y);
        let h = Score::new(row, features, point).residual(t, s);
        while stored.next_if(|(at, _)| *at < i as u64).is_some() {}
        let mut a = match stored.peek() {
            Some(&&(at, share)) if at == i as u64 => of_share(loss, c, y, share),
            _ => slope(loss, c, h.middle()),
        };
        let (least, greatest) = range(loss, c);
        let mut correct = |direction: Option<&[f64]>, factor: &dyn Fn(f64) -> f64| {
            if let Some(v) = direction {
                let along: f64 =
                    row.entries().map(|(j, x)| v[j] * x).sum::<f64>() + v.get(features).unwrap_or(&0.0);
                let corrected = a - sign * factor(a) * along;
                a = if corrected.is_finite() {
                    corrected.max(least).min(greatest)
                } else {
                    a
                };
            }
        };
        correct(choice.newton, &|a| curvature(loss, c, a, h.middle()));
        correct(choice.correction, &|a| slack(loss, c, a));
        if choice.inwards && (a == greatest || a == least) {
            a -= a * INWARDS;
        }
        if a.abs() < SMALLEST_MULTIPLIER {
            a = 0.0;
        }
        let k = slack(loss, c, a);
        slacks[i] = if k > SMALLEST_MULTIPLIER { k } else { 0.0 };
        sums.add(row, features, sign * a);
        if free {
            slack_sums.add(row, slacks[i]);
        }
        total.add(value(loss, c, h));
        states.push(RowState { a, h });
    }
    let total = total.interval();
    let moved = match (penalized, free) {
        (false, _) => constraint::onto_all(design, &sums, problem.width(), &slacks),
        (true, true) => constraint::onto_intercept(&sums, features, &slack_sums),
        _ => Some(Move {
            reach: Reach::Constant(0.0),
            direction: Vec::new(),
        }),
    };
    let Some(moved) = moved else {
        return Attempt {
            gap: Gap {
                primal: ends(total + penalty(problem, point)),
                ..Gap::UNPROVED
            },
            correction: None,
        };
    };
    let mut rows = Interval::ZERO;
    let mut x = Vec::new();
    for (i, state) in sub.rows().zip(&states) {
        let k = slacks[i];
        let still = k == 0.0 || mutant::is(Mutant::NoMoves);
        let reach = if still {
            0.0
        } else {
            moved.reach.of(design.row(i), &mut x)
        };
        let moves = (Interval::point(k) * Interval::new(0.0, reach)).hi;
        let a = Interval::point(state.a).widened(moves);
        rows = rows + Interval::point(defect(loss, sub.weights[i], a, state.h));
    }
    let columns: Vec<Interval> = (0..problem.width())
        .map(|j| match free && !mutant::is(Mutant::NoMovesOfColumns) {
            true if j < features => constraint::moved_column(&sums, j, features, &slack_sums),
            _ => sums.interval(j),
        })
        .collect();
    let gap = conclude(sub, point, total, rows, &columns);
    #[cfg(test)]
    crate::recorder::record(states.iter().map(|state| state.a).collect(), &slacks, &gap);
    Attempt {
        gap,
        correction: (!moved.direction.is_empty()).then_some(moved.direction),
    }
}
