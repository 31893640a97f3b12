//! Fits that minimise a loss, from settings to a verified model: weights, classes, scales, degenerate data, forged claims.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::sparse;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use wstar::certify::Certificate;
use wstar::data::{Classes, Dataset, Dense, Design, Schema, Target};
use wstar::fit::fit_path;
use wstar::loss::{LossName, Quantile};
use wstar::model::{Link, Predictor, judge};
use wstar::penalty::PenaltyName;
use wstar::settings::{ClassWeights, Method, Multiclass, Settings};
use wstar::watch::{Status, Unwatched};
use wstar::{Model, fit, verify};

/// Points of `classes` classes around different centres, overlapping.
fn clouds(rows: usize, features: usize, classes: usize, seed: u64) -> Dataset {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = move || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
    let mut points = Vec::new();
    let mut labels = Vec::new();
    for i in 0..rows {
        let class = i % classes;
        let point: Vec<f64> = (0..features)
            .map(|j| normal() + if j % classes == class { 0.8 } else { 0.0 })
            .collect();
        points.push(point);
        labels.push(format!("c{class}"));
    }
    Dataset::labelled(&points, &labels).unwrap()
}

/// A noisy linear target.
fn measured(rows: usize, features: usize, seed: u64) -> Dataset {
    let data = clouds(rows, features, 2, seed);
    let points: Vec<Vec<f64>> = data.design.iter().map(|row| row.to_dense(features)).collect();
    let mut random = ChaCha8Rng::seed_from_u64(seed + 1);
    let target = points.iter().map(|x| {
        3.0 + x
            .iter()
            .enumerate()
            .map(|(j, x)| x * (j as f64 - 1.0))
            .sum::<f64>()
            + random.random::<f64>()
    });
    let target: Vec<f64> = target.collect();
    Dataset::measured(&points, target).unwrap()
}

fn weights(model: &Model) -> Vec<f64> {
    let planes = model.predictor.hyperplanes().unwrap();
    planes.iter().flat_map(|plane| plane.lifted()).collect()
}

#[track_caller]
fn certified(data: &Dataset, settings: &Settings) -> Model {
    let model = fit(data, settings, &mut Unwatched).unwrap();
    assert_eq!(
        model.fit.status,
        Status::Converged,
        "{settings:?}\n{:?}",
        model.fit
    );
    assert!(model.certificate.holds(), "{settings:?}");
    let verdict = verify(&model, data).unwrap();
    assert!(verdict.holds(), "{settings:?}: {:?}", verdict.objections);
    model
}

/// Every method with every penalty it can have, tightly solved.
fn all_settings() -> Vec<Settings> {
    let mut all = Vec::new();
    for method in [
        Method::Logistic,
        Method::Softmax,
        Method::Svm,
        Method::MseClassifier,
        Method::LeastSquares,
        Method::Lad,
    ] {
        for &loss in method.losses() {
            for penalty in [
                PenaltyName::L2,
                PenaltyName::L1,
                PenaltyName::ElasticNet,
                PenaltyName::None,
            ] {
                // ℓ1 is refused for the loss that is not convex.
                if loss == LossName::SigmoidMse
                    && matches!(penalty, PenaltyName::L1 | PenaltyName::ElasticNet)
                {
                    continue;
                }
                all.push(Settings {
                    loss: Some(loss),
                    penalty: Some(penalty),
                    ..Settings::for_method(method)
                });
                if method == Method::Lad {
                    all.push(Settings {
                        quantile: Some(Quantile::new(0.8).unwrap()),
                        penalty: Some(penalty),
                        ..Settings::for_method(method)
                    });
                }
            }
        }
    }
    all
}

fn data_for(settings: &Settings, rows: usize, features: usize, seed: u64) -> Dataset {
    match settings.method() {
        Method::Softmax => clouds(rows, features, 3, seed),
        method if method.is_regression() => measured(rows, features, seed),
        _ => clouds(rows, features, 2, seed),
    }
}

#[test]
fn every_method_and_penalty_is_certified_on_every_storage() {
    for settings in all_settings() {
        let dense = data_for(&settings, 120, 5, 3);
        let objective = |data: &Dataset| certified(data, &settings).fit.objective.unwrap();
        let (a, b) = (objective(&dense), objective(&sparse(&dense)));
        // A loss that is not convex may lead elsewhere.
        if settings.loss != Some(LossName::SigmoidMse) {
            assert!(
                (a - b).abs() <= 2e-6 * a.abs().max(1.0),
                "{settings:?}: {a} and {b}"
            );
        }
    }
}

#[test]
fn a_row_of_weight_two_is_the_row_twice_and_of_weight_zero_none() {
    for settings in all_settings() {
        let settings = Settings {
            tol: Some(1e-11),
            ..settings
        };
        let data = data_for(&settings, 60, 3, 5);
        let mut weighted = data.clone();
        weighted.weights = Some((0..60).map(|i| [1.0, 2.0, 0.0, 1.0][i % 4]).collect());
        let copies: Vec<usize> = (0..60).flat_map(|i| vec![i; [1, 2, 0, 1][i % 4]]).collect();
        let repeated = data.select(&copies);
        let one = fit(&weighted, &settings, &mut Unwatched).unwrap();
        let other = fit(&repeated, &settings, &mut Unwatched).unwrap();
        let (a, b) = (one.fit.objective.unwrap(), other.fit.objective.unwrap());
        assert!(
            (a - b).abs() <= 1e-9 * a.abs().max(1.0),
            "{settings:?}: {a} and {b}"
        );
        // The optimum is unique under an ℓ2 share.
        if matches!(settings.penalty, Some(PenaltyName::L2 | PenaltyName::ElasticNet))
            && settings.loss != Some(LossName::SigmoidMse)
        {
            for (u, v) in weights(&one).iter().zip(weights(&other)) {
                assert!(
                    (u - v).abs() <= 1e-4 * (1.0 + u.abs()),
                    "{settings:?}: {u} and {v}"
                );
            }
        }
    }
}

#[test]
fn class_weights_are_sample_weights() {
    let mut data = clouds(90, 3, 3, 8);
    let settings = Settings {
        class_weight: Some(ClassWeights::Given(vec![("c1".into(), 3.0)])),
        ..Settings::for_method(Method::Softmax)
    };
    let by_class = certified(&data, &settings).fit.objective.unwrap();
    let Target::Classes { codes, .. } = &data.target else {
        panic!("classes")
    };
    data.weights = Some(
        codes
            .iter()
            .map(|&code| if code == 1 { 3.0 } else { 1.0 })
            .collect(),
    );
    let by_row = certified(&data, &Settings::for_method(Method::Softmax))
        .fit
        .objective
        .unwrap();
    assert!((by_class - by_row).abs() < 1e-6 * by_row);

    // Balanced: 30 of 90 rows each, so n/(K·nₖ) = 1 for all.
    data.weights = None;
    let balanced = Settings {
        class_weight: Some(ClassWeights::Balanced),
        ..Settings::for_method(Method::Softmax)
    };
    let plain = certified(&data, &Settings::for_method(Method::Softmax));
    let balanced = certified(&data, &balanced);
    assert!((plain.fit.objective.unwrap() - balanced.fit.objective.unwrap()).abs() < 1e-6);
}

#[test]
fn lambda_is_another_name_for_c() {
    let data = clouds(50, 4, 2, 1);
    let by_lambda = Settings {
        lambda: Some(0.01),
        ..Settings::for_method(Method::Logistic)
    };
    let by_c = Settings {
        c: Some(1.0 / (50.0 * 0.01)),
        ..Settings::for_method(Method::Logistic)
    };
    let (a, b) = (certified(&data, &by_lambda), certified(&data, &by_c));
    assert_eq!(weights(&a), weights(&b));
}

#[test]
fn two_classes_by_softmax_are_twice_half_a_logistic() {
    // With w and −w the penalty is ‖w‖² and the log-odds 2w·x, so softmax at C is logistic at 2C, halved.
    let data = clouds(80, 3, 2, 4);
    let tight = |method, c| Settings {
        c: Some(c),
        tol: Some(1e-12),
        ..Settings::for_method(method)
    };
    let softmax = certified(&data, &tight(Method::Softmax, 1.0));
    let logistic = certified(&data, &tight(Method::Logistic, 2.0));
    let (softmax, logistic) = (weights(&softmax), weights(&logistic));
    for j in 0..3 {
        assert!((2.0 * softmax[4 + j] - logistic[j]).abs() < 1e-5, "{j}");
        assert!((softmax[j] + softmax[4 + j]).abs() < 1e-5);
    }
}

#[test]
fn classes_are_told_apart_in_all_three_ways() {
    let data = clouds(300, 6, 4, 9);
    for (multiclass, planes, link) in [
        (Multiclass::Softmax, 4, Link::Softmax),
        (Multiclass::Ovr, 4, Link::Logit),
        (Multiclass::Ovo, 6, Link::Pairs),
    ] {
        let settings = Settings {
            multiclass: Some(multiclass),
            ..Settings::for_method(Method::Logistic)
        };
        let model = certified(&data, &settings);
        let Predictor::Linear {
            discriminants,
            link: found,
            ..
        } = &model.predictor
        else {
            panic!("not linear")
        };
        assert_eq!((discriminants.len(), *found), (planes, link));
        let scores = model.predictor.scores(&data.design).unwrap();
        assert_eq!(scores.columns, 4);
        for row in scores.rows().take(5) {
            match model.predictor.probabilities(row) {
                Some(shares) => {
                    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                    let best = (0..4).max_by(|&a, &b| shares[a].total_cmp(&shares[b])).unwrap();
                    assert_eq!(best as u32, model.predictor.decide(row));
                }
                None => assert_eq!(link, Link::Pairs),
            }
        }
        let wstar::model::Judgement::Classes(evaluation) = judge(&model, &data, None).unwrap() else {
            panic!("classes")
        };
        assert!(evaluation.error < 0.5, "{multiclass:?}: {}", evaluation.error);
    }
}

/// Whatever the columns look like, the default fit reaches its gap.
#[test]
fn degenerate_columns_do_not_keep_a_fit_from_its_gap() {
    let scaled = |data: &Dataset, scale: &dyn Fn(usize, f64) -> f64| {
        let rows: Vec<Vec<f64>> = data
            .design
            .iter()
            .map(|row| {
                let row = row.to_dense(data.features());
                row.iter().enumerate().map(|(j, &x)| scale(j, x)).collect()
            })
            .collect();
        let mut copy = data.clone();
        copy.design = wstar::data::Design::from_rows(&rows).unwrap();
        copy.schema = wstar::data::Schema::numbered(copy.design.features());
        copy
    };
    for settings in all_settings() {
        // Without a penalty the estimate may not exist; that is not a matter of conditioning.
        if settings.loss == Some(LossName::SigmoidMse) {
            continue;
        }
        let data = data_for(&settings, 150, 6, 11);
        certified(
            &scaled(&data, &|j, x| x * 10f64.powi(6 - 2 * j as i32)),
            &settings,
        );
        // Nearly collinear, duplicated and constant columns.
        certified(
            &scaled(&data, &|j, x| if j == 1 { x * 1e-7 } else { x }),
            &settings,
        );
        certified(&scaled(&data, &|j, x| if j == 2 { 7.0 } else { x }), &settings);
        let mut wide = data.clone();
        let rows: Vec<Vec<f64>> = data
            .design
            .iter()
            .map(|row| {
                let mut row = row.to_dense(6);
                row.extend([row[0], row[1] + 1e-9 * row[2], 0.0]);
                row
            })
            .collect();
        wide.design = wstar::data::Design::from_rows(&rows).unwrap();
        wide.schema = wstar::data::Schema::numbered(9);
        certified(&wide, &settings);
        // Weights over ten orders.
        let mut weighted = data.clone();
        weighted.weights = Some((0..150).map(|i| 10f64.powi(i % 11 - 5)).collect());
        certified(&weighted, &settings);
    }
}

#[test]
fn fewer_rows_than_columns() {
    for settings in all_settings() {
        let classifier = !settings.method().is_regression();
        // Fewer rows than columns are separable: without a penalty a classifier's likelihood has no maximum.
        if classifier && settings.penalty == Some(PenaltyName::None)
            || settings.loss == Some(LossName::SigmoidMse)
        {
            continue;
        }
        certified(&data_for(&settings, 12, 30, 2), &settings);
    }
}

#[test]
fn large_and_small_c() {
    for settings in all_settings() {
        if settings.penalty == Some(PenaltyName::None) || settings.loss == Some(LossName::SigmoidMse) {
            continue;
        }
        for c in [1e-6, 1e-3, 1e3, 1e6] {
            let settings = Settings {
                c: Some(c),
                ..settings.clone()
            };
            certified(&data_for(&settings, 80, 4, 6), &settings);
        }
    }
}

#[test]
fn separable_classes_have_no_unpenalised_logistic_fit() {
    let rows: Vec<Vec<f64>> = (0..20).map(|i| vec![f64::from(i)]).collect();
    let labels: Vec<&str> = (0..20).map(|i| if i < 10 { "a" } else { "b" }).collect();
    let data = Dataset::labelled(&rows, &labels).unwrap();
    let settings = Settings {
        penalty: Some(PenaltyName::None),
        ..Settings::for_method(Method::Logistic)
    };
    let model = fit(&data, &settings, &mut Unwatched).unwrap();
    assert_eq!(model.fit.status, Status::Diverging);
    assert!(!model.certificate.holds());
    assert!(model.inference.is_none());
    assert!(
        model.fit.notes.iter().any(|note| note.contains("separated")),
        "{:?}",
        model.fit.notes
    );
}

#[test]
fn what_is_forged_does_not_verify() {
    for settings in all_settings() {
        let data = data_for(&settings, 100, 4, 12);
        let model = certified(&data, &settings);
        // Any weight moved by a thousandth of itself, and the intercept.
        for j in 0..=4 {
            let mut forged = model.clone();
            let Predictor::Linear { discriminants, .. } = &mut forged.predictor else {
                panic!("not linear")
            };
            let plane = &mut discriminants[0];
            match plane.weights.get_mut(j) {
                Some(weight) => *weight += 1e-3 + 1e-3 * weight.abs(),
                None => plane.intercept += 1e-3 + 1e-3 * plane.intercept.abs(),
            }
            assert!(
                !verify(&forged, &data).unwrap().holds(),
                "{settings:?}, weight {j}"
            );
        }
        // A claim that is better than the truth.
        let mut forged = model.clone();
        match &mut forged.certificate {
            Certificate::DualityGap { parts } => parts[0].dual += 1e-3 * parts[0].dual.abs().max(1.0),
            Certificate::Stationarity { parts } => parts[0].objective *= 0.999,
            other => panic!("{other:?}"),
        }
        assert!(!verify(&forged, &data).unwrap().holds(), "{settings:?}");
        // Another C than the one it was fitted with, and other rows.
        let mut forged = model.clone();
        forged.settings.c = Some(1.25);
        if settings.penalty != Some(PenaltyName::None) {
            assert!(!verify(&forged, &data).unwrap().holds(), "{settings:?}");
        }
        let fewer = data.select(&(0..99).collect::<Vec<_>>());
        // Where a multiplier is stored for the row that is missing, that is said before anything is summed.
        let verdict = verify(&model, &fewer);
        assert!(!verdict.is_ok_and(|verdict| verdict.holds()), "{settings:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The dual value of a certificate bounds the objective at any other point.
    #[test]
    fn no_point_lies_below_the_dual_value(seed in 0..1000u64, which in 0..28usize, at in prop::collection::vec(-3.0..3.0f64, 16)) {
        let settings = &all_settings()[which % all_settings().len()];
        prop_assume!(settings.loss != Some(LossName::SigmoidMse));
        let data = data_for(settings, 40, 3, seed);
        let model = fit(&data, settings, &mut Unwatched).unwrap();
        let Certificate::DualityGap { parts } = &model.certificate else { panic!("no gap") };
        let reduction = wstar::reduction::Reduction::new(
            settings,
            &model.classes,
            3,
            &wstar::reduction::Totals::of(&mut &data).unwrap(),
        ).unwrap();
        let point = &at[..reduction.definition.layout.len()];
        let elsewhere = wstar::certify::duality::certify(
            &mut reduction.rows(reduction.parts[0], &data).unwrap(),
            &reduction.definition,
            point,
            wstar::certify::duality::DualPoint::Slopes,
            1.0,
        ).unwrap();
        let tolerance = 1e-9 * elsewhere.primal.abs().max(1.0);
        prop_assert!(elsewhere.primal >= parts[0].dual - tolerance);
        // And its own dual value bounds the optimum.
        prop_assert!(elsewhere.dual <= parts[0].primal + tolerance);
    }
}

#[test]
fn numbers_that_are_none_or_too_large_are_named_wherever_they_stand() {
    // Many rows, which no pass of their own looks at: one that a sample would hardly have, in a column of small numbers.
    let (rows, features, bad) = (1 << 18, 32, (201_234, 17));
    let mut values: Vec<f64> = (0..rows * features)
        .map(|k| ((k * 7919) % 1013) as f64 / 1013.0 + 1e-10 * (k % features) as f64)
        .collect();
    let classes = (0..rows as u32).map(|i| (i * 31 % 101) / 51).collect();
    let targets = [
        (
            Method::LeastSquares,
            Target::Real((0..rows).map(|i| (i % 97) as f64).collect()),
        ),
        (
            Method::Logistic,
            Target::Classes {
                codes: classes,
                classes: Classes::ordered(["no", "yes"].map(String::from)).unwrap(),
            },
        ),
    ];
    for (method, target) in targets {
        for wrong in [f64::NAN, f64::INFINITY, 1e101] {
            let before = std::mem::replace(&mut values[bad.0 * features + bad.1], wrong);
            let data = Dataset {
                source: "X".into(),
                design: Design::Dense64(Dense::new(values.clone(), rows, features).unwrap()),
                target: target.clone(),
                weights: None,
                schema: Schema::numbered(features),
                notes: Vec::new(),
            };
            let error = fit(&data, &Settings::for_method(method), &mut Unwatched)
                .unwrap_err()
                .to_string();
            let place = format!("row {}, column {}", bad.0, data.schema.feature_name(bad.1));
            assert!(error.contains(&place), "{error}");
            values[bad.0 * features + bad.1] = before;
        }
    }
}

#[test]
fn a_path_is_its_fits_one_by_one() {
    // So many features that the columns are copied, which the fits of a path share.
    let plain = measured(40, 1600, 5);
    let mut weighted = plain.clone();
    weighted.weights = Some((0..40).map(|i| f64::from(i % 3)).collect());
    for data in [&plain, &weighted, &sparse(&plain)] {
        for no_intercept in [false, true] {
            let lasso = |lambda| Settings {
                penalty: Some(PenaltyName::L1),
                lambda: Some(lambda),
                no_intercept,
                ..Settings::for_method(Method::LeastSquares)
            };
            // Up again at the end: nothing hangs on the order.
            let all: Vec<Settings> = [2000.0, 700.0, 200.0, 50.0, 900.0].map(lasso).to_vec();
            let path = fit_path(data, &all, &mut Unwatched).unwrap();
            for (model, settings) in path.iter().zip(&all) {
                assert_eq!(model.fit.status, Status::Converged);
                assert!(verify(model, data).unwrap().holds());
                let alone = fit(data, settings, &mut Unwatched)
                    .unwrap()
                    .fit
                    .objective
                    .unwrap();
                let along = model.fit.objective.unwrap();
                assert!(
                    (along - alone).abs() <= 2e-6 * alone.max(1.0),
                    "{along}, alone {alone}"
                );
            }
        }
    }
}
