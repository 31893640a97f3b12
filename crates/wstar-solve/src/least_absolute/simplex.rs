//! The simplex method for least absolute deviations, from a point near the optimum to an optimal vertex (I.
//! Barrodale and F. D. K. Roberts, SIAM J. Numer. Anal. 10, 1973).
//!
//! At a vertex, as many rows are interpolated as there are independent columns. All other rows have the slope
//! of their side, so the multipliers of the basic rows follow: σ = −B⁻ᵀg, with g the gradient of the other
//! rows. If every σ is within its bounds, the vertex is optimal, and σ proves it. Otherwise the row with the
//! worst σ leaves the basis: its score moves, and the rows that it passes change sides, until the objective
//! no longer decreases along that edge. The row reached there enters the basis. A step thus passes many
//! vertices at once: its length is a weighted median.
//!
//! **Ties.** Rows that are interpolated without being basic would stop an edge at length 0 again and again.
//! Each of them is perturbed by a small shift of its own, which puts it on one side. The multipliers do not
//! depend on the targets, so they remain a proof when the shifts are removed: an interpolated row accepts any
//! slope.
//!
//! With hundreds of ties, thousands of exchanges would be needed. The slopes of an interior point, which are
//! between their bounds for all interpolated rows, are then a better start. One slope after another is pushed
//! to its nearer bound while the multipliers compensate. If a multiplier reaches its own bound first, the two
//! rows change places (N. Megiddo, On finding primal- and dual-optimal bases, ORSA J. Computing 3, 1991). A
//! push follows no edge, so it costs no more than a product with the inverse.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use rayon::prelude::*;

use crate::least_absolute::basis::Basis;
use wstar_data::Design;
use wstar_data::linear::Layout;
use wstar_problem::objective::products::{add_column_products, block_rows, scores};

/// Tolerance by which a multiplier may exceed its bounds, as a fraction of their distance. Heuristic: above
/// the rounding error of a multiplier; not measured yet.
const BOUND_TOLERANCE: f64 = 1e-10;
/// Residuals below this fraction of the largest |y| count as 0. Heuristic: above the rounding error of a
/// residual; not measured yet.
const KINK_TOLERANCE: f64 = 1e-12;
/// Initial size of the perturbations, as a multiple of that threshold. Heuristic: larger ones separate ties
/// better, but may exceed a residual; not measured yet.
const PERTURBATION: f64 = 1e3;
/// Exchanges after which the inverse is recomputed. Heuristic: trades the time for an inversion against
/// accumulated rounding; not measured yet.
const REINVERT_EVERY: usize = 64;
/// Relative size of a pivot below which the inverse is recomputed. Heuristic: a smaller pivot amplifies
/// rounding in the update; not measured yet.
const SMALL_PIVOT: f64 = 1e-7;

/// The outcome of a search for an optimal vertex.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SimplexEnd {
    /// All multipliers are within their bounds.
    Optimal,
    /// The objective is unbounded below on these rows: more rows are needed.
    Unbounded,
    /// Too many exchanges, or a singular basis.
    Stuck,
}

/// The state of a simplex search.
pub(super) struct Vertex<'a> {
    pub(super) design: &'a Design,
    pub(super) layout: Layout,
    /// The targets; rows of the design beyond their end are ignored.
    pub(super) targets: &'a [f64],
    pub(super) weights: &'a [f64],
    /// The slopes on both sides of the kink.
    pub(super) slopes: (f64, f64),
    /// The gradient of all rows outside the band, whose sides are fixed.
    pub(super) fixed: &'a [f64],
    pub(super) basis: Basis,
    /// +1 above the plane, −1 below it, 0 for basic rows.
    pub(super) sides: Vec<i8>,
    /// The residuals, including the shifts.
    residuals: Vec<f64>,
    /// The perturbations of tied rows.
    shifts: Vec<f64>,
    /// The current size of the perturbations, as a multiple of `kink_tolerance`.
    perturbation: f64,
    /// Residuals up to this size count as 0.
    kink_tolerance: f64,
    /// The number of exchanges.
    pub(super) exchanges: usize,
}

/// The point where a row's residual changes its sign along an edge.
#[derive(Clone, Default, PartialEq)]
struct Crossing {
    step: f64,
    row: usize,
    along: f64,
}

impl Eq for Crossing {}

impl PartialOrd for Crossing {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Crossing {
    /// Reversed, so that the max-heap `BinaryHeap` returns the smallest step first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.step.total_cmp(&self.step)).then_with(|| other.row.cmp(&self.row))
    }
}

impl<'a> Vertex<'a> {
    /// Starts from a basis; `sides` are the assumed sides of interpolated rows that are not basic.
    pub(super) fn new(
        (design, layout): (&'a Design, Layout),
        (targets, weights): (&'a [f64], &'a [f64]),
        slopes: (f64, f64),
        fixed: &'a [f64],
        basis: Basis,
        sides: Vec<i8>,
    ) -> Self {
        let largest = targets.iter().fold(0.0f64, |most, y| most.max(y.abs()));
        let mut vertex = Vertex {
            design,
            layout,
            targets,
            weights,
            slopes,
            fixed,
            basis,
            sides,
            residuals: vec![0.0; targets.len()],
            shifts: vec![0.0; targets.len()],
            perturbation: PERTURBATION,
            kink_tolerance: KINK_TOLERANCE * largest.max(f64::MIN_POSITIVE),
            exchanges: 0,
        };
        for at in 0..vertex.basis.rank() {
            let row = vertex.basis.rows[at];
            vertex.sides[row] = 0;
        }
        vertex
    }

    /// The slope of the loss on a side.
    fn slope(&self, side: i8) -> f64 {
        match side {
            1 => self.slopes.0,
            -1 => self.slopes.1,
            _ => 0.0,
        }
    }

    /// Exchanges rows until no edge decreases the objective, at most `most` times.
    pub(super) fn descend(&mut self, most: usize, stop: &mut dyn FnMut() -> bool) -> SimplexEnd {
        for _ in 0..3 {
            let end = self.search(most, stop);
            if end != SimplexEnd::Optimal {
                return end;
            }
            // Without the shifts the same basis is optimal, unless a shift exceeded a residual.
            self.shifts.fill(0.0);
            self.recompute_residuals();
            let wrong = (0..self.targets.len()).any(|i| {
                let side = f64::from(self.sides[i]);
                side * self.residuals[i] < -self.kink_tolerance
            });
            if !wrong {
                return SimplexEnd::Optimal;
            }
            // Heuristic: a smaller factor needs fewer repetitions and separates ties less well; not
            // measured yet.
            self.perturbation *= 0.03;
        }
        SimplexEnd::Optimal
    }

    /// Pushes the slopes of interpolated nonbasic rows to a bound. Returns whether the final basis is
    /// regular.
    pub(super) fn push(&mut self, slopes: &[f64]) -> bool {
        self.recompute_residuals();
        let (low, high) = self.slopes;
        let interpolated: Vec<usize> = (0..self.targets.len())
            .filter(|&i| self.sides[i] != 0 && self.residuals[i].abs() <= self.kink_tolerance)
            .collect();
        for (i, side) in self.sides.iter_mut().enumerate().filter(|(_, side)| **side != 0) {
            *side = if self.residuals[i] > 0.0 { 1 } else { -1 };
        }
        interpolated.iter().for_each(|&i| self.sides[i] = 0);
        let mut gradient = self.gradient();
        for &i in &interpolated {
            add_row(
                self.design,
                i,
                self.weights[i] * slopes[i].clamp(low, high),
                &mut gradient,
            );
        }
        let mut multipliers = self.basis.multipliers(&gradient);
        let mut exchanged = 0;
        for &i in &interpolated {
            let weight = self.weights[i];
            let slope = slopes[i].clamp(low, high);
            let end = if slope - low < high - slope { low } else { high };
            let change = weight * (end - slope);
            // The change of the multipliers when the slope moves to its bound.
            let along: Vec<f64> = (self.basis.along(i, self.design).iter())
                .map(|along| -along * change)
                .collect();
            let mut first: Option<(f64, usize)> = None;
            for (k, (&multiplier, &along)) in multipliers.iter().zip(&along).enumerate() {
                let bound = self.weights[self.basis.rows[k]];
                let slack = match along > 0.0 {
                    true => bound * high - multiplier,
                    false => multiplier - bound * low,
                };
                // A multiplier that is beyond its bound already, or hardly changes, is left to the exchanges.
                // Heuristic: relative changes below 1e-9 are ignored; not measured yet.
                if slack < 0.0 || along.abs() <= 1e-9 * change.abs() {
                    continue;
                }
                let ratio = slack / along.abs();
                if ratio < 1.0 && first.is_none_or(|(least, _)| ratio < least) {
                    first = Some((ratio, k));
                }
            }
            let ratio = first.map_or(1.0, |(ratio, _)| ratio);
            add_row(self.design, i, ratio * change, &mut gradient);
            (multipliers.iter_mut().zip(&along)).for_each(|(m, along)| *m += ratio * along);
            let Some((_, k)) = first else {
                self.sides[i] = if end == low { 1 } else { -1 };
                continue;
            };
            let leaving = self.basis.rows[k];
            self.sides[leaving] = if along[k] > 0.0 { -1 } else { 1 };
            let value = weight * slope + ratio * change;
            // The leaving row moves from the multipliers into the gradient, the entering row from the
            // gradient into the multipliers.
            add_row(self.design, leaving, multipliers[k], &mut gradient);
            add_row(self.design, i, -value, &mut gradient);
            self.basis.exchange(k, i, self.design);
            multipliers[k] = value;
            exchanged += 1;
            if exchanged % REINVERT_EVERY == 0 {
                if !self.basis.invert(self.design) {
                    return false;
                }
                multipliers = self.basis.multipliers(&gradient);
            }
        }
        self.basis.invert(self.design)
    }

    fn search(&mut self, most: usize, stop: &mut dyn FnMut() -> bool) -> SimplexEnd {
        self.recompute_residuals();
        self.assign_sides();
        let mut gradient = self.gradient();
        let mut since = 0;
        let mut steps = vec![0.0; self.targets.len()];
        loop {
            let Some((k, sign)) = self.leaving(&gradient) else {
                if since == 0 {
                    return SimplexEnd::Optimal;
                }
                // Optimality is confirmed with recomputed quantities, free of accumulated rounding.
                if !self.basis.invert(self.design) {
                    return SimplexEnd::Stuck;
                }
                self.recompute_residuals();
                self.assign_sides();
                gradient = self.gradient();
                since = 0;
                continue;
            };
            if self.exchanges >= most || stop() {
                return SimplexEnd::Stuck;
            }
            self.exchanges += 1;
            since += 1;
            let mut along = self.basis.direction(k);
            let size = self.basis.length(k);
            along.iter_mut().for_each(|v| *v *= sign);
            self.scores(&along, &mut steps);
            let leaving = self.basis.rows[k];
            let Some((crossing, passed)) = self.cross(k, sign, &gradient, &steps, size) else {
                return SimplexEnd::Unbounded;
            };
            for (i, residual) in self.residuals.iter_mut().enumerate() {
                *residual -= crossing.step * steps[i];
            }
            let (low, high) = self.slopes;
            for row in passed {
                // The row changes from above the plane to below it, or the reverse.
                let change = f64::from(self.sides[row]) * self.weights[row] * (high - low);
                self.sides[row] = -self.sides[row];
                add_row(self.design, row, change, &mut gradient);
            }
            let entering = crossing.row;
            add_row(
                self.design,
                entering,
                -self.weights[entering] * self.slope(self.sides[entering]),
                &mut gradient,
            );
            self.sides[entering] = 0;
            self.residuals[entering] = 0.0;
            self.residuals[leaving] = -crossing.step * sign;
            self.sides[leaving] = if sign > 0.0 { -1 } else { 1 };
            add_row(
                self.design,
                leaving,
                self.weights[leaving] * self.slope(self.sides[leaving]),
                &mut gradient,
            );
            self.basis.exchange(k, entering, self.design);
            let small = crossing.along.abs() < SMALL_PIVOT * size;
            if small || since % REINVERT_EVERY == 0 {
                if !self.basis.invert(self.design) {
                    return SimplexEnd::Stuck;
                }
                self.recompute_residuals();
                self.assign_sides();
                gradient = self.gradient();
            } else {
                self.perturb_ties();
            }
        }
    }

    /// The basic row whose multiplier exceeds its bounds most relative to the length of its edge, and the
    /// sign of the change of its score.
    fn leaving(&self, gradient: &[f64]) -> Option<(usize, f64)> {
        let (low, high) = self.slopes;
        let mut worst: Option<(f64, usize, f64)> = None;
        for (k, multiplier) in self.basis.multipliers(gradient).into_iter().enumerate() {
            let weight = self.weights[self.basis.rows[k]];
            let (above, below) = (multiplier - weight * high, weight * low - multiplier);
            let beyond = above.max(below);
            if beyond <= BOUND_TOLERANCE * weight * (high - low) {
                continue;
            }
            let rate = beyond / self.basis.length(k);
            if worst.is_none_or(|(most, ..)| rate > most) {
                worst = Some((rate, k, if above > below { 1.0 } else { -1.0 }));
            }
        }
        worst.map(|(_, k, sign)| (k, sign))
    }

    /// The step along the edge that minimises the objective, and the rows passed on the way.
    fn cross(
        &self,
        k: usize,
        sign: f64,
        gradient: &[f64],
        steps: &[f64],
        size: f64,
    ) -> Option<(Crossing, Vec<usize>)> {
        let (low, high) = self.slopes;
        let weight = self.weights[self.basis.rows[k]];
        let multiplier = self.basis.multiplier(k, gradient);
        let mut slope = if sign > 0.0 {
            weight * high - multiplier
        } else {
            multiplier - weight * low
        };
        // About half of the rows are ahead of the step, in an unpredictable order, so this loop is
        // branch-free.
        let mut crossings = vec![Crossing::default(); steps.len()];
        let mut count = 0;
        for (row, ((&along, &residual), &side)) in
            (steps.iter().zip(&self.residuals).zip(&self.sides)).enumerate()
        {
            let step = (residual / along).max(0.0);
            crossings[count] = Crossing { step, row, along };
            // Heuristic: changes below 1e-12 of the largest are rounding; not measured yet.
            count += usize::from(f64::from(side) * along > 1e-12 * size);
        }
        crossings.truncate(count);
        let mut crossings = BinaryHeap::from(crossings);
        let mut passed = Vec::new();
        while let Some(crossing) = crossings.pop() {
            slope += self.weights[crossing.row] * (high - low) * crossing.along.abs();
            if slope >= 0.0 {
                return Some((crossing, passed));
            }
            passed.push(crossing.row);
        }
        None
    }

    /// Recomputes the weights and residuals of the basis.
    fn recompute_residuals(&mut self) {
        let scores: Vec<f64> = (self.basis.rows.iter())
            .map(|&row| self.targets[row] + self.shifts[row])
            .collect();
        let weights = self.basis.weights(self.design, &scores);
        let at: Vec<f64> = weights.iter().map(|w| w.value()).collect();
        let mut residuals = std::mem::take(&mut self.residuals);
        self.scores(&at, &mut residuals);
        for (i, residual) in residuals.iter_mut().enumerate() {
            *residual = self.targets[i] + self.shifts[i] - *residual;
        }
        for &row in &self.basis.rows {
            residuals[row] = 0.0;
        }
        self.residuals = residuals;
    }

    /// Assigns every nonbasic row to the side of its residual, and perturbs ties.
    fn assign_sides(&mut self) {
        self.perturb_ties();
        for (side, &residual) in self.sides.iter_mut().zip(&self.residuals) {
            if *side != 0 {
                *side = if residual > 0.0 { 1 } else { -1 };
            }
        }
    }

    /// Perturbs interpolated nonbasic rows towards the side that they were on.
    fn perturb_ties(&mut self) {
        for i in 0..self.residuals.len() {
            if self.sides[i] == 0 || self.residuals[i].abs() > self.kink_tolerance || self.shifts[i] != 0.0 {
                continue;
            }
            let shift =
                f64::from(self.sides[i]) * self.perturbation * self.kink_tolerance * (0.5 + fraction(i));
            self.shifts[i] = shift;
            self.residuals[i] += shift;
        }
    }

    /// The gradient of all rows that are not basic.
    fn gradient(&self) -> Vec<f64> {
        let weighted_slopes: Vec<f64> = (self.sides.iter().zip(self.weights))
            .map(|(&side, weight)| weight * self.slope(side))
            .collect();
        let mut gradient = self.fixed.to_vec();
        add_column_products(
            self.design,
            0..weighted_slopes.len(),
            self.layout,
            &weighted_slopes,
            &mut gradient,
        );
        gradient
    }

    fn scores(&self, at: &[f64], out: &mut [f64]) {
        let block = block_rows(self.design, 1);
        if out.len() <= block {
            return scores(self.design, 0..out.len(), self.layout, at, out);
        }
        out.par_chunks_mut(block).enumerate().for_each(|(b, out)| {
            let rows = b * block..b * block + out.len();
            scores(self.design, rows, self.layout, at, out);
        });
    }
}

fn add_row(design: &Design, row: usize, scale: f64, to: &mut [f64]) {
    design.row(row).add_to(scale, to);
}

/// A pseudorandom number in [0, 1) (S. Vigna's splitmix64).
fn fraction(i: usize) -> f64 {
    let mut bits = (i as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((bits ^ (bits >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}
