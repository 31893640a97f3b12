//! Momentum between epochs: the minimiser of the dual objective over the plane spanned by the epoch's
//! step and the step before it.
//!
//! Once most multipliers stay on their side of the box, the dual is a quadratic, and an epoch acts as a
//! preconditioner of it. The heavy ball method (B. T. Polyak, Some methods of speeding up the convergence
//! of iteration methods, USSR Computational Mathematics and Mathematical Physics 4, 1964) combines the
//! same two steps with fixed lengths. With the optimal length of both, as A. V. Knyazev chooses them for
//! eigenvalue problems (Toward the optimal preconditioned eigensolver, SIAM J. Sci. Comput. 23, 2001),
//! the method would be conjugate gradients if all epochs were the same linear map. Random orders make
//! each epoch a different preconditioner, so steps older than the last one hardly help.
//!
//! The inner products are those of the weights, which are kept anyway, so no pass over the rows is
//! needed.

use rayon::prelude::*;

use crate::dual_coordinate_descent::dual_state::DualState;
use crate::dual_coordinate_descent::epoch::Active;

/// Numbers that are summed sequentially in one segment; fixed, so that the sum does not depend on the number
/// of threads. Heuristic: trades the cost of a task against parallelism; not measured yet.
const SEGMENT: usize = 1 << 13;
/// Smallest sin² of the angle between the two steps at which they span a plane. Heuristic: below it the 2 × 2
/// system is treated as singular and only the epoch's step is scaled; not measured yet.
const MIN_SIN_SQUARED: f64 = 1e-4;
/// Largest factor by which either step is scaled. Cap: beyond it momentum is skipped for this epoch, because
/// the rounding error of the weights grows with the factor.
const MAX_STEP_FACTOR: f64 = 4.0;

/// The last step, and the point where the current step started.
#[derive(Debug, Default)]
pub(super) struct Momentum {
    /// The rows that the last step moved or that the current epoch may move.
    rows: Vec<usize>,
    step: DualPoint,
    start: DualPoint,
    /// `marks[i] == epoch` if row i is in `rows`.
    marks: Vec<u64>,
    epoch: u64,
}

/// A dual point, or the difference of two. The multipliers of rows that are not in `Momentum::rows` are
/// meaningless.
#[derive(Debug, Default)]
struct DualPoint {
    multipliers: Vec<f64>,
    w: Vec<f64>,
    sum: f64,
}

/// For the epoch's step s and the step p before it: their inner products in the metric of the dual's Hessian,
/// and the directional derivatives of the dual objective at the current point.
#[derive(Debug, Clone, Copy, Default)]
struct PlaneProducts {
    ss: f64,
    sp: f64,
    pp: f64,
    slope_s: f64,
    slope_p: f64,
}

impl Momentum {
    /// Starts an epoch over the active rows.
    pub(super) fn start(&mut self, state: &DualState<'_>, active: &Active) {
        let count = state.multipliers.len();
        self.marks.resize(count, 0);
        self.start.multipliers.resize(count, 0.0);
        self.step.multipliers.resize(count, 0.0);
        self.step.w.resize(state.w.len(), 0.0);
        self.epoch += 1;
        let before = std::mem::take(&mut self.rows);
        for i in active.rows().chain(before) {
            if self.marks[i] != self.epoch {
                self.marks[i] = self.epoch;
                self.start.multipliers[i] = state.multipliers[i];
                self.rows.push(i);
            }
        }
        self.start.w.clone_from(&state.w);
        self.start.sum = state.sum;
    }

    /// Ends an epoch: moves on to the best point of the plane, clamped to the box, if that point is better.
    pub(super) fn follow(&mut self, state: &mut DualState<'_>) {
        if let Some((by_s, by_p)) = self.products(state).best() {
            self.move_within_plane(state, by_s, by_p);
            if self.clamp_to_box(state) {
                for &i in &self.rows {
                    state.multipliers[i] = self.step.multipliers[i];
                }
                std::mem::swap(&mut state.w, &mut self.step.w);
                state.sum = self.step.sum;
            }
        }
        let (start, step) = (&self.start, &mut self.step);
        self.rows.retain(|&i| {
            step.multipliers[i] = state.multipliers[i] - start.multipliers[i];
            step.multipliers[i] != 0.0
        });
        let own = step.w.par_chunks_mut(SEGMENT).zip(state.w.par_chunks(SEGMENT));
        own.zip(start.w.par_chunks(SEGMENT))
            .for_each(|((step, w), start)| {
                for ((step, w), start) in step.iter_mut().zip(w).zip(start) {
                    *step = w - start;
                }
            });
        step.sum = state.sum - start.sum;
    }

    fn products(&self, state: &DualState<'_>) -> PlaneProducts {
        let (start, step, l2) = (&self.start, &self.step, state.l2);
        let (s, p, b) = (state.sum - start.sum, step.sum, state.intercept());
        let mut sums = PlaneProducts {
            ss: state.rho * s * s,
            sp: state.rho * s * p,
            pp: state.rho * p * p,
            slope_s: b * s,
            slope_p: b * p,
        };
        for &i in &self.rows {
            let (coordinate, a, p) = (&state.coordinates[i], state.multipliers[i], step.multipliers[i]);
            let s = a - start.multipliers[i];
            let (curve, slope) = (coordinate.curve, coordinate.slope(a, 0.0));
            sums.ss += curve * s * s;
            sums.sp += curve * s * p;
            sums.pp += curve * p * p;
            sums.slope_s += slope * s;
            sums.slope_p += slope * p;
        }
        let by_weights = segments(state.w.len()).map(|segment| {
            let own = state.w[segment.clone()].iter().zip(&start.w[segment.clone()]);
            let mut sums = PlaneProducts::default();
            for ((w, start), p) in own.zip(&step.w[segment]) {
                let s = w - start;
                sums.ss += l2 * s * s;
                sums.sp += l2 * s * p;
                sums.pp += l2 * p * p;
                sums.slope_s += l2 * s * w;
                sums.slope_p += l2 * p * w;
            }
            sums
        });
        let by_weights: Vec<PlaneProducts> = by_weights.collect();
        by_weights.into_iter().fold(sums, PlaneProducts::merge)
    }

    /// Stores the point x + by_s·s + by_p·p of the plane in `self.step`.
    fn move_within_plane(&mut self, state: &DualState<'_>, by_s: f64, by_p: f64) {
        let (start, step) = (&self.start, &mut self.step);
        let to = |at: f64, from: f64, step: f64| at + (by_s * (at - from) + by_p * step);
        for &i in &self.rows {
            step.multipliers[i] = to(state.multipliers[i], start.multipliers[i], step.multipliers[i]);
        }
        let own = step.w.par_chunks_mut(SEGMENT).zip(state.w.par_chunks(SEGMENT));
        own.zip(start.w.par_chunks(SEGMENT))
            .for_each(|((step, w), start)| {
                for ((step, &w), &start) in step.iter_mut().zip(w).zip(start) {
                    *step = to(w, start, *step);
                }
            });
        step.sum = to(state.sum, start.sum, step.sum);
    }

    /// Clamps the point of the plane to the box. Returns whether its dual objective is smaller than at the
    /// end of the epoch.
    fn clamp_to_box(&mut self, state: &DualState<'_>) -> bool {
        let point = &mut self.step;
        let mut clamped = false;
        for &i in &self.rows {
            let (coordinate, to) = (&state.coordinates[i], point.multipliers[i]);
            let inside = to.clamp(coordinate.low, coordinate.high);
            if inside != to {
                clamped = true;
                point.multipliers[i] = inside;
                point.sum += inside - to;
                let row = state.rows.design.row(i);
                row.add_to((inside - to) / state.l2, &mut point.w);
            }
        }
        // Without clamping, the point minimises over the plane, so it cannot be worse.
        if !clamped {
            return true;
        }
        // For a quadratic, the slope at the midpoint is the mean slope along the segment.
        let halfway = state.offset + 0.5 * state.rho * (point.sum + state.sum);
        let mut rise = (point.sum - state.sum) * halfway;
        for &i in &self.rows {
            let (from, to) = (state.multipliers[i], point.multipliers[i]);
            rise += (to - from) * state.coordinates[i].slope(0.5 * (from + to), 0.0);
        }
        let by_weights = segments(state.w.len()).map(|segment| {
            let own = state.w[segment.clone()].iter().zip(&point.w[segment]);
            own.map(|(from, to)| 0.5 * state.l2 * (to - from) * (to + from))
                .sum::<f64>()
        });
        let by_weights: Vec<f64> = by_weights.collect();
        rise + by_weights.iter().sum::<f64>() < 0.0
    }
}

impl PlaneProducts {
    fn merge(self, other: PlaneProducts) -> PlaneProducts {
        PlaneProducts {
            ss: self.ss + other.ss,
            sp: self.sp + other.sp,
            pp: self.pp + other.pp,
            slope_s: self.slope_s + other.slope_s,
            slope_p: self.slope_p + other.slope_p,
        }
    }

    /// The optimal lengths of both steps; `None` if either is too large, or if both steps are zero.
    fn best(self) -> Option<(f64, f64)> {
        let area = self.ss * self.pp - self.sp * self.sp;
        let (by_s, by_p) = if area > MIN_SIN_SQUARED * self.ss * self.pp {
            (
                (self.sp * self.slope_p - self.pp * self.slope_s) / area,
                (self.sp * self.slope_s - self.ss * self.slope_p) / area,
            )
        } else {
            (-self.slope_s / self.ss, 0.0)
        };
        (by_s.abs() <= MAX_STEP_FACTOR && by_p.abs() <= MAX_STEP_FACTOR).then_some((by_s, by_p))
    }
}

/// The ranges of the segments of `length` numbers, in order, as a parallel iterator.
fn segments(length: usize) -> impl IndexedParallelIterator<Item = std::ops::Range<usize>> {
    let segment = move |k: usize| k * SEGMENT..((k + 1) * SEGMENT).min(length);
    (0..length.div_ceil(SEGMENT)).into_par_iter().map(segment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dual_coordinate_descent::coordinate_step::Coordinate;
    use crate::dual_coordinate_descent::violations::Violations;
    use proptest::prelude::*;
    use wstar_data::linear::Layout;
    use wstar_data::{Dense, Design};
    use wstar_problem::loss::LossName;
    use wstar_problem::objective::Objective;
    use wstar_problem::objective::{InMemory, Rows, Weights};
    use wstar_problem::penalty::Penalty;
    use wstar_problem::problem::Intercept;
    use wstar_problem::problem::Problem;

    /// The dual objective, which is minimised, computed from its definition.
    fn dual(state: &DualState<'_>) -> f64 {
        let own = state.coordinates.iter().zip(&state.multipliers);
        let conjugates: f64 = own.map(|(c, a)| 0.5 * c.curve * a * a - c.y * a).sum();
        let mut exact = state.w.clone();
        exact.fill(0.0);
        for (i, &a) in state.multipliers.iter().enumerate() {
            state.rows.design.row(i).add_to(a / state.l2, &mut exact);
        }
        let sum: f64 = state.multipliers.iter().sum();
        let off = exact
            .iter()
            .zip(&state.w)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f64::max);
        assert!(off <= 1e-12 && (sum - state.sum).abs() <= 1e-12, "{off}");
        0.5 * state.l2 * exact.iter().map(|w| w * w).sum::<f64>() + 0.5 * state.rho * sum * sum + conjugates
    }

    proptest! {
        #[test]
        fn momentum_never_increases_the_dual_and_keeps_weights_consistent(
            values in prop::collection::vec(-1.0..1.0f64, 40 * 12),
            sides in prop::collection::vec(any::<bool>(), 40),
            loss in 0..3usize,
            penalized in any::<bool>(),
            seed in any::<u64>(),
        ) {
            let design = Design::Dense64(Dense::new(values, 40, 12).unwrap());
            let loss = [LossName::Hinge, LossName::SquaredHinge, LossName::Absolute][loss];
            let rows = Rows {
                design: &design,
                targets: sides.iter().map(|&side| if side { 1.0 } else { -1.0 }).collect::<Vec<f64>>().into(),
                weights: Weights::Same(1.0),
            };
            let layout = Layout { outputs: 1, features: 12, intercept: penalized };
            let objective = Objective { problem: Problem::new(loss, Penalty::L2, if penalized { Intercept::Penalized } else { Intercept::Absent }, layout).unwrap(), rows: Some(rows.borrowed()), sums: Box::new(InMemory::new(rows.borrowed(), loss, layout)) };
            let mut state = DualState::new(&objective, &rows);
            let mut active = Active::new(&state, seed, false);
            let (mut momentum, mut violations) = (Momentum::default(), Violations::UNKNOWN);
            for _ in 0..12 {
                momentum.start(&state, &active);
                violations = state.epoch(&mut active, violations).violations;
                let before = dual(&state);
                momentum.follow(&mut state);
                let after = dual(&state);
                prop_assert!(after <= before + 1e-12 * (1.0 + before.abs()), "{} {}", before, after);
                let within = |(c, &a): (&Coordinate, &f64)| c.low <= a && a <= c.high;
                prop_assert!(state.coordinates.iter().zip(&state.multipliers).all(within));
            }
        }
    }
}
