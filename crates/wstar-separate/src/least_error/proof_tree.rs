//! The proof that no hyperplane costs less than a bound: a tree over circuits, checked without a solver.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::least_error::distinct_points::DistinctPoints;
use crate::least_error::minimal_infeasible::is_circuit;

/// Relative difference below which two costs count as equal. Heuristic: well above the rounding error of
/// sums of costs; not measured yet.
const SAME: f64 = 1e-9;

/// Whether a bound is as large as a cost, up to the rounding of sums.
pub(crate) fn reaches(bound: f64, cost: f64) -> bool {
    bound >= cost - SAME * cost.abs()
}

/// Circuits, as rows of the data, and the tree that combines them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    /// Every circuit used: rows of the data that no hyperplane classifies without an error.
    pub circuits: Vec<Vec<u64>>,
    /// The nodes in depth-first order, each before its children.
    pub steps: Vec<ProofNode>,
}

/// A node of the proof.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProofNode {
    /// A leaf: circuits that are disjoint, or that each take a share of their points' costs. The sum of the
    /// shares is the bound.
    Pack(Vec<u32>),
    /// A case distinction: one row of the circuit is the first wrong one in this order, with a child for
    /// each.
    Split {
        /// The index of the circuit.
        circuit: u32,
        /// Its rows that are not yet fixed as right.
        order: Vec<u64>,
    },
}

impl Tree {
    /// The proof that no hyperplane costs less than 0.
    pub(crate) fn empty() -> Self {
        Tree {
            circuits: Vec::new(),
            steps: vec![ProofNode::Pack(Vec::new())],
        }
    }

    /// Checks from the points alone that no hyperplane costs less than `bound`; the error says what is not
    /// proved.
    pub(crate) fn check(&self, points: &DistinctPoints, bound: f64) -> Result<(), String> {
        let names: FxHashMap<u64, usize> = points.rows.iter().copied().zip(0..).collect();
        let find = |row: &u64| {
            names
                .get(row)
                .copied()
                .ok_or_else(|| format!("row {row} is no point of the data"))
        };
        let mut circuits: Vec<Vec<usize>> = Vec::with_capacity(self.circuits.len());
        for (k, rows) in self.circuits.iter().enumerate() {
            let members = rows.iter().map(find).collect::<Result<Vec<_>, _>>()?;
            if !is_circuit(points, &members) {
                return Err(format!("circuit {k} can be classified without an error"));
            }
            circuits.push(members);
        }
        let circuit = |name: u32| {
            circuits
                .get(name as usize)
                .ok_or_else(|| format!("there is no circuit {name}"))
        };
        let mut steps = self.steps.iter();
        // The points fixed as wrong and as right, for the nodes still to come.
        let mut pending: Vec<(Vec<usize>, Vec<usize>)> = vec![(Vec::new(), Vec::new())];
        while let Some((wrong, right)) = pending.pop() {
            match steps.next() {
                None => return Err("the proof ends too early".into()),
                Some(ProofNode::Pack(names)) => {
                    let mut left: FxHashMap<usize, f64> = wrong.iter().map(|&i| (i, -1.0)).collect();
                    let mut sum: f64 = wrong.iter().map(|&i| points.costs[i]).sum();
                    for &name in names {
                        let members = circuit(name)?;
                        if members
                            .iter()
                            .any(|i| left.get(i).is_some_and(|cost| *cost < 0.0))
                        {
                            return Err(format!(
                                "circuit {name} is used where one of its points is wrong already"
                            ));
                        }
                        let free = || members.iter().filter(|i| !right.contains(i));
                        let rest = |i: &usize| left.get(i).copied().unwrap_or(points.costs[*i]);
                        let share = free().map(rest).fold(f64::INFINITY, f64::min);
                        sum += share;
                        let shares: Vec<(usize, f64)> = free().map(|i| (*i, rest(i) - share)).collect();
                        // A remainder below 0 by rounding must not be mistaken for a point fixed as wrong.
                        left.extend(shares.into_iter().map(|(i, rest)| (i, rest.max(0.0))));
                    }
                    if !reaches(sum, bound) {
                        return Err(format!("a case is left in which only {sum} is proved"));
                    }
                }
                Some(ProofNode::Split { circuit: name, order }) => {
                    let members = circuit(*name)?;
                    let order = order.iter().map(find).collect::<Result<Vec<_>, _>>()?;
                    let free: Vec<usize> = members.iter().copied().filter(|i| !right.contains(i)).collect();
                    // Equal counts and inclusion make `order` a permutation of `free`.
                    if free.len() != order.len() || !free.iter().all(|i| order.contains(i)) {
                        return Err(format!("the cases are not the points of circuit {name}"));
                    }
                    if members.iter().any(|i| wrong.contains(i)) {
                        return Err(format!(
                            "circuit {name} is split where one of its points is wrong already"
                        ));
                    }
                    for k in (0..order.len()).rev() {
                        let wrong = wrong.iter().copied().chain([order[k]]).collect();
                        let right = right.iter().chain(&order[..k]).copied().collect();
                        pending.push((wrong, right));
                    }
                }
            }
        }
        match steps.next() {
            None => Ok(()),
            Some(_) => Err("the proof continues after its end".into()),
        }
    }
}
