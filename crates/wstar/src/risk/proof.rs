//! The proof that no hyperplane costs less: a tree over circuits, and its check without any solver.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::circuit::is_circuit;
use super::points::Points;

/// Costs that differ by less, relatively, are the same: sums of costs are rounded.
const SAME: f64 = 1e-9;

/// Whether a bound is as large as a cost, but for the rounding of sums.
pub(crate) fn reaches(bound: f64, cost: f64) -> bool {
    bound >= cost - SAME * cost.abs()
}

/// Circuits, by the rows of the data, and how they follow from each other.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    /// Every circuit that is used: rows of the data that no hyperplane classifies without an error.
    pub circuits: Vec<Vec<u64>>,
    /// The nodes, each before its children and these in order.
    pub steps: Vec<Step>,
}

/// A node of a proof.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// These circuits share no point, or each takes its share of the points' costs: their sum is the bound.
    Pack(Vec<u32>),
    /// One of the circuit's rows is the first in this order that is wrong: a child for each.
    Split {
        /// The circuit.
        circuit: u32,
        /// Its rows that are not yet taken to be right.
        order: Vec<u64>,
    },
}

impl Tree {
    /// The proof that nothing costs less than 0.
    pub(crate) fn empty() -> Self {
        Tree {
            circuits: Vec::new(),
            steps: vec![Step::Pack(Vec::new())],
        }
    }

    /// Checks, from the points alone, that no hyperplane costs less than `bound`; else says why it does not prove that.
    pub(crate) fn check(&self, points: &Points, bound: f64) -> Result<(), String> {
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
        // The wrong and the right points of the nodes that are still to come.
        let mut ahead: Vec<(Vec<usize>, Vec<usize>)> = vec![(Vec::new(), Vec::new())];
        while let Some((wrong, right)) = ahead.pop() {
            match steps.next() {
                None => return Err("the proof breaks off".into()),
                Some(Step::Pack(names)) => {
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
                        // What rounding leaves below 0 must not pass for a point that is wrong.
                        left.extend(shares.into_iter().map(|(i, rest)| (i, rest.max(0.0))));
                    }
                    if !reaches(sum, bound) {
                        return Err(format!("a case is left in which only {sum} is proved"));
                    }
                }
                Some(Step::Split { circuit: name, order }) => {
                    let members = circuit(*name)?;
                    let order = order.iter().map(find).collect::<Result<Vec<_>, _>>()?;
                    let free: Vec<usize> = members.iter().copied().filter(|i| !right.contains(i)).collect();
                    // As many, and every one of them, is once each.
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
                        ahead.push((wrong, right));
                    }
                }
            }
        }
        match steps.next() {
            None => Ok(()),
            Some(_) => Err("the proof goes on after its end".into()),
        }
    }
}
