//! The support vectors of soft and hard margins: a summary in words, and a CSV file with one line per point.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use wstar::Model;
use wstar::data::Dataset;
use wstar::model::{Case, SoftMargin, soft_margins};
use wstar::separate::margin::margin_certificate::LargestMargin;
use wstar::settings::Method;

use crate::output::{count, csv_cell, number, plural};

/// The soft margin of each problem of a support vector machine. If a file is named, every support vector is written to
/// it.
pub(crate) fn soft(model: &Model, data: &Dataset, file: Option<&Path>) -> Result<Vec<SoftMargin>> {
    if model.method() != Method::Svm {
        return Ok(Vec::new());
    }
    let mut text = String::from("problem,row,side,alpha,margin,slack,case\n");
    let sums = soft_margins(model, data, &mut |problem, point| {
        if file.is_some() && point.case() != Case::Outside {
            let side = if point.positive() { "+1" } else { "-1" };
            let (row, case) = (point.row(), csv_cell(point.case().name()));
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{problem},{row},{side},{},{},{},{case}",
                point.alpha(),
                point.margin(),
                point.slack()
            );
        }
    })?;
    if let Some(file) = file {
        std::fs::write(file, text).with_context(|| file.display().to_string())?;
    }
    Ok(sums)
}

/// Describes a soft margin: the number of support vectors of each case, and the violation of the optimality
/// conditions.
pub(crate) fn lines(margins: &[SoftMargin]) -> Vec<(&'static str, String)> {
    let sum = |part: fn(&SoftMargin) -> u64| margins.iter().map(part).sum::<u64>();
    let most = |part: fn(&SoftMargin) -> f64| margins.iter().map(part).fold(0.0, f64::max);
    let (on, inside) = (sum(|m| m.on_margin()), sum(|m| m.inside()));
    let support = format!(
        "{}: {} on the margin (0 < α < C), {} inside it (α = C), {} misclassified",
        plural(on + inside, "support vector"),
        count(on),
        count(inside),
        count(sum(|m| m.wrong()))
    );
    let mut conditions = format!(
        "no point violates its optimality condition by more than {}",
        number(most(|m| m.slackness()))
    );
    if let [one] = margins {
        if let Some(deviation) = one.rebuilt_weights() {
            conditions += &format!("; w = Σαyx to {}", number(deviation));
        }
        if let Some(deviation) = one.rebuilt_intercept() {
            conditions += &format!(", b from the margin to {}", number(deviation));
        }
    }
    vec![("support", support), ("conditions", conditions)]
}

/// Describes a hard margin: the number of support vectors, and the violation of the optimality conditions.
pub(crate) fn hard(parts: &[LargestMargin]) -> Vec<(&'static str, String)> {
    let most = |part: fn(&LargestMargin) -> f64| parts.iter().map(part).fold(0.0, f64::max);
    let support = parts.iter().map(|part| part.support.len() as u64).sum();
    let conditions = format!(
        "α(y(w·x + b) − 1) = 0 at every point to {}, Σαy = 0 to {} (of Σα)",
        number(most(|part| part.slackness)),
        number(most(|part| part.imbalance))
    );
    vec![
        (
            "support",
            format!("{}, all on the margin", plural(support, "support vector")),
        ),
        ("conditions", conditions),
    ]
}
