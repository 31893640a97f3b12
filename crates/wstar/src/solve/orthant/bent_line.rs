//! The least objective along a step that was too long.
//!
//! A loss with kinks in its slope, as the squared hinge's at the margin, is flat up to a row's kink and may be steep
//! right behind it. Halving a step ends before the kink, where the next model knows nothing of it and makes
//! the same mistake; the least point lies behind it, where the model has the row's curvature.

use crate::error::Result;
use crate::oracle::LinePoint;
use crate::penalty::Penalty;

/// Rounds of trials at most.
const MOST_ROUNDS: usize = 60;
/// What may be left to gain, beside what the slope at the start would bring.
const ACCURACY: f64 = 1e-6;
/// The share of a bracket that is tried while nothing is known of its scale.
const LEAP: f64 = 0.1;

/// One end of the bracket, with the slope and the curvature there.
#[derive(Clone, Copy)]
struct End {
    step: f64,
    slope: f64,
    curvature: f64,
}

impl End {
    /// Where Newton's method would go from here.
    fn newton(self) -> f64 {
        self.step - self.slope / self.curvature
    }
}

/// The step between 0 and 1 with the least objective, and that objective. `loss` gives the loss at some steps, of which it
/// is asked for `together` at once: one where each costs the same, several where a pass over a file serves all.
pub(crate) fn least_along(
    penalties: &[Penalty],
    at: &[f64],
    along: &[f64],
    together: usize,
    mut loss: impl FnMut(&[f64]) -> Result<Vec<LinePoint>>,
) -> Result<(f64, f64)> {
    let end = |step, slope| End {
        step,
        slope,
        curvature: 0.0,
    };
    let (mut low, mut high) = (end(0.0, f64::NEG_INFINITY), end(1.0, f64::INFINITY));
    let mut best = (0.0, f64::INFINITY);
    let mut fall = 0.0;
    let mut steps = vec![0.0, 0.5];
    spread(&mut steps, low, high, together);
    for round in 0..MOST_ROUNDS {
        for (&step, loss) in steps.iter().zip(loss(&steps)?) {
            let penalty = penalty_along(penalties, at, along, step);
            let value = loss.value + penalty.value;
            let trial = End {
                step,
                slope: loss.slope + penalty.slope,
                curvature: loss.curvature + penalty.curvature,
            };
            if step == 0.0 {
                fall = -trial.slope;
            }
            if value < best.1 {
                best = (step, value);
            }
            if trial.slope > 0.0 && step <= high.step {
                high = trial;
            } else if trial.slope <= 0.0 && step >= low.step {
                low = trial;
            }
        }
        let width = high.step - low.step;
        let left = high.slope.min(-low.slope) * width;
        if left <= ACCURACY * fall * high.step || width <= 1e-12 * high.step {
            break;
        }
        let inside = |step: &f64| *step > low.step && *step < high.step;
        // Every third round shrinks the bracket, whatever the curvatures say.
        let newton = [high.newton(), low.newton()].into_iter().find(inside);
        steps.clear();
        steps.push(match newton {
            Some(newton) if round % 3 != 2 => newton,
            _ if low.step == 0.0 => LEAP * high.step,
            _ => 0.5 * (low.step + high.step),
        });
        spread(&mut steps, low, high, together);
    }
    Ok(best)
}

/// Adds steps that part a bracket evenly; by factors, while its scale is not known.
fn spread(steps: &mut Vec<f64>, low: End, high: End, together: usize) {
    let (low, high) = (low.step, high.step);
    let more = together.saturating_sub(steps.len());
    for k in 1..=more {
        let share = k as f64 / (more + 1) as f64;
        steps.push(if low == 0.0 {
            high * LEAP.powf(4.0 * share)
        } else {
            low + share * (high - low)
        });
    }
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
        let point = |step: &f64| {
            let over = (step - 0.25f64).max(0.0);
            LinePoint {
                value: 0.5e9 * over * over,
                slope: 1e9 * over,
                curvature: if over > 0.0 { 1e9 } else { 0.0 },
            }
        };
        for (together, most_rounds) in [(1, 10), (16, 5)] {
            let mut rounds = 0;
            let loss = |steps: &[f64]| {
                rounds += 1;
                assert!(steps.len() <= together.max(2));
                Ok(steps.iter().map(point).collect())
            };
            let (step, value) = least_along(&[penalty], &[3.0], &[-2.0], together, loss).unwrap();
            // 1e9 (t − ¼) = 2.
            assert!(step > 0.25 && (step - 0.25 - 2e-9).abs() < 1e-11, "{step}");
            assert!((value - 2.5).abs() < 1e-8, "{value}");
            assert!(rounds <= most_rounds, "{rounds} rounds of {together}");
        }
    }
}
