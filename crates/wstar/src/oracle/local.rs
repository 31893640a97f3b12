//! Rows in memory, passed over by all threads: in fixed blocks and lanes, so that the sums do not depend
//! on how many threads there are.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use crate::data::{Design, any_too_large};
use crate::error::{Error, Result};
use crate::loss::{LossName, Softmax, VectorLoss};
use crate::oracle::kept::{Kept, differentiate};
use crate::oracle::moments::{AtZero, at_zero};
use crate::oracle::products::{
    add_gram, add_pulls, add_squares, block_rows, both_triangles, lanes_for, scores, total,
};
use crate::oracle::{Layout, LinePoint, Oracle, Query, Rows, Sums};

/// Lanes at most: each sums a run of blocks, and all lanes are then added in order.
const MOST_LANES: usize = 32;
/// Numbers that all lanes together may keep.
const MOST_LANE_NUMBERS: usize = 1 << 21;

/// One row in so many without curvature makes it worth while to pass them by.
const FLAT_SHARE: usize = 8;

/// How many rows make a block, and how many blocks there are.
pub(super) fn blocks(design: &Design, outputs: usize) -> (usize, usize) {
    let block = block_rows(design, outputs);
    (block, design.rows().div_ceil(block))
}

/// Lanes for so many blocks, each with so many sums.
pub(super) fn lanes(design: &Design, numbers: usize, blocks: usize) -> usize {
    (MOST_LANE_NUMBERS / numbers.max(1))
        .clamp(2, lanes_for(design, numbers, MOST_LANES))
        .min(blocks.max(1))
}

/// Rows in memory.
pub struct Local<'a> {
    rows: Rows<'a>,
    loss: LossName,
    layout: Layout,
    total_weight: f64,
    passes: u64,
    /// The last point asked about and its scores, so that a line or a product there costs half.
    point: Kept,
    /// The last direction and its scores.
    direction: Kept,
    /// Whether nobody has looked for numbers that are too large or none: the first pass then does, on its way.
    unseen: bool,
    found: AtomicBool,
}

/// Scores, and whether they are those of their parameters yet.
struct Scored<'k> {
    kept: &'k mut Kept,
    known: bool,
}

impl<'a> Local<'a> {
    /// Over rows that are as wide as the layout, or (if sparse) narrower.
    pub fn new(rows: Rows<'a>, loss: LossName, layout: Layout) -> Self {
        let total_weight = rows.total_weight();
        Local {
            rows,
            loss,
            layout,
            total_weight,
            passes: 0,
            point: Kept::default(),
            direction: Kept::default(),
            unseen: false,
            found: AtomicBool::new(false),
        }
    }

    /// The same over rows that nobody has looked at: the first question is refused if they hold what no sum of squares can.
    pub(crate) fn unseen(self) -> Self {
        Local { unseen: true, ..self }
    }

    /// Goes to a point whose scores are known.
    pub(crate) fn receive(&mut self, kept: Kept) {
        self.point = kept;
    }

    /// The scores of a point, if they are known.
    pub(crate) fn release(&mut self, at: &[f64]) -> Option<Kept> {
        (self.point.parameters == at).then(|| std::mem::take(&mut self.point))
    }

    /// Moves the kept scores along the kept direction, if that leads to these parameters: a step of a line
    /// search then reads no row to know where it is.
    fn follow(point: &mut Kept, direction: &Kept, to: &[f64]) {
        /// Each move rounds every score once; after so many they are computed afresh.
        const MOST_MOVES: u32 = 16;
        if point.parameters.len() != to.len()
            || direction.parameters.len() != to.len()
            || point.parameters == to
            || point.moved >= MOST_MOVES
        {
            return;
        }
        // The step is told best by a parameter that it changes much: where it is a small part, digits are lost.
        let share = |j: usize| {
            let (from, by) = (point.parameters[j], direction.parameters[j]);
            by.abs() / (from.abs() + to[j].abs()).max(f64::MIN_POSITIVE)
        };
        let told = (0..to.len())
            .filter(|&j| direction.parameters[j] != 0.0)
            .max_by(|&a, &b| share(a).total_cmp(&share(b)));
        let Some(j) = told else {
            return;
        };
        let step = (to[j] - point.parameters[j]) / direction.parameters[j];
        let near = |k: usize| {
            let (from, by) = (point.parameters[k], step * direction.parameters[k]);
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

    /// Makes room for the scores of these parameters; tells whether they are there already.
    fn claim(&self, kept: &mut Kept, parameters: &[f64]) -> bool {
        if kept.parameters == parameters && kept.scores.len() == self.rows.len() * self.layout.outputs {
            return true;
        }
        kept.parameters = parameters.to_vec();
        kept.curvatures.clear();
        kept.scores.resize(self.rows.len() * self.layout.outputs, 0.0);
        let outputs = (0..self.layout.outputs).map(|k| self.layout.output(parameters, k));
        let (weights, intercepts): (Vec<&[f64]>, Vec<f64>) = outputs.unzip();
        // The start of most fits, and the direction of an intercept: no row has to be read.
        let blank = weights.iter().all(|weights| weights.iter().all(|&w| w == 0.0));
        if blank {
            let rows = kept.scores.chunks_exact_mut(intercepts.len().max(1));
            rows.for_each(|scores| scores.copy_from_slice(&intercepts));
        }
        blank
    }

    /// Sums what `add` makes of every block, its scores and its curvatures if there is room for them, with room for
    /// `numbers` sums in each lane. Scores that are not `known` are computed on the way, while the block is in the cache.
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
        let mut curved = kept.curvatures.as_mut_slice();
        let shares: Vec<(usize, &mut [f64], &mut [f64])> = (0..lanes)
            .map(|lane| {
                let first = blocks * lane / lanes * block;
                let end = (blocks * (lane + 1) / lanes * block).min(self.rows.len());
                let (share, rest) = std::mem::take(&mut left).split_at_mut((end - first) * outputs);
                left = rest;
                let room = (end - first).min(curved.len());
                let (curvatures, rest) = std::mem::take(&mut curved).split_at_mut(room);
                curved = rest;
                (first, share, curvatures)
            })
            .collect();
        let mut sums: Vec<Sums> = shares
            .into_par_iter()
            .map(|(mut first, share, mut curvatures)| {
                let mut sums = Sums::default();
                for out in share.chunks_mut(block * outputs) {
                    let rows = first..first + out.len() / outputs;
                    first = rows.end;
                    if self.unseen && any_too_large(self.rows.design, rows.clone()) {
                        self.found.store(true, Ordering::Relaxed);
                    }
                    if !known {
                        scores(self.rows.design, rows.clone(), self.layout, parameters, out);
                    }
                    let room = rows.len().min(curvatures.len());
                    let (own, rest) = std::mem::take(&mut curvatures).split_at_mut(room);
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

    /// Turns the scores of rows into the loss's gradient by them, and its curvature for a single output;
    /// gives the loss.
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

    fn kept<'k>(&self, kept: &'k Kept, rows: &Range<usize>) -> &'k [f64] {
        &kept.scores[rows.start * self.layout.outputs..rows.end * self.layout.outputs]
    }

    /// The curvatures at a point whose scores are known, if they are not known too.
    fn curve(&self, point: &mut Kept) {
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
            // They come with the slopes, and a product is likely to ask for them next.
            point.kept.curvatures.resize(self.rows.len(), 0.0);
        }
        self.sum(point, layout.len(), |rows, scores, curvatures, sums| {
            sums.gradient.resize(layout.len(), 0.0);
            let mut pulls = scores.to_vec();
            let curvatures = (layout.outputs == 1).then_some(curvatures);
            sums.value += self.differentiate(rows.clone(), &mut pulls, curvatures);
            add_pulls(self.rows.design, rows, layout, &pulls, &mut sums.gradient);
        })
    }

    /// Curvatures of each row for every pair of outputs k ≥ l: `h(k, l)` is called with each pair's.
    fn curvatures(&self, rows: &Range<usize>, pulls: &[f64], mut h: impl FnMut(usize, usize, &[f64])) {
        let outputs = self.layout.outputs;
        let mut each = vec![0.0; rows.len()];
        // A row's share of class k is its pull over its weight, plus 1 for the true class.
        let share = |i: usize, k: usize| {
            let weight = self.rows.weights.get(i);
            let own = f64::from(u8::from(self.rows.targets[i] as usize == k));
            if weight == 0.0 {
                0.0
            } else {
                pulls[(i - rows.start) * outputs + k] / weight + own
            }
        };
        for k in 0..outputs {
            for l in 0..=k {
                for (each, i) in each.iter_mut().zip(rows.clone()) {
                    let own = f64::from(u8::from(k == l));
                    *each = self.rows.weights.get(i) * share(i, k) * (own - share(i, l));
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
            let mut pulls = scores.to_vec();
            if layout.outputs == 1 {
                let mut h = vec![0.0; rows.len()];
                sums.value += self.differentiate(rows.clone(), &mut pulls, Some(&mut h));
                if diagonal_only {
                    add_squares(design, rows, layout, &h, &mut sums.gradient);
                } else {
                    sums.hessian.resize(length * length, 0.0);
                    add_gram(design, rows.clone(), layout, &h, &mut sums.hessian);
                    add_pulls(design, rows, layout, &pulls, &mut sums.gradient);
                }
                return;
            }
            sums.value += self.differentiate(rows.clone(), &mut pulls, None);
            if diagonal_only {
                self.curvatures(&rows, &pulls, |k, l, h| {
                    if k == l {
                        let sum = &mut sums.gradient[k * width..(k + 1) * width];
                        add_squares(design, rows.clone(), layout, h, sum);
                    }
                });
                return;
            }
            sums.hessian.resize(length * length, 0.0);
            // The Gram matrix of each pair of outputs, one after another; they are put in place at the end.
            let mut pair = 0;
            self.curvatures(&rows, &pulls, |_, _, h| {
                let gram = &mut sums.hessian[pair * width * width..(pair + 1) * width * width];
                add_gram(design, rows.clone(), layout, h, gram);
                pair += 1;
            });
            add_pulls(design, rows, layout, &pulls, &mut sums.gradient);
        });
        if diagonal_only {
            // Nobody asked for it, and where the curvatures were known it is not.
            sums.value = 0.0;
        } else {
            sums.hessian = both_triangles(&sums.hessian, layout);
        }
        sums
    }

    fn product(&self, point: &Kept, direction: Scored<'_>) -> Sums {
        let layout = self.layout;
        self.sum(direction, layout.len(), |rows, along, _, sums| {
            sums.gradient.resize(layout.len(), 0.0);
            let mut pulls;
            if layout.outputs == 1 {
                let h = &point.curvatures[rows.clone()];
                pulls = h.iter().zip(along).map(|(h, z)| h * z).collect();
            } else {
                pulls = self.kept(point, &rows).to_vec();
                let mut out = vec![0.0; layout.outputs];
                for (at, i) in rows.clone().enumerate() {
                    let span = at * layout.outputs..(at + 1) * layout.outputs;
                    let class = self.rows.targets[i] as usize;
                    Softmax.value_and_gradient(class, &mut pulls[span.clone()]);
                    Softmax.curvature_times(class, &pulls[span.clone()], &along[span.clone()], &mut out);
                    let weight = self.rows.weights.get(i);
                    pulls[span]
                        .iter_mut()
                        .zip(&out)
                        .for_each(|(pull, out)| *pull = weight * out);
                }
            }
            add_pulls(self.rows.design, rows, layout, &pulls, &mut sums.gradient);
        })
    }

    /// The same where many rows are not curved: those are not read.
    fn product_of_curved(&self, point: &mut Kept, along: &[f64]) -> Sums {
        let (layout, design) = (self.layout, self.rows.design);
        let (w, b) = layout.output(along, 0);
        let curvatures = std::mem::take(&mut point.curvatures);
        let sums = self.sum(scored(point, true), layout.len(), |rows, _, _, sums| {
            sums.gradient.resize(layout.len(), 0.0);
            let pulls: Vec<f64> = (rows.clone())
                .map(|i| match curvatures[i] {
                    0.0 => 0.0,
                    h => h * (design.row(i).dot(w) + b),
                })
                .collect();
            add_pulls(design, rows, layout, &pulls, &mut sums.gradient);
        });
        point.curvatures = curvatures;
        sums
    }

    fn line(&self, point: &Kept, direction: Scored<'_>, steps: &[f64]) -> Sums {
        let outputs = self.layout.outputs;
        self.sum(direction, 1, |rows, along, _, sums| {
            sums.line.resize(steps.len(), LinePoint::default());
            for (step, line) in steps.iter().zip(&mut sums.line) {
                let mut pulls = self.kept(point, &rows).to_vec();
                pulls.iter_mut().zip(along).for_each(|(z, d)| *z += step * d);
                if outputs == 1 {
                    let mut h = vec![0.0; rows.len()];
                    line.value += self.differentiate(rows.clone(), &mut pulls, Some(&mut h));
                    line.curvature += h.iter().zip(along).map(|(h, z)| h * z * z).sum::<f64>();
                } else {
                    let mut out = vec![0.0; outputs];
                    for (at, i) in rows.clone().enumerate() {
                        let span = at * outputs..(at + 1) * outputs;
                        let (class, weight) = (self.rows.targets[i] as usize, self.rows.weights.get(i));
                        let pulls = &mut pulls[span.clone()];
                        line.value += weight * Softmax.value_and_gradient(class, pulls);
                        Softmax.curvature_times(class, pulls, &along[span.clone()], &mut out);
                        line.curvature += weight * dot(&out, &along[span]);
                        pulls.iter_mut().for_each(|pull| *pull *= weight);
                    }
                }
                line.slope += dot(&pulls, along);
            }
        })
    }
}

impl Oracle for Local<'_> {
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
        if std::mem::take(&mut self.unseen) && self.found.load(Ordering::Relaxed) {
            return Err(Error::data("a number is too large, or is none"));
        }
        Ok(sums)
    }
}

impl Local<'_> {
    fn answer(&mut self, query: Query<'_>) -> Sums {
        if let Query::Hessian { at } = query
            && at.iter().all(|&w| w == 0.0)
            && let Some(AtZero { sums, suspect }) = at_zero(&self.rows, self.loss, self.layout)
        {
            self.passes += 1;
            let found = self.unseen && suspect && any_too_large(self.rows.design, 0..self.rows.len());
            self.found.store(found, Ordering::Relaxed);
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
        // A line on scores that are known reads no row.
        self.passes += u64::from(read || !matches!(query, Query::Line { .. }));
        sums
    }
}

fn scored(kept: &mut Kept, known: bool) -> Scored<'_> {
    Scored { kept, known }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    crate::kernel::dense::dot(a, b)
}
