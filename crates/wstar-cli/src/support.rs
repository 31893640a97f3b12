//! The support vectors of a margin: in words, and point by point in a file.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use wstar::Model;
use wstar::certify::LargestMargin;
use wstar::data::Dataset;
use wstar::model::{Case, SoftMargin, soft_margins};
use wstar::settings::Method;

use crate::output::{count, csv_cell, number, plural};

/// What the points of a support vector machine say; each of them goes to the file, if one is named.
pub(crate) fn soft(model: &Model, data: &Dataset, file: Option<&Path>) -> Result<Vec<SoftMargin>> {
    if model.method != Method::Svm {
        return Ok(Vec::new());
    }
    let mut text = String::from("problem,row,side,alpha,margin,slack,case\n");
    let sums = soft_margins(model, data, &mut |problem, point| {
        if file.is_some() && point.case != Case::Outside {
            let side = if point.positive { "+1" } else { "-1" };
            let (row, case) = (point.row, csv_cell(point.case.name()));
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{problem},{row},{side},{},{},{},{case}",
                point.alpha, point.margin, point.slack
            );
        }
    })?;
    if let Some(file) = file {
        std::fs::write(file, text).with_context(|| file.display().to_string())?;
    }
    Ok(sums)
}

/// Support vectors by their cases, and how well the conditions of an optimum hold.
pub(crate) fn lines(margins: &[SoftMargin]) -> Vec<(&'static str, String)> {
    let sum = |part: fn(&SoftMargin) -> u64| margins.iter().map(part).sum::<u64>();
    let most = |part: fn(&SoftMargin) -> f64| margins.iter().map(part).fold(0.0, f64::max);
    let (on, inside) = (sum(|m| m.on_margin), sum(|m| m.inside));
    let support = format!(
        "{}: {} on the margin (0 < α < C), {} inside it (α = C), {} misclassified",
        plural(on + inside, "support vector"),
        count(on),
        count(inside),
        count(sum(|m| m.wrong))
    );
    let mut conditions = format!(
        "no point misses its case by more than {}",
        number(most(|m| m.slackness))
    );
    if let [one] = margins {
        if let Some(deviation) = one.rebuilt_weights {
            conditions += &format!("; w = Σαyx to {}", number(deviation));
        }
        if let Some(deviation) = one.rebuilt_intercept {
            conditions += &format!(", b from the margin to {}", number(deviation));
        }
    }
    vec![("support", support), ("conditions", conditions)]
}

/// The support vectors of a hard margin, and how well the conditions of an optimum hold.
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
