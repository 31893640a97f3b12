//! Sums over rows in memory, by all threads.
//!
//! The rows are divided into blocks, which fit into the cache, and the blocks into lanes, each with its own accumulators. Both
//! divisions are fixed by the design, so the sums do not depend on the number of threads.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use crate::loss::{LossName, Softmax, VectorLoss};
use crate::objective::cached_scores::{CachedScores, Scored, differentiate, scored};
use crate::objective::least_squares_at_zero::{AtZero, at_zero};
use crate::objective::products::{
    add_column_products, add_gram, add_squares, block_rows, blocks, both_triangles, lanes, scores, total,
};
use crate::objective::{LinePoint, Query, Rows, SumOverRows, Sums, Validation};
use wstar_data::any_too_large;
use wstar_data::error::{Error, Result};
use wstar_data::linear::Layout;
use wstar_numeric::dense::dot;

/// If more than one row in this many has no curvature, products with the Hessian skip those rows. Heuristic: skipped rows
/// against one dot product per remaining row; not measured yet.
const FLAT_SHARE: usize = 8;

/// Sums over rows in memory.
pub struct InMemory<'a> {
    rows: Rows<'a>,
    loss: LossName,
    layout: Layout,
    total_weight: f64,
    passes: u64,
    /// The point of the last query and its scores, so that a line or a product at the same point costs half as much.
    point: CachedScores,
    /// The direction of the last query and its scores.
    direction: CachedScores,
    validation: Validation,
    found_invalid: AtomicBool,
}

impl<'a> InMemory<'a> {
    /// Sums over rows that are as wide as the layout, or (if sparse) narrower.
    pub fn new(rows: Rows<'a>, loss: LossName, layout: Layout) -> Self {
        let total_weight = rows.total_weight();
        InMemory {
            rows,
            loss,
            layout,
            total_weight,
            passes: 0,
            point: CachedScores::default(),
            direction: CachedScores::default(),
            validation: Validation::Done,
            found_invalid: AtomicBool::new(false),
        }
    }

    /// The same sums, with this validation of the rows.
    pub fn validating(self, validation: Validation) -> Self {
        InMemory { validation, ..self }
    }

    /// Moves to a point whose scores are known.
    pub fn receive(&mut self, kept: CachedScores) {
        self.point = kept;
    }

    /// Takes the scores of a point out of the cache, if they are known.
    pub fn release(&mut self, at: &[f64]) -> Option<CachedScores> {
        (self.point.parameters == at).then(|| std::mem::take(&mut self.point))
    }

    /// Updates the cached scores by z += step·d if `to` lies on the line through the cached point along the cached direction,
    /// so that accepting a step of a line search reads no row.
    fn follow(point: &mut CachedScores, direction: &CachedScores, to: &[f64]) {
        /// Cap: each update rounds every score once; after this many the scores are computed from the rows again.
        const MOST_MOVES: u32 = 16;
        if point.parameters.len() != to.len()
            || direction.parameters.len() != to.len()
            || point.parameters == to
            || point.moved >= MOST_MOVES
        {
            return;
        }
        // The step is computed from the parameter with the largest relative change, where cancellation is least.
        let change = |j: usize| {
            let (from, by) = (point.parameters[j], direction.parameters[j]);
            by.abs() / (from.abs() + to[j].abs()).max(f64::MIN_POSITIVE)
        };
        let pivot = (0..to.len())
            .filter(|&j| direction.parameters[j] != 0.0)
            .max_by(|&a, &b| change(a).total_cmp(&change(b)));
        let Some(j) = pivot else {
            return;
        };
        let step = (to[j] - point.parameters[j]) / direction.parameters[j];
        let near = |k: usize| {
            let (from, by) = (point.parameters[k], step * direction.parameters[k]);
            // Derived: a sum of two rounded terms differs from `to` by a few roundings.
            (from + by - to[k]).abs() <= 4.0 * f64::EPSILON * (from.abs() + by.abs())
        };
        if !(0..to.len()).all(near) {
            return;
        }
        point
            .scores
            .par_iter_mut()
            .zip(&direction.scores)
            .for_each(|(z, d)| *z += step * d);
        point.parameters.copy_from_slice(to);
        point.curvatures.clear();
        point.moved += 1;
    }

    /// Prepares the cache for the scores of these parameters. Returns whether it already holds them.
    fn claim(&self, kept: &mut CachedScores, parameters: &[f64]) -> bool {
        if kept.parameters == parameters && kept.scores.len() == self.rows.len() * self.layout.outputs {
            return true;
        }
        kept.parameters = parameters.to_vec();
        kept.curvatures.clear();
        kept.scores.resize(self.rows.len() * self.layout.outputs, 0.0);
        let outputs = (0..self.layout.outputs).map(|k| self.layout.output(parameters, k));
        let (weights, intercepts): (Vec<&[f64]>, Vec<f64>) = outputs.unzip();
        // w = 0 is the start of most fits and the direction of an intercept: the scores are known without reading a row.
        let zero = weights.iter().all(|weights| weights.iter().all(|&w| w == 0.0));
        if zero {
            let rows = kept.scores.chunks_exact_mut(intercepts.len().max(1));
            rows.for_each(|scores| scores.copy_from_slice(&intercepts));
        }
        zero
    }

    /// Calls `add` for every block with its scores, its cached curvatures (empty if there are none) and the sums of its lane, and
    /// merges the lanes. `numbers` is the length of a lane's accumulator. Scores that are not `known` are computed block by
    /// block, while the block is in the cache.
    fn sum(
        &self,
        Scored { kept, known }: Scored<'_>,
        numbers: usize,
        add: impl Fn(Range<usize>, &[f64], &mut [f64], &mut Sums) + Sync,
    ) -> Sums {
        let outputs = self.layout.outputs;
        let (block, blocks) = blocks(self.rows.design, outputs);
        let lanes = lanes(self.rows.design, numbers, blocks);
        let (parameters, mut left) = (&kept.parameters, kept.scores.as_mut_slice());
        let mut left_curvatures = kept.curvatures.as_mut_slice();
        let segments: Vec<(usize, &mut [f64], &mut [f64])> = (0..lanes)
            .map(|lane| {
                let first = blocks * lane / lanes * block;
                let end = (blocks * (lane + 1) / lanes * block).min(self.rows.len());
                let (segment, rest) = std::mem::take(&mut left).split_at_mut((end - first) * outputs);
                left = rest;
                let count = (end - first).min(left_curvatures.len());
                let (curvatures, rest) = std::mem::take(&mut left_curvatures).split_at_mut(count);
                left_curvatures = rest;
                (first, segment, curvatures)
            })
            .collect();
        let mut sums: Vec<Sums> = segments
            .into_par_iter()
            .map(|(mut first, segment, mut curvatures)| {
                let mut sums = Sums::default();
                for out in segment.chunks_mut(block * outputs) {
                    let rows = first..first + out.len() / outputs;
                    first = rows.end;
                    if (self.validation == Validation::FirstPass)
                        && any_too_large(self.rows.design, rows.clone())
                    {
                        self.found_invalid.store(true, Ordering::Relaxed);
                    }
                    if !known {
                        scores(self.rows.design, rows.clone(), self.layout, parameters, out);
                    }
                    let count = rows.len().min(curvatures.len());
                    let (own, rest) = std::mem::take(&mut curvatures).split_at_mut(count);
                    curvatures = rest;
                    add(rows, out, own, &mut sums);
                }
                sums
            })
            .collect();
        let gradients: Vec<Vec<f64>> = sums
            .iter_mut()
            .map(|own| std::mem::take(&mut own.gradient))
            .collect();
        let mut all = Sums::default();
        sums.iter().for_each(|own| all.merge(own));
        all.gradient = total(&gradients);
        all
    }

    /// Overwrites the scores of rows by the gradient of the weighted loss with respect to them, writes the curvatures of a single
    /// output if wanted, and returns the loss.
    fn differentiate(&self, rows: Range<usize>, scores: &mut [f64], curvatures: Option<&mut [f64]>) -> f64 {
        let outputs = self.layout.outputs;
        if outputs == 1 {
            return differentiate(&self.rows, self.loss, rows, scores, curvatures);
        }
        let mut value = 0.0;
        for (scores, i) in scores.chunks_exact_mut(outputs).zip(rows) {
            let weight = self.rows.weights.get(i);
            value += weight * Softmax.value_and_gradient(self.rows.targets[i] as usize, scores);
            scores.iter_mut().for_each(|slope| *slope *= weight);
        }
        value
    }

    fn kept<'k>(&self, kept: &'k CachedScores, rows: &Range<usize>) -> &'k [f64] {
        &kept.scores[rows.start * self.layout.outputs..rows.end * self.layout.outputs]
    }

    /// Computes the curvatures at a point whose scores are known, unless they are cached.
    fn curve(&self, point: &mut CachedScores) {
        if self.layout.outputs > 1 || point.curvatures.len() == self.rows.len() {
            return;
        }
        let block = block_rows(self.rows.design, 1);
        point.curvatures.resize(self.rows.len(), 0.0);
        let blocks = point
            .curvatures
            .par_chunks_mut(block)
            .zip(point.scores.par_chunks(block));
        blocks.enumerate().for_each(|(at, (curvatures, scores))| {
            let rows = at * block..at * block + scores.len();
            self.differentiate(rows, &mut scores.to_vec(), Some(curvatures));
        });
    }

    fn gradient(&self, point: Scored<'_>) -> Sums {
        let layout = self.layout;
        if layout.outputs == 1 {
            // The curvatures cost little next to the slopes, and a product is likely to need them next.
            point.kept.curvatures.resize(self.rows.len(), 0.0);
        }
        self.sum(point, layout.len(), |rows, scores, curvatures, sums| {
            sums.gradient.resize(layout.len(), 0.0);
            let mut r = scores.to_vec();
            let curvatures = (layout.outputs == 1).then_some(curvatures);
            sums.value += self.differentiate(rows.clone(), &mut r, curvatures);
            add_column_products(self.rows.design, rows, layout, &r, &mut sums.gradient);
        })
    }

    /// Calls `h(k, l, ·)` for every pair of outputs k ≥ l with cᵢ pᵢₖ(δₖₗ − pᵢₗ) of the rows.
    fn curvatures(&self, rows: &Range<usize>, r: &[f64], mut h: impl FnMut(usize, usize, &[f64])) {
        let outputs = self.layout.outputs;
        let mut each = vec![0.0; rows.len()];
        // pₖ of a row is its gradient divided by its weight, plus 1 for the true class.
        let p = |i: usize, k: usize| {
            let weight = self.rows.weights.get(i);
            let own = f64::from(u8::from(self.rows.targets[i] as usize == k));
            if weight == 0.0 {
                0.0
            } else {
                r[(i - rows.start) * outputs + k] / weight + own
            }
        };
        for k in 0..outputs {
            for l in 0..=k {
                for (each, i) in each.iter_mut().zip(rows.clone()) {
                    let own = f64::from(u8::from(k == l));
                    *each = self.rows.weights.get(i) * p(i, k) * (own - p(i, l));
                }
                h(k, l, &each);
            }
        }
    }

    fn hessian(&self, point: Scored<'_>, diagonal_only: bool) -> Sums {
        let (layout, design) = (self.layout, self.rows.design);
        let (length, width) = (layout.len(), layout.width());
        let numbers = if diagonal_only { length } else { length * length };
        let mut sums = self.sum(point, numbers, |rows, scores, curvatures, sums| {
            sums.gradient.resize(length, 0.0);
            if diagonal_only && !curvatures.is_empty() {
                add_squares(design, rows, layout, curvatures, &mut sums.gradient);
                return;
            }
            let mut r = scores.to_vec();
            if layout.outputs == 1 {
                let mut h = vec![0.0; rows.len()];
                sums.value += self.differentiate(rows.clone(), &mut r, Some(&mut h));
                if diagonal_only {
                    add_squares(design, rows, layout, &h, &mut sums.gradient);
                } else {
                    sums.hessian.resize(length * length, 0.0);
                    add_gram(design, rows.clone(), layout, &h, &mut sums.hessian);
                    add_column_products(design, rows, layout, &r, &mut sums.gradient);
                }
                return;
            }
            sums.value += self.differentiate(rows.clone(), &mut r, None);
            if diagonal_only {
                self.curvatures(&rows, &r, |k, l, h| {
                    if k == l {
                        let sum = &mut sums.gradient[k * width..(k + 1) * width];
                        add_squares(design, rows.clone(), layout, h, sum);
                    }
                });
                return;
            }
            sums.hessian.resize(length * length, 0.0);
            // The Gram matrices of all pairs of outputs, one after another; `both_triangles` arranges them at the end.
            let mut pair = 0;
            self.curvatures(&rows, &r, |_, _, h| {
                let gram = &mut sums.hessian[pair * width * width..(pair + 1) * width * width];
                add_gram(design, rows.clone(), layout, h, gram);
                pair += 1;
            });
            add_column_products(design, rows, layout, &r, &mut sums.gradient);
        });
        if diagonal_only {
            // The value was not asked for, and it is not computed where the curvatures were cached.
            sums.value = 0.0;
        } else {
            sums.hessian = both_triangles(&sums.hessian, layout);
        }
        sums
    }

    fn product(&self, point: &CachedScores, direction: Scored<'_>) -> Sums {
        let layout = self.layout;
        self.sum(direction, layout.len(), |rows, along, _, sums| {
            sums.gradient.resize(layout.len(), 0.0);
            let mut r;
            if layout.outputs == 1 {
                let h = &point.curvatures[rows.clone()];
                r = h.iter().zip(along).map(|(h, z)| h * z).collect();
            } else {
                r = self.kept(point, &rows).to_vec();
                let mut out = vec![0.0; layout.outputs];
                for (at, i) in rows.clone().enumerate() {
                    let span = at * layout.outputs..(at + 1) * layout.outputs;
                    let class = self.rows.targets[i] as usize;
                    Softmax.value_and_gradient(class, &mut r[span.clone()]);
                    Softmax.curvature_times(class, &r[span.clone()], &along[span.clone()], &mut out);
                    let weight = self.rows.weights.get(i);
                    r[span]
                        .iter_mut()
                        .zip(&out)
                        .for_each(|(r, out)| *r = weight * out);
                }
            }
            add_column_products(self.rows.design, rows, layout, &r, &mut sums.gradient);
        })
    }

    /// [`InMemory::product`] where many rows have no curvature: those rows are not read.
    fn product_of_curved(&self, point: &mut CachedScores, along: &[f64]) -> Sums {
        let (layout, design) = (self.layout, self.rows.design);
        let (w, b) = layout.output(along, 0);
        let curvatures = std::mem::take(&mut point.curvatures);
        let sums = self.sum(scored(point, true), layout.len(), |rows, _, _, sums| {
            sums.gradient.resize(layout.len(), 0.0);
            let r: Vec<f64> = (rows.clone())
                .map(|i| match curvatures[i] {
                    0.0 => 0.0,
                    h => h * (design.row(i).dot(w) + b),
                })
                .collect();
            add_column_products(design, rows, layout, &r, &mut sums.gradient);
        });
        point.curvatures = curvatures;
        sums
    }

    fn line(&self, point: &CachedScores, direction: Scored<'_>, steps: &[f64]) -> Sums {
        let outputs = self.layout.outputs;
        self.sum(direction, 1, |rows, along, _, sums| {
            sums.line.resize(steps.len(), LinePoint::default());
            for (step, line) in steps.iter().zip(&mut sums.line) {
                let mut r = self.kept(point, &rows).to_vec();
                r.iter_mut().zip(along).for_each(|(z, d)| *z += step * d);
                if outputs == 1 {
                    let mut h = vec![0.0; rows.len()];
                    line.value += self.differentiate(rows.clone(), &mut r, Some(&mut h));
                    line.curvature += h.iter().zip(along).map(|(h, z)| h * z * z).sum::<f64>();
                } else {
                    let mut out = vec![0.0; outputs];
                    for (at, i) in rows.clone().enumerate() {
                        let span = at * outputs..(at + 1) * outputs;
                        let (class, weight) = (self.rows.targets[i] as usize, self.rows.weights.get(i));
                        let r = &mut r[span.clone()];
                        line.value += weight * Softmax.value_and_gradient(class, r);
                        Softmax.curvature_times(class, r, &along[span.clone()], &mut out);
                        line.curvature += weight * dot(&out, &along[span]);
                        r.iter_mut().for_each(|r| *r *= weight);
                    }
                }
                line.slope += dot(&r, along);
            }
        })
    }
}

impl SumOverRows for InMemory<'_> {
    fn layout(&self) -> Layout {
        self.layout
    }

    fn total_weight(&self) -> f64 {
        self.total_weight
    }

    fn passes(&self) -> u64 {
        self.passes
    }

    fn ask(&mut self, query: Query<'_>) -> Result<Sums> {
        let sums = self.answer(query);
        let validated = std::mem::replace(&mut self.validation, Validation::Done);
        if validated == Validation::FirstPass && self.found_invalid.load(Ordering::Relaxed) {
            return Err(Error::data("a number is too large or not a number"));
        }
        Ok(sums)
    }
}

impl InMemory<'_> {
    fn answer(&mut self, query: Query<'_>) -> Sums {
        if let Query::Hessian { at } = query
            && at.iter().all(|&w| w == 0.0)
            && let Some(AtZero { sums, maybe_invalid }) = at_zero(&self.rows, self.loss, self.layout)
        {
            self.passes += 1;
            let found = (self.validation == Validation::FirstPass)
                && maybe_invalid
                && any_too_large(self.rows.design, 0..self.rows.len());
            self.found_invalid.store(found, Ordering::Relaxed);
            return sums;
        }
        let (mut point, mut direction) = (
            std::mem::take(&mut self.point),
            std::mem::take(&mut self.direction),
        );
        let (at, along) = match query {
            Query::Gradient { at } | Query::Hessian { at } | Query::Diagonal { at } => (at, None),
            Query::Product { at, along } | Query::Line { at, along, .. } => (at, Some(along)),
        };
        Self::follow(&mut point, &direction, at);
        let mut known = self.claim(&mut point, at);
        let mut read = !known;
        if read {
            point.moved = 0;
        }
        if let Some(along) = along {
            if !known {
                self.sum(scored(&mut point, false), 1, |_, _, _, _| {});
            }
            if matches!(query, Query::Product { .. }) {
                self.curve(&mut point);
                let flat = point.curvatures.iter().filter(|h| **h == 0.0).count();
                if flat > self.rows.len() / FLAT_SHARE {
                    let sums = self.product_of_curved(&mut point, along);
                    (self.point, self.direction) = (point, direction);
                    self.passes += 1;
                    return sums;
                }
            }
            known = self.claim(&mut direction, along);
            read |= !known;
        }
        let sums = match query {
            Query::Gradient { .. } => self.gradient(scored(&mut point, known)),
            Query::Hessian { .. } => self.hessian(scored(&mut point, known), false),
            Query::Diagonal { .. } => self.hessian(scored(&mut point, known), true),
            Query::Product { .. } => self.product(&point, scored(&mut direction, known)),
            Query::Line { steps, .. } => self.line(&point, scored(&mut direction, known), steps),
        };
        (self.point, self.direction) = (point, direction);
        // A line whose scores are all cached reads no row.
        self.passes += u64::from(read || !matches!(query, Query::Line { .. }));
        sums
    }
}
