//! The dual active-set method of Goldfarb and Idnani (1983) for the nearest hyperplane of a few rows.
//!
//! Minimise ½‖v‖² subject to nᵢ·v ≥ 1, where v may have to avoid some fixed directions. From the optimum of the
//! rows in hand the method takes a violated row in, and lets go of rows whose multiplier would turn negative;
//! the objective rises with every change, so it ends. It ends with the optimum and its multipliers α,
//! v = Σαᵢnᵢ, or with a row that no step can satisfy: then it is a combination n = Σrᵢnᵢ of active rows with
//! all rᵢ ≤ 0, and λ = (1, −r) ≥ 0 is a *circuit*, Σλᵢnᵢ = 0 (up to the fixed directions), which says
//! that no v satisfies all.
//!
//! **A free intercept.** Rows end in yᵢκ, and the last coordinate of v is not to be paid for. Then Σαᵢyᵢ = 0, and the
//! step for a new row is its residual off the *affine* hull of the active ones. With e the residual off their
//! span and g the vector of the span with nᵢ·g = yᵢ, that is e − μg with the μ that makes the last coordinate 0,
//! and the intercept moves by μ.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::factor::{Factor, Projection, row_products};
use crate::kernel::dense::{axpy, dot, squared_norm};

/// A row whose step is shorter than this, relative to itself, depends on the active ones.
const DEPENDENT: f64 = 1e-11;
/// The rounding of a combination, relative to its terms.
const ROUNDING: f64 = 64.0 * f64::EPSILON;
/// Coefficients below this, relative to the largest, are rounding.
const COEFFICIENT: f64 = 1e-11;
/// By how much a row may miss 1.
const SLACK: f64 = 1e-10;
/// The rounding error of a score beyond which scores say nothing.
const BLURRED: f64 = 0.25;
/// Violated rows that are priced again after every change; all are when none of these is left.
const POOL: usize = 48;
/// Changes between two computations of the point from scratch.
const REFRESH: u64 = 100;

/// How a solve ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    /// Every row has nᵢ·v ≥ 1.
    Optimal,
    /// Rows and λ > 0 with Σλᵢnᵢ = 0 up to the fixed directions.
    Circuit(Vec<(usize, f64)>),
    /// Rounding has the upper hand.
    Blurred,
    /// It was told to stop.
    Stopped,
}

/// The rows in hand, the active ones among them, and the optimum of those.
#[derive(Debug, Clone)]
pub(super) struct ActiveSet {
    /// κ, the size of the last coordinate, if that is a free intercept.
    lift: Option<f64>,
    /// The rows, one after another.
    rows: Vec<f64>,
    norms: Vec<f64>,
    labels: Vec<f64>,
    factor: Factor,
    /// The active rows, in the order of the factor's columns, and their multipliers.
    active: Vec<usize>,
    alpha: Vec<f64>,
    is_active: Vec<bool>,
    v: Vec<f64>,
    pivots: u64,
    projection: Projection,
}

/// A step: how v moves, and the active multipliers against it, as the new row's multiplier grows by 1.
struct Direction {
    z: Vec<f64>,
    r: Vec<f64>,
    /// z·n of the new row, 0 if it depends on the active ones.
    slope: f64,
}

impl ActiveSet {
    /// No rows yet. With `lift` the last coordinate of every row is its label times that, and its weight is free.
    pub(super) fn new(dimension: usize, lift: Option<f64>) -> Self {
        ActiveSet {
            lift,
            rows: Vec::new(),
            norms: Vec::new(),
            labels: Vec::new(),
            factor: Factor::new(dimension),
            active: Vec::new(),
            alpha: Vec::new(),
            is_active: Vec::new(),
            v: vec![0.0; dimension],
            pivots: 0,
            projection: Projection::default(),
        }
    }

    /// Takes a row in hand; `label` is ±1.
    pub(super) fn add_row(&mut self, row: &[f64], label: f64) {
        debug_assert_eq!(row.len(), self.factor.dimension());
        self.rows.extend_from_slice(row);
        self.norms.push(squared_norm(row).sqrt());
        self.labels.push(label);
        self.is_active.push(false);
    }

    /// How many rows are in hand.
    pub(super) fn len(&self) -> usize {
        self.norms.len()
    }

    /// The point.
    pub(super) fn point(&self) -> &[f64] {
        &self.v
    }

    /// The active rows and their multipliers.
    pub(super) fn multipliers(&self) -> impl Iterator<Item = (usize, f64)> {
        self.active.iter().copied().zip(self.alpha.iter().copied())
    }

    /// How often a row became active or ceased to be.
    pub(super) fn pivots(&self) -> u64 {
        self.pivots
    }

    /// How many directions are fixed.
    pub(super) fn fixed(&self) -> usize {
        self.factor.fixed()
    }

    /// Row `i` of those in hand.
    pub(super) fn row(&self, i: usize) -> &[f64] {
        let width = self.factor.dimension();
        &self.rows[i * width..(i + 1) * width]
    }

    /// κ while the intercept is free: once directions are fixed, they fix it.
    fn free(&self) -> Option<f64> {
        self.lift.filter(|_| self.factor.fixed() == 0)
    }

    /// The bound on a score's rounding error.
    fn blur(&self, i: usize, length: f64) -> f64 {
        8.0 * f64::EPSILON * self.norms[i] * length
    }

    /// Solves for the rows in hand, from the optimum of those that are active. Asks `stop` at every change.
    pub(super) fn solve(&mut self, stop: &mut dyn FnMut() -> bool) -> Outcome {
        let most = self.pivots + 20_000 + 20 * (self.len() + self.factor.dimension()) as u64;
        if self.free().is_some()
            && self.active.is_empty()
            && let Some(circuit) = self.start()
        {
            return circuit;
        }
        let mut settled = false;
        loop {
            let pool = self.violated();
            if pool.is_empty() {
                if settled {
                    return Outcome::Optimal;
                }
                settled = true;
                self.settle();
                continue;
            }
            settled = false;
            let mut refresh = self.pivots + REFRESH;
            let mut pool = pool;
            while let Some(p) = self.worst_of(&mut pool) {
                if let Some(ended) = self.take_in(p, stop) {
                    return ended;
                }
                if self.pivots > most || self.largest_blur() > BLURRED {
                    return Outcome::Blurred;
                }
                if self.pivots > refresh {
                    refresh = self.pivots + REFRESH;
                    self.settle();
                }
            }
        }
    }

    fn largest_blur(&self) -> f64 {
        let length = squared_norm(&self.v).sqrt();
        let norm = self.norms.iter().copied().fold(0.0, f64::max);
        8.0 * f64::EPSILON * norm * length
    }

    /// The most violated of all rows, the worst ones.
    fn violated(&self) -> Vec<usize> {
        let mut scores = vec![0.0; self.len()];
        row_products(&self.rows, &self.v, &mut scores);
        let length = squared_norm(&self.v).sqrt();
        let mut violated: Vec<(f64, usize)> = (0..self.len())
            .filter(|&i| !self.is_active[i] && 1.0 - scores[i] > SLACK.max(self.blur(i, length)))
            .map(|i| ((1.0 - scores[i]) / self.norms[i].max(f64::MIN_POSITIVE), i))
            .collect();
        let by_size = |a: &(f64, usize), b: &(f64, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if violated.len() > POOL {
            violated.select_nth_unstable_by(POOL, by_size);
            violated.truncate(POOL);
        }
        violated.sort_unstable_by(by_size);
        violated.into_iter().map(|(_, i)| i).collect()
    }

    /// The most violated of these, which loses the others that are not violated any more.
    fn worst_of(&self, pool: &mut Vec<usize>) -> Option<usize> {
        let length = squared_norm(&self.v).sqrt();
        let mut worst: Option<(f64, usize)> = None;
        pool.retain(|&i| {
            if self.is_active[i] {
                return false;
            }
            let missing = 1.0 - dot(self.row(i), &self.v);
            if missing <= SLACK.max(self.blur(i, length)) {
                return false;
            }
            let distance = missing / self.norms[i].max(f64::MIN_POSITIVE);
            if worst.is_none_or(|(most, _)| distance > most) {
                worst = Some((distance, i));
            }
            true
        });
        worst.map(|(_, i)| i)
    }

    /// A first pair, one row of each class, near each other; or the circuit that two equal ones make.
    fn start(&mut self) -> Option<Outcome> {
        let nearest = |to: usize| {
            let y = self.labels[to];
            let distance = |i: usize| {
                // Labels are folded into rows, so that the sum of two of different classes is a difference.
                let pairs = self.row(i).iter().zip(self.row(to));
                pairs.map(|(a, b)| (a + b) * (a + b)).sum::<f64>()
            };
            (0..self.len())
                .filter(|&i| self.labels[i] != y)
                .map(|i| (distance(i), i))
                .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
        };
        let (_, first) = nearest(0)?;
        let (squared, second) = nearest(first)?;
        let scale = self.norms[first].max(self.norms[second]);
        if squared.sqrt() <= DEPENDENT * scale {
            return Some(Outcome::Circuit(vec![(first, 1.0), (second, 1.0)]));
        }
        for i in [first, second] {
            self.activate(i, 0.0);
        }
        self.compute();
        None
    }

    fn activate(&mut self, i: usize, alpha: f64) {
        let mut projection = std::mem::take(&mut self.projection);
        self.factor.project(self.row(i), &mut projection);
        self.factor.push(&projection);
        self.projection = projection;
        self.active.push(i);
        self.alpha.push(alpha);
        self.is_active[i] = true;
        self.pivots += 1;
    }

    fn deactivate(&mut self, place: usize) {
        self.factor.remove(place);
        self.alpha.remove(place);
        let i = self.active.remove(place);
        self.is_active[i] = false;
        self.pivots += 1;
    }

    /// R⁻ᵀy and g = QR⁻ᵀy, for the labels y of the active rows.
    fn labelled(&self) -> (Vec<f64>, Vec<f64>) {
        let mut inner: Vec<f64> = self.active.iter().map(|&i| self.labels[i]).collect();
        self.factor.solve_transposed(&mut inner);
        let mut g = vec![0.0; self.factor.dimension()];
        self.factor.add_combination(1.0, &inner, &mut g);
        (inner, g)
    }

    fn direction(&mut self, p: usize) -> Direction {
        let mut projection = std::mem::take(&mut self.projection);
        self.factor.project(self.row(p), &mut projection);
        let mut z = projection.outside.clone();
        let mut r = projection.inside[self.factor.fixed()..].to_vec();
        let last = z.len() - 1;
        let mut slope = projection.length * projection.length;
        if let Some(lift) = self.free() {
            let (inner, g) = self.labelled();
            let squared = squared_norm(&inner);
            let mu = z[last] / (lift * squared);
            axpy(-mu, &g, &mut z);
            axpy(mu, &inner, &mut r);
            slope += mu * mu * squared;
            z[last] = mu / lift;
        }
        self.factor.solve(&mut r);
        // What is left of a row that depends on the others is the rounding of its combination.
        let terms: f64 = self
            .active
            .iter()
            .zip(&r)
            .map(|(&i, r)| r.abs() * self.norms[i])
            .sum();
        if slope.sqrt() <= DEPENDENT * self.norms[p] + ROUNDING * terms {
            slope = 0.0;
        }
        self.projection = projection;
        Direction { z, r, slope }
    }

    /// Moves until row `p` is satisfied and active; some other outcome ends the solve.
    fn take_in(&mut self, p: usize, stop: &mut dyn FnMut() -> bool) -> Option<Outcome> {
        let mut own = 0.0;
        loop {
            if stop() {
                return Some(Outcome::Stopped);
            }
            let direction = self.direction(p);
            let largest = direction.r.iter().fold(1.0, |m: f64, r| m.max(r.abs()));
            // The first multiplier to reach 0; of equal ones, that with the largest coefficient.
            let mut blocking: Option<(f64, usize)> = None;
            for (k, &r) in direction.r.iter().enumerate() {
                if r <= COEFFICIENT * largest {
                    continue;
                }
                let step = self.alpha[k].max(0.0) / r;
                let earlier = blocking
                    .is_none_or(|(least, chosen)| step < least || step == least && r > direction.r[chosen]);
                if earlier {
                    blocking = Some((step, k));
                }
            }
            let missing = 1.0 - dot(self.row(p), &self.v);
            let full = (direction.slope > 0.0).then(|| missing.max(0.0) / direction.slope);
            let step = match (full, blocking) {
                (None, None) => return Some(self.circuit(p, &direction.r)),
                (Some(full), Some((partial, _))) => full.min(partial),
                (Some(full), None) => full,
                (None, Some((partial, _))) => partial,
            };
            if !step.is_finite() {
                return Some(Outcome::Blurred);
            }
            own += step;
            axpy(-step, &direction.r, &mut self.alpha);
            if direction.slope > 0.0 {
                axpy(step, &direction.z, &mut self.v);
            }
            match (full, blocking) {
                (Some(full), _) if step == full => {
                    self.activate(p, own);
                    return None;
                }
                (_, Some((_, place))) => self.deactivate(place),
                _ => return Some(Outcome::Blurred),
            }
            // A free intercept needs a row to hold it; only rounding can have taken the last.
            if self.free().is_some() && self.active.is_empty() {
                return Some(Outcome::Blurred);
            }
        }
    }

    /// λ = (1, −r), without what is only rounding.
    fn circuit(&self, p: usize, r: &[f64]) -> Outcome {
        let largest = r.iter().fold(1.0, |m: f64, r| m.max(r.abs()));
        let mut lambda: Vec<(usize, f64)> = self
            .active
            .iter()
            .zip(r)
            .filter(|&(_, &r)| -r > COEFFICIENT * largest)
            .map(|(&i, &r)| (i, -r))
            .collect();
        lambda.push((p, 1.0));
        Outcome::Circuit(lambda)
    }

    /// Computes the point and the multipliers from the active rows, with one refinement; rows whose multiplier
    /// is negative are let go.
    fn settle(&mut self) {
        loop {
            self.compute();
            let largest = self.alpha.iter().copied().fold(0.0, f64::max);
            let least = (0..self.alpha.len()).min_by(|&a, &b| self.alpha[a].total_cmp(&self.alpha[b]));
            match least {
                Some(k) if self.alpha[k] < -1e-9 * largest && self.active.len() > 2 => self.deactivate(k),
                _ => break,
            }
        }
        self.alpha.iter_mut().for_each(|a| *a = a.max(0.0));
    }

    fn compute(&mut self) {
        let last = self.factor.dimension().saturating_sub(1);
        self.v.fill(0.0);
        self.alpha.fill(0.0);
        let free = self.free().map(|lift| (lift, self.labelled()));
        for _ in 0..2 {
            let mut inner: Vec<f64> = self
                .active
                .iter()
                .map(|&i| 1.0 - dot(self.row(i), &self.v))
                .collect();
            self.factor.solve_transposed(&mut inner);
            let mut moved = vec![0.0; self.v.len()];
            self.factor.add_combination(1.0, &inner, &mut moved);
            if let Some((lift, (labelled, g))) = &free {
                let beta = moved[last] / (lift * squared_norm(labelled));
                axpy(-beta, g, &mut moved);
                axpy(-beta, labelled, &mut inner);
                moved[last] = beta / lift;
            }
            axpy(1.0, &moved, &mut self.v);
            self.factor.solve(&mut inner);
            axpy(1.0, &inner, &mut self.alpha);
        }
    }

    /// Makes the span of these rows fixed, lets go of all that is active and starts again from 0.
    pub(super) fn fix(&mut self, rows: &[usize]) {
        self.factor.clear();
        self.active.clear();
        self.alpha.clear();
        self.is_active.fill(false);
        self.v.fill(0.0);
        let mut projection = std::mem::take(&mut self.projection);
        for &i in rows {
            self.factor.project(self.row(i), &mut projection);
            if projection.length > DEPENDENT * self.norms[i] {
                self.factor.fix(&projection);
            }
        }
        self.projection = projection;
    }

    /// How long the part of `row` off the fixed directions is, relative to the row.
    pub(super) fn outside(&self, row: &[f64]) -> f64 {
        let mut left = row.to_vec();
        self.factor.avoid_fixed(&mut left);
        (squared_norm(&left) / squared_norm(row).max(f64::MIN_POSITIVE)).sqrt()
    }

    /// `row` in the coordinates of the fixed directions.
    pub(super) fn within_fixed(&self, row: &[f64]) -> Vec<f64> {
        self.factor.within_fixed(row)
    }

    /// Two unit vectors orthogonal to the fixed directions, drawn at random but always the same.
    pub(super) fn probes(&self) -> Vec<Vec<f64>> {
        let mut random = ChaCha8Rng::seed_from_u64(self.factor.fixed() as u64);
        let mut probe = || {
            let mut u: Vec<f64> = (0..self.factor.dimension())
                .map(|_| random.random_range(-1.0..1.0))
                .collect();
            self.factor.avoid_fixed(&mut u);
            let norm = squared_norm(&u).sqrt().max(f64::MIN_POSITIVE);
            u.iter_mut().for_each(|u| *u /= norm);
            u
        };
        vec![probe(), probe()]
    }

    /// Takes rows out of hand: those in the span of the fixed directions need no step.
    pub(super) fn retain(&mut self, keep: impl Fn(usize, &[f64]) -> bool) -> Vec<usize> {
        let width = self.factor.dimension();
        let kept: Vec<usize> = (0..self.len())
            .filter(|&i| self.is_active[i] || keep(i, self.row(i)))
            .collect();
        let mut place = vec![usize::MAX; self.len()];
        for (to, &from) in kept.iter().enumerate() {
            place[from] = to;
            self.rows
                .copy_within(from * width..(from + 1) * width, to * width);
            self.norms[to] = self.norms[from];
            self.labels[to] = self.labels[from];
            self.is_active[to] = self.is_active[from];
        }
        self.rows.truncate(kept.len() * width);
        self.norms.truncate(kept.len());
        self.labels.truncate(kept.len());
        self.is_active.truncate(kept.len());
        self.active.iter_mut().for_each(|i| *i = place[*i]);
        kept
    }
}
