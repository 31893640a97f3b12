//! Tables of weights by feature name, with standard errors and tests where these are valid.

use wstar::Model;
use wstar::certificate::Enclosure;
use wstar::data::Classes;
use wstar::inference::{Inference, TestDistribution};
use wstar_report::words::statistics;

use crate::output::{count, number};

/// Number of weight columns in a table. Cap: further classes are only counted.
const MOST_CLASSES: usize = 10;

/// The table of coefficients with standard errors, tests and intervals, followed by the statistics of the fit.
fn inferred(model: &Model, inference: &Inference, most: usize) -> String {
    let head = match inference.kind() {
        TestDistribution::T => ["", "weight", "std. error", "t", "p", "95 % interval"],
        TestDistribution::Z => ["", "weight", "std. error", "z", "p", "95 % interval"],
    };
    let mut rows = vec![head.map(String::from).to_vec()];
    let names = model
        .schema()
        .feature_names()
        .chain(std::iter::once("(intercept)".to_string()));
    let optional = |value: Option<f64>| value.map_or_else(|| "–".into(), number);
    for (name, c) in names.zip(inference.coefficients()).take(most) {
        rows.push(vec![
            name,
            number(c.estimate()),
            number(c.standard_error()),
            optional(c.statistic()),
            optional(c.p_value()),
            format!("[{}, {}]", number(c.lower()), number(c.upper())),
        ]);
    }
    let mut text = table(&rows);
    let left = inference.coefficients().len().saturating_sub(most);
    if left > 0 {
        text += &format!("  … and {} more (wstar inspect --top N)\n", count(left as u64));
    }
    text + &format!("  {}\n", statistics(inference).join(", "))
}

/// The table of one optimum: of each coefficient the digits that are asked for, as far as they are proved, and an interval where none
/// is.
fn proved_only(model: &Model, part: &Enclosure, digits: u32, most: usize) -> String {
    let mut head = vec![String::new(), "weight (proved)".to_string()];
    let errors = part.standard_errors.as_ref();
    head.extend(errors.map(|_| "std. error (proved)".to_string()));
    let mut rows = vec![head];
    let names = model
        .schema()
        .feature_names()
        .chain(std::iter::once("(intercept)".to_string()));
    for (j, name) in names.take(part.len().min(most)).enumerate() {
        let weight = match part.digits(j).min(digits) {
            0 => format!("[{}, {}]", number(part.lower(j)), number(part.upper(j))),
            known => significant(part.centre[j], known),
        };
        let mut row = vec![name, weight];
        row.extend(errors.map(
            |errors| match part.standard_error_digits(j).unwrap_or(0).min(digits) {
                0 => format!("[{}, {}]", number(errors.lower[j]), number(errors.upper[j])),
                known => significant(0.5 * (errors.lower[j] + errors.upper[j]), known),
            },
        ));
        rows.push(row);
    }
    let mut text = table(&rows);
    let left = part.len().saturating_sub(most);
    if left > 0 {
        text += &format!("  … and {} more (wstar train --json)\n", count(left as u64));
    }
    text
}

/// A number with so many significant digits, at most 15: the rounding to a double may change the 16th.
fn significant(value: f64, digits: u32) -> String {
    let digits = digits.clamp(1, 15) as usize;
    let text = format!("{value:.*e}", digits - 1);
    // Scientific notation only for very small and very large numbers.
    match text
        .split_once('e')
        .and_then(|(_, exponent)| exponent.parse::<i32>().ok())
    {
        Some(exponent) if (-5..17).contains(&exponent) && exponent < digits as i32 => {
            format!("{value:.*}", (digits as i32 - 1 - exponent).max(0) as usize)
        }
        _ => text,
    }
}

/// The table of weights by name, with standard errors where these are valid. If there are more than `most` features,
/// those of largest absolute weight are shown first.
pub(crate) fn weights(model: &Model, most: usize) -> String {
    if let (Some(digits), Some([part])) = (model.settings().options().digits, model.proved()) {
        return proved_only(model, part, digits, most);
    }
    if let Some(inference) = model.inference() {
        return inferred(model, inference, most);
    }
    let Some(mut planes) = model.raw_hyperplanes() else {
        return String::new();
    };
    let more_classes = planes.len().saturating_sub(MOST_CLASSES);
    planes.truncate(MOST_CLASSES);
    let mut heaviest: Vec<usize> = (0..model.schema().features).collect();
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
        _ if model.predictor().is_regression() => vec!["weight".into()],
        1 => vec![format!("for {}", model.classes().name(1))],
        pairs if pairs > model.classes().len() => pair_names(model.classes()).take(pairs).collect(),
        shown => model.classes().names()[..shown].to_vec(),
    };
    let mut rows = vec![std::iter::once(String::new()).chain(columns).collect::<Vec<_>>()];
    for j in heaviest {
        let cells = planes.iter().map(|plane| number(plane.weights[j]));
        rows.push(
            std::iter::once(model.schema().feature_name(j))
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
            "  … and {} with smaller weights (wstar inspect --top N)\n",
            count(left as u64)
        );
    }
    text
}

/// The names of the one-against-one problems, in the order of the problems.
fn pair_names(classes: &Classes) -> impl Iterator<Item = String> + '_ {
    let names = classes.names();
    (0..names.len()).flat_map(move |first| {
        names[first + 1..]
            .iter()
            .map(move |second| format!("{second}/{}", names[first]))
    })
}

/// Formats rows of cells as text: the first column is left-aligned, the others are right-aligned.
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
