//! One epoch after another, and when the gap is to be evaluated.
//!
//! An evaluation costs about an epoch over all rows, while most of them are left out. What an epoch sees of the gap on its
//! way falls as the gap itself does: from the last evaluation on it tells how far that is.

use super::epoch::{Active, Seen};
use super::momentum::Momentum;
use super::{State, Violations};
use crate::solve::Control;

/// Epochs between two evaluations of the gap, at most where epochs are slow, and in any case.
const EVALUATE_EVERY: u64 = 4;
const LONGEST: u64 = 16;
/// What an epoch leaves of the gap at most while epochs alone are fast enough: a search takes as long as several.
const FAST: f64 = 0.8;
/// What is left of the gap when rows that were left out are looked at again: those for which that was wrong would hold
/// up the others for longer.
const LEFT: f64 = 0.1;
/// The gap is expected to be this part of its aim when it is looked for there.
const NEARLY: f64 = 0.9;

/// Epochs before there is momentum: the first ones send many multipliers from one end of their box to the other.
const WITHOUT_MOMENTUM: u64 = 5;
/// A row at an end of its box is left out if its slope is beyond this part of the largest violation: the next evaluation
/// brings back those for which that was wrong.
const LEFT_OUT_FROM: f64 = 0.1;

/// How far the epochs have come.
pub(super) struct Course {
    /// Whether every epoch's problem is the same quadratic in a box.
    steady: bool,
    pub(super) epochs: u64,
    most: u64,
    /// What the last epoch has seen, and the one before it.
    pub(super) seen: Seen,
    before: Seen,
    /// The epochs at the last evaluation, the relative gap there, and how many times what was seen of it.
    evaluated: u64,
    gap: f64,
    ratio: f64,
}

impl Course {
    pub(super) fn new(steady: bool, most: u64) -> Self {
        Course {
            steady,
            epochs: 0,
            most,
            seen: Seen::UNKNOWN,
            before: Seen::UNKNOWN,
            evaluated: 0,
            gap: f64::INFINITY,
            ratio: f64::INFINITY,
        }
    }

    /// Runs an epoch; whether the gap is to be evaluated now.
    pub(super) fn advance(
        &mut self,
        state: &mut State<'_>,
        active: &mut Active,
        momentum: &mut Momentum,
        control: &mut Control<'_>,
    ) -> bool {
        self.before = self.seen;
        let momentous = self.steady && self.epochs >= WITHOUT_MOMENTUM;
        if momentous {
            momentum.start(state, active);
        }
        self.seen = state.epoch(active, self.left_out());
        if momentous {
            momentum.follow(state);
        }
        self.epochs += 1;
        control.passed(1);
        self.is_due(control.tol, || state.norm())
    }

    pub(super) fn is_last(&self) -> bool {
        self.epochs >= self.most
    }

    /// The slopes beyond which a row at an end of its box is left out.
    pub(super) fn left_out(&self) -> Violations {
        self.seen
            .violations
            .times(if self.steady { LEFT_OUT_FROM } else { 1.0 })
    }

    fn is_due(&self, tol: f64, norm: impl Fn() -> f64) -> bool {
        // The first so that there is a point to show, and to give should the time be over.
        if self.is_last() || self.epochs == 1 || self.seen.violations.are_small() {
            return true;
        }
        let since = self.epochs - self.evaluated;
        if !self.steady {
            return since >= EVALUATE_EVERY || self.seen.promises(self.before, norm(), tol);
        }
        let expected = self.ratio * self.seen.gap;
        let falling = expected <= self.gap * FAST.powi(since as i32) && since < LONGEST;
        expected <= NEARLY * tol || (since >= EVALUATE_EVERY && (!falling || expected <= LEFT * self.gap))
    }

    /// The gap has been evaluated; whether epochs alone are slow.
    pub(super) fn evaluated(&mut self, gap: f64) -> bool {
        let since = self.epochs - self.evaluated;
        let slow = !self.steady || gap > self.gap * FAST.powi(since as i32);
        self.ratio = gap / self.seen.gap;
        (self.evaluated, self.gap) = (self.epochs, gap);
        slow
    }
}
