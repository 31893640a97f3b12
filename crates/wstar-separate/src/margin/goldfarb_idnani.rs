//! The dual active-set method (D. Goldfarb, A. Idnani, A numerically stable dual method for solving
//! strictly convex quadratic programs, Mathematical Programming 27, 1983) on a working set of rows.
//!
//! Problem: minimise ½‖v‖² subject to nᵢ·v ≥ 1, and to v orthogonal to some fixed directions.
//!
//! Starting from the optimum on the active rows, the method adds a violated row and drops rows whose
//! multiplier would become negative. The objective increases with every added row, so the method terminates
//! in one of two ways:
//!
//! - At the optimum, with multipliers α and v = Σαᵢnᵢ.
//! - At a row n that no step can satisfy. That row is a combination n = Σrᵢnᵢ of the active rows with all
//!   rᵢ ≤ 0. Then λ = (1, −r) ≥ 0 is a *circuit*: Σλᵢnᵢ = 0 (up to the fixed directions), which proves that
//!   no v satisfies all rows.
//!
//! **Free intercept.** The last entry of a row is yᵢκ, and the last coordinate of v is not part of the
//! objective. This adds the constraint Σαᵢyᵢ = 0, and the step for a new row is its residual against the
//! *affine* hull of the active rows. Let e be the residual against their span, and g the vector in the span
//! with nᵢ·g = yᵢ. The step is e − μg, where μ makes the last coordinate 0, and the intercept changes by μ.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use wstar_numeric::dense::{axpy, dot, squared_norm};
use wstar_numeric::linalg::updating_qr::{Factor, Projection, row_products};

/// A row whose step is shorter than this, relative to its norm, is taken as dependent on the active rows.
/// Heuristic: trades false circuits for ill-conditioned factors; not measured yet.
const DEPENDENT: f64 = 1e-11;
/// Bound on the rounding error of a combination, relative to the sizes of its terms. Heuristic: 64 machine
/// epsilons, in place of a bound that grows with the number of terms; not measured yet.
const ROUNDING: f64 = 64.0 * f64::EPSILON;
/// Coefficients below this, relative to the largest, are taken as rounding errors. Heuristic: trades missed
/// blocking rows for pivots on rounding noise; not measured yet.
const COEFFICIENT: f64 = 1e-11;
/// Largest accepted violation 1 − nᵢ·v. Heuristic: trades feasibility for changes; not measured yet.
const SLACK: f64 = 1e-10;
/// Bound on a score's rounding error beyond which the solve is given up. Heuristic: a quarter of the
/// required score of 1; not measured yet.
const MAX_SCORE_ERROR: f64 = 0.25;
/// Violated rows that are priced after every change; all rows are priced when none of them is violated.
/// Heuristic: trades the cost of pricing for the number of changes; not measured yet.
const POOL: usize = 48;
/// Changes between two recomputations of the point from the factor. Heuristic: trades time for accumulated
/// rounding error; not measured yet.
const REFRESH: u64 = 100;

/// The outcome of a solve.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    /// Every row has nᵢ·v ≥ 1.
    Optimal,
    /// Rows and λ > 0 with Σλᵢnᵢ = 0, up to the fixed directions.
    Circuit(Vec<(usize, f64)>),
    /// Rounding errors are too large to decide.
    Inaccurate,
    /// `stop` returned true.
    Stopped,
}

/// The working set, its active rows, and the optimum on the active rows.
#[derive(Debug, Clone)]
pub(super) struct ActiveSet {
    /// κ, the last entry of a row up to its label; `None` without an intercept.
    lift: Option<f64>,
    /// The rows of the working set, one after another.
    rows: Vec<f64>,
    norms: Vec<f64>,
    labels: Vec<f64>,
    factor: Factor,
    /// The active rows in the order of the factor's columns. `alpha` holds their multipliers.
    active: Vec<usize>,
    alpha: Vec<f64>,
    is_active: Vec<bool>,
    v: Vec<f64>,
    pivots: u64,
    projection: Projection,
}

/// A step: the changes of v (`z`) and of the multipliers (`−r`) per unit of the new row's multiplier.
struct Direction {
    z: Vec<f64>,
    r: Vec<f64>,
    /// z·n of the new row; 0 if the row depends on the active rows.
    slope: f64,
}

impl ActiveSet {
    /// An empty working set; with `lift`, the last coordinate of v is a free intercept.
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

    /// Adds a row to the working set; `label` is ±1.
    pub(super) fn add_row(&mut self, row: &[f64], label: f64) {
        debug_assert_eq!(row.len(), self.factor.dimension());
        self.rows.extend_from_slice(row);
        self.norms.push(squared_norm(row).sqrt());
        self.labels.push(label);
        self.is_active.push(false);
    }

    /// The number of rows in the working set.
    pub(super) fn len(&self) -> usize {
        self.norms.len()
    }

    /// The current point v.
    pub(super) fn point(&self) -> &[f64] {
        &self.v
    }

    /// The active rows and their multipliers.
    pub(super) fn multipliers(&self) -> impl Iterator<Item = (usize, f64)> {
        self.active.iter().copied().zip(self.alpha.iter().copied())
    }

    /// The number of rows that became active or inactive so far.
    pub(super) fn pivots(&self) -> u64 {
        self.pivots
    }

    /// The number of fixed directions.
    pub(super) fn fixed(&self) -> usize {
        self.factor.fixed()
    }

    /// Row `i` of the working set.
    pub(super) fn row(&self, i: usize) -> &[f64] {
        let width = self.factor.dimension();
        &self.rows[i * width..(i + 1) * width]
    }

    /// κ while the intercept is free; the first fixed directions determine it.
    fn free(&self) -> Option<f64> {
        self.lift.filter(|_| self.factor.fixed() == 0)
    }

    /// A bound on the rounding error of a score nᵢ·v. Heuristic: as `ROUNDING`; not measured yet.
    fn score_error(&self, i: usize, length: f64) -> f64 {
        8.0 * f64::EPSILON * self.norms[i] * length
    }

    /// Solves from the optimum on the active rows. `stop` is called at every change.
    pub(super) fn solve(&mut self, stop: &mut dyn FnMut() -> bool) -> Outcome {
        // Cap: beyond so many changes the outcome is `Inaccurate`. Rounding alone can make the method cycle.
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
                if let Some(ended) = self.make_active(p, stop) {
                    return ended;
                }
                if self.pivots > most || self.largest_score_error() > MAX_SCORE_ERROR {
                    return Outcome::Inaccurate;
                }
                if self.pivots > refresh {
                    refresh = self.pivots + REFRESH;
                    self.settle();
                }
            }
        }
    }

    fn largest_score_error(&self) -> f64 {
        let length = squared_norm(&self.v).sqrt();
        let norm = self.norms.iter().copied().fold(0.0, f64::max);
        8.0 * f64::EPSILON * norm * length
    }

    /// The most violated rows of the working set, worst first, at most `POOL` of them.
    fn violated(&self) -> Vec<usize> {
        let mut scores = vec![0.0; self.len()];
        row_products(&self.rows, &self.v, &mut scores);
        let length = squared_norm(&self.v).sqrt();
        let mut violated: Vec<(f64, usize)> = (0..self.len())
            .filter(|&i| !self.is_active[i] && 1.0 - scores[i] > SLACK.max(self.score_error(i, length)))
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

    /// The most violated row of the pool. Rows that are no longer violated are removed from the pool.
    fn worst_of(&self, pool: &mut Vec<usize>) -> Option<usize> {
        let length = squared_norm(&self.v).sqrt();
        let mut worst: Option<(f64, usize)> = None;
        pool.retain(|&i| {
            if self.is_active[i] {
                return false;
            }
            let missing = 1.0 - dot(self.row(i), &self.v);
            if missing <= SLACK.max(self.score_error(i, length)) {
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

    /// Starts from two near rows of different classes; equal ones are a circuit, which is returned.
    fn start(&mut self) -> Option<Outcome> {
        let nearest = |to: usize| {
            let y = self.labels[to];
            let distance = |i: usize| {
                // Rows are multiplied by their labels, so the sum of two rows of different classes is a
                // difference of points.
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

    fn deactivate(&mut self, position: usize) {
        self.factor.remove(position);
        self.alpha.remove(position);
        let i = self.active.remove(position);
        self.is_active[i] = false;
        self.pivots += 1;
    }

    /// R⁻ᵀy and g = QR⁻ᵀy, where y are the labels of the active rows.
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
        // A row that depends on the active rows leaves a residual of the size of rounding errors.
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

    /// Moves until row `p` is satisfied and active. Returns an outcome if that ends the solve instead.
    fn make_active(&mut self, p: usize, stop: &mut dyn FnMut() -> bool) -> Option<Outcome> {
        let mut own = 0.0;
        loop {
            if stop() {
                return Some(Outcome::Stopped);
            }
            let direction = self.direction(p);
            let largest = direction.r.iter().fold(1.0, |m: f64, r| m.max(r.abs()));
            // The blocking multiplier reaches 0 first; ties are broken by the largest coefficient.
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
                return Some(Outcome::Inaccurate);
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
                (_, Some((_, position))) => self.deactivate(position),
                _ => return Some(Outcome::Inaccurate),
            }
            // A free intercept needs an active row; only rounding can have removed the last one.
            if self.free().is_some() && self.active.is_empty() {
                return Some(Outcome::Inaccurate);
            }
        }
    }

    /// The circuit λ = (1, −r), without coefficients that are only rounding errors.
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

    /// Recomputes the point and the multipliers, and drops active rows with a negative multiplier.
    fn settle(&mut self) {
        loop {
            self.compute();
            let largest = self.alpha.iter().copied().fold(0.0, f64::max);
            let least = (0..self.alpha.len()).min_by(|&a, &b| self.alpha[a].total_cmp(&self.alpha[b]));
            match least {
                // Heuristic: far above the rounding error of a multiplier; not measured yet.
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

    /// Adds the span of these rows to the fixed directions, clears the active set and restarts from v = 0.
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

    /// The relative norm of the component of `row` orthogonal to the fixed directions.
    pub(super) fn outside(&self, row: &[f64]) -> f64 {
        let mut left = row.to_vec();
        self.factor.avoid_fixed(&mut left);
        (squared_norm(&left) / squared_norm(row).max(f64::MIN_POSITIVE)).sqrt()
    }

    /// `row` in the coordinates of the fixed directions.
    pub(super) fn within_fixed(&self, row: &[f64]) -> Vec<f64> {
        self.factor.within_fixed(row)
    }

    /// Two unit vectors orthogonal to the fixed directions, drawn pseudo-randomly from a fixed seed.
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

    /// Keeps the active rows and those for which `keep` is true. Returns their old indices.
    pub(super) fn retain(&mut self, keep: impl Fn(usize, &[f64]) -> bool) -> Vec<usize> {
        let width = self.factor.dimension();
        let kept: Vec<usize> = (0..self.len())
            .filter(|&i| self.is_active[i] || keep(i, self.row(i)))
            .collect();
        let mut position = vec![usize::MAX; self.len()];
        for (to, &from) in kept.iter().enumerate() {
            position[from] = to;
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
        self.active.iter_mut().for_each(|i| *i = position[*i]);
        kept
    }
}
