//! What a model file states besides its certificate: recomputed from the rows, and compared field by field.
//!
//! The expected sections are made as JSON values and compared with those of the model, so that a new field of a section is
//! compared without further code. [`NOT_CHECKED`] lists what carries no claim.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use crate::bayes::Estimate;
use crate::certificate::{Certificate, Enclosure, enclose_part, is_wanted};
use crate::inference::{self, Inference};
use crate::model::{Link, Model, Predictor};
use crate::online::Ties;
use crate::settings::Settings;
use wstar_certify::duality::DualityGap;
use wstar_certify::stationarity::Stationarity;
use wstar_data::error::Result;
use wstar_data::{Dataset, Objection};
use wstar_problem::loss::LossName;
use wstar_problem::multiclass::{Subproblem, Subproblems, Totals};
use wstar_problem::objective::{Rows, Weights};
use wstar_separate::margin::margin_certificate::LargestMargin;
use wstar_solve::LeastSquaresReport;
use wstar_solve::least_squares::Diagnostics;

/// What carries no claim, so that a verification does not depend on it: the kind of certificate (empty for all kinds), and the
/// beginning of the path of the field in the model file.
///
/// The schema selects and encodes columns when a file is read; a verification gets the rows. A perceptron's weights are those of its
/// last update, and only a rerun could confirm them: the bound on its updates and, if it converged, the absence of mistakes are
/// checked. Of a least error any hyperplane with the same errors, and any valid proof of the bound, is as good.
pub const NOT_CHECKED: [(&str, &str); 28] = [
    ("", "certificate.parts[].at_bound"),
    ("", "certificate.parts[].support"),
    ("", "fit.iterations"),
    ("", "fit.mistakes_by_pass"),
    ("", "fit.notes"),
    ("", "fit.passes"),
    ("", "fit.seen"),
    ("", "fit.solver"),
    ("", "fit.status"),
    ("", "history"),
    ("", "predictor.committees"),
    ("", "python"),
    ("", "schema.columns[].name"),
    ("", "schema.positive"),
    ("", "schema.sample_weight"),
    ("", "schema.target"),
    ("", "settings.common"),
    // What was asked for. What is proved is compared.
    ("", "settings.digits"),
    // Other penalties and solvers do not depend on it; where one does, it changes the problem and is caught.
    ("", "settings.l1_ratio"),
    ("stationarity", "settings.start"),
    // A row with a share of the nearest point: the mean of any rows of a class bounds the margin.
    ("separation", "certificate.parts[].negative"),
    ("separation", "certificate.parts[].positive"),
    ("mistake-bound", "predictor.discriminants"),
    ("mistake-bound", "settings.epochs"),
    ("mistake-bound", "settings.multiset"),
    ("min-error", "predictor.discriminants"),
    ("min-error", "certificate.proof"),
    ("none", ""),
];

/// The relative deviation that the rounding of another order of summation, or of another factorisation, explains. Statistics
/// are derived from (X̃ᵀCX̃)⁻¹, whose digits are lost with its condition number. Cap: a smaller change is not found.
const ROUNDING: f64 = 1e-6;

/// The absolute error of numbers that would be 0 without rounding. Cap: a smaller change is not found.
const SMALL: f64 = 1e-9;

/// Adds an objection for every statement that the rows contradict. `found` is the recomputed certificate.
pub(super) fn compare(
    model: &Model,
    data: &Dataset,
    found: &Certificate,
    objections: &mut Vec<Objection>,
) -> Result<()> {
    let rows = (0..data.rows()).filter(|&i| data.weight(i) > 0.0).count() as u64;
    if rows != model.fit.rows {
        objections.push(Objection::TrainingRows {
            trained: model.fit.rows,
            found: rows,
        });
    }
    if let Certificate::DualityGap { parts: stated } = &model.certificate {
        for (i, part) in stated.iter().enumerate() {
            objections.extend(other_scale(i, part, found));
        }
    }
    let mut compare = |path: &str, stated: Value, expected: Value| {
        differences(path, &stated, &expected, objections);
    };
    if let Some(digest) = &model.digest {
        compare("digest", json(digest), json(&data.digest()));
    }
    let reduction = match model.settings.regularized() {
        Some(settings) => {
            let totals = Totals::of_targets(data)?;
            Some(settings.reduction(&model.classes, model.schema.features, &totals)?)
        }
        None => None,
    };
    match &model.predictor {
        Predictor::Linear { ties, link, .. } => {
            let (expected_ties, expected_link) = match &model.settings {
                Settings::Perceptrons(settings) => (settings.ties, Link::Margin),
                _ => (Ties::Mistake, reduction.as_ref().map_or(Link::Margin, Link::of)),
            };
            compare("predictor.ties", json(ties), json(&expected_ties));
            compare("predictor.link", json(link), json(&expected_link));
        }
        Predictor::Bayes { penalties, estimate } => {
            if let Settings::Densities(settings) = &model.settings {
                compare("predictor.penalties", json(penalties), json(&settings.penalties));
                let (settings, estimate) = (json(&settings.density), json(estimate));
                let shared = settings.get("family").map(|family| Value::Bool(family == "lda"));
                let expected = |name: &str| match name {
                    "shared" => shared.clone(),
                    name => settings.get(name).cloned(),
                };
                for (name, stated) in estimate.as_object().into_iter().flatten() {
                    if let Some(expected) = expected(name) {
                        compare(&format!("predictor.estimate.{name}"), stated.clone(), expected);
                    }
                }
            }
        }
        _ => {}
    }
    match found {
        Certificate::DualityGap { parts } => {
            let objective: f64 = parts.iter().map(|part| part.primal).sum();
            compare(
                "fit.objective",
                json(&model.fit.objective),
                json(&Some(objective)),
            );
        }
        Certificate::Stationarity { parts } => {
            let objective: f64 = parts.iter().map(|part| part.objective).sum();
            compare(
                "fit.objective",
                json(&model.fit.objective),
                json(&Some(objective)),
            );
        }
        Certificate::MinError(least) if model.fit.objective.is_some() => {
            compare(
                "fit.objective",
                json(&model.fit.objective),
                json(&Some(least.cost)),
            );
        }
        Certificate::HardMargin { parts } if model.fit.objective.is_some() => {
            let objective: f64 = parts.iter().map(|part| part.primal).sum();
            compare(
                "fit.objective",
                json(&model.fit.objective),
                json(&Some(objective)),
            );
        }
        Certificate::EnclosingBall { radii, .. } => {
            if let Predictor::Bayes {
                estimate: Estimate::Minimax(minimax),
                ..
            } = &model.predictor
            {
                let stated: Vec<(f64, f64)> = minimax
                    .balls
                    .iter()
                    .map(|ball| (ball.lower, ball.radius))
                    .collect();
                compare("predictor.estimate.balls", json(&stated), json(radii));
            }
        }
        _ => {}
    }
    // A model that was fitted in batches has no certificate, and states nothing.
    if model.certificate != Certificate::None {
        compare("certificate", claims(&model.certificate), claims(found));
    }
    if let Certificate::HardMargin { parts } = &model.certificate {
        for part in parts {
            compare(
                "certificate.parts[].tol",
                json(&part.tol),
                json(&model.settings.tol()),
            );
        }
    }
    if model.inference.is_some() || model.least_squares.is_some() {
        let (report, inference) = match &reduction {
            Some(reduction) => statistics(model, data, reduction)?,
            None => (None, None),
        };
        if model.least_squares.is_some() {
            compare("least_squares", json(&model.least_squares), json(&report));
        }
        if model.inference.is_some() {
            compare("inference", json(&model.inference), json(&inference));
        }
    }
    if let Some(stated) = &model.proved {
        let found = match &reduction {
            Some(reduction) => enclosures(model, data, reduction)?,
            None => None,
        };
        for (k, stated) in stated.iter().enumerate() {
            let found = found.as_ref().and_then(|found| found.get(k));
            if !found.is_some_and(|found| stated.agrees_with(found)) {
                objections.push(Objection::Statement {
                    field: format!("proved[{k}]"),
                    stated: json(stated).to_string(),
                    found: json(&found).to_string(),
                });
            }
        }
    }
    Ok(())
}

/// The objection to a relative gap that is not the gap divided by its scale. Files of earlier releases divide by max(|P|, 1).
fn other_scale(i: usize, stated: &DualityGap, found: &Certificate) -> Option<Objection> {
    let Certificate::DualityGap { parts } = found else {
        return None;
    };
    let is_near = |relative: f64| (relative - stated.relative_gap).abs() <= SMALL + ROUNDING * relative.abs();
    let earlier = stated.gap / stated.primal.abs().max(1.0);
    let relative = stated.gap / parts.get(i)?.scale();
    (!is_near(relative) && !is_near(earlier)).then(|| Objection::Statement {
        field: format!("certificate.parts[{i}].relative_gap"),
        stated: stated.relative_gap.to_string(),
        found: relative.to_string(),
    })
}

/// The statements of a certificate that are compared here. Numbers that only rounding separates from 0 are compared with the
/// absolute error [`SMALL`]. The other numbers have objections of their own.
fn claims(certificate: &Certificate) -> Value {
    let small = |value: f64| json(&(value / SMALL).round());
    match certificate {
        Certificate::DualityGap { parts } => {
            let part = |part: &DualityGap| {
                let difference = (part.primal - part.dual - part.gap) / part.primal.abs().max(part.gap.abs());
                serde_json::json!({
                    "tol": part.tol, "gap": small(difference.abs().min(1.0)),
                })
            };
            serde_json::json!({ "parts": parts.iter().map(part).collect::<Vec<_>>() })
        }
        Certificate::Stationarity { parts } => {
            let part =
                |part: &Stationarity| serde_json::json!({ "tol": part.tol, "slope": small(part.slope) });
            serde_json::json!({ "parts": parts.iter().map(part).collect::<Vec<_>>() })
        }
        Certificate::HardMargin { parts } => {
            let part = |part: &LargestMargin| {
                serde_json::json!({
                    "tol": part.tol, "relative_gap": small(part.relative_gap),
                    "imbalance": small(part.imbalance), "slackness": small(part.slackness),
                })
            };
            serde_json::json!({ "parts": parts.iter().map(part).collect::<Vec<_>>() })
        }
        Certificate::MaximumLikelihood {
            deviation,
            log_likelihood,
        } => serde_json::json!({ "deviation": small(*deviation), "log_likelihood": log_likelihood }),
        Certificate::EnclosingBall { radii, relative_gap } => {
            serde_json::json!({ "radii": radii, "relative_gap": small(*relative_gap) })
        }
        _ => Value::Null,
    }
}

fn json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// The statistics of an unpenalised fit, from the rows without C and class weights.
fn statistics(
    model: &Model,
    data: &Dataset,
    reduction: &Subproblems,
) -> Result<(Option<LeastSquaresReport>, Option<Inference>)> {
    let Predictor::Linear { discriminants, .. } = &model.predictor else {
        return Ok((None, None));
    };
    let (problem, [part], [plane]) = (reduction.problem(), reduction.parts(), &discriminants[..]) else {
        return Ok((None, None));
    };
    let layout = problem.layout();
    let rows = reduction.rows(*part, data)?;
    let weights = match data.weights() {
        Some(weights) => Weights::Each(Cow::Borrowed(weights)),
        None => Weights::Same(1.0),
    };
    let rows = Rows { weights, ..rows };
    let mut parameters = plane.weights.clone();
    parameters.extend(layout.intercept.then_some(plane.intercept));
    let regression = *part == Subproblem::Real && problem.loss() == LossName::Squared;
    let solved = match regression {
        true => Diagnostics::new(&rows, layout, &parameters).ok(),
        false => None,
    };
    let valid =
        problem.penalty().is_none() && !reduction.has_class_weights() && model.schema.scaling.is_none();
    let level = model
        .inference
        .as_ref()
        .map_or(inference::DEFAULT_LEVEL, |stated| stated.level);
    let inferred = match (&solved, problem.loss()) {
        _ if !valid => None,
        (Some(solved), _) => inference::of_least_squares(solved, layout, &parameters, level).ok(),
        (None, LossName::Logistic) => inference::logistic(&rows, layout, &parameters, level).ok(),
        _ => None,
    };
    let inferred = inferred.map(|found| match problem.is_firth() {
        true => Inference {
            aic: None,
            bic: None,
            ..found
        },
        false => found,
    });
    Ok((solved.map(|solved| solved.report().clone()), inferred))
}

/// The digits of the optimum of every subproblem, recomputed near the point of the model.
fn enclosures(model: &Model, data: &Dataset, reduction: &Subproblems) -> Result<Option<Vec<Enclosure>>> {
    let Predictor::Linear { discriminants, .. } = &model.predictor else {
        return Ok(None);
    };
    if discriminants.len() != reduction.parts().len() || !is_wanted(data, reduction, true)? {
        return Ok(None);
    }
    let intercept = reduction.problem().layout().intercept;
    let mut found = Vec::new();
    for (&part, plane) in reduction.parts().iter().zip(discriminants) {
        let mut parameters = plane.weights.clone();
        parameters.extend(intercept.then_some(plane.intercept));
        match enclose_part(data, reduction, part, &parameters)? {
            Some(enclosure) => found.push(enclosure),
            None => return Ok(None),
        }
    }
    Ok(Some(found))
}

/// Adds an objection for every leaf of a section that differs from the expected one.
fn differences(path: &str, stated: &Value, expected: &Value, objections: &mut Vec<Objection>) {
    match (stated, expected) {
        (Value::Object(stated), Value::Object(expected)) => {
            let names = stated
                .keys()
                .chain(expected.keys().filter(|name| !stated.contains_key(*name)));
            for name in names {
                let null = &Value::Null;
                let (stated, expected) = (
                    stated.get(name).unwrap_or(null),
                    expected.get(name).unwrap_or(null),
                );
                differences(&format!("{path}.{name}"), stated, expected, objections);
            }
        }
        (Value::Array(stated), Value::Array(expected)) if stated.len() == expected.len() => {
            for (i, (stated, expected)) in stated.iter().zip(expected).enumerate() {
                differences(&format!("{path}[{i}]"), stated, expected, objections);
            }
        }
        _ if agrees(stated, expected) => {}
        _ => objections.push(Objection::Statement {
            field: path.to_string(),
            stated: stated.to_string(),
            found: expected.to_string(),
        }),
    }
}

fn agrees(stated: &Value, expected: &Value) -> bool {
    match (stated.as_f64(), expected.as_f64()) {
        (Some(stated), Some(expected)) => {
            (stated - expected).abs() <= ROUNDING * stated.abs().max(expected.abs()) + f64::MIN_POSITIVE
        }
        _ => stated == expected,
    }
}
