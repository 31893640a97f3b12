//! Momentum between epochs: the best point in the plane of an epoch's step and of the step before it.
//!
//! Once most multipliers stay on their side of the box, the dual is a quadratic, and an epoch is a preconditioner of it.
//! Two steps are what the heavy ball has (Polyak 1964); with the best lengths of both, as Knyazev (2001) has them for
//! eigenvectors, that is the conjugate gradient method, were all epochs alike. The products are those of weights that are
//! kept anyway, so that no pass over the rows is needed. Orders that are drawn anew make each epoch another
//! preconditioner: older steps hardly help.

use rayon::prelude::*;

use super::State;
use super::epoch::Active;

/// Numbers that are summed in one piece.
const PIECE: usize = 1 << 13;
/// Steps that are more alike than this span no plane.
const LEAST_ANGLE: f64 = 1e-4;
/// Steps are made this many times as long at most: the rounding of weights grows with them.
const LONGEST: f64 = 4.0;

/// The last step, and where the present one started.
#[derive(Debug, Default)]
pub(super) struct Momentum {
    /// The rows that either has moved, or may move.
    rows: Vec<usize>,
    step: Place,
    start: Place,
    /// Which rows are among those, for the epoch of this number.
    marks: Vec<u64>,
    epoch: u64,
}

/// A dual point, or a step between two; of rows that did not move, the multipliers mean nothing.
#[derive(Debug, Default)]
struct Place {
    multipliers: Vec<f64>,
    w: Vec<f64>,
    sum: f64,
}

/// Products of the present point, the epoch's step s and the step p before it, each by the dual's curvature, or, for
/// slopes, what the dual rises along a step.
#[derive(Debug, Clone, Copy, Default)]
struct Products {
    ss: f64,
    sp: f64,
    pp: f64,
    slope_s: f64,
    slope_p: f64,
}

impl Momentum {
    /// An epoch over these rows starts here.
    pub(super) fn start(&mut self, state: &State<'_>, active: &Active) {
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

    /// An epoch has ended here: goes on to the best point of the plane, bent at the box, unless that is none better.
    pub(super) fn follow(&mut self, state: &mut State<'_>) {
        if let Some((by_s, by_p)) = self.products(state).best() {
            self.reach(state, by_s, by_p);
            if self.bend(state) {
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
        let own = step.w.par_chunks_mut(PIECE).zip(state.w.par_chunks(PIECE));
        own.zip(start.w.par_chunks(PIECE)).for_each(|((step, w), start)| {
            for ((step, w), start) in step.iter_mut().zip(w).zip(start) {
                *step = w - start;
            }
        });
        step.sum = state.sum - start.sum;
    }

    fn products(&self, state: &State<'_>) -> Products {
        let (start, step, l2) = (&self.start, &self.step, state.l2);
        let (s, p, b) = (state.sum - start.sum, step.sum, state.intercept());
        let mut sums = Products {
            ss: state.share * s * s,
            sp: state.share * s * p,
            pp: state.share * p * p,
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
        let by_weights = pieces(state.w.len()).map(|piece| {
            let own = state.w[piece.clone()].iter().zip(&start.w[piece.clone()]);
            let mut sums = Products::default();
            for ((w, start), p) in own.zip(&step.w[piece]) {
                let s = w - start;
                sums.ss += l2 * s * s;
                sums.sp += l2 * s * p;
                sums.pp += l2 * p * p;
                sums.slope_s += l2 * s * w;
                sums.slope_p += l2 * p * w;
            }
            sums
        });
        let by_weights: Vec<Products> = by_weights.collect();
        by_weights.into_iter().fold(sums, Products::and)
    }

    /// Puts the point of the plane where the step was.
    fn reach(&mut self, state: &State<'_>, by_s: f64, by_p: f64) {
        let (start, step) = (&self.start, &mut self.step);
        let to = |at: f64, from: f64, step: f64| at + (by_s * (at - from) + by_p * step);
        for &i in &self.rows {
            step.multipliers[i] = to(state.multipliers[i], start.multipliers[i], step.multipliers[i]);
        }
        let own = step.w.par_chunks_mut(PIECE).zip(state.w.par_chunks(PIECE));
        own.zip(start.w.par_chunks(PIECE)).for_each(|((step, w), start)| {
            for ((step, &w), &start) in step.iter_mut().zip(w).zip(start) {
                *step = to(w, start, *step);
            }
        });
        step.sum = to(state.sum, start.sum, step.sum);
    }

    /// Brings the point of the plane into the box; whether the dual is better there than where the epoch has ended.
    fn bend(&mut self, state: &State<'_>) -> bool {
        let place = &mut self.step;
        let mut bent = false;
        for &i in &self.rows {
            let (coordinate, to) = (&state.coordinates[i], place.multipliers[i]);
            let inside = to.clamp(coordinate.low, coordinate.high);
            if inside != to {
                bent = true;
                place.multipliers[i] = inside;
                place.sum += inside - to;
                let row = state.rows.design.row(i);
                row.add_to((inside - to) / state.l2, &mut place.w);
            }
        }
        // In the open, the best point of the plane is better than any other of it.
        if !bent {
            return true;
        }
        // The slope half-way is a quadratic's mean slope.
        let halfway = state.offset + 0.5 * state.share * (place.sum + state.sum);
        let mut rise = (place.sum - state.sum) * halfway;
        for &i in &self.rows {
            let (from, to) = (state.multipliers[i], place.multipliers[i]);
            rise += (to - from) * state.coordinates[i].slope(0.5 * (from + to), 0.0);
        }
        let by_weights = pieces(state.w.len()).map(|piece| {
            let own = state.w[piece.clone()].iter().zip(&place.w[piece]);
            own.map(|(from, to)| 0.5 * state.l2 * (to - from) * (to + from))
                .sum::<f64>()
        });
        let by_weights: Vec<f64> = by_weights.collect();
        rise + by_weights.iter().sum::<f64>() < 0.0
    }
}

impl Products {
    fn and(self, other: Products) -> Products {
        Products {
            ss: self.ss + other.ss,
            sp: self.sp + other.sp,
            pp: self.pp + other.pp,
            slope_s: self.slope_s + other.slope_s,
            slope_p: self.slope_p + other.slope_p,
        }
    }

    /// How far to go along either step; nothing where that is far, or where there is no plane and no line.
    fn best(self) -> Option<(f64, f64)> {
        let area = self.ss * self.pp - self.sp * self.sp;
        let (by_s, by_p) = if area > LEAST_ANGLE * self.ss * self.pp {
            (
                (self.sp * self.slope_p - self.pp * self.slope_s) / area,
                (self.sp * self.slope_s - self.ss * self.slope_p) / area,
            )
        } else {
            (-self.slope_s / self.ss, 0.0)
        };
        (by_s.abs() <= LONGEST && by_p.abs() <= LONGEST).then_some((by_s, by_p))
    }
}

/// Pieces of so many numbers, each for itself, in order.
fn pieces(length: usize) -> impl IndexedParallelIterator<Item = std::ops::Range<usize>> {
    let piece = move |k: usize| k * PIECE..((k + 1) * PIECE).min(length);
    (0..length.div_ceil(PIECE)).into_par_iter().map(piece)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dense, Design};
    use crate::loss::LossName;
    use crate::oracle::{Layout, Local, Rows, Weights};
    use crate::penalty::Penalty;
    use crate::problem::{Intercept, Problem};
    use crate::solve::dual_coordinate_descent::Violations;
    use proptest::prelude::*;

    /// The dual objective, to be minimised, by its definition.
    fn dual(state: &State<'_>) -> f64 {
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
        0.5 * state.l2 * exact.iter().map(|w| w * w).sum::<f64>() + 0.5 * state.share * sum * sum + conjugates
    }

    proptest! {
        #[test]
        fn no_step_is_for_the_worse_and_weights_stay_those_of_the_multipliers(
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
            let problem = Problem {
                loss,
                penalty: Penalty::L2,
                intercept: if penalized { Intercept::Penalized } else { Intercept::Absent },
                oracle: Box::new(Local::new(rows.borrowed(), loss, layout)),
                rows: Some(rows.borrowed()),
            };
            let mut state = State::new(&problem, &rows);
            let mut active = Active::new(&state, seed, false);
            let (mut momentum, mut violations) = (Momentum::default(), Violations::UNKNOWN);
            for _ in 0..12 {
                momentum.start(&state, &active);
                violations = state.epoch(&mut active, violations).violations;
                let before = dual(&state);
                momentum.follow(&mut state);
                let after = dual(&state);
                prop_assert!(after <= before + 1e-12 * (1.0 + before.abs()), "{} {}", before, after);
                let within = |(c, &a): (&super::super::Coordinate, &f64)| c.low <= a && a <= c.high;
                prop_assert!(state.coordinates.iter().zip(&state.multipliers).all(within));
            }
        }
    }
}
