//! The certificate of the maximum margin: a hyperplane and multipliers whose objective values agree.
//!
//! A hyperplane is feasible if yᵢ(w·xᵢ + b) ≥ 1 for every point.
//!
//! Upper bound: let m = minᵢ yᵢ(w·xᵢ + b) > 0. Then (w, b)/m is feasible, so the minimum of ½‖w‖² is at most
//! ½‖w‖²/m².
//!
//! Lower bound: multipliers αᵢ ≥ 0, divided by their sum over each class, define a point p of one hull and
//! q of the other. Every feasible hyperplane has w·(p − q) ≥ 2, so ½‖w‖² ≥ 2/‖p − q‖². This is the dual
//! value at the best multiple of α. Without an intercept there is one hull, of all yᵢxᵢ, and the bound is
//! ½/‖p‖².

use serde::{Deserialize, Serialize};

use wstar_data::linear::Hyperplane;
use wstar_data::{Design, Objection, Quantity};
use wstar_numeric::double_double::Compensated;

/// Largest accepted |Σαᵢyᵢ| relative to Σα. Heuristic: allows for rounded sums of multipliers; not measured
/// yet.
const BALANCE: f64 = 1e-9;
/// Relative amount by which rounding may push the dual value above the primal value. Heuristic: well above
/// the rounding error of compensated sums; not measured yet.
const ROUNDING: f64 = 1e-9;

/// The claim that no hyperplane has a larger margin, up to the gap.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LargestMargin {
    /// ½‖w‖² of the hyperplane, scaled so that the nearest points have yᵢ(w·xᵢ + b) = 1.
    pub primal: f64,
    /// A lower bound on ½‖w‖² of every such hyperplane.
    pub dual: f64,
    /// (primal − dual)/primal.
    pub relative_gap: f64,
    /// The requested relative gap.
    pub tol: f64,
    /// The number of rows that take part.
    pub(crate) rows: u64,
    /// Whether hyperplanes have an intercept.
    pub intercept: bool,
    /// The support vectors: rows with their multipliers αᵢ > 0.
    pub support: Vec<(u64, f64)>,
    /// max |αᵢ(yᵢ(w·xᵢ + b) − 1)| over the support vectors, relative to Σα: 0 at the optimum.
    pub slackness: f64,
    /// |Σαᵢyᵢ| relative to Σα: 0 at the optimum with an intercept.
    pub imbalance: f64,
}

impl LargestMargin {
    /// The claim of these support vectors, of which [`recompute`](LargestMargin::recompute) computes the numbers. Until then
    /// it does not hold.
    pub fn new(tol: f64, intercept: bool, support: Vec<(u64, f64)>) -> Self {
        LargestMargin {
            primal: 0.0,
            dual: 0.0,
            relative_gap: 1.0,
            tol,
            rows: 0,
            intercept,
            support,
            slackness: 0.0,
            imbalance: 0.0,
        }
    }

    /// 1/‖w‖: the distance of the nearest points from the hyperplane.
    pub fn distance(&self) -> f64 {
        (0.5 / self.primal).sqrt()
    }

    /// 2/‖w‖: the width of the band between the classes.
    pub fn width(&self) -> f64 {
        2.0 * self.distance()
    }

    /// Whether the numbers of the claim satisfy the optimality conditions within the tolerances.
    pub fn holds(&self) -> bool {
        self.relative_gap <= self.tol
            && self.relative_gap >= -ROUNDING
            && self.slackness <= self.tol.max(ROUNDING)
            && self.imbalance <= BALANCE
    }

    /// Recomputes the claim from the points.
    pub fn recompute(&self, design: &Design, signs: &[i8], plane: &Hyperplane) -> LargestMargin {
        let score = |i: usize| {
            let mut sum = Compensated::default();
            design.row(i).for_each(|j, x| sum.add(x * plane.weights[j]));
            sum.add(plane.intercept);
            f64::from(signs[i]) * sum.value()
        };
        let participants = || (0..design.rows()).filter(|&i| signs[i] != 0);
        let nearest = participants().map(score).fold(f64::INFINITY, f64::min);
        let mut square = Compensated::default();
        plane.weights.iter().for_each(|w| square.add(w * w));
        let primal = if nearest > 0.0 {
            0.5 * square.value() / (nearest * nearest)
        } else {
            f64::MAX
        };
        let valid = self.has_valid_support(signs);
        let mut found = LargestMargin {
            primal: primal.min(f64::MAX),
            dual: 0.0,
            relative_gap: 1.0,
            rows: participants().count() as u64,
            slackness: 0.0,
            imbalance: 1.0,
            ..self.clone()
        };
        if !valid || primal >= f64::MAX {
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

    /// Whether the support is well formed: known rows in increasing order, positive finite multipliers, and
    /// rows of both classes if there is an intercept.
    fn has_valid_support(&self, signs: &[i8]) -> bool {
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

    /// The differences between this claim and the recomputed one.
    pub fn objections(&self, found: &LargestMargin) -> Vec<Objection> {
        let mut objections = Vec::new();
        if self.rows != found.rows {
            objections.push(Objection::Rows {
                claimed: self.rows,
                found: found.rows,
            });
        }
        for (quantity, claimed, value) in [
            (Quantity::HalfSquaredNorm, self.primal, found.primal),
            (Quantity::Dual, self.dual, found.dual),
        ] {
            if (claimed - value).abs() > ROUNDING * value.abs() {
                objections.push(Objection::Differs {
                    quantity,
                    claimed,
                    found: value,
                });
            }
        }
        if !found.holds() {
            objections.push(Objection::Margin {
                relative_gap: found.relative_gap,
                slackness: found.slackness,
                imbalance: found.imbalance,
                tol: found.tol,
            });
        }
        objections
    }
}
