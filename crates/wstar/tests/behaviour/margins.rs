//! Margins: Kozinec's interval and the perceptron's γ, compared with the exact margin from a general solver.
#![allow(clippy::unwrap_used)]

use crate::common::{self, sparse};
use crate::kinked_sets::tight;
use crate::perceptrons_sets::{hyperplane, noise, separable, settings, train};
use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus, SupportedConeT};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use wstar::certificate::{Certificate, Separation};
use wstar::data::Dataset;
use wstar::data::run::{Status, Unwatched};
use wstar::model::{evaluate, verify};
use wstar::settings::{Method, Options, Rule};
use wstar::{Model, fit};

/// The kind of margin: of hyperplanes with a free intercept, of those through the origin, or of the lifted rows.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Free,
    Origin,
    Lifted,
}

/// The maximum margin `1/‖v‖`, where `v` (`w` or `(w, b)`) minimises `½‖v‖²` subject to `y(w·x + b) ≥ 1`.
fn exact_margin(data: &Dataset, labels: &[f64], form: Form) -> f64 {
    let features = data.features();
    let columns = features + usize::from(form != Form::Origin);
    let rows: Vec<Vec<f64>> = data
        .design()
        .iter()
        .map(|row| {
            let mut x = row.to_dense(features);
            x.resize(columns, 1.0);
            x
        })
        .collect();
    let a: Vec<Vec<f64>> = rows
        .iter()
        .zip(labels)
        .map(|(x, y)| x.iter().map(|v| -y * v).collect())
        .collect();
    qp_margin(&a, if form == Form::Lifted { columns } else { features })
}

/// The maximum margin `1/‖v‖` by Clarabel, where `v` minimises `½‖v‖²` over its first `penalised` coordinates subject to
/// `a·v ≤ −1` for each constraint `a`.
pub(crate) fn qp_margin(constraints: &[Vec<f64>], penalised: usize) -> f64 {
    let columns = constraints[0].len();
    let squares: Vec<Vec<f64>> = (0..columns)
        .map(|i| {
            let mut row = vec![0.0; columns];
            row[i] = if i < penalised { 1.0 } else { 0.0 };
            row
        })
        .collect();
    let (p, a) = (CscMatrix::from(&squares), CscMatrix::from(constraints));
    let cones: [SupportedConeT<f64>; 1] = [NonnegativeConeT(constraints.len())];
    let (zero, minus_one) = (vec![0.0; columns], vec![-1.0; constraints.len()]);
    let mut solver = DefaultSolver::new(&p, &zero, &a, &minus_one, &cones, tight()).unwrap();
    solver.solve();
    let solved = matches!(
        solver.solution.status,
        SolverStatus::Solved | SolverStatus::AlmostSolved
    );
    assert!(solved, "{:?}", solver.solution.status);
    let v = &solver.solution.x[..penalised];
    1.0 / v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

fn kozinec(epsilon: f64) -> Options {
    Options {
        epsilon: Some(epsilon),
        ..settings(Method::Kozinec)
    }
}

fn interval(model: &Model) -> &Separation {
    match model.certificate() {
        Certificate::Separation { parts } => &parts[0],
        other => panic!("no interval: {other:?}"),
    }
}

/// Trains, and checks every property of a converged interval.
fn narrowed(data: &Dataset, asked: &Options) -> (f64, f64) {
    let model = train(data, asked);
    assert_eq!(model.record().status, Status::Converged, "{:?}", interval(&model));
    let part = interval(&model);
    assert!(0.0 < part.lower && part.lower <= part.upper * (1.0 + 1e-12));
    assert!(part.upper - part.lower <= (part.epsilon + 1e-9) * part.upper);
    let verdict = verify(&model, data).unwrap();
    assert!(verdict.holds(), "{:?}", verdict.objections());
    assert_eq!(evaluate(&model, data).unwrap().error(), 0.0);
    (part.lower, part.upper)
}

#[test]
fn the_interval_holds_the_exact_margin() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for trial in 0..200 {
        let features = random.random_range(1..=5);
        let rows = random.random_range(2..=30);
        let margin = 10f64.powf(random.random_range(-1.5..-0.3));
        let scale = 10f64.powf(random.random_range(-2.0..2.0));
        let intercept = trial % 2 == 0;
        // Generated at unit scale for the general solver, then scaled.
        let set = separable(&mut random, features, rows, margin, 1.0, intercept);
        let labels: Vec<f64> = (0..set.rows.len()).map(|i| set.label(i)).collect();
        let form = if intercept { Form::Free } else { Form::Origin };
        let exact = scale * exact_margin(&set.data(), &labels, form);
        let scaled: Vec<Vec<f64>> = set
            .rows
            .iter()
            .map(|x| x.iter().map(|v| v * scale).collect())
            .collect();
        let data = Dataset::labelled(&scaled, &set.labels).unwrap();
        for (epsilon, rule) in [
            (0.5, Rule::Cyclic),
            (0.1, Rule::Shuffled),
            (0.1, Rule::Worst),
            (0.05, Rule::Cyclic),
        ] {
            let asked = Options {
                rule: Some(rule),
                no_intercept: !intercept,
                ..kozinec(epsilon)
            };
            let (lower, upper) = narrowed(&data, &asked);
            let (thin_lower, thin_upper) = narrowed(&sparse(&data), &asked);
            for (lower, upper) in [(lower, upper), (thin_lower, thin_upper)] {
                assert!(lower <= exact * (1.0 + 1e-7), "{lower} > {exact}");
                assert!(upper >= exact * (1.0 - 1e-7), "{upper} < {exact}");
            }
        }
    }
}

#[test]
fn the_margin_of_the_perceptrons_bound_is_no_larger_than_the_best() {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    for trial in 0..300 {
        let intercept = trial % 3 > 0;
        let features = random.random_range(1..=4);
        let set = separable(&mut random, features, 20, 0.05, 1.0, intercept);
        let data = set.data();
        let labels: Vec<f64> = (0..set.rows.len()).map(|i| set.label(i)).collect();
        let form = if intercept { Form::Lifted } else { Form::Origin };
        let best = exact_margin(&data, &labels, form);
        for rule in [Rule::Cyclic, Rule::Shuffled, Rule::Worst] {
            let asked = Options {
                rule: Some(rule),
                no_intercept: !intercept,
                ..settings(Method::Perceptron)
            };
            let model = train(&data, &asked);
            assert_eq!(model.record().status, Status::Converged);
            let Certificate::MistakeBound { parts } = model.certificate() else {
                panic!("no bound");
            };
            let part = &parts[0];
            let theory = (part.radius / best).powi(2);
            assert!(part.updates as f64 <= theory * (1.0 + 1e-7));
            assert!(part.updates as f64 <= part.bound.unwrap());
            assert!(part.separable());
            // The general solver is accurate to about nine digits.
            assert!(
                part.margin.unwrap() <= best * (1.0 + 1e-8),
                "{:?} {best}",
                part.margin
            );
            assert!(part.bound.unwrap() >= theory * (1.0 - 1e-7));
        }
    }
}

#[test]
fn the_margin_of_two_points_is_half_their_distance() {
    // A 3-4-5 triangle: the points are at distance 5, and the best plane is at distance 2.5 from each.
    let data = Dataset::labelled(&[vec![4.0, 1.0], vec![1.0, -3.0]], &["b", "a"]).unwrap();
    for rule in [Rule::Cyclic, Rule::Worst] {
        let asked = Options {
            rule: Some(rule),
            ..kozinec(0.001)
        };
        assert_eq!(narrowed(&data, &asked), (2.5, 2.5));
        let model = train(&data, &asked);
        assert_eq!(hyperplane(&model).weights, [3.0, 4.0]);
        // The midpoint is (2.5, −1), and 3·2.5 − 4·1 = 3.5.
        assert_eq!(hyperplane(&model).intercept, -3.5);
    }
}

#[test]
fn the_worst_rule_first_visits_both_classes() {
    // After (10) alone, a plane at 5 would make (1), of the same class, the worst row.
    let data = Dataset::labelled(&[vec![10.0], vec![1.0], vec![-5.0]], &["b", "b", "a"]).unwrap();
    let asked = Options {
        rule: Some(Rule::Worst),
        ..kozinec(0.01)
    };
    let (lower, upper) = narrowed(&data, &asked);
    assert!(lower <= 3.0 && upper >= 3.0 && upper - lower <= 0.031);
}

#[test]
fn repeated_and_single_points() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    for _ in 0..50 {
        let set = separable(&mut random, 3, 12, 0.1, 1.0, true);
        let labels: Vec<f64> = (0..12).map(|i| set.label(i)).collect();
        let exact = exact_margin(&set.data(), &labels, Form::Free);
        let twice: Vec<usize> = (0..12).chain(0..12).chain([3, 3, 3]).collect();
        let (lower, upper) = narrowed(&set.data().select(&twice), &kozinec(0.05));
        assert!(lower <= exact * (1.0 + 1e-7) && upper >= exact * (1.0 - 1e-7));

        // One point against the others.
        let rows: Vec<Vec<f64>> = set.rows.iter().cloned().chain([vec![4.0, 4.0, 4.0]]).collect();
        let names: Vec<&str> = (0..13).map(|i| if i < 12 { "a" } else { "b" }).collect();
        let data = Dataset::labelled(&rows, &names).unwrap();
        let labels: Vec<f64> = (0..13).map(|i| if i < 12 { -1.0 } else { 1.0 }).collect();
        let exact = exact_margin(&data, &labels, Form::Free);
        let (lower, upper) = narrowed(&data, &kozinec(0.01));
        assert!(lower <= exact * (1.0 + 1e-7) && upper >= exact * (1.0 - 1e-7));
    }
}

#[test]
fn far_from_the_origin() {
    // The margin is invariant under translation; rounding may change it only slightly.
    let mut random = ChaCha8Rng::seed_from_u64(4);
    for trial in 0..60 {
        let offset = [1e2, 1e4, 1e6][trial % 3];
        let set = separable(&mut random, 3, 20, 0.1, 1.0, true);
        let labels: Vec<f64> = (0..set.rows.len()).map(|i| set.label(i)).collect();
        let exact = exact_margin(&set.data(), &labels, Form::Free);
        let moved: Vec<Vec<f64>> = set
            .rows
            .iter()
            .map(|x| vec![x[0] + offset, x[1] - offset, x[2]])
            .collect();
        let data = Dataset::labelled(&moved, &set.labels).unwrap();
        let (lower, upper) = narrowed(&data, &kozinec(0.1));
        let rounding = 1e-7 + 1e-14 * offset / exact;
        assert!(lower <= exact * (1.0 + rounding) && upper >= exact * (1.0 - rounding));
    }
}

#[test]
fn data_far_from_the_origin_are_not_reported_as_inseparable() {
    let mut random = ChaCha8Rng::seed_from_u64(9);
    for trial in 0..40 {
        let offset = [1e7, 1e8, 1e9, 1e12][trial % 4];
        let set = separable(&mut random, 3, 20, 0.1, 1.0, true);
        let moved: Vec<Vec<f64>> = set
            .rows
            .iter()
            .map(|x| x.iter().map(|v| v + offset).collect())
            .collect();
        let data = Dataset::labelled(&moved, &set.labels).unwrap();
        let model = train(&data, &kozinec(0.01));
        assert_ne!(
            model.record().status,
            Status::Diverging,
            "{offset:e} {:?}",
            interval(&model)
        );
        let claimed = model.record().status == Status::Converged;
        assert_eq!(verify(&model, &data).unwrap().holds(), claimed);
    }
}

#[test]
fn inseparable_sets_end_at_the_budget() {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    for trial in 0..100 {
        let intercept = trial % 2 == 0;
        let rule = [Rule::Cyclic, Rule::Shuffled, Rule::Worst][trial % 3];
        let features = random.random_range(1..=4);
        let rows: Vec<Vec<f64>> = (0..40)
            .map(|_| (0..features).map(|_| random.random_range(-1.0..1.0)).collect())
            .collect();
        let labels: Vec<&str> = (0..40).map(|i| if i < 20 { "a" } else { "b" }).collect();
        let data = Dataset::labelled(&rows, &labels).unwrap();
        let asked = Options {
            rule: Some(rule),
            epochs: Some(50.0),
            no_intercept: !intercept,
            ..kozinec(0.01)
        };
        let model = train(&data, &asked);
        let part = interval(&model);
        match model.record().status {
            Status::IterationLimit => {}
            // The hulls cross, so their nearest points coincided up to rounding before the budget was used up.
            Status::Diverging => assert!(part.upper < 1e-12, "{part:?}"),
            other => panic!("{other:?}"),
        }
        assert!(part.lower <= 0.0, "{part:?}");
        assert!(part.upper >= 0.0 && part.upper.is_finite());
        assert!(!verify(&model, &data).unwrap().holds());
    }
}

#[test]
fn intersecting_hulls_are_not_reported_as_converged() {
    // The same point in both classes; crossing segments; a row at the origin without an intercept.
    let twins = Dataset::labelled(&[vec![1.0], vec![1.0]], &["a", "b"]).unwrap();
    let cross = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]].map(Vec::from);
    let cross = Dataset::labelled(&cross, &["a", "a", "b", "b"]).unwrap();
    let origin = Dataset::labelled(&[vec![1.0], vec![0.0]], &["a", "b"]).unwrap();
    for (data, no_intercept) in [(&twins, false), (&cross, false), (&origin, true)] {
        for rule in [Rule::Cyclic, Rule::Worst] {
            let asked = Options {
                no_intercept,
                rule: Some(rule),
                epochs: Some(1000.0),
                ..kozinec(0.1)
            };
            let model = train(data, &asked);
            assert!(!model.record().status.is_success(), "{:?}", model.record());
            assert!(interval(&model).lower <= 0.0);
            assert!(interval(&model).upper < 0.1);
            assert!(!verify(&model, data).unwrap().holds());
        }
    }
}

#[test]
fn each_class_against_the_rest() {
    let corners = [
        [0.0, 0.0],
        [0.0, 0.5],
        [9.0, 0.0],
        [9.0, 1.0],
        [0.0, 9.0],
        [1.0, 9.0],
    ]
    .map(Vec::from);
    let data = Dataset::labelled(&corners, &["a", "a", "b", "b", "c", "c"]).unwrap();
    let model = train(&data, &kozinec(0.01));
    assert_eq!(model.record().status, Status::Converged);
    assert_eq!(evaluate(&model, &data).unwrap().error(), 0.0);
    let Certificate::Separation { parts } = model.certificate() else {
        panic!("no intervals");
    };
    for (k, part) in parts.iter().enumerate() {
        let labels: Vec<f64> = (0..6).map(|i| if i / 2 == k { 1.0 } else { -1.0 }).collect();
        let exact = exact_margin(&data, &labels, Form::Free);
        assert!(part.lower <= exact * (1.0 + 1e-7) && part.upper >= exact * (1.0 - 1e-7));
        assert!(part.holds());
    }
}

#[test]
fn one_per_cent_within_the_default_passes() {
    let mut random = ChaCha8Rng::seed_from_u64(6);
    for _ in 0..20 {
        let set = separable(&mut random, 4, 40, 0.1, 1.0, true);
        narrowed(&set.data(), &settings(Method::Kozinec));
    }
}

#[test]
fn forged_intervals_are_refused() {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for trial in 0..50 {
        let intercept = trial % 2 == 0;
        let set = separable(&mut random, 3, 20, 0.1, 1.0, intercept);
        let data = set.data();
        let asked = Options {
            no_intercept: !intercept,
            ..kozinec(0.05)
        };
        let model = train(&data, &asked);
        assert!(verify(&model, &data).unwrap().holds());
        let refuses = |what: &str, change: &dyn Fn(&mut Separation)| {
            let forged = common::forged(&model, |file| {
                if let Certificate::Separation { parts } = &mut file.certificate {
                    change(&mut parts[0]);
                }
            });
            let verdict = verify(&forged, &data).unwrap();
            assert!(!verdict.holds(), "{what} was accepted");
        };
        refuses("a larger margin", &|part| part.lower *= 1.000_001);
        refuses("a smaller upper end", &|part| part.upper *= 0.999_999);
        refuses("another epsilon", &|part| part.epsilon = 0.5);
        refuses("another form", &|part| part.intercept = !part.intercept);
        refuses("another hyperplane", &|part| part.hyperplane.weights[0] += 1e-3);
        refuses("a negative multiplier", &|part| part.positive[0].1 *= -1.0);
        refuses("a row that is not there", &|part| {
            // If the missing row were ignored, the rest of the point would be shorter and the interval narrower.
            let total: f64 = part.positive.iter().map(|&(_, m)| m).sum();
            part.positive.push((1000, total / 99.0));
        });
        refuses("a row listed twice", &|part| {
            let first = part.positive[0];
            part.positive.push(first);
        });
        refuses("no multipliers", &|part| part.positive.clear());
        if intercept {
            refuses("a row of the other class", &|part| {
                let other = part.negative[0];
                part.positive.push(other);
            });
        }
    }
}

#[test]
fn noise_of_many_classes_does_not_produce_nan() {
    let mut random = ChaCha8Rng::seed_from_u64(8);
    for scale in [1e-300, 1e-160, 1e-30, 1.0, 1e30, 1e95, 1e160] {
        let base = noise(&mut random, 3, 30, &["a", "b", "c"]);
        let rows: Vec<Vec<f64>> = base
            .design()
            .iter()
            .map(|row| row.to_dense(3).iter().map(|v| v * scale).collect())
            .collect();
        let mut data = base.clone();
        let design = wstar::data::Design::from_rows(&rows).unwrap();
        data = data.with_design(design).unwrap();
        for method in Method::ALL.into_iter().filter(|method| method.is_online()) {
            let asked = Options {
                epochs: Some(3.0),
                ..settings(method)
            };
            if scale == 1e160 {
                let error = fit(&data, &asked, &mut Unwatched).unwrap_err();
                assert!(error.to_string().contains("too large to be squared"), "{error}");
                continue;
            }
            let model = train(&data, &asked);
            let json = serde_json::to_string(&model).unwrap();
            assert!(!json.contains("NaN"));
            let again: Model = serde_json::from_str(&json).unwrap();
            assert_eq!(again, model, "{method:?} at {scale:e}");
            assert!(evaluate(&model, &data).unwrap().error().is_finite());
        }
    }
}
