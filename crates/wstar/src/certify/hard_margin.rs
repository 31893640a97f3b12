//! The largest margin: a hyperplane and multipliers whose values meet.
//!
//! Let m = minᵢ yᵢ(w·xᵢ + b) > 0. Then (w, b)/m keeps every point at 1 or beyond, so ½‖w‖²/m² is at least the least ½‖w‖² of
//! all that do. Multipliers αᵢ ≥ 0, divided by their sum over each class, make a point p of one hull and q of the
//! other; every hyperplane that keeps all points at 1 has w·(p − q) ≥ 2, so ½‖w‖² ≥ 2/‖p − q‖², which is the dual value at the
//! best multiple of α. Without an intercept there is one hull, of all yᵢxᵢ, and the bound is ½/‖p‖².

use serde::{Deserialize, Serialize};

use crate::data::Design;
use crate::kernel::double_double::Compensated;
use crate::model::Hyperplane;

/// Sums of multipliers are rounded; nothing more may be missing between the classes.
const BALANCE: f64 = 1e-9;
/// Rounding may push the dual value this far above the primal one, relatively.
const ROUNDING: f64 = 1e-9;

/// A claim: no hyperplane has a larger margin, but for the gap.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LargestMargin {
    /// ½‖w‖² of the hyperplane, scaled so that the nearest points have yᵢ(w·xᵢ + b) = 1.
    pub primal: f64,
    /// No such hyperplane has a smaller ½‖w‖².
    pub dual: f64,
    /// (primal − dual)/primal.
    pub relative_gap: f64,
    /// The relative gap that was asked for.
    pub tol: f64,
    /// Rows that take part.
    pub rows: u64,
    /// Whether hyperplanes have an intercept.
    pub intercept: bool,
    /// The support vectors: rows with their multipliers α > 0.
    pub support: Vec<(u64, f64)>,
    /// The largest αᵢ(yᵢ(w·xᵢ + b) − 1) of all points, relative to Σα: 0 at the optimum.
    pub slackness: f64,
    /// |Σαᵢyᵢ| relative to Σα: 0 with an intercept.
    pub imbalance: f64,
}

impl LargestMargin {
    /// 1/‖w‖: the distance of the nearest points from the hyperplane.
    pub fn distance(&self) -> f64 {
        (0.5 / self.primal).sqrt()
    }

    /// 2/‖w‖: the width of the band between the classes.
    pub fn width(&self) -> f64 {
        2.0 * self.distance()
    }

    /// Whether everything that an optimum needs is there, by the numbers of the claim.
    pub fn holds(&self) -> bool {
        self.relative_gap <= self.tol
            && self.relative_gap >= -ROUNDING
            && self.slackness <= self.tol.max(ROUNDING)
            && self.imbalance <= BALANCE
    }

    /// Computes the claim anew from the points.
    pub(crate) fn recompute(&self, design: &Design, signs: &[i8], plane: &Hyperplane) -> LargestMargin {
        let score = |i: usize| {
            let mut sum = Compensated::default();
            design.row(i).for_each(|j, x| sum.add(x * plane.weights[j]));
            sum.add(plane.intercept);
            f64::from(signs[i]) * sum.value()
        };
        let taking_part = || (0..design.rows()).filter(|&i| signs[i] != 0);
        let nearest = taking_part().map(score).fold(f64::INFINITY, f64::min);
        let mut square = Compensated::default();
        plane.weights.iter().for_each(|w| square.add(w * w));
        let primal = if nearest > 0.0 {
            0.5 * square.value() / (nearest * nearest)
        } else {
            f64::MAX
        };
        let honest = self.is_honest(signs);
        let mut found = LargestMargin {
            primal: primal.min(f64::MAX),
            dual: 0.0,
            relative_gap: 1.0,
            rows: taking_part().count() as u64,
            slackness: 0.0,
            imbalance: 1.0,
            ..self.clone()
        };
        if !honest || primal >= f64::MAX {
            return found;
        }
        let sum_of = |y: i8| {
            let own = self.support.iter().filter(|&&(i, _)| signs[i as usize] == y);
            own.map(|&(_, alpha)| alpha).sum::<f64>()
        };
        let (positive, negative) = (sum_of(1), sum_of(-1));
        let total = positive + negative;
        let mut point = vec![Compensated::default(); design.features()];
        for &(i, alpha) in &self.support {
            let y = signs[i as usize];
            let share = match (self.intercept, y > 0) {
                (false, _) => total,
                (true, true) => positive,
                (true, false) => negative,
            };
            design
                .row(i as usize)
                .for_each(|j, x| point[j].add(f64::from(y) * alpha / share * x));
            let beyond = (score(i as usize) / nearest - 1.0).max(0.0);
            found.slackness = found.slackness.max(alpha * beyond / total);
        }
        let distance: f64 = point.iter().map(|p| p.value() * p.value()).sum();
        found.dual = if self.intercept {
            2.0 / distance
        } else {
            0.5 / distance
        };
        found.imbalance = if self.intercept {
            (positive - negative).abs() / total
        } else {
            0.0
        };
        found.relative_gap = (found.primal - found.dual) / found.primal;
        if !found.relative_gap.is_finite() {
            (found.dual, found.relative_gap) = (0.0, 1.0);
        }
        found
    }

    /// Whether the multipliers are of points that are there, each once, and positive; of both classes where it takes two.
    fn is_honest(&self, signs: &[i8]) -> bool {
        let increasing = self.support.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let known = self.support.iter().all(|&(i, alpha)| {
            signs.get(i as usize).is_some_and(|&y| y != 0) && alpha > 0.0 && alpha.is_finite()
        });
        let has = |y: i8| {
            self.support
                .iter()
                .any(|&(i, _)| signs.get(i as usize) == Some(&y))
        };
        increasing
            && known
            && if self.intercept {
                has(1) && has(-1)
            } else {
                !self.support.is_empty()
            }
    }

    /// What of this claim the data contradict, once it has been recomputed.
    pub(crate) fn objections(&self, found: &LargestMargin) -> Vec<String> {
        let mut objections = Vec::new();
        if self.rows != found.rows {
            objections.push(format!(
                "the claim is about {} rows, and these are {}",
                self.rows, found.rows
            ));
        }
        for (what, claimed, value) in [
            ("½‖w‖²", self.primal, found.primal),
            ("the dual value", self.dual, found.dual),
        ] {
            if (claimed - value).abs() > ROUNDING * value.abs() {
                objections.push(format!("{what} is claimed to be {claimed}, and is {value}"));
            }
        }
        if !found.holds() {
            objections.push(format!(
                "relative gap {:.2e}, slackness {:.2e}, imbalance {:.2e}, and {:.0e} was asked for",
                found.relative_gap, found.slackness, found.imbalance, found.tol
            ));
        }
        objections
    }
}
