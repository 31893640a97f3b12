//! The model file is what `docs/model-file.md` says.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;
use wstar::Model;

use crate::every_model::every_model;

/// Fields that occur only in fits that are hard to provoke, or only in files of version 1.
const RARE: [&str; 8] = [
    "fit.notes[].diverges.method",
    "fit.notes[].lost-digits.errors",
    "fit.notes[].no-standard-errors.singular",
    "fit.notes[].separable.sides[].by",
    "fit.notes[].text",
    "fit.solver.tried[]",
    "fit.solver.why.given",
    "fit.solver.why.text",
];

/// The paths in the first column of the tables of the document.
fn documented() -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/model-file.md");
    let text = fs::read_to_string(path).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| Some(row.split_once('`')?.0.to_string()))
        .collect()
}

/// Collects the paths of all values that are not objects or arrays.
fn collect(value: &Value, path: &str, paths: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            let dot = if path.is_empty() { "" } else { "." };
            collect(value, &format!("{path}{dot}{name}"), paths);
        }),
        Value::Array(values) => {
            values
                .iter()
                .for_each(|value| collect(value, &format!("{path}[]"), paths));
        }
        _ => {
            paths.insert(path.to_string());
        }
    }
}

fn file_of(model: &Model) -> Value {
    serde_json::from_slice(&model.to_json().unwrap()).unwrap()
}

#[test]
fn the_document_has_every_field_of_a_file() {
    let documented = documented();
    for case in every_model() {
        let mut found = BTreeSet::new();
        collect(&file_of(&case.model), "", &mut found);
        let unknown: Vec<&String> = found.difference(&documented).collect();
        assert!(
            unknown.is_empty(),
            "{}: not in the document: {unknown:?}",
            case.name
        );
    }
}

#[test]
fn every_field_of_the_document_is_in_some_file() {
    let mut found = BTreeSet::from(RARE.map(String::from));
    for case in every_model() {
        collect(&file_of(&case.model), "", &mut found);
    }
    let documented = documented();
    let absent: Vec<&String> = documented.difference(&found).collect();
    assert!(absent.is_empty(), "in no file: {absent:?}");
}

#[test]
fn a_file_restores_its_model_and_its_bytes() {
    for case in every_model() {
        let bytes = case.model.to_json().unwrap();
        let read = Model::from_json(&bytes).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        assert_eq!(read, case.model, "{}", case.name);
        assert_eq!(read.to_json().unwrap(), bytes, "{}", case.name);
    }
}

#[test]
fn every_certificate_that_holds_is_verified() {
    for case in every_model() {
        let verification = case.model.verify(&case.data).unwrap();
        let holds = case.model.certificate().holds();
        assert_eq!(
            verification.holds(),
            holds,
            "{}: {:?}",
            case.name,
            verification.objections()
        );
    }
}

#[test]
fn a_model_that_serde_reads_is_checked() {
    for case in every_model() {
        let mut value = serde_json::to_value(&case.model).unwrap();
        let read: Model = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(read, case.model, "{}", case.name);
        value["schema"]["features"] = 1_000.into();
        let damaged: Result<Model, _> = serde_json::from_value(value);
        assert!(damaged.is_err(), "{}", case.name);
    }
}
