//! The least objective along a step that was too long.
//!
//! A loss with kinks in its slope, as the squared hinge's at the margin, is flat up to a row's kink and may be steep
//! right behind it. Halving a step ends before the kink, where the next model knows nothing of it and makes
//! the same mistake; the least point lies behind it, where the model has the row's curvature.

use crate::error::Result;
use crate::oracle::LinePoint;
use crate::penalty::Penalty;

/// Steps that are tried at most.
const MOST_TRIALS: usize = 60;
/// The share of the steepest slope that may be left.
const ACCURACY: f64 = 1e-6;
/// The share of a bracket that is tried while nothing is known of its scale.
const LEAP: f64 = 0.1;

/// The step between 0 and 1 with the least objective, and that objective; `loss` gives the loss at a step.
pub(crate) fn least_along(
    penalties: &[Penalty],
    at: &[f64],
    along: &[f64],
    mut loss: impl FnMut(f64) -> Result<LinePoint>,
) -> Result<(f64, f64)> {
    let (mut low, mut high) = (0.0, 1.0);
    let mut best = (0.0, f64::INFINITY);
    let mut steepest = 0.0f64;
    let mut step = 0.5;
    for trial in 0..MOST_TRIALS {
        let (loss, penalty) = (loss(step)?, penalty_along(penalties, at, along, step));
        let (value, slope) = (loss.value + penalty.value, loss.slope + penalty.slope);
        if value < best.1 {
            best = (step, value);
        }
        steepest = steepest.max(slope.abs());
        if slope > 0.0 {
            high = step;
        } else {
            low = step;
        }
        if slope.abs() <= ACCURACY * steepest || high - low <= 1e-12 * high {
            break;
        }
        let newton = step - slope / (loss.curvature + penalty.curvature);
        // Every third trial shrinks the bracket, whatever the curvature says.
        step = if newton > low && newton < high && trial % 3 != 2 {
            newton
        } else if low == 0.0 {
            LEAP * high
        } else {
            0.5 * (low + high)
        };
    }
    Ok(best)
}

/// The penalty at a step, with its slope and curvature there.
fn penalty_along(penalties: &[Penalty], at: &[f64], along: &[f64], step: f64) -> LinePoint {
    let mut sum = LinePoint::default();
    for ((&w, &d), penalty) in at.iter().zip(along).zip(penalties) {
        let there = w + step * d;
        let sign = if there == 0.0 { 0.0 } else { there.signum() };
        sum.value += penalty.of(there);
        sum.slope += (penalty.l1 * sign + penalty.l2 * there) * d;
        sum.curvature += penalty.l2 * d * d;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// |3 − 2t| falls all the way; the loss is flat up to t = ¼ and steep behind it.
    #[test]
    fn the_least_point_lies_behind_the_kink() {
        let penalty = Penalty { l1: 1.0, l2: 0.0 };
        let loss = |step: f64| {
            let over = (step - 0.25f64).max(0.0);
            Ok(LinePoint {
                value: 0.5e9 * over * over,
                slope: 1e9 * over,
                curvature: if over > 0.0 { 1e9 } else { 0.0 },
            })
        };
        let (step, value) = least_along(&[penalty], &[3.0], &[-2.0], loss).unwrap();
        // 1e9 (t − ¼) = 2.
        assert!(step > 0.25 && (step - 0.25 - 2e-9).abs() < 1e-11, "{step}");
        assert!((value - 2.5).abs() < 1e-8, "{value}");
    }
}
