//! The summary that is printed after a training: one screen, with the certificate first.

use std::io::Write;

use anyhow::Result;
use wstar::Model;
use wstar::certificate::{Certificate, Enclosure};
use wstar::data::run::Status;
use wstar::data::setting::{Setting, Wording};
use wstar::model::{Judgement, Predictor};
use wstar::settings::{Method, Settings};
use wstar_report::claim;
use wstar_report::words::{passes, shortened};

use crate::args::TrainArgs;
use crate::output::{self, Style, count, number, percent, plural};
use crate::support;
use crate::trained::Trained;
use crate::weights::weights;
use crate::wording::CommandLine;

/// Number of features whose weights are printed. Cap: further features are only counted.
const MOST_SHOWN: usize = 10;

pub(crate) fn trained(trained: &Trained, args: &TrainArgs) -> Result<()> {
    let style = Style::for_results();
    let model = &trained.model;
    let mut results = output::results();
    let classes: Vec<String> = model
        .classes()
        .names()
        .iter()
        .zip(&trained.class_counts)
        .map(|(name, &rows)| format!("{name} {}", count(rows as u64)))
        .collect();
    // The rows of a stream are not counted by class.
    let classes = match classes.as_slice() {
        [] => shortened(model.classes().names(), 12),
        counted => shortened(counted, 12),
    };
    let target = match model.classes().len() {
        0 => format!("target {}", model.schema().target.as_deref().unwrap_or("real")),
        count => format!("{count} classes ({classes})"),
    };
    writeln!(
        results,
        "{}: {} × {}, {target}",
        style.strong(&trained.name),
        plural(model.record().rows, "row"),
        plural(model.schema().features as u64, "feature"),
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
        if let Some(solver) = &model.record().solver
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
        writeln!(results, "settings: {}", settings(model.settings()))?;
    }
    results.flush()?;
    Ok(())
}

/// The lines between the title and the weights: certificate, evaluation and notes.
fn findings(trained: &Trained, style: Style) -> Vec<(&'static str, String)> {
    let model = &trained.model;
    let mut lines = Vec::new();
    let claimed = claim(model.certificate(), model.classes());
    match (model.certificate(), model.certificate().holds()) {
        (Certificate::None, _) => lines.push(("no proof", claimed)),
        (_, true) => lines.push(("certified", style.good(&claimed))),
        (_, false) => lines.push(("not proved", style.bad(&claimed))),
    }
    lines.extend(proved(model).map(|text| ("digits", style.good(&text))));
    if !model.record().status.is_success() {
        lines.push(("fell short", style.bad(&shortfall(model))));
    }
    match (&trained.train, model.predictor()) {
        (Some(evaluation), _) => lines.push(("training", judged(evaluation))),
        (None, Predictor::Committee { .. }) => lines.push((
            "training",
            "not evaluated, because counting so many votes takes long (use wstar evaluate)".into(),
        )),
        (None, _) => {}
    }
    if let Some(evaluation) = &trained.test {
        lines.push(("held out", judged(evaluation)));
    }
    if let Predictor::Committee { committees } = model.predictor() {
        let hyperplanes: usize = committees.iter().map(|committee| committee.len()).sum();
        let rows: usize = committees.iter().map(|committee| committee.kept_rows()).sum();
        lines.push((
            "committee",
            format!(
                "{} vote, stored as {}",
                plural(hyperplanes as u64, "hyperplane"),
                plural(rows as u64, "example")
            ),
        ));
    }
    lines.extend(progress(model).map(|text| ("progress", text)));
    if !trained.margins.is_empty() {
        lines.extend(support::lines(&trained.margins));
    }
    if let Certificate::HardMargin { parts } = model.certificate() {
        lines.extend(support::hard(parts));
    }
    if let Some(report) = model.least_squares() {
        let rank = if report.rank() < report.parameters() {
            format!(
                "rank {} of {}: the weights are not unique, and these have the smallest norm",
                report.rank(),
                report.parameters()
            )
        } else {
            format!("full rank {}", report.rank())
        };
        lines.push((
            "columns",
            format!("{rank}; condition number {}", number(report.condition_number())),
        ));
    }
    lines.extend(
        model
            .record()
            .notes
            .iter()
            .map(|note| ("note", note.worded(&CommandLine))),
    );
    lines
}

/// The digits that are proved of the optimum: the fewest of any coefficient, leaving out those that may be 0.
fn proved(model: &Model) -> Option<String> {
    let parts = model.proved()?;
    let digits = |of: &dyn Fn(&Enclosure, usize) -> Option<u32>| -> Vec<u32> {
        parts
            .iter()
            .flat_map(|part| (0..part.len()).filter_map(|j| of(part, j)).collect::<Vec<u32>>())
            .collect()
    };
    let all = digits(&|part, j| Some(part.digits(j)));
    let errors = digits(&Enclosure::standard_error_digits);
    let known: Vec<u32> = all.iter().copied().filter(|&digits| digits > 0).collect();
    let least = known.iter().min()?;
    let which = match all.len() - known.len() {
        0 => "every coefficient".into(),
        unknown => format!(
            "all but {} of {}",
            count(unknown as u64),
            plural(all.len() as u64, "coefficient")
        ),
    };
    let unit = if *least == 1 { "digit" } else { "digits" };
    let errors = match errors.iter().min() {
        Some(least) => format!(", standard errors to {least}"),
        None => String::new(),
    };
    Some(format!("{which} to {least} {unit} or more{errors} (proved)"))
}

/// The share of mistakes of a mistake-driven learner in each pass, counted before each update.
fn progress(model: &Model) -> Option<String> {
    let fit = model.record();
    let mut passes = fit.mistakes_by_pass.as_slice();
    let share = |mistakes: u64, of: u64| percent(mistakes as f64 / of.max(1) as f64);
    if let [only] = passes {
        return Some(format!(
            "mistakes while learning: {} of {}",
            share(*only, fit.seen),
            count(fit.seen)
        ));
    }
    // An incomplete last pass is not comparable with the others.
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

/// Why a fit did not succeed, and what to try next.
fn shortfall(model: &Model) -> String {
    let status = model.record().status.in_words();
    let after = format!("stopped after {}", passes(model.record().passes));
    match (model.record().status, model.method()) {
        (Status::IterationLimit, Method::Perceptron) => {
            format!(
                "{after} with mistakes left: perhaps nothing separates these classes (try --method pocket)"
            )
        }
        (Status::IterationLimit, Method::Kozinec) => {
            format!("{after}: the hulls may touch, or the margin is thin (try a larger --epsilon, or pocket)")
        }
        (Status::Diverging, Method::Kozinec) => {
            format!(
                "{status}: the convex hulls of the classes intersect, so no hyperplane separates them (try pocket)"
            )
        }
        (_, Method::MinError) => format!(
            "{status} after {}: a larger --max-iter or --max-seconds may prove more",
            plural(model.record().iterations, "node")
        ),
        _ => format!("{status} after {}", passes(model.record().passes)),
    }
}

fn judged(judgement: &Judgement) -> String {
    if let Some(deviations) = judgement.real() {
        let r2 = deviations
            .r2()
            .map(|r2| format!(", R² {}", number(r2)))
            .unwrap_or_default();
        return format!(
            "mean squared deviation {}, mean absolute {}{r2}",
            number(deviations.mse()),
            number(deviations.mae())
        );
    }
    let Some(evaluation) = judgement.classes() else {
        return String::new();
    };
    let wrong = (evaluation.error() * evaluation.rows() as f64).round() as u64;
    let mut text = format!(
        "error {} ({} of {})",
        percent(evaluation.error()),
        count(wrong),
        count(evaluation.rows() as u64)
    );
    if let Some(loss) = evaluation.log_loss() {
        text += &format!(", log loss {}", number(loss));
    }
    if let Some(auc) = evaluation.auc() {
        text += &format!(", AUC {auc:.4}");
    }
    text
}

/// How the model was fitted; for a default method, also where the other methods are listed.
fn how(model: &Model, by_default: bool) -> String {
    let text = wstar_report::how(model, &CommandLine);
    match (by_default, model.method().is_convex()) {
        (false, _) => text,
        (true, true) => text + "; other methods: wstar train --help",
        (true, false) => text + " (the default; others: wstar train --help)",
    }
}

/// The method and the settings that differ from its defaults, as command-line options.
pub(crate) fn settings(settings: &Settings) -> String {
    let method = Setting::Method.to(settings.method().name());
    let given = settings.options().given();
    let words: Vec<String> = [method]
        .iter()
        .chain(&given)
        .map(|choice| CommandLine.choice(choice))
        .collect();
    words.join(" ")
}
