//! The sums of a pass over the rows, and the rows that it keeps for the repair of the constraints.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::duality::constraints::{Care, can_repair_subgradients, constrained, is_joint};
use crate::duality::span::Span;
use wstar_numeric::double_double::Compensated;
use wstar_problem::problem::Problem;

/// Rows kept beyond two per constraint. Heuristic: conditioning of the repair against time; not measured yet.
const SPARE: usize = 16;

/// A row whose multipliers can change.
#[derive(Debug, Clone)]
pub(super) struct MovableRow {
    /// The index of the row among all rows.
    row: u64,
    pub(super) target: f64,
    pub(super) weight: f64,
    /// α of each output.
    pub(super) alpha: Vec<f64>,
    /// The nonzero features.
    pub(super) entries: Vec<(u32, f64)>,
    /// The slack: how far α can change within its range, at most the weight of the row.
    pub(super) slack: f64,
}

impl MovableRow {
    /// The probability of class `k` in a row of softmax.
    pub(super) fn share(&self, k: usize) -> f64 {
        let own = if k == self.target as usize { 1.0 } else { 0.0 };
        (own - self.alpha[k] / self.weight).max(0.0)
    }
}

/// The sums of a pass and the rows kept for the repair of the constraints.
#[derive(Debug, Clone)]
pub(super) struct Gathered {
    /// Σ cᵢ ℓ.
    pub(super) loss: Compensated,
    /// Σ cᵢ ℓ\*(−αᵢ/cᵢ).
    pub(super) conjugate: Compensated,
    /// X̃ᵀα, output by output.
    pub(super) products: Vec<Compensated>,
    pub(super) rows: u64,
    pub(super) support: u64,
    pub(super) at_bound: u64,
    /// The rows with the most slack, if there are constraints.
    pub(super) most_slack: Vec<Arc<MovableRow>>,
    /// For each feature, if features are constrained, and then for each output of softmax, the row that can change it most.
    best: Vec<Option<Arc<MovableRow>>>,
    /// How far each row in `best` can change its feature or output; 0 if it is absent.
    moved: Vec<f64>,
    /// The number of features in `best`.
    features: usize,
    /// Whether the outputs of softmax are repaired together.
    pub(super) joint: bool,
    most_kept: usize,
    /// The slack that a row must exceed to be among those with the most.
    threshold: f64,
    /// Whether further rows are not considered, because enough good ones have been found.
    has_enough: bool,
}

impl Gathered {
    pub(super) fn new(problem: &Problem, care: Care) -> Self {
        let constraints = match care {
            Care::Exact if can_repair_subgradients(problem) => problem.layout().width(),
            _ => constrained(problem).len(),
        };
        let layout = problem.layout();
        let features = if constraints > 1 { layout.features } else { 0 };
        let joint = constraints > 0 && is_joint(problem, constraints);
        let outputs = if joint { layout.outputs } else { 0 };
        Gathered {
            loss: Compensated::default(),
            conjugate: Compensated::default(),
            products: vec![Compensated::default(); problem.layout().len()],
            rows: 0,
            support: 0,
            at_bound: 0,
            most_slack: Vec::new(),
            // One row with slack suffices for an intercept. Several features or classes need linearly independent rows.
            best: vec![None; features + outputs],
            moved: vec![0.0; features + outputs],
            features,
            joint,
            most_kept: if constraints == 0 {
                0
            } else {
                2 * constraints + SPARE
            },
            threshold: 0.0,
            has_enough: false,
        }
    }

    pub(super) fn merge(&mut self, other: Gathered) {
        // Merged with their compensations: where X̃ᵀα should be 0, the sums of the lanes are far larger than their total.
        self.loss.add(other.loss.total());
        self.conjugate.add(other.conjugate.total());
        for (to, from) in self.products.iter_mut().zip(&other.products) {
            to.add(from.total());
        }
        self.rows += other.rows;
        self.support += other.support;
        self.at_bound += other.at_bound;
        other.most_slack.into_iter().for_each(|row| self.keep(row));
        for (at, (row, better)) in other.best.into_iter().zip(other.moved).enumerate() {
            if better > self.moved[at] {
                (self.best[at], self.moved[at]) = (row, better);
            }
        }
    }

    /// Whether a row with this slack can be useful for the repair.
    pub(super) fn wants(&self, slack: f64) -> bool {
        slack > 0.0 && self.most_kept > 0 && !self.has_enough
    }

    /// Stops looking for rows, for losses whose multipliers are unbounded: all rows then have slack, and the best of a few
    /// thousand are good enough once there is one for every feature.
    pub(super) fn stop_looking(&mut self) {
        /// Rows that are considered in any case. Heuristic: quality of the repair against time; not measured yet.
        const CONSIDERED: u64 = 1 << 12;
        self.has_enough = self.rows >= CONSIDERED && self.moved.iter().all(|&moved| moved > 0.0);
    }

    /// Adds a row to those with the most slack.
    fn keep(&mut self, row: Arc<MovableRow>) {
        self.most_slack.push(row);
        if self.most_slack.len() >= 2 * self.most_kept {
            self.most_slack.sort_by(|a, b| b.slack.total_cmp(&a.slack));
            self.most_slack.truncate(self.most_kept);
            self.threshold = self.most_slack.last().map_or(0.0, |row| row.slack);
        }
    }

    /// The indices of the rows that are kept for the repair.
    pub(super) fn kept(&self) -> FxHashSet<u64> {
        let rows = self.most_slack.iter().chain(self.best.iter().flatten());
        rows.map(|row| row.row).collect()
    }

    /// Takes all rows that may change: those with the most slack and the best one of each feature and output.
    pub(super) fn movable(&mut self) -> Vec<Arc<MovableRow>> {
        self.most_slack.sort_by(|a, b| b.slack.total_cmp(&a.slack));
        self.most_slack.truncate(self.most_kept);
        let mut rows = std::mem::take(&mut self.most_slack);
        for row in self.best.drain(..).flatten() {
            if !rows.iter().any(|known| Arc::ptr_eq(known, &row)) {
                rows.push(row);
            }
        }
        rows
    }
    /// Keeps a row if it has more slack than those kept, or changes some feature or output more than they can.
    pub(super) fn consider(&mut self, span: &Span<'_>, i: usize, weight: f64, alpha: &[f64], slack: f64) {
        let row = span.rows.design.row(i);
        let features = self.features;
        let class = span.rows.targets[i] as usize;
        // How far the row can change each feature, and each output of softmax.
        let moves = |visit: &mut dyn FnMut(usize, f64)| {
            if features > 0 {
                row.for_each(|j, x| {
                    if x != 0.0 {
                        visit(j, slack * x.abs());
                    }
                });
            }
            let outputs = self.best.len() - features;
            for (k, alpha) in alpha.iter().enumerate().take(outputs) {
                let share = f64::from(u8::from(k == class)) - alpha / weight;
                visit(features + k, weight * share.min(1.0 - share));
            }
        };
        let has_more_slack = slack > self.threshold;
        // Few rows exceed the best ones so far in any feature, so this test is fast.
        let evaluate = self.best.len() == features;
        if !has_more_slack && (features == 0 || !row.exceeds(slack, &self.moved)) && evaluate {
            return;
        }
        let mut betters: Vec<(usize, f64)> = Vec::new();
        if !self.best.is_empty() {
            moves(&mut |at, moved| {
                if moved > self.moved[at] {
                    betters.push((at, moved));
                }
            });
        }
        if !has_more_slack && betters.is_empty() {
            return;
        }
        let mut entries = Vec::with_capacity(row.stored());
        row.for_each(|j, x| {
            if x != 0.0 {
                entries.push((j as u32, x));
            }
        });
        let kept = Arc::new(MovableRow {
            row: span.first_row + i as u64,
            target: span.rows.targets[i],
            weight,
            alpha: alpha.to_vec(),
            entries,
            slack,
        });
        for (at, moved) in betters {
            (self.best[at], self.moved[at]) = (Some(Arc::clone(&kept)), moved);
        }
        if has_more_slack {
            self.keep(kept);
        }
    }
}
