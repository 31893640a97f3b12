//! Line search: a step along a descent direction that satisfies the strong Wolfe conditions (P. Wolfe,
//! Convergence conditions for ascent methods, SIAM Review 11, 1969; J. Nocedal and S. J. Wright,
//! Numerical Optimization, chapter 3).
//!
//! Problem: min over t > 0 of P(θ + t·d). Newton's method on the slope is kept within a bracket that
//! bisection keeps shrinking. [`Query::Line`] gives value, slope and curvature. Where the scores of the
//! point and of the direction are cached, it reads no rows, so a search costs next to nothing.

use wstar_data::error::Result;
use wstar_numeric::dense::dot;
use wstar_problem::objective::Objective;
use wstar_problem::objective::{LinePoint, Query};

/// The fraction c₁ of the initial slope by which the objective must decrease (Armijo's condition). From
/// Nocedal and Wright, Numerical Optimization: c₁ = 1e-4.
const ARMIJO: f64 = 1e-4;
/// The relative rounding error of an objective. Derived: some 50 times the machine epsilon.
const ROUNDING: f64 = 1e-14;
/// The most trial steps. Cap: the best step so far is returned, if one decreased the objective.
const MOST_TRIALS: usize = 24;
/// The most trial steps where rounding hides differences of the objective. Cap: as [`MOST_TRIALS`].
const MOST_HIDDEN_TRIALS: usize = 6;

/// A line through the parameters, with what the penalty adds to the loss along it.
pub(super) struct Line<'p> {
    at: &'p [f64],
    along: &'p [f64],
    /// R, its slope and its curvature at step 0; R is quadratic.
    penalty: LinePoint,
}

/// A step, and value, slope and curvature of the objective there.
#[derive(Debug, Clone, Copy)]
pub(super) struct AcceptedStep {
    pub(super) step: f64,
    pub(super) point: LinePoint,
}

impl<'p> Line<'p> {
    /// The line `at + t·along`.
    pub(super) fn new(objective: &Objective<'_>, at: &'p [f64], along: &'p [f64]) -> Self {
        let mut penalty = LinePoint::default();
        for (j, (&w, &d)) in at.iter().zip(along).enumerate() {
            let l2 = objective.problem.penalty_of(j).l2;
            penalty.value += 0.5 * l2 * w * w;
            penalty.slope += l2 * w * d;
            penalty.curvature += l2 * d * d;
        }
        Line { at, along, penalty }
    }

    /// Value, slope and curvature of the objective at one step.
    pub(super) fn point(&self, objective: &mut Objective<'_>, step: f64) -> Result<LinePoint> {
        let sums = objective.sums.ask(Query::Line {
            at: self.at,
            along: self.along,
            steps: &[step],
        })?;
        let loss = sums.line.first().copied().unwrap_or_default();
        let LinePoint {
            value,
            slope,
            curvature,
        } = self.penalty;
        Ok(LinePoint {
            value: loss.value + value + step * (slope + 0.5 * step * curvature),
            slope: loss.slope + slope + step * curvature,
            curvature: loss.curvature + curvature,
        })
    }

    /// Searches from the step `first`, given the objective and its full gradient at step 0. Stops where the
    /// absolute slope is at most `accuracy` times the initial one. `None` if no step decreased the objective.
    pub(super) fn search(
        &self,
        objective: &mut Objective<'_>,
        value: f64,
        gradient: &[f64],
        first: f64,
        accuracy: f64,
    ) -> Result<Option<AcceptedStep>> {
        let start = dot(gradient, self.along);
        if !(start < 0.0 && start.is_finite()) {
            return Ok(None);
        }
        let slack = ROUNDING * value.abs();
        // Where the expected decrease is below rounding, the values cannot guide the search; the slopes still
        // can. Heuristic: the factor 10 is not measured yet.
        let hidden = -start * first <= 10.0 * slack;
        let most = if hidden { MOST_HIDDEN_TRIALS } else { MOST_TRIALS };
        let score = |point: &LinePoint| if hidden { point.slope.abs() } else { point.value };
        let (mut low, mut high): (f64, Option<f64>) = (0.0, None);
        let mut best: Option<AcceptedStep> = None;
        let mut step = first;
        for trial in 1..=most {
            let point = self.point(objective, step)?;
            let required = if hidden {
                10.0 * slack
            } else {
                ARMIJO * step * start + slack
            };
            let descends = point.value <= value + required;
            if descends && best.is_none_or(|best| score(&point) < score(&best.point)) {
                best = Some(AcceptedStep { step, point });
            }
            if descends && point.slope.abs() <= -accuracy * start {
                return Ok(Some(AcceptedStep { step, point }));
            }
            if descends && point.slope < 0.0 {
                low = step;
            } else {
                high = Some(step);
            }
            let newton = step - point.slope / point.curvature;
            let usable = point.curvature > 0.0 && newton.is_finite();
            step = match high {
                // Extrapolation. Heuristic: the limits of its factor are not measured yet.
                None if usable => newton.clamp(1.5 * step, 100.0 * step),
                None => 4.0 * step,
                Some(high) => {
                    let inside = usable && newton > low && newton < high;
                    // Every third trial bisects the bracket, whatever the curvature. Heuristic: one trial in
                    // three, and a quarter of the bracket while its lower end is 0; not measured yet.
                    if inside && trial % 3 != 0 {
                        newton
                    } else if low > 0.0 {
                        0.5 * (low + high)
                    } else {
                        0.25 * high
                    }
                }
            };
            // Cap: a narrower bracket is rounding.
            if high.is_some_and(|high| high - low <= 1e-12 * high) {
                break;
            }
        }
        Ok(best)
    }
}
