//! The result in words, or as JSON.

use std::fmt::Write;

use crate::check::Source;
use crate::json::quote;
use crate::model::Model;
use crate::verdict::Verdict;

/// The result in words.
pub fn text(model: &Model, model_name: &str, source: &Source, verdict: &Verdict) -> String {
    let result = match (verdict.is_proved(), verdict.objections.is_empty()) {
        (true, _) => "proved: ",
        (false, true) => "not proved: ",
        _ => "not proved: the file states what is not so; ",
    };
    let mut out = format!("{result}{}\n", verdict.summary);
    let mut line = |label: &str, what: &str| {
        let _ = writeln!(out, "  {label:<13} {what}");
    };
    line("rows", &rows(model, source));
    for statement in &verdict.statements {
        let mark = match statement.proved {
            Some(true) => "proved: ",
            Some(false) => "not proved: ",
            None => "",
        };
        line(&statement.about, &format!("{mark}{}", statement.text));
    }
    for objection in &verdict.objections {
        line("objection", objection);
    }
    let file = format!("{} (SHA-256 {})", source.name, source.hash);
    line(
        "of these rows",
        match verdict.is_proved() {
            true => "this is proved, for the real-number problem of their binary64 values",
            false => "this is not proved",
        },
    );
    line(
        "these rows",
        &match source.read_here {
            true => format!("are those of {file} under the schema of {model_name}, as read by this program"),
            false => {
                format!(
                    "are {file}; that they are the rows of a data file is asserted by the engine and not proved here"
                )
            }
        },
    );
    line("not checked", verdict.not_checked);
    out
}

fn rows(model: &Model, source: &Source) -> String {
    let mut text = format!(
        "{} rows with a weight above 0, {} columns",
        source.rows.counted(),
        model.schema.features
    );
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
    let statements = verdict.statements.iter().filter_map(|statement| {
        let (about, text) = (quote(&statement.about), quote(&statement.text));
        let proved = statement.proved?;
        Some(format!(
            "{{\"about\":{about},\"text\":{text},\"proved\":{proved}}}"
        ))
    });
    let objections: Vec<String> = verdict.objections.iter().map(|text| quote(text)).collect();
    let fields = verdict
        .fields
        .iter()
        .map(|(name, value)| format!("\"{name}\":{value},"));
    format!(
        "{{\"proved\":{},\"kind\":{},{}\"statements\":[{}],\"objections\":[{}],\"rows\":{},\"sha256\":\"{}\",\"file\":{},\
         \"left_out\":{},\"read_here\":{}}}\n",
        verdict.is_proved(),
        quote(&model.kind),
        fields.collect::<String>(),
        statements.collect::<Vec<_>>().join(","),
        objections.join(","),
        source.rows.counted(),
        source.hash,
        quote(&source.name),
        source.rows.left_out,
        source.read_here,
    )
}
