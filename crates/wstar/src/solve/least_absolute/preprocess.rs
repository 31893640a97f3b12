//! Leaving rows out that cannot matter (S. Portnoy and R. Koenker, The Gaussian hare and the Laplacian
//! tortoise, Statistical Science 12, 1997).
//!
//! An optimum of a sample is near that of all rows, so most rows are on the same side of both: their slopes are
//! known, and all that remains of them is the sum of their pulls. Only the band of rows near the sample's plane,
//! about (pn)^(2/3) of them, is left to be solved; one pass over the others then tells whether all are
//! on the side that was assumed, and those that are not join the band.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::data::{Csr, Dense, Design, Row};
use crate::error::Result;
use crate::kernel::double_double::{DoubleDouble, add_products};
use crate::oracle::products::{add_gram, scores};
use crate::oracle::{Layout, Rows, Weights};
use crate::solve::interior_point::column_scales;
use crate::solve::lanes::pass;

/// Rows that one task passes over.
const CHUNK: usize = 1 << 11;
/// Rows within this share of the mean residual are tied or nearly so: all of them belong to the band.
pub(super) const TIED: f64 = 1e-4;

/// The rows as the method sees them: columns of about size 1, an intercept as a column of ones.
pub(in crate::solve) struct Frame<'a> {
    pub(super) rows: &'a Rows<'a>,
    pub(super) layout: Layout,
    /// The same number of parameters, all of them weights.
    pub(super) inner: Layout,
    /// What each column is multiplied by: powers of two.
    pub(super) scale: Vec<f64>,
    pub(super) slopes: (f64, f64),
    /// Rows with a weight above 0.
    pub(in crate::solve) active: Vec<usize>,
}

/// Some of the rows, scaled.
pub(in crate::solve) struct Band {
    pub(super) design: Design,
    pub(super) targets: Vec<f64>,
    pub(super) weights: Vec<f64>,
}

/// What is known of all rows outside of the band.
#[derive(Debug, Clone)]
pub(in crate::solve) struct Fixed {
    /// The sum of their losses.
    pub(super) loss: f64,
    /// The sum of slope times weight times row, on scaled columns.
    pub(super) pull: Vec<DoubleDouble>,
    /// Those above the plane and those below it: total weight, and the means of target and row.
    globs: Vec<(f64, f64, Vec<f64>)>,
    /// Rows that are not where they were thought to be; they are not in the sums.
    pub(super) strays: Vec<usize>,
}

impl Fixed {
    /// Rows of which the pull is known and nothing else.
    pub(super) fn of_pull(pull: Vec<DoubleDouble>) -> Self {
        Fixed {
            loss: 0.0,
            pull,
            globs: Vec::new(),
            strays: Vec::new(),
        }
    }
}

impl<'a> Frame<'a> {
    pub(in crate::solve) fn new(rows: &'a Rows<'a>, layout: Layout, slopes: (f64, f64)) -> Self {
        let all = 0..rows.len();
        let active: Vec<usize> = match rows.weights {
            Weights::Same(weight) if weight > 0.0 => all.collect(),
            _ => all.filter(|&i| rows.weights.get(i) > 0.0).collect(),
        };
        Frame {
            rows,
            layout,
            inner: Layout {
                outputs: 1,
                features: layout.len(),
                intercept: false,
            },
            scale: column_scales(rows, layout),
            slopes,
            active,
        }
    }

    /// How many parameters there are.
    pub(super) fn width(&self) -> usize {
        self.layout.len()
    }

    /// How many rows the band is to have.
    pub(in crate::solve) fn band_size(&self) -> usize {
        let cells = self.width().max(1) as f64 * self.active.len() as f64;
        cells.powf(2.0 / 3.0).ceil() as usize
    }

    /// The weights on the columns as they are.
    pub(super) fn unscaled(&self, at: &[f64]) -> Vec<f64> {
        at.iter().zip(&self.scale).map(|(w, s)| w * s).collect()
    }

    /// The weights on the scaled columns.
    pub(super) fn scaled(&self, at: &[f64]) -> Vec<f64> {
        at.iter().zip(&self.scale).map(|(w, s)| w / s).collect()
    }

    /// Writes a row to a vector of 0s.
    pub(super) fn lift(&self, i: usize, x: &mut [f64]) {
        match self.rows.design.row(i) {
            Row::Dense64(row) => {
                let scaled = row.iter().zip(&self.scale).map(|(v, scale)| v * scale);
                x.iter_mut().zip(scaled).for_each(|(x, v)| *x = v);
            }
            row => row.for_each(|j, v| x[j] = v * self.scale[j]),
        }
        if let Some(one) = x.get_mut(self.layout.features) {
            *one = 1.0;
        }
    }

    /// y − z.
    pub(super) fn residual(&self, i: usize, at: &[f64]) -> f64 {
        let (w, b) = self.layout.output(at, 0);
        self.rows.targets[i] - (self.rows.design.row(i).dot(w) + b)
    }

    /// The loss of a row with this residual.
    pub(super) fn loss(&self, i: usize, residual: f64) -> f64 {
        let (low, high) = self.slopes;
        self.rows.weights.get(i) * (-low * residual).max(-high * residual)
    }

    /// The slope times weight of a row on this side of the plane.
    pub(super) fn pull(&self, i: usize, side: i8) -> f64 {
        self.rows.weights.get(i) * if side > 0 { self.slopes.0 } else { self.slopes.1 }
    }

    /// These rows, and after them one for all that are fixed above and one for those below.
    pub(in crate::solve) fn gather(&self, list: &[usize], fixed: Option<&Fixed>) -> Result<Band> {
        let width = self.width();
        let globs = fixed.map_or(&[][..], |fixed| &fixed.globs);
        let mut targets: Vec<f64> = list.iter().map(|&i| self.rows.targets[i]).collect();
        let mut weights: Vec<f64> = list.iter().map(|&i| self.rows.weights.get(i)).collect();
        for (weight, target, _) in globs {
            weights.push(*weight);
            targets.push(*target);
        }
        let design = if self.rows.design.is_sparse() {
            let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
            for &i in list {
                self.rows.design.row(i).for_each(|j, x| {
                    indices.push(j as u32);
                    values.push(x * self.scale[j]);
                });
                if self.layout.intercept {
                    indices.push(self.layout.features as u32);
                    values.push(1.0);
                }
                starts.push(indices.len());
            }
            for (_, _, x) in globs {
                indices.extend(0..width as u32);
                values.extend(x);
                starts.push(indices.len());
            }
            Design::Sparse64(Csr::new(starts, indices, values, width)?)
        } else {
            let mut values = vec![0.0; targets.len() * width];
            let (own, others) = values.split_at_mut(list.len() * width);
            own.par_chunks_mut(width.max(1))
                .zip(list)
                .with_min_len(CHUNK / 4)
                .for_each(|(x, &i)| self.lift(i, x));
            let globs = globs.iter().map(|(_, _, x)| x);
            (others.chunks_mut(width.max(1)).zip(globs)).for_each(|(to, x)| to.copy_from_slice(x));
            Design::Dense64(Dense::new(values, targets.len(), width)?)
        };
        Ok(Band {
            design,
            targets,
            weights,
        })
    }

    /// One row at random of each of so many equal parts.
    pub(in crate::solve) fn sample(&self, size: usize, random: &mut ChaCha8Rng) -> Vec<usize> {
        let count = self.active.len();
        let size = size.min(count);
        (0..size)
            .map(|part| self.active[random.random_range(part * count / size..(part + 1) * count / size)])
            .collect()
    }

    /// The rows nearest to the plane `at`, in units of what a sample does not know of it.
    pub(in crate::solve) fn nearest(&self, at: &[f64], size: usize, sampled: &Band) -> Vec<usize> {
        let width = self.width();
        let spread = self.spread(sampled);
        let chunks: Vec<Vec<(f64, f64)>> = self
            .active
            .par_chunks(CHUNK / 2)
            .map(|chunk| {
                let mut x = vec![0.0; chunk.len() * width];
                (x.chunks_mut(width.max(1)).zip(chunk)).for_each(|(x, &i)| self.lift(i, x));
                let mut norms = Mat::<f64>::zeros(chunk.len(), width);
                matmul(
                    norms.as_mut(),
                    Accum::Replace,
                    MatRef::from_row_major_slice(&x, chunk.len(), width),
                    spread.as_ref(),
                    1.0,
                    Par::Seq,
                );
                (chunk.iter().enumerate())
                    .map(|(row, &i)| {
                        let square: f64 = (0..width).map(|j| norms[(row, j)].powi(2)).sum();
                        let residual = self.residual(i, at).abs();
                        (residual / square.sqrt().max(1e-100), residual)
                    })
                    .collect()
            })
            .collect();
        let ratios: Vec<(f64, f64)> = chunks.concat();
        let nth = |values: &mut [f64], n: usize| *values.select_nth_unstable_by(n, f64::total_cmp).1;
        let last = ratios.len() - 1;
        let mut sorted: Vec<f64> = ratios.iter().map(|ratio| ratio.0).collect();
        let furthest = nth(&mut sorted, size.min(last));
        let tied = TIED * ratios.iter().map(|ratio| ratio.1).sum::<f64>() / ratios.len() as f64;
        (self.active.iter().zip(&ratios))
            .filter(|(_, ratio)| ratio.0 <= furthest || ratio.1 <= tied)
            .map(|(&i, _)| i)
            .collect()
    }

    /// L⁻ᵀ of the sample's Gram matrix, made regular if it is not: columns that the sample lacks are unknown.
    fn spread(&self, sampled: &Band) -> Mat<f64> {
        let width = self.width();
        let mut gram = vec![0.0; width * width];
        let rows = sampled.targets.len();
        add_gram(&sampled.design, 0..rows, self.inner, &vec![1.0; rows], &mut gram);
        let mut lower = Mat::<f64>::zeros(width, width);
        for j in 0..width {
            for i in j..width {
                let known: f64 = (0..j).map(|k| lower[(i, k)] * lower[(j, k)]).sum();
                let left = gram[j * width + i] - known;
                lower[(i, j)] = if i == j {
                    left.max(1e-10 * gram[j * width + j]).max(1e-6).sqrt()
                } else {
                    left / lower[(j, j)]
                };
            }
        }
        // Column by column, L⁻¹ and its transpose.
        let mut spread = Mat::<f64>::zeros(width, width);
        for j in 0..width {
            for i in j..width {
                let own = f64::from(u8::from(i == j));
                let known: f64 = (j..i).map(|k| lower[(i, k)] * spread[(j, k)]).sum();
                spread[(j, i)] = (own - known) / lower[(i, i)];
            }
        }
        spread
    }

    /// Passes over all rows outside of the band: `sides` has 0 for rows inside it and for those that do not count.
    /// Rows on another side than that are strays.
    pub(super) fn survey(&self, at: &[f64], sides: &[i8], met: f64) -> Fixed {
        let width = self.width();
        let parts: Vec<Part> = sides
            .par_chunks(CHUNK)
            .enumerate()
            .map(|(chunk, sides)| {
                let mut part = Part::new(width);
                for (offset, &side) in sides.iter().enumerate().filter(|(_, side)| **side != 0) {
                    let i = chunk * CHUNK + offset;
                    let residual = self.residual(i, at);
                    if f64::from(side) * residual < -met {
                        part.strays.push(i);
                    } else {
                        part.add(self, i, side, residual);
                    }
                }
                part
            })
            .collect();
        self.merge(&parts)
    }

    /// What a [`survey`](Frame::survey) finds, but for where the rows lie: enough to end with, and for exchanges.
    pub(super) fn settle(&self, at: &[f64], sides: &[i8], met: f64) -> Fixed {
        let Weights::Same(_) = self.rows.weights else {
            return self.survey(at, sides, met);
        };
        let (design, layout, width) = (self.rows.design, self.layout, self.width());
        // Σ sᵢx̃ᵢ = ½(hi + lo) Σ x̃ᵢ − ½(hi − lo) Σ ±x̃ᵢ, and sums of rows need no products; the first is 0 for a median.
        let (low, high) = (self.pull(0, 1), self.pull(0, -1));
        let apart = (DoubleDouble::from(low) + -high).scaled(0.5);
        let common = (DoubleDouble::from(low) + high).scaled(0.5);
        let mut nothing = vec![(); sides.len()];
        let lanes = pass(design, &mut nothing, 4 * width, |range, _, part: &mut Settled| {
            let mut signs = vec![0.0; range.len()];
            scores(design, range.clone(), layout, at, &mut signs);
            for (i, sign) in range.clone().zip(&mut signs) {
                let residual = self.rows.targets[i] - *sign;
                *sign = f64::from(sides[i]);
                if *sign * residual < -met {
                    part.strays.push(i);
                    *sign = 0.0;
                } else if *sign != 0.0 {
                    part.loss += self.loss(i, residual);
                }
            }
            part.apart.add(design, range.clone(), layout, &signs);
            if common != DoubleDouble::ZERO {
                signs.iter_mut().for_each(|sign| *sign = sign.abs());
                part.common.add(design, range, layout, &signs);
            }
        });
        let mut pull = vec![DoubleDouble::ZERO; width];
        for (sums, factor) in (lanes.iter()).flat_map(|part| [(&part.apart, apart), (&part.common, common)]) {
            for ((pull, sum), scale) in pull.iter_mut().zip(sums.totals()).zip(&self.scale) {
                *pull += (sum * factor).scaled(*scale);
            }
        }
        Fixed {
            loss: lanes.iter().map(|part| part.loss).sum(),
            strays: lanes.iter().flat_map(|part| &part.strays).copied().collect(),
            ..Fixed::of_pull(pull)
        }
    }

    fn merge(&self, parts: &[Part]) -> Fixed {
        let width = self.width();
        let mut fixed = Fixed {
            loss: parts.iter().map(|part| part.loss).sum(),
            pull: vec![DoubleDouble::ZERO; width],
            globs: Vec::new(),
            strays: parts.iter().flat_map(|part| &part.strays).copied().collect(),
        };
        for (at, slope) in [self.slopes.0, self.slopes.1].into_iter().enumerate() {
            let mut pull = vec![DoubleDouble::ZERO; width];
            let (mut weight, mut target) = (0.0, 0.0);
            for side in parts.iter().map(|part| &part.sides[at]) {
                weight += side.weight;
                target += side.target;
                (pull.iter_mut().zip(side.pull.totals())).for_each(|(sum, own)| *sum += own);
            }
            for ((sum, own), scale) in pull.iter_mut().zip(&mut fixed.pull).zip(&self.scale) {
                *sum = sum.scaled(*scale);
                *own += *sum;
            }
            if weight > 0.0 {
                let means = pull.iter().map(|sum| sum.value() / (slope * weight)).collect();
                fixed.globs.push((weight, target / weight, means));
            }
        }
        fixed
    }
}

/// Sums over some of the fixed rows, on the columns as they are.
struct Part {
    loss: f64,
    strays: Vec<usize>,
    /// Above the plane, and below it.
    sides: [Side; 2],
}

struct Side {
    weight: f64,
    target: f64,
    pull: Sums,
}

/// Sums over some of the fixed rows whose weights are the same, on the columns as they are.
#[derive(Default)]
struct Settled {
    loss: f64,
    strays: Vec<usize>,
    /// Of rows above the plane less those below it.
    apart: Sums,
    /// Of both.
    common: Sums,
}

/// Compensated sums: what they are, and what was rounded off.
#[derive(Default)]
struct Sums {
    sums: Vec<f64>,
    errors: Vec<f64>,
}

impl Sums {
    /// Adds rows, or takes them off, or leaves them out, as their signs say.
    fn add(&mut self, design: &Design, rows: Range<usize>, layout: Layout, signs: &[f64]) {
        self.sums.resize(layout.len(), 0.0);
        self.errors.resize(layout.len(), 0.0);
        let (sums, ones) = self.sums.split_at_mut(layout.features);
        design.add_rows_compensated(rows, signs, sums, &mut self.errors[..layout.features]);
        // Whole numbers.
        (ones.iter_mut()).for_each(|one| *one += signs.iter().sum::<f64>());
    }

    fn totals(&self) -> impl Iterator<Item = DoubleDouble> {
        let both = self.sums.iter().zip(&self.errors);
        both.map(|(&sum, &error)| DoubleDouble::from(sum) + error)
    }
}

impl Part {
    fn new(width: usize) -> Self {
        Part {
            loss: 0.0,
            strays: Vec::new(),
            sides: [(); 2].map(|()| Side {
                weight: 0.0,
                target: 0.0,
                pull: Sums {
                    sums: vec![0.0; width],
                    errors: vec![0.0; width],
                },
            }),
        }
    }

    fn add(&mut self, frame: &Frame<'_>, i: usize, side: i8, residual: f64) {
        self.loss += frame.loss(i, residual);
        let own = &mut self.sides[usize::from(side < 0)];
        let weight = frame.rows.weights.get(i);
        own.weight += weight;
        own.target += weight * frame.rows.targets[i];
        let pull = DoubleDouble::from(frame.pull(i, side));
        let Sums { sums, errors } = &mut own.pull;
        match frame.rows.design.row(i) {
            Row::Dense32(x) => add_products(pull, x, sums, errors),
            Row::Dense64(x) => add_products(pull, x, sums, errors),
            row => row.for_each(|j, x| add_products(pull, &[x], &mut sums[j..], &mut errors[j..])),
        }
        let features = frame.layout.features;
        if features < sums.len() {
            add_products(pull, &[1.0], &mut sums[features..], &mut errors[features..]);
        }
    }
}
