//! Digits of the optimum in models: default and on request, in the model file, and no forged ones.
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use wstar::Model;
use wstar::data::Dataset;
use wstar::data::run::Unwatched;
use wstar::model::Note;
use wstar::problem::penalty::PenaltyName;
use wstar::settings::{Method, Options, Prove};

/// Two overlapping classes of many rows, with an optimum.
fn classes(n: usize) -> Dataset {
    let wave = |i: usize, k: f64| (i as f64 * k).sin();
    let x: Vec<Vec<f64>> = (0..n).map(|i| vec![wave(i, 1.3), 40.0 + wave(i, 2.9)]).collect();
    let label = |(i, x): (usize, &Vec<f64>)| {
        if x[0] + 0.7 * (x[1] - 40.0) + 1.5 * wave(i, 7.7) > 0.1 {
            "b"
        } else {
            "a"
        }
    };
    let labels: Vec<&str> = x.iter().enumerate().map(label).collect();
    Dataset::labelled(&x, &labels).unwrap()
}

fn fit(data: &Dataset, options: &Options) -> wstar::Result<Model> {
    wstar::fit(data, options, &mut Unwatched)
}

fn logistic() -> Options {
    Options::of(Method::Logistic)
}

fn unpenalized() -> Options {
    Options {
        penalty: Some(PenaltyName::None),
        ..logistic()
    }
}

#[test]
fn small_fits_prove_digits_and_verify_them() {
    let data = classes(300);
    for options in [logistic(), unpenalized()] {
        let model = fit(&data, &options).unwrap();
        let [proved] = model.proved().unwrap() else {
            panic!("one problem")
        };
        assert_eq!(proved.len(), 3);
        assert!(proved.least_digits() >= 11, "{proved:?}");
        let has_errors = options.penalty == Some(PenaltyName::None);
        assert_eq!(proved.standard_errors.is_some(), has_errors);
        // The fit itself is near the intervals.
        let plane = &model.hyperplanes().unwrap()[0];
        assert!((plane.weights[0] - proved.centre[0]).abs() <= 1e-2 * proved.centre[0].abs());
        if let (Some(errors), Some(inference)) = (&proved.standard_errors, model.inference()) {
            for (j, c) in inference.coefficients().iter().enumerate() {
                let middle = 0.5 * (errors.lower[j] + errors.upper[j]);
                assert!((c.standard_error() - middle).abs() <= 1e-3 * middle);
                assert!(proved.standard_error_digits(j).unwrap() >= 8, "{proved:?}");
            }
        }
        assert!(model.verify(&data).unwrap().holds());
        let read = Model::from_json(&model.to_json().unwrap()).unwrap();
        assert_eq!(read, model);
    }
}

#[test]
fn large_fits_prove_digits_on_request() {
    let data = classes(60_000);
    let prove = |prove, digits| {
        let options = Options {
            prove,
            digits,
            ..logistic()
        };
        fit(&data, &options).unwrap()
    };
    assert!(prove(None, None).proved().is_none());
    let model = prove(Some(Prove::Digits), None);
    assert!(model.proved().unwrap()[0].least_digits() >= 10);
    // With digits the coefficients themselves have them.
    let model = prove(None, Some(10));
    let proved = &model.proved().unwrap()[0];
    let plane = &model.hyperplanes().unwrap()[0];
    for (j, w) in plane.weights.iter().chain([&plane.intercept]).enumerate() {
        let half = 0.5e-10 * w.abs();
        assert!(
            proved.lower(j) >= w - half && proved.upper(j) <= w + half,
            "{w} {proved:?}"
        );
    }
    assert!(model.certificate().holds() && model.verify(&data).unwrap().holds());
}

#[test]
fn several_classes_one_against_the_rest_are_enclosed_each() {
    let data = wstar::read("@iris").unwrap().dataset().unwrap();
    let options = Options {
        multiclass: Some(wstar::problem::multiclass::Multiclass::Ovr),
        ..logistic()
    };
    let model = fit(&data, &options).unwrap();
    assert_eq!(model.proved().map(<[_]>::len), Some(3));
    assert!(model.verify(&data).unwrap().holds());
    // Softmax has no enclosure. A note says so if digits are asked for.
    let asked = Options {
        prove: Some(Prove::Digits),
        ..logistic()
    };
    let notes = |options: &Options| fit(&data, options).unwrap().notes().to_vec();
    let none = Note::FewerDigits { proved: 0 };
    assert!(notes(&asked).contains(&none) && !notes(&logistic()).contains(&none));
    assert!(fit(&data, &logistic()).unwrap().proved().is_none());
}

#[test]
fn no_forged_enclosure_passes() {
    let data = classes(200);
    let model = fit(&data, &unpenalized()).unwrap();
    let file: Value = serde_json::from_slice(&model.to_json().unwrap()).unwrap();
    let radius = file["proved"][0]["radius"][0].as_f64().unwrap();
    let centre = file["proved"][0]["centre"][0].as_f64().unwrap();
    let low = file["proved"][0]["low"][0].as_f64().unwrap();
    let lower = file["proved"][0]["standard_errors"]["lower"][0].as_f64().unwrap();
    let upper = file["proved"][0]["standard_errors"]["upper"][0].as_f64().unwrap();
    let width = upper - lower;
    let forged = [
        ("/proved/0/radius/0", json!(0.0)),
        ("/proved/0/radius/0", json!(0.5 * radius)),
        ("/proved/0/radius/0", json!(10.0 * radius)),
        ("/proved/0/radius/0", json!(-radius)),
        ("/proved/0/centre/0", json!(centre + 1e-6)),
        ("/proved/0/centre/0", json!(-centre)),
        ("/proved/0/low/0", json!(low + radius)),
        ("/proved/0/standard_errors/lower/0", json!(upper)),
        ("/proved/0/standard_errors/lower/0", json!(lower - 100.0 * width)),
        ("/proved/0/standard_errors/upper/0", json!(lower)),
        ("/proved/0/standard_errors/upper/0", json!(upper + 100.0 * width)),
        ("/proved/0/standard_errors", Value::Null),
        ("/proved/0/radius", json!([radius])),
        ("/proved", json!([])),
    ];
    assert!(model.verify(&data).unwrap().holds());
    for (path, value) in forged {
        let mut other = file.clone();
        *other.pointer_mut(path).unwrap() = value.clone();
        let read = Model::from_json(&serde_json::to_vec(&other).unwrap());
        let passes = read
            .and_then(|model| model.verify(&data))
            .is_ok_and(|found| found.holds());
        assert!(!passes, "{path}: {value}");
    }
    // A claim about a problem that is not enclosed.
    let softmax = wstar::read("@iris").unwrap().dataset().unwrap();
    let other = fit(&softmax, &logistic()).unwrap();
    let mut forged: Value = serde_json::from_slice(&other.to_json().unwrap()).unwrap();
    let zero = json!({"centre": [1.0, 1.0, 1.0, 1.0, 1.0], "low": [0.0, 0.0, 0.0, 0.0, 0.0], "radius": [9.0, 9.0, 9.0, 9.0, 9.0]});
    forged["proved"] = json!([zero, zero, zero]);
    let read = Model::from_json(&serde_json::to_vec(&forged).unwrap()).unwrap();
    assert!(!read.verify(&softmax).unwrap().holds());
    // Files without the section are read.
    let mut older = file;
    older.as_object_mut().unwrap().remove("proved");
    let read = Model::from_json(&serde_json::to_vec(&older).unwrap()).unwrap();
    assert!(read.proved().is_none() && read.verify(&data).unwrap().holds());
}
