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

use crate::costed_rows::CostedRows;
use crate::dyadic::{Dyadic, dependence};
use crate::json::Node;
use crate::mutant::{self, Mutant};
use crate::points::Points;
use crate::unreadable::Reading;

/// The bound that a tree proves, if any.
pub(crate) fn bound(tree: &Node<'_>, costed: &CostedRows<'_>) -> Reading<Option<u128>> {
    let numbers = |node: &Node<'_>| -> Reading<Vec<usize>> {
        node.items()?
            .iter()
            .map(|number| Ok(number.count()? as usize))
            .collect()
    };
    // The points of rows that take part.
    let points = |rows: &[usize]| -> Option<Vec<usize>> {
        rows.iter()
            .map(|&row| costed.points.has(row).then(|| costed.point[row]))
            .collect()
    };
    let mut circuits = Vec::new();
    for circuit in tree.field("circuits")?.items()? {
        let rows = numbers(&circuit)?;
        let Some(members) = points(&rows).filter(|_| is_contradictory(&costed.points, &rows)) else {
            return Ok(None);
        };
        circuits.push(members);
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
            let mut total: u128 = wrong.iter().map(|&at| costed.cost(at)).sum();
            let mut spent: BTreeMap<usize, u128> = BTreeMap::new();
            for k in numbers(&pack)? {
                let Some(open) = open(k) else { return Ok(None) };
                let left = |at: &usize| {
                    costed
                        .cost(*at)
                        .saturating_sub(spent.get(at).copied().unwrap_or(0))
                };
                // Without an open point the case does not occur.
                let share = open.iter().map(left).min().unwrap_or(u128::MAX);
                total = total.saturating_add(share);
                let shares = open.into_iter().filter(|_| !mutant::is(Mutant::SharedCosts));
                shares.for_each(|at| *spent.entry(at).or_default() += share);
            }
            bound = bound.min(total);
            continue;
        }
        let split = step.field("split")?;
        let order = points(&numbers(&split.field("order")?)?);
        let (Some(order), Some(mut open)) = (order, open(split.field("circuit")?.count()? as usize)) else {
            return Ok(None);
        };
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
    let members: Vec<Vec<Dyadic>> = rows.iter().map(|&row| points.point(row)).collect();
    let lambda = dependence(&members).unwrap_or_default();
    let both_signs = lambda.iter().any(Dyadic::is_negative) && lambda.iter().any(Dyadic::is_positive);
    let mut used = rows.iter().zip(&lambda).filter(|(_, value)| !value.is_zero());
    (!both_signs || mutant::is(Mutant::AnySign))
        && used.any(|(row, _)| points.signs[*row] > 0 || mutant::is(Mutant::NoPositive))
}
