//! The least training error: the hyperplane with the least weighted 0–1 loss, and a proof that no
//! hyperplane does better.
//!
//! The problem is NP-hard when the dimension is part of the input (D. S. Johnson and
//! F. P. Preparata, The densest hemisphere problem, Theoretical Computer Science 6, 1978). Two exact
//! methods are used. `enumerate` visits all hyperplanes through points, for up to three features.
//! `branch_and_bound` branches over circuits, in any dimension, and is practical where few errors are
//! needed. Both start from the best hyperplane of other methods, improved by `zero_one_descent`. If the
//! budget ends first, the result is the best hyperplane and the best bound found so far.
//!
//! - `branch_and_bound`: the search over circuits; `minimal_infeasible`, `strict_feasibility` and
//!   `verified_circuit` find circuits and check them.
//! - `enumerate`: the enumeration; `arrangement`, `pencil_sweep`, `sweep_position` and `filtered_number` are its parts.
//! - `distinct_points`: the distinct rows with their classes and costs.
//! - `proof_tree`: the proof by circuits and its check.
//! - [`error_certificate`]: the claim of a model file and its recomputation from the data.
//! - `zero_one_descent`: a local search for starting points.

mod arrangement;
mod branch_and_bound;
pub(crate) mod distinct_points;
mod enumerate;
pub mod error_certificate;
mod filtered_number;
mod minimal_infeasible;
mod pencil_sweep;
mod proof_tree;
mod strict_feasibility;
mod sweep_position;
mod verified_circuit;
mod zero_one_descent;

pub(crate) use proof_tree::reaches;
pub use proof_tree::{ProofNode, Tree};

use std::cell::RefCell;
use std::time::{Duration, Instant};

use arrangement::Arrangement;
use branch_and_bound::{BranchAndBound, FoundPlane};
use distinct_points::DistinctPoints;
use minimal_infeasible::Exact;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// How a lower bound was proved.
#[derive(Debug, Clone, PartialEq)]
pub enum BoundProof {
    /// By circuits, in a tree of cases.
    Tree(Tree),
    /// By enumeration of all hyperplanes.
    Enumeration,
}

/// The budget of a search.
#[derive(Debug, Clone, Copy, Default)]
pub struct NodeLimit {
    /// The largest number of nodes of the branch and bound, or of sweeps of the enumeration.
    pub nodes: Option<u64>,
    /// The time limit.
    pub time: Option<Duration>,
}

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The bound equals the cost.
    Proved,
    /// The node limit was reached.
    Nodes,
    /// The time limit was reached.
    Time,
    /// The watcher stopped it.
    Stopped,
    /// The bound is the least cost, but the optimal hyperplane passes so close to some points that binary64
    /// scores do not classify them as intended.
    Digits,
}

/// The progress of a search.
pub struct Progress<'a> {
    /// The number of nodes searched.
    pub nodes: u64,
    /// The least cost found so far.
    pub cost: f64,
    /// A lower bound on the cost of every hyperplane.
    pub bound: f64,
    /// The hyperplane of that cost: weights, then the intercept if there is one.
    pub plane: &'a [f64],
}

/// The best hyperplane found and the bound on all others.
#[derive(Debug, Clone)]
pub struct Least {
    /// The weights, then the intercept if there is one.
    pub plane: Vec<f64>,
    /// A lower bound on the cost of every hyperplane.
    pub bound: f64,
    /// The proof of the bound.
    pub proof: BoundProof,
    /// The number of nodes searched.
    pub nodes: u64,
    /// Why the search ended.
    pub end: End,
}

/// Nodes searched before an enumeration starts, because a proof by circuits is faster to check. Heuristic:
/// trades the time of the search for the time of the check; not measured yet.
const TRIAL_NODES: u64 = 200;
/// Gap of the first bound, in units of the largest cost, beyond which the search before an enumeration is
/// skipped. Heuristic: trades futile searches for faster checks; not measured yet.
const TRIAL_GAP: f64 = 4.0;
/// Steps that one node may take to find new circuits; a tenth of it where enumeration is possible.
/// Heuristic: trades tighter bounds for the time per node; not measured yet.
const NODE_STEPS: f64 = 2e9;
/// Cap: an enumeration estimated to take more steps than this (some minutes) is not started.
const MAX_ENUMERATION_STEPS: f64 = 1e11;
/// Steps of a search without a node limit, from which the default limit follows (some minutes). Heuristic:
/// trades time for a better bound; not measured yet.
const SEARCH_STEPS: f64 = 2e10;
/// Cap: nodes of a search without a node limit, so that the proof remains a file of reasonable size.
const MAX_NODES: f64 = 100_000.0;
/// Steps of descent from each start. Heuristic: trades time for a better first hyperplane; not measured
/// yet.
const DESCENT_STEPS: f64 = 4e7;
/// Cap: with more dimensions only descent runs and the bound is 0, because a quadratic programme of that
/// size per circuit is too expensive.
const MAX_DIMENSION: usize = 1500;

/// Random perturbations of a hyperplane that are tried when rounding changes its cost. Heuristic: trades
/// time for the chance of a representable hyperplane; not measured yet.
const PERTURBATIONS: usize = 500;

/// The best hyperplane found so far.
struct Incumbent<'a> {
    judge: &'a dyn Fn(&[f64]) -> f64,
    plane: Vec<f64>,
    cost: f64,
    seed: u64,
    expired: &'a dyn Fn() -> bool,
}

impl Incumbent<'_> {
    fn offer(&mut self, plane: &[f64]) {
        if plane.iter().all(|v| v.is_finite()) {
            let cost = (self.judge)(plane);
            if cost < self.cost {
                self.cost = cost;
                self.plane = plane.to_vec();
            }
        }
    }

    fn least(self, bound: f64, proof: BoundProof, nodes: u64, end: End) -> Least {
        Least {
            end: if reaches(bound, self.cost) {
                End::Proved
            } else {
                end
            },
            plane: self.plane,
            bound,
            proof,
            nodes,
        }
    }

    /// Offers a hyperplane with the cost it has in exact arithmetic. If some points are so close that
    /// rounded scores classify them differently, nearby hyperplanes are tried, because the cost is defined
    /// by the predictions.
    fn offer_with_exact_cost(&mut self, found: &FoundPlane) {
        self.offer(&found.plane);
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        for _ in 0..PERTURBATIONS {
            if reaches(found.exact_cost, self.cost) || (self.expired)() {
                return;
            }
            let factor: f64 = random.random_range(1.0..2.0);
            let nearby = |v: &f64| v * factor * (1.0 + f64::EPSILON * f64::from(random.random_range(-2..=2)));
            let plane: Vec<f64> = found.plane.iter().map(nearby).collect();
            self.offer(&plane);
        }
    }
}

/// Searches for the hyperplane of the least cost. `judge` returns the cost of a hyperplane, by the
/// arithmetic of predictions. `watch` receives the progress from time to time and stops the search by
/// returning `false`.
pub fn minimise(
    points: &DistinctPoints,
    starts: &[Vec<f64>],
    budget: NodeLimit,
    seed: u64,
    judge: &dyn Fn(&[f64]) -> f64,
    watch: &mut dyn FnMut(&Progress<'_>) -> bool,
) -> Least {
    let started = Instant::now();
    let expired = || budget.time.is_some_and(|most| started.elapsed() >= most);
    let mut best = Incumbent {
        judge,
        plane: vec![0.0; points.dimension],
        cost: f64::INFINITY,
        seed,
        expired: &expired,
    };
    // All points negative, and all points positive.
    best.offer(&vec![0.0; points.dimension]);
    if points.intercept {
        let mut plane = vec![0.0; points.dimension];
        plane[points.dimension - 1] = 1.0;
        best.offer(&plane);
    }
    starts.iter().for_each(|plane| best.offer(plane));
    if best.cost > 0.0 {
        for (k, start) in (0..).zip(starts) {
            let start = points.normalised(start);
            let plane = zero_one_descent::descend(points, start, seed ^ k, DESCENT_STEPS, &expired);
            best.offer(&points.denormalise(&plane));
        }
        // Heuristic: the best hyperplane gets four times as many steps as a start; not measured yet.
        let start = points.normalised(&best.plane);
        let plane = zero_one_descent::descend(points, start, seed ^ 0xDE5C, 4.0 * DESCENT_STEPS, &expired);
        best.offer(&points.denormalise(&plane));
    }
    if best.cost <= 0.0 || points.dimension > MAX_DIMENSION {
        return best.least(0.0, BoundProof::Tree(Tree::empty()), 0, End::Nodes);
    }

    let most_nodes = budget.nodes.unwrap_or_else(|| {
        // An estimate: a node takes about a hundred passes over the points. Heuristic: not measured yet.
        let each = points.len() as f64 * points.dimension as f64 * 100.0;
        (SEARCH_STEPS / each).clamp(1.0, MAX_NODES) as u64
    });
    let best = RefCell::new(best);
    let judge = |found: Option<&FoundPlane>| {
        let mut best = best.borrow_mut();
        found
            .into_iter()
            .for_each(|found| best.offer_with_exact_cost(found));
        best.cost
    };
    let mut end = End::Nodes;
    // Whether to continue, given the number of nodes searched and its limit.
    let mut should_continue = |nodes: u64, most: u64, bound: f64| {
        let best = best.borrow();
        let progress = Progress {
            nodes,
            cost: best.cost,
            bound,
            plane: &best.plane,
        };
        if expired() {
            end = End::Time;
        } else if !watch(&progress) {
            end = End::Stopped;
        }
        end == End::Nodes && nodes < most
    };
    let arrangement = if expired() {
        None
    } else {
        Arrangement::within(points, MAX_ENUMERATION_STEPS)
    };
    let steps = match &arrangement {
        // A single sort solves the problem, and checks the solution, faster than any circuit.
        Some(all) if all.is_one_sweep() => 0.0,
        // See `NODE_STEPS`.
        Some(_) => NODE_STEPS / 10.0,
        None => NODE_STEPS,
    };
    let mut search = BranchAndBound::new(points, &expired, steps, &judge);
    let largest_cost = points.costs.iter().copied().fold(0.0, f64::max);
    let gap = judge(None) - search.bound(judge(None));
    let first = match &arrangement {
        Some(all) if all.is_one_sweep() || gap > TRIAL_GAP * largest_cost => 0,
        Some(_) => TRIAL_NODES.min(most_nodes),
        None => most_nodes,
    };
    let mut exhausted = search.run(&judge, &mut |nodes, bound| should_continue(nodes, first, bound));
    let mut bound = search.bound(judge(None));
    let mut nodes = search.nodes();
    let mut enumerated = false;
    if let Some(arrangement) = arrangement
        && !reaches(bound, judge(None))
        && should_continue(nodes, u64::MAX, bound)
    {
        let most = budget.nodes.unwrap_or(u64::MAX);
        let found = arrangement.least_error(&expired, |sweeps| should_continue(nodes + sweeps, most, bound));
        nodes += found.sweeps;
        if found.cost < judge(None) {
            let exact_cost = found.cost;
            let plane = realise(points, &found.sides, &expired);
            judge(Some(&FoundPlane { plane, exact_cost }));
        }
        if found.complete {
            (bound, enumerated, exhausted) = (found.cost, true, true);
        }
    }
    let bound = bound.min(judge(None));
    let proof = match enumerated {
        true => BoundProof::Enumeration,
        false => BoundProof::Tree(search.proof(bound)),
    };
    let end = if exhausted { End::Digits } else { end };
    best.into_inner().least(bound, proof, nodes, end)
}

/// The maximum-margin hyperplane that classifies correctly the points that `sides` classifies correctly;
/// empty if the time limit has passed.
fn realise(points: &DistinctPoints, sides: &[bool], expired: &dyn Fn() -> bool) -> Vec<f64> {
    if points.intercept && points.dimension == 2 {
        return threshold(points, sides);
    }
    let right: Vec<usize> = (0..points.len())
        .filter(|&i| sides[i] == points.positive[i])
        .collect();
    match branch_and_bound::contradiction(points, &right, &[], expired) {
        Some(Exact::Separated(plane)) => plane,
        _ => Vec::new(),
    }
}

/// A threshold t on the line between the two sides, as the hyperplane `±(x − t)`. A difference of doubles has the
/// correct sign even when rounded.
fn threshold(points: &DistinctPoints, sides: &[bool]) -> Vec<f64> {
    let ends = |side: bool| {
        let own = (0..points.len())
            .filter(|&i| sides[i] == side)
            .map(|i| points.row(i)[0]);
        own.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| {
            (low.min(x), high.max(x))
        })
    };
    let (positive, negative) = (ends(true), ends(false));
    let between = |low: f64, high: f64, otherwise: f64| {
        let middle = low / 2.0 + high / 2.0;
        if low < middle && middle < high {
            middle
        } else {
            otherwise
        }
    };
    // A score of 0 is the negative class. If no double lies between the sides, the threshold is the nearest
    // negative point.
    if negative.1 < positive.0 {
        vec![1.0, -between(negative.1, positive.0, negative.1)]
    } else {
        vec![-1.0, between(positive.1, negative.0, negative.0)]
    }
}

/// The least cost by enumeration, to check a claim; `None` if there are too many dimensions.
pub(crate) fn enumerated(points: &DistinctPoints) -> Option<f64> {
    let arrangement = Arrangement::within(points, MAX_ENUMERATION_STEPS)?;
    Some(arrangement.least_error(&|| false, |_| true).cost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::least_error::distinct_points::InputRow;
    use rand::{RngExt, SeedableRng};

    struct Set {
        rows: Vec<Vec<f64>>,
        positive: Vec<bool>,
        costs: Vec<f64>,
        intercept: bool,
    }

    impl Set {
        fn points(&self) -> DistinctPoints {
            let rows = (0..).zip(&self.rows).zip(self.positive.iter().zip(&self.costs));
            let input_rows = rows.map(|((row, features), (&positive, &cost))| InputRow {
                row,
                features,
                positive,
                cost,
            });
            DistinctPoints::gather(self.rows[0].len(), self.intercept, input_rows)
        }

        fn cost(&self, plane: &[f64]) -> f64 {
            let score = |row: &[f64]| {
                let intercept = if self.intercept { plane[row.len()] } else { 0.0 };
                row.iter().zip(plane).map(|(x, w)| x * w).sum::<f64>() + intercept
            };
            let wrong = (0..self.rows.len()).filter(|&i| (score(&self.rows[i]) > 0.0) != self.positive[i]);
            wrong.map(|i| self.costs[i]).sum()
        }
    }

    /// Sets in many kinds of degenerate position: on lattices, far from the origin, and at very different
    /// scales.
    fn set(seed: u64) -> Set {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let features = 1 + (seed % 3) as usize;
        let n = random.random_range(2..24usize);
        let kind = random.random_range(0..6);
        let reach = random.random_range(1..5i32);
        let scales: Vec<f64> = (0..features)
            .map(|_| match kind {
                0 => 1e100,
                1 => 1e-120,
                2 => 10f64.powi(random.random_range(-8..8)),
                3 => 0.1,
                _ => 1.0,
            })
            .collect();
        let offset = if kind == 4 { 9_007_199_254_740_000.0 } else { 0.0 };
        let rows: Vec<Vec<f64>> = (0..n)
            .map(|_| {
                let mut entry = |scale: &f64| {
                    let whole = f64::from(random.random_range(-reach..=reach));
                    let tiny = kind == 5 && random.random_range(0..3) == 0;
                    if tiny { 1e-30 } else { (whole + offset) * scale }
                };
                scales.iter().map(&mut entry).collect()
            })
            .collect();
        let positive = rows
            .iter()
            .map(|row| (row[0] > offset) != (random.random_range(0..5) == 0));
        Set {
            positive: positive.collect(),
            costs: (0..n)
                .map(|_| {
                    if seed.is_multiple_of(4) {
                        0.1 * f64::from(random.random_range(1..6))
                    } else {
                        1.0
                    }
                })
                .collect(),
            intercept: random.random_range(0..4) > 0,
            rows,
        }
    }

    #[test]
    fn search_and_enumeration_agree() {
        for seed in 0..600 {
            let set = set(seed);
            let points = set.points();
            let enumerated = enumerated(&points).unwrap();
            let by_scores = |plane: &[f64]| set.cost(plane);
            let best = RefCell::new(Incumbent {
                judge: &by_scores,
                plane: Vec::new(),
                cost: f64::INFINITY,
                seed,
                expired: &|| false,
            });
            best.borrow_mut().offer(&vec![0.0; points.dimension]);
            let judge = |found: Option<&FoundPlane>| {
                found
                    .into_iter()
                    .for_each(|found| best.borrow_mut().offer_with_exact_cost(found));
                best.borrow().cost
            };
            let expired = || false;
            let mut search = BranchAndBound::new(&points, &expired, NODE_STEPS, &judge);
            search.run(&judge, &mut |nodes, _| nodes < 20_000);
            let bound = search.bound(judge(None));
            assert!(
                (bound - enumerated).abs() < 1e-9,
                "seed {seed}: {bound} and {enumerated}"
            );
            let proof = search.proof(bound);
            assert_eq!(proof.check(&points, bound), Ok(()), "seed {seed}");
            assert!(proof.check(&points, bound + 0.05).is_err(), "seed {seed}");
        }
    }

    #[test]
    fn optimum_is_found_unless_rounding_hides_it() {
        for seed in 0..600 {
            let set = set(seed);
            let points = set.points();
            let judge = |plane: &[f64]| set.cost(plane);
            let least = minimise(&points, &[], NodeLimit::default(), seed, &judge, &mut |_| true);
            let cost = set.cost(&least.plane);
            let enumerated = enumerated(&points).unwrap();
            assert!((least.bound - enumerated).abs() < 1e-9, "seed {seed}");
            assert_eq!(
                least.end == End::Proved,
                (cost - enumerated).abs() < 1e-9,
                "seed {seed}"
            );
            // On integer lattices near the origin every dichotomy has a representable hyperplane.
            let plain = set
                .rows
                .iter()
                .flatten()
                .all(|v| v.fract() == 0.0 && v.abs() < 100.0);
            assert!(
                !plain || least.end == End::Proved,
                "seed {seed}: {cost} for {enumerated}"
            );
        }
    }

    #[test]
    fn interrupted_search_has_a_proved_bound() {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let rows: Vec<Vec<f64>> = (0..60)
            .map(|_| (0..6).map(|_| random.random_range(-1.0..1.0)).collect())
            .collect();
        let set = Set {
            positive: (0..60).map(|_| random.random()).collect(),
            costs: vec![1.0; 60],
            intercept: true,
            rows,
        };
        let points = set.points();
        let mut last = 0.0;
        for nodes in [1, 10, 100, 1000] {
            let budget = NodeLimit {
                nodes: Some(nodes),
                time: None,
            };
            let judge = |plane: &[f64]| set.cost(plane);
            let least = minimise(&points, &[], budget, 0, &judge, &mut |_| true);
            assert_eq!(least.end, End::Nodes);
            assert!(least.bound >= last && least.bound < set.cost(&least.plane));
            last = least.bound;
            let BoundProof::Tree(tree) = &least.proof else {
                panic!("six features are not enumerated");
            };
            assert_eq!(tree.check(&points, least.bound), Ok(()));
        }
        assert!(last >= 3.0, "{last}");
    }
}
