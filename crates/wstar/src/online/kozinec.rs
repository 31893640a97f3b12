//! Kozinec's algorithm (B. N. Kozinec, Recurrent algorithm separating convex hulls of two sets, 1973; M. I.
//! Schlesinger and V. Hlaváč, Ten Lectures on Statistical and Structural Pattern Recognition, Kluwer 2002,
//! chapter 5) for the ε-solution of the maximum-margin problem.
//!
//! With an intercept, the algorithm approaches the nearest points `p ∈ conv(positive)`, `q ∈ conv(negative)`. Let
//! `w = p − q`. While some positive `x` has `w·x < w·p − ε/2·‖w‖²`, `p` moves to the point of the segment `[p,
//! x]` nearest to `q`; negative examples move `q` likewise. When no example satisfies this condition, the
//! hyperplane halfway between `p` and `q` has a margin of at least `(1−ε)·‖p−q‖/2`, and no hyperplane has more
//! than `‖p−q‖/2`. Without an intercept, the algorithm approaches the point of `conv{yᵢxᵢ}` nearest to 0 in the
//! same way. The margin is at most its norm.
//!
//! Each point is stored as a factor times a vector, so that a move costs only the stored entries of the example.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::online::{Change, Learner, Seen};
use wstar_data::Row;
use wstar_data::error::{Error, Range, Result};
use wstar_data::linear::Hyperplane;
use wstar_data::setting::Setting;
use wstar_numeric::dense;

/// The convex hulls between which the distance is minimised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hulls {
    /// The hulls of the two classes: the hyperplane has an intercept.
    Two,
    /// The hull of all `y·x` and the origin: the hyperplane passes through the origin.
    One,
    /// The hull of all `y·(x, 1)` and the origin: the margin of the lifted points.
    OneLifted,
}

/// The settings of Kozinec's algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct KozinecRule {
    /// The largest relative difference between the margin and the best one.
    pub(crate) epsilon: f64,
    /// The convex hulls between which the distance is minimised.
    pub(crate) hulls: Hulls,
}

impl KozinecRule {
    /// Rejects an ε outside (0, 1).
    pub fn check(&self) -> Result<()> {
        if self.epsilon > 0.0 && self.epsilon < 1.0 {
            Ok(())
        } else {
            let range = Range::StrictlyBetween(0.0, 1.0);
            Err(Error::out_of_range(Setting::Epsilon, range, self.epsilon))
        }
    }
}

/// A point of a convex hull, as a convex combination of examples.
#[derive(Debug, Clone, Default)]
struct HullPoint {
    /// The point is `factor · vector`, and its lifted coordinate `factor · lifted`.
    factor: f64,
    vector: Vec<f64>,
    lifted: f64,
    /// The multipliers divided by `factor`.
    multipliers: FxHashMap<u64, f64>,
    squared_norm: f64,
}

/// The factor below which it is multiplied into the vector. Heuristic: far above underflow; not measured yet.
const SMALLEST_FACTOR: f64 = 1e-100;

impl HullPoint {
    fn exists(&self) -> bool {
        self.factor > 0.0
    }

    fn dot(&self, x: Row<'_>, lift: f64) -> f64 {
        self.factor * (x.dot(&self.vector) + lift * self.lifted)
    }

    /// Moves the point the fraction `step` of the way to `sign·(x, lift)`.
    fn move_to(&mut self, step: f64, id: u64, x: Row<'_>, sign: f64, lift: f64) {
        if self.vector.len() < x.width() {
            self.vector.resize(x.width(), 0.0);
        }
        if step >= 1.0 || !self.exists() {
            self.vector.fill(0.0);
            self.lifted = 0.0;
            self.multipliers.clear();
            self.factor = 1.0;
        } else {
            self.factor *= 1.0 - step;
            if self.factor < SMALLEST_FACTOR {
                let factor = std::mem::replace(&mut self.factor, 1.0);
                self.vector.iter_mut().for_each(|v| *v *= factor);
                self.lifted *= factor;
                self.multipliers.values_mut().for_each(|m| *m *= factor);
            }
        }
        let share = step.min(1.0) / self.factor;
        x.add_to(share * sign, &mut self.vector);
        self.lifted += share * sign * lift;
        *self.multipliers.entry(id).or_default() += share;
    }

    fn measure(&mut self) {
        let squared = dense::squared_norm(&self.vector) + self.lifted * self.lifted;
        self.squared_norm = self.factor * self.factor * squared;
    }

    fn multipliers(&self) -> Vec<(u64, f64)> {
        let mut all: Vec<(u64, f64)> = self
            .multipliers
            .iter()
            .map(|(&id, &share)| (id, share * self.factor))
            .filter(|&(_, share)| share > 0.0)
            .collect();
        all.sort_unstable_by_key(|&(id, _)| id);
        all
    }
}

/// Kozinec's learner.
#[derive(Debug, Clone)]
pub struct Kozinec {
    rule: KozinecRule,
    /// The current points of the positive hull (or the single one) and of the negative hull.
    points: [HullPoint; 2],
    /// `p·q`.
    product: f64,
    hyperplane: Hyperplane,
    /// Whether the points have moved since the hyperplane was computed from them.
    stale: bool,
    /// Whether the points have moved since their norms were computed.
    moved: bool,
}

impl Kozinec {
    /// A learner that has processed no examples.
    pub fn new(rule: KozinecRule, features: usize) -> Self {
        Kozinec {
            rule,
            points: Default::default(),
            product: 0.0,
            hyperplane: Hyperplane::zero(features),
            stale: false,
            moved: false,
        }
    }

    /// The convex multipliers of the points, by row: of the positive hull (or the single one), then of the negative.
    pub fn multipliers(&self) -> [Vec<(u64, f64)>; 2] {
        [self.points[0].multipliers(), self.points[1].multipliers()]
    }

    /// `‖p − q‖²`.
    fn squared_distance(&self) -> f64 {
        (self.points[0].squared_norm + self.points[1].squared_norm - 2.0 * self.product).max(0.0)
    }

    /// An upper bound on the margin of any hyperplane.
    pub fn upper(&self) -> f64 {
        let distance = self.squared_distance().sqrt();
        match self.rule.hulls {
            Hulls::Two => distance / 2.0,
            Hulls::One | Hulls::OneLifted => distance,
        }
    }

    /// Computes the hyperplane from the points: with two hulls, the plane halfway between them.
    fn rebuild(&mut self) {
        let [p, q] = &self.points;
        let width = p.vector.len().max(q.vector.len());
        self.hyperplane.widen(width);
        self.hyperplane.weights.fill(0.0);
        self.stale = false;
        if let Some(score) = self.one_sided_score() {
            self.hyperplane.intercept = score;
            return;
        }
        dense::axpy(p.factor, &p.vector, &mut self.hyperplane.weights);
        dense::axpy(-q.factor, &q.vector, &mut self.hyperplane.weights);
        self.hyperplane.intercept = match self.rule.hulls {
            Hulls::Two => (q.squared_norm - p.squared_norm) / 2.0,
            Hulls::One => 0.0,
            Hulls::OneLifted => p.factor * p.lifted,
        };
    }

    /// The constant score used while two hulls are required and one of them has no point yet. Every row is assigned to
    /// the class seen so far, so that an example of the other class is the worst mistake.
    fn one_sided_score(&self) -> Option<f64> {
        match (self.rule.hulls, self.points.each_ref().map(HullPoint::exists)) {
            (Hulls::One | Hulls::OneLifted, _) | (_, [true, true]) => None,
            (_, [true, false]) => Some(1.0),
            (_, [false, true]) => Some(-1.0),
            (_, [false, false]) => Some(0.0),
        }
    }

    fn see_two(&mut self, id: u64, x: Row<'_>, y: f64) -> Seen {
        let side = usize::from(y < 0.0);
        let dots = [self.points[0].dot(x, 0.0), self.points[1].dot(x, 0.0)];
        if let Some(score) = self.one_sided_score() {
            let first = !self.points[side].exists();
            if first {
                self.points[side].move_to(1.0, id, x, 1.0, 0.0);
                self.points[side].squared_norm = x.squared_norm();
                self.product = dots[1 - side];
            }
            return Seen {
                score,
                wrong: first,
                change: if first { Change::Replace } else { Change::None },
            };
        }
        let [p, q] = &self.points;
        let (norm, other_norm) = (self.points[side].squared_norm, self.points[1 - side].squared_norm);
        let score = dots[0] - dots[1] + (q.squared_norm - p.squared_norm) / 2.0;
        let mut seen = Seen {
            score,
            wrong: y * score <= 0.0,
            change: Change::None,
        };
        let squared = norm + other_norm - 2.0 * self.product;
        // `y·w·(p − x)` for the point `p` of the example's hull: how much nearer to the other hull `x` lies than `p`.
        let violation = norm - self.product - (dots[side] - dots[1 - side]);
        if violation <= self.rule.epsilon / 2.0 * squared {
            return seen;
        }
        let length = x.squared_norm() + norm - 2.0 * dots[side];
        if length <= 0.0 {
            return seen;
        }
        let step = (violation / length).min(1.0);
        self.points[side].squared_norm = (1.0 - step).powi(2) * norm
            + 2.0 * step * (1.0 - step) * dots[side]
            + step * step * x.squared_norm();
        self.product = (1.0 - step) * self.product + step * dots[1 - side];
        self.points[side].move_to(step, id, x, 1.0, 0.0);
        seen.change = Change::Replace;
        seen
    }

    fn see_one(&mut self, id: u64, x: Row<'_>, y: f64) -> Seen {
        let lift = if self.rule.hulls == Hulls::OneLifted {
            1.0
        } else {
            0.0
        };
        let point = &mut self.points[0];
        let dot = y * point.dot(x, lift);
        let norm = point.squared_norm;
        let x_norm = x.squared_norm() + lift;
        let mut seen = Seen {
            score: y * dot,
            wrong: dot <= 0.0,
            change: Change::None,
        };
        let violation = norm - dot;
        let length = x_norm + norm - 2.0 * dot;
        if point.exists() && (violation <= self.rule.epsilon * norm || length <= 0.0) {
            return seen;
        }
        let step = if point.exists() {
            (violation / length).min(1.0)
        } else {
            1.0
        };
        point.move_to(step, id, x, y, lift);
        point.squared_norm =
            (1.0 - step).powi(2) * norm + 2.0 * step * (1.0 - step) * dot + step * step * x_norm;
        seen.change = Change::Replace;
        seen
    }
}

impl Learner for Kozinec {
    fn see(&mut self, id: u64, x: Row<'_>, y: f64, _weight: f64) -> Seen {
        // A convex hull does not depend on how often a point occurs, so weights are ignored.
        let seen = match self.rule.hulls {
            Hulls::Two => self.see_two(id, x, y),
            Hulls::One | Hulls::OneLifted => self.see_one(id, x, y),
        };
        if seen.change != Change::None {
            (self.stale, self.moved) = (true, true);
        }
        seen
    }

    fn hyperplane(&self) -> &Hyperplane {
        &self.hyperplane
    }

    fn settle(&mut self) {
        if self.stale {
            self.rebuild();
        }
    }

    fn end_pass(&mut self) {
        if std::mem::take(&mut self.moved) {
            // Recomputing the norms stops the rounding errors of the stepwise updates from accumulating.
            self.points.iter_mut().for_each(HullPoint::measure);
            let [p, q] = &self.points;
            let shorter = p.vector.len().min(q.vector.len());
            self.product = p.factor * q.factor * dense::dot(&p.vector[..shorter], &q.vector[..shorter]);
            self.rebuild();
        }
    }

    fn interval(&self) -> Option<(f64, f64)> {
        // The distance is defined only once each hull has a point.
        let known = self.points[0].exists() && self.one_sided_score().is_none();
        known.then(|| (0.0, self.upper()))
    }
}
