//! Dual coordinate descent: the optimum of independent solvers, feasible dual points, and the known optima of a
//! published set.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::time::Instant;

use crate::kinked_sets::{Case, INTERCEPTS, Seen, published};
use proptest::prelude::*;
use wstar::data::run::Status;
use wstar::problem::loss::LossName;
use wstar::problem::problem::Intercept;
use wstar::solve::{DualCoordinateDescent, InteriorPoint};

const LOSSES: [LossName; 5] = [
    LossName::Hinge,
    LossName::SquaredHinge,
    LossName::Logistic,
    LossName::Absolute,
    LossName::Squared,
];

/// Solves, and checks the gap from the data alone; the gap is an upper bound on the suboptimality.
fn check(case: &Case, tol: f64) -> f64 {
    let context = format!("{:?} {:?}", case.loss, case.intercept);
    let mut seen = Seen::default();
    let solution = case.watched(&DualCoordinateDescent::default(), tol, &mut seen);
    let last = &seen.gaps[seen.gaps.len().saturating_sub(5)..];
    assert_eq!(solution.status, Status::Converged, "{context}: {last:?}");
    let gap = case.gap(&solution);
    assert!(gap <= 2.0 * tol, "{context}: {gap:e} is not {tol:e}: {last:?}");
    case.value(&solution.parameters)
}

#[test]
fn every_loss_and_intercept() {
    for loss in LOSSES {
        for intercept in INTERCEPTS {
            // With few columns the absolute loss has many ties, for which the interior-point method is used.
            let features = if loss == LossName::Absolute { 60 } else { 4 };
            let mut case = Case::random(7, 50, features, loss);
            case.intercept = intercept;
            let objective = check(&case, 1e-9);
            if matches!(
                loss,
                LossName::Hinge | LossName::Absolute | LossName::SquaredHinge
            ) {
                let reference = case.reference();
                assert!(
                    (objective - reference).abs() <= 1e-7 * reference,
                    "{objective} {reference}"
                );
            }
            for (i, weight) in case.weights.iter_mut().enumerate() {
                *weight = if i % 7 == 3 {
                    0.0
                } else {
                    10f64.powi(i as i32 % 5 - 3)
                };
            }
            check(&case, 1e-6);
        }
    }
}

#[test]
fn every_storage_reaches_the_same_optimum() {
    for loss in LOSSES {
        let cases = Case::random(11, 80, 5, loss).storages();
        let found: Vec<f64> = cases.iter().map(|case| check(case, 1e-8)).collect();
        for objective in &found {
            assert!(
                (objective - found[0]).abs() <= 2e-8 * found[0].max(1.0),
                "{found:?}"
            );
        }
    }
}

#[test]
fn more_columns_than_rows_and_rows_twice() {
    for loss in LOSSES {
        for intercept in INTERCEPTS {
            let base = Case::random(13, 15, 40, loss);
            let values: Vec<f64> = base
                .design
                .iter()
                .chain(base.design.iter())
                .flat_map(|row| row.to_dense(40))
                .collect();
            let mut case = base.clone();
            case.design = wstar::data::Design::Dense64(wstar::data::Dense::new(values, 30, 40).unwrap());
            case.targets.extend_from_slice(&base.targets);
            case.weights = vec![1.0; 30];
            case.intercept = intercept;
            check(&case, 1e-8);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bits() {
    let case = Case::random(2, 200, 10, LossName::Hinge);
    let solver = DualCoordinateDescent::default();
    assert_eq!(case.solve(&solver, 1e-6), case.solve(&solver, 1e-6));
}

/// Enough rows for two workers. With few columns the workers interfere with each other, and one continues alone.
#[test]
fn two_workers_give_the_same_bits_on_any_number_of_threads() {
    for (features, loss) in [
        (60, LossName::Hinge),
        (60, LossName::Logistic),
        (400, LossName::SquaredHinge),
    ] {
        let mut case = Case::random(5, 300_000 / features, features, loss);
        // Problems with few columns and a large C are solved by the interior-point method.
        case.weights.fill(1e-3);
        check(&case, 1e-6);
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| case.solve(&DualCoordinateDescent::default(), 1e-6))
        };
        assert_eq!(on(1), on(2), "{loss:?}");
    }
}

#[test]
fn stopping_before_the_optimum_is_reported() {
    let mut case = Case::random(2, 200, 5, LossName::Hinge);
    case.weights.fill(1e6);
    let solver = DualCoordinateDescent {
        max_epochs: 3,
        ..Default::default()
    };
    let solution = case.solve(&solver, 1e-10);
    assert_eq!(
        (solution.status, solution.iterations),
        (Status::IterationLimit, 3)
    );
    assert!(case.gap(&solution) > 1e-10);
}

#[test]
fn unsupported_problems_are_refused() {
    use wstar::problem::penalty::Penalty;
    use wstar::solve::Solver;
    let mut case = Case::random(2, 20, 2, LossName::Hinge);
    for penalty in [Penalty::L1, Penalty::NONE, Penalty { l1: 0.5, l2: 0.5 }] {
        case.penalty = penalty;
        assert!(DualCoordinateDescent::default().check(&case.objective()).is_err());
        assert!(InteriorPoint::default().check(&case.objective()).is_ok());
    }
    case.loss = LossName::Logistic;
    assert!(InteriorPoint::default().check(&case.objective()).is_ok());
    assert!(InteriorPoint::extended().check(&case.objective()).is_err());
    case.penalty = Penalty::L2;
    assert!(InteriorPoint::default().check(&case.objective()).is_err());
    case.loss = LossName::SigmoidMse;
    assert!(DualCoordinateDescent::default().check(&case.objective()).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]
    #[test]
    fn agrees_with_the_interior_point_method(
        seed in any::<u64>(),
        rows in 1..30usize,
        kind in 0..6usize,
        c in -3..4i32,
        zeros in any::<bool>(),
    ) {
        let mut case = Case::random(seed, rows, 30, LOSSES[3 * (kind % 2)]);
        case.intercept = INTERCEPTS[kind / 2];
        case.weights.fill(10f64.powi(c));
        if zeros {
            case.weights.iter_mut().step_by(3).for_each(|weight| *weight = 0.0);
        }
        let objective = check(&case, 1e-7);
        let other = case.value(&case.solve(&InteriorPoint::default(), 1e-9).parameters);
        prop_assert!((objective - other).abs() <= 2e-7 * other.max(1.0));
    }

    /// Few columns and a large C do not suit this method. It may stop early, but the gap that it reports must hold.
    #[test]
    fn a_reported_gap_holds(
        seed in any::<u64>(),
        rows in 1..40usize,
        features in 1..5usize,
        kind in 0..15usize,
        c in -3..4i32,
    ) {
        let mut case = Case::random(seed, rows, features, LOSSES[kind % 5]);
        case.intercept = INTERCEPTS[kind / 5];
        case.weights.fill(10f64.powi(c));
        let solver = DualCoordinateDescent { max_epochs: 100, ..Default::default() };
        let mut seen = Seen::default();
        let solution = case.watched(&solver, 1e-7, &mut seen);
        let claimed = seen.gaps.last().unwrap();
        let gap = case.relative_gap(&solution);
        prop_assert!((gap - claimed).abs() <= 1e-9, "{gap} {claimed}");
        prop_assert!(case.gap(&solution) > -1e-12);
        prop_assert_eq!(solution.status == Status::Converged, *claimed <= 1e-7);
    }
}

/// The first class of 20 newsgroups against the rest.
fn newsgroups(loss: LossName, intercept: Intercept, optimum: Option<f64>, tol: f64) {
    let Some(mut case) = published("20news/20news_tfidf.train.svm.gz", 1.0, loss) else {
        return;
    };
    case.intercept = intercept;
    let mut seen = Seen::default();
    let clock = Instant::now();
    let solution = case.watched(&DualCoordinateDescent::default(), tol, &mut seen);
    let seconds = clock.elapsed().as_secs_f64();
    let (objective, gap) = (case.value(&solution.parameters), case.gap(&solution));
    println!(
        "20news {} {intercept:?}: {} epochs, {seconds:.2} s, objective {objective:.8}, gap {gap:.1e}",
        loss.name(),
        solution.iterations
    );
    let gaps: Vec<String> = seen.gaps.iter().map(|gap| format!("{gap:.0e}")).collect();
    println!("{}", gaps.join(" "));
    assert_eq!(solution.status, Status::Converged);
    assert!(gap <= 2.0 * tol);
    if let Some(optimum) = optimum {
        assert!((objective - optimum).abs() <= (2.0 * tol + 1e-10) * optimum);
    }
}

#[test]
fn newsgroups_hinge() {
    newsgroups(LossName::Hinge, Intercept::Absent, Some(389.98084943), 1e-8);
    newsgroups(LossName::Hinge, Intercept::Penalized, None, 1e-8);
    newsgroups(LossName::Hinge, Intercept::Free, None, 1e-8);
}

#[test]
fn newsgroups_squared_hinge() {
    newsgroups(
        LossName::SquaredHinge,
        Intercept::Absent,
        Some(309.27728063),
        1e-8,
    );
    newsgroups(LossName::SquaredHinge, Intercept::Free, None, 1e-7);
}

#[test]
fn newsgroups_logistic() {
    newsgroups(LossName::Logistic, Intercept::Absent, Some(1410.39255533), 1e-8);
    newsgroups(LossName::Logistic, Intercept::Free, None, 1e-7);
}
