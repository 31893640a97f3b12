//! Exact line search for an objective with kinks, along a step that was too long.
//!
//! Problem: min over 0 < t ≤ 1 of L(θ + t·d) + R(θ + t·d), convex in t. Method: Newton's method on the
//! slope within a bracket, which every third round shrinks by a fixed factor (safeguarded Newton; W. H.
//! Press and others, Numerical Recipes, section 9.4).
//!
//! A loss whose slope has kinks, such as the squared hinge at the margin, can be flat up to a row's kink
//! and steep just beyond it. Halving the step ends before the kink, where the next model does not know of
//! it and makes the same mistake. The minimum lies beyond the kink, where the model includes the row's
//! curvature.

use wstar_data::error::Result;
use wstar_problem::objective::LinePoint;
use wstar_problem::penalty::Penalty;

/// The most rounds of trial steps. Cap: the best step so far is returned.
const MOST_ROUNDS: usize = 60;
/// The decrease that may remain, relative to the initial slope times the bracket's upper end. Heuristic:
/// accuracy against trial steps; not measured yet.
const ACCURACY: f64 = 1e-6;
/// The fraction of a bracket that is tried while its scale is unknown. Heuristic: steps towards a small
/// minimiser against overshooting a large one; not measured yet.
const FIRST_FRACTION: f64 = 0.1;

/// One end of the bracket, with the slope and the curvature there.
#[derive(Clone, Copy)]
struct BracketEnd {
    step: f64,
    slope: f64,
    curvature: f64,
}

impl BracketEnd {
    /// The step to which Newton's method would move from here.
    fn newton(self) -> f64 {
        self.step - self.slope / self.curvature
    }
}

/// The step between 0 and 1 with the least objective, and that objective. `loss` evaluates the loss at
/// several steps. It is called with `steps_per_call` steps at a time: one where each step costs the same,
/// several where one pass over a file serves all of them.
pub(crate) fn least_along(
    penalties: &[Penalty],
    at: &[f64],
    along: &[f64],
    steps_per_call: usize,
    mut loss: impl FnMut(&[f64]) -> Result<Vec<LinePoint>>,
) -> Result<(f64, f64)> {
    let end = |step, slope| BracketEnd {
        step,
        slope,
        curvature: 0.0,
    };
    let (mut low, mut high) = (end(0.0, f64::NEG_INFINITY), end(1.0, f64::INFINITY));
    let mut best = (0.0, f64::INFINITY);
    let mut descent = 0.0;
    // Heuristic: half of the step is tried first; not measured yet.
    let mut steps = vec![0.0, 0.5];
    add_interior_steps(&mut steps, low, high, steps_per_call);
    for round in 0..MOST_ROUNDS {
        for (&step, loss) in steps.iter().zip(loss(&steps)?) {
            let penalty = penalty_along(penalties, at, along, step);
            let value = loss.value + penalty.value;
            let trial = BracketEnd {
                step,
                slope: loss.slope + penalty.slope,
                curvature: loss.curvature + penalty.curvature,
            };
            if step == 0.0 {
                descent = -trial.slope;
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
        let remaining = high.slope.min(-low.slope) * width;
        // Cap: a narrower bracket is rounding.
        if remaining <= ACCURACY * descent * high.step || width <= 1e-12 * high.step {
            break;
        }
        let inside = |step: &f64| *step > low.step && *step < high.step;
        // Every third round shrinks the bracket by a fixed factor, whatever the curvatures. Heuristic: one round in
        // three; not measured yet.
        let newton = [high.newton(), low.newton()].into_iter().find(inside);
        steps.clear();
        steps.push(match newton {
            Some(newton) if round % 3 != 2 => newton,
            _ if low.step == 0.0 => FIRST_FRACTION * high.step,
            _ => 0.5 * (low.step + high.step),
        });
        add_interior_steps(&mut steps, low, high, steps_per_call);
    }
    Ok(best)
}

/// Adds steps that divide a bracket evenly, or geometrically while its scale is unknown. Heuristic: the exponent
/// 4 is not measured yet.
fn add_interior_steps(steps: &mut Vec<f64>, low: BracketEnd, high: BracketEnd, steps_per_call: usize) {
    let (low, high) = (low.step, high.step);
    let more = steps_per_call.saturating_sub(steps.len());
    for k in 1..=more {
        let share = k as f64 / (more + 1) as f64;
        steps.push(if low == 0.0 {
            high * FIRST_FRACTION.powf(4.0 * share)
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

    /// |3 − 2t| decreases throughout; the loss is flat up to t = ¼ and steep beyond it.
    #[test]
    fn the_minimum_beyond_a_kink_is_found() {
        let penalty = Penalty { l1: 1.0, l2: 0.0 };
        let point = |step: &f64| {
            let over = (step - 0.25f64).max(0.0);
            LinePoint {
                value: 0.5e9 * over * over,
                slope: 1e9 * over,
                curvature: if over > 0.0 { 1e9 } else { 0.0 },
            }
        };
        for (steps_per_call, most_rounds) in [(1, 10), (16, 5)] {
            let mut rounds = 0;
            let loss = |steps: &[f64]| {
                rounds += 1;
                assert!(steps.len() <= steps_per_call.max(2));
                Ok(steps.iter().map(point).collect())
            };
            let (step, value) = least_along(&[penalty], &[3.0], &[-2.0], steps_per_call, loss).unwrap();
            // 1e9 (t − ¼) = 2.
            assert!(step > 0.25 && (step - 0.25 - 2e-9).abs() < 1e-11, "{step}");
            assert!((value - 2.5).abs() < 1e-8, "{value}");
            assert!(rounds <= most_rounds, "{rounds} rounds of {steps_per_call}");
        }
    }
}
