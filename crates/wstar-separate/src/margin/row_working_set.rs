//! The maximum-margin hyperplane of all rows, by a working-set method.
//!
//! Problem: minimise ½‖v‖² subject to nᵢ·v ≥ 1 for all rows. The dual active-set method (`goldfarb_idnani`)
//! solves it on the working set. A pass over all rows then finds the violated ones, and the worst of them
//! join the working set.

use rayon::prelude::*;

use crate::margin::coordinates::Frame;
use crate::margin::goldfarb_idnani::{ActiveSet, Outcome};
use crate::margin::search_budget::Session;
use wstar_data::linear::Hyperplane;
use wstar_numeric::dense::{dot, squared_norm};

/// A row is in the span of the fixed directions if its relative distance from the span is at most this.
/// Heuristic: trades false membership for rows that rounding keeps outside; not measured yet.
const INSIDE: f64 = 1e-9;
/// Rows per parallel task. Heuristic: trades scheduling overhead for balance; not measured yet.
const BLOCK: usize = 1024;
/// Largest accepted violation of 1 by a row outside the working set. Heuristic: trades feasibility of v
/// for the number of passes; not measured yet.
const SLACK: f64 = 1e-9;

/// The outcome of a search.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SearchResult {
    /// Every row outside the span of the fixed directions has a score of at least 1.
    Separates,
    /// Rows and λ > 0 whose combination vanishes, up to the fixed directions.
    Circuit(Vec<(usize, f64)>),
    /// No row is outside the span of the fixed directions.
    NoOpenRows,
    /// Rounding errors are too large to decide.
    Inaccurate,
    /// The search was stopped.
    Stopped,
}

/// A search among some rows.
pub(super) struct RowSearch<'a> {
    pub(super) frame: Frame<'a>,
    /// The rows that are not known to be inside the span of the fixed directions.
    open: Vec<usize>,
    /// Whether directions were fixed since `open` was last filtered.
    stale: bool,
    set: ActiveSet,
    /// The working set, in the order of `set`.
    working: Vec<usize>,
    in_working: Vec<bool>,
}

impl<'a> RowSearch<'a> {
    /// A search among `rows`.
    pub(super) fn new(frame: Frame<'a>, rows: &[usize]) -> Self {
        let set = ActiveSet::new(frame.dimension(), frame.lift());
        let in_working = vec![false; frame.signed.design.rows()];
        let mut search = RowSearch {
            open: rows.to_vec(),
            stale: false,
            set,
            working: Vec::new(),
            in_working,
            frame,
        };
        search.sample();
        search
    }

    /// Adds a sample of the open rows to the working set: from each class up to half of the wanted number,
    /// evenly spaced.
    fn sample(&mut self) {
        // Heuristic: work on the set against passes over the rows; not measured yet.
        let wanted = (6 * self.frame.dimension()).clamp(300, 3000);
        for y in [1, -1] {
            let class: Vec<usize> = self
                .open
                .iter()
                .copied()
                .filter(|&i| self.frame.signed.signs[i] == y)
                .collect();
            let count = class.len().min(wanted / 2);
            let picked: Vec<usize> = (0..count).map(|k| class[k * class.len() / count]).collect();
            self.add_rows(&picked);
        }
    }

    /// Adds rows to the working set.
    pub(super) fn add_rows(&mut self, rows: &[usize]) {
        let mut row = Vec::new();
        for &i in rows {
            if !std::mem::replace(&mut self.in_working[i], true) {
                self.frame.row(i, &mut row);
                self.set.add_row(&row, self.frame.label(i));
                self.working.push(i);
            }
        }
    }

    /// The hyperplane of the current optimum, in the coordinates of the data.
    pub(super) fn hyperplane(&self) -> Hyperplane {
        self.frame.hyperplane(self.set.point())
    }

    /// The current optimum in the coordinates of the frame.
    pub(super) fn point(&self) -> &[f64] {
        self.set.point()
    }

    /// The rows with a positive multiplier, in increasing order.
    pub(super) fn multipliers(&self) -> Vec<(usize, f64)> {
        let mut all: Vec<(usize, f64)> = self
            .set
            .multipliers()
            .filter(|&(_, a)| a > 0.0)
            .map(|(k, a)| (self.working[k], a))
            .collect();
        all.sort_unstable_by_key(|&(i, _)| i);
        all
    }

    /// The number of fixed directions.
    pub(super) fn fixed(&self) -> usize {
        self.set.fixed()
    }

    /// nᵢ in the coordinates of the fixed directions.
    pub(super) fn within_fixed(&self, i: usize) -> Vec<f64> {
        let mut row = Vec::new();
        self.frame.row(i, &mut row);
        self.set.within_fixed(&row)
    }

    /// The rows of the working set.
    pub(super) fn working_rows(&self) -> &[usize] {
        &self.working
    }

    /// Fixes the span of these rows, which must be in the working set. From now on only rows outside the
    /// span count.
    pub(super) fn fix(&mut self, rows: &[usize]) {
        let positions: Vec<usize> = (0..self.working.len())
            .filter(|&k| rows.contains(&self.working[k]))
            .collect();
        self.set.fix(&positions);
        let set = &self.set;
        let inside: Vec<bool> = (0..self.working.len())
            .into_par_iter()
            .map(|k| set.outside(set.row(k)) <= INSIDE)
            .collect();
        let kept = self.set.retain(|k, _| !inside[k]);
        for (k, &i) in self.working.iter().enumerate() {
            self.in_working[i] = !inside[k];
        }
        self.working = kept.into_iter().map(|k| self.working[k]).collect();
        self.stale = true;
    }

    /// Removes the row at this position of the working set from the search.
    fn remove_row(&mut self, position: usize) {
        let i = self.working[position];
        self.open.retain(|&o| o != i);
        self.in_working[i] = false;
        let kept = self.set.retain(|k, _| k != position);
        self.working = kept.into_iter().map(|k| self.working[k]).collect();
    }

    /// Removes the open rows that are inside the span of the fixed directions.
    fn refresh(&mut self) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        if self.set.fixed() == self.frame.dimension() {
            return self.open.clear();
        }
        // A random vector orthogonal to the span is almost surely orthogonal to no row outside it. A second
        // one guards against rounding.
        let probes = self.set.probes();
        let (frame, in_working) = (&self.frame, &self.in_working);
        self.open = self
            .open
            .par_chunks(BLOCK)
            .flat_map_iter(|rows| {
                let mut row = Vec::new();
                let mut kept = Vec::new();
                for &i in rows {
                    frame.row(i, &mut row);
                    let norm = squared_norm(&row).sqrt();
                    if in_working[i] || probes.iter().any(|u| dot(&row, u).abs() > INSIDE * norm) {
                        kept.push(i);
                    }
                }
                kept
            })
            .collect();
    }

    /// Solves until every open row is satisfied, or a circuit shows that this is impossible.
    pub(super) fn decide(&mut self, session: &mut Session<'_>) -> SearchResult {
        loop {
            if self.working.is_empty() {
                self.refresh();
                if self.open.is_empty() {
                    return SearchResult::NoOpenRows;
                }
                self.sample();
            }
            let before = self.set.pivots();
            let outcome = self.set.solve(&mut || session.stop());
            session.pivots += self.set.pivots() - before;
            match outcome {
                Outcome::Optimal => {}
                Outcome::Circuit(lambda) if lambda.len() == 1 && self.set.fixed() > 0 => {
                    // The row is inside the span up to rounding.
                    self.remove_row(lambda[0].0);
                    continue;
                }
                Outcome::Circuit(lambda) => {
                    return SearchResult::Circuit(
                        lambda.into_iter().map(|(k, l)| (self.working[k], l)).collect(),
                    );
                }
                Outcome::Inaccurate => return SearchResult::Inaccurate,
                Outcome::Stopped => return SearchResult::Stopped,
            }
            self.refresh();
            let plane = self.hyperplane();
            let scores = self.frame.scores(&self.open, &plane);
            let mut violated: Vec<(f64, usize)> = scores
                .iter()
                .zip(&self.open)
                .filter(|&(&score, &i)| score < 1.0 - SLACK && !self.in_working[i])
                .map(|(&score, &i)| (score, i))
                .collect();
            let count = violated.len();
            if session.record_pass(self.open.len(), count) {
                return SearchResult::Stopped;
            }
            if count == 0 {
                return SearchResult::Separates;
            }
            // Heuristic: as in `sample`.
            let batch = (2 * self.frame.dimension()).clamp(100, 1000);
            if count > batch {
                violated.select_nth_unstable_by(batch, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                violated.truncate(batch);
            }
            let mut rows: Vec<usize> = violated.into_iter().map(|(_, i)| i).collect();
            rows.sort_unstable();
            self.add_rows(&rows);
        }
    }
}
