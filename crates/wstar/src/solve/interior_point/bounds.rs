//! The best point and the best dual point so far, made feasible: their difference is the gap.
//!
//! A dual point is a slope in [lo, hi] for each row, D = −Σ c·s·at − R\*(−X̃ᵀ(c·s)). Without a penalty on a
//! parameter its share of X̃ᵀ(c·s) must be 0: for a free intercept beside penalised weights, slopes move
//! in proportion to their room; if no weight is penalised, by a projection in the metric of the curvature.
//! What rounding leaves is counted at the size of the parameters. A bare ℓ1 penalty scales all slopes.

use rayon::prelude::*;

use super::entry::Entry;
use super::normal::Normal;
use super::{Run, Totals};
use crate::oracle::Rows;
use crate::oracle::products::{add_pulls, scores};
use crate::problem::{Intercept, Problem};
use crate::solve::intercept::{balance, best_intercept};
use crate::solve::lanes::{add, pass};

/// The gap is bounded in earnest when its estimate is this many times the tolerance.
const NEAR: f64 = 1e3;
/// Projections at most; rounding is reached after two or three.
const MOST_PROJECTIONS: usize = 6;
/// Entries summed at a time.
const CHUNK: usize = 4096;

/// The best of both sides.
pub(super) struct Bounds<'a> {
    problem: &'a Problem<'a>,
    rows: &'a Rows<'a>,
    /// The least objective, and where.
    primal: f64,
    point: Option<Vec<f64>>,
    /// The greatest dual value, and its slopes times −c; none while that is all 0.
    dual: f64,
    multipliers: Option<Vec<f64>>,
}

/// A dual point's value, and what its slopes are to be multiplied by.
struct Bound {
    value: f64,
    shrink: f64,
}

impl<'a> Bounds<'a> {
    pub(super) fn new(problem: &'a Problem<'a>, rows: &'a Rows<'a>) -> Self {
        Bounds {
            problem,
            rows,
            primal: f64::INFINITY,
            point: None,
            // The losses are at least 0, so slopes of 0 prove that much.
            dual: 0.0,
            multipliers: None,
        }
    }

    /// The best point, or the current one.
    pub(super) fn point(&self, run: &Run<'_>) -> Vec<f64> {
        self.point.clone().unwrap_or_else(|| run.parameters())
    }

    /// The objective of [`point`](Bounds::point).
    pub(super) fn objective(&self, sums: &Totals, run: &Run<'_>) -> f64 {
        match self.point {
            Some(_) => self.primal,
            None => sums.loss + self.problem.penalty_value(&run.parameters()),
        }
    }

    /// Takes in the current iterate; gives the gap, or an estimate while it is far from the tolerance.
    pub(super) fn update(
        &mut self,
        run: &mut Run<'_>,
        sums: &Totals,
        normal: Option<&Normal>,
        tol: f64,
    ) -> f64 {
        let theta = run.parameters();
        let objective = sums.loss + self.problem.penalty_value(&theta);
        let dual = self.bound(sums.conjugate, &sums.pull, &theta);
        let rough = objective - dual.value;
        if Problem::relative(rough, objective) > NEAR * tol {
            return rough.min(self.primal - self.dual);
        }
        self.offer_point(objective, theta.clone());
        if self.problem.intercept == Intercept::Free {
            self.offer_intercept(run, &theta, 1.0);
        }
        self.offer_dual(run, sums, normal, &theta, dual);
        let gap = self.primal - self.dual;
        if Problem::relative(gap, self.primal) > tol {
            let factor = self.best_factor(run, &theta);
            self.offer_intercept(run, &theta, factor);
        }
        self.primal - self.dual
    }

    /// The point and the multipliers to end with.
    pub(super) fn finish(mut self, run: &mut Run<'_>) -> (Vec<f64>, Vec<f64>) {
        if self.point.is_none() {
            let sums = run.advance(0.0);
            let normal = run.normal(&sums);
            self.update(run, &sums, normal.as_ref(), f64::INFINITY);
        }
        let point = self.point.unwrap_or_else(|| run.parameters());
        let multipliers = self.multipliers.unwrap_or_else(|| vec![0.0; self.rows.len()]);
        (point, multipliers)
    }

    fn offer_point(&mut self, objective: f64, theta: Vec<f64>) {
        if objective < self.primal {
            (self.primal, self.point) = (objective, Some(theta));
        }
    }

    /// Offers the point times a factor, with the best intercept if that is free.
    fn offer_intercept(&mut self, run: &Run<'_>, theta: &[f64], factor: f64) {
        let mut theta: Vec<f64> = theta.iter().map(|w| factor * w).collect();
        let mut shift = 0.0;
        if self.problem.intercept == Intercept::Free {
            let features = run.layout.features;
            let old = theta[features];
            let without = run.entries.iter().map(|e| (e.weight, e.kink, factor * e.z - old));
            theta[features] = best_intercept(without);
            shift = theta[features] - old;
        }
        let loss = sum(&run.entries, |entry| entry.kink.value(factor * entry.z + shift));
        self.offer_point(loss + self.problem.penalty_value(&theta), theta);
    }

    /// argmin over t of P(tθ): at a large C nothing else makes up for margins that fall short by 1e-9.
    fn best_factor(&self, run: &Run<'_>, theta: &[f64]) -> f64 {
        let (mut linear, mut square) = (0.0, 0.0);
        for (j, w) in theta.iter().enumerate() {
            let penalty = self.problem.penalty_of(j);
            linear += penalty.l1 * w.abs();
            square += penalty.l2 * w * w;
        }
        let slope = |t: f64| {
            let loss = sum(&run.entries, |entry| {
                let (kink, z) = (entry.kink, entry.z);
                z * if t * z < kink.at { kink.lo } else { kink.hi }
            });
            loss + linear + t * square
        };
        let outward = if slope(1.0) < 0.0 { 1.0 } else { -1.0 };
        let (mut near, mut far) = (1.0, 1.0);
        for k in (0..40).rev().step_by(3) {
            far = 1.0 + outward * 0.5f64.powi(k);
            if slope(far) * outward >= 0.0 {
                break;
            }
            near = far;
        }
        for _ in 0..40 {
            let middle = 0.5 * (near + far);
            if slope(middle) * outward >= 0.0 {
                far = middle;
            } else {
                near = middle;
            }
        }
        // Beyond the kink rather than before it: on one side the loss is 0, on the other it weighs C.
        near.max(far)
    }

    /// D of slopes with these sums.
    fn bound(&self, conjugate: f64, pull: &[f64], theta: &[f64]) -> Bound {
        let mut shrink = 1.0f64;
        for (j, pull) in pull.iter().enumerate() {
            let penalty = self.problem.penalty_of(j);
            if penalty.l2 == 0.0 && penalty.l1 > 0.0 && pull.abs() > penalty.l1 {
                shrink = shrink.min(penalty.l1 / pull.abs() * (1.0 - f64::EPSILON));
            }
        }
        let mut value = -shrink * conjugate;
        for (j, pull) in pull.iter().enumerate() {
            let penalty = self.problem.penalty_of(j);
            if penalty.is_none() {
                value -= shrink * (pull * theta[j]).abs();
            } else if penalty.l2 > 0.0 {
                value -= penalty.conjugate(shrink * pull);
            }
        }
        Bound { value, shrink }
    }

    /// Offers the current slopes, made feasible.
    fn offer_dual(
        &mut self,
        run: &mut Run<'_>,
        sums: &Totals,
        normal: Option<&Normal>,
        theta: &[f64],
        rough: Bound,
    ) {
        // Slopes times weights: what X̃ᵀ is applied to.
        let mut pulls: Vec<f64> = run.entries.iter().map(|e| e.weight * e.slope()).collect();
        let mut bound = rough;
        if self.problem.penalty.is_none() {
            let Some(normal) = normal else { return };
            let mut sum = sums.pull.clone();
            let mut left = f64::INFINITY;
            for _ in 0..MOST_PROJECTIONS {
                let scaled: Vec<f64> = sum.iter().zip(&run.scale).map(|(p, s)| p * s).collect();
                let size = scaled.iter().fold(0.0f64, |most, s| most.max(s.abs()));
                if size >= 0.5 * left {
                    break;
                }
                left = size;
                project(run, &run.unscaled(&normal.solve(&scaled)), &mut pulls);
                let conjugate = self.sums_of(run, &mut pulls, &mut sum);
                bound = self.bound(conjugate, &sum, theta);
            }
        } else if self.problem.intercept == Intercept::Free {
            let entries = &run.entries;
            balance(&mut pulls, |i| {
                let (c, kink) = (entries[i].weight, entries[i].kink);
                (c * kink.lo, c * kink.hi)
            });
            let mut sum = Vec::new();
            let conjugate = self.sums_of(run, &mut pulls, &mut sum);
            bound = self.bound(conjugate, &sum, theta);
        }
        if bound.value > self.dual {
            self.dual = bound.value;
            pulls.iter_mut().for_each(|pull| *pull *= -bound.shrink);
            self.multipliers = Some(pulls);
        }
    }

    /// X̃ᵀ(c·s), and Σ c·s·at.
    fn sums_of(&self, run: &Run<'_>, pulls: &mut [f64], total: &mut Vec<f64>) -> f64 {
        let (design, layout, entries) = (self.rows.design, run.layout, &run.entries);
        type Sums = (Vec<f64>, f64);
        let lanes = pass(
            design,
            pulls,
            layout.len(),
            |range, pulls, (sum, conjugate): &mut Sums| {
                sum.resize(layout.len(), 0.0);
                for (pull, entry) in pulls.iter().zip(&entries[range.clone()]) {
                    *conjugate += pull * entry.kink.at;
                }
                add_pulls(design, range, layout, pulls, sum);
            },
        );
        total.clear();
        let mut value = 0.0;
        for (sum, conjugate) in &lanes {
            add(total, sum);
            value += conjugate;
        }
        value
    }
}

/// Takes c·g·X̃·along from the slopes times weights, kept inside their intervals.
fn project(run: &Run<'_>, along: &[f64], pulls: &mut [f64]) {
    let (design, layout, entries) = (run.rows.design, run.layout, &run.entries);
    pass(design, pulls, 1, |range, pulls, _: &mut ()| {
        let mut each = vec![0.0; pulls.len()];
        scores(design, range.clone(), layout, along, &mut each);
        for ((pull, entry), z) in pulls.iter_mut().zip(&entries[range]).zip(&each) {
            let (c, kink) = (entry.weight, entry.kink);
            if c > 0.0 {
                let moved = *pull - c * entry.curvature() * z;
                *pull = moved.clamp(c * kink.lo, c * kink.hi);
            }
        }
    });
}

/// Σ c·f over entries, in fixed chunks.
fn sum(entries: &[Entry], f: impl Fn(&Entry) -> f64 + Sync) -> f64 {
    let chunks: Vec<f64> = entries
        .par_chunks(CHUNK)
        .map(|chunk| {
            chunk
                .iter()
                .map(|e| if e.weight > 0.0 { e.weight * f(e) } else { 0.0 })
                .sum()
        })
        .collect();
    chunks.iter().sum()
}
