//! The best point and the best dual point so far, made feasible: their difference is the gap.
//!
//! A dual point is a slope in [lo, hi] for each row, D = −Σ c·s·at − R\*(−X̃ᵀ(c·s)). Without a penalty on a
//! parameter its share of X̃ᵀ(c·s) must be 0: for a free intercept beside penalised weights, slopes move
//! in proportion to their room; if no weight is penalised, by a projection in the metric of the curvature.
//! What rounding leaves is counted at the size of the parameters. A bare ℓ1 penalty scales all slopes.
//! Points are always in `f64`, for that is what they are kept in.

use rayon::prelude::*;

use super::normal::Normal;
use super::piece::Piece;
use super::run::{Run, Totals};
use super::scalar::Scalar;
use crate::oracle::Rows;
use crate::problem::{Intercept, Problem};
use crate::solve::intercept::{balance, best_intercept};
use crate::solve::kink::Kink;
use crate::solve::lanes::{add, pass};

/// The gap is bounded in earnest when its estimate is this many times the tolerance.
const NEAR: f64 = 1e3;
/// What share of the tolerance a point may lose by having zeros.
const SPARSE: f64 = 0.01;
/// Projections at most; rounding is reached after two or three.
const MOST_PROJECTIONS: usize = 6;
/// Entries summed at a time.
const CHUNK: usize = 4096;
/// Bits that rounding has the last word on.
const SHORTER: u32 = 8;

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
    pub(super) fn point<S: Scalar>(&self, run: &Run<'_, S>) -> Vec<f64> {
        self.point.clone().unwrap_or_else(|| run.parameters())
    }

    /// The objective of [`point`](Bounds::point).
    pub(super) fn objective<S: Scalar>(&self, sums: &Totals<S>, run: &Run<'_, S>) -> f64 {
        match self.point {
            Some(_) => self.primal,
            None => sums.loss + self.problem.penalty_value(&run.parameters()),
        }
    }

    /// Takes in the current iterate; gives the gap, or an estimate while it is far from the tolerance.
    pub(super) fn update<S: Scalar>(
        &mut self,
        run: &Run<'_, S>,
        sums: &Totals<S>,
        normal: Option<&Normal<S>>,
        tol: f64,
    ) -> f64 {
        let theta = run.parameters();
        let objective = sums.loss + self.problem.penalty_value(&theta);
        let dual = self.bound(sums.conjugate.value(), &sums.pull, &theta);
        let rough = objective - dual.value;
        if Problem::relative(rough, objective) > NEAR * tol {
            return rough.min(self.primal - self.dual);
        }
        // Scores move with every step; those of a rounded point are its own.
        let own = S::EXTENDED.then(|| self.scores(&theta));
        let score = |i: usize| {
            own.as_ref()
                .map_or_else(|| run.entries[i].z.value(), |own| own[i])
        };
        self.offer(run, score, &theta, 1.0, false);
        if self.problem.intercept == Intercept::Free {
            self.offer(run, score, &theta, 1.0, true);
        }
        self.offer_dual(run, sums, normal, &theta, dual);
        let gap = self.primal - self.dual;
        if Problem::relative(gap, self.primal) > tol {
            // Together, for a search that goes over them often.
            let scores: Vec<f64> = (0..run.entries.len()).map(score).collect();
            let factor = self.best_factor(run, &scores, &theta);
            self.offer(run, |i| scores[i], &theta, factor, true);
        }
        self.primal - self.dual
    }

    /// The point and the multipliers to end with; weights that ℓ1 holds at 0 are 0.
    pub(super) fn finish<S: Scalar>(mut self, run: &mut Run<'_, S>, tol: f64) -> (Vec<f64>, Vec<f64>) {
        if self.point.is_none() {
            let sums = run.advance(0.0);
            let normal = run.normal(&sums);
            self.update(run, &sums, normal.as_ref(), f64::INFINITY);
        }
        let point = self.point(run);
        let sparse: Vec<f64> = point
            .iter()
            .zip(&run.kinks)
            .map(|(&w, kink)| if kink.is_at_end() { w } else { 0.0 })
            .collect();
        if sparse != point {
            // Nothing is lost by that but rounding, or the slopes have not settled yet.
            self.offer_instead(run, &sparse, SPARSE * tol * self.primal.abs().max(1.0));
        }
        if self.problem.penalty.l2 == 0.0 && !self.problem.loss.is_smooth() {
            // The optimum of a linear programme of short numbers often is one of short numbers: as good is enough.
            let short: Vec<f64> = self.point(run).iter().map(|&w| shortened(w)).collect();
            self.offer_instead(run, &short, 0.0);
        }
        let point = self.point(run);
        let multipliers = self.multipliers.unwrap_or_else(|| vec![0.0; self.rows.len()]);
        (point, multipliers)
    }

    /// Offers a point that is welcome even if its objective is greater by so much.
    fn offer_instead<S: Scalar>(&mut self, run: &Run<'_, S>, theta: &[f64], more: f64) {
        let (best, most) = (self.primal, (self.primal + more).next_up());
        let scores = self.scores(theta);
        self.primal = most;
        self.offer(run, |i| scores[i], theta, 1.0, false);
        if self.primal == most {
            self.primal = best;
        }
    }

    /// Scores of the rows at a point.
    fn scores(&self, theta: &[f64]) -> Vec<f64> {
        let (design, layout) = (self.rows.design, self.problem.layout());
        let mut scores = vec![0.0; self.rows.len()];
        pass(design, &mut scores, 1, |range, scores, _: &mut ()| {
            f64::scores(design, range, layout, theta, scores);
        });
        scores
    }

    /// Offers the point times a factor, with the best intercept if that is free and asked for.
    fn offer<S: Scalar>(
        &mut self,
        run: &Run<'_, S>,
        score: impl Fn(usize) -> f64 + Sync,
        theta: &[f64],
        factor: f64,
        place: bool,
    ) {
        let mut theta: Vec<f64> = theta.iter().map(|w| factor * w).collect();
        let mut shift = 0.0;
        // For a loss without kinks that is done elsewhere.
        if place && self.problem.intercept == Intercept::Free && !self.problem.loss.is_smooth() {
            let features = run.layout.features;
            let old = theta[features];
            let entries = run.entries.iter().enumerate();
            theta[features] =
                best_intercept(entries.map(|(i, e)| (e.weight, kink(e.piece), factor * score(i) - old)));
            shift = theta[features] - old;
        }
        let rescored = (S::EXTENDED && place).then(|| self.scores(&theta));
        let loss = sum(run, |i, piece| {
            piece.value(match &rescored {
                Some(scores) => scores[i],
                None => factor * score(i) + shift,
            })
        });
        let objective = loss + self.problem.penalty_value(&theta);
        if objective < self.primal {
            (self.primal, self.point) = (objective, Some(theta));
        }
    }

    /// argmin over t of P(tθ): at a large C nothing else makes up for margins that fall short by 1e-9.
    fn best_factor<S: Scalar>(&self, run: &Run<'_, S>, scores: &[f64], theta: &[f64]) -> f64 {
        let (mut linear, mut square) = (0.0, 0.0);
        for (j, w) in theta.iter().enumerate() {
            let penalty = self.problem.penalty_of(j);
            linear += penalty.l1 * w.abs();
            square += penalty.l2 * w * w;
        }
        let slope = |t: f64| {
            let loss = sum(run, |i, piece| scores[i] * piece.slope(t * scores[i]));
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
    fn bound<S: Scalar>(&self, conjugate: f64, pull: &[S], theta: &[f64]) -> Bound {
        let mut shrink = 1.0f64;
        for (j, pull) in pull.iter().enumerate() {
            let (penalty, pull) = (self.problem.penalty_of(j), pull.value());
            if penalty.l2 == 0.0 && penalty.l1 > 0.0 && pull.abs() > penalty.l1 {
                shrink = shrink.min(penalty.l1 / pull.abs() * (1.0 - f64::EPSILON));
            }
        }
        let mut value = -shrink * conjugate;
        for (j, pull) in pull.iter().enumerate() {
            let (penalty, pull) = (self.problem.penalty_of(j), pull.value());
            if penalty.is_none() {
                value -= shrink * (pull * theta[j]).abs();
            } else if penalty.l2 > 0.0 {
                value -= penalty.conjugate(shrink * pull);
            }
        }
        Bound { value, shrink }
    }

    /// Offers the current slopes, made feasible. In double-double they are so but for a residual that counts for
    /// nothing, and what rounding them does is repaired where the claim is made.
    fn offer_dual<S: Scalar>(
        &mut self,
        run: &Run<'_, S>,
        sums: &Totals<S>,
        normal: Option<&Normal<S>>,
        theta: &[f64],
        rough: Bound,
    ) {
        // Slopes times weights: what X̃ᵀ is applied to. They are written out only where they are moved.
        let own = || run.entries.iter().map(|e| e.slope() * e.weight);
        let mut moved: Option<Vec<S>> = None;
        let mut bound = rough;
        let repaired = !S::EXTENDED;
        if repaired && self.problem.penalty.is_none() {
            let Some(normal) = normal else { return };
            let mut pulls: Vec<S> = own().collect();
            let mut sum = sums.pull.clone();
            let mut left = f64::INFINITY;
            for _ in 0..MOST_PROJECTIONS {
                let scaled: Vec<S> = sum.iter().zip(&run.scale).map(|(&p, &s)| p * s).collect();
                let size = scaled.iter().fold(0.0f64, |most, s| most.max(s.value().abs()));
                if size >= 0.5 * left {
                    break;
                }
                left = size;
                project(run, &run.unscaled(&normal.solve(&scaled)), &mut pulls);
                let conjugate = self.sums_of(run, &mut pulls, &mut sum);
                bound = self.bound(conjugate, &sum, theta);
            }
            moved = Some(pulls);
        } else if repaired && self.problem.intercept == Intercept::Free {
            let entries = &run.entries;
            let mut balanced: Vec<f64> = own().map(|pull| pull.value()).collect();
            balance(&mut balanced, |i| {
                let (c, piece) = (entries[i].weight, entries[i].piece);
                (c * piece.lo, c * piece.hi)
            });
            let mut pulls: Vec<S> = balanced.into_iter().map(S::from).collect();
            let mut sum = Vec::new();
            let conjugate = self.sums_of(run, &mut pulls, &mut sum);
            bound = self.bound(conjugate, &sum, theta);
            moved = Some(pulls);
        }
        if bound.value > self.dual {
            self.dual = bound.value;
            let multiplier = |pull: S| pull.value() * -bound.shrink;
            let mut multipliers = self.multipliers.take().unwrap_or_default();
            multipliers.clear();
            match moved {
                Some(pulls) => multipliers.extend(pulls.into_iter().map(multiplier)),
                None => multipliers.extend(own().map(multiplier)),
            }
            self.multipliers = Some(multipliers);
        }
    }

    /// X̃ᵀ(c·s), and Σ c·ℓ\*(s).
    fn sums_of<S: Scalar>(&self, run: &Run<'_, S>, pulls: &mut [S], total: &mut Vec<S>) -> f64 {
        let (design, layout, entries) = (self.rows.design, run.layout, &run.entries);
        type Sums<S> = (Vec<S>, S);
        let lanes = pass(
            design,
            pulls,
            layout.len(),
            |range, pulls, (sum, conjugate): &mut Sums<S>| {
                sum.resize(layout.len(), S::default());
                for (&pull, entry) in pulls.iter().zip(&entries[range.clone()]) {
                    let piece = entry.piece;
                    *conjugate += pull * piece.at;
                    if piece.bend > 0.0 && entry.weight > 0.0 {
                        *conjugate += pull * pull * (0.5 * piece.bend / entry.weight);
                    }
                }
                S::add_pulls(design, range, layout, pulls, sum);
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

/// Takes c·g·X̃·along from the slopes times weights, kept inside their intervals.
fn project<S: Scalar>(run: &Run<'_, S>, along: &[S], pulls: &mut [S]) {
    let (design, layout, entries) = (run.rows.design, run.layout, &run.entries);
    pass(design, pulls, 1, |range, pulls, _: &mut ()| {
        let mut each = vec![S::default(); pulls.len()];
        S::scores(design, range.clone(), layout, along, &mut each);
        for ((pull, entry), &z) in pulls.iter_mut().zip(&entries[range]).zip(&each) {
            let (c, piece) = (entry.weight, entry.piece);
            if c > 0.0 {
                let moved = (*pull - entry.curvature() * c * z).value();
                *pull = S::from(moved.clamp(c * piece.lo, c * piece.hi));
            }
        }
    });
}

/// The nearest number of eight bits less.
fn shortened(value: f64) -> f64 {
    let half = 1 << (SHORTER - 1);
    f64::from_bits(value.to_bits().wrapping_add(half) & !((1 << SHORTER) - 1))
}

/// A loss without a bend.
fn kink(piece: Piece) -> Kink {
    Kink {
        lo: piece.lo,
        hi: piece.hi,
        at: piece.at,
    }
}

/// Σ c·f over the rows, in fixed chunks.
fn sum<S: Scalar>(run: &Run<'_, S>, f: impl Fn(usize, Piece) -> f64 + Sync) -> f64 {
    let chunks: Vec<f64> = run
        .entries
        .par_chunks(CHUNK)
        .enumerate()
        .map(|(chunk, entries)| {
            let terms = entries.iter().zip(chunk * CHUNK..).map(|(e, i)| {
                if e.weight > 0.0 {
                    e.weight * f(i, e.piece)
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
    fn numbers_get_shorter_by_no_more_than_their_last_bits() {
        assert_eq!(shortened(0.9999999999999997), 1.0);
        assert_eq!(shortened(-2.5000000000000004), -2.5);
        assert_eq!(shortened(0.0), 0.0);
        for value in [std::f64::consts::PI, -1e-300, 7e300] {
            let off = (shortened(value) / value - 1.0).abs();
            assert!(off <= 128.0 * f64::EPSILON, "{value}: {off}");
        }
    }
}
