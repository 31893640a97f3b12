//! The one pass over the rows: objective, conjugates, pulls, and the rows that can make up for a residual.

use std::sync::Arc;

use rayon::prelude::*;
use rustc_hash::FxHashSet;

use crate::certify::duality::plain::{Known, Plain};
use crate::certify::duality::repair::{is_together, is_worth_care};
use crate::certify::duality::{Care, Definition, DualPoint};
use crate::data::{Design, Row};
use crate::error::{Error, Result};
use crate::kernel::double_double::Compensated;
use crate::loss::{Loss, LossName, Softmax, VectorLoss, on_loss};
use crate::oracle::{Blocks, Rows};
use crate::problem::Intercept;

/// Rows whose sums are plain before they are added to compensated ones, at least and at most: with many short rows to
/// a column, adding up would take longer than the rows.
const RUN: usize = 256;
const LONGEST_RUN: usize = 1 << 13;
/// Entries of rows that are read twice, which a core's second cache has room for, of dense rows the first one; and the
/// fewest rows of them: those of a matrix that lies column by column share lines of memory.
const BLOCK_ENTRIES: usize = 1 << 17;
const DENSE_ENTRIES: usize = 1 << 11;
const LEAST_BLOCK: usize = 8;
/// Lanes over which a block of rows is spread, at least and at most: each has sums for every column, which must be worth it.
const FEWEST_LANES: usize = 4;
const MOST_LANES: usize = 8;
/// Entries to each sum of a lane.
const ENTRIES_A_SUM: usize = 8;
/// Rows with room that are kept beyond those that each constraint needs.
const SPARE: usize = 16;

/// A row whose multipliers can move.
#[derive(Debug, Clone)]
pub(super) struct Roomy {
    /// Which of all rows it is.
    row: u64,
    pub(super) target: f64,
    pub(super) weight: f64,
    /// α of each output.
    pub(super) alpha: Vec<f64>,
    /// Its features.
    pub(super) entries: Vec<(u32, f64)>,
    /// How far α can move before it leaves its range, or a fraction of the weight where there is no end.
    pub(super) room: f64,
}

impl Roomy {
    /// The share of class `k` in a row of softmax.
    pub(super) fn share(&self, k: usize) -> f64 {
        let own = if k == self.target as usize { 1.0 } else { 0.0 };
        (own - self.alpha[k] / self.weight).max(0.0)
    }
}

/// What a pass gathers.
#[derive(Debug, Clone)]
pub(super) struct Gathered {
    /// Σ cᵢ ℓ.
    pub(super) loss: Compensated,
    /// Σ cᵢ ℓ\*(−αᵢ/cᵢ).
    pub(super) conjugate: Compensated,
    /// X̃ᵀα, output by output.
    pub(super) pulls: Vec<Compensated>,
    pub(super) rows: u64,
    pub(super) support: u64,
    pub(super) at_bound: u64,
    /// The rows with most room, and for each feature that is constrained, then each output, the row that moves it
    /// best, where constraints need them.
    pub(super) roomy: Vec<Arc<Roomy>>,
    best: Vec<Option<Arc<Roomy>>>,
    /// How well each of those moves it; 0 where there is none.
    moved: Vec<f64>,
    /// The features among those.
    features: usize,
    /// Whether the outputs of softmax are repaired together.
    together: bool,
    most_roomy: usize,
    /// The room that a row must exceed to be among those with most.
    threshold: f64,
    /// Whether more rows would hardly be better.
    has_enough: bool,
}

/// How many equality constraints each output has: the parameters that no penalty sees.
pub(super) fn constrained(definition: &Definition) -> std::ops::Range<usize> {
    let layout = definition.layout;
    if definition.penalty.is_none() {
        0..layout.width()
    } else if definition.intercept == Intercept::Free && layout.intercept {
        layout.features..layout.width()
    } else {
        0..0
    }
}

impl Gathered {
    fn new(definition: &Definition, care: Care) -> Self {
        let constraints = match care {
            Care::Every if is_worth_care(definition) => definition.layout.width(),
            _ => constrained(definition).len(),
        };
        let layout = definition.layout;
        let features = if constraints > 1 { layout.features } else { 0 };
        let together = constraints > 0 && is_together(definition, constraints);
        let outputs = if together { layout.outputs } else { 0 };
        Gathered {
            loss: Compensated::default(),
            conjugate: Compensated::default(),
            pulls: vec![Compensated::default(); definition.layout.len()],
            rows: 0,
            support: 0,
            at_bound: 0,
            roomy: Vec::new(),
            // One row with room does for an intercept; weights need rows that tell them apart, and so do classes.
            best: vec![None; features + outputs],
            moved: vec![0.0; features + outputs],
            features,
            together,
            most_roomy: if constraints == 0 {
                0
            } else {
                2 * constraints + SPARE
            },
            threshold: 0.0,
            has_enough: false,
        }
    }

    fn merge(&mut self, other: Gathered) {
        // With what compensation has kept: lanes are far larger than their sum where that is to be 0.
        self.loss.add(other.loss.total());
        self.conjugate.add(other.conjugate.total());
        for (to, from) in self.pulls.iter_mut().zip(&other.pulls) {
            to.add(from.total());
        }
        self.rows += other.rows;
        self.support += other.support;
        self.at_bound += other.at_bound;
        other.roomy.into_iter().for_each(|row| self.keep(row));
        for (at, (row, better)) in other.best.into_iter().zip(other.moved).enumerate() {
            if better > self.moved[at] {
                (self.best[at], self.moved[at]) = (row, better);
            }
        }
    }

    /// Whether a row with room can be of use.
    pub(super) fn wants(&self, room: f64) -> bool {
        room > 0.0 && self.most_roomy > 0 && !self.has_enough
    }

    /// Of rows that can all move as far as they like, the best of some thousand are good enough: once there is one for
    /// every feature, no more are looked at.
    fn look_no_further(&mut self) {
        /// Rows that are looked at in any case.
        const LOOKED_AT: u64 = 1 << 12;
        self.has_enough = self.rows >= LOOKED_AT && self.moved.iter().all(|&moved| moved > 0.0);
    }

    /// Keeps a row among those with most room.
    fn keep(&mut self, row: Arc<Roomy>) {
        self.roomy.push(row);
        if self.roomy.len() >= 2 * self.most_roomy {
            self.roomy.sort_by(|a, b| b.room.total_cmp(&a.room));
            self.roomy.truncate(self.most_roomy);
            self.threshold = self.roomy.last().map_or(0.0, |row| row.room);
        }
    }

    /// The numbers of the rows that are kept for a repair.
    pub(super) fn kept(&self) -> FxHashSet<u64> {
        let rows = self.roomy.iter().chain(self.best.iter().flatten());
        rows.map(|row| row.row).collect()
    }

    /// All rows that may move: those with most room, and each feature's best.
    pub(super) fn movable(&mut self) -> Vec<Arc<Roomy>> {
        self.roomy.sort_by(|a, b| b.room.total_cmp(&a.room));
        self.roomy.truncate(self.most_roomy);
        let mut rows = std::mem::take(&mut self.roomy);
        for row in self.best.drain(..).flatten() {
            if !rows.iter().any(|known| Arc::ptr_eq(known, &row)) {
                rows.push(row);
            }
        }
        rows
    }
}

/// The multiplier, for a weight of 1, that lies at this share of the way between its ends; t/(1 + t) of the way if it
/// is t away from the only one; the share itself if there are none.
pub(crate) fn multiplier(least: f64, greatest: f64, share: f64) -> f64 {
    match (least.is_finite(), greatest.is_finite()) {
        (true, true) => -greatest + share * (greatest - least),
        (true, false) => -share / (1.0 - share) - least,
        (false, true) => share / (1.0 - share) - greatest,
        (false, false) => share,
    }
}

/// w·x + b with every digit of every product.
fn careful_score(row: Row<'_>, w: &[f64], b: f64) -> f64 {
    let mut sum = Compensated::default();
    row.for_each(|j, x| sum.add_product(w[j], x));
    sum.add(b);
    sum.value()
}

/// Passes over all rows once.
pub(super) fn gather(
    blocks: &mut dyn Blocks,
    definition: &Definition,
    parameters: &[f64],
    dual_point: &DualPoint,
    care: Care,
) -> Result<Gathered> {
    let stored = match dual_point {
        DualPoint::Slopes => Vec::new(),
        DualPoint::Stored(stored) => stored.pairs()?,
    };
    if definition.loss != LossName::Squared && stored.iter().any(|(_, share)| !(0.0..=1.0).contains(share)) {
        return Err(Error::model("a stored multiplier lies outside its range"));
    }
    let mut total = Gathered::new(definition, care);
    let mut first_row = 0u64;
    blocks.pass(&mut |rows| {
        let end = first_row + rows.len() as u64;
        let from = stored.partition_point(|(row, _)| *row < first_row);
        let to = stored.partition_point(|(row, _)| *row < end);
        let span = Span {
            rows,
            definition,
            parameters,
            stored: &stored[from..to],
            first_row,
            care,
        };
        let entries = rows.design.stored() / ENTRIES_A_SUM;
        let count = (entries / definition.layout.len().max(1)).clamp(FEWEST_LANES, MOST_LANES);
        let lanes: Vec<Gathered> = (0..count)
            .into_par_iter()
            .map(|lane| span.gather(rows.len() * lane / count..rows.len() * (lane + 1) / count))
            .collect();
        lanes.into_iter().for_each(|lane| total.merge(lane));
        first_row = end;
        Ok(())
    })?;
    if stored.last().is_some_and(|(row, _)| *row >= first_row) {
        return Err(Error::model(
            "multipliers are stored for rows that the data do not have",
        ));
    }
    Ok(total)
}

/// A block of rows, and what is known of them.
pub(super) struct Span<'a> {
    pub(super) rows: &'a Rows<'a>,
    pub(super) definition: &'a Definition,
    pub(super) parameters: &'a [f64],
    pub(super) stored: &'a [(u64, f64)],
    pub(super) first_row: u64,
    care: Care,
}

impl Span<'_> {
    fn gather(&self, range: std::ops::Range<usize>) -> Gathered {
        let layout = self.definition.layout;
        let mut gathered = Gathered::new(self.definition, self.care);
        let mut pulls = vec![0.0; layout.len()];
        // What rounding takes off those, where it is kept.
        let kept = if self.definition.has_vertices() {
            layout.len()
        } else {
            0
        };
        let mut errors = vec![0.0; kept];
        let mut alpha = vec![0.0; layout.outputs];
        let mut scores = vec![0.0; layout.outputs];
        let design = self.rows.design;
        let entries = design.stored() / design.rows().max(1);
        let run = (4 * layout.width() / entries.max(1)).clamp(RUN, LONGEST_RUN);
        // Scores and pulls of long rows are taken while they are in the cache.
        let room = match design {
            Design::Dense64(_) => DENSE_ENTRIES,
            _ => BLOCK_ENTRIES,
        };
        let block = (room / entries.max(1)).clamp(LEAST_BLOCK, run);
        let mut plain = (layout.outputs == 1 && self.care == Care::Plain).then(Plain::default);
        let mut start = range.start;
        let mut summed = start;
        let first = self.first_row + start as u64;
        let mut stored = self.stored[self.stored.partition_point(|(row, _)| *row < first)..]
            .iter()
            .peekable();
        while start < range.end {
            let end = (start + block).min(range.end).min(summed + run);
            if let Some(plain) = &mut plain {
                self.plainly(start..end, plain);
            }
            let alike = match (&mut plain, self.alike(start..end)) {
                (Some(plain), Some(weight)) => {
                    self.dualize_alike(start..end, weight, plain, &mut gathered);
                    true
                }
                _ => false,
            };
            let singly = if alike { end..end } else { start..end };
            for i in singly {
                let weight = self.rows.weights.get(i);
                if weight == 0.0 {
                    continue;
                }
                gathered.rows += 1;
                let row = self.rows.design.row(i);
                let known = plain.as_ref().map(|plain| plain.at(i - start));
                for (k, score) in scores.iter_mut().enumerate() {
                    let (w, b) = layout.output(self.parameters, k);
                    *score = match (known, self.care) {
                        (Some(known), _) => known.score,
                        (None, Care::Plain) => row.dot(w) + b,
                        (None, Care::Every) => careful_score(row, w, b),
                    };
                }
                let row_number = self.first_row + i as u64;
                while stored.next_if(|(row, _)| *row < row_number).is_some() {}
                let told = stored
                    .next_if(|(row, _)| *row == row_number)
                    .map(|(_, share)| *share);
                let room = self.dualize(i, weight, &scores, (known, told), &mut alpha, &mut gathered);
                for (k, &alpha) in alpha.iter().enumerate().filter(|(_, alpha)| **alpha != 0.0) {
                    if self.care == Care::Every {
                        let own = &mut gathered.pulls[k * layout.width()..(k + 1) * layout.width()];
                        row.for_each(|j, x| own[j].add_product(alpha, x));
                        if let Some(intercept) = own.get_mut(layout.features) {
                            intercept.add(alpha);
                        }
                        continue;
                    }
                    if let Some(plain) = &mut plain {
                        plain.alphas[i - start] = alpha;
                        continue;
                    }
                    let own = &mut pulls[k * layout.width()..(k + 1) * layout.width()];
                    row.add_to(alpha, &mut own[..layout.features]);
                    if let Some(intercept) = own.get_mut(layout.features) {
                        *intercept += alpha;
                    }
                }
                if gathered.wants(room) {
                    self.consider(i, weight, &alpha, room, &mut gathered);
                }
            }
            if let Some(plain) = &plain
                && self.definition.has_vertices()
            {
                self.add_exactly(start..end, &plain.alphas, &mut pulls, &mut errors);
            } else if let Some(plain) = &plain {
                design.add_rows(start..end, &plain.alphas, &mut pulls[..layout.features]);
                if let Some(intercept) = pulls.get_mut(layout.features) {
                    *intercept += plain.alphas.iter().sum::<f64>();
                }
            }
            start = end;
            if end < range.end.min(summed + run) {
                continue;
            }
            for sums in [&mut pulls, &mut errors] {
                for (total, sum) in gathered.pulls.iter_mut().zip(sums) {
                    total.add(std::mem::take(sum));
                }
            }
            summed = end;
            if self.definition.loss == LossName::Squared {
                gathered.look_no_further();
            }
        }
        gathered
    }

    /// Adds a row's loss and conjugate, finds its α, from what is known of the row and the share that is stored for it, if any,
    /// and tells how far that can move.
    fn dualize(
        &self,
        i: usize,
        weight: f64,
        scores: &[f64],
        (known, told): (Option<Known>, Option<f64>),
        alpha: &mut [f64],
        gathered: &mut Gathered,
    ) -> f64 {
        let target = self.rows.targets[i];
        on_loss!(self.definition.loss, loss => {
            let score = scores[0];
            let (value, own) = match known {
                Some(known) => (known.value, known.slope),
                None => (loss.value(target, score), loss.slope(target, score)),
            };
            gathered.loss.add(weight * value);
            let (least, greatest) = loss.slopes(target);
            let (slope, conjugate) = match told {
                Some(share) => {
                    // Slopes that are no binary fractions may miss their own ends by a rounding.
                    let told = -multiplier(least, greatest, share);
                    (told.clamp(least, greatest), None)
                }
                None => (own, known.map(|known| known.conjugate)),
            };
            alpha[0] = -weight * slope;
            let conjugate = conjugate.unwrap_or_else(|| loss.conjugate(target, slope));
            gathered.conjugate.add(weight * conjugate);
            let room = (-weight * least - alpha[0]).min(alpha[0] + weight * greatest);
            gathered.support += u64::from(alpha[0] != 0.0);
            gathered.at_bound += u64::from(alpha[0] != 0.0 && room == 0.0);
            room.min(weight)
        }, softmax => {
            alpha.copy_from_slice(scores);
            let class = target as usize;
            gathered.loss.add(weight * Softmax.value_and_gradient(class, alpha));
            gathered.conjugate.add(weight * Softmax.conjugate(class, alpha));
            let share = |k: usize| alpha[k] + f64::from(u8::from(k == class));
            let shares = (0..alpha.len()).map(share);
            let room = match gathered.together {
                // The second largest: what two classes can exchange.
                true => shares.fold((0.0, 0.0), |(first, second), p| {
                    (f64::max(first, p), f64::max(second, f64::min(first, p)))
                }).1,
                false => shares.fold(1.0, f64::min),
            };
            alpha.iter_mut().for_each(|slope| *slope *= -weight);
            gathered.support += 1;
            weight * room
        })
    }

    /// Keeps a row that can move, if it can move further than those that are kept.
    pub(super) fn consider(&self, i: usize, weight: f64, alpha: &[f64], room: f64, gathered: &mut Gathered) {
        let row = self.rows.design.row(i);
        let features = gathered.features;
        let class = self.rows.targets[i] as usize;
        // How well the row moves each feature, and each output of softmax.
        let moves = |visit: &mut dyn FnMut(usize, f64)| {
            if features > 0 {
                row.for_each(|j, x| {
                    if x != 0.0 {
                        visit(j, room * x.abs());
                    }
                });
            }
            let outputs = gathered.best.len() - features;
            for (k, alpha) in alpha.iter().enumerate().take(outputs) {
                let share = f64::from(u8::from(k == class)) - alpha / weight;
                visit(features + k, weight * share.min(1.0 - share));
            }
        };
        let roomiest = room > gathered.threshold;
        // Few rows move any feature better than all before them.
        let plainly = gathered.best.len() == features;
        if !roomiest && (features == 0 || !row.exceeds(room, &gathered.moved)) && plainly {
            return;
        }
        let mut betters: Vec<(usize, f64)> = Vec::new();
        if !gathered.best.is_empty() {
            moves(&mut |at, moved| {
                if moved > gathered.moved[at] {
                    betters.push((at, moved));
                }
            });
        }
        if !roomiest && betters.is_empty() {
            return;
        }
        let mut entries = Vec::with_capacity(row.stored());
        row.for_each(|j, x| {
            if x != 0.0 {
                entries.push((j as u32, x));
            }
        });
        let kept = Arc::new(Roomy {
            row: self.first_row + i as u64,
            target: self.rows.targets[i],
            weight,
            alpha: alpha.to_vec(),
            entries,
            room,
        });
        for (at, moved) in betters {
            (gathered.best[at], gathered.moved[at]) = (Some(Arc::clone(&kept)), moved);
        }
        if roomiest {
            gathered.keep(kept);
        }
    }
}
