//! Whether some points can be classified without an error: the shortest `v` with `aᵢ·v ≥ bᵢ`, by the dual
//! active-set method (D. Goldfarb, A. Idnani, *A numerically stable dual method for solving strictly convex
//! quadratic programs*, Mathematical Programming 27, 1983).
//!
//! The method ends with `v`, or with a point that contradicts the active ones, which gives a candidate for
//! a circuit. All arithmetic here is rounded; the callers verify `v` by its scores and the circuit exactly.

use crate::least_error::distinct_points::DistinctPoints;

/// The outcome of the method.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Feasibility {
    /// A hyperplane of the normalised points that is right on all of them, up to rounding.
    Separated(Vec<f64>),
    /// Points that contradict each other, up to rounding: the last violated one and the active ones. From
    /// the given position on, the multipliers are about 0.
    Contradiction(Vec<usize>, usize),
    /// Undecided, because of rounding, the number of steps or the time.
    Undecided,
}

/// Scores that fall short by less than this, relative to 1 + ‖v‖, are accepted. Heuristic: trades
/// feasibility for the number of steps; not measured yet.
const SLACK: f64 = 1e-9;
/// Directions shorter than this are taken as 0. Heuristic: trades false contradictions for ill-conditioned
/// factors; not measured yet.
const VANISHING: f64 = 1e-10;
/// Multipliers smaller than this, relative to the largest, are taken as 0. Heuristic: trades smaller
/// circuits for missed points; not measured yet.
const NEGLIGIBLE: f64 = 1e-9;

/// Searches for a hyperplane that is right on `members`. Members for which `first` holds take precedence
/// over all others, so that a contradiction consists of them as far as possible. Undecided if the time is
/// over.
pub(crate) fn separate(
    points: &DistinctPoints,
    members: &[usize],
    first: impl Fn(usize) -> bool,
    expired: &dyn Fn() -> bool,
) -> Feasibility {
    let mut state = DualIterate::new(points);
    let (early, others): (Vec<usize>, Vec<usize>) = members.iter().partition(|&&i| first(i));
    // Cap: undecided beyond it; a few steps for each dimension are usual.
    let most_steps = 200 + 50 * points.dimension;
    for _ in 0..most_steps {
        if expired() {
            break;
        }
        let Some(worst) = state
            .most_violated(&early)
            .or_else(|| state.most_violated(&others))
        else {
            return Feasibility::Separated(state.x);
        };
        match state.add(worst) {
            Added::Active => {}
            Added::Contradiction(multipliers) => {
                let largest = multipliers.iter().fold(1.0f64, |most, m| most.max(*m));
                let mut members = vec![worst];
                let (needed, idle): (Vec<_>, Vec<_>) = state
                    .active
                    .iter()
                    .zip(&multipliers)
                    .partition(|(_, multiplier)| **multiplier > NEGLIGIBLE * largest);
                members.extend(needed.iter().map(|(i, _)| **i));
                let position = members.len();
                members.extend(idle.iter().map(|(i, _)| **i));
                return Feasibility::Contradiction(members, position);
            }
            Added::Stuck => return Feasibility::Undecided,
        }
    }
    Feasibility::Undecided
}

enum Added {
    Active,
    /// The point is a negative combination of the active ones, with these multipliers.
    Contradiction(Vec<f64>),
    Stuck,
}

struct DualIterate<'a> {
    points: &'a DistinctPoints,
    x: Vec<f64>,
    active: Vec<usize>,
    multipliers: Vec<f64>,
    /// An orthogonal matrix by columns; its first columns span the active points.
    basis: Vec<Vec<f64>>,
    /// The active points in that basis: an upper triangular matrix by columns.
    triangle: Vec<Vec<f64>>,
}

impl<'a> DualIterate<'a> {
    fn new(points: &'a DistinctPoints) -> Self {
        let dimension = points.dimension;
        let unit = |j: usize| (0..dimension).map(|k| if k == j { 1.0 } else { 0.0 }).collect();
        DualIterate {
            points,
            x: vec![0.0; dimension],
            active: Vec::new(),
            multipliers: Vec::new(),
            basis: (0..dimension).map(unit).collect(),
            triangle: Vec::new(),
        }
    }

    /// The required product with a point. Without an intercept a negative point may lie on the hyperplane.
    fn goal(&self, i: usize) -> f64 {
        if self.points.intercept || self.points.positive[i] {
            1.0
        } else {
            0.0
        }
    }

    fn shortfall(&self, i: usize) -> f64 {
        self.goal(i) - dot(self.points.unit(i), &self.x)
    }

    fn most_violated(&self, members: &[usize]) -> Option<usize> {
        let slack = SLACK * (1.0 + dot(&self.x, &self.x).sqrt());
        let mut worst = (slack.min(0.5), None);
        for &i in members {
            let shortfall = self.shortfall(i);
            if shortfall > worst.0 && !self.active.contains(&i) {
                worst = (shortfall, Some(i));
            }
        }
        worst.1
    }

    /// Makes a violated point active, and drops active points whose multiplier reaches 0.
    fn add(&mut self, new: usize) -> Added {
        let points = self.points;
        let row = points.unit(new);
        let mut own = 0.0;
        // Every iteration except the last drops an active point.
        for _ in 0..4 * points.dimension + 4 {
            let rank = self.active.len();
            let parts: Vec<f64> = self.basis.iter().map(|column| dot(column, row)).collect();
            let beyond: f64 = parts[rank..].iter().map(|v| v * v).sum();
            let along = self.back_substitute(&parts[..rank]);
            let scale = along.iter().fold(1.0f64, |most, v| most.max(v.abs()));
            let blocking = (0..rank)
                .filter(|&k| along[k] > VANISHING * scale)
                .map(|k| (k, self.multipliers[k] / along[k]))
                .min_by(|a, b| a.1.total_cmp(&b.1));
            let reach = (beyond.sqrt() > VANISHING).then(|| self.shortfall(new) / beyond);
            let step = match (blocking, reach) {
                (None, None) => return Added::Contradiction(along.iter().map(|v| -v).collect()),
                (Some((_, bound)), Some(reach)) => bound.min(reach),
                (Some((_, bound)), None) => bound,
                (None, Some(reach)) => reach,
            };
            if !step.is_finite() {
                return Added::Stuck;
            }
            let step = step.max(0.0);
            if reach.is_some() {
                for (column, part) in self.basis[rank..].iter().zip(&parts[rank..]) {
                    for (x, v) in self.x.iter_mut().zip(column) {
                        *x += step * part * v;
                    }
                }
            }
            for (multiplier, v) in self.multipliers.iter_mut().zip(&along) {
                *multiplier = (*multiplier - step * v).max(0.0);
            }
            own += step;
            if reach.is_some_and(|reach| step >= reach.max(0.0)) {
                self.push(new, own, parts);
                return Added::Active;
            }
            match blocking {
                Some((k, _)) => self.drop(k),
                None => return Added::Stuck,
            }
        }
        Added::Stuck
    }

    /// Solves with the triangular factor: the coefficients of a row's projection on the active points.
    fn back_substitute(&self, parts: &[f64]) -> Vec<f64> {
        let mut solution = parts.to_vec();
        for k in (0..solution.len()).rev() {
            solution[k] /= self.triangle[k][k];
            let value = solution[k];
            for (entry, above) in solution[..k].iter_mut().zip(&self.triangle[k]) {
                *entry -= value * above;
            }
        }
        solution
    }

    fn push(&mut self, new: usize, multiplier: f64, mut parts: Vec<f64>) {
        let rank = self.active.len();
        for k in (rank + 1..parts.len()).rev() {
            let (c, s, r) = rotation(parts[k - 1], parts[k]);
            parts[k - 1] = r;
            let (left, right) = self.basis.split_at_mut(k);
            rotate(&mut left[k - 1], &mut right[0], c, s);
        }
        parts.truncate(rank + 1);
        self.triangle.push(parts);
        self.active.push(new);
        self.multipliers.push(multiplier);
    }

    fn drop(&mut self, k: usize) {
        self.active.remove(k);
        self.multipliers.remove(k);
        self.triangle.remove(k);
        // Each later column now has one entry below the diagonal, which a rotation removes.
        for column in k..self.triangle.len() {
            let (c, s, _) = rotation(self.triangle[column][column], self.triangle[column][column + 1]);
            for later in &mut self.triangle[column..] {
                let (a, b) = (later[column], later[column + 1]);
                later[column] = c * a + s * b;
                later[column + 1] = c * b - s * a;
            }
            self.triangle[column].truncate(column + 1);
            let (left, right) = self.basis.split_at_mut(column + 1);
            rotate(&mut left[column], &mut right[0], c, s);
        }
    }
}

fn rotation(a: f64, b: f64) -> (f64, f64, f64) {
    let r = a.hypot(b);
    if r > 0.0 {
        (a / r, b / r, r)
    } else {
        (1.0, 0.0, 0.0)
    }
}

fn rotate(left: &mut [f64], right: &mut [f64], c: f64, s: f64) {
    for (a, b) in left.iter_mut().zip(right) {
        (*a, *b) = (c * *a + s * *b, c * *b - s * *a);
    }
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
