//! `wstar inspect`: prints the weights, settings and certificate of a model.

use std::io::Write;

use anyhow::Result;
use serde_json::Value;
use wstar::Model;
use wstar::data::{Encoding, Schema};
use wstar::settings::Settings;
use wstar_report::claim;
use wstar_report::words::passes;

use crate::answer::Answer;
use crate::args::InspectArgs;
use crate::output::{self, plural};
use crate::wording::CommandLine;
use crate::{json, summary, weights};

pub(crate) fn run(args: &InspectArgs) -> Result<Answer> {
    let model = Model::load(&args.model)?;
    if args.json {
        json::print(&json::inspected(&model))?;
        return Ok(Answer::Yes);
    }
    let mut results = output::results();
    writeln!(
        results,
        "{}: {}, {}, {}",
        model.method().name(),
        plural(model.record().rows, "row"),
        plural(model.schema().features as u64, "feature"),
        if model.predictor().is_regression() {
            "a real target".to_string()
        } else {
            format!("classes {}", model.classes().names().join(", "))
        }
    )?;
    writeln!(results, "fit: {}", fitted(&model))?;
    writeln!(results, "settings: {}", in_full(model.settings())?)?;
    writeln!(
        results,
        "command: wstar train DATA {}",
        summary::settings(model.settings())
    )?;
    writeln!(results, "columns: {}", encodings(model.schema()))?;
    writeln!(
        results,
        "claim ({}): {}",
        model.certificate().kind(),
        claim(model.certificate(), model.classes())
    )?;
    for note in model.notes() {
        writeln!(results, "note: {}", note.worded(&CommandLine))?;
    }
    writeln!(results)?;
    results.write_all(weights::weights(&model, args.top).as_bytes())?;
    results.flush()?;
    Ok(Answer::Yes)
}

/// The status of the fit, its passes and iterations, and the solver.
fn fitted(model: &Model) -> String {
    let record = model.record();
    let counted = match model.method().is_convex() {
        true => "iteration",
        false => "update",
    };
    let mut text = format!(
        "{} after {} and {}",
        record.status.in_words(),
        passes(record.passes),
        plural(record.iterations, counted)
    );
    if let Some(solver) = &record.solver {
        text += &format!(", solver {} ({})", solver.name.name(), solver.why);
    }
    text
}

/// Every setting of the model with its value, defaults included, as the model file names them.
fn in_full(settings: &Settings) -> Result<String> {
    let mut found = Vec::new();
    flatten("", &serde_json::to_value(settings)?, &mut found);
    Ok(found.join(", "))
}

fn flatten(name: &str, value: &Value, found: &mut Vec<String>) {
    /// Objects of the model file that only group settings.
    const GROUPS: [&str; 2] = ["common", "strength"];
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (field, value) in fields {
                let joined = match name {
                    "" => field.clone(),
                    group if GROUPS.contains(&group) => field.clone(),
                    _ => format!("{name}.{field}"),
                };
                flatten(&joined, value, found);
            }
        }
        Value::String(text) => found.push(format!("{name} {text}")),
        _ => found.push(format!("{name} {value}")),
    }
}

/// How many columns of each kind the model reads, and what is done to them.
fn encodings(schema: &Schema) -> String {
    let count = |wanted: fn(&Encoding) -> bool| {
        let columns = schema.columns.iter();
        columns.filter(|column| wanted(&column.encoding)).count() as u64
    };
    let (numbers, categories, texts) = (
        count(|encoding| matches!(encoding, Encoding::Number { .. })),
        count(|encoding| matches!(encoding, Encoding::OneHot { .. })),
        count(|encoding| matches!(encoding, Encoding::Text(_))),
    );
    let filled = count(|encoding| {
        matches!(
            encoding,
            Encoding::Number { fill: Some(_) } | Encoding::OneHot { fill: Some(_), .. }
        )
    });
    let mut words: Vec<String> = [
        (numbers, "of numbers"),
        (categories, "of categories"),
        (texts, "of text"),
        (filled, "with missing values replaced"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {what}"))
    .collect();
    if words.is_empty() {
        words.push(format!("{} numbered", schema.features));
    }
    words.push(match schema.scaling {
        Some(_) => "standardised".into(),
        None => "not standardised".into(),
    });
    words.join(", ")
}
