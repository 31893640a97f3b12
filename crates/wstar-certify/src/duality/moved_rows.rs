//! Rows whose multipliers are changed, so that the dual point fits the columns better: the slopes of the loss at another point w + v for
//! smooth losses, and α − k(x̃·v) on the kinks of the others. Any v gives a valid dual point.
//!
//! At αᵢ = −cᵢℓ'(zᵢ) the condition Xᵀα = l2·w is violated by the gradient g of the objective, which costs ‖g‖²/(2·l2). With many rows
//! that is thousands of times ½gᵀH⁻¹g ≈ P − P\*. At v = (G + l2·I)⁻¹g, where G is the Hessian over the changed rows, it costs
//! ½gᵀ(G + l2·I)⁻¹g. Over all rows this is the dual point of a Newton step, and G costs as much as a Hessian. Over one row in
//! sixteen the gap is about sixteen times P − P\*, at a small fraction of that cost.

use std::ops::Range;

use rayon::prelude::*;

use crate::duality::careful_pass::multiplier;
use crate::duality::claim_sums::{Claim, ClaimSums};
use crate::duality::column_defects::ColumnProduct;
use crate::duality::error_bounds::upwards;
use crate::duality::row_dual::{Multiplier, Residual, Score, residual_slope, sign};
use crate::duality::softmax_dual::{ClassScores, SoftmaxDual};
use wstar_data::error::Result;
use wstar_data::{Design, Row};
use wstar_numeric::double_double::Compensated;
use wstar_problem::looseness::ONE_IN;
use wstar_problem::loss::LossName;
use wstar_problem::objective::Blocks;

/// The least number of changed rows per parameter. Heuristic: conditioning of G against time; not measured yet.
const ROWS_EACH: u64 = 20;
/// The fewest rows that are changed. Heuristic: enough that some have slack; not measured yet.
const FEW_ROWS: u64 = 256;
/// The most changed rows. Cap: with more rows the gap is wider than [`ONE_IN`] times P − P\*.
const MOST_ROWS: u64 = 1 << 18;
/// Ranges of the rows that are summed in parallel. Heuristic: parallelism against one Gram matrix per range; not measured yet.
const LANES: usize = 8;

/// The rows that are changed.
pub(super) struct MovedRows {
    pub(super) design: Design,
    pub(super) targets: Vec<f64>,
    pub(super) weights: Vec<f64>,
    pub(super) rows: Rows,
}

/// What a row's multipliers are computed from, and the multipliers in the sums of the pass.
pub(super) enum Rows {
    Single(Vec<(Residual, Multiplier)>),
    Classes(Vec<ClassScores>),
}

/// The dual point of the changed rows.
pub(super) struct Moved {
    /// X̃ᵀα over all rows.
    pub(super) products: Vec<ColumnProduct>,
    /// The multipliers of the changed rows.
    pub(super) duals: Duals,
    /// A bound on the sum of their defects.
    pub(super) defects: f64,
}

/// The multipliers of the changed rows.
pub(super) enum Duals {
    Single(Vec<Multiplier>),
    Classes(Vec<SoftmaxDual>),
}

/// Which rows may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Movable {
    /// Those with a stored multiplier.
    Stored,
    /// A few, which suffice for a move onto constraints that are nearly satisfied.
    Few,
    /// A sample of one row in [`ONE_IN`].
    Sample,
}

/// One row in this many is changed.
pub(super) fn one_in(claim: &Claim<'_>, rows: u64, movable: Movable) -> u64 {
    let problem = claim.problem;
    let width = if movable == Movable::Few && !problem.penalty().is_none() {
        1
    } else {
        problem.layout().width() as u64
    };
    let share = match movable {
        Movable::Sample => rows / ONE_IN,
        _ => FEW_ROWS,
    };
    let enough = share.max(ROWS_EACH * width).min(MOST_ROWS);
    (rows / enough.max(1)).max(1)
}

/// Whether a row is changed: Fibonacci hashing of its index, which does not coincide with a periodic pattern in the data.
fn is_chosen(row: u64, one_in: u64) -> bool {
    let share = row.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    share <= u64::MAX / one_in
}

impl MovedRows {
    /// Draws the rows. With `inwards`, their multipliers in the sums of the pass were moved into their range.
    pub(super) fn draw(
        blocks: &mut dyn Blocks,
        claim: &Claim<'_>,
        rows: u64,
        movable: Movable,
        inwards: bool,
    ) -> Result<Self> {
        let one_in = one_in(claim, rows, movable);
        let mut parts: Vec<MovedRows> = Vec::new();
        claim.pass(blocks, &mut |rows, first| {
            let is_moved = |i: &usize| {
                let row = first + *i as u64;
                rows.weights.get(*i) > 0.0
                    && match movable {
                        Movable::Stored => true,
                        Movable::Few | Movable::Sample => is_chosen(row, one_in),
                    }
            };
            let picked: Vec<usize> = match movable {
                Movable::Stored => claim
                    .shares(first..first + rows.len() as u64)
                    .iter()
                    .map(|&(row, _)| (row - first) as usize)
                    .filter(is_moved)
                    .collect(),
                Movable::Few | Movable::Sample => (0..rows.len()).filter(is_moved).collect(),
            };
            let own = MovedRows {
                design: rows.design.select(&picked),
                targets: picked.iter().map(|&i| rows.targets[i]).collect(),
                weights: picked.iter().map(|&i| rows.weights.get(i)).collect(),
                rows: Rows::Single(Vec::new()),
            };
            parts.push(own.with_scores(claim, |at| claim.share(first + picked[at] as u64), inwards));
            Ok(())
        })?;
        match parts.len() {
            1 => Ok(parts.remove(0)),
            _ => MovedRows::joined(claim, parts),
        }
    }

    /// The rows of the chunks of a file.
    fn joined(claim: &Claim<'_>, parts: Vec<MovedRows>) -> Result<Self> {
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in parts.iter().flat_map(|part| part.design.iter()) {
            row.for_each(|j, x| {
                if x != 0.0 {
                    columns.push(j as u32);
                    values.push(x);
                }
            });
            starts.push(values.len());
        }
        let features = claim.problem.layout().features;
        let mut joined = MovedRows {
            design: Design::from_csr(starts, columns, values, features)?,
            targets: Vec::new(),
            weights: Vec::new(),
            rows: match claim.problem.loss() {
                LossName::Softmax => Rows::Classes(Vec::new()),
                _ => Rows::Single(Vec::new()),
            },
        };
        for part in parts {
            joined.targets.extend(part.targets);
            joined.weights.extend(part.weights);
            match (&mut joined.rows, part.rows) {
                (Rows::Single(rows), Rows::Single(more)) => rows.extend(more),
                (Rows::Classes(rows), Rows::Classes(more)) => rows.extend(more),
                _ => {}
            }
        }
        Ok(joined)
    }

    pub(super) fn len(&self) -> usize {
        self.targets.len()
    }

    fn with_scores(
        mut self,
        claim: &Claim<'_>,
        share: impl Fn(usize) -> Option<f64> + Sync,
        inwards: bool,
    ) -> Self {
        let (loss, layout) = (claim.problem.loss(), claim.problem.layout());
        let rows = 0..self.len();
        self.rows = match loss {
            LossName::Softmax => Rows::Classes(
                rows.into_par_iter()
                    .map(|i| ClassScores::new(self.design.row(i), claim, self.targets[i] as usize))
                    .collect(),
            ),
            _ => Rows::Single(
                rows.into_par_iter()
                    .map(|i| {
                        let (c, y) = (self.weights[i], self.targets[i]);
                        let output = layout.output(claim.parameters, 0);
                        let score = Score::new(self.design.row(i), output, claim.rounding);
                        let residual = Residual::new(loss, y, score, claim.rounding);
                        let own = multiplier(claim, c, y, residual, share(i), inwards);
                        (residual, own)
                    })
                    .collect(),
            ),
        };
        self
    }

    /// The results of `run` for the row ranges of all lanes, in order.
    pub(super) fn lanes<T: Send>(&self, run: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
        let rows = self.len();
        (0..LANES)
            .into_par_iter()
            .map(|lane| run(rows * lane / LANES..rows * (lane + 1) / LANES))
            .collect()
    }

    /// The dual point at v; without v that of the pass. `recomputed` is whether the multipliers of the pass may differ from those
    /// of this module by rounding.
    pub(super) fn at(
        &self,
        claim: &Claim<'_>,
        sums: &ClaimSums,
        v: Option<&[f64]>,
        recomputed: bool,
    ) -> Moved {
        let layout = claim.problem.layout();
        let rounding = claim.rounding;
        let lanes = self.lanes(|rows| self.change(claim, rows, v));
        let mut products = sums.products.clone();
        let mut errors = sums.errors.clone();
        let (mut size, mut weight, mut total, mut defects) = (0.0, 0.0, 0.0, 0.0);
        let mut duals = match &self.rows {
            Rows::Single(_) => Duals::Single(Vec::new()),
            Rows::Classes(_) => Duals::Classes(Vec::new()),
        };
        for lane in lanes {
            for (to, from) in products.iter_mut().zip(lane.products) {
                to.add(from.total());
            }
            size += lane.size;
            weight += lane.weight;
            total += lane.total;
            defects += lane.defects;
            match (&mut duals, lane.duals) {
                (Duals::Single(duals), Duals::Single(more)) => duals.extend(more),
                (Duals::Classes(duals), Duals::Classes(more)) => duals.extend(more),
                _ => {}
            }
        }
        let terms = 8 * self.len() * layout.outputs;
        // The curvature of every loss is at most 2; exponentials err by less than 64u in all, and shares of K classes by 4K u more.
        let units = (64 + 4 * layout.outputs) as f64 * rounding.unit();
        let of_pass = match recomputed {
            true => 4.0 * weight * sums.score_error + units * (total + weight),
            false => 0.0,
        };
        for (at, error) in errors.iter_mut().enumerate() {
            let largest = sums.largest[at % layout.width()];
            *error = upwards(*error + rounding.compensated(size * largest, terms) + of_pass * largest);
        }
        Moved {
            products: products
                .iter()
                .zip(errors)
                .map(|(product, error)| ColumnProduct {
                    value: product.total(),
                    error,
                })
                .collect(),
            duals,
            defects: upwards(defects),
        }
    }

    /// The change of a range of rows.
    fn change(&self, claim: &Claim<'_>, rows: Range<usize>, v: Option<&[f64]>) -> Change {
        let (loss, layout, rounding) = (claim.problem.loss(), claim.problem.layout(), claim.rounding);
        let width = layout.width();
        let mut change = Change::new(layout.len(), loss);
        for i in rows {
            let (c, y, row) = (self.weights[i], self.targets[i], self.design.row(i));
            change.weight += c;
            match &self.rows {
                Rows::Single(known) => {
                    let (residual, base) = known[i];
                    let sign = sign(loss, y);
                    let own = match v {
                        None => base,
                        Some(v) => {
                            let along = along(row, layout.output(v, 0));
                            moved(loss, c, y, residual, base, along)
                        }
                    };
                    change.defects += own.defect(loss, c, 0.0, residual, rounding);
                    change.total += own.value().abs() + base.value().abs();
                    if own != base {
                        let terms = [own.high, own.low, -base.high, -base.low].map(|term| sign * term);
                        change.add(row, 0, &terms, layout.features, width);
                    }
                    change.push(own);
                }
                Rows::Classes(known) => {
                    let scores = &known[i];
                    let base = SoftmaxDual::new(scores, None);
                    let own = match v {
                        None => SoftmaxDual::new(scores, None),
                        Some(v) => {
                            let shift: Vec<f64> = (0..layout.outputs)
                                .map(|k| along(row, layout.output(v, k)))
                                .collect();
                            let moved = SoftmaxDual::new(scores, Some(&shift));
                            for k in 0..layout.outputs {
                                let (to, from) = (moved.multiplier(k, c), base.multiplier(k, c));
                                let terms = [to.high, to.low, -from.high, -from.low];
                                change.add(row, k, &terms, layout.features, width);
                                change.size += moved.sum_size(k, c) + base.sum_size(k, c);
                            }
                            moved
                        }
                    };
                    change.defects += c * own.divergence(scores, rounding);
                    change.total += 2.0 * c;
                    change.push_classes(own);
                }
            }
        }
        change
    }

    /// The residuals of the rows, for losses of one score.
    pub(super) fn residuals(&self) -> &[(Residual, Multiplier)] {
        match &self.rows {
            Rows::Single(rows) => rows,
            Rows::Classes(_) => &[],
        }
    }

    /// The scores of the rows, for softmax.
    pub(super) fn class_scores(&self) -> &[ClassScores] {
        match &self.rows {
            Rows::Single(_) => &[],
            Rows::Classes(rows) => rows,
        }
    }

    /// How much each row takes part in moves: c·ℓ'' at the multiplier for smooth losses, its slack for the others.
    pub(super) fn slacks(&self, claim: &Claim<'_>, duals: &[Multiplier]) -> Vec<f64> {
        let loss = claim.problem.loss();
        let pairs = duals.iter().zip(&self.weights);
        pairs.map(|(dual, &c)| dual.slack(loss, c)).collect()
    }
}

/// The pairs of outputs k ≥ l.
pub(super) fn pairs(outputs: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..outputs).flat_map(|k| (0..=k).map(move |l| (k, l)))
}

/// x̃·v.
fn along(row: Row<'_>, (w, b): (&[f64], f64)) -> f64 {
    row.dot(w) + b
}

/// The multiplier of a row after a shift of its score.
fn moved(loss: LossName, c: f64, y: f64, residual: Residual, base: Multiplier, along: f64) -> Multiplier {
    match loss.is_smooth() {
        true => Multiplier::of_slope(loss, c, residual.h + residual_slope(loss, y) * along),
        false => base.moved(loss, c, -sign(loss, y) * base.slack(loss, c) * along),
    }
}

/// The change of X̃ᵀα by some rows, and their defects.
struct Change {
    products: Vec<Compensated>,
    /// Σ of the magnitudes of the terms of the change, without the features.
    size: f64,
    /// Σc.
    weight: f64,
    /// Σ|α| before and after.
    total: f64,
    defects: f64,
    duals: Duals,
}

impl Change {
    fn new(length: usize, loss: LossName) -> Self {
        Change {
            products: vec![Compensated::default(); length],
            size: 0.0,
            weight: 0.0,
            total: 0.0,
            defects: 0.0,
            duals: match loss {
                LossName::Softmax => Duals::Classes(Vec::new()),
                _ => Duals::Single(Vec::new()),
            },
        }
    }

    fn push(&mut self, dual: Multiplier) {
        if let Duals::Single(duals) = &mut self.duals {
            duals.push(dual);
        }
    }

    fn push_classes(&mut self, dual: SoftmaxDual) {
        if let Duals::Classes(duals) = &mut self.duals {
            duals.push(dual);
        }
    }

    /// Adds the sum of the terms times a row to the products of output `k`.
    fn add(&mut self, row: Row<'_>, k: usize, terms: &[f64; 4], features: usize, width: usize) {
        let own = &mut self.products[k * width..(k + 1) * width];
        for &term in terms.iter().filter(|term| **term != 0.0) {
            self.size += term.abs();
            row.for_each(|j, x| own[j].add_product(term, x));
            if let Some(intercept) = own.get_mut(features) {
                intercept.add(term);
            }
        }
    }
}
