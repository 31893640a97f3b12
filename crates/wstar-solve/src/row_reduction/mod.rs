//! Row reduction for losses with a kink (S. Portnoy and R. Koenker, The Gaussian hare and the Laplacian
//! tortoise, Statistical Science 12, 1997).
//!
//! Problem: min Σᵢ cᵢ ρ(yᵢ − x̃ᵢ·θ), ρ linear on both sides of 0, over many rows.
//!
//! Method: the optimum of a sample is near that of all rows, so most rows are on the same side of the
//! kink at both. The slopes of those rows are known, and they enter the problem only through their
//! gradient, the sum of slope times weight times row. The remaining rows, about (pn)^(2/3) rows near the
//! sample's plane, form the band and are solved individually. One pass over the other rows then checks
//! that all of them are on their assumed side; those that are not (the violating rows) join the band.
//!
//! - `nested_watch`: reports the iterations of a subproblem to the watch of the whole fit

pub(crate) mod nested_watch;

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::fixed_order::pass;
use crate::newton_system::column_scales;
use wstar_data::error::Result;
use wstar_data::linear::Layout;
use wstar_data::{Csr, Dense, Design, Row};
use wstar_numeric::double_double::{DoubleDouble, add_products};
use wstar_problem::objective::products::{add_gram, scores};
use wstar_problem::objective::{Rows, Weights};

/// Rows that one parallel task processes. Heuristic: trades the cost of a task against parallelism; not
/// measured yet.
const CHUNK: usize = 1 << 11;
/// Residuals below this fraction of the mean absolute residual count as ties; such rows always belong to the
/// band. Heuristic: trades the size of the band against further rounds; not measured yet.
pub(super) const TIE_FRACTION: f64 = 1e-4;

/// The rows as the method uses them: columns scaled to about size 1, and an intercept as a column of ones.
pub(crate) struct Frame<'a> {
    pub(super) rows: &'a Rows<'a>,
    pub(super) layout: Layout,
    /// The layout with the same number of parameters in which the intercept is an ordinary weight.
    pub(super) inner: Layout,
    /// The factor of each column, a power of two.
    pub(super) scale: Vec<f64>,
    /// The slopes of the loss for a row above the plane and for one below it.
    pub(super) slopes: (f64, f64),
    /// The rows of positive weight.
    pub(crate) active: Vec<usize>,
}

/// Selected rows, with scaled columns.
pub(crate) struct Band {
    pub(super) design: Design,
    pub(super) targets: Vec<f64>,
    pub(super) weights: Vec<f64>,
}

/// The sums over all rows outside the band, whose sides are fixed.
#[derive(Debug, Clone)]
pub(crate) struct FixedRows {
    /// The sum of their losses.
    pub(super) loss: f64,
    /// Their gradient: the sum of slope times weight times row, on scaled columns.
    pub(super) gradient: Vec<DoubleDouble>,
    /// The rows above the plane and the rows below it, each side aggregated into one row: total weight, mean
    /// target, mean row.
    aggregated_rows: Vec<(f64, f64, Vec<f64>)>,
    /// Rows that are not on their assumed side. The sums do not include them.
    pub(super) violating_rows: Vec<usize>,
}

impl FixedRows {
    /// Fixed rows of which only the gradient is known.
    pub(super) fn from_gradient(gradient: Vec<DoubleDouble>) -> Self {
        FixedRows {
            loss: 0.0,
            gradient,
            aggregated_rows: Vec::new(),
            violating_rows: Vec::new(),
        }
    }
}

impl<'a> Frame<'a> {
    pub(crate) fn new(rows: &'a Rows<'a>, layout: Layout, slopes: (f64, f64)) -> Self {
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

    /// The number of parameters.
    pub(super) fn width(&self) -> usize {
        self.layout.len()
    }

    /// The number of rows that the band should have: (pn)^(2/3), the order given by Portnoy and Koenker 1997.
    pub(crate) fn band_size(&self) -> usize {
        let cells = self.width().max(1) as f64 * self.active.len() as f64;
        cells.powf(2.0 / 3.0).ceil() as usize
    }

    /// The weights for the unscaled columns.
    pub(super) fn unscaled(&self, at: &[f64]) -> Vec<f64> {
        at.iter().zip(&self.scale).map(|(w, s)| w * s).collect()
    }

    /// The weights for the scaled columns.
    pub(super) fn scaled(&self, at: &[f64]) -> Vec<f64> {
        at.iter().zip(&self.scale).map(|(w, s)| w / s).collect()
    }

    /// Writes the scaled row `i` to `x`, which must be 0.
    pub(super) fn write_scaled_row(&self, i: usize, x: &mut [f64]) {
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

    /// The residual y − z.
    pub(super) fn residual(&self, i: usize, at: &[f64]) -> f64 {
        let (w, b) = self.layout.output(at, 0);
        self.rows.targets[i] - (self.rows.design.row(i).dot(w) + b)
    }

    /// The weighted loss of a row with this residual.
    pub(super) fn loss(&self, i: usize, residual: f64) -> f64 {
        let (low, high) = self.slopes;
        self.rows.weights.get(i) * (-low * residual).max(-high * residual)
    }

    /// The slope times the weight of a row on this side of the plane.
    pub(super) fn weighted_slope(&self, i: usize, side: i8) -> f64 {
        self.rows.weights.get(i) * if side > 0 { self.slopes.0 } else { self.slopes.1 }
    }

    /// Copies the rows in `list`, followed by one aggregated row for each side of the fixed rows.
    pub(crate) fn gather(&self, list: &[usize], fixed: Option<&FixedRows>) -> Result<Band> {
        let width = self.width();
        let aggregated_rows = fixed.map_or(&[][..], |fixed| &fixed.aggregated_rows);
        let mut targets: Vec<f64> = list.iter().map(|&i| self.rows.targets[i]).collect();
        let mut weights: Vec<f64> = list.iter().map(|&i| self.rows.weights.get(i)).collect();
        for (weight, target, _) in aggregated_rows {
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
            for (_, _, x) in aggregated_rows {
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
                .for_each(|(x, &i)| self.write_scaled_row(i, x));
            let aggregated_rows = aggregated_rows.iter().map(|(_, _, x)| x);
            (others.chunks_mut(width.max(1)).zip(aggregated_rows)).for_each(|(to, x)| to.copy_from_slice(x));
            Design::Dense64(Dense::new(values, targets.len(), width)?)
        };
        Ok(Band {
            design,
            targets,
            weights,
        })
    }

    /// A stratified sample: one random row from each of `size` equal ranges of the active rows.
    pub(crate) fn sample(&self, size: usize, random: &mut ChaCha8Rng) -> Vec<usize> {
        let count = self.active.len();
        let size = size.min(count);
        (0..size)
            .map(|stratum| {
                self.active[random.random_range(stratum * count / size..(stratum + 1) * count / size)]
            })
            .collect()
    }

    /// The `size` rows nearest to the plane `at`, and all ties. The distance is the residual in units of the
    /// standard error of the row's score in the sample.
    pub(crate) fn nearest(&self, at: &[f64], size: usize, sampled: &Band) -> Vec<usize> {
        let width = self.width();
        let inverse_factor = self.inverse_factor(sampled);
        let chunks: Vec<Vec<(f64, f64)>> = self
            .active
            .par_chunks(CHUNK / 2)
            .map(|chunk| {
                let mut x = vec![0.0; chunk.len() * width];
                (x.chunks_mut(width.max(1)).zip(chunk)).for_each(|(x, &i)| self.write_scaled_row(i, x));
                let mut norms = Mat::<f64>::zeros(chunk.len(), width);
                matmul(
                    norms.as_mut(),
                    Accum::Replace,
                    MatRef::from_row_major_slice(&x, chunk.len(), width),
                    inverse_factor.as_ref(),
                    1.0,
                    Par::Seq,
                );
                (chunk.iter().enumerate())
                    .map(|(row, &i)| {
                        let square: f64 = (0..width).map(|j| norms[(row, j)].powi(2)).sum();
                        let residual = self.residual(i, at).abs();
                        // A row of zeros gets a tiny standard error instead of 0, which would divide by
                        // 0.
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
        let tied = TIE_FRACTION * ratios.iter().map(|ratio| ratio.1).sum::<f64>() / ratios.len() as f64;
        (self.active.iter().zip(&ratios))
            .filter(|(_, ratio)| ratio.0 <= furthest || ratio.1 <= tied)
            .map(|(&i, _)| i)
            .collect()
    }

    /// L⁻ᵀ of the sample's Gram matrix LLᵀ. The pivots are bounded below, so that columns which are 0 in the
    /// sample get a large standard error.
    fn inverse_factor(&self, sampled: &Band) -> Mat<f64> {
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
                    // Columns are scaled to about 1, so these bounds only replace pivots that are 0 up to
                    // rounding. Heuristic: not measured yet.
                    left.max(1e-10 * gram[j * width + j]).max(1e-6).sqrt()
                } else {
                    left / lower[(j, j)]
                };
            }
        }
        // L⁻¹ column by column, stored transposed.
        let mut inverse_factor = Mat::<f64>::zeros(width, width);
        for j in 0..width {
            for i in j..width {
                let own = f64::from(u8::from(i == j));
                let known: f64 = (j..i).map(|k| lower[(i, k)] * inverse_factor[(j, k)]).sum();
                inverse_factor[(j, i)] = (own - known) / lower[(i, i)];
            }
        }
        inverse_factor
    }

    /// Sums over all rows outside the band in one pass, including the aggregated rows. `sides` is 0 for rows
    /// in the band and for ignored rows. Rows that violate their side by more than `kink_tolerance` are
    /// listed instead.
    pub(super) fn aggregate_fixed(&self, at: &[f64], sides: &[i8], kink_tolerance: f64) -> FixedRows {
        let width = self.width();
        let partials: Vec<FixedSums> = sides
            .par_chunks(CHUNK)
            .enumerate()
            .map(|(chunk, sides)| {
                let mut partial = FixedSums::new(width);
                for (offset, &side) in sides.iter().enumerate().filter(|(_, side)| **side != 0) {
                    let i = chunk * CHUNK + offset;
                    let residual = self.residual(i, at);
                    if f64::from(side) * residual < -kink_tolerance {
                        partial.violating_rows.push(i);
                    } else {
                        partial.add(self, i, side, residual);
                    }
                }
                partial
            })
            .collect();
        self.merge(&partials)
    }

    /// Like [`aggregate_fixed`](Frame::aggregate_fixed) but without the aggregated rows. This
    /// suffices for the certificate and for simplex exchanges.
    pub(super) fn sum_fixed(&self, at: &[f64], sides: &[i8], kink_tolerance: f64) -> FixedRows {
        let Weights::Same(_) = self.rows.weights else {
            return self.aggregate_fixed(at, sides, kink_tolerance);
        };
        let (design, layout, width) = (self.rows.design, self.layout, self.width());
        // Σ sᵢx̃ᵢ = ½(hi + lo) Σ x̃ᵢ − ½(hi − lo) Σ ±x̃ᵢ, and signed sums of rows need no multiplications.
        // For the median the first term is 0.
        let (low, high) = (self.weighted_slope(0, 1), self.weighted_slope(0, -1));
        let difference = (DoubleDouble::from(low) + -high).scaled(0.5);
        let total = (DoubleDouble::from(low) + high).scaled(0.5);
        let mut nothing = vec![(); sides.len()];
        let lanes = pass(
            design,
            &mut nothing,
            4 * width,
            |range, _, partial: &mut SignedSums| {
                let mut signs = vec![0.0; range.len()];
                scores(design, range.clone(), layout, at, &mut signs);
                for (i, sign) in range.clone().zip(&mut signs) {
                    let residual = self.rows.targets[i] - *sign;
                    *sign = f64::from(sides[i]);
                    if *sign * residual < -kink_tolerance {
                        partial.violating_rows.push(i);
                        *sign = 0.0;
                    } else if *sign != 0.0 {
                        partial.loss += self.loss(i, residual);
                    }
                }
                partial.difference.add(design, range.clone(), layout, &signs);
                if total != DoubleDouble::ZERO {
                    signs.iter_mut().for_each(|sign| *sign = sign.abs());
                    partial.total.add(design, range, layout, &signs);
                }
            },
        );
        let mut gradient = vec![DoubleDouble::ZERO; width];
        for (sums, factor) in
            (lanes.iter()).flat_map(|partial| [(&partial.difference, difference), (&partial.total, total)])
        {
            for ((gradient, sum), scale) in gradient.iter_mut().zip(sums.totals()).zip(&self.scale) {
                *gradient += (sum * factor).scaled(*scale);
            }
        }
        FixedRows {
            loss: lanes.iter().map(|partial| partial.loss).sum(),
            violating_rows: lanes
                .iter()
                .flat_map(|partial| &partial.violating_rows)
                .copied()
                .collect(),
            ..FixedRows::from_gradient(gradient)
        }
    }

    fn merge(&self, partials: &[FixedSums]) -> FixedRows {
        let width = self.width();
        let mut fixed = FixedRows {
            loss: partials.iter().map(|partial| partial.loss).sum(),
            gradient: vec![DoubleDouble::ZERO; width],
            aggregated_rows: Vec::new(),
            violating_rows: partials
                .iter()
                .flat_map(|partial| &partial.violating_rows)
                .copied()
                .collect(),
        };
        for (at, slope) in [self.slopes.0, self.slopes.1].into_iter().enumerate() {
            let mut gradient = vec![DoubleDouble::ZERO; width];
            let (mut weight, mut target) = (0.0, 0.0);
            for side in partials.iter().map(|partial| &partial.sides[at]) {
                weight += side.weight;
                target += side.target;
                (gradient.iter_mut().zip(side.gradient.totals())).for_each(|(sum, own)| *sum += own);
            }
            for ((sum, own), scale) in gradient.iter_mut().zip(&mut fixed.gradient).zip(&self.scale) {
                *sum = sum.scaled(*scale);
                *own += *sum;
            }
            if weight > 0.0 {
                let means = gradient
                    .iter()
                    .map(|sum| sum.value() / (slope * weight))
                    .collect();
                fixed.aggregated_rows.push((weight, target / weight, means));
            }
        }
        fixed
    }
}

/// Sums over some fixed rows, on unscaled columns.
struct FixedSums {
    loss: f64,
    violating_rows: Vec<usize>,
    /// The rows above the plane, and the rows below it.
    sides: [Side; 2],
}

struct Side {
    weight: f64,
    target: f64,
    gradient: CompensatedSums,
}

/// Sums over some fixed rows of equal weight, on unscaled columns.
#[derive(Default)]
struct SignedSums {
    loss: f64,
    violating_rows: Vec<usize>,
    /// The sum of the rows above the plane minus the sum of those below it.
    difference: CompensatedSums,
    /// The sum of the rows on both sides.
    total: CompensatedSums,
}

/// Compensated sums: the rounded sums and their rounding errors.
#[derive(Default)]
struct CompensatedSums {
    sums: Vec<f64>,
    errors: Vec<f64>,
}

impl CompensatedSums {
    /// Adds each row multiplied by its sign, which is 1, −1 or 0.
    fn add(&mut self, design: &Design, rows: Range<usize>, layout: Layout, signs: &[f64]) {
        self.sums.resize(layout.len(), 0.0);
        self.errors.resize(layout.len(), 0.0);
        let (sums, ones) = self.sums.split_at_mut(layout.features);
        design.add_rows_compensated(rows, signs, sums, &mut self.errors[..layout.features]);
        // The signs are integers, so this sum is exact.
        (ones.iter_mut()).for_each(|one| *one += signs.iter().sum::<f64>());
    }

    fn totals(&self) -> impl Iterator<Item = DoubleDouble> {
        let both = self.sums.iter().zip(&self.errors);
        both.map(|(&sum, &error)| DoubleDouble::from(sum) + error)
    }
}

impl FixedSums {
    fn new(width: usize) -> Self {
        FixedSums {
            loss: 0.0,
            violating_rows: Vec::new(),
            sides: [(); 2].map(|()| Side {
                weight: 0.0,
                target: 0.0,
                gradient: CompensatedSums {
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
        let factor = DoubleDouble::from(frame.weighted_slope(i, side));
        let CompensatedSums { sums, errors } = &mut own.gradient;
        match frame.rows.design.row(i) {
            Row::Dense32(x) => add_products(factor, x, sums, errors),
            Row::Dense64(x) => add_products(factor, x, sums, errors),
            row => row.for_each(|j, x| add_products(factor, &[x], &mut sums[j..], &mut errors[j..])),
        }
        let features = frame.layout.features;
        if features < sums.len() {
            add_products(factor, &[1.0], &mut sums[features..], &mut errors[features..]);
        }
    }
}
