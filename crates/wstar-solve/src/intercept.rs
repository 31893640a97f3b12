//! Free intercepts: the optimal intercept for fixed weights, and dual points whose sum is 0.
//!
//! For a loss with one kink per row, the optimal intercept is an order statistic: Σᵢ cᵢ ℓᵢ(zᵢ + b) is convex
//! and piecewise linear in b. Its slope increases by cᵢ(hi − lo) at each breakpoint atᵢ − zᵢ, and its minimum
//! is where the slope changes sign.

use rayon::prelude::*;

use crate::kink::Kink;
use wstar_data::error::Result;
use wstar_problem::loss::Loss;

/// The b that minimises Σᵢ cᵢ ℓᵢ(zᵢ + b), over triples (cᵢ, ℓᵢ, zᵢ), where zᵢ is the score without the
/// intercept.
///
/// If the minimisers form a bounded interval, its midpoint is returned; without a row of positive weight, 0.
pub fn best_intercept(rows: impl Iterator<Item = (f64, Kink, f64)>) -> f64 {
    let mut slope = 0.0;
    let mut breaks: Vec<(f64, f64)> = rows
        .filter(|&(weight, ..)| weight > 0.0)
        .map(|(weight, kink, z)| {
            slope += weight * kink.lo;
            (kink.at - z, weight * kink.width())
        })
        .collect();
    // Ties are broken by the increase of the slope, so that equal breakpoints are summed in an order that
    // does not depend on the threads.
    breaks.par_sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let size = breaks.iter().map(|b| b.1).sum::<f64>();
    let mut groups = breaks.chunk_by(|a, b| a.0 == b.0).peekable();
    while let Some(group) = groups.next() {
        let at = group[0].0;
        slope += group.iter().map(|b| b.1).sum::<f64>();
        // Derived: a slope below 50 machine epsilons is 0 up to rounding, and all b up to the next breakpoint are
        // optimal.
        if slope.abs() <= 1e-14 * size {
            return groups.peek().map_or(at, |next| at + 0.5 * (next[0].0 - at));
        }
        if slope > 0.0 {
            return at;
        }
    }
    breaks.last().map_or(0.0, |last| last.0)
}

/// The b that minimises Σᵢ cᵢ ℓ(yᵢ, zᵢ + b) of a smooth loss.
pub fn best_intercept_smooth<L: Loss>(
    loss: L,
    rows: impl Fn(&mut dyn FnMut(f64, f64, f64)),
    start: f64,
) -> f64 {
    let slope_at = |b: f64| {
        let (mut slope, mut curvature) = (0.0, 0.0);
        rows(&mut |weight, y, z| {
            let (_, s, c) = loss.all(y, z + b);
            slope += weight * s;
            curvature += weight * c;
        });
        Ok((slope, curvature))
    };
    root(start, slope_at).unwrap_or(start)
}

/// The minimiser of a convex function of one variable, from its slope and curvature: Newton's method
/// safeguarded by a bracket of the root of the slope.
pub(crate) fn root(start: f64, mut slope_at: impl FnMut(f64) -> Result<(f64, f64)>) -> Result<f64> {
    /// The most Newton steps. Cap: the point of least slope is returned; convergence takes a handful, so more
    /// means that rounding prevents it.
    const MOST_STEPS: u32 = 60;
    /// The step, relative to max(|b|, 1), below which the iteration stops. Derived: some 50 times the machine
    /// epsilon, scores being of the order of 1.
    const LEAST_STEP: f64 = 1e-14;
    let (mut below, mut above) = (f64::NEG_INFINITY, f64::INFINITY);
    let (mut at, mut best) = (start, (f64::INFINITY, start));
    for k in 1..=MOST_STEPS {
        let (slope, curvature) = slope_at(at)?;
        if slope.abs() < best.0 {
            best = (slope.abs(), at);
        }
        if slope == 0.0 || !slope.is_finite() {
            break;
        }
        if slope > 0.0 {
            above = at;
        } else {
            below = at;
        }
        let mut next = at - slope / curvature;
        // Far from the optimum the curvature vanishes and the Newton step overflows, so its length is
        // limited. Heuristic: a limit that grows with the number of steps; not measured yet.
        let far = 4.0 * f64::from(k) * at.abs().max(1.0);
        if !next.is_finite() || (next - at).abs() > far {
            next = at - slope.signum() * 0.5 * far;
        }
        if next <= below || next >= above {
            next = below + 0.5 * (above - below);
        }
        if (next - at).abs() <= LEAST_STEP * at.abs().max(1.0) || !next.is_finite() {
            break;
        }
        at = next;
    }
    Ok(best.1)
}

/// Moves a dual point inside its box until its sum is 0 up to rounding. Each multiplier moves in proportion
/// to its slack (a − low)(high − a)/(high − low).
///
/// Multipliers with much slack on both sides belong to rows on the kink, where a change costs least.
pub(crate) fn balance(multipliers: &mut [f64], bounds: impl Fn(usize) -> (f64, f64)) {
    let slack = |a: f64, (low, high): (f64, f64)| match (low.is_finite(), high.is_finite()) {
        (true, true) if high > low => (a - low) * (high - a) / (high - low),
        (true, true) => 0.0,
        (true, false) => a - low,
        (false, true) => high - a,
        (false, false) => 1.0,
    };
    for _ in 0..8 {
        let (mut excess, mut size, mut total_slack) = (0.0, 0.0, 0.0);
        for (i, &a) in multipliers.iter().enumerate() {
            excess += a;
            size += a.abs();
            total_slack += slack(a, bounds(i));
        }
        if excess.abs() <= f64::EPSILON * size {
            return;
        }
        if excess.abs() > 0.5 * total_slack {
            break;
        }
        for (i, a) in multipliers.iter_mut().enumerate() {
            let (low, high) = bounds(i);
            *a = (*a - excess * slack(*a, (low, high)) / total_slack).clamp(low, high);
        }
    }
    // Too many multipliers are at a bound. All that can move in the right direction do so. Their slack is
    // always sufficient, because 0 lies in every box.
    for _ in 0..2 {
        let excess: f64 = multipliers.iter().sum();
        let distance = |i: usize, a: f64| {
            let (low, high) = bounds(i);
            let end = if excess > 0.0 { low } else { high };
            if end.is_finite() { (a - end).abs() } else { a.abs() }
        };
        let total_distance: f64 = multipliers.iter().enumerate().map(|(i, &a)| distance(i, a)).sum();
        if excess == 0.0 || total_distance <= 0.0 {
            return;
        }
        for (i, a) in multipliers.iter_mut().enumerate() {
            let (low, high) = bounds(i);
            *a = (*a - excess * distance(i, *a) / total_distance).clamp(low, high);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wstar_problem::loss::{Logistic, LossName, SquaredHinge};

    #[test]
    fn equal_breakpoints_are_merged() {
        // One row with y = +1 and four with y = −1, without features: b = −1 is optimal, with a hinge loss of
        // 2 in one row.
        let rows = [1.0, -1.0, -1.0, -1.0, -1.0].map(|y| (0.5, Kink::new(LossName::Hinge, y).unwrap(), 0.0));
        assert_eq!(best_intercept(rows.into_iter()), -1.0);
    }

    #[test]
    fn absolute_loss_gives_the_median() {
        let median = |values: &[f64]| best_intercept(values.iter().map(|&y| (1.0, Kink::absolute(y), 0.0)));
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&[]), 0.0);
    }

    #[test]
    fn logistic_loss_gives_the_log_odds() {
        // Three of four rows are positive, so σ(b) = 3/4.
        let rows = |visit: &mut dyn FnMut(f64, f64, f64)| {
            visit(3.0, 1.0, 0.5);
            visit(1.0, -1.0, 0.5);
        };
        let b = best_intercept_smooth(Logistic, rows, 0.0);
        assert!((b + 0.5 - 3f64.ln()).abs() < 1e-12, "{b}");
        // The slopes of squared hinge cancel at 3(1 − z) = 1 + z.
        let b = best_intercept_smooth(SquaredHinge, rows, 0.0);
        assert!((b + 0.5 - 0.5).abs() < 1e-12, "{b}");
    }

    proptest! {
        #[test]
        fn a_balanced_point_sums_to_zero_inside_its_box(
            rows in prop::collection::vec((0.0..1.0f64, 0.01..2.0f64, any::<bool>()), 2..30),
        ) {
            let bounds: Vec<(f64, f64)> = rows
                .iter()
                .map(|&(_, c, positive)| if positive { (0.0, c) } else { (-c, 0.0) })
                .collect();
            let mut a: Vec<f64> = rows.iter().zip(&bounds).map(|(r, b)| b.0 + r.0 * (b.1 - b.0)).collect();
            balance(&mut a, |i| bounds[i]);
            prop_assert!(a.iter().zip(&bounds).all(|(a, b)| b.0 <= *a && *a <= b.1));
            prop_assert!(a.iter().sum::<f64>().abs() < 1e-13, "{}", a.iter().sum::<f64>());
        }

        #[test]
        fn best_intercept_minimises_the_loss(
            rows in prop::collection::vec((0.0..3.0f64, -2.0..2.0f64, any::<bool>(), any::<bool>()), 1..40),
            other in -5.0..5.0f64,
        ) {
            let rows: Vec<(f64, Kink, f64)> = rows
                .into_iter()
                .map(|(weight, z, positive, hinge)| {
                    let y = if positive { 1.0 } else { -1.0 };
                    let loss = if hinge { LossName::Hinge } else { LossName::Absolute };
                    (weight, Kink::new(loss, y).unwrap(), (8.0 * z).round() / 8.0)
                })
                .collect();
            let cost = |b: f64| rows.iter().map(|(c, kink, z)| c * kink.value(z + b)).sum::<f64>();
            prop_assert!(cost(best_intercept(rows.iter().copied())) <= cost(other) + 1e-12);
        }
    }
}
