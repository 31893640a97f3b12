//! The vectorised path of the pass over the rows, for one output: scores, losses, slopes, conjugates and multipliers of a run
//! of rows are computed by loops over the run. Only rows that the repair might change are treated one by one.

use std::ops::Range;
use wstar_problem::on_loss;

use crate::duality::gathered_sums::Gathered;
use crate::duality::span::Span;
use wstar_data::Row;
use wstar_numeric::double_double::{DoubleDouble, add_products, sum_scaled, two_sum};
use wstar_problem::loss::Loss;
use wstar_problem::objective::Weights;

/// Scores, losses, slopes, conjugates and multipliers of a run of rows with one output.
#[derive(Default)]
pub(super) struct RunValues {
    scores: Vec<f64>,
    values: Vec<f64>,
    slopes: Vec<f64>,
    /// ℓ\* at the slopes, computed from the slopes alone: an error in the loss must not cancel out of the gap.
    conjugates: Vec<f64>,
    pub(super) alphas: Vec<f64>,
    /// The slacks of the multipliers.
    slacks: Vec<f64>,
}

/// Score, loss, slope and conjugate of one row.
#[derive(Clone, Copy)]
pub(super) struct RowValues {
    pub(super) score: f64,
    pub(super) value: f64,
    pub(super) slope: f64,
    pub(super) conjugate: f64,
}

impl RunValues {
    pub(super) fn at(&self, i: usize) -> RowValues {
        RowValues {
            score: self.scores[i],
            value: self.values[i],
            slope: self.slopes[i],
            conjugate: self.conjugates[i],
        }
    }

    /// Resizes the buffers to this many rows and sets the multipliers to 0.
    fn resize(&mut self, rows: usize) {
        let RunValues {
            scores,
            values,
            slopes,
            conjugates,
            alphas,
            slacks,
        } = self;
        for each in [scores, values, slopes, conjugates, slacks] {
            each.resize(rows, 0.0);
        }
        alphas.clear();
        alphas.resize(rows, 0.0);
    }
}

impl Span<'_> {
    /// Computes scores, losses, slopes and conjugates of rows with one output.
    pub(super) fn evaluate(&self, range: Range<usize>, run_values: &mut RunValues) {
        let (w, b) = self.problem.layout().output(self.parameters, 0);
        run_values.resize(range.len());
        self.rows.design.scores(range.clone(), w, &mut run_values.scores);
        run_values.scores.iter_mut().for_each(|score| *score += b);
        run_values.slopes.copy_from_slice(&run_values.scores);
        let targets = &self.rows.targets[range];
        on_loss!(self.problem.loss(), loss => {
            loss.each(targets, &mut run_values.slopes, &mut run_values.values, None);
            loss.conjugates(targets, &run_values.slopes, &mut run_values.conjugates);
        }, softmax => ());
    }

    /// The common weight of these rows, if they have one and none of their multipliers is stored.
    pub(super) fn common_weight(&self, range: Range<usize>) -> Option<f64> {
        let [first, end] = [range.start, range.end].map(|i| self.first_row + i as u64);
        let next = self.stored.partition_point(|&(row, _)| row < first);
        let is_stored = self.stored.get(next).is_some_and(|&(row, _)| row < end);
        match self.rows.weights {
            Weights::Same(weight) if weight > 0.0 && !is_stored => Some(weight),
            _ => None,
        }
    }

    /// Adds Σ αᵢx̃ᵢ with exact products to `sums`, and the rounding errors of the sums to `errors`. At a vertex most αᵢ are at an
    /// end of their range, which is often a power of two, and products with a power of two are exact without extra work.
    pub(super) fn add_exactly(
        &self,
        range: Range<usize>,
        alphas: &[f64],
        sums: &mut [f64],
        errors: &mut [f64],
    ) {
        let (design, features) = (self.rows.design, self.problem.layout().features);
        let mut powers = alphas.to_vec();
        for (i, alpha) in range
            .clone()
            .zip(&mut powers)
            .filter(|(_, alpha)| !is_power(**alpha))
        {
            let alpha = DoubleDouble::from(std::mem::take(alpha));
            match design.row(i) {
                Row::Dense32(x) => add_products(alpha, x, sums, errors),
                Row::Dense64(x) => add_products(alpha, x, sums, errors),
                row => row.for_each(|j, x| add_products(alpha, &[x], &mut sums[j..], &mut errors[j..])),
            }
        }
        design.add_rows_compensated(range, &powers, &mut sums[..features], &mut errors[..features]);
        if let (Some(sum), Some(error)) = (sums.get_mut(features), errors.get_mut(features)) {
            let own = sum_scaled(1.0, alphas);
            let (total, rounding) = two_sum(*sum, own.high);
            *sum = total;
            *error += rounding + own.low;
        }
    }

    /// Adds the losses and conjugates of rows with a common weight, computes their α, and keeps the rows with the most slack.
    pub(super) fn dualize_run(
        &self,
        range: Range<usize>,
        weight: f64,
        run_values: &mut RunValues,
        gathered: &mut Gathered,
    ) {
        let targets = &self.rows.targets[range.clone()];
        let (mut support, mut at_bound) = (0, 0);
        on_loss!(self.problem.loss(), loss => {
            let rows = targets.iter().zip(&run_values.slopes).zip(&mut run_values.alphas).zip(&mut run_values.slacks);
            for (((&target, &slope), alpha), slack) in rows {
                let (least, greatest) = loss.slopes(target);
                *alpha = -weight * slope;
                let free = (-weight * least - *alpha).min(*alpha + weight * greatest);
                support += u64::from(*alpha != 0.0);
                at_bound += u64::from(*alpha != 0.0 && free == 0.0);
                *slack = free.min(weight);
            }
        }, softmax => ());
        gathered.rows += range.len() as u64;
        gathered.support += support;
        gathered.at_bound += at_bound;
        gathered.loss.add(sum_scaled(weight, &run_values.values));
        gathered.conjugate.add(sum_scaled(weight, &run_values.conjugates));
        for ((i, &alpha), &slack) in range.zip(&run_values.alphas).zip(&run_values.slacks) {
            if gathered.wants(slack) {
                gathered.consider(self, i, weight, &[alpha], slack);
            }
        }
    }
}

/// Whether a number is 0 or a power of two, so that products with it are exact.
fn is_power(value: f64) -> bool {
    const FRACTION: u64 = (1 << (f64::MANTISSA_DIGITS - 1)) - 1;
    value.to_bits() & FRACTION == 0
}
