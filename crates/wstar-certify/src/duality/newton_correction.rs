//! A Newton correction of the dual point, made on a sample of one row in sixteen.
//!
//! At αᵢ = −cᵢ ℓ'(zᵢ) the condition Xᵀα = l2·w is violated by the gradient g of the objective, which costs ‖g‖²/(2·l2) in the
//! dual value. With many rows that is thousands of times ½gᵀH⁻¹g ≈ P − P\*. Changing the multipliers by δᵢ = cᵢ ℓ''(zᵢ) x̃ᵢ·v
//! costs about ½vᵀGv and leaves the violation g − Gv, where G = Σ cᵢ ℓ''(zᵢ) x̃ᵢx̃ᵢᵀ over the changed rows. The dual value is
//! largest where (G + l2·I)v = g. Over all rows this is the dual point of a Newton step, and G costs as much as a Hessian. Over
//! one row in sixteen the gap is about sixteen times P − P\*, at a small fraction of that cost.
//!
//! Any v gives a valid dual point: the multipliers are kept within their ranges, and Xᵀα and the conjugates are computed
//! from the changed α.

use std::ops::Range;
use wstar_problem::on_loss;

use faer::linalg::solvers::Solve;
use faer::{Mat, Side};
use rayon::prelude::*;

use crate::duality::gathered_sums::Gathered;
use wstar_data::Design;
use wstar_data::error::Result;
use wstar_data::linear::Layout;
use wstar_numeric::double_double::{Compensated, DoubleDouble, sum_scaled};
use wstar_problem::looseness::ONE_IN;
use wstar_problem::loss::Loss;
use wstar_problem::objective::products::add_gram;
use wstar_problem::objective::{Blocks, Rows};
use wstar_problem::problem::Problem;

/// The least number of changed rows per parameter. Heuristic: conditioning of G against time; not measured yet.
const ROWS_EACH: u64 = 20;
/// The most changed rows. Cap: with more rows the gap is wider than [`ONE_IN`] times P − P\*.
const MOST_ROWS: u64 = 1 << 18;

/// Ranges of the rows that are summed in parallel. Heuristic: parallelism against one Gram matrix per range; not measured
/// yet.
const LANES: usize = 8;
/// Rows that are summed without compensation before their sum is added to a compensated one. Heuristic: time against rounding;
/// not measured yet.
const RUN: usize = 256;

/// Corrects the multipliers of a problem for which `has_newton_correction` holds.
pub(super) fn correct(
    blocks: &mut dyn Blocks,
    problem: &Problem,
    parameters: &[f64],
    gathered: &mut Gathered,
) -> Result<()> {
    let one_in = one_in(gathered.rows, problem.layout());
    // Rows that are kept for the repair of the constraints are not changed.
    let kept = gathered.kept();
    let mut changed = Vec::new();
    let mut first = 0u64;
    blocks.pass(&mut |rows| {
        let is_changed = |i: &usize| {
            let row = first + *i as u64;
            is_chosen(row, one_in) && rows.weights.get(*i) > 0.0 && !kept.contains(&row)
        };
        let picked: Vec<usize> = (0..rows.len()).filter(is_changed).collect();
        changed.push(ChangedRows::new(rows, &picked, problem, parameters));
        first += rows.len() as u64;
        Ok(())
    })?;
    let gradient: Vec<f64> = gathered
        .products
        .iter()
        .zip(parameters)
        .enumerate()
        .map(|(j, (product, w))| problem.penalty_of(j).l2 * w - product.value())
        .collect();
    if let Some(v) = solve(&changed, problem, &gradient) {
        changed
            .iter()
            .for_each(|block| block.shift(problem, &v, gathered));
    }
    Ok(())
}

/// The multipliers of one row in this many are changed.
fn one_in(rows: u64, layout: Layout) -> u64 {
    let enough = (rows / ONE_IN).clamp(ROWS_EACH * layout.width() as u64, MOST_ROWS);
    (rows / enough.max(1)).max(1)
}

/// Whether a row is changed: Fibonacci hashing of its index, which does not coincide with a periodic pattern in the data.
fn is_chosen(row: u64, one_in: u64) -> bool {
    let share = row.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    share <= u64::MAX / one_in
}

/// The rows of one block whose multipliers are changed.
struct ChangedRows {
    design: Design,
    targets: Vec<f64>,
    weights: Vec<f64>,
    slopes: Vec<f64>,
    /// cᵢ ℓ''(zᵢ).
    curvatures: Vec<f64>,
}

impl ChangedRows {
    fn new(rows: &Rows<'_>, picked: &[usize], problem: &Problem, parameters: &[f64]) -> Self {
        let targets: Vec<f64> = picked.iter().map(|&i| rows.targets[i]).collect();
        let weights: Vec<f64> = picked.iter().map(|&i| rows.weights.get(i)).collect();
        let design = rows.design.select(picked);
        let (mut slopes, mut curvatures) = (vec![0.0; picked.len()], vec![0.0; picked.len()]);
        let runs = slopes.par_chunks_mut(RUN).zip(curvatures.par_chunks_mut(RUN));
        runs.enumerate().for_each(|(run, (slopes, curvatures))| {
            let rows = run * RUN..run * RUN + slopes.len();
            slopes.copy_from_slice(&scores(&design, rows.clone(), problem.layout(), parameters));
            on_loss!(problem.loss(), loss => {
                let mut values = vec![0.0; rows.len()];
                loss.each(&targets[rows.clone()], slopes, &mut values, Some(curvatures));
            }, softmax => ());
            curvatures
                .iter_mut()
                .zip(&weights[rows])
                .for_each(|(h, c)| *h *= c);
        });
        ChangedRows {
            design,
            targets,
            weights,
            slopes,
            curvatures,
        }
    }

    /// The results of `run` for the row ranges of all lanes, in order.
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

    /// Changes each multiplier by cᵢ ℓ''(zᵢ) x̃ᵢ·v, clipped to its range.
    fn shift(&self, problem: &Problem, v: &[f64], gathered: &mut Gathered) {
        let layout = problem.layout();
        for (conjugate, products) in self.lanes(|rows| {
            let mut conjugate = Compensated::default();
            let mut products = vec![Compensated::default(); layout.len()];
            for start in rows.clone().step_by(RUN) {
                let run = start..(start + RUN).min(rows.end);
                conjugate.add(self.shift_run(run, problem, v, &mut products));
            }
            (conjugate.total(), products)
        }) {
            gathered.conjugate.add(conjugate);
            let pairs = gathered.products.iter_mut().zip(products);
            pairs.for_each(|(to, from)| to.add(from.total()));
        }
    }

    /// [`ChangedRows::shift`] for a run of rows: adds the change of X̃ᵀα to `products` and returns the change of the
    /// conjugates.
    fn shift_run(
        &self,
        rows: Range<usize>,
        problem: &Problem,
        v: &[f64],
        products: &mut [Compensated],
    ) -> DoubleDouble {
        let layout = problem.layout();
        let along = scores(&self.design, rows.clone(), layout, v);
        let (targets, slopes) = (&self.targets[rows.clone()], &self.slopes[rows.clone()]);
        let (weights, curvatures) = (&self.weights[rows.clone()], &self.curvatures[rows.clone()]);
        let mut changed = slopes.to_vec();
        let (mut before, mut after) = (vec![0.0; rows.len()], vec![0.0; rows.len()]);
        on_loss!(problem.loss(), loss => {
            for (i, slope) in changed.iter_mut().enumerate() {
                let (least, greatest) = loss.slopes(targets[i]);
                *slope = (*slope - curvatures[i] / weights[i] * along[i]).clamp(least, greatest);
            }
            loss.conjugates(targets, slopes, &mut before);
            loss.conjugates(targets, &changed, &mut after);
        }, softmax => ());
        let shifts: Vec<f64> = (0..rows.len())
            .map(|i| weights[i] * (slopes[i] - changed[i]))
            .collect();
        let mut sum = vec![0.0; layout.features];
        self.design.add_rows(rows, &shifts, &mut sum);
        products.iter_mut().zip(sum).for_each(|(to, from)| to.add(from));
        if let Some(intercept) = products.get_mut(layout.features) {
            intercept.add(sum_scaled(1.0, &shifts));
        }
        let changes: Vec<f64> = (0..shifts.len())
            .map(|i| weights[i] * (after[i] - before[i]))
            .collect();
        sum_scaled(1.0, &changes)
    }
}

/// The scores x̃ᵢ·θ of a range of rows.
fn scores(design: &Design, rows: Range<usize>, layout: Layout, at: &[f64]) -> Vec<f64> {
    let (w, b) = layout.output(at, 0);
    let mut scores = vec![0.0; rows.len()];
    design.scores(rows, w, &mut scores);
    scores.iter_mut().for_each(|score| *score += b);
    scores
}

/// v = (G + l2·I)⁻¹g by Cholesky after scaling the diagonal to 1; `None` if the factorisation fails or v is not finite.
fn solve(changed: &[ChangedRows], problem: &Problem, gradient: &[f64]) -> Option<Vec<f64>> {
    let layout = problem.layout();
    let width = layout.width();
    let mut gram = vec![0.0; width * width];
    changed.iter().for_each(|block| block.add_gram(layout, &mut gram));
    for j in 0..width {
        gram[j * width + j] += problem.penalty_of(j).l2;
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
    let v = factor.solve(Mat::from_fn(width, 1, |j, _| gradient[j] * scale[j]));
    let v: Vec<f64> = (0..width).map(|j| v[(j, 0)] * scale[j]).collect();
    v.iter().all(|v| v.is_finite()).then_some(v)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use wstar_problem::objective::Validation;

    use super::*;
    use crate::duality::constraints::Care;
    use crate::duality::{DualPoint, DualityGap, accumulate, conclude};
    use wstar_data::Dense;
    use wstar_data::run::{Budget, Unwatched};
    use wstar_problem::looseness::EXPECTED_GAP_RATIO;
    use wstar_problem::loss::LossName;
    use wstar_problem::objective::Objective;
    use wstar_problem::objective::Weights;
    use wstar_problem::penalty::Penalty;
    use wstar_problem::problem::Intercept;
    use wstar_solve::{Control, Newton, Solver};

    const FEATURES: usize = 3;

    /// Rows of two overlapping classes, with individual weights.
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

    fn problem(loss: LossName, intercept: Intercept) -> Problem {
        let layout = Layout {
            outputs: 1,
            features: FEATURES,
            intercept: intercept != Intercept::Absent,
        };
        Problem::new(loss, Penalty::L2, intercept, layout).unwrap()
    }

    fn optimum(rows: &Rows<'_>, problem: &Problem) -> Vec<f64> {
        let mut objective = Objective::in_memory(*problem, rows.borrowed(), Validation::Done);
        let mut unwatched = Unwatched;
        let mut control = Control::new(1e-14.into(), Budget::default(), &mut unwatched);
        let start = vec![0.0; problem.layout().len()];
        let solution = Newton::default().solve(&mut objective, &start, &mut control);
        solution.unwrap().parameters
    }

    /// The claims before and after the correction.
    fn gaps(rows: &Rows<'_>, problem: &Problem, at: &[f64]) -> [DualityGap; 2] {
        let mut blocks = rows.borrowed();
        let slopes = DualPoint::Slopes;
        let mut gathered = accumulate::gather(&mut blocks, problem, at, &slopes, Care::Rounded).unwrap();
        let claim = |gathered| {
            conclude(
                gathered,
                problem,
                at,
                DualPoint::Slopes,
                1e-6.into(),
                Care::Rounded,
            )
        };
        let before = claim(gathered.clone());
        correct(&mut blocks, problem, at, &mut gathered).unwrap();
        [before, claim(gathered)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn dual_values_are_lower_bounds_and_the_correction_narrows_the_gap(
            seed in any::<u64>(),
            loss in prop::sample::select(vec![LossName::Logistic, LossName::SquaredHinge, LossName::ModifiedHuber]),
            intercept in prop::sample::select(vec![Intercept::Free, Intercept::Penalized, Intercept::Absent]),
            off in prop::sample::select(vec![1e-4, 1e-3, 1e-2, 1.0]),
        ) {
            let n = 40_000;
            let (design, targets, weights) = rows(n, seed);
            let rows = Rows { design: &design, targets: targets.into(), weights: Weights::Each(weights.into()) };
            let problem = problem(loss, intercept);
            let best = optimum(&rows, &problem);
            let least = gaps(&rows, &problem, &best)[0].primal;
            let at: Vec<f64> = best.iter().enumerate().map(|(j, w)| w + off * [1.0, -0.7, 0.4, 0.5][j]).collect();
            let [before, after] = gaps(&rows, &problem, &at);
            let rounding = 1e-12 * least;
            prop_assert!(before.dual <= least + rounding && after.dual <= least + rounding);
            prop_assert_eq!(before.primal, after.primal);
            if off <= 1e-2 {
                let above = before.primal - least;
                prop_assert!(before.gap >= 500.0 * above, "{} {above}", before.gap);
                prop_assert!(after.gap <= 1.5 * EXPECTED_GAP_RATIO * above + rounding, "{} {above}", after.gap);
            }
        }
    }

    #[test]
    fn all_of_few_rows_and_an_even_sample_of_many_are_chosen() {
        let layout = problem(LossName::Logistic, Intercept::Free).layout();
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
