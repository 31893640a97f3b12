//! The violation of the optimality conditions that an epoch saw. It decides which rows shrinking leaves out.

use crate::dual_coordinate_descent::coordinate_step::Coordinate;

/// The largest and the smallest slope that an epoch saw among the multipliers that could still move along it:
/// together, the largest violation of the optimality conditions on either side.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Violations {
    above: f64,
    below: f64,
}

impl Violations {
    /// The value before any epoch has run.
    pub(super) const UNKNOWN: Violations = Violations {
        above: f64::INFINITY,
        below: f64::NEG_INFINITY,
    };

    pub(super) fn record(&mut self, slope: f64) {
        self.above = self.above.max(slope);
        self.below = self.below.min(slope);
    }

    pub(super) fn merge(self, other: Violations) -> Violations {
        Violations {
            above: self.above.max(other.above),
            below: self.below.min(other.below),
        }
    }

    /// Both bounds multiplied by `factor`.
    pub(super) fn scaled(self, factor: f64) -> Violations {
        Violations {
            above: factor * self.above,
            below: factor * self.below,
        }
    }

    /// Whether shrinking leaves this row out: its multiplier is at a bound and its slope exceeds the largest
    /// violation on that side.
    pub(super) fn shrinks(&self, coordinate: &Coordinate, multiplier: f64, slope: f64) -> bool {
        (multiplier == coordinate.low && slope > self.above.max(0.0))
            || (multiplier == coordinate.high && slope < self.below.min(0.0))
    }

    pub(super) fn are_small(&self) -> bool {
        // Heuristic: slopes are of the order of 1, and smaller violations are rounding; not measured yet.
        self.above - self.below < 1e-12
    }
}
