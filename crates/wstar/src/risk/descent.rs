//! Good hyperplanes to start from: descent on the cost itself along lines, each searched exactly by sorting where the
//! points change sides (the coordinate descent of T. Nguyen, S. Sanner, *Algorithms for direct 0–1 loss
//! optimization in binary classification*, 2013, with more directions than the axes).

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::active_set::dot;
use super::points::Points;

/// Lowers the cost of a hyperplane of the normalised points, for about `work` steps and while it is not late.
pub(crate) fn descend(
    points: &Points,
    mut plane: Vec<f64>,
    seed: u64,
    work: f64,
    late: &dyn Fn() -> bool,
) -> Vec<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let n = points.len();
    let dimension = points.dimension;
    let each = n as f64 * (dimension as f64 + 16.0);
    let mut tries = ((work / each) as usize).max(2 * dimension);
    let mut products: Vec<f64> = (0..n).map(|i| dot(points.unit(i), &plane)).collect();
    let mut cost = cost_of(points, &products);
    let mut crossings = Vec::with_capacity(n);
    let mut next = 0;
    let mut idle = 0;
    while tries > 0 && cost > 0.0 && idle < 8 * dimension + 64 && !late() {
        tries -= 1;
        // The axes in turn, then points that are wrong, then anything.
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
                // Sums of costs in another order differ in the last digits; a step must not be undone for these.
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

fn cost_of(points: &Points, products: &[f64]) -> f64 {
    let wrong = products
        .iter()
        .zip(&points.costs)
        .filter(|(product, _)| **product <= 0.0);
    wrong.map(|(_, cost)| cost).sum()
}

/// The step to the middle of the cheapest interval, if it is cheaper than where we are.
fn search(
    points: &Points,
    products: &[f64],
    along: &[f64],
    now: f64,
    crossings: &mut Vec<(f64, f64)>,
) -> Option<(f64, f64)> {
    crossings.clear();
    // Far on the negative end a point is right if it falls along the direction.
    let mut cost = 0.0;
    for ((&product, &slope), &own) in products.iter().zip(along).zip(&points.costs) {
        if slope.abs() <= 1e-14 {
            cost += if product <= 0.0 { own } else { 0.0 };
        } else {
            cost += if slope > 0.0 { own } else { 0.0 };
            crossings.push((-product / slope, if slope > 0.0 { -own } else { own }));
        }
    }
    crossings.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut best: Option<(f64, f64)> = None;
    for (k, &(place, change)) in crossings.iter().enumerate() {
        cost += change;
        let end = crossings.get(k + 1).map_or(place + 1.0, |next| next.0);
        if end > place && cost < best.map_or(now, |(_, least)| least) {
            best = Some((place + (end - place) / 2.0, cost));
        }
    }
    best.filter(|(step, _)| step.is_finite())
}
