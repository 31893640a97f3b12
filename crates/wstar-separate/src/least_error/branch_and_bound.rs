//! The least error by branch and bound over circuits, in any dimension, practical where few errors are
//! needed.
//!
//! Problem: min over (w, b) of the total cost of the misclassified points. Every hyperplane is wrong on at
//! least one point of every circuit. So the wrong points are a hitting set of the circuits, and the least
//! error is the cheapest hitting set (J. W. Chinneck, *An effective polynomial-time heuristic for the
//! minimum-cardinality IIS set-covering problem*, 1996; E. Amaldi, M. Pfetsch, L. Trotter, *On the maximum
//! feasible subsystem problem, IISs and IIS-hypergraphs*, 2003).
//!
//! A node fixes some points as wrong and some as right. Circuits that share only points fixed as right
//! bound its cost from below. With costs other than 1, each circuit takes from its undecided points the
//! least cost that remains on any of them. A node is split over the undecided points of one circuit, by
//! which of them is the first wrong one. The final tree is the proof.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use rayon::prelude::*;

use crate::least_error::distinct_points::DistinctPoints;
use crate::least_error::minimal_infeasible::{Exact, circuit_within, decide};
use crate::least_error::proof_tree::{ProofNode, Tree, reaches};
use crate::least_error::strict_feasibility;
use crate::least_error::strict_feasibility::Feasibility;

/// The most recent circuits, which are tried at every node before new ones are searched. Heuristic: trades
/// time per node for repeated searches; not measured yet.
const POOL: usize = 2000;

/// A search that can be resumed.
pub(crate) struct BranchAndBound<'a> {
    points: &'a DistinctPoints,
    /// Whether the time limit has passed.
    expired: &'a (dyn Fn() -> bool + Sync),
    /// The most new circuits that one node may search for.
    max_new_circuits: usize,
    circuits: Vec<Vec<usize>>,
    nodes: Vec<Node>,
    open: BinaryHeap<Open>,
}

struct Node {
    /// A lower bound on the cost of the hyperplanes of this node.
    bound: f64,
    /// The circuits that prove it, in the order in which they take their shares of the costs.
    packing: Vec<u32>,
    /// Whether some hyperplane is right on all points that the circuits left over, up to rounding.
    separated: bool,
    split: Option<Split>,
}

struct Split {
    circuit: u32,
    order: Vec<usize>,
    children: Vec<u32>,
}

struct Open {
    node: u32,
    bound: f64,
    wrong: Vec<usize>,
    right: Vec<usize>,
}

impl PartialEq for Open {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Open {}
impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Open {
    /// The least bound first; among equal bounds the node with the most decided points, then the oldest.
    fn cmp(&self, other: &Self) -> Ordering {
        let decided = |open: &Open| open.wrong.len() + open.right.len();
        other
            .bound
            .total_cmp(&self.bound)
            .then(decided(self).cmp(&decided(other)))
            .then(other.node.cmp(&self.node))
    }
}

/// The result of bounding a node.
struct BoundedNode {
    bound: f64,
    packing: Vec<Packed>,
    /// A hyperplane that is right on the points that the circuits left over.
    found: Option<FoundPlane>,
}

enum Packed {
    Known(u32),
    New(Vec<usize>),
}

/// A hyperplane in the units of the data, and an upper bound on its cost in exact arithmetic.
pub(crate) struct FoundPlane {
    pub(crate) plane: Vec<f64>,
    pub(crate) exact_cost: f64,
}

impl<'a> BranchAndBound<'a> {
    /// Bounds the root; one node may take about `steps` steps. `judge` receives every hyperplane found and
    /// returns the least cost so far.
    pub(crate) fn new(
        points: &'a DistinctPoints,
        expired: &'a (dyn Fn() -> bool + Sync),
        steps: f64,
        judge: &dyn Fn(Option<&FoundPlane>) -> f64,
    ) -> Self {
        // The estimated steps for one circuit: twenty passes over all points.
        let each = 20.0 * points.len() as f64 * points.dimension as f64;
        let mut search = BranchAndBound {
            points,
            expired,
            max_new_circuits: if steps > 0.0 {
                // Heuristic: limits of the time per node; not measured yet.
                (steps / each).clamp(50.0, 1e6) as usize
            } else {
                0
            },
            circuits: Vec::new(),
            nodes: Vec::new(),
            open: BinaryHeap::new(),
        };
        let least = judge(None);
        let bounded = search.bound_node(&[], &[], least);
        search.admit(bounded, Vec::new(), Vec::new(), judge);
        search
    }

    /// The number of nodes so far.
    pub(crate) fn nodes(&self) -> u64 {
        self.nodes.len() as u64
    }

    /// A lower bound on the cost of every hyperplane.
    pub(crate) fn bound(&self, least: f64) -> f64 {
        self.open.peek().map_or(least, |open| open.bound.min(least))
    }

    /// Splits nodes until the bound reaches the least cost, or `should_continue` returns `false` for the number of
    /// nodes and the bound. Returns whether no node can be split although the bound is below the least
    /// cost.
    pub(crate) fn run(
        &mut self,
        judge: &dyn Fn(Option<&FoundPlane>) -> f64,
        should_continue: &mut dyn FnMut(u64, f64) -> bool,
    ) -> bool {
        loop {
            let least = judge(None);
            let bound = self.bound(least);
            if reaches(bound, least) || !should_continue(self.nodes(), bound) {
                return false;
            }
            let Some(open) = self.open.pop() else { return false };
            let node = open.node as usize;
            let Some((circuit, order)) = self.choose(node, &open.right) else {
                // No circuit is left, so the bound of this node is the least error. Only rounding can have
                // given its hyperplane a larger cost.
                let separated = self.nodes[node].separated;
                self.open.push(open);
                return separated;
            };
            let children: Vec<(Vec<usize>, Vec<usize>)> = (0..order.len())
                .map(|k| {
                    let wrong = open.wrong.iter().copied().chain([order[k]]).collect();
                    let right = open.right.iter().chain(&order[..k]).copied().collect();
                    (wrong, right)
                })
                .collect();
            let bounded: Vec<BoundedNode> = children
                .par_iter()
                .map(|(wrong, right)| self.bound_node(wrong, right, least))
                .collect();
            let mut ids = Vec::with_capacity(children.len());
            for (bounded, (wrong, right)) in bounded.into_iter().zip(children) {
                ids.push(self.nodes.len() as u32);
                self.admit(bounded, wrong, right, judge);
            }
            self.nodes[node].split = Some(Split {
                circuit,
                order,
                children: ids,
            });
        }
    }

    fn admit(
        &mut self,
        bounded: BoundedNode,
        wrong: Vec<usize>,
        right: Vec<usize>,
        judge: &dyn Fn(Option<&FoundPlane>) -> f64,
    ) {
        let packing = bounded
            .packing
            .into_iter()
            .map(|found| match found {
                Packed::Known(id) => id,
                Packed::New(circuit) => {
                    self.circuits.push(circuit);
                    self.circuits.len() as u32 - 1
                }
            })
            .collect();
        let node = self.nodes.len() as u32;
        self.nodes.push(Node {
            bound: bounded.bound,
            packing,
            separated: bounded.found.is_some(),
            split: None,
        });
        judge(bounded.found.as_ref());
        if bounded.bound < f64::INFINITY {
            self.open.push(Open {
                node,
                bound: bounded.bound,
                wrong,
                right,
            });
        }
    }

    /// The circuit with the fewest undecided points, to split the node over, and these points in order.
    /// Points that occur in the most circuits come first, because they are likely to be wrong.
    fn choose(&self, node: usize, right: &[usize]) -> Option<(u32, Vec<usize>)> {
        let free = |id: u32| -> Vec<usize> {
            let members = self.circuits[id as usize].iter();
            members.copied().filter(|i| !right.contains(i)).collect()
        };
        let packing = self.nodes[node].packing.iter();
        let (id, mut order) = packing
            .map(|&id| (id, free(id)))
            .min_by_key(|(_, free)| free.len())?;
        let latest = &self.circuits[self.circuits.len().saturating_sub(POOL)..];
        let popularity = |i: usize| latest.iter().filter(|circuit| circuit.contains(&i)).count();
        order.sort_by_cached_key(|&i| (std::cmp::Reverse(popularity(i)), i));
        Some((id, order))
    }

    /// Packs circuits into a node until its bound reaches `least`, or until no circuit is left.
    fn bound_node(&self, wrong: &[usize], right: &[usize], least: f64) -> BoundedNode {
        let points = self.points;
        let mut left = points.costs.clone();
        let mut fixed = vec![false; points.len()];
        right.iter().for_each(|&i| fixed[i] = true);
        let mut bound = 0.0;
        for &i in wrong {
            bound += points.costs[i];
            left[i] = -1.0;
        }
        let mut bounded = BoundedNode {
            bound,
            packing: Vec::new(),
            found: None,
        };
        // Circuits with the fewest undecided points first, because they leave the most cost to the others.
        let start = self.circuits.len().saturating_sub(POOL);
        let mut known: Vec<(usize, u32)> = (start as u32..)
            .zip(&self.circuits[start..])
            .filter(|(_, circuit)| circuit.iter().all(|&i| left[i] >= 0.0))
            .map(|(id, circuit)| (circuit.iter().filter(|&&i| !fixed[i]).count(), id))
            .collect();
        known.sort_unstable();
        for (_, id) in known {
            if reaches(bounded.bound, least) {
                return bounded;
            }
            if let Some(share) = take_share(&self.circuits[id as usize], &fixed, &mut left) {
                bounded.packing.push(Packed::Known(id));
                bounded.bound += share;
            }
        }
        for _ in 0..self.max_new_circuits {
            if reaches(bounded.bound, least) || (self.expired)() {
                break;
            }
            let counts = |&i: &usize| left[i] > 0.0 || fixed[i] && left[i] == 0.0;
            let members: Vec<usize> = (0..points.len()).filter(counts).collect();
            match contradiction(points, &members, &fixed, self.expired) {
                Some(Exact::Separated(plane)) => {
                    let mut others = points.costs.clone();
                    members.iter().for_each(|&i| others[i] = 0.0);
                    let exact_cost = others.iter().sum();
                    bounded.found = Some(FoundPlane { plane, exact_cost });
                    break;
                }
                Some(Exact::Circuit(circuit)) => {
                    bounded.bound += take_share(&circuit, &fixed, &mut left).unwrap_or(0.0);
                    bounded.packing.push(Packed::New(circuit));
                }
                None => break,
            }
        }
        bounded
    }

    /// The proof that no hyperplane costs less than `bound`: the part of the tree that it needs.
    pub(crate) fn proof(&self, bound: f64) -> Tree {
        let mut tree = Tree::default();
        let mut ids: Vec<Option<u32>> = vec![None; self.circuits.len()];
        let mut id = |tree: &mut Tree, circuit: u32| {
            *ids[circuit as usize].get_or_insert_with(|| {
                let rows = self.circuits[circuit as usize]
                    .iter()
                    .map(|&i| self.points.rows[i]);
                tree.circuits.push(rows.collect());
                tree.circuits.len() as u32 - 1
            })
        };
        let mut stack = vec![0u32];
        while let Some(node) = stack.pop() {
            let node = &self.nodes[node as usize];
            match &node.split {
                Some(split) if !reaches(node.bound, bound) => {
                    let circuit = id(&mut tree, split.circuit);
                    let order = split.order.iter().map(|&i| self.points.rows[i]).collect();
                    tree.steps.push(ProofNode::Split { circuit, order });
                    stack.extend(split.children.iter().rev());
                }
                _ => {
                    let packing = node.packing.iter().map(|&c| id(&mut tree, c)).collect();
                    tree.steps.push(ProofNode::Pack(packing));
                }
            }
        }
        tree
    }
}

/// Takes the least remaining cost of the undecided points of a circuit from each of them, and returns it.
/// Infinite if no point is undecided, `None` if no cost remains.
fn take_share(circuit: &[usize], fixed: &[bool], left: &mut [f64]) -> Option<f64> {
    let free = || circuit.iter().copied().filter(|&i| !fixed[i]);
    let share = free().map(|i| left[i]).fold(f64::INFINITY, f64::min);
    if share <= 0.0 {
        return None;
    }
    if share < f64::INFINITY {
        for i in free() {
            let rest = left[i] - share;
            // A remainder of the size of rounding errors is 0. Heuristic: 1e-12 is far above them; not measured yet.
            left[i] = if rest > 1e-12 * share { rest } else { 0.0 };
        }
    }
    Some(share)
}

/// A circuit among some points, or a hyperplane of the data that is right on all of them. Floating-point
/// arithmetic finds it and exact arithmetic or an error bound verifies it. `None` if the time limit
/// has passed or neither was found.
pub(crate) fn contradiction(
    points: &DistinctPoints,
    members: &[usize],
    first: &[bool],
    expired: &dyn Fn() -> bool,
) -> Option<Exact> {
    let first = |i: usize| first.get(i).copied().unwrap_or(false);
    match strict_feasibility::separate(points, members, first, expired) {
        Feasibility::Separated(plane) => {
            let plane = points.denormalise(&plane);
            if members.iter().all(|&i| is_right(points, &plane, i)) {
                return Some(Exact::Separated(plane));
            }
        }
        Feasibility::Contradiction(candidates, position) => {
            let found = circuit_within(points, &candidates[..position])
                .or_else(|| circuit_within(points, &candidates));
            if let Some(circuit) = found {
                return Some(Exact::Circuit(circuit));
            }
        }
        Feasibility::Undecided => {}
    }
    if expired() {
        None
    } else {
        decide(points, members, expired)
    }
}

/// Whether a hyperplane is right on a point by more than the rounding error of the score, or by a score of
/// exactly 0 on a negative point.
fn is_right(points: &DistinctPoints, plane: &[f64], i: usize) -> bool {
    let row = points.row(i);
    let score: f64 = strict_feasibility::dot(row, plane);
    let size: f64 = row.iter().zip(plane).map(|(x, w)| (x * w).abs()).sum();
    // Derived: d + 2 operations, each with a relative error of at most ε = 2.2e-16 of the sum of absolute
    // values.
    let doubt = 2.3e-16 * (points.dimension as f64 + 2.0) * size;
    if points.positive[i] {
        score > doubt
    } else {
        score < -doubt || size == 0.0
    }
}
