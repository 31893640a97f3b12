//! A local search for starting hyperplanes: descent on the 0–1 cost along lines, each searched exactly by
//! sorting the steps at which points change sides. This is the coordinate descent of T. Nguyen and S.
//! Sanner, *Algorithms for direct 0–1 loss optimization in binary classification*, ICML 2013, with more
//! directions than the axes.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::least_error::distinct_points::DistinctPoints;
use crate::least_error::strict_feasibility::dot;

/// Lowers the cost of a hyperplane of the normalised points, for about `work` steps or until the time is
/// over.
pub(crate) fn descend(
    points: &DistinctPoints,
    mut plane: Vec<f64>,
    seed: u64,
    work: f64,
    expired: &dyn Fn() -> bool,
) -> Vec<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let n = points.len();
    let dimension = points.dimension;
    // The steps of one line search: the products, and the sort, estimated as 16 steps for each point.
    let each = n as f64 * (dimension as f64 + 16.0);
    let mut tries = ((work / each) as usize).max(2 * dimension);
    let mut products: Vec<f64> = (0..n).map(|i| dot(points.unit(i), &plane)).collect();
    let mut cost = cost_of(points, &products);
    let mut crossings = Vec::with_capacity(n);
    let mut next = 0;
    let mut idle = 0;
    // Heuristic: the lines without progress before the search ends are not measured yet.
    while tries > 0 && cost > 0.0 && idle < 8 * dimension + 64 && !expired() {
        tries -= 1;
        // In turn an axis, a misclassified point and a random direction.
        let direction: Vec<f64> = match next % 3 {
            0 => {
                let axis = (next / 3) % dimension.max(1);
                (0..dimension)
                    .map(|j| if j == axis { 1.0 } else { 0.0 })
                    .collect()
            }
            1 => {
                let start = random.random_range(0..n.max(1));
                let wrong = (0..n).map(|k| (start + k) % n).find(|&i| products[i] <= 0.0);
                points.unit(wrong.unwrap_or_default()).to_vec()
            }
            _ => (0..dimension).map(|_| random.random_range(-1.0..1.0)).collect(),
        };
        next += 1;
        let along: Vec<f64> = (0..n).map(|i| dot(points.unit(i), &direction)).collect();
        match search(points, &products, &along, cost, &mut crossings) {
            Some((step, better)) => {
                for (w, v) in plane.iter_mut().zip(&direction) {
                    *w += step * v;
                }
                products = (0..n).map(|i| dot(points.unit(i), &plane)).collect();
                // A sum of costs in another order differs in the last digits, so only a clear decrease
                // counts as progress. Heuristic: 1e-12 is far above such differences; not measured yet.
                idle = if better < cost * (1.0 - 1e-12) {
                    0
                } else {
                    idle + 1
                };
                cost = cost_of(points, &products);
            }
            None => idle += 1,
        }
    }
    plane
}

fn cost_of(points: &DistinctPoints, products: &[f64]) -> f64 {
    let wrong = products
        .iter()
        .zip(&points.costs)
        .filter(|(product, _)| **product <= 0.0);
    wrong.map(|(_, cost)| cost).sum()
}

/// The step to the middle of the cheapest interval and its cost, if that is below the current cost.
fn search(
    points: &DistinctPoints,
    products: &[f64],
    along: &[f64],
    now: f64,
    crossings: &mut Vec<(f64, f64)>,
) -> Option<(f64, f64)> {
    crossings.clear();
    // At −∞ along the line a point is right if its score decreases along the direction.
    let mut cost = 0.0;
    for ((&product, &slope), &own) in products.iter().zip(along).zip(&points.costs) {
        // Derived: 50 machine epsilons; the points have unit length, so a smaller slope is rounding.
        if slope.abs() <= 1e-14 {
            cost += if product <= 0.0 { own } else { 0.0 };
        } else {
            cost += if slope > 0.0 { own } else { 0.0 };
            crossings.push((-product / slope, if slope > 0.0 { -own } else { own }));
        }
    }
    crossings.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut best: Option<(f64, f64)> = None;
    for (k, &(start, change)) in crossings.iter().enumerate() {
        cost += change;
        let end = crossings.get(k + 1).map_or(start + 1.0, |next| next.0);
        if end > start && cost < best.map_or(now, |(_, least)| least) {
            best = Some((start + (end - start) / 2.0, cost));
        }
    }
    best.filter(|(step, _)| step.is_finite())
}
