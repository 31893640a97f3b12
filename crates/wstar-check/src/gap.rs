//! The gap of a subproblem: an upper bound on P(θ) − inf P over all real parameters, for the real numbers that the doubles of
//! the rows and of θ stand for.
//!
//! **Theorem (Fenchel).** Let α be real multipliers with −αᵢ/cᵢ in the range of slopes of ℓ, and X̃ᵀα = 0 in the columns without a
//! penalty. With u = X̃ᵀα, P(θ) − inf P ≤ Σᵢ FYᵢ + Σⱼ FRⱼ, where FYᵢ = cᵢℓ(zᵢ) + cᵢℓ*(−αᵢ/cᵢ) + αᵢzᵢ and FRⱼ = R(wⱼ) + R*(uⱼ) − uⱼwⱼ.
//! *Proof.* For any θ' the inequalities cℓ(z') + cℓ*(−α/c) ≥ −αz' and R(w') + R*(u) ≥ uw' sum to P(θ') ≥ −Σcℓ* − ΣR*, because
//! Σαz' = Σu·w'. Subtract this from P(θ), and Σαz = Σuw. ∎ All terms are at least 0, so no difference of large numbers occurs.

pub(crate) use crate::bound::Gap;
pub(crate) use crate::problem::Subproblem;

use crate::arithmetic::{Interval, IntervalSum};
use crate::bound::{Choice, SMALLEST_MULTIPLIER, conclude};
use crate::constraint::Constraints;
use crate::defect::{curvature, defect, of_share, range, residual_of, slack, slope, value};
use crate::mutant::Mutant;
use crate::problem::Loss;
use crate::products::{ColumnSums, Score};
use crate::softmax;

/// How far multipliers at an end of their range are moved towards 0 if no row can move onto Σα = 0, relatively.
const INWARDS: f64 = 1.0 / (1u64 << 40) as f64;
/// A relative gap that needs no second attempt.
const SMALL: f64 = 1e-12;

/// What the certificate suggests for the dual point. Nothing in it is trusted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hints {
    /// Rows, increasing, and the positions of their multipliers within their ranges.
    pub(crate) shares: Vec<(u64, f64)>,
    /// A direction v with the layout of the parameters: α decreases by cℓ''(z)·(x̃·v), of softmax by c(diag p − ppᵀ)(x̃·v). With
    /// a Newton step v = −H⁻¹∇P these are the multipliers at the next point, to first order.
    pub(crate) direction: Option<Vec<f64>>,
}

/// Proves a bound on P(point) − inf P.
pub(crate) fn prove(sub: &Subproblem<'_>, point: &[f64], hints: &Hints) -> Gap {
    if !sub.is_admissible(point) {
        return Gap::UNPROVED;
    }
    let run = |choice: Choice<'_>| {
        let attempt = match sub.problem.loss {
            Loss::Softmax => softmax::attempt(sub, point, choice),
            _ => attempt(sub, point, choice),
        };
        attempt.unwrap_or((Gap::UNPROVED, None))
    };
    let usable = |v: &&Vec<f64>| v.len() == point.len() && v.iter().all(|v| v.is_finite());
    let mut choice = Choice {
        shares: &hints.shares,
        newton: hints.direction.as_ref().filter(usable).map(Vec::as_slice),
        ..Choice::default()
    };
    let (mut gap, mut correction) = run(choice);
    if gap.gap == f64::INFINITY && sub.problem.loss != Loss::Softmax {
        choice.inwards = true;
        (gap, correction) = run(choice);
    }
    if let Some(direction) = correction.filter(|_| gap.relative > SMALL) {
        // With a corrected dual point the moves onto the constraints are rounding errors.
        choice.correction = Some(&direction);
        let (second, _) = run(choice);
        gap = if second.gap < gap.gap { second } else { gap };
    }
    gap
}

/// The bound for a loss of one score, and the correction that could improve it. The multipliers are doubles, moved onto the equality constraints by real numbers
/// (`constraint.rs`). Hints of the certificate only choose them; nothing about the choice is used.
fn attempt(sub: &Subproblem<'_>, point: &[f64], choice: Choice<'_>) -> Option<(Gap, Option<Vec<f64>>)> {
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
            let valid = moved.is_finite();
            if valid { moved.max(least).min(greatest) } else { a }
        };
        a = corrected(a, curvature(loss, c, a, h.middle()), choice.newton);
        a = corrected(a, slack(loss, c, a), choice.correction);
        if choice.inwards && (a == greatest || a == least) {
            a -= a * INWARDS;
        }
        a = if a.abs() < SMALLEST_MULTIPLIER { 0.0 } else { a };
        let k = slack(loss, c, a);
        let k = if k > SMALLEST_MULTIPLIER { k } else { 0.0 };
        sums[0].add(row, features, sign * a);
        constraints.add(row, &[k], k);
        total.add(value(loss, c, h));
        states.push((a, k, h));
    }
    let total = total.interval();
    let moved = constraints.moves(&sums, 0.0);
    let range = moved.as_ref().map_or(Interval::WHOLE, |moved| moved.range);
    let feasible = moved.as_ref().map_or(Interval::WHOLE, |_| Interval::ZERO);
    let reach = Interval::new(0.0, range.unless(Mutant::NoMoves).hi);
    let defect_of = |(i, &(a, k, h)): (usize, &(f64, f64, Interval))| {
        let a = Interval::point(a).widened((k * reach).hi);
        Interval::point(defect(loss, sub.weights[i], a, h))
    };
    let rows = feasible + sub.rows().zip(&states).map(defect_of).sum::<Interval>();
    let gap = conclude(sub, point, total, rows, &constraints.moved(&sums, range));
    #[cfg(test)]
    crate::recorder::record(sub, states.iter().map(|state| (state.0, state.1)).unzip(), &gap);
    Some((gap, moved.map(|moved| moved.direction)))
}
