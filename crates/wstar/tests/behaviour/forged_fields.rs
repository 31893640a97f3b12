//! Every field of a model file is changed in turn. Each change is caught by reading the file or by `verify`, or the field carries
//! no claim.
#![allow(clippy::unwrap_used)]

use serde_json::Value;
use wstar::Model;
use wstar::model::NOT_CHECKED;

use crate::every_model::every_model;

/// The paths of all leaves, as JSON pointers. Of an array the first two and the last item are taken.
fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                if i < 2 || i + 1 == items.len() {
                    leaves(item, &format!("{path}/{i}"), found);
                }
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                leaves(field, &format!("{path}/{name}"), found);
            }
        }
        _ => found.push(path.to_string()),
    }
}

/// Another value of the same kind.
fn change(value: &mut Value) {
    *value = match value.take() {
        Value::Bool(truth) => Value::Bool(!truth),
        Value::Number(number) => match (number.as_u64(), number.as_f64()) {
            (Some(integer), _) => (integer + 1).into(),
            (_, Some(real)) => (real * 1.01 + 0.001).into(),
            _ => Value::Null,
        },
        Value::String(text) => Value::String(text + "z"),
        _ => Value::String("z".into()),
    };
}

/// A path as the documentation writes it: `certificate.parts[].tol`.
fn documented(pointer: &str) -> String {
    let mut path = String::new();
    for name in pointer.split('/').skip(1) {
        match name.bytes().all(|byte| byte.is_ascii_digit()) {
            true => path.push_str("[]"),
            false if path.is_empty() => path.push_str(name),
            false => {
                path.push('.');
                path.push_str(name);
            }
        }
    }
    path
}

#[test]
fn a_changed_field_is_caught_or_carries_no_claim() {
    let mut missed = Vec::new();
    for case in every_model() {
        assert!(
            case.model.verify(&case.data).unwrap().holds() == case.model.certificate().holds(),
            "{}",
            case.name
        );
        let whole: Value = serde_json::from_slice(&case.model.to_json().unwrap()).unwrap();
        let kind = whole["certificate"]["kind"].as_str().unwrap();
        let mut paths = Vec::new();
        leaves(&whole, "", &mut paths);
        for pointer in paths {
            let mut file = whole.clone();
            change(file.pointer_mut(&pointer).unwrap());
            let read = Model::from_json(&serde_json::to_vec(&file).unwrap());
            let passed = read
                .and_then(|model| model.verify(&case.data))
                .is_ok_and(|found| found.holds());
            let path = documented(&pointer);
            let carries_none =
                |(of, start): &(&str, &str)| (of.is_empty() || *of == kind) && path.starts_with(start);
            if passed && !NOT_CHECKED.iter().any(carries_none) {
                missed.push(format!("{}: {path}", case.name));
            }
        }
    }
    assert!(missed.is_empty(), "not caught:\n{}", missed.join("\n"));
}
