//! Spreads what a dual point misses over one row in sixteen.
//!
//! Near the optimum the slopes of the loss miss Xᵀα = l2·w by the gradient g of the objective, and the dual value counts
//! ‖g‖²/(2·l2) for it: with many rows thousands of times ½gᵀH⁻¹g, what the objective is above its least. Multipliers that
//! move by δᵢ = cᵢ ℓ''(zᵢ) x̃ᵢ·v cost about ½vᵀGv and leave g − Gv, with G = Σ cᵢ ℓ''(zᵢ) x̃ᵢx̃ᵢᵀ over the rows that move,
//! and the dual value is best where (G + l2·I)v = g. Over all rows that is the dual point of a step of Newton's, for a
//! pass as dear as one for a Hessian; over one row in sixteen the gap is some sixteen times as wide as the objective is
//! above its least, and hardly takes longer.
//!
//! Whatever v is, α is a dual point: multipliers stay within their ranges, and Xᵀα and the conjugates are those of α as it
//! then is.

use std::ops::Range;

use faer::linalg::solvers::Solve;
use faer::{Mat, Side};
use rayon::prelude::*;

use crate::certify::duality::pass::Gathered;
use crate::certify::duality::{Definition, penalty_of};
use crate::data::Design;
use crate::error::Result;
use crate::kernel::double_double::{Compensated, DoubleDouble, sum_scaled};
use crate::loss::{Loss, LossName, on_loss};
use crate::oracle::products::add_gram;
use crate::oracle::{Blocks, Layout, Rows};
use crate::penalty::Penalty;

/// One row in so many moves, where there are enough.
const ONE_IN: u64 = 16;
/// Rows to each parameter, at least, and rows at most.
const ROWS_EACH: u64 = 20;
const MOST_ROWS: u64 = 1 << 18;
/// Parameters at most: G is a square matrix of them.
const MOST_PARAMETERS: usize = 1000;
/// Parts of the rows that are worked on side by side, and rows whose sums are plain.
const LANES: usize = 8;
const RUN: usize = 256;

/// How many times as far from its optimum as the point a gap must be expected to be.
pub(crate) const LOOSENESS: f64 = 1.0 + ONE_IN as f64;

/// Whether such problems have multipliers that can be moved like this.
pub(crate) fn can_spread(loss: LossName, penalty: Penalty, layout: Layout) -> bool {
    let curved = loss.is_convex() && loss.is_smooth() && loss != LossName::Softmax;
    let bare = penalty.l2 > 0.0 && penalty.l1 == 0.0;
    curved && bare && layout.outputs == 1 && layout.width() <= MOST_PARAMETERS
}

/// Moves the multipliers of a problem that [`can_spread`].
pub(super) fn spread(
    blocks: &mut dyn Blocks,
    definition: &Definition,
    parameters: &[f64],
    gathered: &mut Gathered,
) -> Result<()> {
    let one_in = one_in(gathered.rows, definition.layout);
    // Those that are kept to make up for what is left in the end stay where they are.
    let kept = gathered.kept();
    let mut parts = Vec::new();
    let mut first = 0u64;
    blocks.pass(&mut |rows| {
        let moves = |i: &usize| {
            let row = first + *i as u64;
            is_chosen(row, one_in) && rows.weights.get(*i) > 0.0 && !kept.contains(&row)
        };
        let picked: Vec<usize> = (0..rows.len()).filter(moves).collect();
        parts.push(Moving::new(rows, &picked, definition, parameters));
        first += rows.len() as u64;
        Ok(())
    })?;
    let missed: Vec<f64> = gathered
        .pulls
        .iter()
        .zip(parameters)
        .enumerate()
        .map(|(j, (pull, w))| penalty_of(definition, j).l2 * w - pull.value())
        .collect();
    if let Some(v) = solve(&parts, definition, &missed) {
        parts.iter().for_each(|part| part.shift(definition, &v, gathered));
    }
    Ok(())
}

/// One row in how many moves.
fn one_in(rows: u64, layout: Layout) -> u64 {
    let enough = (rows / ONE_IN).clamp(ROWS_EACH * layout.width() as u64, MOST_ROWS);
    (rows / enough.max(1)).max(1)
}

/// Multiples of the golden ratio leave no pattern in the data unmet.
fn is_chosen(row: u64, one_in: u64) -> bool {
    let share = row.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    share <= u64::MAX / one_in
}

/// Rows that move.
struct Moving {
    design: Design,
    targets: Vec<f64>,
    weights: Vec<f64>,
    slopes: Vec<f64>,
    /// cᵢ ℓ''(zᵢ).
    curvatures: Vec<f64>,
}

impl Moving {
    fn new(rows: &Rows<'_>, picked: &[usize], definition: &Definition, parameters: &[f64]) -> Self {
        let targets: Vec<f64> = picked.iter().map(|&i| rows.targets[i]).collect();
        let weights: Vec<f64> = picked.iter().map(|&i| rows.weights.get(i)).collect();
        let design = rows.design.select(picked);
        let (mut slopes, mut curvatures) = (vec![0.0; picked.len()], vec![0.0; picked.len()]);
        let runs = slopes.par_chunks_mut(RUN).zip(curvatures.par_chunks_mut(RUN));
        runs.enumerate().for_each(|(run, (slopes, curvatures))| {
            let rows = run * RUN..run * RUN + slopes.len();
            slopes.copy_from_slice(&scores(&design, rows.clone(), definition.layout, parameters));
            on_loss!(definition.loss, loss => {
                let mut values = vec![0.0; rows.len()];
                loss.each(&targets[rows.clone()], slopes, &mut values, Some(curvatures));
            }, softmax => ());
            curvatures
                .iter_mut()
                .zip(&weights[rows])
                .for_each(|(h, c)| *h *= c);
        });
        Moving {
            design,
            targets,
            weights,
            slopes,
            curvatures,
        }
    }

    /// What `run` makes of every lane, in order.
    fn lanes<T: Send>(&self, run: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
        let rows = self.targets.len();
        (0..LANES)
            .into_par_iter()
            .map(|lane| run(rows * lane / LANES..rows * (lane + 1) / LANES))
            .collect()
    }

    /// Adds the lower triangle of Σ cᵢ ℓ''(zᵢ) x̃ᵢx̃ᵢᵀ, column by column.
    fn add_gram(&self, layout: Layout, gram: &mut [f64]) {
        let lanes = self.lanes(|rows| {
            let mut gram = vec![0.0; layout.width() * layout.width()];
            for start in rows.clone().step_by(RUN) {
                let run = start..(start + RUN).min(rows.end);
                add_gram(
                    &self.design,
                    run.clone(),
                    layout,
                    &self.curvatures[run],
                    &mut gram,
                );
            }
            gram
        });
        for lane in lanes {
            gram.iter_mut().zip(lane).for_each(|(to, from)| *to += from);
        }
    }

    /// Moves each multiplier by cᵢ ℓ''(zᵢ) x̃ᵢ·v, or as far as it can go.
    fn shift(&self, definition: &Definition, v: &[f64], gathered: &mut Gathered) {
        let layout = definition.layout;
        for (conjugate, pulls) in self.lanes(|rows| {
            let mut conjugate = Compensated::default();
            let mut pulls = vec![Compensated::default(); layout.len()];
            for start in rows.clone().step_by(RUN) {
                let run = start..(start + RUN).min(rows.end);
                conjugate.add(self.shift_run(run, definition, v, &mut pulls));
            }
            (conjugate.total(), pulls)
        }) {
            gathered.conjugate.add(conjugate);
            let pairs = gathered.pulls.iter_mut().zip(pulls);
            pairs.for_each(|(to, from)| to.add(from.total()));
        }
    }

    /// The same for a few rows: adds to the pulls, and gives what the conjugates change by.
    fn shift_run(
        &self,
        rows: Range<usize>,
        definition: &Definition,
        v: &[f64],
        pulls: &mut [Compensated],
    ) -> DoubleDouble {
        let layout = definition.layout;
        let along = scores(&self.design, rows.clone(), layout, v);
        let (targets, slopes) = (&self.targets[rows.clone()], &self.slopes[rows.clone()]);
        let (weights, curvatures) = (&self.weights[rows.clone()], &self.curvatures[rows.clone()]);
        let mut moved = slopes.to_vec();
        let (mut before, mut after) = (vec![0.0; rows.len()], vec![0.0; rows.len()]);
        on_loss!(definition.loss, loss => {
            for (i, slope) in moved.iter_mut().enumerate() {
                let (least, greatest) = loss.slopes(targets[i]);
                *slope = (*slope - curvatures[i] / weights[i] * along[i]).clamp(least, greatest);
            }
            loss.conjugates(targets, slopes, &mut before);
            loss.conjugates(targets, &moved, &mut after);
        }, softmax => ());
        let shifts: Vec<f64> = (0..rows.len())
            .map(|i| weights[i] * (slopes[i] - moved[i]))
            .collect();
        let mut sum = vec![0.0; layout.features];
        self.design.add_rows(rows, &shifts, &mut sum);
        pulls.iter_mut().zip(sum).for_each(|(to, from)| to.add(from));
        if let Some(intercept) = pulls.get_mut(layout.features) {
            intercept.add(sum_scaled(1.0, &shifts));
        }
        let changes: Vec<f64> = (0..shifts.len())
            .map(|i| weights[i] * (after[i] - before[i]))
            .collect();
        sum_scaled(1.0, &changes)
    }
}

/// x̃ᵢ·θ of some rows.
fn scores(design: &Design, rows: Range<usize>, layout: Layout, at: &[f64]) -> Vec<f64> {
    let (w, b) = layout.output(at, 0);
    let mut scores = vec![0.0; rows.len()];
    design.scores(rows, w, &mut scores);
    scores.iter_mut().for_each(|score| *score += b);
    scores
}

/// (G + l2·I)⁻¹ of what is missed, with the diagonal scaled to 1; none where that is not to be had.
fn solve(parts: &[Moving], definition: &Definition, missed: &[f64]) -> Option<Vec<f64>> {
    let layout = definition.layout;
    let width = layout.width();
    let mut gram = vec![0.0; width * width];
    parts.iter().for_each(|part| part.add_gram(layout, &mut gram));
    for j in 0..width {
        gram[j * width + j] += penalty_of(definition, j).l2;
    }
    let scale: Vec<f64> = (0..width)
        .map(|j| match gram[j * width + j] {
            0.0 => 0.0,
            size => size.sqrt().recip(),
        })
        .collect();
    let unit = Mat::from_fn(width, width, |i, j| match i == j {
        true => 1.0,
        false => gram[i.min(j) * width + i.max(j)] * scale[i] * scale[j],
    });
    let factor = unit.llt(Side::Lower).ok()?;
    let v = factor.solve(Mat::from_fn(width, 1, |j, _| missed[j] * scale[j]));
    let v: Vec<f64> = (0..width).map(|j| v[(j, 0)] * scale[j]).collect();
    v.iter().all(|v| v.is_finite()).then_some(v)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::certify::duality::{Care, DualPoint, DualityGap, conclude, pass};
    use crate::data::Dense;
    use crate::oracle::{Local, Weights};
    use crate::problem::{Intercept, Problem};
    use crate::solve::{Control, Newton, Solver};
    use crate::watch::{Budget, Unwatched};

    const FEATURES: usize = 3;

    /// Rows of two overlapping classes, with weights of their own.
    fn rows(n: usize, seed: u64) -> (Design, Vec<f64>, Vec<f64>) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut number = || random.random_range(-1.0..1.0);
        let x: Vec<f64> = (0..n * FEATURES).map(|_| number()).collect();
        let truth = |x: &[f64]| x[0] - 0.5 * x[1] + 0.2;
        let targets = x
            .chunks(FEATURES)
            .map(|x| {
                if truth(x) + 0.8 * number() > 0.0 {
                    1.0
                } else {
                    -1.0
                }
            })
            .collect();
        let weights = (0..n).map(|i| 0.5 + (i % 3) as f64).collect();
        (
            Design::Dense64(Dense::new(x, n, FEATURES).unwrap()),
            targets,
            weights,
        )
    }

    fn definition(loss: LossName, intercept: Intercept) -> Definition {
        let layout = Layout {
            outputs: 1,
            features: FEATURES,
            intercept: intercept != Intercept::Absent,
        };
        Definition {
            loss,
            penalty: Penalty::L2,
            intercept,
            layout,
            firth: false,
        }
    }

    fn optimum(rows: &Rows<'_>, definition: &Definition) -> Vec<f64> {
        let mut problem = Problem {
            loss: definition.loss,
            penalty: definition.penalty,
            intercept: definition.intercept,
            oracle: Box::new(Local::new(rows.borrowed(), definition.loss, definition.layout)),
            rows: Some(rows.borrowed()),
        };
        let mut unwatched = Unwatched;
        let mut control = Control::new(1e-14, Budget::default(), &mut unwatched);
        let start = vec![0.0; definition.layout.len()];
        let solution = Newton::default().solve(&mut problem, &start, &mut control);
        solution.unwrap().parameters
    }

    /// The gap before and after.
    fn gaps(rows: &Rows<'_>, definition: &Definition, at: &[f64]) -> [DualityGap; 2] {
        let mut blocks = rows.borrowed();
        let slopes = DualPoint::Slopes;
        let mut gathered = pass::gather(&mut blocks, definition, at, &slopes, Care::Plain).unwrap();
        let told = |gathered| conclude(gathered, definition, at, DualPoint::Slopes, 1e-6, Care::Plain);
        let plain = told(gathered.clone());
        spread(&mut blocks, definition, at, &mut gathered).unwrap();
        [plain, told(gathered)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn no_dual_value_is_above_the_least_objective_and_near_it_they_are_close(
            seed in any::<u64>(),
            loss in prop::sample::select(vec![LossName::Logistic, LossName::SquaredHinge, LossName::ModifiedHuber]),
            intercept in prop::sample::select(vec![Intercept::Free, Intercept::Penalized, Intercept::Absent]),
            off in prop::sample::select(vec![1e-4, 1e-3, 1e-2, 1.0]),
        ) {
            let n = 40_000;
            let (design, targets, weights) = rows(n, seed);
            let rows = Rows { design: &design, targets: targets.into(), weights: Weights::Each(weights.into()) };
            let definition = definition(loss, intercept);
            let best = optimum(&rows, &definition);
            let least = gaps(&rows, &definition, &best)[0].primal;
            let at: Vec<f64> = best.iter().enumerate().map(|(j, w)| w + off * [1.0, -0.7, 0.4, 0.5][j]).collect();
            let [plain, spread] = gaps(&rows, &definition, &at);
            let rounding = 1e-12 * least;
            prop_assert!(plain.dual <= least + rounding && spread.dual <= least + rounding);
            prop_assert_eq!(plain.primal, spread.primal);
            if off <= 1e-2 {
                let above = plain.primal - least;
                prop_assert!(plain.gap >= 500.0 * above, "{} {above}", plain.gap);
                prop_assert!(spread.gap <= 1.5 * LOOSENESS * above + rounding, "{} {above}", spread.gap);
            }
        }
    }

    #[test]
    fn few_rows_all_move_and_many_are_shared_out_evenly() {
        let layout = definition(LossName::Logistic, Intercept::Free).layout;
        assert_eq!(
            [10, 79, 160, 1279].map(|rows| one_in(rows, layout)),
            [1, 1, 2, 15]
        );
        assert_eq!([1 << 20, 1 << 24].map(|rows| one_in(rows, layout)), [16, 64]);
        for one_in in [1, 2, 15, 64] {
            let chosen = (0..64_000).filter(|&row| is_chosen(row, one_in)).count() as u64;
            assert!(chosen.abs_diff(64_000 / one_in) <= 8, "{one_in}: {chosen}");
        }
    }
}
