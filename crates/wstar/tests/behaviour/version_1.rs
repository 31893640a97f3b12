//! Model files of version 1. `tests/version-1` holds one file for each method and kind of model, written by release 0.1,
//! with the scores that release 0.1 gave to the rows of the training set. Every later version must read them.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use wstar::Model;
use wstar::data::Dataset;
use wstar::data::read::{ReadOptions, Source, read};
use wstar::data::{Applied, prepare_with};
use wstar::data::{Preparation, split_raw};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/version-1")
}

/// The names of the files, without their ending.
fn names() -> Vec<String> {
    let entries = fs::read_dir(folder()).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_string())
        .collect();
    names.sort();
    names
}

fn load(name: &str) -> Model {
    Model::load(&folder().join(name).with_extension("json")).unwrap_or_else(|error| panic!("{error}"))
}

/// The data set inside the library that a model was trained on.
fn data_set(model: &Model) -> &'static str {
    match model.schema().target.as_deref() {
        Some("species") => "@iris",
        Some("progression") => "@diabetes",
        Some("diagnosis") => "@breast-cancer",
        other => panic!("unknown target {other:?}"),
    }
}

fn all_rows(model: &Model) -> Dataset {
    wstar::read(data_set(model)).unwrap().rows_for(model).unwrap()
}

/// The rows that the model was trained on: all, except those that were held out.
fn training_rows(model: &Model) -> Dataset {
    let common = model.settings().common();
    let Some(share) = common.holdout() else {
        return all_rows(model);
    };
    let raw = read(&Source::parse(data_set(model)).unwrap(), &ReadOptions::default()).unwrap();
    let (train, _) = split_raw(raw, &Preparation::default(), share, common.seed()).unwrap();
    let how = Applied {
        with_target: true,
        ..Applied::default()
    };
    prepare_with(train, model.schema(), Some(model.classes()), &how).unwrap()
}

#[test]
fn every_method_of_version_1_has_a_file() {
    let mut methods: Vec<&str> = names().iter().map(|name| load(name).method().name()).collect();
    methods.sort();
    methods.dedup();
    let mut expected: Vec<&str> = wstar::settings::Method::ALL
        .iter()
        .map(|method| method.name())
        // With three classes, version 1 wrote the method `softmax` for both.
        .collect();
    expected.sort();
    assert_eq!(methods, expected);
}

#[test]
fn scores_are_those_of_version_1() {
    for name in names() {
        let model = load(&name);
        let scores = model.scores(&all_rows(&model)).unwrap();
        let text = fs::read_to_string(folder().join(&name).with_extension("scores")).unwrap();
        let expected: Vec<Vec<f64>> = text
            .lines()
            .skip(1)
            .map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect())
            .collect();
        assert_eq!(scores.rows().len(), expected.len(), "{name}");
        for (found, expected) in scores.rows().zip(&expected) {
            // Sums may run in another order than in release 0.1.
            let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-11 * b.abs().max(1.0);
            assert!(
                found.len() == expected.len() && found.iter().zip(expected).all(close),
                "{name}: {found:?}, {expected:?}"
            );
        }
    }
}

#[test]
fn certificates_of_version_1_are_verified() {
    for name in names() {
        let model = load(&name);
        let verification = model.verify(&training_rows(&model)).unwrap();
        assert_eq!(
            verification.holds(),
            model.certificate().holds(),
            "{name}: {:?}",
            verification.objections()
        );
    }
}

#[test]
fn a_model_of_version_1_is_written_as_version_2_without_loss() {
    for name in names() {
        let model = load(&name);
        let written = model.to_json().unwrap();
        let head: serde_json::Value = serde_json::from_slice(&written).unwrap();
        assert_eq!(head["version"], 2, "{name}");
        assert_eq!(Model::from_json(&written).unwrap(), model, "{name}");
    }
}
