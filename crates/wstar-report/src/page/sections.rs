//! The sections of a page, from top to bottom.

use wstar::data::Encoding;
use wstar::data::setting::Wording;
use wstar::inference::TestDistribution as Test;
use wstar::metrics;
use wstar::model::Judgement;

use super::provenance::Made;
use super::table::{facts, list, table, tiles};
use crate::draw::escaped;
use crate::how::{command, how, quoted};
use crate::pictures::coefficients::{columns, largest_weights};
use crate::subject::{MOST_CLASSES, Standing, Subject};
use crate::words::{count, number, passes, percent, plural, shortened, statistics};

/// Features in the table of weights. Cap: features with smaller weights are left out and counted.
const MOST_FEATURES: usize = 40;
/// Words per class in the tables of a text model. Cap: words with smaller weights are left out.
const MOST_WORDS: usize = 15;

pub(super) fn header(subject: &Subject<'_>, made: &Made<'_>, wording: &dyn Wording) -> String {
    let model = subject.model;
    let about = match model.classes().len() {
        0 => format!("target {}", subject.target()),
        classes => format!(
            "{}: {}",
            plural(classes as u64, "class"),
            shortened(model.classes().names(), 12)
        ),
    };
    format!(
        "<header><div>\n<h1>{} on {}</h1>\n<p>trained on {} × {}, {}</p>\n<p>{}</p>\n</div>\n\
         <button id=\"theme\" type=\"button\" hidden>Colours</button></header>\n",
        escaped(model.method().name()),
        escaped(made.title),
        plural(model.record().rows, "row"),
        plural(model.schema().features as u64, "feature"),
        escaped(&about),
        escaped(&how(model, wording)),
    )
}

/// A sentence on the rows that the model was evaluated on.
fn judged_on(subject: &Subject<'_>, standing: &Standing, made: &Made<'_>) -> String {
    let rows = plural(subject.data.rows() as u64, "row");
    match standing {
        _ if made.held_out => {
            format!("On {rows} that were held out of the training: an estimate of the quality on new rows.")
        }
        Standing::Checked(_) => format!(
            "On the {rows} that the model was trained on. The results on new rows are probably worse: hold out \
             some rows (wstar train --holdout 0.2), or report on other rows."
        ),
        Standing::Elsewhere => format!("On {rows} that are not the training rows."),
        Standing::Unknown(_) => format!("On {rows}; whether the model was trained on them is not known."),
    }
}

pub(super) fn judgement(subject: &Subject<'_>, standing: &Standing, made: &Made<'_>) -> String {
    let mut text =
        String::from("<section aria-labelledby=\"well\">\n<h2 id=\"well\">Quality of the predictions</h2>\n");
    text += &match &subject.judgement {
        Judgement::Classes(evaluation) => {
            let mut shown = vec![
                ("error", percent(evaluation.error())),
                ("accuracy", percent(evaluation.accuracy())),
            ];
            shown.extend(evaluation.log_loss().map(|loss| ("log loss", number(loss))));
            shown.extend(
                evaluation
                    .auc()
                    .map(|auc| ("area under the ROC curve", format!("{auc:.4}"))),
            );
            shown.extend(evaluation.risk().map(|risk| ("mean penalty", number(risk))));
            tiles(&shown)
        }
        Judgement::Real(deviations) => {
            let mut shown = vec![
                ("mean squared deviation", number(deviations.mse())),
                ("mean absolute deviation", number(deviations.mae())),
            ];
            shown.extend(deviations.r2().map(|r2| ("R²", number(r2))));
            tiles(&shown)
        }
        _ => String::new(),
    };
    text += &format!("<p>{}</p>\n", escaped(&judged_on(subject, standing, made)));
    text += &match &subject.judgement {
        Judgement::Classes(evaluation) if evaluation.classes().len() <= 30 => {
            let names = evaluation.classes().names();
            let head: Vec<String> = std::iter::once("true class".to_string())
                .chain(names.iter().map(|name| format!("→ {name}")))
                .chain(["recall".to_string()])
                .collect();
            let rows: Vec<Vec<String>> = names
                .iter()
                .zip(evaluation.confusion())
                .enumerate()
                .map(|(k, (name, row))| {
                    let all: f64 = row.iter().sum();
                    let recall = if all > 0.0 {
                        percent(row[k] / all)
                    } else {
                        "–".into()
                    };
                    std::iter::once(name.clone())
                        .chain(row.iter().map(|&cell| number(cell)))
                        .chain([recall])
                        .collect()
                })
                .collect();
            format!(
                "<h3>Confusion matrix</h3>\n{}",
                table("Confusion matrix", &head, &rows)
            )
        }
        Judgement::Real(_) => residual_quantiles(subject),
        _ => String::new(),
    };
    text + "</section>\n"
}

fn residual_quantiles(subject: &Subject<'_>) -> String {
    let shares = [0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0];
    let Ok(found) = metrics::quantiles(&subject.residuals(), subject.weights(), &shares) else {
        return String::new();
    };
    let head = [
        "residuals",
        "smallest",
        "5 %",
        "25 %",
        "median",
        "75 %",
        "95 %",
        "largest",
    ]
    .map(String::from);
    let row: Vec<String> = std::iter::once("true value minus prediction".to_string())
        .chain(found.iter().map(|&value| number(value)))
        .collect();
    format!(
        "<h3>Residuals</h3>\n{}",
        table("Quantiles of the residuals", &head, &[row])
    )
}

/// Notes on the fit and the rows.
pub(super) fn notes(subject: &Subject<'_>, wording: &dyn Wording) -> String {
    let model = subject.model;
    let mut items = Vec::new();
    if !model.record().status.is_success() {
        items.push(format!(
            "The fit {} after {}.",
            model.record().status.in_words(),
            passes(model.record().passes)
        ));
    }
    items.extend(model.record().notes.iter().map(|note| note.worded(wording)));
    items.extend(subject.data.notes().iter().map(ToString::to_string));
    if let Some(report) = model.least_squares()
        && report.rank() < report.parameters()
    {
        items.push(format!(
            "The columns are linearly dependent (rank {} of {}): other weights fit equally well, and these have the smallest norm.",
            report.rank(), report.parameters()
        ));
    }
    match items.is_empty() {
        true => String::new(),
        false => format!(
            "<section aria-labelledby=\"notes\">\n<h2 id=\"notes\">Notes</h2>\n{}</section>\n",
            list(items)
        ),
    }
}

/// The weights by feature; for a text model, the words with the largest weights for each class.
pub(super) fn weights(subject: &Subject<'_>) -> String {
    let model = subject.model;
    let is_text = |column: &wstar::data::RawColumn| matches!(column.encoding, Encoding::Text(_));
    let shown = if model.schema().columns.iter().any(is_text) && !model.classes().is_empty() {
        strongest_words(subject)
    } else {
        coefficients(subject)
    };
    let Some((title, content)) = shown else {
        return String::new();
    };
    format!("<section aria-labelledby=\"weights\">\n<h2 id=\"weights\">{title}</h2>\n{content}</section>\n")
}

fn coefficients(subject: &Subject<'_>) -> Option<(&'static str, String)> {
    let model = subject.model;
    let (features, all) = largest_weights(model, MOST_FEATURES)?;
    let planes = model.raw_hyperplanes()?;
    let mut rows = Vec::new();
    let mut text = String::new();
    let head: Vec<String> = match model.inference() {
        Some(inference) if planes.len() == 1 => {
            let names: Vec<String> = model
                .schema()
                .feature_names()
                .chain(["(intercept)".into()])
                .collect();
            let chosen: Vec<&String> = features.iter().map(|feature| &feature.name).collect();
            let optional = |value: Option<f64>| value.map_or_else(|| "–".into(), number);
            for (name, c) in names.iter().zip(inference.coefficients()) {
                if chosen.contains(&name) || name == "(intercept)" {
                    rows.push(vec![
                        name.clone(),
                        number(c.estimate()),
                        number(c.standard_error()),
                        optional(c.statistic()),
                        optional(c.p_value()),
                        format!("{} to {}", number(c.lower()), number(c.upper())),
                    ]);
                }
            }
            let statistic = match inference.kind() {
                Test::T => "t",
                Test::Z => "z",
            };
            let level = format!("{} % interval", number(100.0 * inference.level()));
            let mut line = statistics(inference);
            if model.schema().scaling.is_some() {
                line.push("of standardised columns".into());
            }
            text += &format!("<p class=\"quiet\">{}</p>\n", escaped(&line.join(", ")));
            ["feature", "weight", "std. error", statistic, "p", &level]
                .map(String::from)
                .to_vec()
        }
        _ => {
            let most = planes.len().min(MOST_CLASSES);
            for feature in &features {
                let cells = feature.weights.iter().take(most).map(|&weight| number(weight));
                rows.push(std::iter::once(feature.name.clone()).chain(cells).collect());
            }
            let intercepts = planes.iter().take(most).map(|plane| number(plane.intercept));
            rows.push(
                std::iter::once("(intercept)".to_string())
                    .chain(intercepts)
                    .collect(),
            );
            let why = match model
                .settings()
                .regularized()
                .is_some_and(|own| own.penalty != wstar::problem::penalty::PenaltyName::None)
            {
                true => {
                    "A penalty shrinks the weights towards 0, so they have no valid confidence intervals. "
                }
                false => "",
            };
            text += &format!("<p class=\"quiet\">{why}Weights are in the units of the columns.</p>\n");
            std::iter::once("feature".to_string())
                .chain(columns(model, planes.len()).into_iter().take(most))
                .collect()
        }
    };
    if all > features.len() {
        let left = count((all - features.len()) as u64);
        text += &format!("<p class=\"quiet\">… and {left} smaller ones (wstar inspect --top N)</p>\n");
    }
    Some(("The weights", table("Weights by feature", &head, &rows) + &text))
}

/// For each class, the words with the largest weights for it. A single hyperplane gives both classes, by sign.
fn strongest_words(subject: &Subject<'_>) -> Option<(&'static str, String)> {
    let model = subject.model;
    let planes = model.raw_hyperplanes()?;
    let sides: Vec<(usize, f64, String)> = match planes.as_slice() {
        [_] => vec![
            (0, 1.0, subject.class(1).to_string()),
            (0, -1.0, subject.class(0).to_string()),
        ],
        several if several.len() == model.classes().len() => (0..several.len().min(MOST_CLASSES))
            .map(|k| (k, 1.0, subject.class(k as u32).to_string()))
            .collect(),
        _ => return None,
    };
    let mut text = String::from("<div class=\"words\">\n");
    for (plane, sign, class) in sides {
        let weights = &planes[plane].weights;
        let mut order: Vec<usize> = (0..weights.len()).filter(|&j| sign * weights[j] > 0.0).collect();
        order.sort_by(|&a, &b| (sign * weights[b]).total_cmp(&(sign * weights[a])));
        let rows: Vec<Vec<String>> = order
            .iter()
            .take(MOST_WORDS)
            .map(|&j| vec![crate::pictures::coefficients::name(model, j), number(weights[j])])
            .collect();
        let caption = format!("Words with the largest weights for {class}");
        text += &format!(
            "<div><h3>For {}</h3>\n{}</div>\n",
            escaped(&class),
            table(&caption, &["word".into(), "weight".into()], &rows)
        );
    }
    Some(("The strongest words", text + "</div>\n"))
}

/// The provenance section: the commands and settings that reproduce the model and the report.
pub(super) fn made(
    subject: &Subject<'_>,
    standing: &Standing,
    made: &Made<'_>,
    missing: &[String],
    wording: &dyn Wording,
) -> String {
    let model = subject.model;
    let (file, data) = (quoted(made.model), quoted(made.data));
    let train = command(model, made.data, made.unused);
    let digest = match (model.digest(), standing) {
        (Some(digest), Standing::Elsewhere) => {
            format!("{digest} (of the training rows; the rows of this report are different)")
        }
        (Some(digest), _) => format!("{digest} (of the training rows, as the model reads them)"),
        (None, _) => "not in the model file".into(),
    };
    let step = if model.method().is_online() {
        "update"
    } else {
        "iteration"
    };
    let mut shown = vec![
        ("training", train_line(standing, &train)),
        ("this report", format!("wstar report {file} {data}")),
        ("re-check", format!("wstar verify {file} {data}")),
        ("digest of the rows", digest),
        (
            "fit",
            format!(
                "{} after {} and {}",
                model.record().status.in_words(),
                passes(model.record().passes),
                plural(model.record().iterations, step)
            ),
        ),
        ("seed", model.settings().common().seed().to_string()),
        ("program", format!("wstar {}", made.version)),
    ];
    if let Some(solver) = &model.record().solver {
        shown.push((
            "solver",
            format!("{} ({})", solver.name.name(), solver.why.worded(wording)),
        ));
    }
    let mut text = format!(
        "<section aria-labelledby=\"made\">\n<h2 id=\"made\">How to reproduce it</h2>\n{}",
        facts(&shown)
    );
    if !missing.is_empty() {
        text += &format!(
            "<details><summary>Pictures that could not be drawn, with reasons</summary>\n{}</details>\n",
            list(missing.iter().cloned())
        );
    }
    text + "</section>\n"
}

/// The training command, with a remark unless the report's data are the training data.
fn train_line(standing: &Standing, command: &str) -> String {
    match standing {
        Standing::Checked(_) => command.to_string(),
        Standing::Elsewhere | Standing::Unknown(_) => {
            format!("{command} (with the training data instead of these)")
        }
    }
}

#[cfg(test)]
mod tests {
    use wstar::data::Dataset;
    use wstar::data::setting::{Choice, Command};
    use wstar::prelude::LeastSquares;

    use super::*;

    /// A program whose names nothing else has.
    struct Program;

    impl Wording for Program {
        fn choice(&self, choice: &Choice) -> String {
            format!("‹{}: {}›", choice.setting.name(), choice.values.join("/"))
        }

        fn command(&self, command: Command) -> String {
            format!("‹{command:?}›")
        }
    }

    #[test]
    fn notes_name_settings_as_the_caller_does() {
        let rows = [0.0, 1.0, 2.0, 3.0].map(|x| vec![x]);
        let data = Dataset::measured(&rows, vec![1.0, 3.0, 5.5, 7.0]).unwrap();
        let model = LeastSquares::l2().fit(&data).unwrap();
        let subject = Subject::new(&model, &data).unwrap();
        let text = notes(&subject, &Program);
        assert!(text.contains("(‹penalty: none› gives them)"), "{text}");
    }

    #[test]
    fn every_message_is_one_line_in_the_words_of_the_caller() {
        for sentence in wstar::wording::sentences(&Program) {
            assert!(!sentence.is_empty() && !sentence.contains('\n'), "{sentence}");
            for foreign in ["--", " = ", "=\"", "sklearn", ",,"] {
                assert!(!sentence.contains(foreign), "{sentence}");
            }
            // A list of the page shows it whole.
            let shown = list([sentence.clone()]);
            assert!(shown.contains(&escaped(&sentence)), "{shown}");
        }
    }
}
