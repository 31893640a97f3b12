//! Solvers of smooth problems: all reach the same optimum, for every storage, every split of the rows and every kind of
//! intercept, and also on ill-conditioned problems. The iterates follow the recurrences of the lectures.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::ops::ControlFlow;
use std::time::Instant;

use crate::common::real_data;
use crate::smooth_sets::{LOSSES, Set, Storage, in_storage, set};
use proptest::prelude::*;
use wstar::data::error::ErrorKind;
use wstar::data::linear::Layout;
use wstar::data::read::{ReadOptions, Source, read};
use wstar::data::run::{Budget, Iteration, Status, Unwatched, Watch};
use wstar::data::{Design, Raw};
use wstar::problem::loss::LossName;
use wstar::problem::objective::{InMemory, Objective, Partitioned, Rows, SumOverRows, Validation, Weights};
use wstar::problem::penalty::Penalty;
use wstar::problem::problem::{Intercept, Problem};
use wstar::solve::learning_rate::Schedule;
use wstar::solve::sgd::Sampling;
use wstar::solve::{Bfgs, Control, GradientDescent, Lbfgs, Newton, NewtonCg, Sgd, Solution, Solver};

fn layout(set: &Set, intercept: Intercept) -> Layout {
    Layout {
        outputs: set.outputs(),
        features: set.features(),
        intercept: intercept != Intercept::Absent,
    }
}

fn objective<'a>(set: &'a Set, design: &'a Design, penalty: Penalty, intercept: Intercept) -> Objective<'a> {
    let problem = Problem::new(set.loss, penalty, intercept, layout(set, intercept)).unwrap();
    Objective::in_memory(problem, set.rows(design), Validation::Done)
}

/// A loss with an L2 penalty and no intercept, over rows of weight 1.
fn without_intercept<'a>(design: &'a Design, targets: &'a [f64], loss: LossName) -> Objective<'a> {
    let rows = Rows {
        design,
        targets: targets.into(),
        weights: Weights::Same(1.0),
    };
    let layout = Layout {
        outputs: 1,
        features: design.features(),
        intercept: false,
    };
    let problem = Problem::new(loss, Penalty::L2, Intercept::Absent, layout).unwrap();
    Objective::in_memory(problem, rows, Validation::Done)
}

fn run(solver: &dyn Solver, objective: &mut Objective<'_>, tol: f64) -> (Solution, f64) {
    let start = vec![0.0; objective.problem.layout().len()];
    let mut watch = Unwatched;
    let mut control = Control::new(tol.into(), Budget::default(), &mut watch);
    let solution = solver.solve(objective, &start, &mut control).unwrap();
    let objective = objective.gradient(&solution.parameters).unwrap().objective;
    (solution, objective)
}

/// Solves in memory, with storage `Dense64`.
fn solve(
    solver: &dyn Solver,
    set: &Set,
    penalty: Penalty,
    intercept: Intercept,
    tol: f64,
) -> (Solution, f64) {
    let design = in_storage(&set.x, Storage::Dense64);
    run(solver, &mut objective(set, &design, penalty, intercept), tol)
}

/// Records every iterate of a run.
#[derive(Default)]
struct Path(Vec<Vec<f64>>);

impl Watch for Path {
    fn iterate(&mut self, iteration: &Iteration<'_>) -> ControlFlow<()> {
        self.0.push(iteration.parameters.to_vec());
        ControlFlow::Continue(())
    }
}

const INTERCEPTS: [Intercept; 3] = [Intercept::Free, Intercept::Penalized, Intercept::Absent];

fn fast() -> [(&'static str, Box<dyn Solver + Sync>); 4] {
    [
        ("newton", Box::new(Newton::default())),
        ("newton-cg", Box::new(NewtonCg::default())),
        ("lbfgs", Box::new(Lbfgs::default())),
        ("bfgs", Box::new(Bfgs::default())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn all_reach_the_same_optimum(
        seed in 0..u64::MAX, loss in 0..4usize, storage in 0..4usize, parts in 0..3usize, intercept in 0..3usize,
        penalised: bool
    ) {
        let (loss, intercept) = (LOSSES[loss], INTERCEPTS[intercept]);
        let set = set(seed, loss, 63, 3);
        let penalty = if penalised { Penalty::L2 } else { Penalty::NONE };
        let (reference, best) = solve(&Newton::default(), &set, penalty, intercept, 1e-13);
        // Without a penalty the problem may have no minimiser.
        prop_assume!(penalised || reference.status != Status::Diverging);
        prop_assert_eq!(reference.status, Status::Converged);

        let size = 63usize.div_ceil([1, 2, 7][parts]);
        let chunks: Vec<Set> = (0..63).step_by(size).map(|from| {
            let to = (from + size).min(63);
            Set {
                loss,
                x: set.x[from..to].to_vec(),
                targets: set.targets[from..to].to_vec(),
                weights: set.weights[from..to].to_vec(),
            }
        }).collect();
        let designs: Vec<Design> = chunks.iter().map(|chunk| in_storage(&chunk.x, Storage::ALL[storage])).collect();
        for (name, solver) in fast() {
            let mut oracles = chunks.iter().zip(&designs).map(|(chunk, design)| {
                Box::new(InMemory::new(chunk.rows(design), loss, layout(&set, intercept))) as Box<dyn SumOverRows>
            });
            let first = oracles.next().unwrap();
            let oracle = Box::new(Partitioned::new(first, oracles.collect()));
            let mut objective = Objective { problem: Problem::new(loss, penalty, intercept, layout(&set, intercept)).unwrap(), rows: None, sums: oracle };
            let (solution, objective) = run(&*solver, &mut objective, 1e-12);
            prop_assert_eq!(solution.status, Status::Converged, "{}", name);
            let apart = (objective - best).abs() / best.max(1.0);
            prop_assert!(apart <= 1.5e-12, "{}: {} against {}", name, objective, best);
        }
        if penalised || loss == LossName::Squared {
            let (solution, objective) = solve(&GradientDescent::default(), &set, penalty, intercept, 1e-9);
            prop_assert_eq!(solution.status, Status::Converged);
            prop_assert!(objective - best <= 1.1e-9 * best.max(1.0), "{} against {}", objective, best);
        }
    }

    #[test]
    fn the_sigmoid_error_ends_where_it_is_stationary(seed in 0..u64::MAX, intercept in 0..3usize) {
        let set = set(seed, LossName::SigmoidMse, 60, 3);
        let design = in_storage(&set.x, Storage::Dense64);
        for (name, solver) in fast() {
            let mut objective = objective(&set, &design, Penalty::L2, INTERCEPTS[intercept]);
            let (solution, value) = run(&*solver, &mut objective, 1e-12);
            prop_assert_eq!(solution.status, Status::Converged, "{}", name);
            let evaluated = objective.gradient(&solution.parameters).unwrap();
            let slopes = objective.full_gradient(&solution.parameters, &evaluated);
            prop_assert!(slopes.iter().all(|slope| slope.abs() < 1e-4), "{}: {:?}", name, slopes);
            let at_zero = objective.gradient(&vec![0.0; slopes.len()]).unwrap().objective;
            prop_assert!(value <= at_zero);
        }
    }

    #[test]
    fn weights_count_like_copies(seed in 0..u64::MAX, loss in 0..4usize, double in 0..30usize, without in 30..60usize) {
        let mut weighted = set(seed, LOSSES[loss], 60, 3);
        let mut copied = weighted.clone();
        weighted.weights[double] *= 2.0;
        weighted.weights[without] = 0.0;
        for list in [&mut copied.targets, &mut copied.weights] {
            list.push(list[double]);
            list.remove(without);
        }
        copied.x.push(copied.x[double].clone());
        copied.x.remove(without);
        for (name, solver) in fast() {
            let [a, b] = [&weighted, &copied].map(|set| solve(&*solver, set, Penalty::L2, Intercept::Free, 1e-13));
            prop_assert_eq!(a.0.status, Status::Converged);
            prop_assert!((a.1 - b.1).abs() <= 1e-12 * b.1.max(1.0), "{}", name);
            let within = if name == "newton" { 1e-12 } else { 1e-6 };
            for (a, b) in a.0.parameters.iter().zip(&b.0.parameters) {
                prop_assert!((a - b).abs() <= within, "{}: {} against {}", name, a, b);
            }
        }
    }
}

/// Ill-conditioned sets on which simple methods fail, with their names.
fn hard(seed: u64, loss: LossName) -> Vec<(&'static str, Set)> {
    let wide = |set: &mut Set| {
        for x in &mut set.x {
            x.iter_mut()
                .enumerate()
                .for_each(|(j, x)| *x *= 10f64.powf(j as f64 * 12.0 / 7.0 - 6.0));
        }
    };
    let plain = set(seed, loss, 200, 8);
    let mut scaled = plain.clone();
    wide(&mut scaled);
    let mut duplicate = plain.clone();
    duplicate.x.iter_mut().for_each(|x| x[3] = x[1]);
    let mut constant = plain.clone();
    constant.x.iter_mut().for_each(|x| x[2] = 1000.0);
    let mut collinear = plain.clone();
    collinear
        .x
        .iter_mut()
        .for_each(|x| x[4] = x[0] - x[5] + 1e-7 * x[4]);
    let mut weighted = plain.clone();
    let weights = weighted.weights.iter_mut().enumerate();
    weights.for_each(|(i, weight)| *weight = 10f64.powf((i * 37 % 101) as f64 / 10.0 - 5.0));
    let mut all = weighted.clone();
    all.x.iter_mut().for_each(|x| (x[3], x[2]) = (x[1], 1000.0));
    wide(&mut all);
    vec![
        ("columns of 1e-6 to 1e6", scaled),
        ("duplicate columns", duplicate),
        ("a constant column", constant),
        ("nearly collinear columns", collinear),
        ("fewer rows than columns", set(seed, loss, 20, 50)),
        ("weights over ten orders", weighted),
        ("all at once", all),
    ]
}

#[test]
fn ill_conditioned_problems_are_solved() {
    for (seed, loss) in (0..3).flat_map(|seed| LOSSES[..4].iter().map(move |loss| (seed, loss))) {
        for (what, set) in hard(seed, *loss) {
            let (reference, best) = solve(&Newton::default(), &set, Penalty::L2, Intercept::Free, 1e-9);
            assert_eq!(
                reference.status,
                Status::Converged,
                "{loss:?}, {what}: newton to 1e-9"
            );
            for (name, solver) in &fast()[..3] {
                let (solution, objective) = solve(&**solver, &set, Penalty::L2, Intercept::Free, 1e-6);
                assert_eq!(solution.status, Status::Converged, "{loss:?}, {what}: {name}");
                assert!(
                    objective - best <= 1e-6 * best.max(1.0),
                    "{loss:?}, {what}: {name}"
                );
                assert!(
                    objective - best >= -1e-9 * best.max(1.0),
                    "{loss:?}, {what}: {name}"
                );
            }
        }
    }
}

#[test]
fn without_a_penalty_dependent_columns_are_no_obstacle() {
    for loss in &LOSSES[..4] {
        for (what, set) in &hard(5, *loss)[..3] {
            let plain = Set {
                x: set
                    .x
                    .iter()
                    .map(|x| match *what {
                        "columns of 1e-6 to 1e6" => x
                            .iter()
                            .enumerate()
                            .map(|(j, x)| x / 10f64.powf(j as f64 * 12.0 / 7.0 - 6.0))
                            .collect(),
                        "duplicate columns" => x
                            .iter()
                            .enumerate()
                            .map(|(j, x)| if j == 3 { 0.0 } else { *x })
                            .collect(),
                        _ => x
                            .iter()
                            .enumerate()
                            .map(|(j, x)| if j == 2 { 0.0 } else { *x })
                            .collect(),
                    })
                    .collect(),
                ..set.clone()
            };
            let (_, best) = solve(&Newton::default(), &plain, Penalty::NONE, Intercept::Free, 1e-12);
            for (name, solver) in &fast()[..3] {
                let (solution, objective) = solve(&**solver, set, Penalty::NONE, Intercept::Free, 1e-6);
                assert_eq!(solution.status, Status::Converged, "{loss:?}, {what}: {name}");
                assert!(
                    (objective - best).abs() <= 2e-6 * best.max(1.0),
                    "{loss:?}, {what}: {name} {objective} {best}"
                );
            }
        }
    }
}

#[test]
fn separable_classes_have_no_unpenalised_optimum() {
    for loss in [LossName::Logistic, LossName::Softmax, LossName::SigmoidMse] {
        let mut set = set(2, loss, 30, 2);
        for (i, x) in set.x.iter_mut().enumerate() {
            let class = i % 3;
            *x = vec![
                f64::from(u8::from(class == 1)) * 4.0 + x[0] / 4.0,
                f64::from(u8::from(class == 2)) * 4.0 + x[1] / 4.0,
            ];
            set.targets[i] = if loss == LossName::Softmax {
                class as f64
            } else if class == 0 {
                -1.0
            } else {
                1.0
            };
        }
        for (name, solver) in fast() {
            let (solution, _) = solve(&*solver, &set, Penalty::NONE, Intercept::Free, 1e-12);
            assert_eq!(solution.status, Status::Diverging, "{loss:?}: {name}");
            let (solution, _) = solve(&*solver, &set, Penalty::L2, Intercept::Free, 1e-9);
            assert_eq!(solution.status, Status::Converged, "{loss:?}: {name}");
        }
    }
}

#[test]
fn least_squares_take_one_newton_step() {
    let set = set(9, LossName::Squared, 50, 4);
    for penalty in [Penalty::L2, Penalty::NONE] {
        let (solution, _) = solve(&Newton::default(), &set, penalty, Intercept::Free, 1e-12);
        assert_eq!((solution.status, solution.iterations), (Status::Converged, 1));
    }
}

/// A set with one feature, its regression slope and intercept, and its slope through the origin.
fn one_feature() -> (Set, f64, f64, f64) {
    let mut set = set(4, LossName::Squared, 20, 1);
    set.weights.fill(1.0);
    let n = 20.0;
    let x: Vec<f64> = set.x.iter().map(|x| x[0]).collect();
    let (mx, my) = (x.iter().sum::<f64>() / n, set.targets.iter().sum::<f64>() / n);
    let sxy: f64 = x.iter().zip(&set.targets).map(|(x, y)| (x - mx) * (y - my)).sum();
    let sxx: f64 = x.iter().map(|x| (x - mx) * (x - mx)).sum();
    let through_origin =
        x.iter().zip(&set.targets).map(|(x, y)| x * y).sum::<f64>() / x.iter().map(|x| x * x).sum::<f64>();
    (set, sxy / sxx, my - sxy / sxx * mx, through_origin)
}

#[test]
fn one_feature_gives_the_closed_form() {
    let (set, slope, intercept, through_origin) = one_feature();
    let fixed = GradientDescent {
        learning_rate: Some(0.3),
        ..Default::default()
    };
    let solvers: [(&str, &dyn Solver); 3] = [
        ("bfgs", &Bfgs::default()),
        ("backtracking", &GradientDescent::default()),
        ("fixed", &fixed),
    ];
    for (name, solver) in solvers {
        let (solution, _) = solve(solver, &set, Penalty::NONE, Intercept::Free, 1e-15);
        assert!(
            (solution.parameters[0] - slope).abs() < 1e-7,
            "{name}: {:?} {slope}",
            solution
        );
        assert!((solution.parameters[1] - intercept).abs() < 1e-7, "{name}");
        let (solution, _) = solve(solver, &set, Penalty::NONE, Intercept::Absent, 1e-15);
        assert!((solution.parameters[0] - through_origin).abs() < 1e-7, "{name}");
    }
}

/// θₖ₊₁ = θₖ − aₖ ∇f(θₖ) + β (θₖ − θₖ₋₁) for one feature without an intercept, l2 = 1, in scalar arithmetic.
fn recurrence(set: &Set, rates: &[f64], momentum: f64) -> Vec<f64> {
    let total: f64 = set.weights.iter().sum();
    let (mut now, mut before) = (0.0, 0.0);
    let step = |rate: &f64| {
        let rows = set.x.iter().zip(&set.targets).zip(&set.weights);
        let product: f64 = rows.map(|((x, y), c)| c * (now * x[0] - y) * x[0]).sum();
        let next = now - rate * (product + now) / total + momentum * (now - before);
        before = now;
        now = next;
        next
    };
    rates.iter().map(step).collect()
}

#[test]
fn momentum_and_the_halving_schedule_are_those_of_the_lecture() {
    let set = set(8, LossName::Squared, 30, 1);
    let design = in_storage(&set.x, Storage::Dense64);
    // Rate α for n steps, α/2 for 2n steps, α/4 for 4n steps.
    let rates = [vec![0.4; 3], vec![0.2; 6], vec![0.1; 12], vec![0.05; 4]].concat();
    for (schedule, rates) in [
        (Schedule::Halving { first: 3 }, rates),
        (Schedule::Constant, vec![0.4; 25]),
        (
            Schedule::Inverse,
            (1..=25).map(|t| 0.4 * (1.0 / f64::from(t))).collect(),
        ),
    ] {
        for momentum in [0.0, 0.7] {
            let expected = recurrence(&set, &rates, momentum);
            let mut objective = objective(&set, &design, Penalty::L2, Intercept::Absent);

            let descent = GradientDescent {
                learning_rate: Some(0.4),
                schedule,
                momentum,
                max_iterations: 25,
            };
            let mut path = Path::default();
            let mut control = Control::new(0.0.into(), Budget::default(), &mut path);
            descent.solve(&mut objective, &[0.0], &mut control).unwrap();
            assert_eq!(path.0.len(), 25);
            for (reached, expected) in path.0.iter().zip(&expected) {
                assert!((reached[0] - expected).abs() <= 1e-14, "{schedule:?}, {momentum}");
            }

            let sgd = Sgd {
                learning_rate: Some(0.4),
                schedule: Some(schedule),
                momentum,
                batch: 30,
                sampling: Sampling::InOrder,
                ..Default::default()
            };
            let mut walk = sgd.walk(&objective, &[0.0]).unwrap();
            assert_eq!(walk.steps_an_epoch(), 1);
            for (expected, rate) in expected.iter().zip(&rates) {
                assert_eq!(walk.rate(), *rate);
                walk.step();
                assert!(
                    (walk.parameters()[0] - expected).abs() <= 1e-14,
                    "{schedule:?}, {momentum}"
                );
            }
        }
    }
}

#[test]
fn a_rate_too_large_diverges_and_gives_the_best_point_seen() {
    let set = set(8, LossName::Squared, 30, 2);
    for momentum in [0.0, 0.9] {
        let descent = GradientDescent {
            learning_rate: Some(50.0),
            momentum,
            ..Default::default()
        };
        let (solution, objective) = solve(&descent, &set, Penalty::L2, Intercept::Free, 1e-6);
        assert_eq!(solution.status, Status::Diverging);
        let (_, zero) = solve(
            &GradientDescent {
                max_iterations: 0,
                ..descent
            },
            &set,
            Penalty::L2,
            Intercept::Free,
            1e-6,
        );
        assert!(objective <= zero && solution.parameters.iter().all(|w| w.is_finite()));
    }
}

#[test]
fn stochastic_steps_approach_the_optimum() {
    for loss in &LOSSES[..4] {
        let set = set(12, *loss, 300, 3);
        for intercept in INTERCEPTS {
            let (_, best) = solve(&Newton::default(), &set, Penalty::L2, intercept, 1e-10);
            for (batch, sampling, momentum) in [
                (1, Sampling::Shuffled, 0.0),
                (10, Sampling::Shuffled, 0.5),
                (7, Sampling::WithReplacement, 0.0),
                (4, Sampling::InOrder, 0.0),
            ] {
                let sgd = Sgd {
                    batch,
                    sampling,
                    momentum,
                    ..Default::default()
                };
                let mut objectives = Vec::new();
                for storage in [Storage::Dense64, Storage::Sparse32] {
                    let design = in_storage(&set.x, storage);
                    let (_, objective) =
                        run(&sgd, &mut objective(&set, &design, Penalty::L2, intercept), 1e-9);
                    assert!(objective >= best * (1.0 - 1e-9));
                    assert!(
                        objective <= best * 1.01,
                        "{loss:?} {sgd:?}: {objective} against {best}"
                    );
                    objectives.push(objective);
                }
                assert!(
                    (objectives[0] / objectives[1] - 1.0).abs() < 1e-9,
                    "storage changes nothing"
                );
            }
        }
    }
}

/// The minimum of a convex function of one variable, by ternary search.
fn least(f: impl Fn(f64) -> f64) -> f64 {
    let (mut a, mut b) = (-50.0, 50.0);
    for _ in 0..300 {
        let (c, d) = (a + (b - a) / 3.0, b - (b - a) / 3.0);
        if f(c) < f(d) { b = d } else { a = c }
    }
    f(a)
}

#[test]
fn stochastic_steps_minimise_nonsmooth_losses() {
    for loss in [
        LossName::Hinge,
        LossName::Absolute,
        LossName::Squared,
        LossName::Logistic,
    ] {
        for penalty in [Penalty::L2, Penalty::L1, Penalty { l1: 0.5, l2: 0.5 }] {
            let set = set(13, loss, 200, 1);
            let value = |w: f64| {
                let rows = set.x.iter().zip(&set.targets).zip(&set.weights);
                let each = rows.map(|((x, y), c)| {
                    let z = w * x[0];
                    c * match loss {
                        LossName::Hinge => (1.0 - y * z).max(0.0),
                        LossName::Absolute => (y - z).abs(),
                        LossName::Squared => 0.5 * (y - z) * (y - z),
                        _ => (-y * z).exp().ln_1p(),
                    }
                });
                each.sum::<f64>() + penalty.of(w)
            };
            let best = least(value);
            for momentum in [0.0, 0.5] {
                let sgd = Sgd {
                    momentum,
                    ..Default::default()
                };
                let (solution, objective) = solve(&sgd, &set, penalty, Intercept::Absent, 1e-9);
                assert!((objective - value(solution.parameters[0])).abs() <= 1e-12 * objective);
                assert!(
                    objective <= best * 1.005,
                    "{loss:?} {penalty:?}: {objective} against {best}"
                );
            }
        }
    }
}

#[test]
fn a_shrinkage_factor_of_zero_is_applied_to_the_weights() {
    // The rate Σc/l2 makes the shrinkage factor 0; half this rate halves the weights in each step. In both cases the
    // accumulated factor must be multiplied into the stored weights.
    let mut set = set(14, LossName::Squared, 40, 1);
    set.x.iter_mut().for_each(|x| x[0] *= 0.01);
    let design = in_storage(&set.x, Storage::Dense64);
    let total: f64 = set.weights.iter().sum();
    let objective = objective(&set, &design, Penalty::L2, Intercept::Absent);
    for share in [1.0, 0.5] {
        let sgd = Sgd {
            learning_rate: Some(share * total),
            batch: 40,
            sampling: Sampling::InOrder,
            ..Default::default()
        };
        let expected = recurrence(&set, &vec![share * total; 1000], 0.0);
        let mut walk = sgd.walk(&objective, &[0.0]).unwrap();
        for expected in expected {
            walk.step();
            assert!((walk.parameters()[0] - expected).abs() <= 1e-12 * expected.abs().max(1e-3));
        }
    }
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    for loss in LOSSES {
        let set = set(15, loss, 6000, 5);
        for (name, solver) in fast() {
            let solved = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .unwrap();
                pool.install(|| solve(&*solver, &set, Penalty::L2, Intercept::Free, 1e-8).0)
            };
            let one = solved(1);
            assert_eq!(one.status, Status::Converged);
            assert_eq!(one, solved(5), "{loss:?}: {name}");
        }
    }
}

#[test]
fn limits_and_watchers_end_a_run() {
    let set = set(16, LossName::Logistic, 100, 4);
    let design = in_storage(&set.x, Storage::Dense64);
    let mut objective = objective(&set, &design, Penalty::L2, Intercept::Free);
    let mut path = Path::default();
    let budget = Budget {
        max_updates: Some(2),
        ..Default::default()
    };
    let mut control = Control::new(1e-12.into(), budget, &mut path);
    let solution = Newton::default()
        .solve(&mut objective, &[0.0; 5], &mut control)
        .unwrap();
    assert_eq!(
        (solution.status, solution.iterations, path.0.len()),
        (Status::IterationLimit, 2, 2)
    );

    struct Stop;
    impl Watch for Stop {
        fn iterate(&mut self, _: &Iteration<'_>) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    for (name, solver) in fast() {
        let mut watch = Stop;
        let mut control = Control::new(1e-12.into(), Budget::default(), &mut watch);
        let solution = solver.solve(&mut objective, &[0.0; 5], &mut control).unwrap();
        assert_eq!(
            (solution.status, solution.iterations),
            (Status::Stopped, 1),
            "{name}"
        );
    }

    // A solver that starts at the optimum converges without an iteration.
    let (reference, _) = run(&Newton::default(), &mut objective, 1e-13);
    for (name, solver) in fast() {
        let mut watch = Unwatched;
        let mut control = Control::new(1e-9.into(), Budget::default(), &mut watch);
        let solution = solver
            .solve(&mut objective, &reference.parameters, &mut control)
            .unwrap();
        assert_eq!(
            (solution.status, solution.iterations),
            (Status::Converged, 0),
            "{name}"
        );
        assert_eq!(solution.parameters, reference.parameters);
    }
}

#[test]
fn unsupported_problems_are_refused() {
    let hinge = set(1, LossName::Hinge, 10, 2);
    let design = in_storage(&hinge.x, Storage::Dense64);
    let kinked = objective(&hinge, &design, Penalty::L2, Intercept::Free);
    let logistic = set(1, LossName::Logistic, 10, 2);
    let mut lasso = objective(&logistic, &design, Penalty::L1, Intercept::Free);
    for (name, solver) in fast() {
        for objective in [&kinked, &lasso] {
            let error = solver.check(objective).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Settings);
            assert!(error.to_string().contains(name), "{error}");
        }
    }
    assert!(Sgd::default().check(&kinked).is_ok() && Sgd::default().check(&lasso).is_ok());
    lasso.rows = None;
    assert!(Sgd::default().check(&lasso).is_err(), "no rows in memory");
    lasso.rows = Some(logistic.rows(&design));
    for sgd in [
        Sgd {
            batch: 0,
            ..Default::default()
        },
        Sgd {
            learning_rate: Some(-1.0),
            ..Default::default()
        },
        Sgd {
            learning_rate: Some(f64::NAN),
            ..Default::default()
        },
        Sgd {
            momentum: 1.0,
            ..Default::default()
        },
    ] {
        assert!(sgd.check(&lasso).is_err(), "{sgd:?}");
    }
    let wide = Set {
        x: vec![vec![1.0; 5001]; 2],
        targets: vec![1.0, -1.0],
        weights: vec![1.0; 2],
        loss: LossName::Logistic,
    };
    let design = in_storage(&wide.x, Storage::Dense64);
    let objective = objective(&wide, &design, Penalty::L2, Intercept::Absent);
    for solver in [&Newton::default() as &dyn Solver, &Bfgs::default()] {
        let error = solver.check(&objective).unwrap_err().to_string();
        assert!(error.contains("5001") && error.contains("lbfgs"), "{error}");
    }
}

/// Real data with targets −1 and +1.
fn real(name: &str, positive: f64) -> Option<(Design, Vec<f64>)> {
    let path = real_data(name)?;
    let Raw::Matrix(matrix) = read(&Source::Path(path), &ReadOptions::default()).unwrap() else {
        panic!("a matrix was expected");
    };
    let labels = matrix.labels.unwrap().into_iter();
    let targets = labels
        .map(|label| if label == positive { 1.0 } else { -1.0 })
        .collect();
    Some((matrix.design, targets))
}

fn reaches_known_optima(
    name: &str,
    positive: f64,
    known: [(LossName, f64); 2],
    solvers: &[(&'static str, Box<dyn Solver + Sync>)],
) {
    let Some((design, targets)) = real(name, positive) else {
        return;
    };
    for (loss, optimum) in known {
        for (solver_name, solver) in solvers {
            for tol in [1e-6, 1e-9] {
                let mut objective = without_intercept(&design, &targets, loss);
                let start = Instant::now();
                let mut watch = Unwatched;
                let mut control = Control::new(tol.into(), Budget::default(), &mut watch);
                let zero = vec![0.0; objective.problem.layout().len()];
                let solution = solver.solve(&mut objective, &zero, &mut control).unwrap();
                let seconds = start.elapsed().as_secs_f64();
                let passes = objective.sums.passes();
                let evaluated = objective.gradient(&solution.parameters).unwrap();
                let gap = objective.gap(&solution.parameters, &evaluated) / evaluated.objective;
                println!(
                    "{name} {} {solver_name} to {tol:e}: {:?}, {} steps, {passes} passes, {seconds:.2} s, gap {gap:.1e}, {:.8}",
                    loss.name(),
                    solution.status,
                    solution.iterations,
                    evaluated.objective
                );
                assert_eq!(solution.status, Status::Converged);
                // The reference optima are known to about ten digits.
                assert!((evaluated.objective - optimum) / optimum <= tol + 1e-10);
                assert!((evaluated.objective - optimum) / optimum >= -1e-9);
            }
        }
    }
}

#[test]
fn a9a_reaches_its_known_optima() {
    let known = [
        (LossName::Logistic, 10529.56258464),
        (LossName::SquaredHinge, 13742.39730438),
    ];
    reaches_known_optima("a9a/a9a", 1.0, known, &fast());
}

#[test]
#[ignore = "half a million rows: minutes"]
fn covtype_reaches_its_known_optima() {
    let known = [
        (LossName::Logistic, 298550.71835070),
        (LossName::SquaredHinge, 403423.63037646),
    ];
    reaches_known_optima("covtype/covtype.binary.scale.svm.gz", 1.0, known, &fast());
}

#[test]
fn text_reaches_its_known_optima() {
    let known = [
        (LossName::Logistic, 1410.39255533),
        (LossName::SquaredHinge, 309.27728063),
    ];
    reaches_known_optima("20news/20news_tfidf.train.svm.gz", 1.0, known, &fast()[1..3]);
}

#[test]
fn gradient_descent_approaches_the_optimum_on_a9a() {
    let Some((design, targets)) = real("a9a/a9a", 1.0) else {
        return;
    };
    let descents: [(&str, &dyn Solver, f64); 3] = [
        (
            "gradient-descent",
            &GradientDescent {
                max_iterations: 300,
                ..Default::default()
            },
            1e-2,
        ),
        (
            "sgd",
            &Sgd {
                epochs: 30,
                ..Default::default()
            },
            1e-3,
        ),
        (
            "sgd, batches of 32",
            &Sgd {
                epochs: 30,
                batch: 32,
                momentum: 0.9,
                ..Default::default()
            },
            1e-2,
        ),
    ];
    for (name, solver, within) in descents {
        let mut objective = without_intercept(&design, &targets, LossName::Logistic);
        let start = Instant::now();
        let (solution, objective) = run(solver, &mut objective, 1e-6);
        let apart = objective / 10529.56258464 - 1.0;
        println!(
            "a9a logistic {name}: {:?}, {} steps, {:.2} s, {apart:.1e} above",
            solution.status,
            solution.iterations,
            start.elapsed().as_secs_f64()
        );
        assert!((-1e-9..within).contains(&apart), "{name}: {apart}");
    }
}

#[test]
#[ignore = "MNIST in full: minutes"]
fn mnist_softmax_reaches_its_known_optimum() {
    let (Some(images), Some(labels)) = (
        real_data("mnist/train-images-idx3-ubyte.gz"),
        real_data("mnist/train-labels-idx1-ubyte.gz"),
    ) else {
        return;
    };
    let options = ReadOptions {
        labels: Some(labels),
        ..Default::default()
    };
    let Raw::Matrix(mnist) = read(&Source::Path(images), &options).unwrap() else {
        panic!("a matrix was expected");
    };
    let mut values = Vec::new();
    for row in mnist.design.iter() {
        values.extend(row.to_dense(784).iter().map(|v| v / 255.0));
    }
    let design = Design::from_dense(values, mnist.design.rows(), 784).unwrap();
    let targets = mnist.labels.unwrap();
    let layout = Layout {
        outputs: 10,
        features: 784,
        intercept: true,
    };
    for (name, solver) in &fast()[1..3] {
        let rows = Rows {
            design: &design,
            targets: (&targets).into(),
            weights: Weights::Same(0.01),
        };
        let mut objective = Objective {
            problem: Problem::new(LossName::Softmax, Penalty::L2, Intercept::Free, layout).unwrap(),
            rows: None,
            sums: Box::new(InMemory::new(rows, LossName::Softmax, layout)),
        };
        let start = Instant::now();
        let (solution, value) = run(&**solver, &mut objective, 1e-6);
        println!(
            "mnist softmax {name}: {:?}, {} steps, {} passes, {:.1} s, {value:.8}",
            solution.status,
            solution.iterations,
            objective.sums.passes(),
            start.elapsed().as_secs_f64()
        );
        assert_eq!(solution.status, Status::Converged);
        assert!((-1e-9..1e-6).contains(&(value / 218.5073303466 - 1.0)));
    }
}
