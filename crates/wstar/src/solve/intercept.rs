//! Free intercepts: the best one for given weights, and dual points whose sum is 0.
//!
//! Where the loss has one kink a row, the best intercept is an order statistic: Σᵢ cᵢ ℓᵢ(zᵢ + b) is convex and linear between the breakpoints atᵢ − zᵢ, at each of which its slope rises
//! by cᵢ(hi − lo); the least value is where the slope passes 0.

use rayon::prelude::*;

use crate::error::Result;
use crate::loss::Loss;
use crate::solve::kink::Kink;

/// The b with the least Σᵢ cᵢ ℓᵢ(zᵢ + b), over triples (cᵢ, ℓᵢ, zᵢ) where zᵢ leaves the intercept out; the
/// middle of them if there are several and they are bounded, and 0 without a row of positive weight.
pub fn best_intercept(rows: impl Iterator<Item = (f64, Kink, f64)>) -> f64 {
    let mut slope = 0.0;
    let mut breaks: Vec<(f64, f64)> = rows
        .filter(|&(weight, ..)| weight > 0.0)
        .map(|(weight, kink, z)| {
            slope += weight * kink.lo;
            (kink.at - z, weight * kink.width())
        })
        .collect();
    // The rise breaks ties, so that equal breakpoints are summed in one order whatever the threads do.
    breaks.par_sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let size = breaks.iter().map(|b| b.1).sum::<f64>();
    let mut groups = breaks.chunk_by(|a, b| a.0 == b.0).peekable();
    while let Some(group) = groups.next() {
        let at = group[0].0;
        slope += group.iter().map(|b| b.1).sum::<f64>();
        // A slope this small is the rounding of 0: all up to the next breakpoint are best.
        if slope.abs() <= 1e-14 * size {
            return groups.peek().map_or(at, |next| at + 0.5 * (next[0].0 - at));
        }
        if slope > 0.0 {
            return at;
        }
    }
    breaks.last().map_or(0.0, |last| last.0)
}

/// The b with the least Σᵢ cᵢ ℓ(yᵢ, zᵢ + b) of a smooth loss.
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

/// Where a convex function of one variable is least, from its slope and curvature: Newton's method kept inside
/// what is known to hold the root of the slope.
pub(crate) fn root(start: f64, mut slope_at: impl FnMut(f64) -> Result<(f64, f64)>) -> Result<f64> {
    /// Newton steps in one dimension converge in a handful; more means that rounding has the last word.
    const MOST_STEPS: u32 = 60;
    /// A step this small beside scores, whose unit is 1, changes nothing but the last digits.
    const NO_STEP: f64 = 1e-14;
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
        // Far out the curvature vanishes and Newton's step is endless.
        let far = 4.0 * f64::from(k) * at.abs().max(1.0);
        if !next.is_finite() || (next - at).abs() > far {
            next = at - slope.signum() * 0.5 * far;
        }
        if next <= below || next >= above {
            next = below + 0.5 * (above - below);
        }
        if (next - at).abs() <= NO_STEP * at.abs().max(1.0) || !next.is_finite() {
            break;
        }
        at = next;
    }
    Ok(best.1)
}

/// Moves a dual point inside its box until its sum is 0 up to rounding, each multiplier by its share of the
/// room that they have.
///
/// Those with much room to both sides are the rows that are on the kink, where a change costs least.
pub(crate) fn balance(multipliers: &mut [f64], bounds: impl Fn(usize) -> (f64, f64)) {
    let room = |a: f64, (low, high): (f64, f64)| match (low.is_finite(), high.is_finite()) {
        (true, true) if high > low => (a - low) * (high - a) / (high - low),
        (true, true) => 0.0,
        (true, false) => a - low,
        (false, true) => high - a,
        (false, false) => 1.0,
    };
    for _ in 0..8 {
        let (mut excess, mut size, mut rooms) = (0.0, 0.0, 0.0);
        for (i, &a) in multipliers.iter().enumerate() {
            excess += a;
            size += a.abs();
            rooms += room(a, bounds(i));
        }
        if excess.abs() <= f64::EPSILON * size {
            return;
        }
        if excess.abs() > 0.5 * rooms {
            break;
        }
        for (i, a) in multipliers.iter_mut().enumerate() {
            let (low, high) = bounds(i);
            *a = (*a - excess * room(*a, (low, high)) / rooms).clamp(low, high);
        }
    }
    // Too many are at an end of their box: all that can move the right way do, of which there is always
    // enough, for 0 is in every box.
    for _ in 0..2 {
        let excess: f64 = multipliers.iter().sum();
        let way = |i: usize, a: f64| {
            let (low, high) = bounds(i);
            let end = if excess > 0.0 { low } else { high };
            if end.is_finite() { (a - end).abs() } else { a.abs() }
        };
        let ways: f64 = multipliers.iter().enumerate().map(|(i, &a)| way(i, a)).sum();
        if excess == 0.0 || ways <= 0.0 {
            return;
        }
        for (i, a) in multipliers.iter_mut().enumerate() {
            let (low, high) = bounds(i);
            *a = (*a - excess * way(i, *a) / ways).clamp(low, high);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{Logistic, LossName, SquaredHinge};
    use proptest::prelude::*;

    #[test]
    fn equal_breakpoints_count_together() {
        // One row of +1 against four of −1 without features: best is b = −1, where one slack of 2 is left.
        let rows = [1.0, -1.0, -1.0, -1.0, -1.0].map(|y| (0.5, Kink::new(LossName::Hinge, y).unwrap(), 0.0));
        assert_eq!(best_intercept(rows.into_iter()), -1.0);
    }

    #[test]
    fn the_median() {
        let median = |values: &[f64]| best_intercept(values.iter().map(|&y| (1.0, Kink::absolute(y), 0.0)));
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&[]), 0.0);
    }

    #[test]
    fn the_log_odds() {
        // Three of four positive: σ(b) = 3/4.
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
        fn a_balanced_point_sums_to_nothing_inside_its_box(
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
        fn no_intercept_is_better(
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
