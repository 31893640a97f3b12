//! The interior-point method, mainly for hinge and absolute loss: the optimum of a general solver, feasible dual
//! points, and the known optima of published sets.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::time::Instant;

use crate::kinked_sets::{Case, INTERCEPTS, PENALTIES, Seen, published};
use proptest::prelude::*;
use wstar::data::Design;
use wstar::data::run::{Budget, Status};
use wstar::problem::loss::LossName;
use wstar::solve::{Control, InteriorPoint, Solver};

const LOSSES: [LossName; 2] = [LossName::Hinge, LossName::Absolute];

/// Solves, and checks the gap from the data alone and the optimum against that of a general solver.
fn check(case: &Case, tol: f64) {
    let context = format!("{:?} {:?} {:?}", case.loss, case.penalty, case.intercept);
    let mut seen = Seen::default();
    let mut solution = case.watched(&InteriorPoint::default(), tol, &mut seen);
    if solution.status != Status::Converged {
        // If double precision does not suffice, the solver reports it, and the method in double-double follows, as in a
        // fit.
        solution = case.watched(&InteriorPoint::extended(), tol, &mut seen);
    }
    assert_eq!(solution.status, Status::Converged, "{context}: {:?}", seen.gaps);
    let gap = case.gap(&solution);
    assert!(
        gap <= 2.0 * tol,
        "{context}: {gap:e} is not {tol:e}: {:?}",
        seen.gaps
    );
    let (objective, reference) = (case.value(&solution.parameters), case.reference());
    assert!(
        objective - reference <= 2.0 * tol * reference.abs().max(1.0),
        "{context}: {objective} against {reference}"
    );
}

#[test]
fn every_penalty_and_intercept_agrees_with_the_general_solver() {
    for loss in LOSSES {
        for penalty in PENALTIES {
            for intercept in INTERCEPTS {
                let mut case = Case::random(7, 60, 4, loss);
                (case.penalty, case.intercept) = (penalty, intercept);
                check(&case, 1e-9);
                // Weights over six orders of magnitude, some of them 0.
                for (i, weight) in case.weights.iter_mut().enumerate() {
                    *weight = if i % 7 == 3 {
                        0.0
                    } else {
                        10f64.powi(i as i32 % 7 - 3)
                    };
                }
                check(&case, 1e-9);
            }
        }
    }
}

/// Solves, and checks the gap from the data alone. The dual point proves the optimum, because these problems have too
/// many rows for a general solver.
fn proved(case: &Case, tol: f64) {
    let solution = case.solve(&InteriorPoint::default(), tol);
    assert_eq!(solution.status, Status::Converged, "{:?}", case.intercept);
    let gap = case.gap(&solution);
    assert!(gap <= tol, "{:?}: {gap:e}", case.intercept);
}

/// So many rows that only those near the margin are solved.
#[test]
fn many_rows() {
    for (seed, intercept) in (30..).zip(INTERCEPTS) {
        let mut case = Case::random(seed, 20_000, 4, LossName::Hinge);
        (case.penalty, case.intercept) = (PENALTIES[0], intercept);
        proved(&case, 1e-8);
        // A column that is nonzero in a few rows, so a sample may miss it; weights over four orders of magnitude.
        let mut rows: Vec<Vec<f64>> = case.design.iter().map(|row| row.to_dense(4)).collect();
        for (i, row) in rows.iter_mut().enumerate() {
            row[3] = if i % 3000 == 17 { 5.0 } else { 0.0 };
        }
        case.design = Design::from_rows(&rows).unwrap();
        for (i, weight) in case.weights.iter_mut().enumerate() {
            *weight = 10f64.powi(i as i32 % 5 - 2);
        }
        proved(&case, 1e-8);
    }
}

/// A fit that stops early, on a sample, on the band or elsewhere, has multipliers for all rows or none.
#[test]
fn many_rows_and_little_time() {
    let case = Case::random(33, 20_000, 4, LossName::Hinge);
    for most in [1, 3, 8, 20, 30] {
        let mut seen = Seen::default();
        let mut control = Control::new(1e-8.into(), Budget::default(), &mut seen);
        control.max_iterations = most;
        let solution = InteriorPoint::default()
            .solve(
                &mut case.objective(),
                &vec![0.0; case.layout().len()],
                &mut control,
            )
            .unwrap();
        assert!(control.iterations() <= most);
        assert!(solution.dual.is_none_or(|dual| dual.len() == 20_000), "{most}");
    }
}

#[test]
fn every_loss_in_both_arithmetics() {
    let losses = [
        LossName::Hinge,
        LossName::Absolute,
        LossName::SquaredHinge,
        LossName::Squared,
    ];
    for (loss, intercept) in losses.into_iter().zip([0, 1, 2, 0]) {
        for penalty in &PENALTIES[..3] {
            let mut case = Case::random(11, 40, 5, loss);
            (case.penalty, case.intercept) = (*penalty, INTERCEPTS[intercept]);
            for (i, weight) in case.weights.iter_mut().enumerate() {
                *weight = 10f64.powi(i as i32 % 11 - 5);
            }
            let double = case.solve(&InteriorPoint::default(), 1e-8);
            let extended = case.solve(&InteriorPoint::extended(), 1e-10);
            for (solution, tol) in [(&double, 1e-8), (&extended, 1e-10)] {
                assert_eq!(solution.status, Status::Converged, "{loss:?} {penalty:?}");
                let gap = case.gap(solution);
                assert!(gap <= 2.0 * tol, "{loss:?} {penalty:?}: {gap:e}");
            }
        }
    }
}

/// Logistic loss with an ℓ1 penalty: the optimum of coordinate descent, with the same zeros.
#[test]
fn smooth_losses_under_l1() {
    use wstar::solve::CoordinateDescent;
    for penalty in &PENALTIES[1..3] {
        for intercept in INTERCEPTS {
            let mut case = Case::random(13, 80, 12, LossName::Logistic);
            case.targets.iter_mut().for_each(|y| *y = y.signum());
            (case.penalty, case.intercept) = (*penalty, intercept);
            let one = case.solve(&InteriorPoint::default(), 1e-9);
            let other = case.solve(&CoordinateDescent::default(), 1e-9);
            assert_eq!(one.status, Status::Converged);
            let (a, b) = (case.value(&one.parameters), case.value(&other.parameters));
            assert!((a - b).abs() <= 2e-9 * b.max(1.0), "{a} {b}");
            let zeros = |w: &[f64]| w.iter().map(|w| *w == 0.0).collect::<Vec<_>>();
            assert_eq!(zeros(&one.parameters), zeros(&other.parameters));
        }
    }
}

#[test]
fn every_storage_reaches_the_same_optimum() {
    for loss in LOSSES {
        for penalty in PENALTIES {
            let mut case = Case::random(11, 80, 5, loss);
            case.penalty = penalty;
            let cases = case.storages();
            let found: Vec<f64> = cases
                .iter()
                .map(|case| case.value(&case.solve(&InteriorPoint::default(), 1e-9).parameters))
                .collect();
            check(&cases[0], 1e-9);
            for objective in &found {
                assert!(
                    (objective - found[0]).abs() <= 2e-9 * found[0].max(1.0),
                    "{found:?}"
                );
            }
        }
    }
}

#[test]
fn from_a_small_c_to_a_large_one() {
    for loss in LOSSES {
        for penalty in [PENALTIES[0], PENALTIES[1], PENALTIES[2]] {
            for intercept in INTERCEPTS {
                for c in [1e-3, 0.1, 10.0, 1e3, 1e6] {
                    let mut case = Case::random(3, 80, 5, loss);
                    (case.penalty, case.intercept) = (penalty, intercept);
                    case.weights.fill(c);
                    check(&case, 1e-8);
                }
            }
        }
    }
}

#[test]
fn columns_of_any_size() {
    for loss in LOSSES {
        for penalty in PENALTIES {
            let mut case = Case::random(5, 100, 5, loss).scaled(&[1e-4, 1.0, 1e4, 30.0, 1e-2]);
            case.penalty = penalty;
            case.weights.fill(10.0);
            check(&case, 1e-8);
        }
    }
}

/// A problem whose labels are given by a hyperplane.
fn separable(seed: u64, rows: usize, features: usize) -> Case {
    let mut case = Case::random(seed, rows, features, LossName::Absolute);
    case.loss = LossName::Hinge;
    let labels: Vec<f64> = case
        .design
        .iter()
        .map(|x| {
            let x = x.to_dense(features);
            (x[0] - 0.5 * x[1] + 0.3).signum()
        })
        .collect();
    case.targets = labels;
    case
}

#[test]
fn separable_classes() {
    for penalty in PENALTIES {
        for intercept in INTERCEPTS {
            for c in [1.0, 1e3, 1e6] {
                let mut case = separable(9, 100, 3);
                (case.penalty, case.intercept) = (penalty, intercept);
                case.weights.fill(c);
                check(&case, 1e-8);
            }
        }
    }
}

#[test]
fn more_columns_than_rows() {
    for loss in LOSSES {
        for penalty in PENALTIES {
            for intercept in INTERCEPTS {
                let mut case = Case::random(13, 12, 30, loss);
                (case.penalty, case.intercept) = (penalty, intercept);
                check(&case, 1e-8);
            }
        }
    }
}

#[test]
fn rows_and_columns_twice_and_constant_columns() {
    for loss in LOSSES {
        for penalty in PENALTIES {
            for intercept in INTERCEPTS {
                let base = Case::random(17, 40, 3, loss);
                let twice = |x: &[f64]| vec![x[0], x[1], x[2], x[0], 1.0, 0.0];
                let values: Vec<f64> = base
                    .design
                    .iter()
                    .chain(base.design.iter())
                    .flat_map(|row| twice(&row.to_dense(3)))
                    .collect();
                let mut case = base.clone();
                case.design = wstar::data::Design::Dense64(wstar::data::Dense::new(values, 80, 6).unwrap());
                case.targets.extend_from_slice(&base.targets);
                case.weights = vec![1.0; 80];
                (case.penalty, case.intercept) = (penalty, intercept);
                check(&case, 1e-8);
            }
        }
    }
}

#[test]
fn a_weight_of_two_is_the_row_twice_and_a_weight_of_zero_no_row() {
    for loss in LOSSES {
        let case = Case::random(19, 40, 3, loss);
        let mut weighted = case.clone();
        weighted.weights[4] = 2.0;
        weighted.weights[9] = 0.0;
        let order: Vec<usize> = (0..40).filter(|&i| i != 9).chain([4]).collect();
        let mut listed = case.clone();
        let values: Vec<f64> = order
            .iter()
            .flat_map(|&i| case.design.row(i).to_dense(3))
            .collect();
        listed.design = wstar::data::Design::Dense64(wstar::data::Dense::new(values, 40, 3).unwrap());
        listed.targets = order.iter().map(|&i| case.targets[i]).collect();
        listed.weights = vec![1.0; 40];
        let point = |case: &Case| case.solve(&InteriorPoint::default(), 1e-11).parameters;
        for (a, b) in point(&weighted).iter().zip(point(&listed)) {
            assert!((a - b).abs() < 1e-6, "{a} {b}");
        }
    }
}

#[test]
fn one_class_no_columns_and_no_weight() {
    let mut one = Case::random(23, 20, 2, LossName::Hinge);
    one.targets.fill(1.0);
    for intercept in INTERCEPTS {
        one.intercept = intercept;
        check(&one, 1e-9);
    }
    let mut none = Case::random(23, 20, 2, LossName::Absolute);
    none.design = wstar::data::Design::Dense64(wstar::data::Dense::new(vec![], 20, 0).unwrap());
    check(&none, 1e-9);
    let mut idle = Case::random(23, 20, 2, LossName::Absolute);
    idle.weights.fill(0.0);
    let solution = idle.solve(&InteriorPoint::default(), 1e-9);
    assert_eq!(solution.status, Status::Converged);
    assert!(idle.gap(&solution) <= 1e-9);
}

/// 20,000 × 20, t₂ noise, free intercept, no penalty.
#[test]
fn least_absolute_deviations() {
    use rand::{RngExt, SeedableRng};
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    let mut case = Case::random(29, 20_000, 20, LossName::Absolute);
    for y in &mut case.targets {
        // Student's t distribution with two degrees of freedom, by inversion.
        let u: f64 = random.random::<f64>().clamp(1e-12, 1.0 - 1e-12);
        *y += (2.0 * u - 1.0) / (2.0 * u * (1.0 - u)).sqrt();
    }
    case.penalty = PENALTIES[3];
    let clock = Instant::now();
    let solution = case.solve(&InteriorPoint::default(), 1e-9);
    println!(
        "LAD: {} iterations, {:.2} s",
        solution.iterations,
        clock.elapsed().as_secs_f64()
    );
    assert_eq!(solution.status, Status::Converged);
    assert!(case.gap(&solution) <= 2e-9);
    let residual = case.product(solution.dual.as_ref().unwrap());
    let residual = residual.iter().fold(0.0f64, |most, r| most.max(r.abs()));
    println!("residual of the dual point: {residual:e}");
    assert!(residual < 1e-9, "{residual}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]
    #[test]
    fn small_problems_of_all_kinds(
        seed in any::<u64>(),
        rows in 1..25usize,
        features in 1..6usize,
        kind in 0..24usize,
        c in -3..5i32,
        zeros in any::<bool>(),
    ) {
        let mut case = Case::random(seed, rows, features, LOSSES[kind % 2]);
        (case.penalty, case.intercept) = (PENALTIES[kind / 2 % 4], INTERCEPTS[kind / 8]);
        case.weights.fill(10f64.powi(c));
        if zeros {
            case.weights.iter_mut().step_by(3).for_each(|weight| *weight = 0.0);
        }
        check(&case, 1e-8);
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let mut case = Case::random(31, 9000, 8, LossName::Hinge);
    for penalty in PENALTIES {
        case.penalty = penalty;
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| case.solve(&InteriorPoint::default(), 1e-8))
        };
        let one = with(1);
        assert_eq!(one.status, Status::Converged);
        assert_eq!(one, with(2));
        assert_eq!(one, with(5));
    }
}

fn real(name: &str, positive: f64, optimum: f64, tol: f64) {
    let Some(case) = published(name, positive, LossName::Hinge) else {
        return;
    };
    let mut seen = Seen::default();
    let clock = Instant::now();
    let solution = case.watched(&InteriorPoint::default(), tol, &mut seen);
    let seconds = clock.elapsed().as_secs_f64();
    let objective = case.value(&solution.parameters);
    let gap = case.gap(&solution);
    println!(
        "{name}: {} iterations, {seconds:.2} s, objective {objective:.8}, gap {gap:.1e}",
        solution.iterations
    );
    let gaps: Vec<String> = seen.gaps.iter().map(|gap| format!("{gap:.0e}")).collect();
    println!("{}", gaps.join(" "));
    assert_eq!(solution.status, Status::Converged);
    assert!(gap <= 2.0 * tol);
    assert!((objective - optimum).abs() <= 3e-8 * optimum);
}

#[test]
fn a9a() {
    real("a9a/a9a", 1.0, 11433.80769706, 1e-8);
}

#[test]
fn covtype() {
    real("covtype/covtype.binary.scale.svm.gz", 1.0, 337_953.029_3, 1e-8);
}

#[test]
fn flights() {
    real("flights/flights3m.binary.svm.gz", 1.0, 1_197_295.317_7, 1e-8);
}
