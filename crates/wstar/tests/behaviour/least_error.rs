//! The minimum training error, compared with brute force, and forged proofs, which must be rejected.
#![allow(clippy::unwrap_used)]

use crate::common;
use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus, SupportedConeT,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use wstar::certificate::Certificate;
use wstar::data::Objection;
use wstar::data::read::{ReadOptions, Source, read};
use wstar::data::run::{Status, Unwatched};
use wstar::data::{Dataset, Preparation, prepare};
use wstar::model::Predictor;
use wstar::model::{evaluate, verify};
use wstar::problem::multiclass::ClassWeights;
use wstar::separate::least_error::ProofNode;
use wstar::separate::least_error::error_certificate::{ErrorProof, LeastError};
use wstar::settings::{Method, Options};
use wstar::{Model, fit};

fn train(data: &Dataset, settings: &Options) -> Model {
    fit(data, settings, &mut Unwatched).unwrap()
}

fn min_error(data: &Dataset) -> Model {
    train(data, &Options::of(Method::MinError))
}

fn claim(model: &Model) -> &LeastError {
    match model.certificate() {
        Certificate::MinError(claim) => claim,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn holds(model: &Model, data: &Dataset) {
    assert_eq!(model.record().status, Status::Converged);
    assert!(model.certificate().holds());
    let verdict = verify(model, data).unwrap();
    assert!(verdict.holds(), "{:?}", verdict.objections());
}

/// Whether some hyperplane has the positive rows above 0 and the negative rows at or below 0, by a general solver:
/// the largest `t` in a box with `w·x + b ≥ t` for positive rows and `≤ −t` (without an intercept `≤ 0`) for negative.
fn classifiable(rows: &[Vec<f64>], positive: &[bool], keep: &[usize], intercept: bool) -> bool {
    if keep.is_empty() {
        return true;
    }
    let features = rows[0].len();
    let columns = features + 2;
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for &i in keep {
        let sign = if positive[i] { -1.0 } else { 1.0 };
        let mut row: Vec<f64> = rows[i].iter().map(|v| sign * v).collect();
        row.push(if intercept { sign } else { 0.0 });
        row.push(if intercept || positive[i] { 1.0 } else { 0.0 });
        a.push(row);
        b.push(0.0);
    }
    for j in 0..columns {
        for sign in [1.0, -1.0] {
            let mut row = vec![0.0; columns];
            row[j] = sign;
            a.push(row);
            b.push(if j == features { 20.0 } else { 1.0 });
        }
    }
    let mut objective = vec![0.0; columns];
    objective[columns - 1] = -1.0;
    let settings = DefaultSettings {
        verbose: false,
        ..DefaultSettings::default()
    };
    let cones: [SupportedConeT<f64>; 1] = [NonnegativeConeT(b.len())];
    let zero = CscMatrix::<f64>::zeros((columns, columns));
    let mut solver =
        DefaultSolver::new(&zero, &objective, &CscMatrix::from(&a), &b, &cones, settings).unwrap();
    solver.solve();
    assert_eq!(solver.solution.status, SolverStatus::Solved);
    solver.solution.x[columns - 1] > 1e-5
}

/// The cost of the cheapest set of rows whose removal makes the others classifiable, over all sets of rows.
fn brute_force(rows: &[Vec<f64>], positive: &[bool], costs: &[f64], intercept: bool) -> f64 {
    let n = rows.len();
    let cost = |set: u32| {
        (0..n)
            .filter(|&i| set >> i & 1 == 1)
            .map(|i| costs[i])
            .sum::<f64>()
    };
    let mut sets: Vec<(f64, u32)> = (0..1u32 << n).map(|set| (cost(set), set)).collect();
    sets.sort_by(|a, b| a.0.total_cmp(&b.0));
    let found = sets.into_iter().find(|&(_, set)| {
        let keep: Vec<usize> = (0..n).filter(|&i| set >> i & 1 == 0).collect();
        classifiable(rows, positive, &keep, intercept)
    });
    found.unwrap().0.abs()
}

fn names(positive: &[bool]) -> Vec<&'static str> {
    positive.iter().map(|&p| if p { "yes" } else { "no" }).collect()
}

#[test]
fn brute_force_finds_nothing_better() {
    for seed in 0..240 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (features, n) = (1 + (seed % 4) as usize, random.random_range(3..=9usize));
        // Few distinct values, so that points coincide and lie on common lines and planes.
        let reach = random.random_range(1..=3i32);
        let rows: Vec<Vec<f64>> = (0..n)
            .map(|_| {
                (0..features)
                    .map(|_| f64::from(random.random_range(-reach..=reach)))
                    .collect()
            })
            .collect();
        let mut positive: Vec<bool> = (0..n).map(|_| random.random()).collect();
        (positive[0], positive[1]) = (true, false);
        let weighted = seed.is_multiple_of(3);
        let weights: Vec<f64> = (0..n)
            .map(|_| {
                if weighted {
                    f64::from(random.random_range(1..5))
                } else {
                    1.0
                }
            })
            .collect();
        let no_intercept = seed % 5 == 4;
        let class_weight = seed % 7 == 6;
        let costs: Vec<f64> = (0..n)
            .map(|i| weights[i] * if class_weight && positive[i] { 2.5 } else { 1.0 })
            .collect();
        let mut data = Dataset::labelled(&rows, &names(&positive)).unwrap();
        data = data.with_weights(weighted.then_some(weights)).unwrap();
        let settings = Options {
            no_intercept,
            class_weight: class_weight.then(|| ClassWeights::Given(vec![("yes".into(), 2.5)])),
            ..Options::of(Method::MinError)
        };
        let model = train(&data, &settings);
        let expected = brute_force(&rows, &positive, &costs, !no_intercept);
        let claim = claim(&model);
        assert!(
            (claim.cost - expected).abs() < 1e-9,
            "seed {seed}: {} and {expected}",
            claim.cost
        );
        assert!((claim.lower_bound - expected).abs() < 1e-9, "seed {seed}");
        holds(&model, &data);
    }
}

#[test]
fn small_sets_with_known_minimum_errors() {
    let set = |rows: &[[f64; 2]], labels: &[&str]| {
        let rows: Vec<Vec<f64>> = rows.iter().map(|row| row.to_vec()).collect();
        Dataset::labelled(&rows, labels).unwrap()
    };
    let corners = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]];
    let xor = set(&corners, &["a", "a", "b", "b"]);
    let model = min_error(&xor);
    assert_eq!((claim(&model).errors, claim(&model).lower_bound), (1, 1.0));
    holds(&model, &xor);

    let and = set(&corners, &["a", "b", "a", "a"]);
    let model = min_error(&and);
    assert_eq!(claim(&model).errors, 0);
    holds(&model, &and);

    // All points are equal: the errors are the rows of the smaller class.
    let same = set(&[[0.5, 0.25]; 5], &["a", "b", "a", "b", "a"]);
    let model = min_error(&same);
    assert_eq!(claim(&model).errors, 2);
    holds(&model, &same);

    // Alternating classes on a line: a hyperplane cuts the line once.
    let line: Vec<[f64; 2]> = (0..9).map(|k| [f64::from(k), 3.0 * f64::from(k)]).collect();
    let turns: Vec<&str> = (0..9).map(|k| if k % 2 == 0 { "a" } else { "b" }).collect();
    let alternating = set(&line, &turns);
    let model = min_error(&alternating);
    assert_eq!(claim(&model).errors, 4);
    holds(&model, &alternating);
}

#[test]
fn three_weighted_segments_on_a_line() {
    // One feature: a a a b b b a a a, with weight w in the last third: min(3, 3w) errors.
    for (weight, expected) in [(0.5, 1.5), (1.0, 3.0), (4.0, 3.0)] {
        let rows: Vec<Vec<f64>> = (0..9).map(|k| vec![f64::from(k)]).collect();
        let labels = ["a", "a", "a", "b", "b", "b", "a", "a", "a"];
        let mut data = Dataset::labelled(&rows, &labels).unwrap();
        let weights: Vec<f64> = (0..9).map(|k| if k > 5 { weight } else { 1.0 }).collect();
        data = data.with_weights(weights).unwrap();
        let model = min_error(&data);
        assert_eq!(claim(&model).cost, expected);
        holds(&model, &data);
    }
}

fn iris(columns: &[usize]) -> (Vec<Vec<f64>>, Vec<bool>) {
    let raw = read(&Source::parse("@iris").unwrap(), &ReadOptions::default()).unwrap();
    let data = prepare(raw, &Preparation::default()).unwrap();
    let (codes, classes) = data.require_classes().unwrap();
    let virginica = classes.code("virginica").unwrap();
    let setosa = classes.code("setosa").unwrap();
    let chosen: Vec<usize> = (0..data.rows()).filter(|&i| codes[i] != setosa).collect();
    let rows = chosen.iter().map(|&i| {
        // In tenths, so the values are integers and collinear points are exactly collinear.
        let row = data.design().row(i).to_dense(data.features());
        columns.iter().map(|&j| (10.0 * row[j]).round()).collect()
    });
    (
        rows.collect(),
        chosen.iter().map(|&i| codes[i] == virginica).collect(),
    )
}

/// The minimum number of errors over all lines through two points, in integer arithmetic. The points on the line are
/// split at the best position, in both directions.
fn fewest_errors_of_lines(rows: &[Vec<f64>], positive: &[bool]) -> usize {
    let points: Vec<(i64, i64)> = rows.iter().map(|row| (row[0] as i64, row[1] as i64)).collect();
    let n = points.len();
    let mut fewest = n;
    for i in 0..n {
        for j in 0..n {
            let (dx, dy) = (points[j].0 - points[i].0, points[j].1 - points[i].1);
            if (dx, dy) == (0, 0) {
                continue;
            }
            let side = |k: usize| dx * (points[k].1 - points[i].1) - dy * (points[k].0 - points[i].0);
            let off = (0..n)
                .filter(|&k| side(k) != 0 && (side(k) > 0) != positive[k])
                .count();
            let mut on: Vec<(i64, bool)> = (0..n)
                .filter(|&k| side(k) == 0)
                .map(|k| (dx * points[k].0 + dy * points[k].1, positive[k]))
                .collect();
            on.sort_unstable();
            let mut places: Vec<i64> = on.iter().map(|(place, _)| *place).collect();
            places.push(i64::MAX);
            let errors = |cut: i64, up: bool| {
                on.iter()
                    .filter(|(place, p)| ((*place >= cut) == up) != *p)
                    .count()
            };
            let along = places
                .iter()
                .flat_map(|&cut| [errors(cut, true), errors(cut, false)])
                .min();
            fewest = fewest.min(off + along.unwrap());
        }
    }
    fewest
}

#[test]
fn iris_by_all_lines() {
    for columns in [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]] {
        let (rows, positive) = iris(&columns);
        let data = Dataset::labelled(&rows, &names(&positive)).unwrap();
        let model = min_error(&data);
        assert_eq!(
            claim(&model).errors as usize,
            fewest_errors_of_lines(&rows, &positive),
            "{columns:?}"
        );
        holds(&model, &data);
    }
    // With all four features one error suffices. It is necessary, because the classes are known to be inseparable.
    let (rows, positive) = iris(&[0, 1, 2, 3]);
    let data = Dataset::labelled(&rows, &names(&positive)).unwrap();
    let model = min_error(&data);
    assert_eq!(claim(&model).errors, 1);
    assert!(matches!(claim(&model).proof, ErrorProof::Circuits(_)));
    holds(&model, &data);
}

/// Points around the origin, labelled by a hyperplane with noise in its scores.
fn noisy(seed: u64, n: usize, features: usize, noise: f64) -> Dataset {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let rows: Vec<Vec<f64>> = (0..n)
        .map(|_| (0..features).map(|_| random.random_range(-1.0..1.0)).collect())
        .collect();
    let positive: Vec<bool> = rows
        .iter()
        .map(|row| row.iter().sum::<f64>() + noise * random.random_range(-1.0..1.0) > 0.0)
        .collect();
    Dataset::labelled(&rows, &names(&positive)).unwrap()
}

#[test]
fn never_worse_than_the_surrogates() {
    for (seed, features) in [(1, 2), (2, 3), (3, 5), (4, 10)] {
        let data = noisy(seed, 120, features, 0.6);
        let settings = Options {
            // If the search stops at its limit, its best hyperplane must still be no worse than the others.
            max_iter: Some(if features > 4 { 20 } else { 1_000_000 }),
            ..Options::of(Method::MinError)
        };
        let model = train(&data, &settings);
        let error = evaluate(&model, &data).unwrap().error();
        for method in [
            Method::Perceptron,
            Method::Pocket,
            Method::Svm,
            Method::Logistic,
            Method::MseClassifier,
            Method::Lda,
        ] {
            let other = train(&data, &Options::of(method));
            let other = evaluate(&other, &data).unwrap().error();
            assert!(error <= other, "{}: {error} and {other}", method.name());
            assert!(claim(&model).lower_bound <= 120.0 * other + 1e-9);
        }
    }
}

#[test]
fn a_few_flipped_labels_are_found_in_many_dimensions() {
    let mut random = ChaCha8Rng::seed_from_u64(10);
    let (n, features, flipped) = (400, 10, 6);
    let rows: Vec<Vec<f64>> = (0..n)
        .map(|_| (0..features).map(|_| random.random_range(-1.0..1.0)).collect())
        .collect();
    // Points away from the hyperplane, so that a flipped label is an error of every good hyperplane.
    let far: Vec<Vec<f64>> = rows
        .into_iter()
        .map(|mut row: Vec<f64>| {
            row[0] += if row[0] > 0.0 { 0.3 } else { -0.3 };
            row
        })
        .collect();
    let positive: Vec<bool> = (0..n).map(|i| (far[i][0] > 0.0) != (i < flipped)).collect();
    let data = Dataset::labelled(&far, &names(&positive)).unwrap();
    let model = min_error(&data);
    let claim = claim(&model);
    assert!(claim.errors as usize <= flipped && claim.errors >= 1);
    assert!(matches!(claim.proof, ErrorProof::Circuits(_)));
    holds(&model, &data);
}

#[test]
fn at_the_limit_the_lower_bound_is_proved_and_the_minimum_is_reported_unknown() {
    let data = noisy(5, 80, 8, 4.0);
    let settings = Options {
        max_iter: Some(30),
        ..Options::of(Method::MinError)
    };
    let model = train(&data, &settings);
    assert_eq!(model.record().status, Status::IterationLimit);
    let claim = claim(&model);
    assert!(!claim.holds() && claim.lower_bound >= 1.0 && claim.lower_bound < claim.cost);
    let verdict = verify(&model, &data).unwrap();
    assert!(!verdict.holds());
    assert!(
        matches!(verdict.objections()[0], Objection::LeastError { .. }),
        "{:?}",
        verdict.objections()
    );
    // The recomputed certificate nevertheless equals the claim.
    let Certificate::MinError(found) = verdict.certificate() else {
        panic!("{:?}", verdict.certificate());
    };
    assert_eq!(found, claim);

    let no_time = Options {
        max_seconds: Some(1e-9),
        ..Options::of(Method::MinError)
    };
    let model = train(&data, &no_time);
    assert_eq!(model.record().status, Status::TimeLimit);
    let verdict = verify(&model, &data).unwrap();
    assert!(matches!(verdict.objections()[0], Objection::LeastError { .. }));
}

#[test]
fn one_feature_is_solved_by_sorting() {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let xs: Vec<f64> = (0..50_000)
        .map(|_| (random.random_range(-1.0..1.0f64) * 1e4).round() / 1e4)
        .collect();
    let positive: Vec<bool> = xs.iter().map(|x| random.random_range(-1.0..1.0) < *x).collect();
    // The errors of x > t for every t in ascending order, and of the opposite classifier, by counting.
    let mut order: Vec<usize> = (0..xs.len()).collect();
    order.sort_by(|&a, &b| xs[a].total_cmp(&xs[b]));
    let all = xs.len() as u64;
    let mut above = positive.iter().filter(|positive| !**positive).count() as u64;
    let mut least = above.min(all - above);
    for (k, &i) in order.iter().enumerate() {
        above = if positive[i] { above + 1 } else { above - 1 };
        if order.get(k + 1).is_none_or(|&next| xs[next] > xs[i]) {
            least = least.min(above).min(all - above);
        }
    }
    let rows: Vec<Vec<f64>> = xs.iter().map(|&x| vec![x]).collect();
    let data = Dataset::labelled(&rows, &names(&positive)).unwrap();
    let started = std::time::Instant::now();
    let model = min_error(&data);
    assert_eq!(claim(&model).errors, least);
    holds(&model, &data);
    assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
}

#[test]
fn forged_proofs_are_refused() {
    let data = noisy(6, 100, 4, 0.5);
    let model = min_error(&data);
    holds(&model, &data);
    let forged = |change: &dyn Fn(&mut LeastError)| {
        let copy = common::forged(&model, |file| {
            if let Certificate::MinError(claim) = &mut file.certificate {
                change(claim);
            }
        });
        verify(&copy, &data).unwrap().holds()
    };
    let tree = |claim: &mut LeastError, change: &dyn Fn(&mut wstar::separate::least_error::Tree)| {
        let ErrorProof::Circuits(tree) = &mut claim.proof else {
            panic!("a tree was expected");
        };
        change(tree);
    };
    assert!(forged(&|_| {}), "nothing was changed");
    assert!(!forged(&|claim| claim.lower_bound += 1.0));
    assert!(!forged(&|claim| claim.lower_bound -= 1.0));
    assert!(!forged(&|claim| claim.cost -= 1.0));
    assert!(!forged(&|claim| claim.errors -= 1));
    assert!(!forged(&|claim| {
        claim.cost -= 1.0;
        claim.errors -= 1;
        claim.lower_bound -= 1.0;
    }));
    assert!(!forged(&|claim| tree(claim, &|tree| drop(tree.circuits.pop()))));
    assert!(!forged(&|claim| tree(claim, &|tree| drop(tree.steps.pop()))));
    assert!(!forged(&|claim| tree(claim, &|tree| tree
        .steps
        .push(ProofNode::Pack(Vec::new())))));
    let ErrorProof::Circuits(proof) = &claim(&model).proof else {
        panic!("a tree was expected");
    };
    for k in 0..proof.circuits.len() {
        assert!(
            !forged(&|claim| tree(claim, &|tree| tree.circuits[k].truncate(1))),
            "circuit {k}"
        );
        assert!(
            !forged(&|claim| tree(claim, &|tree| {
                // The circuit is replaced by a row that is not in it.
                let other = (0..100).find(|row| !tree.circuits[k].contains(row)).unwrap();
                tree.circuits[k] = vec![other];
            })),
            "circuit {k}"
        );
    }
    for k in 0..proof.steps.len() {
        let spoil = |tree: &mut wstar::separate::least_error::Tree| match &mut tree.steps[k] {
            ProofNode::Pack(circuits) => circuits.truncate(circuits.len().saturating_sub(1)),
            ProofNode::Split { order, .. } => {
                order.pop();
            }
        };
        let changes = !matches!(&proof.steps[k], ProofNode::Pack(circuits) if circuits.is_empty());
        assert!(!changes || !forged(&|claim| tree(claim, &spoil)), "step {k}");
    }
    // Another hyperplane has another number of errors.
    let other = common::forged(&model, |file| {
        if let Predictor::Linear { discriminants, .. } = &mut file.predictor {
            discriminants[0].weights[0] *= -1.0;
        }
    });
    assert!(!verify(&other, &data).unwrap().holds());
    // A proof by enumeration holds for the true minimum, and not for a larger lower bound.
    let flat = noisy(7, 100, 2, 0.5);
    let model = common::forged(&min_error(&flat), |file| {
        if let Certificate::MinError(claim) = &mut file.certificate {
            claim.proof = ErrorProof::Enumeration;
        }
    });
    holds(&model, &flat);
    let model = common::forged(&model, |file| {
        if let Certificate::MinError(claim) = &mut file.certificate {
            claim.lower_bound += 1.0;
        }
    });
    assert!(!verify(&model, &flat).unwrap().holds());
}

#[test]
fn any_number_of_threads_finds_the_same() {
    for (features, noise) in [(3, 0.6), (7, 0.3)] {
        let data = noisy(8, 90, features, noise);
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| min_error(&data))
        };
        assert_eq!(with(1), with(3));
    }
}

#[test]
fn invalid_problems_are_refused() {
    let rows = [vec![0.0], vec![1.0], vec![2.0]];
    let refused =
        |data: &Dataset, settings: &Options| fit(data, settings, &mut Unwatched).unwrap_err().to_string();
    let settings = Options::of(Method::MinError);
    let three = Dataset::labelled(&rows, &["a", "b", "c"]).unwrap();
    assert!(refused(&three, &settings).contains("two classes"));
    let one = Dataset::labelled(&rows, &["a", "a", "a"]).unwrap();
    assert!(refused(&one, &settings).contains("needs two"));
    let real = Dataset::measured(&rows, vec![0.0, 1.0, 2.0]).unwrap();
    assert!(refused(&real, &settings).contains("real number"));
    let two = Dataset::labelled(&rows, &["a", "b", "a"]).unwrap();
    for (settings, option) in [
        (
            Options {
                epochs: Some(3.0),
                ..settings.clone()
            },
            "epochs",
        ),
        (
            Options {
                c: Some(3.0),
                ..settings.clone()
            },
            "C",
        ),
        (
            Options {
                learning_rate: Some(3.0),
                ..settings.clone()
            },
            "learning-rate",
        ),
    ] {
        assert!(refused(&two, &settings).contains(option), "{option}");
    }
}
