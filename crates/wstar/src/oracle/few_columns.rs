//! Rows of a few columns that lie side by side ([`Interleaved`]), with one score each: what a solver asks again and again of
//! the columns that matter.
//!
//! Losses and gradients are of the values as they are, or as they were rounded. Products with the Hessian are in single precision: they tell
//! conjugate gradients where to go, and the next gradient tells where that was.

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::kernel::dense::dot;
use crate::kernel::interleaved::{Interleaved, MOST_ROWS};
use crate::loss::LossName;
use crate::oracle::kept::{Kept, differentiate};
use crate::oracle::products::total;
use crate::oracle::{Layout, LinePoint, Oracle, Query, Rows, Sums};

/// Lanes at most: each sums a run of blocks, and all lanes are then added in order.
const MOST_LANES: usize = 16;

/// Rows of a few columns.
pub(crate) struct FewColumns<'a> {
    /// Whose targets and weights count; the design has all columns.
    rows: Rows<'a>,
    blocks: Vec<Interleaved>,
    loss: LossName,
    layout: Layout,
    total_weight: f64,
    passes: u64,
    /// The last point asked about, the one before it, and the last direction.
    point: Kept,
    before: Kept,
    direction: Kept,
    /// The curvatures at the point, as products take them, and what they were multiplied by.
    curved: Option<(Vec<Vec<[f32; 16]>>, f64)>,
}

impl<'a> FewColumns<'a> {
    /// Over rows whose few columns are given in blocks.
    pub(crate) fn new(rows: Rows<'a>, blocks: Vec<Interleaved>, loss: LossName, layout: Layout) -> Self {
        let total_weight = rows.total_weight();
        FewColumns {
            rows,
            blocks,
            loss,
            layout,
            total_weight,
            passes: 0,
            point: Kept::default(),
            before: Kept::default(),
            direction: Kept::default(),
            curved: None,
        }
    }

    /// Goes to a point whose scores are known.
    pub(crate) fn receive(&mut self, kept: Kept) {
        (self.point, self.curved) = (kept, None);
    }

    /// The scores of a point, if they are known.
    pub(crate) fn release(&mut self, at: &[f64]) -> Option<Kept> {
        self.go_back(at);
        (self.point.parameters == at).then(|| std::mem::take(&mut self.point))
    }

    fn go_back(&mut self, at: &[f64]) {
        if self.point.parameters != at && self.before.parameters == at {
            std::mem::swap(&mut self.point, &mut self.before);
            self.curved = None;
        }
    }

    /// How many lanes there are, and the blocks of each.
    fn lanes(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let blocks = self.blocks.len();
        let lanes = blocks.clamp(1, MOST_LANES);
        (0..lanes).map(move |lane| blocks * lane / lanes..blocks * (lane + 1) / lanes)
    }

    /// The shares that lanes have in numbers of all rows.
    fn shares<'n>(&self, mut numbers: &'n mut [f64]) -> Vec<&'n mut [f64]> {
        let mut shares = Vec::new();
        for lane in self.lanes() {
            let size = (lane.len() * MOST_ROWS).min(numbers.len());
            let (share, rest) = numbers.split_at_mut(size);
            shares.push(share);
            numbers = rest;
        }
        shares
    }

    /// The scores of parameters.
    fn score(&self, kept: &mut Kept, parameters: &[f64]) {
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

    fn know(&mut self, at: &[f64]) {
        self.go_back(at);
        if self.point.parameters != at {
            let mut point = std::mem::take(&mut self.before);
            self.score(&mut point, at);
            self.before = std::mem::replace(&mut self.point, point);
            self.curved = None;
        }
        if self.point.curvatures.len() != self.rows.len() {
            let Kept {
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

    /// The loss and its gradient; what is not known of the scores is computed on the way.
    fn gradient(&mut self, at: &[f64]) -> Sums {
        self.go_back(at);
        let known = self.point.parameters == at;
        if !known {
            std::mem::swap(&mut self.point, &mut self.before);
            self.point.parameters = at.to_vec();
            self.point.moved = 0;
        }
        self.curved = None;
        let mut point = std::mem::take(&mut self.point);
        point.scores.resize(self.rows.len(), 0.0);
        point.curvatures.resize(self.rows.len(), 0.0);
        let (w, b) = self.layout.output(at, 0);
        let lanes: Vec<_> = self.lanes().zip(self.shares(&mut point.scores)).collect();
        let lanes: Vec<_> = lanes
            .into_iter()
            .zip(self.shares(&mut point.curvatures))
            .collect();
        let sums: Vec<(f64, Vec<f64>)> = lanes
            .into_par_iter()
            .map(|((lane, scores), curvatures)| {
                let (mut value, mut gradient) = (0.0, vec![0.0; self.layout.len()]);
                let mut pulls = [0.0; MOST_ROWS];
                let numbers = scores.chunks_mut(MOST_ROWS).zip(curvatures.chunks_mut(MOST_ROWS));
                for (at, (scores, curvatures)) in lane.zip(numbers) {
                    let block = &self.blocks[at];
                    if !known {
                        block.scores(w, scores);
                        scores.iter_mut().for_each(|score| *score += b);
                    }
                    let pulls = &mut pulls[..scores.len()];
                    pulls.copy_from_slice(scores);
                    let rows = at * MOST_ROWS..at * MOST_ROWS + scores.len();
                    value += differentiate(&self.rows, self.loss, rows, pulls, Some(curvatures));
                    block.add_rows(pulls, &mut gradient);
                    if let Some(intercept) = gradient.get_mut(self.layout.features) {
                        pulls.iter().for_each(|pull| *intercept += pull);
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
        self.know(at);
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
        self.know(at);
        // No larger than 1: weights, C and steps may be of any size.
        let scale = |numbers: &[f64]| match numbers.iter().fold(0.0f64, |most, x| most.max(x.abs())) {
            most if most >= f64::MIN_POSITIVE => most.recip(),
            _ => 1.0,
        };
        let (curved, times) = self.curved.take().unwrap_or_else(|| {
            let times = scale(&self.point.curvatures);
            let blocks = self
                .blocks
                .par_iter()
                .zip(self.point.curvatures.par_chunks(MOST_ROWS));
            (blocks.map(|(block, h)| block.arranged(h, times)).collect(), times)
        });
        let long = scale(along);
        let single: Vec<f32> = along.iter().map(|&x| (x * long) as f32).collect();
        let features = self.layout.features;
        let b = single.get(features).copied().unwrap_or(0.0);
        let lanes: Vec<_> = self.lanes().collect();
        let sums: Vec<Vec<f32>> = lanes
            .into_par_iter()
            .map(|lane| {
                let (mut sum, mut all) = (vec![0.0; self.layout.len()], 0.0);
                for (block, h) in self.blocks[lane.clone()].iter().zip(&curved[lane]) {
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
        // One after the other: their product may be beyond all numbers.
        gradient.iter_mut().for_each(|g| *g = *g / times / long);
        self.curved = Some((curved, times));
        Sums {
            gradient,
            ..Sums::default()
        }
    }

    fn line(&mut self, at: &[f64], along: &[f64], steps: &[f64]) -> Sums {
        self.know(at);
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
                let (mut pulls, mut h) = ([0.0; MOST_ROWS], [0.0; MOST_ROWS]);
                let (pulls, h) = (&mut pulls[..rows.len()], &mut h[..rows.len()]);
                let point = |step: &f64| {
                    pulls
                        .iter_mut()
                        .zip(scores)
                        .zip(along)
                        .for_each(|((to, z), d)| *to = z + step * d);
                    let value = differentiate(&self.rows, self.loss, rows.clone(), pulls, Some(h));
                    let curvature = h.iter().zip(along).map(|(h, d)| h * d * d).sum();
                    LinePoint {
                        value,
                        slope: dot(pulls, along),
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

impl Oracle for FewColumns<'_> {
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
            Query::Hessian { .. } => return Err(Error::settings("rows side by side have no whole Hessian")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Csr, Design};
    use crate::oracle::{Local, Weights};

    #[test]
    fn answers_are_those_of_whole_rows() {
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
            let mut few = FewColumns::new(rows.borrowed(), blocks, loss, layout);
            let mut local = Local::new(rows.borrowed(), loss, layout);
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
