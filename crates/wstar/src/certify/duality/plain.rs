//! Rows with one output, many at a time: scores, losses, slopes, conjugates and multipliers of each are found by loops
//! over all of them, and only a row that a repair might move is looked at by itself.

use std::ops::Range;

use crate::certify::duality::pass::{Gathered, Span};
use crate::kernel::double_double::sum_scaled;
use crate::loss::{Loss, on_loss};
use crate::oracle::Weights;

/// What a run of rows with one output scores, the losses, slopes and conjugates there, and the multipliers, once found.
pub(super) struct Plain {
    scores: Vec<f64>,
    values: Vec<f64>,
    slopes: Vec<f64>,
    /// Of those slopes, and of nothing else: a loss that is wrong must not cancel out of the gap.
    conjugates: Vec<f64>,
    pub(super) alphas: Vec<f64>,
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
}

impl Span<'_> {
    /// Scores, losses and slopes of rows with one output.
    pub(super) fn plainly(&self, range: Range<usize>) -> Plain {
        let (w, b) = self.definition.layout.output(self.parameters, 0);
        let mut scores = vec![0.0; range.len()];
        self.rows.design.scores(range.clone(), w, &mut scores);
        scores.iter_mut().for_each(|score| *score += b);
        let (mut slopes, mut values) = (scores.clone(), vec![0.0; scores.len()]);
        let (mut conjugates, alphas) = (values.clone(), values.clone());
        let targets = &self.rows.targets[range];
        on_loss!(self.definition.loss, loss => {
            loss.each(targets, &mut slopes, &mut values, None);
            loss.conjugates(targets, &slopes, &mut conjugates);
        }, softmax => ());
        Plain {
            scores,
            values,
            slopes,
            conjugates,
            alphas,
        }
    }

    /// The weight of every row, where all have the same, and multipliers are slopes.
    pub(super) fn alike(&self) -> Option<f64> {
        match self.rows.weights {
            Weights::Same(weight) if weight > 0.0 && self.stored.is_empty() => Some(weight),
            _ => None,
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
        let mut rooms = vec![0.0; targets.len()];
        let (mut support, mut at_bound) = (0, 0);
        on_loss!(self.definition.loss, loss => {
            let rows = targets.iter().zip(&plain.slopes).zip(&mut plain.alphas).zip(&mut rooms);
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
        for ((i, &alpha), &room) in range.zip(&plain.alphas).zip(&rooms) {
            if gathered.wants(room) {
                self.consider(i, weight, &[alpha], room, gathered);
            }
        }
    }
}
