//! Every field of a model file is changed in turn. Each change is caught, or the field carries no claim (see
//! `docs/certificate-format.md`).

use crate::check::check;
use crate::json::{Value, parse, quote};
use crate::model::Model;
use crate::unreadable::Reading;
use crate::verdict::Options;

use crate::tests::reading::{fixture, source};

/// The beginnings of paths without a claim.
const NO_CLAIM: [&str; 16] = [
    "settings.common.seed",
    // ρ of the elastic net; other penalties do not depend on it.
    "settings.l1_ratio",
    "predictor.ties",
    "fit.status",
    "fit.passes",
    "fit.iterations",
    "fit.seen",
    "fit.mistakes_by_pass",
    "fit.solver",
    "certificate.parts.0.support (",
    "certificate.parts.0.at_bound",
    "certificate.parts.1.support (",
    "certificate.parts.1.at_bound",
    "certificate.parts.2.support (",
    "certificate.parts.2.at_bound",
    "digest",
];

fn write(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Boolean(value) => value.to_string(),
        Value::Number(value) => format!("{value:e}"),
        Value::Text(text) => quote(text),
        Value::Array(items) => format!("[{}]", items.iter().map(write).collect::<Vec<_>>().join(",")),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| format!("{}:{}", quote(name), write(value));
            format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(","))
        }
    }
}

/// The value of a leaf after a change; `None` if it has no such change.
type Change = fn(&Value) -> Option<Value>;

/// Changes the leaf with this number, and returns its path; `None` if there are fewer leaves.
fn change(value: &mut Value, number: &mut usize, to: Change) -> Option<String> {
    let inside = |name: String, path: String| {
        if path.is_empty() {
            name
        } else {
            format!("{name}.{path}")
        }
    };
    match value {
        Value::Array(items) => {
            let mut items = items.iter_mut().enumerate();
            return items.find_map(|(i, item)| Some(inside(i.to_string(), change(item, number, to)?)));
        }
        Value::Object(fields) => {
            let mut fields = fields.iter_mut();
            return fields.find_map(|(name, field)| Some(inside(name.clone(), change(field, number, to)?)));
        }
        _ if *number > 0 => {
            *number -= 1;
            return None;
        }
        _ => {}
    }
    if let Some(changed) = to(value) {
        *value = changed;
    }
    Some(String::new())
}

/// A small change.
fn slightly(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Boolean(truth) => Value::Boolean(!truth),
        Value::Number(old) if old.fract() == 0.0 => Value::Number(old + 1.0),
        Value::Number(old) => Value::Number(old * 1.01 + 0.001),
        Value::Text(text) if text.len() > 3 => Value::Text(text[..text.len() - 1].into()),
        Value::Text(text) => Value::Text(format!("{text}z")),
        _ => Value::Text("zz".into()),
    })
}

/// A number that is less by a tenth.
fn less(value: &Value) -> Option<Value> {
    match value {
        Value::Number(old) => Some(Value::Number(old - 0.1 * old.abs().max(1.0))),
        _ => None,
    }
}

const CHANGES: [Change; 8] = [
    slightly,
    less,
    |_| Some(Value::Null),
    |_| Some(Value::Number(0.0)),
    |_| Some(Value::Number(1e300)),
    |_| Some(Value::Number(-1e300)),
    |value| (*value != Value::Number(0.0)).then_some(Value::Number(5e-324)),
    |_| Some(Value::Array(Vec::new())),
];

/// Whether a changed model is proved.
fn is_proved(value: &Value, data: &str) -> Reading<bool> {
    let model = Model::read(write(value).as_bytes(), "model")?;
    let rows = source(&model, data, false)?.rows;
    check(&model, &rows, Options::default()).map(|verdict| verdict.is_proved())
}

/// Makes every change to every leaf; those that leave a model proved must be among the fields without a claim.
fn every_change_is_caught(name: &str, data: &str, changes: &[Change], allowed: &[&str]) {
    let original = parse(&String::from_utf8(fixture(name)).unwrap()).unwrap();
    assert_eq!(is_proved(&original, data), Ok(true), "{name}");
    let mut found = Vec::new();
    for (kind, &to) in changes.iter().enumerate() {
        for leaf in 0.. {
            let mut changed = original.clone();
            let Some(path) = change(&mut changed, &mut leaf.clone(), to) else {
                assert!(leaf > 20, "{name}: {leaf}");
                break;
            };
            // The value in place of a missing one, in a column without missing values.
            let unused = path.ends_with("encoding.number.fill");
            let label = format!("{path} ({kind})");
            let known = unused
                || NO_CLAIM
                    .iter()
                    .chain(allowed)
                    .any(|field| label.starts_with(field));
            if changed != original && !known && is_proved(&changed, data) == Ok(true) {
                found.push(label);
            }
        }
    }
    assert!(found.is_empty(), "{name}: {found:?}");
}

#[test]
fn every_changed_field_is_caught_or_carries_no_claim() {
    for (name, data) in [
        ("sparse-logistic.json", "sparse.svm"),
        ("flowers-positive.json", "flowers.csv"),
        ("flowers-pairs.json", "flowers.csv"),
        ("prices-quantile.json", "prices.csv"),
    ] {
        every_change_is_caught(name, data, &[slightly], &[]);
    }
}

#[test]
fn every_changed_field_of_a_mistake_bound_is_caught() {
    let allowed = [
        "settings.epochs",
        "settings.rule",
        "settings.vote",
        // Larger bounds hold as well.
        "certificate.parts.0.bound",
        "certificate.parts.1.bound",
        "certificate.parts.2.bound",
        // Of the returned weights only the mistakes and two inequalities are checked.
        "predictor.discriminants",
        "predictor.committees",
    ];
    for name in [
        "perceptron",
        "halving",
        "inverse",
        "averaged",
        "multiset",
        "voted",
        "worst",
    ] {
        let name = format!("flowers-{name}.json");
        every_change_is_caught(&name, "flowers.csv", &CHANGES, &allowed);
    }
}

#[test]
fn every_changed_field_of_other_claims_is_caught() {
    for (name, data) in [
        ("flowers-kozinec", "flowers.csv"),
        ("flowers-kozinec-origin", "flowers.csv"),
        ("flowers-gaussian", "flowers.csv"),
        ("flowers-lda", "flowers.csv"),
        ("flowers-naive", "flowers.csv"),
        ("flowers-multinomial", "flowers.csv"),
        ("flowers-minimax", "flowers.csv"),
        ("sparse-naive", "sparse.svm"),
        ("sparse-bernoulli", "sparse.svm"),
        ("sparse-minimax", "sparse.svm"),
        ("flowers-sigmoid", "flowers.csv"),
        ("flowers-firth", "flowers.csv"),
        ("flowers-firth-rest", "flowers.csv"),
    ] {
        // A single share is divided by itself.
        // These numbers of rounding errors are compared up to 1e-9 or 1e-10; the changes make them 0.
        let allowed = [
            "certificate.parts.0.negative.0.1",
            "certificate.deviation (3)",
            "certificate.deviation (6)",
            "certificate.relative_gap (3)",
            "certificate.relative_gap (6)",
            "certificate.parts.0.slope (3)",
            "certificate.parts.0.slope (6)",
            "certificate.parts.1.slope (3)",
            "certificate.parts.1.slope (6)",
            // Absent, it carries no claim.
            "fit.objective (2)",
            "fit.notes",
            "history",
        ];
        every_change_is_caught(&format!("{name}.json"), data, &CHANGES, &allowed);
    }
}

#[test]
fn every_changed_field_of_exact_geometry_is_caught() {
    // The checksum carries no claim, weaker bounds are true, and the column of weights belongs to the question. So does the other
    // class; of two classes it may be named.
    let of_proofs = [
        "checksum",
        "content.margin.lower",
        "content.margin.upper",
        "content.points.schema.sample_weight",
        "content.points.sides.negative (3)",
    ];
    // Of these fields the new value is checked, and another hyperplane or proof can be as good. Numbers of rounding errors are
    // compared up to 1e-9; the changes make them 0.
    let of_models = [
        "settings.max_iter",
        "fit.notes",
        "fit.objective (2)",
        "history",
        "certificate.lower_bound",
        "certificate.parts.0.relative_gap (3)",
        "certificate.parts.0.relative_gap (6)",
        "certificate.parts.0.slackness (3)",
        "certificate.parts.0.slackness (6)",
    ];
    for (name, data, more) in [
        // The only multiplier of a class is divided by itself.
        ("flowers-separable", "flowers.csv", &["content.hulls"][..]),
        ("flowers-separable-pair", "flowers.csv", &[]),
        ("flowers-separable-origin", "flowers.csv", &[]),
        ("flowers-inseparable", "flowers.csv", &[]),
        ("sparse-inseparable", "sparse.svm", &[]),
        ("touching-quasi", "touching.csv", &[]),
        ("overlap-inseparable", "overlap.csv", &[]),
        // The bound has room for other λ, and holds for hyperplanes through the origin.
        (
            "overlap-decimal",
            "overlap.csv",
            &["content.intercept", "content.proof.weights"],
        ),
        ("flowers-margin", "flowers.csv", &[]),
        ("flowers-margin-origin", "flowers.csv", &[]),
        ("flowers-least", "flowers.csv", &["certificate.proof"]),
        (
            "flowers-least-balanced",
            "flowers.csv",
            &["certificate.proof", "predictor.discriminants"],
        ),
        ("flowers-least-enumerated", "flowers.csv", &[]),
        (
            "flowers-least-origin",
            "flowers.csv",
            &["predictor.discriminants"],
        ),
    ] {
        let allowed = [&of_proofs[..], &of_models, more].concat();
        every_change_is_caught(&format!("{name}.json"), data, &CHANGES, &allowed);
    }
}
