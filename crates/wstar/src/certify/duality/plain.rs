//! Rows with one output, many at a time: scores, losses, slopes, conjugates and multipliers of each are found by loops
//! over all of them, and only a row that a repair might move is looked at by itself.

use std::ops::Range;

use crate::certify::duality::pass::{Gathered, Span};
use crate::data::Row;
use crate::kernel::double_double::{DoubleDouble, add_products, sum_scaled, two_sum};
use crate::loss::{Loss, on_loss};
use crate::oracle::Weights;

/// What a run of rows with one output scores, the losses, slopes and conjugates there, and the multipliers, once found.
#[derive(Default)]
pub(super) struct Plain {
    scores: Vec<f64>,
    values: Vec<f64>,
    slopes: Vec<f64>,
    /// Of those slopes, and of nothing else: a loss that is wrong must not cancel out of the gap.
    conjugates: Vec<f64>,
    pub(super) alphas: Vec<f64>,
    /// How far those can move.
    rooms: Vec<f64>,
}

/// The same of one row.
#[derive(Clone, Copy)]
pub(super) struct Known {
    pub(super) score: f64,
    pub(super) value: f64,
    pub(super) slope: f64,
    pub(super) conjugate: f64,
}

impl Plain {
    pub(super) fn at(&self, i: usize) -> Known {
        Known {
            score: self.scores[i],
            value: self.values[i],
            slope: self.slopes[i],
            conjugate: self.conjugates[i],
        }
    }

    /// Makes room for so many rows, without multipliers yet.
    fn resize(&mut self, rows: usize) {
        let Plain {
            scores,
            values,
            slopes,
            conjugates,
            alphas,
            rooms,
        } = self;
        for each in [scores, values, slopes, conjugates, rooms] {
            each.resize(rows, 0.0);
        }
        alphas.clear();
        alphas.resize(rows, 0.0);
    }
}

impl Span<'_> {
    /// Scores, losses and slopes of rows with one output.
    pub(super) fn plainly(&self, range: Range<usize>, plain: &mut Plain) {
        let (w, b) = self.definition.layout.output(self.parameters, 0);
        plain.resize(range.len());
        self.rows.design.scores(range.clone(), w, &mut plain.scores);
        plain.scores.iter_mut().for_each(|score| *score += b);
        plain.slopes.copy_from_slice(&plain.scores);
        let targets = &self.rows.targets[range];
        on_loss!(self.definition.loss, loss => {
            loss.each(targets, &mut plain.slopes, &mut plain.values, None);
            loss.conjugates(targets, &plain.slopes, &mut plain.conjugates);
        }, softmax => ());
    }

    /// The weight of these rows, where all have the same, and multipliers are slopes.
    pub(super) fn alike(&self, range: Range<usize>) -> Option<f64> {
        let [first, end] = [range.start, range.end].map(|i| self.first_row + i as u64);
        let next = self.stored.partition_point(|&(row, _)| row < first);
        let is_stored = self.stored.get(next).is_some_and(|&(row, _)| row < end);
        match self.rows.weights {
            Weights::Same(weight) if weight > 0.0 && !is_stored => Some(weight),
            _ => None,
        }
    }

    /// Adds Σ αᵢx̃ᵢ with every digit of every product, what rounding takes off the sums to the errors. Most rows of a vertex
    /// have an α at an end of its range, which is often a power of two: their products are exact as they are.
    pub(super) fn add_exactly(
        &self,
        range: Range<usize>,
        alphas: &[f64],
        sums: &mut [f64],
        errors: &mut [f64],
    ) {
        let (design, features) = (self.rows.design, self.definition.layout.features);
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

    /// Adds the losses and conjugates of such rows, finds their α, and keeps those that can move furthest.
    pub(super) fn dualize_alike(
        &self,
        range: Range<usize>,
        weight: f64,
        plain: &mut Plain,
        gathered: &mut Gathered,
    ) {
        let targets = &self.rows.targets[range.clone()];
        let (mut support, mut at_bound) = (0, 0);
        on_loss!(self.definition.loss, loss => {
            let rows = targets.iter().zip(&plain.slopes).zip(&mut plain.alphas).zip(&mut plain.rooms);
            for (((&target, &slope), alpha), room) in rows {
                let (least, greatest) = loss.slopes(target);
                *alpha = -weight * slope;
                let free = (-weight * least - *alpha).min(*alpha + weight * greatest);
                support += u64::from(*alpha != 0.0);
                at_bound += u64::from(*alpha != 0.0 && free == 0.0);
                *room = free.min(weight);
            }
        }, softmax => ());
        gathered.rows += range.len() as u64;
        gathered.support += support;
        gathered.at_bound += at_bound;
        gathered.loss.add(sum_scaled(weight, &plain.values));
        gathered.conjugate.add(sum_scaled(weight, &plain.conjugates));
        for ((i, &alpha), &room) in range.zip(&plain.alphas).zip(&plain.rooms) {
            if gathered.wants(room) {
                self.consider(i, weight, &[alpha], room, gathered);
            }
        }
    }
}

/// Whether a number is 0 or a power of two, and no product with it is rounded.
fn is_power(value: f64) -> bool {
    const FRACTION: u64 = (1 << (f64::MANTISSA_DIGITS - 1)) - 1;
    value.to_bits() & FRACTION == 0
}
