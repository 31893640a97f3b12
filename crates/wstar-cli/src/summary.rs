//! What a person sees after a training: one screen, the claim first.

use std::io::Write;

use anyhow::Result;
use wstar::Model;
use wstar::certify::{Certificate, MistakeBound};
use wstar::data::Classes;
use wstar::model::{Evaluation, Predictor};
use wstar::settings::{Method, Settings};
use wstar::watch::Status;

use crate::args::TrainArgs;
use crate::json::hyperplanes;
use crate::output::{self, Style, count, number, percent, plural};
use crate::train::Trained;

/// Columns of weights shown side by side.
const MOST_CLASSES: usize = 10;

/// Features shown after a training.
const MOST_SHOWN: usize = 10;

pub(crate) fn trained(trained: &Trained, args: &TrainArgs) -> Result<()> {
    let style = Style::for_results();
    let model = &trained.model;
    let mut results = output::results();
    let classes: Vec<String> = model
        .classes
        .names()
        .iter()
        .zip(&trained.class_counts)
        .map(|(name, &rows)| format!("{name} {}", count(rows as u64)))
        .collect();
    // A stream's rows are not counted by class.
    let classes = match classes.as_slice() {
        [] => shortened(model.classes.names(), 12),
        counted => shortened(counted, 12),
    };
    writeln!(
        results,
        "{}: {} × {}, {} classes ({classes})",
        style.strong(&trained.name),
        plural(model.fit.rows, "row"),
        plural(model.schema.features as u64, "feature"),
        model.classes.len(),
    )?;
    writeln!(results, "{}", how(model, args.method.is_none()))?;
    writeln!(results)?;
    for (name, text) in findings(trained, style) {
        writeln!(results, "  {name:<11} {text}")?;
    }
    writeln!(results)?;
    results.write_all(weights(model, MOST_SHOWN).as_bytes())?;
    let path = trained.path.display();
    let next = match args.data.as_str() {
        "-" => format!("wstar inspect {path}"),
        data => format!("wstar verify {path} {data}"),
    };
    writeln!(results, "model: {path}          next: {next}")?;
    if args.verbose {
        let seconds = &trained.seconds;
        writeln!(
            results,
            "time: {:.3} s to read, {:.3} s to learn, {:.3} s to certify, {:.3} s in all",
            seconds.read.as_secs_f64(),
            seconds.solve.as_secs_f64(),
            seconds.certify.as_secs_f64(),
            seconds.total.as_secs_f64()
        )?;
        writeln!(results, "settings: {}", settings(&model.settings))?;
    }
    results.flush()?;
    Ok(())
}

/// The lines between the title and the weights: what is claimed, how well it does, what to know.
fn findings(trained: &Trained, style: Style) -> Vec<(&'static str, String)> {
    let model = &trained.model;
    let mut lines = Vec::new();
    let claimed = claim(&model.certificate, &model.classes);
    match (&model.certificate, model.certificate.holds()) {
        (Certificate::None, _) => lines.push(("no proof", claimed)),
        (_, true) => lines.push(("certified", style.good(&claimed))),
        (_, false) => lines.push(("not proved", style.bad(&claimed))),
    }
    if !model.fit.status.is_success() {
        lines.push(("fell short", style.bad(&shortfall(model))));
    }
    match (&trained.train, &model.predictor) {
        (Some(evaluation), _) => lines.push(("training", judged(evaluation))),
        (None, Predictor::Committee { .. }) => lines.push((
            "training",
            "not judged, because so many votes on so many rows take long (wstar evaluate does it)".into(),
        )),
        (None, _) => {}
    }
    if let Some(evaluation) = &trained.test {
        lines.push(("held out", judged(evaluation)));
    }
    if let Predictor::Committee { committees } = &model.predictor {
        let hyperplanes: usize = committees.iter().map(|committee| committee.len()).sum();
        let rows: usize = committees.iter().map(|committee| committee.kept_rows()).sum();
        lines.push((
            "committee",
            format!(
                "{} vote, made of {}",
                plural(hyperplanes as u64, "hyperplane"),
                plural(rows as u64, "example")
            ),
        ));
    }
    lines.extend(progress(model).map(|text| ("progress", text)));
    lines
}

/// How often a mistake-driven learner was wrong just before it learnt, pass by pass.
fn progress(model: &Model) -> Option<String> {
    let fit = &model.fit;
    let mut passes = fit.mistakes_by_pass.as_slice();
    let share = |mistakes: u64, of: u64| percent(mistakes as f64 / of.max(1) as f64);
    if let [only] = passes {
        return Some(format!(
            "mistakes while learning: {} of {}",
            share(*only, fit.seen),
            count(fit.seen)
        ));
    }
    // A pass that was cut short tells nothing.
    if fit.seen < fit.rows * fit.passes {
        passes = &passes[..passes.len().saturating_sub(1)];
    }
    let [first, .., last] = passes else { return None };
    Some(format!(
        "mistakes while learning: {} in the first pass, {} in the last",
        share(*first, fit.rows),
        share(*last, fit.rows)
    ))
}

/// What a fit that fell short is missing, and what to do about it.
fn shortfall(model: &Model) -> String {
    let status = model.fit.status.in_words();
    let after = format!("stopped after {}", passes(model.fit.passes));
    match (model.fit.status, model.method) {
        (Status::IterationLimit, Method::Perceptron) => {
            format!(
                "{after} with mistakes left: perhaps nothing separates these classes (try --method pocket)"
            )
        }
        (Status::IterationLimit, Method::Kozinec) => {
            format!("{after}: the hulls may touch, or the margin is thin (try a larger --epsilon, or pocket)")
        }
        (Status::Diverging, Method::Kozinec) => {
            format!("{status}: the hulls of the classes meet, so no hyperplane separates them (try pocket)")
        }
        _ => format!("{status} after {}", passes(model.fit.passes)),
    }
}

pub(crate) fn passes(passes: u64) -> String {
    if passes == 1 {
        "1 pass".into()
    } else {
        format!("{} passes", count(passes))
    }
}

fn judged(evaluation: &Evaluation) -> String {
    let wrong = (evaluation.error * evaluation.rows as f64).round() as u64;
    let mut text = format!(
        "error {} ({} of {})",
        percent(evaluation.error),
        count(wrong),
        count(evaluation.rows as u64)
    );
    if let Some(loss) = evaluation.log_loss {
        text += &format!(", log loss {}", number(loss));
    }
    if let Some(auc) = evaluation.auc {
        text += &format!(", AUC {auc:.4}");
    }
    text
}

fn how(model: &Model, by_default: bool) -> String {
    let mut text = model.method.name().to_string();
    if let Some(rule) = model.settings.rule {
        text += &format!(", {rule:?} order").to_lowercase();
    }
    if model.method.is_online() {
        text += &format!(
            ", {}, {}",
            passes(model.fit.passes),
            plural(model.fit.iterations, "update")
        );
    }
    if by_default {
        text += " (the default; others: wstar train --help)";
    }
    text
}

/// A certificate's claim in words.
pub(crate) fn claim(certificate: &Certificate, classes: &Classes) -> String {
    match certificate {
        Certificate::MistakeBound { parts } => match parts.as_slice() {
            [part] => mistakes(part),
            parts => {
                let within = parts.iter().filter(|part| part.holds()).count();
                let tightest = parts
                    .iter()
                    .zip(classes.names())
                    .filter(|(part, _)| part.bound.is_some())
                    .min_by(|(a, _), (b, _)| {
                        a.bound.partial_cmp(&b.bound).unwrap_or(std::cmp::Ordering::Equal)
                    });
                let example = tightest
                    .map(|(part, class)| format!("; {class}: {}", mistakes(part)))
                    .unwrap_or_default();
                format!(
                    "{within} of {} discriminants within their mistake bounds{example}",
                    parts.len()
                )
            }
        },
        Certificate::Separation { parts } => {
            let texts: Vec<String> = parts
                .iter()
                .enumerate()
                .map(|(k, part)| {
                    let class = match (parts.len(), classes.names().get(k)) {
                        (1, _) | (_, None) => String::new(),
                        (_, Some(class)) => format!("{class} against the rest: "),
                    };
                    if part.lower > 0.0 {
                        format!(
                            "{class}margin {}, and no hyperplane has more than {}",
                            number(part.lower),
                            number(part.upper)
                        )
                    } else {
                        format!(
                            "{class}not separated; no hyperplane has a margin above {}",
                            number(part.upper)
                        )
                    }
                })
                .collect();
            texts.join("; ")
        }
        Certificate::MaximumLikelihood {
            deviation,
            log_likelihood,
        } => format!(
            "every parameter is the data's own estimate, to {} (log-likelihood {})",
            number(*deviation),
            number(*log_likelihood)
        ),
        Certificate::EnclosingBall { radii, relative_gap } => {
            let texts: Vec<String> = radii
                .iter()
                .zip(classes.names())
                .map(|((_, upper), class)| format!("{class} {}", number(*upper)))
                .collect();
            format!(
                "smallest balls to {}: radius {}",
                number(*relative_gap),
                shortened(&texts, 10)
            )
        }
        Certificate::None => "the data went by only once; `wstar verify` needs them again".into(),
    }
}

fn mistakes(part: &MistakeBound) -> String {
    let Some((bound, margin)) = part.bound.zip(part.margin) else {
        return format!("{}, and no bound is known", plural(part.updates, "update"));
    };
    let most = if bound < 1e15 {
        count(bound.floor() as u64)
    } else {
        number(bound)
    };
    let formula = match (part.separable(), part.conditions.start.is_some()) {
        (_, true) => "from its start",
        (true, _) => "R²/γ²",
        (false, _) => "(R + √k·D)²/γ²",
    };
    let mut text = format!(
        "{} made, at most {most} possible ({formula}, R = {}, γ = {}",
        plural(part.updates, "update"),
        number(part.radius),
        number(margin)
    );
    if !part.separable() {
        text += &format!(", D = {}", number(part.slack));
    }
    text + ")"
}

/// The weights by name, the heaviest first.
pub(crate) fn weights(model: &Model, most: usize) -> String {
    let Some(mut planes) = hyperplanes(model) else {
        return String::new();
    };
    let more_classes = planes.len().saturating_sub(MOST_CLASSES);
    planes.truncate(MOST_CLASSES);
    let mut heaviest: Vec<usize> = (0..model.schema.features).collect();
    let weight = |j: usize| {
        planes
            .iter()
            .map(|plane| plane.weights[j].abs())
            .fold(0.0, f64::max)
    };
    heaviest.sort_by(|&a, &b| weight(b).total_cmp(&weight(a)));
    let left = heaviest.len().saturating_sub(most);
    heaviest.truncate(most);
    if left == 0 {
        heaviest.sort_unstable();
    }
    let columns: Vec<String> = match planes.len() {
        1 => vec![format!("for {}", model.classes.name(1))],
        shown => model.classes.names()[..shown].to_vec(),
    };
    let mut rows = vec![std::iter::once(String::new()).chain(columns).collect::<Vec<_>>()];
    for j in heaviest {
        let cells = planes.iter().map(|plane| number(plane.weights[j]));
        rows.push(
            std::iter::once(model.schema.feature_name(j))
                .chain(cells)
                .collect(),
        );
    }
    if planes.iter().any(|plane| plane.intercept != 0.0) {
        let cells = planes.iter().map(|plane| number(plane.intercept));
        rows.push(std::iter::once("(intercept)".to_string()).chain(cells).collect());
    }
    let mut text = table(&rows);
    if more_classes > 0 {
        text += &format!(
            "  … and {} more classes (wstar inspect --json)\n",
            count(more_classes as u64)
        );
    }
    if left > 0 {
        text += &format!(
            "  … and {} lighter ones (wstar inspect --top N)\n",
            count(left as u64)
        );
    }
    text
}

/// Rows of cells as aligned text: the first column to the left, the others to the right.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::from("  ");
        for (column, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[column] - cell.chars().count());
            match column {
                0 => line += &format!("{cell}{pad}"),
                _ => line += &format!("   {pad}{cell}"),
            }
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// The settings that were given, as options.
pub(crate) fn settings(settings: &Settings) -> String {
    let Ok(serde_json::Value::Object(all)) = serde_json::to_value(settings) else {
        return String::new();
    };
    let given: Vec<String> = all
        .into_iter()
        .filter(|(_, value)| !value.is_null() && value != &serde_json::Value::Bool(false))
        .map(|(name, value)| match value {
            serde_json::Value::Bool(true) => format!("--{}", name.replace('_', "-")),
            serde_json::Value::String(text) => format!("--{} {text}", name.replace('_', "-")),
            other => format!("--{} {other}", name.replace('_', "-")),
        })
        .collect();
    given.join(" ")
}

fn shortened(items: &[String], most: usize) -> String {
    if items.len() <= most {
        items.join(", ")
    } else {
        format!("{}, … {} more", items[..most].join(", "), items.len() - most)
    }
}
