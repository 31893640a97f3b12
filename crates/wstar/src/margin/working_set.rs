//! All rows by way of a few: the active set works on those in hand, and a pass over all finds what they lack.

use rayon::prelude::*;

use super::active_set::{ActiveSet, Outcome};
use super::frame::Frame;
use super::session::Session;
use crate::kernel::dense::{dot, squared_norm};
use crate::model::Hyperplane;

/// A row is in the span of the fixed directions if no more than this of it is outside.
const INSIDE: f64 = 1e-9;
/// Rows that one thread looks at, at a time.
const BLOCK: usize = 1024;
/// By how much the score of a row out of hand may miss 1.
const SLACK: f64 = 1e-9;

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Found {
    /// Every row outside the span of what is fixed has a score of 1 or more.
    Separates,
    /// Rows and λ > 0 whose combination vanishes, up to what is fixed.
    Circuit(Vec<(usize, f64)>),
    /// No row is outside the span of what is fixed.
    Nothing,
    /// Rounding has the upper hand.
    Blurred,
    /// It was stopped.
    Stopped,
}

/// A search among some rows.
pub(super) struct Search<'a> {
    pub(super) frame: Frame<'a>,
    /// The rows that are not known to be inside the span of what is fixed.
    open: Vec<usize>,
    /// Whether some of them may be inside by now.
    stale: bool,
    set: ActiveSet,
    /// The rows in hand, in the order of the set.
    hand: Vec<usize>,
    in_hand: Vec<bool>,
}

impl<'a> Search<'a> {
    /// A search among `rows`.
    pub(super) fn new(frame: Frame<'a>, rows: &[usize]) -> Self {
        let set = ActiveSet::new(frame.dimension(), frame.lift());
        let in_hand = vec![false; frame.signed.design.rows()];
        let mut search = Search {
            open: rows.to_vec(),
            stale: false,
            set,
            hand: Vec::new(),
            in_hand,
            frame,
        };
        search.sample();
        search
    }

    /// Takes a part of the open rows in hand, as many of each class as there are up to half of what is wanted.
    fn sample(&mut self) {
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
            self.take(&picked);
        }
    }

    /// Takes rows in hand.
    pub(super) fn take(&mut self, rows: &[usize]) {
        let mut row = Vec::new();
        for &i in rows {
            if !std::mem::replace(&mut self.in_hand[i], true) {
                self.frame.row(i, &mut row);
                self.set.add_row(&row, self.frame.label(i));
                self.hand.push(i);
            }
        }
    }

    /// The hyperplane of the optimum.
    pub(super) fn hyperplane(&self) -> Hyperplane {
        self.frame.hyperplane(self.set.point())
    }

    /// The optimum in the frame's coordinates.
    pub(super) fn point(&self) -> &[f64] {
        self.set.point()
    }

    /// The rows with a positive multiplier.
    pub(super) fn multipliers(&self) -> Vec<(usize, f64)> {
        let mut all: Vec<(usize, f64)> = self
            .set
            .multipliers()
            .filter(|&(_, a)| a > 0.0)
            .map(|(k, a)| (self.hand[k], a))
            .collect();
        all.sort_unstable_by_key(|&(i, _)| i);
        all
    }

    /// How many directions are fixed.
    pub(super) fn fixed(&self) -> usize {
        self.set.fixed()
    }

    /// nᵢ in the coordinates of the fixed directions.
    pub(super) fn within_fixed(&self, i: usize) -> Vec<f64> {
        let mut row = Vec::new();
        self.frame.row(i, &mut row);
        self.set.within_fixed(&row)
    }

    /// The rows in hand.
    pub(super) fn in_hand(&self) -> &[usize] {
        &self.hand
    }

    /// Fixes the span of these rows, which must be in hand: from now on only what is outside counts.
    pub(super) fn fix(&mut self, rows: &[usize]) {
        let places: Vec<usize> = (0..self.hand.len())
            .filter(|&k| rows.contains(&self.hand[k]))
            .collect();
        self.set.fix(&places);
        let set = &self.set;
        let inside: Vec<bool> = (0..self.hand.len())
            .into_par_iter()
            .map(|k| set.outside(set.row(k)) <= INSIDE)
            .collect();
        let kept = self.set.retain(|k, _| !inside[k]);
        for (k, &i) in self.hand.iter().enumerate() {
            self.in_hand[i] = !inside[k];
        }
        self.hand = kept.into_iter().map(|k| self.hand[k]).collect();
        self.stale = true;
    }

    /// Strikes the row at this place of the hand.
    fn strike(&mut self, place: usize) {
        let i = self.hand[place];
        self.open.retain(|&o| o != i);
        self.in_hand[i] = false;
        let kept = self.set.retain(|k, _| k != place);
        self.hand = kept.into_iter().map(|k| self.hand[k]).collect();
    }

    /// Strikes the open rows that are inside the span of what is fixed.
    fn refresh(&mut self) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        if self.set.fixed() == self.frame.dimension() {
            return self.open.clear();
        }
        // A vector orthogonal to the span is, if it is drawn at random, orthogonal to no row outside; two, for
        // what rounding may do.
        let probes = self.set.probes();
        let (frame, in_hand) = (&self.frame, &self.in_hand);
        self.open = self
            .open
            .par_chunks(BLOCK)
            .flat_map_iter(|rows| {
                let mut row = Vec::new();
                let mut kept = Vec::new();
                for &i in rows {
                    frame.row(i, &mut row);
                    let norm = squared_norm(&row).sqrt();
                    if in_hand[i] || probes.iter().any(|u| dot(&row, u).abs() > INSIDE * norm) {
                        kept.push(i);
                    }
                }
                kept
            })
            .collect();
    }

    /// Goes on until every open row is satisfied, or a circuit shows that this cannot be.
    pub(super) fn decide(&mut self, session: &mut Session<'_>) -> Found {
        loop {
            if self.hand.is_empty() {
                self.refresh();
                if self.open.is_empty() {
                    return Found::Nothing;
                }
                self.sample();
            }
            let before = self.set.pivots();
            let outcome = self.set.solve(&mut || session.stop());
            session.pivots += self.set.pivots() - before;
            match outcome {
                Outcome::Optimal => {}
                Outcome::Circuit(lambda) if lambda.len() == 1 && self.set.fixed() > 0 => {
                    // Inside the span by a hair, as it turns out.
                    self.strike(lambda[0].0);
                    continue;
                }
                Outcome::Circuit(lambda) => {
                    return Found::Circuit(lambda.into_iter().map(|(k, l)| (self.hand[k], l)).collect());
                }
                Outcome::Blurred => return Found::Blurred,
                Outcome::Stopped => return Found::Stopped,
            }
            self.refresh();
            let plane = self.hyperplane();
            let scores = self.frame.scores(&self.open, &plane);
            let mut violated: Vec<(f64, usize)> = scores
                .iter()
                .zip(&self.open)
                .filter(|&(&score, &i)| score < 1.0 - SLACK && !self.in_hand[i])
                .map(|(&score, &i)| (score, i))
                .collect();
            let count = violated.len();
            if session.passed(self.open.len(), count) {
                return Found::Stopped;
            }
            if count == 0 {
                return Found::Separates;
            }
            let batch = (2 * self.frame.dimension()).clamp(100, 1000);
            if count > batch {
                violated.select_nth_unstable_by(batch, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                violated.truncate(batch);
            }
            let mut rows: Vec<usize> = violated.into_iter().map(|(_, i)| i).collect();
            rows.sort_unstable();
            self.take(&rows);
        }
    }
}
