//! S, the objective of the best constant model: the infimum of Σcᵢℓ(yᵢ, b) over b, or its value at b = 0 if the intercept is
//! absent or penalised, or if the infimum is 0 because all targets are equal. Only lower bounds of it are used.
//!
//! - Squared: for any b, S = ½Σc(y − b)² − ½(Σc(y − b))²/Σc.
//! - Logistic, softmax: Σₖ cₖ·log(Σc/cₖ), where cₖ is the weight of class k. Let b be the vector of log cₖ.
//! - Hinge: 2·min(c₊, c₋). Squared hinge and modified Huber: 4c₊c₋/(c₊ + c₋), at b = (c₊ − c₋)/(c₊ + c₋); where modified Huber
//!   differs, |b| > 1, its value is at least 4·min(c₊, c₋).
//! - Absolute, quantile: f(b) is convex, and some target is a minimiser. If the slopes of f on the left and on the right of b are at most
//!   v and at least −v, then f ≥ f(b) − v·(max y − min y) at every target.

use crate::arithmetic::Interval;
use crate::defect::value;
use crate::elementary::log1p;
use crate::problem::{Intercept, Loss, Subproblem};

/// A lower bound of min(1, 2⁻²⁰·S), the least scale of a relative gap.
pub(crate) fn least_scale(sub: &Subproblem<'_>) -> f64 {
    let free = of_constant(sub, sub.problem.intercept == Intercept::Free).lo;
    let best = if free > 0.0 {
        free
    } else {
        of_constant(sub, false).lo
    };
    (best * 2f64.powi(-20)).next_down().clamp(0.0, 1.0)
}

/// The same for the best constant if it is free, and for 0 otherwise.
fn of_constant(sub: &Subproblem<'_>, free: bool) -> Interval {
    let loss = sub.problem.loss;
    let of_zero = |i: usize| value(loss, sub.weights[i], Interval::point(sub.targets[i]));
    match loss {
        Loss::Squared | Loss::Absolute | Loss::Quantile(_) if !free => sub.rows().map(of_zero).sum(),
        Loss::Squared => squared(sub),
        Loss::Absolute | Loss::Quantile(_) => quantile(sub),
        _ => of_classes(sub, free),
    }
}

/// Losses of classes.
fn of_classes(sub: &Subproblem<'_>, free: bool) -> Interval {
    let softmax = sub.problem.loss == Loss::Softmax;
    let mut weights = vec![Interval::ZERO; if softmax { sub.problem.outputs } else { 2 }];
    for i in sub.rows() {
        let y = sub.targets[i];
        let class = if softmax { y as usize } else { usize::from(y > 0.0) };
        weights[class] = weights[class] + Interval::point(sub.weights[i]);
    }
    let total: Interval = weights.iter().copied().sum();
    let entropy = |class: &Interval| match class.lo > 0.0 {
        true => *class * log1p((total - *class).positive_part() / *class),
        false => Interval::ZERO,
    };
    match sub.problem.loss {
        Loss::Logistic | Loss::Softmax if free => weights.iter().map(entropy).sum(),
        Loss::Logistic | Loss::Softmax => total * log1p(Interval::point(weights.len() as f64 - 1.0)),
        _ if !free => total,
        Loss::Hinge => 2.0 * Interval::new(weights[0].lo.min(weights[1].lo), total.hi),
        _ if total.lo > 0.0 => 4.0 * (weights[0] * weights[1]) / total,
        _ => Interval::ZERO,
    }
}

/// Least squares with a free intercept.
fn squared(sub: &Subproblem<'_>) -> Interval {
    let total: f64 = sub.rows().map(|i| sub.weights[i]).sum();
    let mean: f64 = sub.rows().map(|i| sub.weights[i] / total * sub.targets[i]).sum();
    if !mean.is_finite() {
        return Interval::ZERO;
    }
    let (mut squares, mut rest, mut weights) = (Interval::ZERO, Interval::ZERO, Interval::ZERO);
    for i in sub.rows() {
        let c = Interval::point(sub.weights[i]);
        let h = Interval::point(sub.targets[i]) - Interval::point(mean);
        squares = squares + 0.5 * (c * h.square());
        rest = rest + c * h;
        weights = weights + c;
    }
    squares - 0.5 * (rest.square() / weights)
}

/// Absolute and quantile loss with a free intercept.
fn quantile(sub: &Subproblem<'_>) -> Interval {
    let loss = sub.problem.loss;
    let q = if let Loss::Quantile(q) = loss { q } else { 0.5 };
    let mut rows: Vec<(f64, f64)> = sub.rows().map(|i| (sub.targets[i], sub.weights[i])).collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
        return Interval::ZERO;
    };
    let span = Interval::point(last.0) - Interval::point(first.0);
    let total: f64 = rows.iter().map(|row| row.1).sum();
    let mut below = 0.0;
    let at = rows.iter().position(|row| {
        below += row.1;
        below >= q * total
    });
    let b = at.map_or(last.0, |at| rows[at].0);
    // The slopes of cℓ(y − b) in b are −qc for y > b and (1 − q)c for y < b; both losses of `value` scale with its slopes at ±1.
    let (mut left, mut right, mut objective) = (Interval::ZERO, Interval::ZERO, Interval::ZERO);
    for &(y, c) in &rows {
        let at = |h: f64| value(loss, c, Interval::point(h));
        let (falling, rising) = (at(1.0), at(-1.0));
        left = if y < b { left + rising } else { left - falling };
        right = if y <= b { right + rising } else { right - falling };
        objective = objective + value(loss, c, Interval::point(y) - Interval::point(b));
    }
    let violation = left.hi.max(-right.lo).max(0.0);
    objective - Interval::new(0.0, violation) * span
}
