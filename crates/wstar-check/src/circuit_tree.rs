//! A lower bound on the cost of every hyperplane by circuits.
//!
//! **Lemma.** Let λ ≥ 0 with Σλᵢaᵢ = 0 over a set of points, and λᵢ > 0 for a point of the positive class. Every hyperplane v
//! misclassifies a point of the set, if a score of 0 is the negative class. *Proof.* Otherwise aᵢ·v > 0 for the positive points
//! and aᵢ·v ≥ 0 for the negative ones, so 0 = Σλᵢ(aᵢ·v) > 0. ∎
//!
//! **Tree.** The cases partition all hyperplanes; in each some points are known to be wrong, and some to be right. A split lists
//! the points of a circuit that are not known to be right: one of them is the first wrong one, and each is a case. A leaf gives
//! each of its circuits a share of what is left of the costs of these points of the circuit. A hyperplane of the case pays at
//! least the sum of the shares, and the costs of the points that are known to be wrong, which no circuit of the leaf contains.
//! The bound is the least one of all leaves.

use std::collections::BTreeMap;

use crate::integer::{Dyadic, dependence};
use crate::json::Node;
use crate::mutant::{self, Mutant};
use crate::points::Points;
use crate::unreadable::Reading;

/// The bound that a tree proves, if any. `point` numbers the distinct points of the rows, and `costs` are theirs.
pub(crate) fn bound(
    tree: &Node<'_>,
    points: &Points<'_>,
    point: &[usize],
    costs: &[u128],
) -> Reading<Option<u128>> {
    let rows = |node: &Node<'_>| -> Reading<Vec<usize>> {
        node.items()?
            .iter()
            .map(|row| Ok(row.count()? as usize))
            .collect()
    };
    let mut circuits: Vec<Vec<usize>> = Vec::new();
    for circuit in tree.field("circuits")?.items()? {
        let members = rows(&circuit)?;
        if !is_contradictory(points, &members) {
            return Ok(None);
        }
        circuits.push(members.into_iter().map(|row| point[row]).collect());
    }
    let mut bound = u128::MAX;
    // The points that are known to be wrong and right, in the cases still to come.
    let mut cases: Vec<(Vec<usize>, Vec<usize>)> = vec![Default::default()];
    for step in tree.field("steps")?.items()? {
        let Some((wrong, right)) = cases.pop() else {
            return Ok(None);
        };
        // The points of a circuit that may be wrong; nothing if one is known to be wrong.
        let open = |k: usize| {
            let circuit = circuits.get(k)?.iter().copied();
            let used = circuit.clone().any(|at| wrong.contains(&at)) && !mutant::is(Mutant::WrongTwice);
            let is_right = |at: &usize| right.contains(at) && !mutant::is(Mutant::NothingRight);
            (!used).then(|| circuit.filter(|at| !is_right(at)).collect::<Vec<usize>>())
        };
        if let Some(pack) = step.optional("pack")? {
            let mut total: u128 = wrong.iter().map(|&at| costs[at]).sum();
            let mut left: BTreeMap<usize, u128> = BTreeMap::new();
            for k in rows(&pack)? {
                let Some(open) = open(k) else { return Ok(None) };
                let rest = |at: &usize| left.get(at).copied().unwrap_or(costs[*at]);
                // Without an open point the case does not occur.
                let share = open.iter().map(rest).min().unwrap_or(u128::MAX);
                total = total.saturating_add(share);
                let spent: Vec<(usize, u128)> = open.iter().map(|at| (*at, rest(at) - share)).collect();
                left.extend(spent.into_iter().filter(|_| !mutant::is(Mutant::SharedCosts)));
            }
            bound = bound.min(total);
            continue;
        }
        let split = step.field("split")?;
        let order = rows(&split.field("order")?)?;
        let known = order.iter().all(|&row| points.has(row));
        let Some(mut open) = open(split.field("circuit")?.count()? as usize).filter(|_| known) else {
            return Ok(None);
        };
        let order: Vec<usize> = order.into_iter().map(|row| point[row]).collect();
        // The cases are exactly the open points: another one could count a cost twice.
        let mut sorted = order.clone();
        sorted.sort_unstable();
        open.sort_unstable();
        if sorted != open && !mutant::is(Mutant::MissingCase) {
            return Ok(None);
        }
        for at in (0..order.len()).rev() {
            let wrong = wrong.iter().chain([&order[at]]).copied().collect();
            cases.push((wrong, right.iter().chain(&order[..at]).copied().collect()));
        }
    }
    Ok(cases.is_empty().then_some(bound))
}

/// Whether the lemma applies to these rows: they have only one dependence, with the signs of the lemma.
fn is_contradictory(points: &Points<'_>, rows: &[usize]) -> bool {
    if !rows.iter().all(|&row| points.has(row)) {
        return false;
    }
    let members: Vec<Vec<Dyadic>> = rows.iter().map(|&row| points.point(row)).collect();
    let equation = |j: usize| members.iter().map(|point| point[j].clone()).collect();
    let lambda = dependence((0..points.width()).map(equation).collect(), rows.len());
    let lambda = lambda.unwrap_or_default();
    let negative = lambda.iter().any(|value| value.sign().is_lt());
    let one_sided = !negative || !lambda.iter().any(Dyadic::is_positive);
    let mut used = rows.iter().zip(&lambda).filter(|(_, value)| !value.is_zero());
    (one_sided || mutant::is(Mutant::AnySign))
        && used.any(|(row, _)| points.signs[*row] > 0 || mutant::is(Mutant::NoPositive))
}
