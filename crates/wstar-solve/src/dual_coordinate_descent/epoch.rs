//! One epoch: every active multiplier is updated once, in random order, by one or two workers.
//!
//! The order is random among blocks of rows and random within each block. A completely random order of the
//! rows would wait for memory at every row.
//!
//! With two workers, each owns half of the rows and has its own copy of the weights. Several times an epoch
//! the changes of both are summed. Between two such exchanges a worker does not see the changes of the
//! other, as in the block-wise dual ascent CoCoA (M. Jaggi and others, Communication-efficient distributed
//! dual coordinate ascent, NIPS 2014), but with sums in place of means. Because the exchanges are frequent,
//! this costs no more epochs.
//!
//! The number of workers depends on the size of the problem and not on the number of threads, so the result
//! is always the same. When few rows are active, an exchange would take longer than the updates between
//! exchanges. The two workers then take turns and share one set of weights.

use std::ops::Range;
use wstar_problem::on_loss;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::dual_coordinate_descent::coordinate_step::Coordinate;
use crate::dual_coordinate_descent::dual_state::DualState;
use crate::dual_coordinate_descent::violations::Violations;
use wstar_data::{Design, Row};
use wstar_numeric::prefetch::prefetch;
use wstar_problem::loss::{Loss, LossName};
use wstar_problem::problem::Intercept;
use wstar_problem::tolerance::Tolerance;

/// Exchanges between the two workers in one epoch. Heuristic: more exchanges cost time, fewer let the workers
/// use older weights; not measured yet.
const EXCHANGES: usize = 32;
/// Stored entries of the design from which two workers are used. Heuristic: below it the exchanges outweigh
/// the parallel speedup; not measured yet.
const TWO_WORKERS_MIN_ENTRIES: usize = 1 << 18;
/// Stored entries per column from which two workers are used. Heuristic: below it an exchange costs more than
/// the updates between exchanges; not measured yet.
const TWO_WORKERS_MIN_ENTRIES_PER_COLUMN: usize = 16;
/// Active entries per column from which two workers run concurrently; below it they take turns. Heuristic:
/// trades the cost of the exchanges against the parallel speedup; not measured yet.
const CONCURRENT_ENTRIES_PER_COLUMN: usize = 20;
/// The same threshold while epochs are slow. Heuristic: the changes that a worker does not see are then most
/// of the remaining progress; not measured yet.
const SLOW_CONCURRENT_ENTRIES_PER_COLUMN: usize = 160;
/// Rows in a block of the random order. Heuristic: trades the randomness of the order against sequential
/// reads; not measured yet.
const BLOCK: usize = 64;
/// Number of rows that are prefetched ahead of the current one. Heuristic: trades memory latency against
/// cache space; not measured yet.
const PREFETCH_DISTANCE: usize = 4;
/// Weights that one parallel task sums in an exchange. Heuristic: trades the cost of a task against
/// parallelism; not measured yet.
const SEGMENT: usize = 1 << 12;

/// The active rows, in the order of the last epoch, one list per worker. Rows of a block are adjacent.
pub(super) struct Active {
    lists: Vec<Vec<usize>>,
    random: Vec<ChaCha8Rng>,
    /// Buffers for the weights of concurrent workers.
    weights: Vec<Vec<f64>>,
    /// Active entries per column from which the workers run concurrently.
    concurrent_from: usize,
}

/// What an epoch accumulates over the rows that it visits.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EpochReport {
    pub(super) violations: Violations,
    /// Σ c ℓ(y, z) over the visited rows, each with the weights at its visit.
    pub(super) loss: f64,
    /// Σ c ℓ(y, z) + c ℓ\*(y, −α/c) + αz over the same rows. This would be the duality gap if nothing changed
    /// during the epoch.
    pub(super) gap: f64,
}

impl Active {
    /// All rows of nonzero weight, for two workers where the problem is large enough and `single` is false,
    /// else for one.
    pub(super) fn new(state: &DualState<'_>, seed: u64, single: bool) -> Self {
        let stored = state.rows.design.stored();
        let two = !single
            && stored >= TWO_WORKERS_MIN_ENTRIES
            && stored >= TWO_WORKERS_MIN_ENTRIES_PER_COLUMN * state.w.len();
        let workers = if two { 2 } else { 1 };
        let random = (0..workers).map(|worker| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream(worker);
            random
        });
        let mut active = Active {
            random: random.collect(),
            lists: vec![Vec::new(); workers as usize],
            weights: vec![Vec::new(); workers as usize],
            concurrent_from: CONCURRENT_ENTRIES_PER_COLUMN,
        };
        active.fill(state, |_| true);
        active
    }

    /// Makes all rows active that have a nonzero weight and satisfy `keep`.
    pub(super) fn fill(&mut self, state: &DualState<'_>, keep: impl Fn(usize) -> bool + Sync) {
        let shares = self.shares(state.multipliers.len());
        self.lists.par_iter_mut().zip(shares).for_each(|(list, share)| {
            list.clear();
            list.extend(share.filter(|&i| state.coordinates[i].weight > 0.0 && keep(i)));
        });
    }

    pub(super) fn workers(&self) -> usize {
        self.lists.len()
    }

    /// Makes the workers take turns earlier, because epochs are slow.
    pub(super) fn take_turns_earlier(&mut self) {
        self.concurrent_from = SLOW_CONCURRENT_ENTRIES_PER_COLUMN;
    }

    /// Whether two workers run concurrently.
    fn concurrent(&self, state: &DualState<'_>) -> bool {
        self.workers() > 1 && self.entries(state) >= self.concurrent_from * state.w.len()
    }

    /// The range of rows of each worker.
    fn shares(&self, rows: usize) -> Vec<Range<usize>> {
        let workers = self.lists.len();
        (0..workers)
            .map(|k| rows * k / workers..rows * (k + 1) / workers)
            .collect()
    }

    /// The active rows.
    pub(super) fn rows(&self) -> impl Iterator<Item = usize> {
        self.lists.iter().flatten().copied()
    }

    /// The approximate number of stored entries in the active rows.
    fn entries(&self, state: &DualState<'_>) -> usize {
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

/// A worker: updates the multipliers of its rows with its own weights.
struct Worker<'s> {
    state: &'s EpochInputs<'s>,
    first: usize,
    multipliers: &'s mut [f64],
    w: Vec<f64>,
    sum: f64,
    seen: EpochReport,
    list: &'s mut Vec<usize>,
    /// The number of rows of the list that have been visited.
    visited: usize,
    /// The number of visited rows that stay active; they come first in the list.
    staying: usize,
}

/// The inputs of an epoch, which no worker changes.
struct EpochInputs<'s> {
    rows: &'s wstar_problem::objective::Rows<'s>,
    loss: LossName,
    l2: f64,
    coordinates: &'s [Coordinate],
    offset: f64,
    rho: f64,
    before: Violations,
}

impl DualState<'_> {
    /// Visits the active rows once, and shrinks those whose multiplier stays at a bound.
    pub(super) fn epoch(&mut self, active: &mut Active, before: Violations) -> EpochReport {
        active.shuffle();
        self.epochs += 1;
        let fixed = EpochInputs {
            rows: self.rows,
            loss: self.loss,
            l2: self.l2,
            coordinates: &self.coordinates,
            offset: self.offset,
            rho: self.rho,
            before,
        };
        let shares = active.shares(self.multipliers.len());
        let concurrent = active.concurrent(self);
        let mut rest = self.multipliers.as_mut_slice();
        let mut workers: Vec<Worker<'_>> = shares
            .into_iter()
            .zip(&mut active.lists)
            .zip(&mut active.weights)
            .map(|((share, list), weights)| {
                if concurrent {
                    weights.clone_from(&self.w);
                }
                let (multipliers, others) = std::mem::take(&mut rest).split_at_mut(share.len());
                rest = others;
                Worker {
                    state: &fixed,
                    first: share.start,
                    multipliers,
                    w: std::mem::take(if concurrent { weights } else { &mut self.w }),
                    sum: self.sum,
                    seen: EpochReport::default(),
                    list,
                    visited: 0,
                    staying: 0,
                }
            })
            .collect();
        match workers.as_mut_slice() {
            [one, other] if !concurrent => {
                for turn in 1..=EXCHANGES {
                    one.run_until(one.list.len() * turn / EXCHANGES);
                    one.pass_weights_to(other);
                    other.run_until(other.list.len() * turn / EXCHANGES);
                    other.pass_weights_to(one);
                }
                self.w = std::mem::take(&mut one.w);
                self.sum = one.sum;
            }
            [one, other] => {
                for exchange in 1..=EXCHANGES {
                    rayon::join(
                        || one.run_until(one.list.len() * exchange / EXCHANGES),
                        || other.run_until(other.list.len() * exchange / EXCHANGES),
                    );
                    merge_changes(&mut self.w, &mut one.w, &mut other.w);
                    self.sum = one.sum + other.sum - self.sum;
                    (one.sum, other.sum) = (self.sum, self.sum);
                }
            }
            workers => {
                for worker in workers {
                    worker.run_until(worker.list.len());
                    self.w = std::mem::take(&mut worker.w);
                    self.sum = worker.sum;
                }
            }
        }
        let mut seen = EpochReport::default();
        for (worker, weights) in workers.into_iter().zip(&mut active.weights) {
            seen = seen.merge(worker.seen);
            worker.list.truncate(worker.staying);
            *weights = worker.w;
        }
        if self.intercept == Intercept::Free {
            self.offset += self.rho * self.sum;
        }
        seen
    }

    /// Makes every row active again except those that shrinking leaves out, judged by their scores `z`
    /// without the intercept.
    pub(super) fn reconsider(&self, active: &mut Active, z: &[f64], violations: Violations) {
        let (b, logistic) = (self.intercept(), self.loss == LossName::Logistic);
        active.fill(self, |i| {
            let (coordinate, a) = (&self.coordinates[i], self.multipliers[i]);
            logistic || !violations.shrinks(coordinate, a, coordinate.slope(a, z[i] + b))
        });
    }
}

/// Sets `w`, from which both workers started, and the weights of both workers to `w` plus the changes of
/// both.
fn merge_changes(w: &mut [f64], one: &mut [f64], other: &mut [f64]) {
    w.par_chunks_mut(SEGMENT)
        .zip(one.par_chunks_mut(SEGMENT))
        .zip(other.par_chunks_mut(SEGMENT))
        .for_each(|((w, one), other)| {
            for ((w, one), other) in w.iter_mut().zip(one).zip(other) {
                *w = *one + (*other - *w);
                (*one, *other) = (*w, *w);
            }
        });
}

impl Worker<'_> {
    /// Continues until `until` rows of the list have been visited.
    fn run_until(&mut self, until: usize) {
        // The storage of the rows is matched once, outside the loop.
        match self.state.rows.design {
            Design::Sparse64(matrix) => self.visit_until(until, |i| {
                let (indices, values) = matrix.row(i);
                Row::Sparse64(indices, values)
            }),
            Design::Sparse32(matrix) => self.visit_until(until, |i| {
                let (indices, values) = matrix.row(i);
                Row::Sparse32(indices, values)
            }),
            design => self.visit_until(until, |i| design.row(i)),
        }
    }

    #[inline(always)]
    fn visit_until<'d>(&mut self, until: usize, row: impl Fn(usize) -> Row<'d>) {
        while self.visited < until {
            let i = self.list[self.visited];
            if let Some(&soon) = self.list.get(self.visited + PREFETCH_DISTANCE) {
                row(soon).prefetch();
            }
            // A row's position in storage must be loaded before the row itself can be prefetched.
            if let Some(&later) = self.list.get(self.visited + 2 * PREFETCH_DISTANCE) {
                self.state.rows.design.prefetch_offsets(later);
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

    /// Passes the current weights to the other worker, which continues from them.
    fn pass_weights_to(&mut self, other: &mut Self) {
        std::mem::swap(&mut self.w, &mut other.w);
        other.sum = self.sum;
    }

    /// Updates one multiplier. Returns whether the row stays active.
    #[inline(always)]
    fn visit(&mut self, i: usize, row: Row<'_>) -> bool {
        let state = self.state;
        let coordinate = &state.coordinates[i];
        let multiplier = self.multipliers[i - self.first];
        let z = row.dot(&self.w) + (state.offset + state.rho * self.sum);
        let next = if state.loss == LossName::Logistic {
            let next = coordinate.best_logistic(multiplier, z);
            self.seen.violations.record((next - multiplier) * coordinate.norm);
            next
        } else {
            let slope = coordinate.slope(multiplier, z);
            if state.before.shrinks(coordinate, multiplier, slope) {
                return false;
            }
            let blocked = (multiplier == coordinate.low && slope > 0.0)
                || (multiplier == coordinate.high && slope < 0.0);
            if !blocked {
                self.seen.violations.record(slope);
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

impl EpochReport {
    /// The value before any epoch has run.
    pub(super) const UNKNOWN: EpochReport = EpochReport {
        violations: Violations::UNKNOWN,
        loss: 0.0,
        gap: f64::INFINITY,
    };

    /// Whether the gap is expected to be within the tolerance, if it keeps decreasing at the rate of the last
    /// epoch.
    pub(super) fn predicts_convergence(self, before: EpochReport, norm: f64, tolerance: Tolerance) -> bool {
        let rate = (self.gap / before.gap).min(1.0);
        // The factor ½ makes the prediction cautious, because a wrong one costs an evaluation. Heuristic: not
        // measured yet.
        rate * self.gap <= 0.5 * tolerance.gap(self.loss + norm)
    }

    fn merge(self, other: EpochReport) -> EpochReport {
        EpochReport {
            violations: self.violations.merge(other.violations),
            loss: self.loss + other.loss,
            gap: self.gap + other.gap,
        }
    }
}
