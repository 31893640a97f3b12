//! Fits that minimise a loss, on real data: the optimum that is known, a gap that holds, a claim that verifies.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::path::Path;

use common::real_data;
use wstar::certify::Certificate;
use wstar::data::{Dataset, Design, Preparation, prepare};
use wstar::io::{Format, ReadOptions, Source, read};
use wstar::loss::LossName;
use wstar::metrics;
use wstar::penalty::PenaltyName;
use wstar::settings::{Method, Settings};
use wstar::watch::{Status, Unwatched};
use wstar::{Model, fit, verify};

fn load(path: &Path, positive: Option<&str>) -> Dataset {
    let options = ReadOptions {
        format: Some(Format::Svmlight),
        ..ReadOptions::default()
    };
    let raw = read(&Source::parse(path.to_str().unwrap()).unwrap(), &options).unwrap();
    let preparation = Preparation {
        positive: positive.map(str::to_string),
        ..Preparation::default()
    };
    prepare(raw, &preparation).unwrap()
}

/// Fits without an intercept at C = 1, and checks the objective against the known one, the gap and the claim.
#[track_caller]
fn meets(data: &Dataset, settings: &Settings, optimum: f64) -> Model {
    let settings = Settings {
        no_intercept: true,
        ..settings.clone()
    };
    let model = fit(data, &settings, &mut Unwatched).unwrap();
    assert_eq!(model.fit.status, Status::Converged);
    let objective = model.fit.objective.unwrap();
    assert!(
        objective <= optimum * (1.0 + 1e-6) && objective >= optimum * (1.0 - 1e-6),
        "{objective} is not within 1e-6 of {optimum}"
    );
    let Certificate::DualityGap { parts } = &model.certificate else {
        panic!("no gap");
    };
    assert!(parts[0].relative_gap <= 1e-6, "{}", parts[0].relative_gap);
    assert!(
        parts[0].dual <= optimum * (1.0 + 1e-9),
        "the dual value exceeds the optimum"
    );
    let verdict = verify(&model, data).unwrap();
    assert!(verdict.holds(), "{:?}", verdict.objections);
    model
}

fn svm(loss: LossName) -> Settings {
    Settings {
        loss: Some(loss),
        ..Settings::for_method(Method::Svm)
    }
}

fn l1_logistic() -> Settings {
    Settings {
        penalty: Some(PenaltyName::L1),
        ..Settings::for_method(Method::Logistic)
    }
}

#[test]
fn a9a() {
    let Some(path) = real_data("a9a/a9a") else { return };
    let data = load(&path, None);
    meets(&data, &Settings::for_method(Method::Logistic), 10529.56258464);
    meets(&data, &svm(LossName::SquaredHinge), 13742.39730438);
    meets(&data, &svm(LossName::Hinge), 11433.80769706);
    let lasso = meets(&data, &l1_logistic(), 10558.72337370);
    assert!(lasso.fit.objective.unwrap() <= 10558.72337370 * (1.0 + 1e-9));
}

#[test]
fn covtype() {
    let Some(path) = real_data("covtype/covtype.binary.scale.svm.gz") else {
        return;
    };
    let data = load(&path, None);
    meets(&data, &Settings::for_method(Method::Logistic), 298550.71835070);
    meets(&data, &svm(LossName::SquaredHinge), 403423.63037646);
    meets(&data, &svm(LossName::Hinge), 337953.0293);
    // Agreed upon by coordinate descent and orthant-wise Newton, each with a gap below 1e-9.
    meets(&data, &l1_logistic(), 298442.83199);
}

#[test]
fn twenty_news_one_class_against_the_rest() {
    let Some(path) = real_data("20news/20news_tfidf.train.svm.gz") else {
        return;
    };
    let data = load(&path, Some("1"));
    meets(&data, &Settings::for_method(Method::Logistic), 1410.39255533);
    meets(&data, &svm(LossName::SquaredHinge), 309.27728063);
    meets(&data, &svm(LossName::Hinge), 389.98084943);
    // Agreed upon by coordinate descent and orthant-wise Newton, each with a gap below 1e-11.
    meets(&data, &l1_logistic(), 1368.39490415);
    // The intercept that users have by default.
    for settings in [
        Settings::for_method(Method::Logistic),
        svm(LossName::Hinge),
        svm(LossName::SquaredHinge),
        l1_logistic(),
    ] {
        let model = fit(&data, &settings, &mut Unwatched).unwrap();
        assert_eq!(model.fit.status, Status::Converged, "{settings:?}");
        assert!(verify(&model, &data).unwrap().holds());
    }
}

#[test]
fn flights() {
    let Some(path) = real_data("flights/flights3m.binary.svm.gz") else {
        return;
    };
    let data = load(&path, None);
    meets(&data, &Settings::for_method(Method::Logistic), 1416311.13514364);
    meets(&data, &svm(LossName::SquaredHinge), 1814540.5890);
    meets(&data, &svm(LossName::Hinge), 1197295.3177);
    meets(&data, &l1_logistic(), 1416403.5);
}

#[test]
fn mnist_softmax() {
    let Some(folder) = real_data("mnist") else { return };
    let load = |images: &str, labels: &str| {
        let options = ReadOptions {
            labels: Some(folder.join(labels)),
            ..ReadOptions::default()
        };
        let source = Source::parse(folder.join(images).to_str().unwrap()).unwrap();
        let mut data = prepare(read(&source, &options).unwrap(), &Preparation::default()).unwrap();
        let (rows, features) = (data.rows(), data.features());
        let mut pixels = vec![0.0; rows * features];
        for (i, row) in data.design.iter().enumerate() {
            row.for_each(|j, value| pixels[i * features + j] = value / 255.0);
        }
        data.design = Design::from_dense(pixels, rows, features).unwrap();
        data
    };
    let train = load("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz");
    let settings = Settings {
        c: Some(0.01),
        ..Settings::for_method(Method::Softmax)
    };
    let model = fit(&train, &settings, &mut Unwatched).unwrap();
    assert_eq!(model.fit.status, Status::Converged);
    let objective = model.fit.objective.unwrap();
    assert!((objective / 218.5073303466 - 1.0).abs() <= 1e-6, "{objective}");
    assert!(verify(&model, &train).unwrap().holds());
    let test = load("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz");
    let (codes, _) = test.require_classes().unwrap();
    let predicted = model.predictor.classes(&test.design).unwrap();
    let error = metrics::error(codes, &predicted, None).unwrap();
    assert!((error - 0.081).abs() < 0.003, "{error}");
}
