//! Keeps the best primal point and the best dual point so far, both feasible. Their difference is the duality
//! gap.
//!
//! A dual point is a slope s in [lo, hi] for each row, with D = −Σ c·s·at − R\*(−X̃ᵀ(c·s)). For a parameter
//! without a penalty, its component of X̃ᵀ(c·s) must be 0. For a free intercept with penalised weights this
//! is reached by moving each slope in proportion to its distance from its bound; if no weight is penalised,
//! by a projection in the metric of the curvature. The residual that rounding leaves is charged to the bound,
//! multiplied by the size of the parameter. Under a pure ℓ1 penalty all slopes are scaled into the feasible
//! set.
//!
//! Candidate points are rounded to `f64`, the precision of the result.

use rayon::prelude::*;

use crate::fixed_order::{add, pass};
use crate::intercept::{balance, best_intercept};
use crate::interior_point::iterate::{Iterate, Totals};
use crate::interior_point::piecewise_loss::PiecewiseLoss;
use crate::kink::Kink;
use crate::newton_system::Normal;
use crate::newton_system::scalar::Scalar;
use wstar_problem::objective::{Objective, Rows};
use wstar_problem::problem::Intercept;
use wstar_problem::tolerance::Tolerance;

/// Multiple of the tolerance below which the gap is computed from feasible points instead of estimated.
/// Heuristic: trades the cost of these points against stopping late; not measured yet.
const FEASIBLE_BOUNDS_FROM: f64 = 1e3;
/// Fraction of the tolerance that the objective may increase when small weights are set to 0. Heuristic:
/// trades sparsity against the objective; not measured yet.
const SPARSITY_SLACK: f64 = 0.01;
/// Maximum number of projections. Cap: beyond it the residual is charged to the bound; two or three
/// projections usually reach rounding.
const MAX_PROJECTIONS: usize = 6;
/// Entries that are summed sequentially in one chunk; fixed, so that the sum does not depend on the number of
/// threads. Heuristic: trades the cost of a task against parallelism; not measured yet.
const CHUNK: usize = 4096;
/// Trailing bits of the mantissa that are rounded away. Heuristic: these are the bits that rounding errors
/// determine; not measured yet.
const DROPPED_BITS: u32 = 8;

/// The best primal and the best dual point.
pub(super) struct Bounds<'a> {
    objective: &'a Objective<'a>,
    rows: &'a Rows<'a>,
    /// The smallest objective, and its point.
    primal: f64,
    point: Option<Vec<f64>>,
    /// The largest dual value, and −c times its slopes; `None` while all slopes are 0.
    dual: f64,
    multipliers: Option<Vec<f64>>,
}

/// The value of a dual point, and the factor that makes its slopes feasible.
struct Bound {
    value: f64,
    shrink: f64,
}

impl<'a> Bounds<'a> {
    pub(super) fn new(objective: &'a Objective<'a>, rows: &'a Rows<'a>) -> Self {
        Bounds {
            objective,
            rows,
            primal: f64::INFINITY,
            point: None,
            // The losses are nonnegative, so slopes of 0 prove the bound 0.
            dual: 0.0,
            multipliers: None,
        }
    }

    /// The best point, or the current iterate if none has been evaluated.
    pub(super) fn point<S: Scalar>(&self, run: &Iterate<'_, S>) -> Vec<f64> {
        self.point.clone().unwrap_or_else(|| run.parameters())
    }

    /// The objective of [`point`](Bounds::point).
    pub(super) fn objective<S: Scalar>(&self, sums: &Totals<S>, run: &Iterate<'_, S>) -> f64 {
        match self.point {
            Some(_) => self.primal,
            None => sums.loss + self.objective.problem.penalty_value(&run.parameters()),
        }
    }

    /// Updates the bounds with the current iterate. Returns the gap, or an estimate of it while it is far
    /// from the tolerance.
    pub(super) fn update<S: Scalar>(
        &mut self,
        run: &Iterate<'_, S>,
        sums: &Totals<S>,
        normal: Option<&Normal<S>>,
        tolerance: Tolerance,
    ) -> f64 {
        let theta = run.parameters();
        let objective = sums.loss + self.objective.problem.penalty_value(&theta);
        let dual = self.bound(sums.conjugate.value(), &sums.column_products, &theta);
        let rough = objective - dual.value;
        if rough > FEASIBLE_BOUNDS_FROM * tolerance.gap(objective) {
            return rough.min(self.primal - self.dual);
        }
        // In double-double arithmetic the scores belong to the unrounded point, so those of the rounded point
        // are recomputed.
        let own = S::EXTENDED.then(|| self.scores(&theta));
        let score = |i: usize| {
            own.as_ref()
                .map_or_else(|| run.entries[i].z.value(), |own| own[i])
        };
        self.try_point(run, score, &theta, 1.0, false);
        if self.objective.problem.intercept() == Intercept::Free {
            self.try_point(run, score, &theta, 1.0, true);
        }
        self.try_dual(run, sums, normal, &theta, dual);
        let gap = self.primal - self.dual;
        if gap > tolerance.gap(self.primal) {
            // The scores are collected because the line search reads them many times.
            let scores: Vec<f64> = (0..run.entries.len()).map(score).collect();
            let factor = self.best_factor(run, &scores, &theta);
            self.try_point(run, |i| scores[i], &theta, factor, true);
        }
        self.primal - self.dual
    }

    /// The final point and multipliers. Weights that ℓ1 holds at 0 are set to exactly 0.
    pub(super) fn finish<S: Scalar>(
        mut self,
        run: &mut Iterate<'_, S>,
        tolerance: Tolerance,
    ) -> (Vec<f64>, Vec<f64>) {
        if self.point.is_none() {
            let sums = run.advance(0.0);
            let normal = run.normal(&sums);
            self.update(run, &sums, normal.as_ref(), f64::INFINITY.into());
        }
        let point = self.point(run);
        let sparse: Vec<f64> = point
            .iter()
            .zip(&run.kinks)
            .map(|(&w, kink)| if kink.is_at_bound() { w } else { 0.0 })
            .collect();
        if sparse != point {
            // Setting them to 0 changes the objective by rounding only, unless the slopes have not converged
            // yet.
            self.try_replacement(run, &sparse, SPARSITY_SLACK * tolerance.gap(self.primal));
        }
        if self.objective.problem.penalty().l2 == 0.0 && !self.objective.problem.loss().is_smooth() {
            // The optimum of a linear programme with short coefficients often has short coefficients too. The
            // rounded point is accepted if its objective is not larger.
            let short: Vec<f64> = self.point(run).iter().map(|&w| drop_trailing_bits(w)).collect();
            self.try_replacement(run, &short, 0.0);
        }
        let point = self.point(run);
        let multipliers = self.multipliers.unwrap_or_else(|| vec![0.0; self.rows.len()]);
        (point, multipliers)
    }

    /// Tries a point and accepts it even if its objective is larger by at most `more`.
    fn try_replacement<S: Scalar>(&mut self, run: &Iterate<'_, S>, theta: &[f64], more: f64) {
        let (best, most) = (self.primal, (self.primal + more).next_up());
        let scores = self.scores(theta);
        self.primal = most;
        self.try_point(run, |i| scores[i], theta, 1.0, false);
        if self.primal == most {
            self.primal = best;
        }
    }

    /// The scores of the rows at a point.
    fn scores(&self, theta: &[f64]) -> Vec<f64> {
        let (design, layout) = (self.rows.design, self.objective.problem.layout());
        let mut scores = vec![0.0; self.rows.len()];
        pass(design, &mut scores, 1, |range, scores, _: &mut ()| {
            f64::scores(design, range, layout, theta, scores);
        });
        scores
    }

    /// Tries the point multiplied by `factor`, with the intercept refitted if it is free and
    /// `refit_intercept` is set.
    fn try_point<S: Scalar>(
        &mut self,
        run: &Iterate<'_, S>,
        score: impl Fn(usize) -> f64 + Sync,
        theta: &[f64],
        factor: f64,
        refit_intercept: bool,
    ) {
        let mut theta: Vec<f64> = theta.iter().map(|w| factor * w).collect();
        let mut shift = 0.0;
        // For a smooth loss the intercept is refitted elsewhere.
        if refit_intercept
            && self.objective.problem.intercept() == Intercept::Free
            && !self.objective.problem.loss().is_smooth()
        {
            let features = run.layout.features;
            let old = theta[features];
            let entries = run.entries.iter().enumerate();
            theta[features] =
                best_intercept(entries.map(|(i, e)| (e.weight, kink(e.piecewise), factor * score(i) - old)));
            shift = theta[features] - old;
        }
        let rescored = (S::EXTENDED && refit_intercept).then(|| self.scores(&theta));
        let loss = sum(run, |i, piecewise| {
            piecewise.value(match &rescored {
                Some(scores) => scores[i],
                None => factor * score(i) + shift,
            })
        });
        let objective = loss + self.objective.problem.penalty_value(&theta);
        if objective < self.primal {
            (self.primal, self.point) = (objective, Some(theta));
        }
    }

    /// argmin over t of P(tθ). With a large C, margins that are too small by 1e-9 dominate the objective, and
    /// only this scaling removes them.
    fn best_factor<S: Scalar>(&self, run: &Iterate<'_, S>, scores: &[f64], theta: &[f64]) -> f64 {
        let (mut linear, mut square) = (0.0, 0.0);
        for (j, w) in theta.iter().enumerate() {
            let penalty = self.objective.problem.penalty_of(j);
            linear += penalty.l1 * w.abs();
            square += penalty.l2 * w * w;
        }
        let slope = |t: f64| {
            let loss = sum(run, |i, piecewise| scores[i] * piecewise.slope(t * scores[i]));
            loss + linear + t * square
        };
        let outward = if slope(1.0) < 0.0 { 1.0 } else { -1.0 };
        let (mut near, mut far) = (1.0, 1.0);
        // Heuristic: the first offset 2⁻³⁹ and its growth by a factor of 8; not measured yet.
        for k in (0..40).rev().step_by(3) {
            far = 1.0 + outward * 0.5f64.powi(k);
            if slope(far) * outward >= 0.0 {
                break;
            }
            near = far;
        }
        // Cap: 40 bisections narrow the bracket by a factor of 10¹².
        for _ in 0..40 {
            let middle = 0.5 * (near + far);
            if slope(middle) * outward >= 0.0 {
                far = middle;
            } else {
                near = middle;
            }
        }
        // Returns the end beyond the kink: on that side the loss is 0, on the other it is multiplied by C.
        near.max(far)
    }

    /// The dual value of slopes with these sums.
    fn bound<S: Scalar>(&self, conjugate: f64, column_products: &[S], theta: &[f64]) -> Bound {
        let mut shrink = 1.0f64;
        for (j, product) in column_products.iter().enumerate() {
            let (penalty, product) = (self.objective.problem.penalty_of(j), product.value());
            if penalty.l2 == 0.0 && penalty.l1 > 0.0 && product.abs() > penalty.l1 {
                shrink = shrink.min(penalty.l1 / product.abs() * (1.0 - f64::EPSILON));
            }
        }
        let mut value = -shrink * conjugate;
        for (j, product) in column_products.iter().enumerate() {
            let (penalty, product) = (self.objective.problem.penalty_of(j), product.value());
            if penalty.is_none() {
                value -= shrink * (product * theta[j]).abs();
            } else if penalty.l2 > 0.0 {
                value -= penalty.conjugate(shrink * product);
            }
        }
        Bound { value, shrink }
    }

    /// Tries the current slopes, made feasible. In double-double arithmetic their residual is negligible, and
    /// the error of rounding them to `f64` is repaired where the certificate is made.
    fn try_dual<S: Scalar>(
        &mut self,
        run: &Iterate<'_, S>,
        sums: &Totals<S>,
        normal: Option<&Normal<S>>,
        theta: &[f64],
        rough: Bound,
    ) {
        // The slopes multiplied by the weights, c·s, are stored only where they are modified.
        let own = || run.entries.iter().map(|e| e.slope() * e.weight);
        let mut moved: Option<Vec<S>> = None;
        let mut bound = rough;
        let repaired = !S::EXTENDED;
        if repaired && self.objective.problem.penalty().is_none() {
            let Some(normal) = normal else { return };
            let mut weighted_slopes: Vec<S> = own().collect();
            let mut sum = sums.column_products.clone();
            let mut left = f64::INFINITY;
            for _ in 0..MAX_PROJECTIONS {
                let scaled: Vec<S> = sum.iter().zip(&run.scale).map(|(&p, &s)| p * s).collect();
                let size = scaled.iter().fold(0.0f64, |most, s| most.max(s.value().abs()));
                // Heuristic: a residual that decreases by less than a factor of 2 is rounding; not measured yet.
                if size >= 0.5 * left {
                    break;
                }
                left = size;
                project(run, &run.unscaled(&normal.solve(&scaled)), &mut weighted_slopes);
                let conjugate = self.sums_of(run, &mut weighted_slopes, &mut sum);
                bound = self.bound(conjugate, &sum, theta);
            }
            moved = Some(weighted_slopes);
        } else if repaired && self.objective.problem.intercept() == Intercept::Free {
            let entries = &run.entries;
            let mut balanced: Vec<f64> = own().map(|slope| slope.value()).collect();
            balance(&mut balanced, |i| {
                let (c, piecewise) = (entries[i].weight, entries[i].piecewise);
                (c * piecewise.lo, c * piecewise.hi)
            });
            let mut weighted_slopes: Vec<S> = balanced.into_iter().map(S::from).collect();
            let mut sum = Vec::new();
            let conjugate = self.sums_of(run, &mut weighted_slopes, &mut sum);
            bound = self.bound(conjugate, &sum, theta);
            moved = Some(weighted_slopes);
        }
        if bound.value > self.dual {
            self.dual = bound.value;
            let multiplier = |slope: S| slope.value() * -bound.shrink;
            let mut multipliers = self.multipliers.take().unwrap_or_default();
            multipliers.clear();
            match moved {
                Some(weighted_slopes) => multipliers.extend(weighted_slopes.into_iter().map(multiplier)),
                None => multipliers.extend(own().map(multiplier)),
            }
            self.multipliers = Some(multipliers);
        }
    }

    /// X̃ᵀ(c·s), and Σ c·ℓ\*(s).
    fn sums_of<S: Scalar>(&self, run: &Iterate<'_, S>, weighted_slopes: &mut [S], total: &mut Vec<S>) -> f64 {
        let (design, layout, entries) = (self.rows.design, run.layout, &run.entries);
        type Sums<S> = (Vec<S>, S);
        let lanes = pass(
            design,
            weighted_slopes,
            layout.len(),
            |range, weighted_slopes, (sum, conjugate): &mut Sums<S>| {
                sum.resize(layout.len(), S::default());
                for (&slope, entry) in weighted_slopes.iter().zip(&entries[range.clone()]) {
                    let piecewise = entry.piecewise;
                    *conjugate += slope * piecewise.at;
                    if piecewise.inverse_curvature > 0.0 && entry.weight > 0.0 {
                        *conjugate += slope * slope * (0.5 * piecewise.inverse_curvature / entry.weight);
                    }
                }
                S::add_column_products(design, range, layout, weighted_slopes, sum);
            },
        );
        total.clear();
        let mut value = S::default();
        for (sum, conjugate) in &lanes {
            add(total, sum);
            value += *conjugate;
        }
        value.value()
    }
}

/// Subtracts c·g·X̃·along from c·s and clamps the result to its interval.
fn project<S: Scalar>(run: &Iterate<'_, S>, along: &[S], weighted_slopes: &mut [S]) {
    let (design, layout, entries) = (run.rows.design, run.layout, &run.entries);
    pass(
        design,
        weighted_slopes,
        1,
        |range, weighted_slopes, _: &mut ()| {
            let mut each = vec![S::default(); weighted_slopes.len()];
            S::scores(design, range.clone(), layout, along, &mut each);
            for ((slope, entry), &z) in weighted_slopes.iter_mut().zip(&entries[range]).zip(&each) {
                let (c, piecewise) = (entry.weight, entry.piecewise);
                if c > 0.0 {
                    let moved = (*slope - entry.curvature() * c * z).value();
                    *slope = S::from(moved.clamp(c * piecewise.lo, c * piecewise.hi));
                }
            }
        },
    );
}

/// The nearest number whose last `DROPPED_BITS` bits are 0.
fn drop_trailing_bits(value: f64) -> f64 {
    let half = 1 << (DROPPED_BITS - 1);
    f64::from_bits(value.to_bits().wrapping_add(half) & !((1 << DROPPED_BITS) - 1))
}

/// The kink of a piecewise linear loss.
fn kink(piecewise: PiecewiseLoss) -> Kink {
    Kink {
        lo: piecewise.lo,
        hi: piecewise.hi,
        at: piecewise.at,
    }
}

/// Σ c·f over the rows, in fixed chunks.
fn sum<S: Scalar>(run: &Iterate<'_, S>, f: impl Fn(usize, PiecewiseLoss) -> f64 + Sync) -> f64 {
    let chunks: Vec<f64> = run
        .entries
        .par_chunks(CHUNK)
        .enumerate()
        .map(|(chunk, entries)| {
            let terms = entries.iter().zip(chunk * CHUNK..).map(|(e, i)| {
                if e.weight > 0.0 {
                    e.weight * f(i, e.piecewise)
                } else {
                    0.0
                }
            });
            terms.sum()
        })
        .collect();
    chunks.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_trailing_bits_are_dropped() {
        assert_eq!(drop_trailing_bits(0.9999999999999997), 1.0);
        assert_eq!(drop_trailing_bits(-2.5000000000000004), -2.5);
        assert_eq!(drop_trailing_bits(0.0), 0.0);
        for value in [std::f64::consts::PI, -1e-300, 7e300] {
            let off = (drop_trailing_bits(value) / value - 1.0).abs();
            assert!(off <= 128.0 * f64::EPSILON, "{value}: {off}");
        }
    }
}
