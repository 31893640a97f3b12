//! The mistake bound: never exceeded, recomputed by `verify`, and protected against forged certificates.
#![allow(clippy::unwrap_used)]

use crate::common::{Sections, forged, sparse};
use crate::perceptrons_sets::{Separable, hyperplane, noise, separable, settings, train};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use wstar::Model;
use wstar::certificate::{Certificate, MistakeBound};
use wstar::data::linear::Hyperplane;
use wstar::data::run::Status;
use wstar::data::{Dataset, Row};
use wstar::model::Predictor;
use wstar::model::verify;
use wstar::online::Ties;
use wstar::settings::{Method, Options, Rule};
use wstar::solve::learning_rate::Schedule;

fn claim(model: &Model) -> &MistakeBound {
    &claims(model)[0]
}

fn claims(model: &Model) -> &[MistakeBound] {
    match model.certificate() {
        Certificate::MistakeBound { parts } => parts,
        other => panic!("no bound: {other:?}"),
    }
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// A random separable set: 1 to 6 dimensions, 2 to 40 rows, margins and scales over several orders of magnitude.
fn any_separable(random: &mut ChaCha8Rng, intercept: bool) -> Separable {
    let features = random.random_range(1..=6);
    let rows = random.random_range(2..=40);
    let margin = 10f64.powf(random.random_range(-3.5..-0.3));
    let scale = 10f64.powf(random.random_range(-3.0..3.0));
    separable(random, features, rows, margin, scale, intercept)
}

/// `R²/γ²` for the hyperplane that generated the set.
fn novikoff(set: &Separable, intercept: bool) -> f64 {
    let lift = f64::from(u8::from(intercept));
    let radius = set.rows.iter().map(|x| norm(x).hypot(lift)).fold(0.0, f64::max);
    let length = norm(&set.weights).hypot(lift * set.intercept);
    let margin = (0..set.rows.len())
        .map(|i| {
            let score: f64 = set.rows[i].iter().zip(&set.weights).map(|(x, w)| x * w).sum();
            set.label(i) * (score + lift * set.intercept) / length
        })
        .fold(f64::INFINITY, f64::min);
    (radius / margin).powi(2)
}

fn orders() -> Vec<(Rule, u64)> {
    let shuffled = (0..3).map(|seed| (Rule::Shuffled, seed));
    [(Rule::Cyclic, 0), (Rule::Worst, 0)]
        .into_iter()
        .chain(shuffled)
        .collect()
}

fn holds(model: &Model, data: &Dataset) {
    let verdict = verify(model, data).unwrap();
    assert!(
        verdict.holds(),
        "{:?}\n{:?}",
        verdict.objections(),
        model.certificate()
    );
    assert!(model.certificate().holds());
}

#[test]
fn never_exceeded_on_separable_sets() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let (mut converged, mut tight) = (0, 0);
    for trial in 0..1500 {
        let intercept = trial % 4 > 0;
        let set = any_separable(&mut random, intercept);
        let data = set.data();
        let theory = novikoff(&set, intercept);
        for (rule, seed) in orders() {
            for ties in [Ties::Mistake, Ties::Positive] {
                let asked = Options {
                    rule: Some(rule),
                    seed,
                    ties: Some(ties),
                    no_intercept: !intercept,
                    epochs: Some(if rule == Rule::Worst { 2000.0 } else { 100.0 }),
                    ..settings(Method::Perceptron)
                };
                let model = train(&data, &asked);
                let claim = claim(&model);
                assert_eq!(claim.updates, model.record().iterations);
                assert!(
                    claim.updates as f64 <= theory * (1.0 + 1e-9),
                    "{} {theory}",
                    claim.updates
                );
                if model.record().status == Status::Converged {
                    converged += 1;
                    holds(&model, &data);
                    let error = model.classify(&data).unwrap();
                    assert!((0..error.len()).all(|i| (error[i] == 1) == (set.label(i) > 0.0)));
                    assert!(claim.separable());
                    let expected = (claim.radius / claim.margin.unwrap()).powi(2);
                    assert!((claim.bound.unwrap() / expected - 1.0).abs() < 1e-8);
                    tight += u32::from(claim.bound.unwrap() <= 2.0 * theory);
                } else {
                    assert_eq!(model.record().status, Status::IterationLimit);
                    if rule != Rule::Worst {
                        holds(&model, &data);
                    }
                }
            }
        }
    }
    assert!(converged > 5000, "only {converged} runs converged");
    assert!(
        tight > converged * 4 / 5,
        "{tight} of {converged} bounds are close to that of the known hyperplane"
    );
}

#[test]
fn never_exceeded_with_starts_schedules_and_weights() {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let mut finite = 0;
    for trial in 0..3000 {
        let intercept = random.random_bool(0.7);
        let set = any_separable(&mut random, intercept);
        let scale = set.rows.iter().map(|x| norm(x)).fold(0.0, f64::max);
        let mut data = set.data();
        if random.random_bool(0.3) {
            data = sparse(&data);
        }
        if random.random_bool(0.5) {
            let weights: Vec<f64> = (0..data.rows()).map(|_| random.random_range(0.2..3.0)).collect();
            data = data.with_weights(weights).unwrap();
        }
        let numbers = data.features() + usize::from(intercept);
        let rule = [Rule::Cyclic, Rule::Shuffled, Rule::Worst][trial % 3];
        let asked = Options {
            rule: Some(rule),
            seed: trial as u64,
            ties: Some([Ties::Mistake, Ties::Positive][trial / 3 % 2]),
            no_intercept: !intercept,
            epochs: Some(if rule == Rule::Worst { 2000.0 } else { 100.0 }),
            learning_rate: Some(10f64.powf(random.random_range(-2.0..2.0))),
            schedule: Some(match trial / 6 % 3 {
                0 => Schedule::Constant,
                1 => Schedule::Inverse,
                _ => Schedule::Halving {
                    first: random.random_range(1..50),
                },
            }),
            start: random.random_bool(0.5).then(|| {
                (0..numbers)
                    .map(|_| random.random_range(-5.0..5.0) * scale)
                    .collect()
            }),
            ..settings(Method::Perceptron)
        };
        let model = train(&data, &asked);
        let claim = claim(&model);
        let Some(bound) = claim.bound else {
            // With decaying rates and a thin margin, the number of updates may exceed every double; and the worst rule
            // proves nothing before it has separated the classes.
            assert!(rule == Rule::Worst || asked.schedule != Some(Schedule::Constant));
            assert!(!verify(&model, &data).unwrap().holds());
            continue;
        };
        finite += 1;
        assert!(claim.updates as f64 <= bound);
        holds(&model, &data);
    }
    assert!(finite > 2000, "only {finite} finite bounds");
}

#[test]
fn the_halving_and_inverse_bounds_are_those_of_their_sums() {
    // Rows ±1 without an intercept: R = γ = 1. One update separates them, and the bounds have closed forms.
    let data = Dataset::labelled(&[vec![1.0], vec![-1.0]], &["b", "a"]).unwrap();
    let bound = |schedule: Schedule| {
        let asked = Options {
            schedule: Some(schedule),
            no_intercept: true,
            ..settings(Method::Perceptron)
        };
        let model = train(&data, &asked);
        assert_eq!(model.record().iterations, 1);
        claim(&model).bound.unwrap()
    };
    let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-8, "{a} {b}");
    close(bound(Schedule::Constant), 1.0);
    // ln(M + 1) ≤ π/√6.
    close(
        bound(Schedule::Inverse),
        (std::f64::consts::PI / 6f64.sqrt()).exp() - 1.0,
    );
    // n = 2: S₁ ≤ √4 = 2 is reached at the end of the first stage, after 2 steps.
    close(bound(Schedule::Halving { first: 2 }), 2.0);
    // n = 1: S₁ ≤ √2 allows one whole stage and 0.414 of the second stage, which has 2 steps.
    close(
        bound(Schedule::Halving { first: 1 }),
        1.0 + 2.0 * (2f64.sqrt() - 1.0),
    );
}

#[test]
fn the_norm_of_a_wrong_start_enters_the_bound() {
    // Rows (1) +, (−1) −, start −10 without an intercept: 10 updates lead to 0, and one more separates the rows.
    let data = Dataset::labelled(&[vec![1.0], vec![-1.0]], &["b", "a"]).unwrap();
    let asked = Options {
        start: Some(vec![-10.0]),
        no_intercept: true,
        ..settings(Method::Perceptron)
    };
    let model = train(&data, &asked);
    assert_eq!(model.record().iterations, 11);
    assert_eq!(hyperplane(&model).weights, [1.0]);
    // M ≤ √M + 20 gives √M = (1 + √81)/2 = 5, so M = 25.
    assert!((claim(&model).bound.unwrap() - 25.0).abs() < 1e-6);
    holds(&model, &data);
}

#[test]
fn inseparable_sets_end_at_the_budget_with_a_bound_that_holds() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    for trial in 0..300 {
        let features = random.random_range(1..=5);
        let rows = random.random_range(3..=40);
        let names = if trial % 2 == 0 {
            &["a", "b"][..]
        } else {
            &["a", "b", "c"]
        };
        let mut data = noise(&mut random, features, rows, names);
        // Two equal rows of different classes make the set inseparable.
        let twin = data.design().row(0).to_dense(features);
        let mut points: Vec<Vec<f64>> = data.design().iter().map(|row| row.to_dense(features)).collect();
        points[1] = twin;
        let all = data.classes().unwrap().names().to_vec();
        let wstar::data::Target::Classes { codes, .. } = data.target() else {
            panic!("no classes");
        };
        let labels: Vec<String> = codes.iter().map(|&code| all[code as usize].clone()).collect();
        data = Dataset::labelled(&points, &labels).unwrap();
        if trial % 5 == 0 {
            let weights: Vec<f64> = (0..rows).map(|_| random.random_range(0.5..2.0)).collect();
            data = data.with_weights(weights).unwrap();
        }
        for (rule, seed) in orders() {
            let asked = Options {
                rule: Some(rule),
                seed,
                epochs: Some(15.0),
                ..settings(Method::Perceptron)
            };
            let model = train(&data, &asked);
            assert_eq!(model.record().status, Status::IterationLimit);
            if rule == Rule::Worst {
                assert!(!verify(&model, &data).unwrap().holds());
                continue;
            }
            assert_eq!(model.record().passes, 15);
            holds(&model, &data);
            assert!(claims(&model).iter().any(|part| !part.separable()));
            for (part, k) in claims(&model).iter().zip(0u32..) {
                slack_by_definition(&data, part, k);
            }
        }
    }
}

/// `D² = Σ max(0, γ − y·u·x̃)²` and the bound `((R + √k·D)/γ)²`, for unit weights.
fn slack_by_definition(data: &Dataset, part: &MistakeBound, k: u32) {
    let wstar::data::Target::Classes { codes, classes } = data.target() else {
        panic!("no classes");
    };
    let positive = if classes.len() == 2 { 1 } else { k };
    let (margin, u) = (part.margin.unwrap(), &part.separator);
    let mut squared = 0.0;
    for (row, &code) in data.design().iter().zip(codes) {
        let y = if code == positive { 1.0 } else { -1.0 };
        let x = row.to_dense(data.features());
        let score = x.iter().zip(&u.weights).map(|(x, w)| x * w).sum::<f64>() + u.intercept;
        squared += (margin - y * score).max(0.0).powi(2);
    }
    let slack = squared.sqrt();
    assert!((slack - part.slack).abs() <= 1e-9 * slack.max(part.radius));
    if data.weights().is_none() {
        let repeats = part.conditions.repeats.unwrap() as f64;
        let bound = ((part.radius + repeats.sqrt() * slack) / margin).powi(2);
        assert!((part.bound.unwrap() / bound - 1.0).abs() < 1e-8);
    }
}

#[test]
fn every_member_of_the_family_is_bounded() {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    for trial in 0..60 {
        let set = separable(&mut random, 3, 30, 0.05, 2.0, true);
        let mixed = noise(&mut random, 3, 30, &["a", "b", "c"]);
        for data in [set.data(), sparse(&set.data()), mixed] {
            for method in [
                Method::OnlinePerceptron,
                Method::AveragedPerceptron,
                Method::VotedPerceptron,
                Method::Pocket,
            ] {
                let asked = Options {
                    seed: trial,
                    ..settings(method)
                };
                holds(&train(&data, &asked), &data);
            }
        }
    }
}

fn refuses(model: &Model, data: &Dataset, what: &str, change: impl FnOnce(&mut MistakeBound, &mut Sections)) {
    let mut part = claim(model).clone();
    let forged = forged(model, |file| {
        change(&mut part, file);
        file.certificate = Certificate::MistakeBound { parts: vec![part] };
    });
    let verdict = verify(&forged, data).unwrap();
    assert!(!verdict.holds(), "{what} was accepted");
}

#[test]
fn forged_bounds_are_refused() {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    for trial in 0..200 {
        let set = separable(&mut random, 3, 20, 0.03, 1.0, true);
        let data = if trial % 2 == 0 {
            set.data()
        } else {
            noise(&mut random, 3, 20, &["a", "b"])
        };
        let asked = Options {
            rule: Some([Rule::Cyclic, Rule::Shuffled][trial / 2 % 2]),
            start: (trial % 3 == 0).then(|| vec![0.5, -1.0, 2.0, 0.25]),
            epochs: Some(300.0),
            ..settings(Method::Perceptron)
        };
        let model = train(&data, &asked);
        holds(&model, &data);
        let beyond = claim(&model).bound.unwrap() as u64 + 1;
        refuses(&model, &data, "too many updates", |part, file| {
            part.updates = beyond;
            file.record.iterations = beyond;
        });
        refuses(&model, &data, "fewer updates than made", |part, _| {
            part.updates -= 1
        });
        refuses(&model, &data, "a smaller radius", |part, _| {
            part.radius *= 0.999_999
        });
        refuses(&model, &data, "a larger margin", |part, _| {
            part.margin = part.margin.map(|margin| margin * 1.000_001);
        });
        refuses(&model, &data, "a smaller margin", |part, _| {
            part.margin = part.margin.map(|margin| margin * 0.999_999);
        });
        refuses(&model, &data, "no margin", |part, _| part.margin = None);
        refuses(&model, &data, "a negative margin", |part, _| {
            part.margin = part.margin.map(|margin| -margin);
        });
        refuses(&model, &data, "another slack", |part, _| {
            part.slack += 1e-6 * (part.radius + part.slack)
        });
        refuses(&model, &data, "a smaller bound", |part, _| {
            part.bound = part.bound.map(|bound| bound * 0.999_999);
        });
        refuses(&model, &data, "a larger bound", |part, _| {
            part.bound = part.bound.map(|bound| bound * 1.000_001);
        });
        refuses(&model, &data, "no bound", |part, _| part.bound = None);
        refuses(&model, &data, "another separator", |part, _| {
            part.separator.weights[1] += 1e-3
        });
        // With slack, the opposite hyperplane may be just as good a separator.
        if claim(&model).separable() {
            refuses(&model, &data, "a turned separator", |part, _| {
                part.separator.weights.iter_mut().for_each(|w| *w = -*w);
                part.separator.intercept *= -1.0;
            });
            refuses(&model, &data, "a longer separator", |part, _| {
                part.separator.weights.iter_mut().for_each(|w| *w *= 2.0);
                part.separator.intercept *= 2.0;
            });
        }
        refuses(&model, &data, "another rate", |part, _| {
            part.conditions.rate *= 2.0
        });
        refuses(&model, &data, "fewer repeats", |part, _| {
            part.conditions.repeats = Some(0)
        });
        refuses(&model, &data, "another schedule", |part, _| {
            part.conditions.schedule = Schedule::Inverse
        });
        refuses(&model, &data, "another start", |part, _| {
            part.conditions.start = Some(Hyperplane::new(vec![9.0; 3], 9.0));
        });
        refuses(&model, &data, "no intercept", |part, _| {
            part.conditions.intercept = false
        });
        if model.record().status == Status::Converged {
            refuses(&model, &data, "a hyperplane that errs", |_, file| {
                if let Predictor::Linear { discriminants, .. } = &mut file.predictor {
                    // Moves the hyperplane past the first row, which is then on the wrong side.
                    let score = discriminants[0].score(data.design().row(0));
                    discriminants[0].intercept -= 1.5 * score;
                }
            });
        }
        // Other data than the model's: fewer rows, or a row with a larger norm.
        let fewer = data.select(&(1..20).collect::<Vec<_>>());
        assert!(!verify(&model, &fewer).unwrap().holds());
        let mut moved: Vec<Vec<f64>> = data.design().iter().map(|row: Row<'_>| row.to_dense(3)).collect();
        moved[0].iter_mut().for_each(|v| *v = 100.0);
        let mut other = data.clone();
        other = other
            .with_design(wstar::data::Design::from_rows(&moved).unwrap())
            .unwrap();
        assert!(!verify(&model, &other).unwrap().holds());
    }
}
