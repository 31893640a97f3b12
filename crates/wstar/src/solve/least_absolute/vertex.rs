//! From near the optimum to a vertex of it, by the simplex method for absolute deviations
//! (I. Barrodale and F. D. K. Roberts, SIAM J. Numer. Anal. 10, 1973).
//!
//! A vertex is where as many rows as there are independent columns are met exactly. All other rows have the
//! slope of their side, so the multipliers of the basic rows follow: σ = −B⁻ᵀg, with g the pull of the others.
//! Where each σ is within its bounds, this is optimal, and σ proves it. Otherwise the worst row leaves: its
//! score moves, and all rows that are passed change sides, until the slope along that edge is no longer
//! downhill; the row met there comes in. Not a vertex at a time but a weighted median at a time.
//!
//! **Ties.** Rows that are met without being basic would stop an edge at length 0, again and again. They are
//! moved off by a hair, each by its own, which makes them rows with a side like any other. The multipliers found
//! do not depend on the targets, so they remain a proof when the hairs are taken away: a row that is met is
//! content with any slope.
//!
//! Where they are hundreds, exchanges would be thousands, and the slopes of an interior point, which lie between
//! their ends for all rows that are met, are the better start: one after another is pushed to the nearer end, the
//! multipliers make up for it, and where one of those meets its own end first, the two rows change places
//! (N. Megiddo, On finding primal- and dual-optimal bases, ORSA J. Computing 3, 1991). No edge is followed, so
//! a push costs no more than a product with the inverse.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::basis::Basis;
use crate::data::Design;
use crate::oracle::Layout;
use crate::oracle::products::{add_pulls, block_rows, scores};

/// Multipliers may be so much beyond their bounds, as a share of their range: rounding.
const BEYOND: f64 = 1e-10;
/// A residual is 0 below this share of the largest target.
const MET: f64 = 1e-12;
/// How many times that the hairs are, to begin with.
const HAIR: f64 = 1e3;
/// The inverse is made anew after so many exchanges.
const STALE: usize = 64;
/// A pivot this small, relatively, makes the inverse doubtful.
const SMALL_PIVOT: f64 = 1e-7;

/// How a search for an optimal vertex ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// All multipliers are within their bounds.
    Optimal,
    /// It goes down without end: more rows must be looked at.
    Unbounded,
    /// Too many exchanges, or a singular basis.
    Stuck,
}

/// The rows of a simplex search.
pub(super) struct Vertex<'a> {
    pub(super) design: &'a Design,
    pub(super) layout: Layout,
    /// Rows beyond the end of these take no part.
    pub(super) targets: &'a [f64],
    pub(super) weights: &'a [f64],
    /// The slopes on both sides of a kink.
    pub(super) slopes: (f64, f64),
    /// The pull of all rows elsewhere, whose sides are fixed.
    pub(super) fixed: &'a [f64],
    pub(super) basis: Basis,
    /// +1 above the plane, −1 below it, 0 for basic rows.
    pub(super) sides: Vec<i8>,
    residuals: Vec<f64>,
    shifts: Vec<f64>,
    hair: f64,
    met: f64,
    /// Exchanges made.
    pub(super) exchanges: usize,
}

/// Where a row's residual changes its sign along an edge.
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
    /// The nearest is the greatest, as the heap wants it.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.step.total_cmp(&self.step)).then_with(|| other.row.cmp(&self.row))
    }
}

impl<'a> Vertex<'a> {
    /// From a basis; `sides` are guesses for rows that are met but not basic.
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
            hair: HAIR,
            met: MET * largest.max(f64::MIN_POSITIVE),
            exchanges: 0,
        };
        for at in 0..vertex.basis.rank() {
            let row = vertex.basis.rows[at];
            vertex.sides[row] = 0;
        }
        vertex
    }

    /// The slope of a side.
    fn slope(&self, side: i8) -> f64 {
        match side {
            1 => self.slopes.0,
            -1 => self.slopes.1,
            _ => 0.0,
        }
    }

    /// Exchanges rows until no edge leads down, at most so many times.
    pub(super) fn descend(&mut self, most: usize, stop: &mut dyn FnMut() -> bool) -> End {
        for _ in 0..3 {
            let end = self.search(most, stop);
            if end != End::Optimal {
                return end;
            }
            // Without the hairs the same basis is optimal, unless one of them was longer than a residual.
            self.shifts.fill(0.0);
            self.place();
            let wrong = (0..self.targets.len()).any(|i| {
                let side = f64::from(self.sides[i]);
                side * self.residuals[i] < -self.met
            });
            if !wrong {
                return End::Optimal;
            }
            self.hair *= 0.03;
        }
        End::Optimal
    }

    /// Pushes slopes between their ends, of rows that are met but not basic, to an end.
    pub(super) fn push(&mut self, slopes: &[f64]) -> bool {
        self.place();
        let (low, high) = self.slopes;
        let met: Vec<usize> = (0..self.targets.len())
            .filter(|&i| self.sides[i] != 0 && self.residuals[i].abs() <= self.met)
            .collect();
        for (i, side) in self.sides.iter_mut().enumerate().filter(|(_, side)| **side != 0) {
            *side = if self.residuals[i] > 0.0 { 1 } else { -1 };
        }
        met.iter().for_each(|&i| self.sides[i] = 0);
        let mut pull = self.pull();
        for &i in &met {
            add_row(
                self.design,
                i,
                self.weights[i] * slopes[i].clamp(low, high),
                &mut pull,
            );
        }
        let mut multipliers = self.basis.multipliers(&pull);
        let mut exchanged = 0;
        for &i in &met {
            let weight = self.weights[i];
            let slope = slopes[i].clamp(low, high);
            let end = if slope - low < high - slope { low } else { high };
            let change = weight * (end - slope);
            // What the multipliers do while the slope goes to its end.
            let along: Vec<f64> = (self.basis.along(i, self.design).iter())
                .map(|along| -along * change)
                .collect();
            let mut first: Option<(f64, usize)> = None;
            for (k, (&multiplier, &along)) in multipliers.iter().zip(&along).enumerate() {
                let bound = self.weights[self.basis.rows[k]];
                let room = match along > 0.0 {
                    true => bound * high - multiplier,
                    false => multiplier - bound * low,
                };
                // One that is beyond its end already, or hardly moves, is left to the exchanges.
                if room < 0.0 || along.abs() <= 1e-9 * change.abs() {
                    continue;
                }
                let share = room / along.abs();
                if share < 1.0 && first.is_none_or(|(least, _)| share < least) {
                    first = Some((share, k));
                }
            }
            let share = first.map_or(1.0, |(share, _)| share);
            add_row(self.design, i, share * change, &mut pull);
            (multipliers.iter_mut().zip(&along)).for_each(|(m, along)| *m += share * along);
            let Some((_, k)) = first else {
                self.sides[i] = if end == low { 1 } else { -1 };
                continue;
            };
            let leaving = self.basis.rows[k];
            self.sides[leaving] = if along[k] > 0.0 { -1 } else { 1 };
            let value = weight * slope + share * change;
            // The one leaves the multipliers for the pull, the other the pull for the multipliers.
            add_row(self.design, leaving, multipliers[k], &mut pull);
            add_row(self.design, i, -value, &mut pull);
            self.basis.exchange(k, i, self.design);
            multipliers[k] = value;
            exchanged += 1;
            if exchanged % STALE == 0 {
                if !self.basis.invert(self.design) {
                    return false;
                }
                multipliers = self.basis.multipliers(&pull);
            }
        }
        self.basis.invert(self.design)
    }

    fn search(&mut self, most: usize, stop: &mut dyn FnMut() -> bool) -> End {
        self.place();
        self.take_sides();
        let mut pull = self.pull();
        let mut since = 0;
        let mut steps = vec![0.0; self.targets.len()];
        loop {
            let Some((k, way)) = self.leaving(&pull) else {
                if since == 0 {
                    return End::Optimal;
                }
                // Before this is believed it is looked at once more, without what has been rounded away.
                if !self.basis.invert(self.design) {
                    return End::Stuck;
                }
                self.place();
                self.take_sides();
                pull = self.pull();
                since = 0;
                continue;
            };
            if self.exchanges >= most || stop() {
                return End::Stuck;
            }
            self.exchanges += 1;
            since += 1;
            let mut along = self.basis.direction(k);
            let size = self.basis.length(k);
            along.iter_mut().for_each(|v| *v *= way);
            self.scores(&along, &mut steps);
            let leaving = self.basis.rows[k];
            let Some((crossing, passed)) = self.cross(k, way, &pull, &steps, size) else {
                return End::Unbounded;
            };
            for (i, residual) in self.residuals.iter_mut().enumerate() {
                *residual -= crossing.step * steps[i];
            }
            let (low, high) = self.slopes;
            for row in passed {
                // From above the plane to below it, or back.
                let change = f64::from(self.sides[row]) * self.weights[row] * (high - low);
                self.sides[row] = -self.sides[row];
                add_row(self.design, row, change, &mut pull);
            }
            let entering = crossing.row;
            add_row(
                self.design,
                entering,
                -self.weights[entering] * self.slope(self.sides[entering]),
                &mut pull,
            );
            self.sides[entering] = 0;
            self.residuals[entering] = 0.0;
            self.residuals[leaving] = -crossing.step * way;
            self.sides[leaving] = if way > 0.0 { -1 } else { 1 };
            add_row(
                self.design,
                leaving,
                self.weights[leaving] * self.slope(self.sides[leaving]),
                &mut pull,
            );
            self.basis.exchange(k, entering, self.design);
            let small = crossing.along.abs() < SMALL_PIVOT * size;
            if small || since % STALE == 0 {
                if !self.basis.invert(self.design) {
                    return End::Stuck;
                }
                self.place();
                self.take_sides();
                pull = self.pull();
            } else {
                self.part();
            }
        }
    }

    /// The basic row whose multiplier is furthest beyond its bounds for the length of its edge, and which way
    /// its score is to move.
    fn leaving(&self, pull: &[f64]) -> Option<(usize, f64)> {
        let (low, high) = self.slopes;
        let mut worst: Option<(f64, usize, f64)> = None;
        for (k, multiplier) in self.basis.multipliers(pull).into_iter().enumerate() {
            let weight = self.weights[self.basis.rows[k]];
            let (above, below) = (multiplier - weight * high, weight * low - multiplier);
            let beyond = above.max(below);
            if beyond <= BEYOND * weight * (high - low) {
                continue;
            }
            let rate = beyond / self.basis.length(k);
            if worst.is_none_or(|(most, ..)| rate > most) {
                worst = Some((rate, k, if above > below { 1.0 } else { -1.0 }));
            }
        }
        worst.map(|(_, k, way)| (k, way))
    }

    /// How far the edge leads down, and the rows passed on the way.
    fn cross(
        &self,
        k: usize,
        way: f64,
        pull: &[f64],
        steps: &[f64],
        size: f64,
    ) -> Option<(Crossing, Vec<usize>)> {
        let (low, high) = self.slopes;
        let weight = self.weights[self.basis.rows[k]];
        let multiplier = self.basis.multiplier(k, pull);
        let mut slope = if way > 0.0 {
            weight * high - multiplier
        } else {
            multiplier - weight * low
        };
        // Every other row is ahead, in no order that a branch could learn.
        let mut crossings = vec![Crossing::default(); steps.len()];
        let mut count = 0;
        for (row, ((&along, &residual), &side)) in
            (steps.iter().zip(&self.residuals).zip(&self.sides)).enumerate()
        {
            let step = (residual / along).max(0.0);
            crossings[count] = Crossing { step, row, along };
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

    /// Weights and residuals of the basis, afresh.
    fn place(&mut self) {
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

    /// Every row takes the side that its residual tells; those that are met are moved off.
    fn take_sides(&mut self) {
        self.part();
        for (side, &residual) in self.sides.iter_mut().zip(&self.residuals) {
            if *side != 0 {
                *side = if residual > 0.0 { 1 } else { -1 };
            }
        }
    }

    /// Moves rows that are met without being basic off by a hair, to the side that they were on.
    fn part(&mut self) {
        for i in 0..self.residuals.len() {
            if self.sides[i] == 0 || self.residuals[i].abs() > self.met || self.shifts[i] != 0.0 {
                continue;
            }
            let shift = f64::from(self.sides[i]) * self.hair * self.met * (0.5 + fraction(i));
            self.shifts[i] = shift;
            self.residuals[i] += shift;
        }
    }

    /// The pull of all rows that are not basic.
    fn pull(&self) -> Vec<f64> {
        let pulls: Vec<f64> = (self.sides.iter().zip(self.weights))
            .map(|(&side, weight)| weight * self.slope(side))
            .collect();
        let mut pull = self.fixed.to_vec();
        add_pulls(self.design, 0..pulls.len(), self.layout, &pulls, &mut pull);
        pull
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

/// A number from 0 to 1 that looks random (S. Vigna's splitmix64).
fn fraction(i: usize) -> f64 {
    let mut bits = (i as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((bits ^ (bits >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}
