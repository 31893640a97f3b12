//! One pass over the rows: the loss, the conjugates, X̃ᵀα, and the rows whose multipliers can cancel a residual of the
//! constraints.

use rayon::prelude::*;

use crate::duality::constraints::Care;
use crate::duality::dual_point::DualPoint;
use crate::duality::gathered_sums::Gathered;
use crate::duality::single_output::{RowValues, RunValues};
use crate::duality::span::Span;
use crate::duality::stored_multipliers::multiplier;
use wstar_data::error::{Error, Result};
use wstar_data::{Design, Row};
use wstar_numeric::double_double::Compensated;
use wstar_problem::loss::{Loss, LossName, Softmax, VectorLoss};
use wstar_problem::objective::Blocks;
use wstar_problem::on_loss;
use wstar_problem::problem::Problem;

/// The least number of rows of a run, which is summed without compensation before its sums are added to compensated ones. The
/// error bound of `docs/proofs.md` depends on it. Heuristic: time against rounding; not measured yet.
const RUN: usize = 256;
/// The most rows of a run. Runs are longer where rows are short and columns many, because adding the sums of a run would take
/// longer than its rows. Cap: bounds the rounding error, as in `docs/proofs.md`.
const LONGEST_RUN: usize = 1 << 13;
/// Entries of a block of sparse rows, which is read twice. Heuristic: should fit into the L2 cache; not measured yet.
const BLOCK_ENTRIES: usize = 1 << 17;
/// Entries of a block of dense rows, which is read twice. Heuristic: should fit into the L1 cache; not measured yet.
const DENSE_ENTRIES: usize = 1 << 11;
/// The fewest rows of a block. Derived: in a column-major matrix eight doubles of consecutive rows share a cache line.
const LEAST_BLOCK: usize = 8;
/// The fewest ranges of rows summed in parallel. Heuristic: parallelism against the cost of merging; not measured yet.
const FEWEST_LANES: usize = 4;
/// The most ranges of rows summed in parallel. Cap: more threads than these stay idle.
const MOST_LANES: usize = 8;
/// The least number of stored entries per accumulated number of a lane. Heuristic: as above; not measured yet.
const ENTRIES_A_SUM: usize = 8;

/// w·x + b with exact products and compensated summation.
fn careful_score(row: Row<'_>, w: &[f64], b: f64) -> f64 {
    let mut sum = Compensated::default();
    row.for_each(|j, x| sum.add_product(w[j], x));
    sum.add(b);
    sum.value()
}

/// Gathers the sums of the dual point in one pass over all rows.
pub(super) fn gather(
    blocks: &mut dyn Blocks,
    problem: &Problem,
    parameters: &[f64],
    dual_point: &DualPoint,
    care: Care,
) -> Result<Gathered> {
    let stored = match dual_point {
        DualPoint::Slopes => Vec::new(),
        DualPoint::Stored(stored) => stored.pairs()?,
    };
    if problem.loss() != LossName::Squared && stored.iter().any(|(_, share)| !(0.0..=1.0).contains(share)) {
        return Err(Error::model("a stored multiplier lies outside its range"));
    }
    let mut total = Gathered::new(problem, care);
    let mut first_row = 0u64;
    blocks.pass(&mut |rows| {
        let end = first_row + rows.len() as u64;
        let from = stored.partition_point(|(row, _)| *row < first_row);
        let to = stored.partition_point(|(row, _)| *row < end);
        let span = Span {
            rows,
            problem,
            parameters,
            stored: &stored[from..to],
            first_row,
            care,
        };
        let entries = rows.design.stored() / ENTRIES_A_SUM;
        let count = (entries / problem.layout().len().max(1)).clamp(FEWEST_LANES, MOST_LANES);
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

impl Span<'_> {
    fn gather(&self, range: std::ops::Range<usize>) -> Gathered {
        let layout = self.problem.layout();
        let mut gathered = Gathered::new(self.problem, self.care);
        let mut products = vec![0.0; layout.len()];
        // The rounding errors of `products`, which are needed only at a vertex.
        let kept = if self.problem.has_vertices() {
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
        // Scores and X̃ᵀα are computed block by block, while the rows are in the cache.
        let most_entries = match design {
            Design::Dense64(_) => DENSE_ENTRIES,
            _ => BLOCK_ENTRIES,
        };
        let block = (most_entries / entries.max(1)).clamp(LEAST_BLOCK, run);
        let mut run_values = (layout.outputs == 1 && self.care == Care::Rounded).then(RunValues::default);
        let mut start = range.start;
        let mut summed = start;
        let first = self.first_row + start as u64;
        let mut stored = self.stored[self.stored.partition_point(|(row, _)| *row < first)..]
            .iter()
            .peekable();
        while start < range.end {
            let end = (start + block).min(range.end).min(summed + run);
            if let Some(run_values) = &mut run_values {
                self.evaluate(start..end, run_values);
            }
            let common_weight = match (&mut run_values, self.common_weight(start..end)) {
                (Some(run_values), Some(weight)) => {
                    self.dualize_run(start..end, weight, run_values, &mut gathered);
                    true
                }
                _ => false,
            };
            let singly = if common_weight { end..end } else { start..end };
            for i in singly {
                let weight = self.rows.weights.get(i);
                if weight == 0.0 {
                    continue;
                }
                gathered.rows += 1;
                let row = self.rows.design.row(i);
                let known = run_values.as_ref().map(|run_values| run_values.at(i - start));
                for (k, score) in scores.iter_mut().enumerate() {
                    let (w, b) = layout.output(self.parameters, k);
                    *score = match (known, self.care) {
                        (Some(known), _) => known.score,
                        (None, Care::Rounded) => row.dot(w) + b,
                        (None, Care::Exact) => careful_score(row, w, b),
                    };
                }
                let row_number = self.first_row + i as u64;
                while stored.next_if(|(row, _)| *row < row_number).is_some() {}
                let stored_share = stored
                    .next_if(|(row, _)| *row == row_number)
                    .map(|(_, share)| *share);
                let slack = self.dualize(
                    i,
                    weight,
                    &scores,
                    (known, stored_share),
                    &mut alpha,
                    &mut gathered,
                );
                for (k, &alpha) in alpha.iter().enumerate().filter(|(_, alpha)| **alpha != 0.0) {
                    if self.care == Care::Exact {
                        let own = &mut gathered.products[k * layout.width()..(k + 1) * layout.width()];
                        row.for_each(|j, x| own[j].add_product(alpha, x));
                        if let Some(intercept) = own.get_mut(layout.features) {
                            intercept.add(alpha);
                        }
                        continue;
                    }
                    if let Some(run_values) = &mut run_values {
                        run_values.alphas[i - start] = alpha;
                        continue;
                    }
                    let own = &mut products[k * layout.width()..(k + 1) * layout.width()];
                    row.add_to(alpha, &mut own[..layout.features]);
                    if let Some(intercept) = own.get_mut(layout.features) {
                        *intercept += alpha;
                    }
                }
                if gathered.wants(slack) {
                    gathered.consider(self, i, weight, &alpha, slack);
                }
            }
            if let Some(run_values) = &run_values
                && self.problem.has_vertices()
            {
                self.add_exactly(start..end, &run_values.alphas, &mut products, &mut errors);
            } else if let Some(run_values) = &run_values {
                design.add_rows(start..end, &run_values.alphas, &mut products[..layout.features]);
                if let Some(intercept) = products.get_mut(layout.features) {
                    *intercept += run_values.alphas.iter().sum::<f64>();
                }
            }
            start = end;
            if end < range.end.min(summed + run) {
                continue;
            }
            for sums in [&mut products, &mut errors] {
                for (total, sum) in gathered.products.iter_mut().zip(sums) {
                    total.add(std::mem::take(sum));
                }
            }
            summed = end;
            if self.problem.loss() == LossName::Squared {
                gathered.stop_looking();
            }
        }
        gathered
    }

    /// Adds the loss and the conjugate of a row, computes its α and returns the slack. `known` are the values of the row if
    /// they have been computed, and `stored` is its stored share, if any.
    fn dualize(
        &self,
        i: usize,
        weight: f64,
        scores: &[f64],
        (known, stored): (Option<RowValues>, Option<f64>),
        alpha: &mut [f64],
        gathered: &mut Gathered,
    ) -> f64 {
        let target = self.rows.targets[i];
        on_loss!(self.problem.loss(), loss => {
            let score = scores[0];
            let (value, own) = match known {
                Some(known) => (known.value, known.slope),
                None => (loss.value(target, score), loss.slope(target, score)),
            };
            gathered.loss.add(weight * value);
            let (least, greatest) = loss.slopes(target);
            let (slope, conjugate) = match stored {
                Some(share) => {
                    // Rounding may put the slope just outside its range if the ends are not binary fractions.
                    let slope = -multiplier(least, greatest, share);
                    (slope.clamp(least, greatest), None)
                }
                None => (own, known.map(|known| known.conjugate)),
            };
            alpha[0] = -weight * slope;
            let conjugate = conjugate.unwrap_or_else(|| loss.conjugate(target, slope));
            gathered.conjugate.add(weight * conjugate);
            let slack = (-weight * least - alpha[0]).min(alpha[0] + weight * greatest);
            gathered.support += u64::from(alpha[0] != 0.0);
            gathered.at_bound += u64::from(alpha[0] != 0.0 && slack == 0.0);
            slack.min(weight)
        }, softmax => {
            alpha.copy_from_slice(scores);
            let class = target as usize;
            gathered.loss.add(weight * Softmax.value_and_gradient(class, alpha));
            gathered.conjugate.add(weight * Softmax.conjugate(class, alpha));
            let share = |k: usize| alpha[k] + f64::from(u8::from(k == class));
            let shares = (0..alpha.len()).map(share);
            let slack = match gathered.joint {
                // The second largest probability: the amount that two classes can exchange.
                true => shares.fold((0.0, 0.0), |(first, second), p| {
                    (f64::max(first, p), f64::max(second, f64::min(first, p)))
                }).1,
                false => shares.fold(1.0, f64::min),
            };
            alpha.iter_mut().for_each(|slope| *slope *= -weight);
            gathered.support += 1;
            weight * slack
        })
    }
}
