//! Tests of the readers and of the agreement with the engine. The models in `tests/fixtures` were written by the
//! engine (`wstar train`).

mod agreement;
mod canonical_files;
mod csv_files;
mod forged;
mod json_documents;
mod malformed;
mod svmlight_files;

use crate::check::{Source, check};
use crate::json::{Node, parse};
use crate::model::Model;
use crate::report;
use crate::schema::Schema;
use crate::table::TableOptions;
use crate::unreadable::Reading;
use crate::verdict::Options;

/// The contents of a file in `tests/fixtures`.
pub(super) fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap()
}

/// The path of a file in `tests/fixtures`.
pub(super) fn path(name: &str) -> String {
    format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A model file in `tests/fixtures`.
pub(super) fn model(name: &str) -> Model {
    Model::read(&fixture(name), name).unwrap()
}

/// A schema from its JSON.
pub(super) fn schema(text: &str, classes: &[&str]) -> Schema {
    let value = crate::json::parse(text).unwrap();
    let classes = classes.iter().map(|&class| class.to_owned()).collect();
    Schema::read(&crate::json::Node::root(&value), classes).unwrap()
}

/// The rows of a fixture for a model.
pub(super) fn source(model: &Model, data: &str, drop_missing: bool) -> Reading<Source> {
    let options = TableOptions {
        drop_missing,
        ..TableOptions::default()
    };
    Source::file(model, &fixture(data), data, options)
}

#[test]
fn results_are_json() {
    for (name, data) in [
        ("flowers-worst.json", "flowers.csv"),
        ("sparse-bernoulli.json", "sparse.svm"),
        ("prices-ridge.json", "prices.csv"),
        ("flowers-softmax.json", "flowers.csv"),
    ] {
        let model = model(name);
        let source = source(&model, data, false).unwrap();
        let options = Options {
            digits: model.kind == "duality-gap",
            ..Options::default()
        };
        let verdict = check(&model, &source.rows, options).unwrap();
        let value = parse(&report::json(&model, &source, &verdict)).unwrap();
        let root = Node::root(&value);
        assert!(root.field("proved").unwrap().boolean().unwrap());
        assert!(root.field("read_here").unwrap().boolean().unwrap());
        assert_eq!(root.field("kind").unwrap().text().unwrap(), model.kind);
        for statement in root.field("statements").unwrap().items().unwrap() {
            assert!(statement.field("proved").unwrap().boolean().unwrap());
        }
        if model.kind == "duality-gap" {
            let gap = root.field("gap").unwrap().number().unwrap();
            assert!((0.0..1e-3).contains(&gap), "{gap}");
            let primal = root.field("primal").unwrap();
            let end = |name| primal.field(name).unwrap().number().unwrap();
            assert!(end("lower") <= end("upper"));
            let part = &root.field("parts").unwrap().items().unwrap()[0];
            let digits = part.field("digits").unwrap();
            let (centre, radius) = (digits.field("centre").unwrap(), digits.field("radius").unwrap());
            assert_eq!(centre.items().unwrap().len(), radius.numbers().unwrap().len());
        }
    }
}
