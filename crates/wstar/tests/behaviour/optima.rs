//! Fits that minimise a loss, on real data: the known optimum, a gap that holds, and a claim that verifies.
#![allow(clippy::unwrap_used, missing_docs)]

use crate::common::{real_data, svmlight_data};
use wstar::certificate::Certificate;
use wstar::data::read::{ReadOptions, Source, read};
use wstar::data::run::{Status, Unwatched};
use wstar::data::{Dataset, Design, Preparation, prepare};
use wstar::metrics;
use wstar::model::verify;
use wstar::problem::loss::LossName;
use wstar::problem::penalty::PenaltyName;
use wstar::settings::{Method, Options};
use wstar::{Model, fit};

/// Fits without an intercept at C = 1, and checks the objective against the known optimum, the gap and the claim.
#[track_caller]
fn reaches(data: &Dataset, settings: &Options, optimum: f64) -> Model {
    let settings = Options {
        no_intercept: true,
        ..settings.clone()
    };
    let model = fit(data, &settings, &mut Unwatched).unwrap();
    assert_eq!(model.record().status, Status::Converged);
    let objective = model.record().objective.unwrap();
    assert!(
        objective <= optimum * (1.0 + 1e-6) && objective >= optimum * (1.0 - 1e-6),
        "{objective} is not within 1e-6 of {optimum}"
    );
    let Certificate::DualityGap { parts } = model.certificate() else {
        panic!("no gap");
    };
    assert!(parts[0].relative_gap <= 1e-6, "{}", parts[0].relative_gap);
    assert!(
        parts[0].dual <= optimum * (1.0 + 1e-9),
        "the dual value exceeds the optimum"
    );
    let verdict = verify(&model, data).unwrap();
    assert!(verdict.holds(), "{:?}", verdict.objections());
    model
}

fn svm(loss: LossName) -> Options {
    Options {
        loss: Some(loss),
        ..Options::of(Method::Svm)
    }
}

fn l1_logistic() -> Options {
    Options {
        penalty: Some(PenaltyName::L1),
        ..Options::of(Method::Logistic)
    }
}

#[test]
fn a9a() {
    let Some(path) = real_data("a9a/a9a") else { return };
    let data = svmlight_data(&path, None);
    reaches(&data, &Options::of(Method::Logistic), 10529.56258464);
    reaches(&data, &svm(LossName::SquaredHinge), 13742.39730438);
    reaches(&data, &svm(LossName::Hinge), 11433.80769706);
    let lasso = reaches(&data, &l1_logistic(), 10558.72337370);
    assert!(lasso.record().objective.unwrap() <= 10558.72337370 * (1.0 + 1e-9));
}

#[test]
fn covtype() {
    let Some(path) = real_data("covtype/covtype.binary.scale.svm.gz") else {
        return;
    };
    let data = svmlight_data(&path, None);
    reaches(&data, &Options::of(Method::Logistic), 298550.71835070);
    reaches(&data, &svm(LossName::SquaredHinge), 403423.63037646);
    reaches(&data, &svm(LossName::Hinge), 337953.0293);
    // Coordinate descent and orthant-wise Newton agree on this value, each with a gap below 1e-9.
    reaches(&data, &l1_logistic(), 298442.83199);
}

#[test]
fn twenty_news_one_class_against_the_rest() {
    let Some(path) = real_data("20news/20news_tfidf.train.svm.gz") else {
        return;
    };
    let data = svmlight_data(&path, Some("1"));
    reaches(&data, &Options::of(Method::Logistic), 1410.39255533);
    reaches(&data, &svm(LossName::SquaredHinge), 309.27728063);
    reaches(&data, &svm(LossName::Hinge), 389.98084943);
    // Coordinate descent and orthant-wise Newton agree on this value, each with a gap below 1e-11.
    reaches(&data, &l1_logistic(), 1368.39490415);
    // With the default intercept.
    for settings in [
        Options::of(Method::Logistic),
        svm(LossName::Hinge),
        svm(LossName::SquaredHinge),
        l1_logistic(),
    ] {
        let model = fit(&data, &settings, &mut Unwatched).unwrap();
        assert_eq!(model.record().status, Status::Converged, "{settings:?}");
        assert!(verify(&model, &data).unwrap().holds());
    }
}

#[test]
fn flights() {
    let Some(path) = real_data("flights/flights3m.binary.svm.gz") else {
        return;
    };
    let data = svmlight_data(&path, None);
    reaches(&data, &Options::of(Method::Logistic), 1416311.13514364);
    reaches(&data, &svm(LossName::SquaredHinge), 1814540.5890);
    reaches(&data, &svm(LossName::Hinge), 1197295.3177);
    reaches(&data, &l1_logistic(), 1416403.5);
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
        for (i, row) in data.design().iter().enumerate() {
            row.for_each(|j, value| pixels[i * features + j] = value / 255.0);
        }
        data = data
            .with_design(Design::from_dense(pixels, rows, features).unwrap())
            .unwrap();
        data
    };
    let train = load("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz");
    let settings = Options {
        c: Some(0.01),
        ..Options::of(Method::Softmax)
    };
    let model = fit(&train, &settings, &mut Unwatched).unwrap();
    assert_eq!(model.record().status, Status::Converged);
    let objective = model.record().objective.unwrap();
    assert!((objective / 218.5073303466 - 1.0).abs() <= 1e-6, "{objective}");
    assert!(verify(&model, &train).unwrap().holds());
    let test = load("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz");
    let (codes, _) = test.require_classes().unwrap();
    let predicted = model.classify(&test).unwrap();
    let error = metrics::error(codes, &predicted, None).unwrap();
    assert!((error - 0.081).abs() < 0.003, "{error}");
}
