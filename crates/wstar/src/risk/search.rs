//! The least error by branch and bound over circuits, in any dimension where it is small.
//!
//! Every hyperplane is wrong on at least one point of every circuit, so the wrong points are a hitting set of the
//! circuits, and the least error is the cheapest one (J. W. Chinneck, *An effective polynomial-time heuristic for the
//! minimum-cardinality IIS set-covering problem*, 1996; E. Amaldi, M. Pfetsch, L. Trotter, *On the maximum feasible
//! subsystem problem, IISs and IIS-hypergraphs*, 2003). A node holds points that are taken to be wrong and points
//! that are taken to be right. Circuits that share nothing but the latter bound its cost from below (with costs
//! other than 1: each circuit takes as much of its points' costs as is left of the least). A node is split over the points
//! of one circuit: the first of them that is wrong. The tree that is left at the end is the proof.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::active_set::{self, Ending};
use super::circuit::{Exact, circuit_within, decide};
use super::points::Points;
use super::proof::{Step, Tree, reaches};

/// Circuits that are tried on every node before new ones are looked for: the latest.
const POOL: usize = 2000;

/// A search that can be gone on with.
pub(crate) struct Search<'a> {
    points: &'a Points,
    /// Whether there is no time left.
    late: &'a (dyn Fn() -> bool + Sync),
    /// How many new circuits one node may look for.
    most: usize,
    circuits: Vec<Vec<usize>>,
    nodes: Vec<Node>,
    open: BinaryHeap<Open>,
}

struct Node {
    /// No hyperplane within this node costs less.
    bound: f64,
    /// The circuits that show it, in the order in which they take their shares.
    packing: Vec<u32>,
    /// Whether a hyperplane is right on all that was left, but for rounding.
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
    /// The least bound first; of these the one that is decided most, then the oldest.
    fn cmp(&self, other: &Self) -> Ordering {
        let decided = |open: &Open| open.wrong.len() + open.right.len();
        other
            .bound
            .total_cmp(&self.bound)
            .then(decided(self).cmp(&decided(other)))
            .then(other.node.cmp(&self.node))
    }
}

/// What came of looking at a node.
struct Looked {
    bound: f64,
    packing: Vec<Packed>,
    /// A hyperplane that is right on what the circuits left over.
    found: Option<Found>,
}

enum Packed {
    Known(u32),
    New(Vec<usize>),
}

/// A hyperplane in units of the data, and what it costs at most but for rounding.
pub(crate) struct Found {
    pub(crate) plane: Vec<f64>,
    pub(crate) promise: f64,
}

impl<'a> Search<'a> {
    /// Looks at the root; a node may take about so many steps. `judge` is shown every hyperplane that is found, and tells the least cost so far.
    pub(crate) fn new(
        points: &'a Points,
        late: &'a (dyn Fn() -> bool + Sync),
        steps: f64,
        judge: &dyn Fn(Option<&Found>) -> f64,
    ) -> Self {
        // A pass over all points for each of some dozen active ones.
        let each = 20.0 * points.len() as f64 * points.dimension as f64;
        let mut search = Search {
            points,
            late,
            most: if steps > 0.0 {
                (steps / each).clamp(50.0, 1e6) as usize
            } else {
                0
            },
            circuits: Vec::new(),
            nodes: Vec::new(),
            open: BinaryHeap::new(),
        };
        let least = judge(None);
        let looked = search.look(&[], &[], least);
        search.admit(looked, Vec::new(), Vec::new(), judge);
        search
    }

    /// How many nodes were looked at.
    pub(crate) fn nodes(&self) -> u64 {
        self.nodes.len() as u64
    }

    /// No hyperplane costs less.
    pub(crate) fn bound(&self, least: f64) -> f64 {
        self.open.peek().map_or(least, |open| open.bound.min(least))
    }

    /// Splits nodes until the bound meets the least cost or `go_on`, asked with the number of nodes and the bound, says
    /// no. Tells whether nothing is left to split though they do not meet.
    pub(crate) fn run(
        &mut self,
        judge: &dyn Fn(Option<&Found>) -> f64,
        go_on: &mut dyn FnMut(u64, f64) -> bool,
    ) -> bool {
        loop {
            let least = judge(None);
            let bound = self.bound(least);
            if reaches(bound, least) || !go_on(self.nodes(), bound) {
                return false;
            }
            let Some(open) = self.open.pop() else { return false };
            let node = open.node as usize;
            let Some((circuit, order)) = self.choose(node, &open.right) else {
                // Nothing contradicts, so what is wrong here is the least error; only rounding keeps the hyperplane
                // that was judged from it.
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
            let looked: Vec<Looked> = children
                .par_iter()
                .map(|(wrong, right)| self.look(wrong, right, least))
                .collect();
            let mut names = Vec::with_capacity(children.len());
            for (looked, (wrong, right)) in looked.into_iter().zip(children) {
                names.push(self.nodes.len() as u32);
                self.admit(looked, wrong, right, judge);
            }
            self.nodes[node].split = Some(Split {
                circuit,
                order,
                children: names,
            });
        }
    }

    fn admit(
        &mut self,
        looked: Looked,
        wrong: Vec<usize>,
        right: Vec<usize>,
        judge: &dyn Fn(Option<&Found>) -> f64,
    ) {
        let packing = looked
            .packing
            .into_iter()
            .map(|found| match found {
                Packed::Known(name) => name,
                Packed::New(circuit) => {
                    self.circuits.push(circuit);
                    self.circuits.len() as u32 - 1
                }
            })
            .collect();
        let node = self.nodes.len() as u32;
        self.nodes.push(Node {
            bound: looked.bound,
            packing,
            separated: looked.found.is_some(),
            split: None,
        });
        judge(looked.found.as_ref());
        if looked.bound < f64::INFINITY {
            self.open.push(Open {
                node,
                bound: looked.bound,
                wrong,
                right,
            });
        }
    }

    /// The circuit of a node to split over, the one with the fewest undecided points, and these in order: first
    /// those that most circuits contain, which are likely wrong.
    fn choose(&self, node: usize, right: &[usize]) -> Option<(u32, Vec<usize>)> {
        let free = |name: u32| -> Vec<usize> {
            let members = self.circuits[name as usize].iter();
            members.copied().filter(|i| !right.contains(i)).collect()
        };
        let packing = self.nodes[node].packing.iter();
        let (name, mut order) = packing
            .map(|&name| (name, free(name)))
            .min_by_key(|(_, free)| free.len())?;
        let latest = &self.circuits[self.circuits.len().saturating_sub(POOL)..];
        let popularity = |i: usize| latest.iter().filter(|circuit| circuit.contains(&i)).count();
        order.sort_by_cached_key(|&i| (std::cmp::Reverse(popularity(i)), i));
        Some((name, order))
    }

    /// Packs circuits into a node until its bound reaches `least` or nothing contradicts any more.
    fn look(&self, wrong: &[usize], right: &[usize], least: f64) -> Looked {
        let points = self.points;
        let mut left = points.costs.clone();
        let mut fixed = vec![false; points.len()];
        right.iter().for_each(|&i| fixed[i] = true);
        let mut bound = 0.0;
        for &i in wrong {
            bound += points.costs[i];
            left[i] = -1.0;
        }
        let mut looked = Looked {
            bound,
            packing: Vec::new(),
            found: None,
        };
        // Those with the fewest undecided points first: they leave most to the others.
        let start = self.circuits.len().saturating_sub(POOL);
        let mut known: Vec<(usize, u32)> = (start as u32..)
            .zip(&self.circuits[start..])
            .filter(|(_, circuit)| circuit.iter().all(|&i| left[i] >= 0.0))
            .map(|(name, circuit)| (circuit.iter().filter(|&&i| !fixed[i]).count(), name))
            .collect();
        known.sort_unstable();
        for (_, name) in known {
            if reaches(looked.bound, least) {
                return looked;
            }
            if let Some(share) = take(&self.circuits[name as usize], &fixed, &mut left) {
                looked.packing.push(Packed::Known(name));
                looked.bound += share;
            }
        }
        for _ in 0..self.most {
            if reaches(looked.bound, least) || (self.late)() {
                break;
            }
            let counts = |&i: &usize| left[i] > 0.0 || fixed[i] && left[i] == 0.0;
            let members: Vec<usize> = (0..points.len()).filter(counts).collect();
            match contradiction(points, &members, &fixed, self.late) {
                Some(Exact::Separated(plane)) => {
                    let mut others = points.costs.clone();
                    members.iter().for_each(|&i| others[i] = 0.0);
                    let promise = others.iter().sum();
                    looked.found = Some(Found { plane, promise });
                    break;
                }
                Some(Exact::Circuit(circuit)) => {
                    looked.bound += take(&circuit, &fixed, &mut left).unwrap_or(0.0);
                    looked.packing.push(Packed::New(circuit));
                }
                None => break,
            }
        }
        looked
    }

    /// The proof that nothing costs less than `bound`: the part of the tree that it takes.
    pub(crate) fn proof(&self, bound: f64) -> Tree {
        let mut tree = Tree::default();
        let mut names: Vec<Option<u32>> = vec![None; self.circuits.len()];
        let mut name = |tree: &mut Tree, circuit: u32| {
            *names[circuit as usize].get_or_insert_with(|| {
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
                    let circuit = name(&mut tree, split.circuit);
                    let order = split.order.iter().map(|&i| self.points.rows[i]).collect();
                    tree.steps.push(Step::Split { circuit, order });
                    stack.extend(split.children.iter().rev());
                }
                _ => {
                    let packing = node.packing.iter().map(|&c| name(&mut tree, c)).collect();
                    tree.steps.push(Step::Pack(packing));
                }
            }
        }
        tree
    }
}

/// Takes as much as is left of the cost of every undecided point of a circuit; infinite if none is undecided.
fn take(circuit: &[usize], fixed: &[bool], left: &mut [f64]) -> Option<f64> {
    let free = || circuit.iter().copied().filter(|&i| !fixed[i]);
    let share = free().map(|i| left[i]).fold(f64::INFINITY, f64::min);
    if share <= 0.0 {
        return None;
    }
    if share < f64::INFINITY {
        for i in free() {
            let rest = left[i] - share;
            // What rounding leaves is nothing.
            left[i] = if rest > 1e-12 * share { rest } else { 0.0 };
        }
    }
    Some(share)
}

/// A circuit among some points, or a hyperplane of the data that is right on all of them: found by rounded arithmetic,
/// and checked without. `None` if it got late, or if neither was found.
pub(crate) fn contradiction(
    points: &Points,
    members: &[usize],
    first: &[bool],
    late: &dyn Fn() -> bool,
) -> Option<Exact> {
    let first = |i: usize| first.get(i).copied().unwrap_or(false);
    match active_set::separate(points, members, first, late) {
        Ending::Separated(plane) => {
            let plane = points.denormalise(&plane);
            if members.iter().all(|&i| is_right(points, &plane, i)) {
                return Some(Exact::Separated(plane));
            }
        }
        Ending::Contradiction(candidates, place) => {
            let found =
                circuit_within(points, &candidates[..place]).or_else(|| circuit_within(points, &candidates));
            if let Some(circuit) = found {
                return Some(Exact::Circuit(circuit));
            }
        }
        Ending::Undecided => {}
    }
    if late() {
        None
    } else {
        decide(points, members, late)
    }
}

/// Whether a hyperplane is right on a point by more than rounding can do, or exactly at 0 where that is right.
fn is_right(points: &Points, plane: &[f64], i: usize) -> bool {
    let row = points.row(i);
    let score: f64 = active_set::dot(row, plane);
    let size: f64 = row.iter().zip(plane).map(|(x, w)| (x * w).abs()).sum();
    let doubt = 2.3e-16 * (points.dimension as f64 + 2.0) * size;
    if points.positive[i] {
        score > doubt
    } else {
        score < -doubt || size == 0.0
    }
}
