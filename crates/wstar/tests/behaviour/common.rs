//! Helpers that several tests share: real data where available, and the same data in sparse storage.
#![allow(dead_code, clippy::unwrap_used, clippy::print_stdout)]

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;
use wstar::certificate::Certificate;
use wstar::data::read::{Format, ReadOptions, Source, read};
use wstar::data::run::{Budget, Unwatched};
use wstar::data::{Dataset, Design, Preparation, Schema, prepare};
use wstar::model::{FitRecord, Model, Predictor};
use wstar::problem::baseline::Baseline;
use wstar::problem::objective::{Objective, Rows, Validation};
use wstar::problem::problem::Problem;
use wstar::settings::Settings;
use wstar::solve::{Control, Solution, Solver};

/// The sections of a model file that a forger may change.
#[derive(Serialize)]
pub(crate) struct Sections {
    pub(crate) settings: Settings,
    pub(crate) predictor: Predictor,
    #[serde(rename = "fit")]
    pub(crate) record: FitRecord,
    pub(crate) certificate: Certificate,
}

/// The model with some sections of its file changed.
pub(crate) fn forged(model: &Model, change: impl FnOnce(&mut Sections)) -> Model {
    let mut sections = Sections {
        settings: model.settings().clone(),
        predictor: model.predictor().clone(),
        record: model.record().clone(),
        certificate: model.certificate().clone(),
    };
    change(&mut sections);
    let mut file: Value = serde_json::from_slice(&model.to_json().unwrap()).unwrap();
    let changed = serde_json::to_value(sections).unwrap();
    for (name, section) in changed.as_object().unwrap() {
        file[name] = section.clone();
    }
    Model::from_json(&serde_json::to_vec(&file).unwrap()).unwrap()
}

/// A file or folder of the real data for tests (`WSTAR_DATA`, or `shared/data` next to the project). If it is absent,
/// this prints a message and returns `None`; in CI it panics.
pub(crate) fn real_data(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("WSTAR_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = folder.join(name);
    if path.exists() {
        return Some(path);
    }
    assert!(std::env::var_os("CI").is_none(), "{} is absent", path.display());
    println!("skipped: {} is absent (set WSTAR_DATA)", path.display());
    None
}

/// The data set of an svmlight file, with this class as the positive one.
pub(crate) fn svmlight_data(path: &Path, positive: Option<&str>) -> Dataset {
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

/// The solution of a problem over rows in memory, from the start 0.
pub(crate) fn solve_in_memory(problem: Problem, rows: &Rows<'_>, solver: &dyn Solver, tol: f64) -> Solution {
    let mut objective = Objective::in_memory(problem, rows.borrowed(), Validation::Done);
    let baseline = Baseline::of(&mut rows.borrowed(), &problem).unwrap();
    let mut unwatched = Unwatched;
    let mut control = Control::new(
        baseline.tolerance(tol, &problem),
        Budget::default(),
        &mut unwatched,
    );
    let start = vec![0.0; problem.layout().len()];
    solver.solve(&mut objective, &start, &mut control).unwrap()
}

/// The same data in sparse storage.
pub(crate) fn sparse(data: &Dataset) -> Dataset {
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in data.design().iter() {
        row.for_each(|j, v| {
            if v != 0.0 {
                indices.push(j as u32);
                values.push(v);
            }
        });
        starts.push(values.len());
    }
    let mut copy = data.clone();
    copy = copy
        .with_design(Design::from_csr(starts, indices, values, data.features()).unwrap())
        .unwrap();
    copy
}

/// The same target and weights with other rows, of any width.
pub(crate) fn with_rows(data: Dataset, rows: Design) -> Dataset {
    let schema = Schema::numbered(rows.features());
    let (_, target, weights, _) = data.into_parts();
    Dataset::new(rows, target, schema)
        .unwrap()
        .with_weights(weights)
        .unwrap()
}
