//! The pass over the rows in doubles, vectorised: scores, losses, multipliers and X̃ᵀα, with a-priori bounds on all rounding errors. The
//! bounds use only the largest entry of each column and sums over the rows, so they cost nearly nothing.
//!
//! With a bound e on the errors of all scores, the sums of the defects are at most
//!
//! | loss | ΣFY ≤ |
//! |---|---|
//! | squared | e²Σc + 9u²L |
//! | logistic | 2.1η²Σc + 130u·Σ_{yz≤0} c, η = e(1 + 2e) + 17u |
//! | squared hinge, modified Huber | 4e²Σc + 20u²L |
//! | hinge, absolute, quantile | Σ c(e − abs(h))₊ times the width of the range of slopes |
//! | softmax | K²η²Σc, η = 2e(1 + 4e) + (K + 16)u |
//!
//! where L = Σcℓ. `docs/proofs.md` derives them. Rows with a stored multiplier are evaluated one by one.

use std::ops::Range;

use rayon::prelude::*;

use crate::duality::claim_sums::{Claim, ClaimSums};
use crate::duality::error_bounds::{larger, upwards};
use crate::duality::row_dual::{Multiplier, Residual, Score, VALUE_ERROR, sign};
use wstar_data::Design;
use wstar_data::error::Result;
use wstar_numeric::dense::{add_magnitudes, magnitude};
use wstar_numeric::double_double::sum_scaled;
use wstar_numeric::softplus::{SHARE_ERROR, exponentials_of};
use wstar_problem::loss::{Loss, LossName};
use wstar_problem::objective::products::{add_column_products, lanes_for, scores};
use wstar_problem::objective::{Blocks, Rows, Weights};
use wstar_problem::on_loss;

/// The fewest rows that are summed without compensation before their sums are added to compensated ones. Heuristic: time against
/// rounding; not measured yet.
const RUN: usize = 256;
/// The most rows of a run. Runs are longer where rows are short and columns many, because adding the sums of a run would take
/// longer than its rows. Cap: bounds γ of a run by 10⁻¹².
const LONGEST_RUN: usize = 1 << 13;
/// Entries of a block, which is read three times. Heuristic: should fit into the L2 cache; not measured yet.
const BLOCK_ENTRIES: usize = 1 << 14;
/// The fewest rows of a block. Derived: in a column-major matrix eight doubles of consecutive rows share a cache line.
const LEAST_BLOCK: usize = 8;
/// Cap: more threads than these stay idle.
const MOST_LANES: usize = 32;

/// The sums of all rows.
pub(super) fn gather(blocks: &mut dyn Blocks, claim: &Claim<'_>) -> Result<ClaimSums> {
    let mut total = ClaimSums::new(claim.problem);
    claim.pass(blocks, &mut |rows, first| {
        let count = lanes_for(rows.design, claim.problem.layout().len(), MOST_LANES);
        let lanes: Vec<ClaimSums> = (0..count)
            .into_par_iter()
            .map(|lane| {
                let range = rows.len() * lane / count..rows.len() * (lane + 1) / count;
                let mut lane = Lane::new(rows, first, claim);
                lane.gather(range);
                lane.finish()
            })
            .collect();
        lanes.iter().for_each(|lane| total.merge(lane));
        Ok(())
    })?;
    Ok(total)
}

/// A range of rows that is summed by one thread.
struct Lane<'a> {
    rows: &'a Rows<'a>,
    first: u64,
    claim: &'a Claim<'a>,
    sums: ClaimSums,
    /// X̃ᵀα of the current run.
    products: Vec<f64>,
    /// Rows of a run.
    run: usize,
    /// Σc.
    weight: f64,
    /// Σc of the rows on the wrong side of the hyperplane.
    wrong: f64,
    /// A bound on Σ|α| for every output.
    size: f64,
    /// max |wⱼ| over all outputs, and max |b|.
    steepest: (f64, f64),
    scores: Vec<f64>,
    weights: Vec<f64>,
    values: Vec<f64>,
    /// The slopes of the losses, then the multipliers.
    alphas: Vec<f64>,
}

impl<'a> Lane<'a> {
    fn new(rows: &'a Rows<'a>, first: u64, claim: &'a Claim<'a>) -> Self {
        let layout = claim.problem.layout();
        let entries = rows.design.stored() / rows.design.rows().max(1);
        let mut steepest = (0.0, 0.0);
        for k in 0..layout.outputs {
            let (w, b) = layout.output(claim.parameters, k);
            steepest.0 = w.iter().fold(steepest.0, |most: f64, w| most.max(w.abs()));
            steepest.1 = b.abs().max(steepest.1);
        }
        Lane {
            rows,
            first,
            claim,
            sums: ClaimSums::new(claim.problem),
            products: vec![0.0; layout.len()],
            run: (4 * layout.width() / entries.max(1)).clamp(RUN, LONGEST_RUN),
            weight: 0.0,
            wrong: 0.0,
            size: 0.0,
            steepest,
            scores: Vec::new(),
            weights: Vec::new(),
            values: Vec::new(),
            alphas: Vec::new(),
        }
    }

    fn gather(&mut self, range: Range<usize>) {
        let design = self.rows.design;
        let layout = self.claim.problem.layout();
        let entries = (design.stored() / design.rows().max(1)).max(1);
        let block = (BLOCK_ENTRIES / entries).clamp(LEAST_BLOCK, self.run);
        let mut start = range.start;
        let mut run_end = start;
        while start < range.end {
            if start == run_end {
                run_end = (start + self.run).min(range.end);
            }
            let end = (start + block).min(run_end);
            self.fill_weights(start..end);
            let error = self.score_error(start..end);
            self.sums.score_error = larger(self.sums.score_error, error);
            self.scores.resize((end - start) * layout.outputs, 0.0);
            scores(
                design,
                start..end,
                layout,
                self.claim.parameters,
                &mut self.scores,
            );
            if self.claim.problem.loss() == LossName::Softmax {
                self.softmax(start..end);
            } else {
                self.one_output(start..end, error);
            }
            add_column_products(design, start..end, layout, &self.alphas, &mut self.products);
            start = end;
            if start == run_end {
                let sums = self.sums.products.iter_mut().zip(&mut self.products);
                sums.for_each(|(total, sum)| total.add(std::mem::take(sum)));
            }
        }
    }

    fn fill_weights(&mut self, range: Range<usize>) {
        self.weights.clear();
        match &self.rows.weights {
            Weights::Same(weight) => self.weights.resize(range.len(), *weight),
            Weights::Each(weights) => self.weights.extend_from_slice(&weights[range]),
        }
        self.sums.rows += self.weights.iter().filter(|&&c| c > 0.0).count() as u64;
        self.weight += self.weights.iter().sum::<f64>();
    }

    /// Updates the largest entries of the columns, and bounds the error of the scores of a block by γ·(Σ|wⱼ|max|xⱼ| + |b|).
    fn score_error(&mut self, range: Range<usize>) -> f64 {
        let layout = self.claim.problem.layout();
        let (columns, intercept) = self.sums.largest.split_at_mut(layout.features);
        intercept.fill(1.0);
        let mut most_entries = layout.features;
        let mut overall = None;
        match self.rows.design {
            Design::Dense32(matrix) => add_magnitudes(matrix.block(range), columns),
            Design::Dense64(matrix) => add_magnitudes(matrix.block(range), columns),
            Design::Sparse32(matrix) => {
                overall = Some(sparse_magnitude(matrix.starts(), matrix.values(), range))
            }
            Design::Sparse64(matrix) => {
                overall = Some(sparse_magnitude(matrix.starts(), matrix.values(), range))
            }
            design => range.for_each(|i| {
                design
                    .row(i)
                    .for_each(|j, x| columns[j] = columns[j].max(x.abs()))
            }),
        }
        let size = match overall {
            // One number for all columns: a maximum for each would cost as much as X̃ᵀα.
            Some((entries, largest)) => {
                if largest > columns.first().copied().unwrap_or(0.0) {
                    columns.fill(largest);
                }
                most_entries = entries;
                largest * self.steepest.0 * entries as f64 + self.steepest.1
            }
            None => {
                let bound = |k: usize| {
                    let (w, b) = layout.output(self.claim.parameters, k);
                    w.iter().zip(&*columns).map(|(w, x)| w.abs() * x).sum::<f64>() + b.abs()
                };
                (0..layout.outputs).map(bound).fold(0.0, larger)
            }
        };
        upwards(self.claim.rounding.gamma(most_entries + 4) * size)
    }

    /// Losses and multipliers of rows with one score.
    fn one_output(&mut self, range: Range<usize>, error: f64) {
        let loss_name = self.claim.problem.loss();
        let targets = &self.rows.targets[range.clone()];
        self.values.resize(range.len(), 0.0);
        self.alphas.clear();
        self.alphas.extend_from_slice(&self.scores);
        let numbers = self.first + range.start as u64..self.first + range.end as u64;
        let stored = self.claim.shares(numbers.clone());
        let kinked = !loss_name.is_smooth();
        on_loss!(loss_name, loss => {
            loss.each(targets, &mut self.alphas, &mut self.values, None);
            let logistic = loss_name == LossName::Logistic;
            let (mut wrong, mut size, mut support, mut at_bound) = (0.0, 0.0, 0u64, 0u64);
            for ((alpha, &c), &y) in self.alphas.iter_mut().zip(&self.weights).zip(targets) {
                let (least, greatest) = loss.slopes(y);
                let slope = *alpha;
                let nonzero = slope != 0.0 && c > 0.0;
                support += u64::from(nonzero);
                at_bound += u64::from(nonzero && (slope == least || slope == greatest));
                wrong += if slope.abs() > 0.25 { c } else { 0.0 };
                *alpha = -c * slope;
                size += alpha.abs();
            }
            self.sums.support += support;
            self.sums.at_bound += at_bound;
            self.size += size;
            if logistic {
                self.wrong += wrong;
            }
            if kinked {
                let (least, greatest) = loss.slopes(1.0);
                let width = greatest - least;
                let near = targets.iter().zip(&self.scores).zip(&self.weights);
                let mut is_stored = stored.iter().map(|&(row, _)| (row - numbers.start) as usize).peekable();
                let sum: f64 = near
                    .enumerate()
                    .map(|(at, ((&y, &z), &c))| {
                        if is_stored.next_if_eq(&at).is_some() {
                            return 0.0;
                        }
                        // The distance of the computed score from the kink.
                        let off = if loss_name.is_absolute() { (y - z).abs() } else { (1.0 - y * z).abs() };
                        if off <= error { c * width * (error - off) } else { 0.0 }
                    })
                    .sum();
                self.sums.defects += upwards(sum);
            }
        }, softmax => ());
        for &(row, share) in stored {
            self.replace((row - numbers.start) as usize, range.start, share);
        }
        self.add_losses();
    }

    /// Sets the multiplier of a row to the stored one, and adds its defect.
    fn replace(&mut self, at: usize, start: usize, share: f64) {
        let (loss, rounding) = (self.claim.problem.loss(), self.claim.rounding);
        let (c, y) = (self.weights[at], self.rows.targets[start + at]);
        if c == 0.0 {
            return;
        }
        let output = self.claim.problem.layout().output(self.claim.parameters, 0);
        let score = Score::new(self.rows.design.row(start + at), output, rounding);
        let residual = Residual::new(loss, y, score, rounding);
        let own = Multiplier::of_share(loss, c, y, share);
        let before = self.alphas[at];
        on_loss!(loss, loss => {
            let (least, greatest) = loss.slopes(y);
            self.sums.support -= u64::from(before != 0.0);
            self.sums.at_bound -= u64::from(before != 0.0 && (before == -c * least || before == -c * greatest));
        }, softmax => ());
        self.sums.support += u64::from(own.value() != 0.0);
        self.sums.at_bound += u64::from(own.is_at_bound(loss, c));
        self.sums.stored_defects += own.defect(loss, c, 0.0, residual, rounding);
        self.alphas[at] = sign(loss, y) * own.value();
        self.size += self.alphas[at].abs();
    }

    /// Losses and multipliers of rows with a score for each class.
    fn softmax(&mut self, range: Range<usize>) {
        let classes = self.claim.problem.layout().outputs;
        self.values.resize(range.len(), 0.0);
        self.alphas.resize(self.scores.len(), 0.0);
        let targets = &self.rows.targets[range];
        let rows = self.scores.chunks_exact_mut(classes).zip(&mut self.values);
        for ((scores, value), &y) in rows.zip(targets) {
            let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            scores.iter_mut().for_each(|z| *z -= largest);
            *value = scores[y as usize];
        }
        exponentials_of(&self.scores, &mut self.alphas);
        let rows = self.alphas.chunks_exact_mut(classes).zip(&mut self.values);
        for (((exponentials, value), &y), &c) in rows.zip(targets).zip(&self.weights) {
            let (class, own) = (y as usize, *value);
            let sum: f64 = exponentials.iter().sum();
            let others: f64 = sum_without(exponentials, class);
            *value = match own == 0.0 && others < sum - others {
                true => (others / exponentials[class]).ln_1p(),
                false => sum.ln() - own,
            };
            let scale = -c / sum;
            exponentials.iter_mut().for_each(|e| *e *= scale);
            exponentials[class] = -others * scale;
            self.size += exponentials[class];
            self.sums.support += u64::from(c > 0.0);
        }
        self.add_losses();
    }

    /// Adds the losses of a block.
    fn add_losses(&mut self) {
        let losses = self.values.iter_mut().zip(&self.weights);
        losses.for_each(|(value, c)| *value *= c);
        self.sums.loss.add(sum_scaled(1.0, &self.values));
    }

    /// The bounds of all errors.
    fn finish(mut self) -> ClaimSums {
        let (problem, rounding) = (self.claim.problem, self.claim.rounding);
        let (loss, classes) = (problem.loss(), problem.layout().outputs as f64);
        let (e, u) = (self.sums.score_error, rounding.unit());
        let losses = self.sums.loss.value().max(0.0);
        let share_error = SHARE_ERROR / (0.5 * f64::EPSILON) * u + u;
        let defects = match loss {
            LossName::Squared => e * e * self.weight + 9.0 * u * u * losses,
            LossName::Logistic => {
                let eta = e * (1.0 + 2.0 * e) + share_error;
                // The bound is for small errors.
                let limit = if e < 0.05 { 1.0 } else { f64::INFINITY };
                (2.1 * eta * eta * self.weight + 130.0 * u * self.wrong) * limit
            }
            LossName::SquaredHinge | LossName::ModifiedHuber => {
                4.0 * e * e * self.weight + 20.0 * u * u * losses
            }
            LossName::Softmax => {
                let eta = 2.0 * e * (1.0 + 4.0 * e) + (classes + 16.0) * u;
                let limit = if eta < 0.05 { 1.0 } else { f64::INFINITY };
                classes * classes * eta * eta * self.weight * limit
            }
            LossName::Hinge | LossName::Absolute | LossName::Quantile(_) => 0.0,
            // It is not convex.
            LossName::SigmoidMse => f64::INFINITY,
        };
        self.sums.defects = upwards(self.sums.defects + defects);
        self.sums.stored_defects = upwards(self.sums.stored_defects);
        // The multipliers of hinge, absolute and quantile loss are at most the weight. The others change by e times the curvature.
        let steepest = if loss.is_smooth() { self.size } else { self.weight };
        self.sums.loss_error = upwards(e * steepest + 2.0 * e * e * self.weight + VALUE_ERROR * losses);
        if loss == LossName::Softmax {
            self.sums.loss_error = upwards(self.sums.loss_error + 2.0 * e * self.weight);
        }
        // Products of a run are rounded once each; a double of a multiplier errs by a few units of its own size, and of softmax
        // relative to the weight.
        let size = match loss {
            LossName::Softmax => self.size + self.weight,
            _ => self.size + self.wrong,
        };
        let of_class = if loss == LossName::Softmax {
            2 * problem.layout().outputs
        } else {
            0
        };
        let gamma = rounding.gamma(self.run + 16 + of_class);
        let width = problem.layout().width();
        for (at, error) in self.sums.errors.iter_mut().enumerate() {
            *error = upwards(gamma * size * self.sums.largest[at % width]);
        }
        self.sums
    }
}

/// The largest number of entries of a row, and the largest magnitude of an entry.
fn sparse_magnitude<T: Copy + Into<f64>>(
    starts: &[usize],
    values: &[T],
    range: Range<usize>,
) -> (usize, f64) {
    let entries = starts[range.start..=range.end]
        .windows(2)
        .map(|pair| pair[1] - pair[0]);
    let most = entries.max().unwrap_or(0);
    (most, magnitude(&values[starts[range.start]..starts[range.end]]))
}

/// The sum of all numbers but one.
fn sum_without(numbers: &[f64], left_out: usize) -> f64 {
    let (before, after) = (&numbers[..left_out], &numbers[left_out + 1..]);
    before.iter().sum::<f64>() + after.iter().sum::<f64>()
}
