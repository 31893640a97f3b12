//! Fits that minimise a loss, from settings to a verified model: weights, classes, scales, degenerate data, forged
//! claims.
#![allow(clippy::unwrap_used, missing_docs)]

use crate::common::{forged, sparse, with_rows};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use wstar::certificate::Certificate;
use wstar::data::run::{Status, Unwatched};
use wstar::data::{Classes, Dataset, Dense, Design, Schema, Target};
use wstar::model::verify;
use wstar::model::{Link, Predictor, judge};
use wstar::problem::loss::{LossName, Quantile};
use wstar::problem::multiclass::{ClassWeights, Multiclass};
use wstar::problem::penalty::PenaltyName;
use wstar::select::fit_path;
use wstar::settings::{Method, Options, Settings, Strength};
use wstar::{Model, fit};

/// Points of `classes` overlapping classes, each around its own centre.
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

/// Points with a noisy linear target.
fn measured(rows: usize, features: usize, seed: u64) -> Dataset {
    let data = clouds(rows, features, 2, seed);
    let points: Vec<Vec<f64>> = data.design().iter().map(|row| row.to_dense(features)).collect();
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
    let planes = model.predictor().hyperplanes().unwrap();
    planes.iter().flat_map(|plane| plane.lifted()).collect()
}

#[track_caller]
fn certified(data: &Dataset, settings: &Options) -> Model {
    let model = fit(data, settings, &mut Unwatched).unwrap();
    assert_eq!(
        model.record().status,
        Status::Converged,
        "{settings:?}\n{:?}",
        model.record()
    );
    assert!(model.certificate().holds(), "{settings:?}");
    let verdict = verify(&model, data).unwrap();
    assert!(verdict.holds(), "{settings:?}: {:?}", verdict.objections());
    model
}

/// Every method with every penalty that it supports, at a tight tolerance.
fn all_settings() -> Vec<Options> {
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
                // The nonconvex loss does not support ℓ1.
                if loss == LossName::SigmoidMse
                    && matches!(penalty, PenaltyName::L1 | PenaltyName::ElasticNet)
                {
                    continue;
                }
                all.push(Options {
                    loss: Some(loss),
                    penalty: Some(penalty),
                    ..Options::of(method)
                });
                if method == Method::Lad {
                    all.push(Options {
                        quantile: Some(Quantile::new(0.8).unwrap()),
                        penalty: Some(penalty),
                        ..Options::of(method)
                    });
                }
            }
        }
    }
    all
}

fn data_for(settings: &Options, rows: usize, features: usize, seed: u64) -> Dataset {
    match settings.method.unwrap() {
        Method::Softmax => clouds(rows, features, 3, seed),
        method if method.is_regression() => measured(rows, features, seed),
        _ => clouds(rows, features, 2, seed),
    }
}

#[test]
fn every_method_and_penalty_is_certified_on_every_storage() {
    for settings in all_settings() {
        let dense = data_for(&settings, 120, 5, 3);
        let objective = |data: &Dataset| certified(data, &settings).record().objective.unwrap();
        let (a, b) = (objective(&dense), objective(&sparse(&dense)));
        // The nonconvex loss may lead to another local minimum.
        if settings.loss != Some(LossName::SigmoidMse) {
            assert!(
                (a - b).abs() <= 2e-6 * a.abs().max(1.0),
                "{settings:?}: {a} and {b}"
            );
        }
    }
}

#[test]
fn a_weight_of_two_is_the_row_twice_and_a_weight_of_zero_no_row() {
    for settings in all_settings() {
        let settings = Options {
            tol: Some(1e-11),
            ..settings
        };
        let data = data_for(&settings, 60, 3, 5);
        let mut weighted = data.clone();
        let counts: Vec<f64> = (0..60).map(|i| [1.0, 2.0, 0.0, 1.0][i % 4]).collect();
        weighted = weighted.with_weights(counts).unwrap();
        let copies: Vec<usize> = (0..60).flat_map(|i| vec![i; [1, 2, 0, 1][i % 4]]).collect();
        let repeated = data.select(&copies);
        let one = fit(&weighted, &settings, &mut Unwatched).unwrap();
        let other = fit(&repeated, &settings, &mut Unwatched).unwrap();
        let (a, b) = (one.record().objective.unwrap(), other.record().objective.unwrap());
        assert!(
            (a - b).abs() <= 1e-9 * a.abs().max(1.0),
            "{settings:?}: {a} and {b}"
        );
        // With an ℓ2 term the minimiser is unique.
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
    let settings = Options {
        class_weight: Some(ClassWeights::Given(vec![("c1".into(), 3.0)])),
        ..Options::of(Method::Softmax)
    };
    let by_class = certified(&data, &settings).record().objective.unwrap();
    let Target::Classes { codes, .. } = data.target() else {
        panic!("classes")
    };
    let weights: Vec<f64> = codes
        .iter()
        .map(|&code| if code == 1 { 3.0 } else { 1.0 })
        .collect();
    data = data.with_weights(weights).unwrap();
    let by_row = certified(&data, &Options::of(Method::Softmax))
        .record()
        .objective
        .unwrap();
    assert!((by_class - by_row).abs() < 1e-6 * by_row);

    // Balanced data: 30 of 90 rows per class, so n/(K·nₖ) = 1 for all classes.
    data = data.with_weights(None).unwrap();
    let balanced = Options {
        class_weight: Some(ClassWeights::Balanced),
        ..Options::of(Method::Softmax)
    };
    let plain = certified(&data, &Options::of(Method::Softmax));
    let balanced = certified(&data, &balanced);
    assert!((plain.record().objective.unwrap() - balanced.record().objective.unwrap()).abs() < 1e-6);
}

#[test]
fn lambda_is_another_name_for_c() {
    let data = clouds(50, 4, 2, 1);
    let by_lambda = Options {
        lambda: Some(0.01),
        ..Options::of(Method::Logistic)
    };
    let by_c = Options {
        c: Some(1.0 / (50.0 * 0.01)),
        ..Options::of(Method::Logistic)
    };
    let (a, b) = (certified(&data, &by_lambda), certified(&data, &by_c));
    assert_eq!(weights(&a), weights(&b));
}

#[test]
fn softmax_of_two_classes_is_logistic_at_twice_c_with_half_the_weights() {
    // With weights w and −w the penalty is ‖w‖² and the log-odds are 2w·x. Softmax at C is therefore logistic
    // regression at 2C with half the weights.
    let data = clouds(80, 3, 2, 4);
    let tight = |method, c| Options {
        c: Some(c),
        tol: Some(1e-12),
        ..Options::of(method)
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
fn all_three_multiclass_reductions_classify() {
    let data = clouds(300, 6, 4, 9);
    for (multiclass, planes, link) in [
        (Multiclass::Softmax, 4, Link::Softmax),
        (Multiclass::Ovr, 4, Link::Logit),
        (Multiclass::Ovo, 6, Link::Pairs),
    ] {
        let settings = Options {
            multiclass: Some(multiclass),
            ..Options::of(Method::Logistic)
        };
        let model = certified(&data, &settings);
        let Predictor::Linear {
            discriminants,
            link: found,
            ..
        } = model.predictor()
        else {
            panic!("not linear")
        };
        assert_eq!((discriminants.len(), *found), (planes, link));
        let scores = model.scores(&data).unwrap();
        assert_eq!(scores.columns(), 4);
        match model.probabilities(&data).unwrap() {
            Some(shares) => {
                let decided = model.decide(&scores);
                for (row, class) in shares.rows().zip(decided).take(5) {
                    assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                    let best = (0..4).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
                    assert_eq!(best as u32, class);
                }
            }
            None => assert_eq!(link, Link::Pairs),
        }
        let wstar::model::Judgement::Classes(evaluation) = judge(&model, &data, None).unwrap() else {
            panic!("classes")
        };
        assert!(evaluation.error() < 0.5, "{multiclass:?}: {}", evaluation.error());
    }
}

/// The default fit reaches its gap on badly scaled, collinear and constant columns.
#[test]
fn fits_with_degenerate_columns_reach_their_gap() {
    let scaled = |data: &Dataset, scale: &dyn Fn(usize, f64) -> f64| {
        let rows: Vec<Vec<f64>> = data
            .design()
            .iter()
            .map(|row| {
                let row = row.to_dense(data.features());
                row.iter().enumerate().map(|(j, &x)| scale(j, x)).collect()
            })
            .collect();
        let mut copy = data.clone();
        copy = with_rows(copy, wstar::data::Design::from_rows(&rows).unwrap());
        copy
    };
    for settings in all_settings() {
        // The nonconvex loss is not tested here.
        if settings.loss == Some(LossName::SigmoidMse) {
            continue;
        }
        let data = data_for(&settings, 150, 6, 11);
        certified(
            &scaled(&data, &|j, x| x * 10f64.powi(6 - 2 * j as i32)),
            &settings,
        );
        // A column of tiny values, a constant column, a duplicate, a nearly collinear column and a column of zeros.
        certified(
            &scaled(&data, &|j, x| if j == 1 { x * 1e-7 } else { x }),
            &settings,
        );
        certified(&scaled(&data, &|j, x| if j == 2 { 7.0 } else { x }), &settings);
        let mut wide = data.clone();
        let rows: Vec<Vec<f64>> = data
            .design()
            .iter()
            .map(|row| {
                let mut row = row.to_dense(6);
                row.extend([row[0], row[1] + 1e-9 * row[2], 0.0]);
                row
            })
            .collect();
        wide = with_rows(wide, wstar::data::Design::from_rows(&rows).unwrap());
        certified(&wide, &settings);
        // Weights over ten orders of magnitude.
        let mut weighted = data.clone();
        let weights: Vec<f64> = (0..150).map(|i| 10f64.powi(i % 11 - 5)).collect();
        weighted = weighted.with_weights(weights).unwrap();
        certified(&weighted, &settings);
    }
}

#[test]
fn fewer_rows_than_columns() {
    for settings in all_settings() {
        let classifier = !settings.method.unwrap().is_regression();
        // With fewer rows than columns the classes are separable, and an unpenalised likelihood has no maximum.
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
            let settings = Options {
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
    let settings = Options {
        penalty: Some(PenaltyName::None),
        ..Options::of(Method::Logistic)
    };
    let model = fit(&data, &settings, &mut Unwatched).unwrap();
    assert_eq!(model.record().status, Status::Diverging);
    assert!(!model.certificate().holds());
    assert!(model.inference().is_none());
    assert!(
        model
            .record()
            .notes
            .iter()
            .any(|note| note.to_string().contains("separated")),
        "{:?}",
        model.record().notes
    );
}

#[test]
fn forged_models_do_not_verify() {
    for settings in all_settings() {
        let data = data_for(&settings, 100, 4, 12);
        let model = certified(&data, &settings);
        // Each weight, and the intercept, is changed by about 0.1 %.
        for j in 0..=4 {
            let forged = forged(&model, |file| {
                let Predictor::Linear { discriminants, .. } = &mut file.predictor else {
                    panic!("not linear")
                };
                let plane = &mut discriminants[0];
                match plane.weights.get_mut(j) {
                    Some(weight) => *weight += 1e-3 + 1e-3 * weight.abs(),
                    None => plane.intercept += 1e-3 + 1e-3 * plane.intercept.abs(),
                }
            });
            assert!(
                !verify(&forged, &data).unwrap().holds(),
                "{settings:?}, weight {j}"
            );
        }
        // A claim that is better than the true value.
        let better = forged(&model, |file| match &mut file.certificate {
            Certificate::DualityGap { parts } => parts[0].dual += 1e-3 * parts[0].dual.abs().max(1.0),
            Certificate::Stationarity { parts } => parts[0].objective *= 0.999,
            other => panic!("{other:?}"),
        });
        assert!(!verify(&better, &data).unwrap().holds(), "{settings:?}");
        // Another C than that of the fit, and other rows.
        let other_c = forged(&model, |file| {
            let Settings::Regularized(settings) = &mut file.settings else {
                panic!("not regularised")
            };
            settings.strength = Strength::C(1.25);
        });
        if settings.penalty != Some(PenaltyName::None) {
            assert!(!verify(&other_c, &data).unwrap().holds(), "{settings:?}");
        }
        let fewer = data.select(&(0..99).collect::<Vec<_>>());
        // A multiplier that is stored for the missing row is reported before any sum is computed.
        let verdict = verify(&model, &fewer);
        assert!(!verdict.is_ok_and(|verdict| verdict.holds()), "{settings:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The dual value of a certificate bounds the objective at any other point from below.
    #[test]
    fn no_point_lies_below_the_dual_value(seed in 0..1000u64, which in 0..28usize, at in prop::collection::vec(-3.0..3.0f64, 16)) {
        let settings = &all_settings()[which % all_settings().len()];
        prop_assume!(settings.loss != Some(LossName::SigmoidMse));
        let data = data_for(settings, 40, 3, seed);
        let model = fit(&data, settings, &mut Unwatched).unwrap();
        let Certificate::DualityGap { parts } = model.certificate() else { panic!("no gap") };
        let reduction = model.settings().regularized().unwrap().reduction(
            model.classes(),
            3,
            &wstar::problem::multiclass::Totals::of(&mut &data).unwrap(),
        ).unwrap();
        let point = &at[..reduction.problem().layout().len()];
        let elsewhere = wstar::certify::duality::certify(
            &mut reduction.rows(reduction.parts()[0], &data).unwrap(),
            reduction.problem(),
            point,
            wstar::certify::duality::DualPoint::Slopes,
            1.0,
        ).unwrap();
        let tolerance = 1e-9 * elsewhere.primal.abs().max(1.0);
        prop_assert!(elsewhere.primal >= parts[0].dual - tolerance);
        // The dual value at the other point bounds the optimum too.
        prop_assert!(elsewhere.dual <= parts[0].primal + tolerance);
    }
}

#[test]
fn nan_and_too_large_numbers_are_reported_with_their_position() {
    // So many rows that they get no validation pass of their own. The bad value is in a row that a sample is unlikely
    // to contain, in a column of small numbers.
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
            let design = Design::Dense64(Dense::new(values.clone(), rows, features).unwrap());
            let data = Dataset::new(design, target.clone(), Schema::numbered(features)).unwrap();
            let error = fit(&data, &Options::of(method), &mut Unwatched)
                .unwrap_err()
                .to_string();
            let place = format!("row {}, column {}", bad.0, data.schema().feature_name(bad.1));
            assert!(error.contains(&place), "{error}");
            values[bad.0 * features + bad.1] = before;
        }
    }
}

#[test]
fn fits_of_a_path_equal_separate_fits() {
    // So many features that the columns are copied; the fits of a path share the copy.
    let plain = measured(40, 1600, 5);
    let mut weighted = plain.clone();
    let weights: Vec<f64> = (0..40).map(|i| f64::from(i % 3)).collect();
    weighted = weighted.with_weights(weights).unwrap();
    for data in [&plain, &weighted, &sparse(&plain)] {
        for no_intercept in [false, true] {
            let lasso = |lambda| Options {
                penalty: Some(PenaltyName::L1),
                lambda: Some(lambda),
                no_intercept,
                ..Options::of(Method::LeastSquares)
            };
            // The last value increases again, because the order must not matter.
            let all: Vec<Options> = [2000.0, 700.0, 200.0, 50.0, 900.0].map(lasso).to_vec();
            let path = fit_path(data, &all, &mut Unwatched).unwrap();
            for (model, settings) in path.iter().zip(&all) {
                assert_eq!(model.record().status, Status::Converged);
                assert!(verify(model, data).unwrap().holds());
                let alone = fit(data, settings, &mut Unwatched)
                    .unwrap()
                    .record()
                    .objective
                    .unwrap();
                let along = model.record().objective.unwrap();
                assert!(
                    (along - alone).abs() <= 2e-6 * alone.max(1.0),
                    "{along}, alone {alone}"
                );
            }
        }
    }
}
