//! Sums over rows restricted to a subset of the columns, for solvers with working sets. The rows have one output and are stored
//! interleaved ([`Interleaved`]) for SIMD.
//!
//! Losses and gradients are computed in double precision from the stored values, which may have been rounded to single
//! precision. Products with the Hessian are computed in single precision. They only determine the directions of conjugate
//! gradients; the loss and the gradient at the new point do not inherit their error.

use rayon::prelude::*;

use crate::loss::LossName;
use crate::objective::cached_scores::{CachedScores, differentiate};
use crate::objective::products::total;
use crate::objective::{LinePoint, Query, Rows, SumOverRows, Sums};
use wstar_data::error::{Error, Result};
use wstar_data::linear::Layout;
use wstar_numeric::dense::dot;
use wstar_numeric::interleaved_rows::{Interleaved, MOST_ROWS};

/// The most lanes: ranges of blocks with their own accumulators, which are added in order. Cap: more threads than lanes stay
/// idle.
const MOST_LANES: usize = 16;

/// Sums over rows of a subset of the columns.
pub struct ColumnSubset<'a> {
    /// The targets and weights; the design is that of all columns and is not read.
    rows: Rows<'a>,
    blocks: Vec<Interleaved>,
    loss: LossName,
    layout: Layout,
    total_weight: f64,
    passes: u64,
    /// The point of the last query.
    point: CachedScores,
    /// The point before that.
    before: CachedScores,
    /// The direction of the last line query.
    direction: CachedScores,
    /// The curvatures at the point, rearranged for products, and the factor that they were scaled by.
    scaled_curvatures: Option<(Vec<Vec<[f32; 16]>>, f64)>,
}

impl<'a> ColumnSubset<'a> {
    /// Sums over `rows`, with the entries of the subset of columns given in blocks.
    pub fn new(rows: Rows<'a>, blocks: Vec<Interleaved>, loss: LossName, layout: Layout) -> Self {
        let total_weight = rows.total_weight();
        ColumnSubset {
            rows,
            blocks,
            loss,
            layout,
            total_weight,
            passes: 0,
            point: CachedScores::default(),
            before: CachedScores::default(),
            direction: CachedScores::default(),
            scaled_curvatures: None,
        }
    }

    /// Moves to a point whose scores are known.
    pub fn receive(&mut self, kept: CachedScores) {
        (self.point, self.scaled_curvatures) = (kept, None);
    }

    /// Takes the scores of a point out of the cache, if they are known.
    pub fn release(&mut self, at: &[f64]) -> Option<CachedScores> {
        self.go_back(at);
        (self.point.parameters == at).then(|| std::mem::take(&mut self.point))
    }

    /// Makes the previous point the current one, if it is `at`.
    fn go_back(&mut self, at: &[f64]) {
        if self.point.parameters != at && self.before.parameters == at {
            std::mem::swap(&mut self.point, &mut self.before);
            self.scaled_curvatures = None;
        }
    }

    /// The range of blocks of each lane.
    fn lanes(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let blocks = self.blocks.len();
        let lanes = blocks.clamp(1, MOST_LANES);
        (0..lanes).map(move |lane| blocks * lane / lanes..blocks * (lane + 1) / lanes)
    }

    /// Splits a slice of one number per row into the segments of the lanes.
    fn segments<'n>(&self, mut numbers: &'n mut [f64]) -> Vec<&'n mut [f64]> {
        let mut segments = Vec::new();
        for lane in self.lanes() {
            let size = (lane.len() * MOST_ROWS).min(numbers.len());
            let (segment, rest) = numbers.split_at_mut(size);
            segments.push(segment);
            numbers = rest;
        }
        segments
    }

    /// Computes the scores of all rows at `parameters`.
    fn score(&self, kept: &mut CachedScores, parameters: &[f64]) {
        kept.parameters = parameters.to_vec();
        kept.curvatures.clear();
        kept.moved = 0;
        kept.scores.resize(self.rows.len(), 0.0);
        let (w, b) = self.layout.output(parameters, 0);
        let blocks = self.blocks.par_iter().zip(kept.scores.par_chunks_mut(MOST_ROWS));
        blocks.for_each(|(block, out)| {
            block.scores(w, out);
            out.iter_mut().for_each(|score| *score += b);
        });
    }

    /// Computes the scores and the curvatures at a point, unless they are cached.
    fn compute(&mut self, at: &[f64]) {
        self.go_back(at);
        if self.point.parameters != at {
            let mut point = std::mem::take(&mut self.before);
            self.score(&mut point, at);
            self.before = std::mem::replace(&mut self.point, point);
            self.scaled_curvatures = None;
        }
        if self.point.curvatures.len() != self.rows.len() {
            let CachedScores {
                scores, curvatures, ..
            } = &mut self.point;
            curvatures.resize(scores.len(), 0.0);
            let blocks = scores
                .par_chunks(MOST_ROWS)
                .zip(curvatures.par_chunks_mut(MOST_ROWS));
            blocks.enumerate().for_each(|(block, (scores, curvatures))| {
                let rows = block * MOST_ROWS..block * MOST_ROWS + scores.len();
                differentiate(
                    &self.rows,
                    self.loss,
                    rows,
                    &mut scores.to_vec(),
                    Some(curvatures),
                );
            });
        }
    }

    /// The loss and its gradient. Scores that are not cached are computed block by block on the way.
    fn gradient(&mut self, at: &[f64]) -> Sums {
        self.go_back(at);
        let known = self.point.parameters == at;
        if !known {
            std::mem::swap(&mut self.point, &mut self.before);
            self.point.parameters = at.to_vec();
            self.point.moved = 0;
        }
        self.scaled_curvatures = None;
        let mut point = std::mem::take(&mut self.point);
        point.scores.resize(self.rows.len(), 0.0);
        point.curvatures.resize(self.rows.len(), 0.0);
        let (w, b) = self.layout.output(at, 0);
        let lanes: Vec<_> = self.lanes().zip(self.segments(&mut point.scores)).collect();
        let lanes: Vec<_> = lanes
            .into_iter()
            .zip(self.segments(&mut point.curvatures))
            .collect();
        let sums: Vec<(f64, Vec<f64>)> = lanes
            .into_par_iter()
            .map(|((lane, scores), curvatures)| {
                let (mut value, mut gradient) = (0.0, vec![0.0; self.layout.len()]);
                let mut r = [0.0; MOST_ROWS];
                let numbers = scores.chunks_mut(MOST_ROWS).zip(curvatures.chunks_mut(MOST_ROWS));
                for (at, (scores, curvatures)) in lane.zip(numbers) {
                    let block = &self.blocks[at];
                    if !known {
                        block.scores(w, scores);
                        scores.iter_mut().for_each(|score| *score += b);
                    }
                    let r = &mut r[..scores.len()];
                    r.copy_from_slice(scores);
                    let rows = at * MOST_ROWS..at * MOST_ROWS + scores.len();
                    value += differentiate(&self.rows, self.loss, rows, r, Some(curvatures));
                    block.add_rows(r, &mut gradient);
                    if let Some(intercept) = gradient.get_mut(self.layout.features) {
                        r.iter().for_each(|r| *intercept += r);
                    }
                }
                (value, gradient)
            })
            .collect();
        self.point = point;
        let (values, gradients): (Vec<f64>, Vec<Vec<f64>>) = sums.into_iter().unzip();
        Sums {
            value: values.iter().sum(),
            gradient: total(&gradients),
            ..Sums::default()
        }
    }

    fn diagonal(&mut self, at: &[f64]) -> Sums {
        self.compute(at);
        let lanes: Vec<_> = self.lanes().collect();
        let sums: Vec<Vec<f64>> = lanes
            .into_par_iter()
            .map(|lane| {
                let mut sum = vec![0.0; self.layout.len()];
                let first = (lane.start * MOST_ROWS).min(self.rows.len());
                let curvatures = self.point.curvatures[first..].chunks(MOST_ROWS);
                for (block, h) in self.blocks[lane].iter().zip(curvatures) {
                    block.add_squares(h, &mut sum);
                    if let Some(intercept) = sum.get_mut(self.layout.features) {
                        h.iter().for_each(|h| *intercept += h);
                    }
                }
                sum
            })
            .collect();
        Sums {
            gradient: total(&sums),
            ..Sums::default()
        }
    }

    fn product(&mut self, at: &[f64], along: &[f64]) -> Sums {
        self.compute(at);
        // Scaled to at most 1 in magnitude, so that no weights, C or steps overflow in single precision.
        let scale = |numbers: &[f64]| match numbers.iter().fold(0.0f64, |most, x| most.max(x.abs())) {
            most if most >= f64::MIN_POSITIVE => most.recip(),
            _ => 1.0,
        };
        let (scaled_curvatures, curvature_scale) = self.scaled_curvatures.take().unwrap_or_else(|| {
            let curvature_scale = scale(&self.point.curvatures);
            let blocks = self
                .blocks
                .par_iter()
                .zip(self.point.curvatures.par_chunks(MOST_ROWS));
            (
                blocks
                    .map(|(block, h)| block.arranged(h, curvature_scale))
                    .collect(),
                curvature_scale,
            )
        });
        let direction_scale = scale(along);
        let single: Vec<f32> = along.iter().map(|&x| (x * direction_scale) as f32).collect();
        let features = self.layout.features;
        let b = single.get(features).copied().unwrap_or(0.0);
        let lanes: Vec<_> = self.lanes().collect();
        let sums: Vec<Vec<f32>> = lanes
            .into_par_iter()
            .map(|lane| {
                let (mut sum, mut all) = (vec![0.0; self.layout.len()], 0.0);
                for (block, h) in self.blocks[lane.clone()].iter().zip(&scaled_curvatures[lane]) {
                    all += block.add_product(h, &single, b, &mut sum);
                }
                if let Some(intercept) = sum.get_mut(features) {
                    *intercept = all as f32;
                }
                sum
            })
            .collect();
        let mut gradient = vec![0.0; self.layout.len()];
        for sum in &sums {
            gradient
                .iter_mut()
                .zip(sum)
                .for_each(|(to, &from)| *to += f64::from(from));
        }
        // Two divisions, because the product of the two factors may overflow.
        gradient
            .iter_mut()
            .for_each(|g| *g = *g / curvature_scale / direction_scale);
        self.scaled_curvatures = Some((scaled_curvatures, curvature_scale));
        Sums {
            gradient,
            ..Sums::default()
        }
    }

    fn line(&mut self, at: &[f64], along: &[f64], steps: &[f64]) -> Sums {
        self.compute(at);
        if self.direction.parameters != along {
            let mut direction = std::mem::take(&mut self.direction);
            self.score(&mut direction, along);
            self.direction = direction;
        }
        let blocks = self
            .point
            .scores
            .par_chunks(MOST_ROWS)
            .zip(self.direction.scores.par_chunks(MOST_ROWS));
        let points: Vec<Vec<LinePoint>> = blocks
            .enumerate()
            .map(|(block, (scores, along))| {
                let rows = block * MOST_ROWS..block * MOST_ROWS + scores.len();
                let (mut r, mut h) = ([0.0; MOST_ROWS], [0.0; MOST_ROWS]);
                let (r, h) = (&mut r[..rows.len()], &mut h[..rows.len()]);
                let point = |step: &f64| {
                    r.iter_mut()
                        .zip(scores)
                        .zip(along)
                        .for_each(|((to, z), d)| *to = z + step * d);
                    let value = differentiate(&self.rows, self.loss, rows.clone(), r, Some(h));
                    let curvature = h.iter().zip(along).map(|(h, d)| h * d * d).sum();
                    LinePoint {
                        value,
                        slope: dot(r, along),
                        curvature,
                    }
                };
                steps.iter().map(point).collect()
            })
            .collect();
        let mut sums = Sums::default();
        for line in points {
            sums.merge(&Sums {
                line,
                ..Sums::default()
            });
        }
        sums
    }
}

impl SumOverRows for ColumnSubset<'_> {
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
        self.passes += 1;
        Ok(match query {
            Query::Gradient { at } => self.gradient(at),
            Query::Diagonal { at } => self.diagonal(at),
            Query::Product { at, along } => self.product(at, along),
            Query::Line { at, along, steps } => self.line(at, along, steps),
            Query::Hessian { .. } => return Err(Error::settings("interleaved rows have no full Hessian")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objective::{InMemory, Weights};
    use wstar_data::{Csr, Design};

    #[test]
    fn answers_agree_with_those_over_all_columns() {
        let (count, features) = (2000, 12);
        let number = |k: usize| {
            let mixed = (k as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            mixed as f64 / f64::from(1 << 24) - 0.5
        };
        let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for i in 0..count {
            for j in (0..features).filter(|j| number(i * features + j) > 0.1) {
                indices.push(j as u32);
                values.push(3.0 * number(i * features + j) + number(i));
            }
            starts.push(indices.len());
        }
        let design = Design::Sparse64(Csr::new(starts, indices, values, features).unwrap());
        let targets: Vec<f64> = (0..count).map(|i| number(7 * i).signum()).collect();
        let weights: Vec<f64> = (0..count).map(|i| 1e3 * (number(3 * i) + 0.5)).collect();
        let columns: Vec<usize> = (0..features).collect();
        let cases = [(LossName::Logistic, true), (LossName::SquaredHinge, false)];
        for (loss, intercept) in cases {
            let rows = Rows {
                design: &design,
                targets: targets.as_slice().into(),
                weights: Weights::Each(weights.as_slice().into()),
            };
            let layout = Layout {
                outputs: 1,
                features,
                intercept,
            };
            let blocks = design.interleaved(&columns, true).unwrap();
            let mut few = ColumnSubset::new(rows.borrowed(), blocks, loss, layout);
            let mut local = InMemory::new(rows.borrowed(), loss, layout);
            let point = |k: usize| -> Vec<f64> { (0..layout.len()).map(|j| number(k + j)).collect() };
            let (at, other, along) = (point(5), point(50), point(90));
            let (at, along, steps) = (&at[..], &along[..], &[0.0, 0.3, 1.0][..]);
            let same = |a: &[f64], b: &[f64], tol: f64| {
                let size = b.iter().fold(0.0f64, |most, b| most.max(b.abs()));
                assert_eq!(a.len(), b.len());
                a.iter()
                    .zip(b)
                    .for_each(|(a, b)| assert!((a - b).abs() <= tol * size, "{a}, not {b}"));
            };
            let queries = [
                (Query::Gradient { at }, 1e-13),
                (Query::Product { at, along }, 1e-5),
                (Query::Gradient { at: &other }, 1e-13),
                (Query::Line { at, along, steps }, 1e-13),
                (Query::Diagonal { at }, 1e-13),
                (Query::Product { at: &other, along }, 1e-5),
                (Query::Product { at, along }, 1e-5),
            ];
            for (query, tol) in queries {
                let (found, known) = (few.ask(query).unwrap(), local.ask(query).unwrap());
                same(&[found.value], &[known.value], tol);
                same(&found.gradient, &known.gradient, tol);
                let numbers = |sums: &Sums| -> Vec<f64> {
                    sums.line
                        .iter()
                        .flat_map(|p| [p.value, p.slope, p.curvature])
                        .collect()
                };
                same(&numbers(&found), &numbers(&known), tol);
            }
            assert!(few.ask(Query::Hessian { at }).is_err());
            assert!(few.release(&other).is_some() && few.release(along).is_none());
        }
    }
}
