//! The least training error: the hyperplane that classifies the fewest points wrongly, or the cheapest of them, and the
//! proof that none does better.
//!
//! Finding it is NP-hard when the dimension is part of the input (Johnson, Preparata 1978). Two exact ways:
//! `enumerate` takes all hyperplanes through points in turn, for up to three features; `search` branches over
//! circuits, in any dimension, where few errors are needed. Both start from the best of other methods' hyperplanes, made
//! better by `descent`. When the budget ends first, the best hyperplane so far and the bound so far are the answer.

mod active_set;
mod bounds;
mod circuit;
mod descent;
mod enumerate;
mod number;
mod pencil;
mod place;
pub(crate) mod points;
mod proof;
mod search;

pub(crate) use proof::reaches;
pub use proof::{Step, Tree};

use std::cell::RefCell;
use std::time::{Duration, Instant};

use circuit::Exact;
use enumerate::Arrangement;
use points::Points;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use search::{Found, Search};

/// How a bound was proved.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Proof {
    /// By circuits.
    Tree(Tree),
    /// By going through all hyperplanes.
    Enumeration,
}

/// What may be spent.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Budget {
    /// Nodes of the search, or sweeps of the enumeration.
    pub(crate) nodes: Option<u64>,
    pub(crate) time: Option<Duration>,
}

/// Why the search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The bound meets the cost.
    Proved,
    /// No nodes are left in the budget.
    Nodes,
    /// No time is left.
    Time,
    /// Someone asked for it.
    Stopped,
    /// The bound is the least cost, and the hyperplane that has it is so near to some points that scores in binary64
    /// do not tell its sides apart.
    Digits,
}

/// How far it is.
pub(crate) struct Progress<'a> {
    pub(crate) nodes: u64,
    pub(crate) cost: f64,
    pub(crate) bound: f64,
    pub(crate) plane: &'a [f64],
}

/// The cheapest hyperplane that was found and what is known about all others.
#[derive(Debug, Clone)]
pub(crate) struct Least {
    /// Weights, then the intercept if there is one.
    pub(crate) plane: Vec<f64>,
    /// No hyperplane costs less.
    pub(crate) bound: f64,
    pub(crate) proof: Proof,
    pub(crate) nodes: u64,
    pub(crate) end: End,
}

/// Nodes that are searched before an enumeration is begun: a proof by circuits is checked faster.
const TRIAL: u64 = 200;
/// No such proof is tried where more errors than this are missing from the first bound.
const TRIAL_GAP: f64 = 4.0;
/// Steps that one node may take to find new circuits; a tenth where there is another way.
const LOOK_STEPS: f64 = 2e9;
/// Steps of the largest enumeration that is begun: some minutes.
const MOST_STEPS: f64 = 1e11;
/// Steps that a search makes unless it is told how many nodes it may look at: some minutes too.
const SEARCH_STEPS: f64 = 2e10;
/// Nodes at most by default, so that the proof stays a file of reasonable size.
const MOST_NODES: f64 = 100_000.0;
/// Steps of descent from each start.
const DESCENT_STEPS: f64 = 4e7;
/// With more dimensions a quadratic programme of so many unknowns is no part of a search.
const MOST_DIMENSIONS: usize = 1500;

/// Neighbours of a hyperplane that are tried where rounding decides.
const TRIES: usize = 500;

/// The cheapest of the hyperplanes seen so far.
struct Incumbent<'a> {
    judge: &'a dyn Fn(&[f64]) -> f64,
    plane: Vec<f64>,
    cost: f64,
    seed: u64,
    late: &'a dyn Fn() -> bool,
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

    fn least(self, bound: f64, proof: Proof, nodes: u64, end: End) -> Least {
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

    /// Offers a hyperplane that costs no more than promised, but for rounding. Where points are so near to it that
    /// the rounding of scores decides their side, others that are as near are tried: what counts is what predictions say.
    fn offer_promised(&mut self, found: &Found) {
        self.offer(&found.plane);
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        for _ in 0..TRIES {
            if reaches(found.promise, self.cost) || (self.late)() {
                return;
            }
            let factor: f64 = random.random_range(1.0..2.0);
            let nearby = |v: &f64| v * factor * (1.0 + f64::EPSILON * f64::from(random.random_range(-2..=2)));
            let plane: Vec<f64> = found.plane.iter().map(nearby).collect();
            self.offer(&plane);
        }
    }
}

/// Looks for the cheapest hyperplane. `judge` tells what one costs, by the arithmetic of predictions; `watch` sees
/// the progress now and then, and may end it by saying no.
pub(crate) fn minimise(
    points: &Points,
    starts: &[Vec<f64>],
    budget: Budget,
    seed: u64,
    judge: &dyn Fn(&[f64]) -> f64,
    watch: &mut dyn FnMut(&Progress<'_>) -> bool,
) -> Least {
    let started = Instant::now();
    let late = || budget.time.is_some_and(|most| started.elapsed() >= most);
    let mut best = Incumbent {
        judge,
        plane: vec![0.0; points.dimension],
        cost: f64::INFINITY,
        seed,
        late: &late,
    };
    // Everything negative, everything positive.
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
            let plane = descent::descend(points, start, seed ^ k, DESCENT_STEPS, &late);
            best.offer(&points.denormalise(&plane));
        }
        let start = points.normalised(&best.plane);
        let plane = descent::descend(points, start, seed ^ 0xDE5C, 4.0 * DESCENT_STEPS, &late);
        best.offer(&points.denormalise(&plane));
    }
    if best.cost <= 0.0 || points.dimension > MOST_DIMENSIONS {
        return best.least(0.0, Proof::Tree(Tree::empty()), 0, End::Nodes);
    }

    let most_nodes = budget.nodes.unwrap_or_else(|| {
        let each = points.len() as f64 * points.dimension as f64 * 100.0;
        (SEARCH_STEPS / each).clamp(1.0, MOST_NODES) as u64
    });
    let best = RefCell::new(best);
    let judge = |found: Option<&Found>| {
        let mut best = best.borrow_mut();
        found.into_iter().for_each(|found| best.offer_promised(found));
        best.cost
    };
    let mut end = End::Nodes;
    // Whether to go on, with so many nodes looked at of so many.
    let mut go_on = |nodes: u64, most: u64, bound: f64| {
        let best = best.borrow();
        let progress = Progress {
            nodes,
            cost: best.cost,
            bound,
            plane: &best.plane,
        };
        if late() {
            end = End::Time;
        } else if !watch(&progress) {
            end = End::Stopped;
        }
        end == End::Nodes && nodes < most
    };
    let arrangement = if late() {
        None
    } else {
        Arrangement::within(points, MOST_STEPS)
    };
    let steps = match &arrangement {
        // A sort finds the answer, and whoever checks it, sooner than any circuit.
        Some(all) if all.is_one_sweep() => 0.0,
        Some(_) => LOOK_STEPS / 10.0,
        None => LOOK_STEPS,
    };
    let mut search = Search::new(points, &late, steps, &judge);
    let dearest = points.costs.iter().copied().fold(0.0, f64::max);
    let gap = judge(None) - search.bound(judge(None));
    let first = match &arrangement {
        Some(all) if all.is_one_sweep() || gap > TRIAL_GAP * dearest => 0,
        Some(_) => TRIAL.min(most_nodes),
        None => most_nodes,
    };
    let mut exhausted = search.run(&judge, &mut |nodes, bound| go_on(nodes, first, bound));
    let mut bound = search.bound(judge(None));
    let mut nodes = search.nodes();
    let mut enumerated = false;
    if let Some(arrangement) = arrangement
        && !reaches(bound, judge(None))
        && go_on(nodes, u64::MAX, bound)
    {
        let most = budget.nodes.unwrap_or(u64::MAX);
        let found = arrangement.least_error(&late, |sweeps| go_on(nodes + sweeps, most, bound));
        nodes += found.sweeps;
        if found.cost < judge(None) {
            let promise = found.cost;
            let plane = realise(points, &found.sides, &late);
            judge(Some(&Found { plane, promise }));
        }
        if found.complete {
            (bound, enumerated, exhausted) = (found.cost, true, true);
        }
    }
    let bound = bound.min(judge(None));
    let proof = match enumerated {
        true => Proof::Enumeration,
        false => Proof::Tree(search.proof(bound)),
    };
    let end = if exhausted { End::Digits } else { end };
    best.into_inner().least(bound, proof, nodes, end)
}

/// The hyperplane of the widest margin that has the points that are on their right side on that side; none if it gets
/// late.
fn realise(points: &Points, sides: &[bool], late: &dyn Fn() -> bool) -> Vec<f64> {
    if points.intercept && points.dimension == 2 {
        return threshold(points, sides);
    }
    let right: Vec<usize> = (0..points.len())
        .filter(|&i| sides[i] == points.positive[i])
        .collect();
    match search::contradiction(points, &right, &[], late) {
        Some(Exact::Separated(plane)) => plane,
        _ => Vec::new(),
    }
}

/// The point of a line that lies between two sides of it, as `±(x − t)`: a difference has the right sign, rounded or not.
fn threshold(points: &Points, sides: &[bool]) -> Vec<f64> {
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
    // A score of 0 is the negative class: where no number lies between, the hyperplane goes through its nearest point.
    if negative.1 < positive.0 {
        vec![1.0, -between(negative.1, positive.0, negative.1)]
    } else {
        vec![-1.0, between(positive.1, negative.0, negative.0)]
    }
}

/// The least cost by enumeration, for whoever wants to check one; `None` if there are too many dimensions.
pub(crate) fn enumerated(points: &Points) -> Option<f64> {
    let arrangement = Arrangement::within(points, MOST_STEPS)?;
    Some(arrangement.least_error(&|| false, |_| true).cost)
}

#[cfg(test)]
mod tests {
    use super::points::Entrant;
    use super::*;
    use rand::{RngExt, SeedableRng};

    struct Set {
        rows: Vec<Vec<f64>>,
        positive: Vec<bool>,
        costs: Vec<f64>,
        intercept: bool,
    }

    impl Set {
        fn points(&self) -> Points {
            let rows = (0..).zip(&self.rows).zip(self.positive.iter().zip(&self.costs));
            let entrants = rows.map(|((row, features), (&positive, &cost))| Entrant {
                row,
                features,
                positive,
                cost,
            });
            Points::gather(self.rows[0].len(), self.intercept, entrants)
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

    /// Sets in every kind of bad position: on lattices, far from the origin, at scales far from 1 and from each other.
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
    fn both_ways_prove_the_same_least_error() {
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
                late: &|| false,
            });
            best.borrow_mut().offer(&vec![0.0; points.dimension]);
            let judge = |found: Option<&Found>| {
                found
                    .into_iter()
                    .for_each(|found| best.borrow_mut().offer_promised(found));
                best.borrow().cost
            };
            let late = || false;
            let mut search = Search::new(&points, &late, LOOK_STEPS, &judge);
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
    fn only_what_rounding_hides_is_missed() {
        for seed in 0..600 {
            let set = set(seed);
            let points = set.points();
            let judge = |plane: &[f64]| set.cost(plane);
            let least = minimise(&points, &[], Budget::default(), seed, &judge, &mut |_| true);
            let cost = set.cost(&least.plane);
            let enumerated = enumerated(&points).unwrap();
            assert!((least.bound - enumerated).abs() < 1e-9, "seed {seed}");
            assert_eq!(
                least.end == End::Proved,
                (cost - enumerated).abs() < 1e-9,
                "seed {seed}"
            );
            // On lattices at ordinary places every dichotomy can be had.
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
    fn a_budget_leaves_a_bound_that_is_proved() {
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
            let budget = Budget {
                nodes: Some(nodes),
                time: None,
            };
            let judge = |plane: &[f64]| set.cost(plane);
            let least = minimise(&points, &[], budget, 0, &judge, &mut |_| true);
            assert_eq!(least.end, End::Nodes);
            assert!(least.bound >= last && least.bound < set.cost(&least.plane));
            last = least.bound;
            let Proof::Tree(tree) = &least.proof else {
                panic!("six features are not enumerated");
            };
            assert_eq!(tree.check(&points, least.bound), Ok(()));
        }
        assert!(last >= 3.0, "{last}");
    }
}
