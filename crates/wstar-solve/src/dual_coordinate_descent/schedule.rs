//! Runs the epochs and decides when the duality gap is evaluated.
//!
//! An evaluation costs about as much as an epoch over all rows, while most rows are shrunk. Each epoch also
//! accumulates an estimate of the gap over the rows that it visits. That estimate decreases at the rate of
//! the gap itself, so its ratio to the gap at the last evaluation predicts the current gap.

use crate::Control;
use crate::dual_coordinate_descent::dual_state::DualState;
use crate::dual_coordinate_descent::epoch::{Active, EpochReport};
use crate::dual_coordinate_descent::momentum::Momentum;
use crate::dual_coordinate_descent::violations::Violations;
use wstar_problem::tolerance::Tolerance;

/// Epochs between two evaluations of the gap while epochs are slow. Heuristic: trades the cost of an
/// evaluation against shrinking with outdated thresholds; not measured yet.
const EVALUATE_EVERY: u64 = 4;
/// Maximum number of epochs between two evaluations of the gap. Cap: the gap is evaluated after so many
/// epochs even if they are fast.
const MAX_EPOCHS_BETWEEN_EVALUATIONS: u64 = 16;
/// Factor by which an epoch must reduce the gap to count as fast. Heuristic: above it, a face search, which
/// costs as much as several epochs, is expected to pay; not measured yet.
const FAST_CONTRACTION: f64 = 0.8;
/// Fraction of the last evaluated gap at which shrunk rows are reconsidered. Heuristic: rows that were shrunk
/// wrongly hold back the convergence of the others if they stay out longer; not measured yet.
const RECONSIDER_FRACTION: f64 = 0.1;
/// Fraction of the tolerance that the predicted gap must reach before the gap is evaluated. Heuristic: a
/// margin against evaluations that narrowly miss the tolerance; not measured yet.
const TOLERANCE_MARGIN: f64 = 0.9;

/// Epochs before momentum starts. Heuristic: the first epochs move many multipliers from one bound to the
/// other, so the dual is not yet one quadratic; not measured yet.
const EPOCHS_BEFORE_MOMENTUM: u64 = 5;
/// Fraction of the largest violation beyond whose slope a row at a bound is shrunk. Heuristic: a smaller
/// value shrinks more rows, and more of them wrongly; the next evaluation brings those back; not measured
/// yet.
const SHRINKING_FRACTION: f64 = 0.1;

/// The progress of the epochs, and the state that decides when to evaluate the gap.
pub(super) struct EvaluationSchedule {
    /// Whether every epoch minimises the same quadratic over a box.
    steady: bool,
    pub(super) epochs: u64,
    most: u64,
    /// The reports of the last epoch and of the one before it.
    pub(super) seen: EpochReport,
    before: EpochReport,
    /// The number of epochs at the last evaluation.
    evaluated: u64,
    /// The relative gap at the last evaluation.
    gap: f64,
    /// That gap divided by the epoch's own estimate of it.
    ratio: f64,
}

impl EvaluationSchedule {
    pub(super) fn new(steady: bool, most: u64) -> Self {
        EvaluationSchedule {
            steady,
            epochs: 0,
            most,
            seen: EpochReport::UNKNOWN,
            before: EpochReport::UNKNOWN,
            evaluated: 0,
            gap: f64::INFINITY,
            ratio: f64::INFINITY,
        }
    }

    /// Runs an epoch. Returns whether the gap should be evaluated now.
    pub(super) fn advance(
        &mut self,
        state: &mut DualState<'_>,
        active: &mut Active,
        momentum: &mut Momentum,
        control: &mut Control<'_>,
    ) -> bool {
        self.before = self.seen;
        let use_momentum = self.steady && self.epochs >= EPOCHS_BEFORE_MOMENTUM;
        if use_momentum {
            momentum.start(state, active);
        }
        self.seen = state.epoch(active, self.shrinking_thresholds());
        if use_momentum {
            momentum.follow(state);
        }
        self.epochs += 1;
        control.passed(1);
        self.is_due(control.tolerance, || state.norm())
    }

    pub(super) fn is_last(&self) -> bool {
        self.epochs >= self.most
    }

    /// The slopes beyond which a row at a bound is shrunk.
    pub(super) fn shrinking_thresholds(&self) -> Violations {
        self.seen
            .violations
            .scaled(if self.steady { SHRINKING_FRACTION } else { 1.0 })
    }

    fn is_due(&self, tolerance: Tolerance, norm: impl Fn() -> f64) -> bool {
        // The first epoch is evaluated so that there is a point to report, and to return if time runs out.
        if self.is_last() || self.epochs == 1 || self.seen.violations.are_small() {
            return true;
        }
        let since = self.epochs - self.evaluated;
        if !self.steady {
            return since >= EVALUATE_EVERY || self.seen.predicts_convergence(self.before, norm(), tolerance);
        }
        let expected = self.ratio * self.seen.gap;
        let fast = expected <= self.gap * FAST_CONTRACTION.powi(since as i32)
            && since < MAX_EPOCHS_BETWEEN_EVALUATIONS;
        expected <= TOLERANCE_MARGIN * tolerance.relative
            || (since >= EVALUATE_EVERY && (!fast || expected <= RECONSIDER_FRACTION * self.gap))
    }

    /// Records an evaluated gap. Returns whether the epochs since the last evaluation were slow.
    pub(super) fn evaluated(&mut self, gap: f64) -> bool {
        let since = self.epochs - self.evaluated;
        let slow = !self.steady || gap > self.gap * FAST_CONTRACTION.powi(since as i32);
        self.ratio = gap / self.seen.gap;
        (self.evaluated, self.gap) = (self.epochs, gap);
        slow
    }
}
