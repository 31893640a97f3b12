//! Tests of the readers, of the agreement with the engine, and of the command. The models in `tests/fixtures` were written by the
//! engine (`wstar train`).

#![allow(clippy::unwrap_used)]

mod agreement;
mod command;
mod csv;
mod forged;
mod json;
mod malformed;
mod rows;
mod svmlight;

use wstar_check::check::Source;
use wstar_check::model::Model;
use wstar_check::schema::Schema;
use wstar_check::table::TableOptions;
use wstar_check::unreadable::Reading;

/// The contents of a file in `tests/fixtures`.
pub fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap()
}

/// The path of a file in `tests/fixtures`.
pub fn path(name: &str) -> String {
    format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A model file in `tests/fixtures`.
pub fn model(name: &str) -> Model {
    Model::read(&fixture(name), name).unwrap()
}

/// A schema from its JSON.
pub fn schema(text: &str, classes: &[&str]) -> Schema {
    let value = wstar_check::json::parse(text).unwrap();
    let classes = classes.iter().map(|&class| class.to_owned()).collect();
    Schema::read(&wstar_check::json::Node::root(&value), classes).unwrap()
}

/// The rows of a fixture for a model.
pub fn source(model: &Model, data: &str, drop_missing: bool) -> Reading<Source> {
    let options = TableOptions {
        drop_missing,
        ..TableOptions::default()
    };
    Source::file(model, &fixture(data), data, options)
}
