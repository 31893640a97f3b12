//! The result in words, or as JSON.

use std::fmt::Write;

use crate::check::Source;
use crate::json::{array, object, quote};
use crate::model::Model;
use crate::verdict::{Statement, Verdict};

/// The result in words.
pub fn text(model: &Model, model_name: &str, source: &Source, verdict: &Verdict) -> String {
    let proved = verdict.is_proved();
    let result = match (proved, verdict.objections.is_empty()) {
        (true, _) => "proved: ",
        (false, true) => "not proved: ",
        _ => "not proved: the file states what is not so; ",
    };
    let mut out = format!("{result}{}\n", verdict.summary);
    let mut line = |label: &str, what: &str| {
        let _ = writeln!(out, "  {label:<13} {what}");
    };
    line("rows", &rows(model, source));
    for Statement { about, text, proved } in &verdict.statements {
        let mark = proved.map_or("", |proved| if proved { "proved: " } else { "not proved: " });
        line(about, &format!("{mark}{text}"));
    }
    for objection in &verdict.objections {
        line("objection", objection);
    }
    let of_these = match proved {
        true => "this is proved, for the real-number problem of their binary64 values",
        false => "this is not proved",
    };
    line("of these rows", of_these);
    let file = format!("{} (SHA-256 {})", source.name, source.hash);
    let origin = match source.read_here {
        true => format!("are those of {file} under the schema of {model_name}, as read by this program"),
        false => format!(
            "are {file}; that they are the rows of a data file is asserted by the engine and not proved here"
        ),
    };
    line("these rows", &origin);
    line("not checked", verdict.not_checked);
    out
}

fn rows(model: &Model, source: &Source) -> String {
    let (counted, features) = (source.rows.counted(), model.schema.features);
    let mut text = format!("{counted} rows with a weight above 0, {features} columns");
    if !model.classes().is_empty() {
        let _ = write!(text, ", {} classes", model.classes().len());
    }
    if source.rows.left_out > 0 {
        let _ = write!(
            text,
            "; {} rows with missing values left out",
            source.rows.left_out
        );
    }
    text
}

/// The result as JSON.
pub fn json(model: &Model, source: &Source, verdict: &Verdict) -> String {
    let statement = |Statement { about, text, proved }: &Statement| {
        let (about, text, proved) = (quote(about), quote(text), (*proved)?);
        Some(format!(
            "{{\"about\":{about},\"text\":{text},\"proved\":{proved}}}"
        ))
    };
    let mut fields = vec![
        ("proved", verdict.is_proved().to_string()),
        ("kind", quote(&model.kind)),
    ];
    fields.extend(verdict.fields.iter().cloned());
    fields.extend([
        (
            "statements",
            array(verdict.statements.iter().filter_map(statement)),
        ),
        (
            "objections",
            array(verdict.objections.iter().map(|text| quote(text))),
        ),
        ("rows", source.rows.counted().to_string()),
        ("sha256", quote(&source.hash)),
        ("file", quote(&source.name)),
        ("left_out", source.rows.left_out.to_string()),
        ("read_here", source.read_here.to_string()),
    ]);
    object(fields) + "\n"
}
