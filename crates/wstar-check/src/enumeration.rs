//! The least cost of all hyperplanes by enumeration, for rows of rank up to 4: three features and an intercept. A score of 0 is the
//! negative class.
//!
//! **Lemma.** Let x₁ … xₙ span the space of dimension r. The least cost is that of v = 0, or for some xᵢ of rank r − 1 and a v ≠ 0
//! orthogonal to them the cost of v on the points off v, plus the least cost of the points orthogonal to v.
//! *Proof.* v + εu has the signs of v off v, and those of u on it, so these costs are attained. Let v\* ≠ 0 be optimal. The v
//! with (xᵢ·v)(xᵢ·v\*) ≥ 0 for all i, and xᵢ·v = 0 where xᵢ·v\* = 0, are a cone that contains no line, because the xᵢ span the
//! space. It has an extreme ray v: the points on it have rank r − 1, the others the signs of v\*, and v\* is one choice of u. ∎
//!
//! Each side of independent points can be chosen freely. Points of smaller rank are restricted to independent columns, which does
//! not change their possible scores.

use crate::arithmetic::Interval;
use crate::dyadic::{Dyadic, dependence, independent, quotient};
use crate::mutant::{self, Mutant};

/// The most scores of an enumeration. Cap: some minutes; beyond it nothing is proved.
const MOST_SCORES: f64 = 4e9;
/// The largest rank. Cap: that of three features and an intercept.
const MOST_RANK: usize = 4;

/// Rows with equal features: their features (and 1 for the intercept), and their costs if they are predicted to be negative and
/// positive.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    pub(crate) x: Vec<f64>,
    pub(crate) costs: [u128; 2],
}

/// The least cost, or `limit` if that is smaller. `None` if there are too many hyperplanes.
pub(crate) fn least_cost(sites: &[Site], limit: u128) -> Option<u128> {
    let sites: Vec<Site> = sites
        .iter()
        .filter(|site| site.costs != [0; 2])
        .cloned()
        .collect();
    let (n, rank) = (sites.len() as f64, basis(&sites)?.len());
    let subsets: f64 = (1..rank).map(|k| (n + 1.0 - k as f64) / k as f64).product();
    let few = rank <= MOST_RANK && n * subsets <= MOST_SCORES;
    if few { least(sites, limit) } else { None }
}

/// The sites that are independent of those before them, with independent columns, or more than [`MOST_RANK`] of them.
fn basis(sites: &[Site]) -> Option<Vec<(usize, usize)>> {
    independent(sites.iter().map(|site| &site.x[..]), MOST_RANK + 1)
}

fn least(mut sites: Vec<Site>, limit: u128) -> Option<u128> {
    let basis = basis(&sites)?;
    let v_is_zero = sites.iter().map(|site| site.costs[0]).sum();
    let mut best = limit.min(v_is_zero);
    if basis.len() == sites.len() {
        return Some(best.min(sites.iter().map(|site| site.costs[0].min(site.costs[1])).sum()));
    }
    let Some(size) = basis.len().checked_sub(1) else {
        return Some(best);
    };
    for site in &mut sites {
        site.x = basis.iter().map(|(_, column)| site.x[*column]).collect();
    }
    let mut subset: Vec<usize> = (0..size).collect();
    loop {
        let column = |j| subset.iter().map(|&i| Dyadic::double(sites[i].x[j])).collect();
        let columns: Vec<Vec<Dyadic>> = (0..size + 1).map(column).collect();
        if let Some(v) = dependence(&columns) {
            best = least_of_ray(&sites, &subset, &v, best)?;
        }
        // The next subset in lexicographic order.
        let Some(at) = (0..size).rev().find(|&at| subset[at] + size < sites.len() + at) else {
            return Some(best);
        };
        subset[at] += 1;
        (at + 1..size).for_each(|next| subset[next] = subset[next - 1] + 1);
    }
}

/// The least cost of v and −v with the points on them, or `limit`. They are only treated for the first basis of these points.
fn least_of_ray(sites: &[Site], subset: &[usize], v: &[Dyadic], limit: u128) -> Option<u128> {
    let scale = v
        .iter()
        .find(|entry| !entry.is_zero())
        .cloned()
        .unwrap_or_default();
    let rounded: Vec<Interval> = v.iter().map(|entry| quotient(entry, &scale)).collect();
    let (mut costs, mut on) = ([0, 0], Vec::new());
    for (i, site) in sites.iter().enumerate() {
        let score: Interval = site.x.iter().zip(&rounded).map(|(&x, &entry)| x * entry).sum();
        let mut is_positive = score.lo > 0.0;
        if score.lo <= 0.0 && score.hi >= 0.0 {
            let terms = site.x.iter().zip(v).map(|(&x, entry)| &Dyadic::double(x) * entry);
            let exact: Dyadic = terms.sum();
            if exact.is_zero() {
                on.push(i);
                continue;
            }
            is_positive = exact.is_positive() == scale.is_positive();
        }
        costs[0] += site.costs[usize::from(is_positive)];
        costs[1] += site.costs[usize::from(!is_positive)];
        if costs[0] >= limit && costs[1] >= limit {
            return Some(limit);
        }
    }
    let own: Vec<Site> = on.iter().map(|&i| sites[i].clone()).collect();
    if !basis(&own)?.iter().map(|(at, _)| &on[*at]).eq(subset) {
        return Some(limit);
    }
    let off = costs[0].min(costs[1]);
    let cost = match mutant::is(Mutant::NoTurn) {
        true => own.iter().map(|site| site.costs[0]).sum(),
        false => least(own, limit - off)?,
    };
    Some(limit.min(off + cost))
}
