//! One epoch: every active multiplier is moved once, in random order, by two walkers side by side.
//!
//! The order is random among blocks of rows and among the rows of a block: rows in an order without any plan would
//! each be waited for.
//!
//! Each walker has half of the rows and weights of its own; several times an epoch the changes of both are added
//! up. Between two exchanges a walker does not see what the other has changed, as in the block-wise dual ascent of
//! Jaggi and others (CoCoA, 2014) with sums instead of means: with short walks that costs no more epochs. There are
//! two walkers wherever there is work for two, however many threads there are, so the answer is always the same. Where
//! few rows are left, exchanges would take longer than the walks: the two then go by turns, with the same weights.

use std::ops::Range;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::coordinate::Coordinate;
use super::{State, Violations};
use crate::data::{Design, Row};
use crate::kernel::prefetch::prefetch;
use crate::loss::{Loss, LossName, on_loss};
use crate::problem::Intercept;

/// How often two walkers tell each other what they have changed, in one epoch.
const EXCHANGES: usize = 32;
/// Entries of the design from which two walkers are worth their exchanges.
const WORK_FOR_TWO: usize = 1 << 18;
/// The design has so many times more entries than columns, or an exchange would cost more than a walk.
const ENTRIES_A_COLUMN: usize = 16;
/// The active rows have so many times more entries than there are columns, or the walkers go by turns.
const ENTRIES_AT_ONCE: usize = 20;
/// The same where epochs are slow: what either does not see of the other is then most of what is left to do.
const ENTRIES_WHERE_SLOW: usize = 160;
/// Rows of a block.
const BLOCK: usize = 64;
/// Rows that are asked for before they are needed.
const AHEAD: usize = 4;
/// Weights that are added up in one piece.
const PIECE: usize = 1 << 12;

/// The rows that are still visited, in the order of the last walk, one list a walker; blocks stay together.
pub(super) struct Active {
    lists: Vec<Vec<usize>>,
    random: Vec<ChaCha8Rng>,
    /// Room for the weights of walkers that walk at once.
    weights: Vec<Vec<f64>>,
    /// Entries a column from which they do.
    at_once_from: usize,
}

/// What an epoch has seen on its way.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    pub(super) violations: Violations,
    /// Σ c ℓ(y, z) over the visited rows, each with the weights of its moment.
    pub(super) loss: f64,
    /// Σ c ℓ(y, z) + c ℓ\*(y, −α/c) + αz over the same: the duality gap, had nothing changed on the way.
    pub(super) gap: f64,
}

impl Active {
    /// All rows whose weight is not 0, for one walker, or for two where there is work for them and none is to be alone.
    pub(super) fn new(state: &State<'_>, seed: u64, alone: bool) -> Self {
        let stored = state.rows.design.stored();
        let two = !alone && stored >= WORK_FOR_TWO && stored >= ENTRIES_A_COLUMN * state.w.len();
        let walkers = if two { 2 } else { 1 };
        let random = (0..walkers).map(|walker| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream(walker);
            random
        });
        let mut active = Active {
            random: random.collect(),
            lists: vec![Vec::new(); walkers as usize],
            weights: vec![Vec::new(); walkers as usize],
            at_once_from: ENTRIES_AT_ONCE,
        };
        active.fill(state, |_| true);
        active
    }

    /// All rows whose weight is not 0 and that `keep` wants.
    pub(super) fn fill(&mut self, state: &State<'_>, keep: impl Fn(usize) -> bool + Sync) {
        let shares = self.shares(state.multipliers.len());
        self.lists.par_iter_mut().zip(shares).for_each(|(list, share)| {
            list.clear();
            list.extend(share.filter(|&i| state.coordinates[i].weight > 0.0 && keep(i)));
        });
    }

    pub(super) fn walkers(&self) -> usize {
        self.lists.len()
    }

    /// Epochs are slow: walkers are to go by turns sooner.
    pub(super) fn slow_down(&mut self) {
        self.at_once_from = ENTRIES_WHERE_SLOW;
    }

    /// Whether two walkers walk at once.
    fn at_once(&self, state: &State<'_>) -> bool {
        self.walkers() > 1 && self.entries(state) >= self.at_once_from * state.w.len()
    }

    /// The rows of each walker.
    fn shares(&self, rows: usize) -> Vec<Range<usize>> {
        let walkers = self.lists.len();
        (0..walkers)
            .map(|k| rows * k / walkers..rows * (k + 1) / walkers)
            .collect()
    }

    /// The rows that are still visited.
    pub(super) fn rows(&self) -> impl Iterator<Item = usize> {
        self.lists.iter().flatten().copied()
    }

    /// About how many entries the rows have that are still visited.
    fn entries(&self, state: &State<'_>) -> usize {
        let design = state.rows.design;
        let rows: usize = self.lists.iter().map(Vec::len).sum();
        rows * (design.stored() / design.rows().max(1))
    }

    fn shuffle(&mut self) {
        let lists = self.lists.par_iter_mut().zip(&mut self.random);
        lists.for_each(|(list, random)| {
            let mut blocks: Vec<&mut [usize]> = list.chunk_by_mut(|a, b| a / BLOCK == b / BLOCK).collect();
            blocks.shuffle(random);
            let mut order = Vec::with_capacity(blocks.iter().map(|block| block.len()).sum());
            for block in blocks {
                block.shuffle(random);
                order.extend_from_slice(block);
            }
            *list = order;
        });
    }
}

/// What moves the multipliers of its rows, with weights of its own.
struct Walker<'s> {
    state: &'s Fixed<'s>,
    first: usize,
    multipliers: &'s mut [f64],
    w: Vec<f64>,
    sum: f64,
    seen: Seen,
    list: &'s mut Vec<usize>,
    /// How many rows of the list have been visited, and how many of those stay.
    visited: usize,
    staying: usize,
}

/// What no walker changes.
struct Fixed<'s> {
    rows: &'s crate::oracle::Rows<'s>,
    loss: LossName,
    l2: f64,
    coordinates: &'s [Coordinate],
    offset: f64,
    share: f64,
    before: Violations,
}

impl State<'_> {
    /// Goes through the active rows once; drops those that a bound holds.
    pub(super) fn epoch(&mut self, active: &mut Active, before: Violations) -> Seen {
        active.shuffle();
        self.epochs += 1;
        let fixed = Fixed {
            rows: self.rows,
            loss: self.loss,
            l2: self.l2,
            coordinates: &self.coordinates,
            offset: self.offset,
            share: self.share,
            before,
        };
        let shares = active.shares(self.multipliers.len());
        let at_once = active.at_once(self);
        let mut rest = self.multipliers.as_mut_slice();
        let mut walkers: Vec<Walker<'_>> = shares
            .into_iter()
            .zip(&mut active.lists)
            .zip(&mut active.weights)
            .map(|((share, list), weights)| {
                if at_once {
                    weights.clone_from(&self.w);
                }
                let (multipliers, others) = std::mem::take(&mut rest).split_at_mut(share.len());
                rest = others;
                Walker {
                    state: &fixed,
                    first: share.start,
                    multipliers,
                    w: std::mem::take(if at_once { weights } else { &mut self.w }),
                    sum: self.sum,
                    seen: Seen::default(),
                    list,
                    visited: 0,
                    staying: 0,
                }
            })
            .collect();
        match walkers.as_mut_slice() {
            [one, other] if !at_once => {
                for turn in 1..=EXCHANGES {
                    one.walk(one.list.len() * turn / EXCHANGES);
                    one.pass_on(other);
                    other.walk(other.list.len() * turn / EXCHANGES);
                    other.pass_on(one);
                }
                self.w = std::mem::take(&mut one.w);
                self.sum = one.sum;
            }
            [one, other] => {
                for exchange in 1..=EXCHANGES {
                    rayon::join(
                        || one.walk(one.list.len() * exchange / EXCHANGES),
                        || other.walk(other.list.len() * exchange / EXCHANGES),
                    );
                    add_up(&mut self.w, &mut one.w, &mut other.w);
                    self.sum = one.sum + other.sum - self.sum;
                    (one.sum, other.sum) = (self.sum, self.sum);
                }
            }
            walkers => {
                for walker in walkers {
                    walker.walk(walker.list.len());
                    self.w = std::mem::take(&mut walker.w);
                    self.sum = walker.sum;
                }
            }
        }
        let mut seen = Seen::default();
        for (walker, weights) in walkers.into_iter().zip(&mut active.weights) {
            seen = seen.and(walker.seen);
            walker.list.truncate(walker.staying);
            *weights = walker.w;
        }
        if self.intercept == Intercept::Free {
            self.offset += self.share * self.sum;
        }
        seen
    }
}

/// Adds the changes of both walkers to the weights that they started from, and gives them to both.
fn add_up(w: &mut [f64], one: &mut [f64], other: &mut [f64]) {
    w.par_chunks_mut(PIECE)
        .zip(one.par_chunks_mut(PIECE))
        .zip(other.par_chunks_mut(PIECE))
        .for_each(|((w, one), other)| {
            for ((w, one), other) in w.iter_mut().zip(one).zip(other) {
                *w = *one + (*other - *w);
                (*one, *other) = (*w, *w);
            }
        });
}

impl Walker<'_> {
    /// Goes on until so many rows of the list have been visited.
    fn walk(&mut self, until: usize) {
        // What kind of rows they are need be asked once only.
        match self.state.rows.design {
            Design::Sparse64(matrix) => self.walk_over(until, |i| {
                let (indices, values) = matrix.row(i);
                Row::Sparse64(indices, values)
            }),
            Design::Sparse32(matrix) => self.walk_over(until, |i| {
                let (indices, values) = matrix.row(i);
                Row::Sparse32(indices, values)
            }),
            design => self.walk_over(until, |i| design.row(i)),
        }
    }

    #[inline(always)]
    fn walk_over<'d>(&mut self, until: usize, row: impl Fn(usize) -> Row<'d>) {
        while self.visited < until {
            let i = self.list[self.visited];
            if let Some(&soon) = self.list.get(self.visited + AHEAD) {
                row(soon).prefetch();
            }
            // Where a row lies must be known before it can be asked for.
            if let Some(&later) = self.list.get(self.visited + 2 * AHEAD) {
                self.state.rows.design.prefetch_place(later);
                prefetch(&self.state.coordinates[later..=later]);
                prefetch(&self.multipliers[later - self.first..=later - self.first]);
            }
            self.visited += 1;
            if self.visit(i, row(i)) {
                self.list[self.staying] = i;
                self.staying += 1;
            }
        }
    }

    /// Gives its weights to the other, who goes on from them.
    fn pass_on(&mut self, other: &mut Self) {
        std::mem::swap(&mut self.w, &mut other.w);
        other.sum = self.sum;
    }

    /// Moves one multiplier; whether it is to be visited again.
    #[inline(always)]
    fn visit(&mut self, i: usize, row: Row<'_>) -> bool {
        let state = self.state;
        let coordinate = &state.coordinates[i];
        let multiplier = self.multipliers[i - self.first];
        let z = row.dot(&self.w) + (state.offset + state.share * self.sum);
        let next = if state.loss == LossName::Logistic {
            let next = coordinate.best_logistic(multiplier, z);
            self.seen.violations.meet((next - multiplier) * coordinate.norm);
            next
        } else {
            let slope = coordinate.slope(multiplier, z);
            if state.before.leave_out(coordinate, multiplier, slope) {
                return false;
            }
            let blocked = (multiplier == coordinate.low && slope > 0.0)
                || (multiplier == coordinate.high && slope < 0.0);
            if !blocked {
                self.seen.violations.meet(slope);
            }
            coordinate.best(multiplier, slope)
        };
        let (loss, conjugate) = on_loss!(state.loss, loss => {
            let c = coordinate.weight;
            (c * loss.value(coordinate.y, z), c * loss.conjugate(coordinate.y, -multiplier / c))
        }, softmax => (0.0, 0.0));
        self.seen.loss += loss;
        self.seen.gap += loss + conjugate + multiplier * z;
        if next != multiplier {
            let by = next - multiplier;
            self.multipliers[i - self.first] = next;
            row.add_to(by / state.l2, &mut self.w);
            self.sum += by;
        }
        true
    }
}

impl Seen {
    /// Of an epoch that has not been.
    pub(super) const UNKNOWN: Seen = Seen {
        violations: Violations::UNKNOWN,
        loss: 0.0,
        gap: f64::INFINITY,
    };

    /// Whether the gap is likely to be at its aim by now, if it keeps falling as it did since the epoch before.
    pub(super) fn promises(self, before: Seen, norm: f64, tol: f64) -> bool {
        let rate = (self.gap / before.gap).min(1.0);
        // As likely as not is not enough where a wrong guess costs an evaluation.
        rate * self.gap <= 0.5 * tol * (self.loss + norm).max(1.0)
    }

    fn and(self, other: Seen) -> Seen {
        Seen {
            violations: self.violations.and(other.violations),
            loss: self.loss + other.loss,
            gap: self.gap + other.gap,
        }
    }
}
