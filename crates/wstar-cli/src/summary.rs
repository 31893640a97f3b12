//! What a person sees after a training: one screen, the claim first.

use std::io::Write;

use anyhow::Result;
use wstar::Model;
use wstar::certify::Certificate;
use wstar::model::{Judgement, Predictor};
use wstar::settings::{Method, Settings};
use wstar::watch::Status;
use wstar_report::claim;
use wstar_report::words::{passes, shortened};

use crate::args::TrainArgs;
use crate::output::{self, Style, count, number, percent, plural};
use crate::support;
use crate::train::Trained;
use crate::weights::weights;

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
    let target = match model.classes.len() {
        0 => format!("target {}", model.schema.target.as_deref().unwrap_or("real")),
        count => format!("{count} classes ({classes})"),
    };
    writeln!(
        results,
        "{}: {} × {}, {target}",
        style.strong(&trained.name),
        plural(model.fit.rows, "row"),
        plural(model.schema.features as u64, "feature"),
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
        data => format!("wstar report {path} {data}"),
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
        if let Some(solver) = &model.fit.solver
            && !solver.tried.is_empty()
        {
            let tried: Vec<&str> = solver.tried.iter().map(|solver| solver.name()).collect();
            writeln!(
                results,
                "tried before {}: {}",
                solver.name.name(),
                tried.join(", ")
            )?;
        }
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
    if !trained.margins.is_empty() {
        lines.extend(support::lines(&trained.margins));
    }
    if let Certificate::HardMargin { parts } = &model.certificate {
        lines.extend(support::hard(parts));
    }
    if let Some(report) = &model.least_squares {
        let rank = if report.rank < report.parameters {
            format!(
                "rank {} of {}: many weights fit as well, and these are the smallest",
                report.rank, report.parameters
            )
        } else {
            format!("full rank {}", report.rank)
        };
        lines.push((
            "columns",
            format!("{rank}; condition number {}", number(report.condition_number)),
        ));
    }
    lines.extend(model.fit.notes.iter().map(|note| ("note", note.clone())));
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
        (_, Method::MinError) => format!(
            "{status} after {}: a larger --max-iter or --max-seconds may prove more",
            plural(model.fit.iterations, "node")
        ),
        _ => format!("{status} after {}", passes(model.fit.passes)),
    }
}

fn judged(judgement: &Judgement) -> String {
    let evaluation = match judgement {
        Judgement::Classes(evaluation) => evaluation,
        Judgement::Real(deviations) => {
            let r2 = deviations
                .r2
                .map(|r2| format!(", R² {}", number(r2)))
                .unwrap_or_default();
            return format!(
                "mean squared deviation {}, mean absolute {}{r2}",
                number(deviations.mse),
                number(deviations.mae)
            );
        }
    };
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

/// How the model was made, and that there are other ways.
fn how(model: &Model, by_default: bool) -> String {
    let text = wstar_report::how(model);
    match (by_default, model.method.is_convex()) {
        (false, _) => text,
        (true, true) => text + "; other methods: wstar train --help",
        (true, false) => text + " (the default; others: wstar train --help)",
    }
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
