//! The smallest enclosing ball of a set of points, by an active set of support points.
//!
//! Method: an active set on the dual, after P. Wolfe, Finding the nearest point in a polytope, Math.
//! Programming 11 (1976), with the walking and dropping rules of K. Fischer, B. Gärtner, M. Kutz, Fast
//! smallest-enclosing-ball computation in high dimensions, ESA 2003. The support is kept affinely
//! independent. The farthest point enters, the centre moves towards the circumcentre of the support,
//! and a point leaves when its multiplier reaches 0 during the move. Each step increases the dual value, so no support
//! set is repeated. A pass over all rows selects a batch of far points, and the steps use only those points.

use crate::bayes::minimax::ball::{Ball, interval};
use crate::bayes::minimax::distance::{centred_dot, squared_distance, squared_distances};
use wstar_data::{Design, Row};
use wstar_numeric::dense;

/// Relative excess of the squared distance over the squared radius above which a point is outside the ball.
/// Heuristic: trades accuracy against steps within rounding error; not measured yet.
const OUTSIDE: f64 = 1e-13;
/// A point counts as affinely dependent on the support if its squared distance from the support's
/// affine hull is at most this fraction of its lifted squared norm. Heuristic: trades the condition of the Gram matrix
/// against lost support points; not measured yet.
const DEPENDENT: f64 = 1e-11;
/// Far points selected in one pass over the rows. Heuristic: trades passes over the rows against steps on points that
/// are no longer outside; not measured yet.
const BATCH: usize = 64;
/// Passes over the rows; a few dozen are usual. Cap: beyond it, the best ball so far is returned with its interval.
const MOST_PASSES: usize = 2_000;

/// The smallest enclosing ball of the given rows (at least one), starting near `origin`.
pub(super) fn enclose(design: &Design, rows: &[usize], origin: &[f64]) -> Ball {
    // Gram matrices are computed about the mean of the rows, whose distance from the centre is small relative to the
    // radius. For sparse rows the origin is 0, so that products cost only the stored entries. Rows in sparse storage
    // without many zeros may lie far from 0, where these products would cancel for a small ball; they use the mean.
    let origin = if is_thin(design) {
        vec![0.0; origin.len()]
    } else {
        origin.to_vec()
    };
    let mut support = Support::new(design, origin);
    let mut centre = support.origin.clone();
    let mut best: Option<(f64, Ball)> = None;
    for _ in 0..MOST_PASSES {
        let distances = squared_distances(design, rows, &centre);
        let farthest = distances.iter().copied().fold(0.0, f64::max);
        if !support.rows.is_empty() {
            let gap = farthest - support.value;
            if best.as_ref().is_none_or(|(smallest, _)| gap < *smallest) {
                best = Some((gap, support.ball(&centre)));
            }
            if gap <= OUTSIDE * farthest {
                break;
            }
        }
        let mut far: Vec<(f64, usize)> = distances
            .into_iter()
            .zip(rows.iter().copied())
            .filter(|(distance, _)| *distance > support.value * (1.0 + OUTSIDE))
            .collect();
        let by_distance = |a: &(f64, usize), b: &(f64, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if far.len() > BATCH {
            far.select_nth_unstable_by(BATCH - 1, by_distance);
            far.truncate(BATCH);
        }
        far.sort_unstable_by(by_distance);
        let candidates: Vec<usize> = far.into_iter().map(|(_, i)| i).collect();
        if support.rows.is_empty() {
            // The farthest row starts the support; if all rows lie at the origin, the first row does.
            let first = candidates.first().or(rows.first()).copied();
            first.into_iter().for_each(|i| support.start(i));
        }
        if !support.improve(&candidates) && best.is_some() {
            break;
        }
        centre = support.centre();
    }
    let mut ball = best.map_or_else(|| support.ball(&centre), |(_, ball)| ball);
    let (lower, upper) = interval(design, rows, &ball.centre, &ball.support, &ball.multipliers);
    (ball.lower, ball.radius) = (lower, upper);
    ball
}

/// Whether most entries are zeros that are not stored. Heuristic: fewer than a quarter are stored; not measured yet.
fn is_thin(design: &Design) -> bool {
    design.is_sparse() && 4 * design.stored() < design.rows().saturating_mul(design.features())
}

/// Affinely independent support points with multipliers, and the Cholesky factor of their Gram matrix.
///
/// Points are lifted to (x − origin, s). Lifted points are linearly independent if and only if the points are
/// affinely independent; their Gram matrix is then positive definite.
struct Support<'a> {
    design: &'a Design,
    thin: bool,
    origin: Vec<f64>,
    rows: Vec<usize>,
    multipliers: Vec<f64>,
    /// ‖x − origin‖² of each support point.
    norms: Vec<f64>,
    /// The lower triangle of the lifted Gram matrix, row by row.
    gram: Vec<Vec<f64>>,
    /// The Cholesky factor of `gram`, row by row.
    factor: Vec<f64>,
    /// s², of the order of the squared radius.
    lift: f64,
    /// The dual value: a lower bound on the squared radius.
    value: f64,
}

impl<'a> Support<'a> {
    fn new(design: &'a Design, origin: Vec<f64>) -> Self {
        Support {
            design,
            thin: is_thin(design),
            origin,
            rows: Vec::new(),
            multipliers: Vec::new(),
            norms: Vec::new(),
            gram: Vec::new(),
            factor: Vec::new(),
            lift: 1.0,
            value: 0.0,
        }
    }

    fn start(&mut self, i: usize) {
        let point = self.point(i);
        let norm = dense::squared_norm(&point);
        self.lift = if norm > 0.0 { norm } else { 1.0 };
        self.rows = vec![i];
        self.multipliers = vec![1.0];
        self.norms = vec![norm];
        self.gram = vec![vec![norm + self.lift]];
        self.factor = vec![(norm + self.lift).sqrt()];
        self.value = 0.0;
    }

    fn point(&self, i: usize) -> Vec<f64> {
        let mut point: Vec<f64> = self.origin.iter().map(|o| -o).collect();
        self.design.row(i).add_to(1.0, &mut point);
        point
    }

    /// The convex combination of the support points.
    fn centre(&self) -> Vec<f64> {
        let mut centre = vec![0.0; self.origin.len()];
        for (&i, &multiplier) in self.rows.iter().zip(&self.multipliers) {
            dense::axpy(multiplier, &self.point(i), &mut centre);
        }
        centre.iter_mut().zip(&self.origin).for_each(|(c, o)| *c += o);
        centre
    }

    fn ball(&self, centre: &[f64]) -> Ball {
        Ball {
            centre: centre.to_vec(),
            radius: self.value.sqrt(),
            lower: self.value.sqrt(),
            support: self.rows.clone(),
            multipliers: self.multipliers.clone(),
        }
    }

    /// Takes steps on the candidates until none of them is outside. Returns whether the dual value increased.
    fn improve(&mut self, candidates: &[usize]) -> bool {
        self.refactor();
        let at_start = self.value;
        let mut rejected = Vec::new();
        loop {
            let centre = self.centre();
            let squared = dense::squared_norm(&centre);
            let farthest = candidates
                .iter()
                .filter(|i| !rejected.contains(*i) && !self.rows.contains(*i))
                .map(|&i| (squared_distance(self.design.row(i), &centre, squared), i))
                .max_by(|a, b| a.0.total_cmp(&b.0));
            let Some((distance, entering)) = farthest else {
                break;
            };
            if distance <= self.value * (1.0 + OUTSIDE) {
                break;
            }
            let before = self.value;
            if !self.enter(entering) {
                rejected.push(entering);
            }
            self.update_value();
            // An increase within rounding error counts as none; otherwise the loop might not terminate.
            if self.value <= before * (1.0 + f64::EPSILON) {
                rejected.push(entering);
            }
        }
        self.value > at_start
    }

    /// Adds a point to the support and moves to the circumcentre as far as the multipliers allow.
    /// Returns whether the point stayed in the support.
    fn enter(&mut self, i: usize) -> bool {
        let point = self.point(i);
        let norm = dense::squared_norm(&point);
        let mut products: Vec<f64> = self
            .rows
            .iter()
            .map(|&other| self.product(other, &point) + self.lift)
            .collect();
        let mut coefficients = products.clone();
        solve_lower(&self.factor, &mut coefficients);
        let outside_hull = norm + self.lift - dense::squared_norm(&coefficients);
        if outside_hull <= DEPENDENT * (norm + self.lift) {
            // The point is an affine combination of the support with coefficients a. Moving weight from the combination
            // to the point keeps the centre and increases the dual value, until a multiplier is 0.
            solve_upper(&self.factor, &mut coefficients);
            let Some((step, leaving)) = first_to_vanish(&self.multipliers, &coefficients) else {
                return false;
            };
            for (multiplier, a) in self.multipliers.iter_mut().zip(&coefficients) {
                *multiplier = (*multiplier - step * a).max(0.0);
            }
            self.remove(leaving);
            products.remove(leaving);
            self.append(i, norm, products, step);
            self.refactor();
        } else {
            self.append(i, norm, products, 0.0);
        }
        loop {
            let target = self.circumcentre();
            let direction: Vec<f64> = self.multipliers.iter().zip(&target).map(|(m, t)| m - t).collect();
            let smallest = target.iter().copied().fold(f64::INFINITY, f64::min);
            if smallest > 0.0 {
                self.multipliers = target;
                return true;
            }
            // Only points whose target multiplier is not positive can stop the move early.
            let falling: Vec<f64> = direction
                .iter()
                .zip(&target)
                .map(|(d, t)| if *t <= 0.0 { *d } else { 0.0 })
                .collect();
            let Some((step, leaving)) = first_to_vanish(&self.multipliers, &falling) else {
                return self.rows.contains(&i);
            };
            for (multiplier, d) in self.multipliers.iter_mut().zip(&direction) {
                *multiplier = (*multiplier - step * d).max(0.0);
            }
            self.remove(leaving);
            if self.rows.len() == 1 {
                self.multipliers = vec![1.0];
                return self.rows.contains(&i);
            }
        }
    }

    /// (x − origin)·y for a row x and a point y that is already relative to the origin.
    fn product(&self, i: usize, y: &[f64]) -> f64 {
        match self.design.row(i) {
            Row::Dense32(x) => centred_dot(x, &self.origin, y),
            Row::Dense64(x) => centred_dot(x, &self.origin, y),
            // The origin of thin designs is 0.
            row if self.thin => row.dot(y),
            row => centred_dot(&row.to_dense(y.len()), &self.origin, y),
        }
    }

    /// The multipliers, possibly negative, of the point in the support's affine hull that is equidistant from all
    /// support points: μ = ½K⁻¹(g + ν1) with ν such that Σμ = 1.
    fn circumcentre(&self) -> Vec<f64> {
        let solve = |mut right: Vec<f64>| {
            solve_lower(&self.factor, &mut right);
            solve_upper(&self.factor, &mut right);
            right
        };
        let by_norms = solve(self.norms.clone());
        let by_ones = solve(vec![1.0; self.rows.len()]);
        let nu = (2.0 - by_norms.iter().sum::<f64>()) / by_ones.iter().sum::<f64>();
        let mut target: Vec<f64> = by_norms
            .iter()
            .zip(&by_ones)
            .map(|(a, b)| 0.5 * (a + nu * b))
            .collect();
        let total: f64 = target.iter().sum();
        target.iter_mut().for_each(|t| *t /= total);
        target
    }

    /// Updates the dual value of the multipliers, computed about their centre.
    fn update_value(&mut self) {
        let total: f64 = self.multipliers.iter().sum();
        self.multipliers.iter_mut().for_each(|m| *m /= total);
        let centre = self.centre();
        let squared = dense::squared_norm(&centre);
        self.value = self
            .rows
            .iter()
            .zip(&self.multipliers)
            .map(|(&i, m)| m * squared_distance(self.design.row(i), &centre, squared))
            .sum();
    }

    fn append(&mut self, i: usize, norm: f64, products: Vec<f64>, multiplier: f64) {
        let mut row = products.clone();
        solve_lower(&self.factor, &mut row);
        let rest = norm + self.lift - dense::squared_norm(&row);
        row.push(rest.max(DEPENDENT * DEPENDENT * self.lift).sqrt());
        self.factor.extend(row);
        let mut gram = products;
        gram.push(norm + self.lift);
        self.gram.push(gram);
        self.rows.push(i);
        self.norms.push(norm);
        self.multipliers.push(multiplier);
    }

    /// Removes point `at`, and updates the factor by Givens rotations.
    fn remove(&mut self, at: usize) {
        let size = self.rows.len();
        self.rows.remove(at);
        self.norms.remove(at);
        self.multipliers.remove(at);
        self.gram.remove(at);
        for row in &mut self.gram[at..] {
            row.remove(at);
        }
        // Row r of the old factor below `at` becomes row r − 1 with one extra entry. Each rotation of
        // two neighbouring columns moves the extra entry one row down.
        let mut rows: Vec<Vec<f64>> = (0..size)
            .filter(|&r| r != at)
            .map(|r| self.factor[r * (r + 1) / 2..(r + 1) * (r + 2) / 2].to_vec())
            .collect();
        for column in at..size - 1 {
            let (a, b) = (rows[column][column], rows[column][column + 1]);
            let length = a.hypot(b);
            let (cosine, sine) = (a / length, b / length);
            for row in &mut rows[column..] {
                let (left, right) = (row[column], row[column + 1]);
                row[column] = cosine * left + sine * right;
                row[column + 1] = cosine * right - sine * left;
            }
            rows[column].truncate(column + 1);
        }
        self.factor = rows.concat();
    }

    /// Recomputes the factor from the Gram matrix, which removes the rounding errors accumulated by updates.
    fn refactor(&mut self) {
        let mut factor: Vec<f64> = Vec::with_capacity(self.factor.len());
        for gram in &self.gram {
            let last = gram.len() - 1;
            let mut row = gram[..last].to_vec();
            solve_lower(&factor, &mut row);
            let rest = gram[last] - dense::squared_norm(&row);
            row.push(rest.max(DEPENDENT * DEPENDENT * self.lift).sqrt());
            factor.extend(row);
        }
        self.factor = factor;
    }
}

/// The largest step for which `multipliers − step·direction` stays non-negative, and the index that becomes 0.
fn first_to_vanish(multipliers: &[f64], direction: &[f64]) -> Option<(f64, usize)> {
    multipliers
        .iter()
        .zip(direction)
        .enumerate()
        .filter(|(_, (_, d))| **d > 0.0)
        .map(|(at, (m, d))| (m / d, at))
        .min_by(|a, b| a.0.total_cmp(&b.0))
}

/// `z ← L⁻¹z`, with L lower triangular and stored row by row.
fn solve_lower(factor: &[f64], z: &mut [f64]) {
    let mut start = 0;
    for i in 0..z.len() {
        let row = &factor[start..=start + i];
        z[i] = (z[i] - dense::dot(&row[..i], z)) / row[i];
        start += i + 1;
    }
}

/// `z ← L⁻ᵀz`, with L lower triangular and stored row by row.
fn solve_upper(factor: &[f64], z: &mut [f64]) {
    let mut end = factor.len();
    for i in (0..z.len()).rev() {
        let row = &factor[end - (i + 1)..end];
        z[i] /= row[i];
        let value = z[i];
        dense::axpy(-value, &row[..i], z);
        end -= i + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triangular_solves_undo_the_products() {
        // L = [2 0 0; 1 3 0; 4 5 6], z = (1, 2, 3).
        let factor = [2.0, 1.0, 3.0, 4.0, 5.0, 6.0];
        let mut z = [2.0, 7.0, 32.0];
        solve_lower(&factor, &mut z);
        assert_eq!(z, [1.0, 2.0, 3.0]);
        let mut z = [16.0, 21.0, 18.0];
        solve_upper(&factor, &mut z);
        assert_eq!(z, [1.0, 2.0, 3.0]);
    }
}
