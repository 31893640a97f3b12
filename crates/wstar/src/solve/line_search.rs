//! A step along a descent direction: a point where the objective is lower and its slope nearly gone.
//!
//! The strong conditions of Wolfe (SIAM Review 11, 1969), found by Newton's method on the slope within a
//! bracket that bisection keeps shrinking. [`Query::Line`] gives value, slope and curvature; where the
//! scores of the point and of the direction are kept, it reads no rows, so a search costs next to nothing.

use crate::error::Result;
use crate::kernel::dense::dot;
use crate::oracle::{LinePoint, Query};
use crate::problem::Problem;

/// The share of the first slope that a decrease must reach.
const ARMIJO: f64 = 1e-4;
/// What rounding may do to an objective, relatively.
const ROUNDING: f64 = 1e-14;
/// Steps that are tried at most.
const MOST_TRIALS: usize = 24;
/// The same where values no longer tell one step from another.
const MOST_HIDDEN_TRIALS: usize = 6;

/// A line through parameters, with what the penalty adds to the loss along it.
pub(super) struct Line<'p> {
    at: &'p [f64],
    along: &'p [f64],
    /// R, its slope and its curvature at step 0: R is quadratic.
    penalty: LinePoint,
}

/// A step and the objective there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) step: f64,
    pub(super) point: LinePoint,
}

impl<'p> Line<'p> {
    pub(super) fn new(problem: &Problem<'_>, at: &'p [f64], along: &'p [f64]) -> Self {
        let mut penalty = LinePoint::default();
        for (j, (&w, &d)) in at.iter().zip(along).enumerate() {
            let l2 = problem.penalty_of(j).l2;
            penalty.value += 0.5 * l2 * w * w;
            penalty.slope += l2 * w * d;
            penalty.curvature += l2 * d * d;
        }
        Line { at, along, penalty }
    }

    /// The objective at one step.
    pub(super) fn point(&self, problem: &mut Problem<'_>, step: f64) -> Result<LinePoint> {
        let sums = problem.oracle.ask(Query::Line {
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

    /// Searches from step `first`, given the objective and its full gradient at step 0; ends where the
    /// slope is at most `accuracy` times the first one. `None` if nothing lower was found.
    pub(super) fn search(
        &self,
        problem: &mut Problem<'_>,
        objective: f64,
        gradient: &[f64],
        first: f64,
        accuracy: f64,
    ) -> Result<Option<Found>> {
        let start = dot(gradient, self.along);
        if !(start < 0.0 && start.is_finite()) {
            return Ok(None);
        }
        let slack = ROUNDING * objective.abs();
        // A gain that rounding hides cannot guide a search: the slopes can, for a while longer.
        let hidden = -start * first <= 10.0 * slack;
        let most = if hidden { MOST_HIDDEN_TRIALS } else { MOST_TRIALS };
        let score = |point: &LinePoint| if hidden { point.slope.abs() } else { point.value };
        let (mut low, mut high): (f64, Option<f64>) = (0.0, None);
        let mut best: Option<Found> = None;
        let mut step = first;
        for trial in 1..=most {
            let point = self.point(problem, step)?;
            let promised = if hidden {
                10.0 * slack
            } else {
                ARMIJO * step * start + slack
            };
            let descends = point.value <= objective + promised;
            if descends && best.is_none_or(|best| score(&point) < score(&best.point)) {
                best = Some(Found { step, point });
            }
            if descends && point.slope.abs() <= -accuracy * start {
                return Ok(Some(Found { step, point }));
            }
            if descends && point.slope < 0.0 {
                low = step;
            } else {
                high = Some(step);
            }
            let newton = step - point.slope / point.curvature;
            let usable = point.curvature > 0.0 && newton.is_finite();
            step = match high {
                None if usable => newton.clamp(1.5 * step, 100.0 * step),
                None => 4.0 * step,
                Some(high) => {
                    let inside = usable && newton > low && newton < high;
                    // Every third trial halves the bracket, whatever the curvature says.
                    if inside && trial % 3 != 0 {
                        newton
                    } else if low > 0.0 {
                        0.5 * (low + high)
                    } else {
                        0.25 * high
                    }
                }
            };
            if high.is_some_and(|high| high - low <= 1e-12 * high) {
                break;
            }
        }
        Ok(best)
    }
}
