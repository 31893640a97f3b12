//! What `--json` prints: exactly one object, as the command line's contract fixes it.

use std::io::Write;

use anyhow::Result;
use serde_json::{Map, Value, json};
use wstar::certify::{Certificate, DualityGap, ErrorProof, LargestMargin};
use wstar::data::Classes;
use wstar::inference::Inference;
use wstar::model::{Judgement, SoftMargin};
use wstar::settings::Method;
use wstar::{Model, model::Verdict};

use crate::output;
use crate::train::Trained;

/// More weights than this are left out unless asked for.
const MOST_WEIGHTS: usize = 10_000;

/// Prints one object on standard output.
pub(crate) fn print(value: &Value) -> Result<()> {
    let mut results = output::results();
    writeln!(results, "{value}")?;
    results.flush()?;
    Ok(())
}

/// What `train --json` prints.
pub(crate) fn trained(trained: &Trained, all_weights: bool) -> Value {
    let model = &trained.model;
    let mut object = json!({
        "method": model.method,
        "solver": solver(model),
        "status": model.fit.status,
        "rows": model.fit.rows,
        "features": model.schema.features,
        "classes": model.classes,
        "objective": model.fit.objective,
        "iterations": model.fit.iterations,
        "passes": model.fit.passes,
        "certificate": certificate(&model.certificate, model.certificate.holds(), &model.classes),
        "model": trained.path,
        "seconds": {
            "read": trained.seconds.read.as_secs_f64(),
            "solve": trained.seconds.solve.as_secs_f64(),
            "certify": trained.seconds.certify.as_secs_f64(),
            "total": trained.seconds.total.as_secs_f64(),
        },
    });
    if let Some(quantile) = model.settings.quantile {
        object["quantile"] = json!(quantile);
    }
    if let Some(planes) = model.raw_hyperplanes()
        && (all_weights || planes.len() * model.schema.features <= MOST_WEIGHTS)
    {
        object["weights"] = planes.iter().map(|plane| plane.weights.as_slice()).collect();
        object["intercept"] = planes.iter().map(|plane| plane.intercept).collect();
    }
    for (name, judgement) in [("train", &trained.train), ("test", &trained.test)] {
        match judgement {
            Some(Judgement::Classes(evaluation)) => {
                object[name] = json!({"error": evaluation.error, "loss": evaluation.log_loss});
                if name == "test" {
                    object[name]["auc"] = json!(evaluation.auc);
                }
            }
            Some(Judgement::Real(deviations)) => object[name] = json!(deviations),
            None => {}
        }
    }
    if let Certificate::DualityGap { parts } = &model.certificate
        && model.method == Method::Svm
    {
        let total = |count: fn(&DualityGap) -> u64| parts.iter().map(count).sum::<u64>();
        object["support_vectors"] =
            json!({"count": total(|part| part.support), "at_bound": total(|part| part.at_bound)});
        let margins = trained.margins.as_slice();
        if !margins.is_empty() {
            let total = |count: fn(&SoftMargin) -> u64| margins.iter().map(count).sum::<u64>();
            let (on, inside) = (total(|margin| margin.on_margin), total(|margin| margin.inside));
            object["support_vectors"] = json!({"count": on + inside, "at_bound": inside});
            object["support_vectors"]["margin"] = match margins {
                [one] => json!(one),
                all => json!(all),
            };
        }
    }
    if let Certificate::HardMargin { parts } = &model.certificate {
        let count: usize = parts.iter().map(|part| part.support.len()).sum();
        let all: Vec<&Vec<(u64, f64)>> = parts.iter().map(|part| &part.support).collect();
        object["support_vectors"] = json!({"count": count, "at_bound": 0, "multipliers": all});
    }
    if let Some(inference) = &model.inference {
        object["inference"] = inferred(model, inference);
    }
    if let Some(report) = &model.least_squares {
        object["least_squares"] = json!(report);
    }
    if !model.fit.notes.is_empty() {
        object["notes"] = json!(model.fit.notes);
    }
    if let Certificate::Separation { parts } = &model.certificate {
        let count: usize = parts
            .iter()
            .map(|part| part.positive.len() + part.negative.len())
            .sum();
        object["support_vectors"] = json!({"count": count, "at_bound": 0});
    }
    if !model.fit.mistakes_by_pass.is_empty() {
        object["mistakes_by_pass"] = json!(model.fit.mistakes_by_pass);
    }
    object
}

/// Statistics, with the names of the coefficients.
fn inferred(model: &Model, inference: &Inference) -> Value {
    let mut object = json!(inference);
    let names = model
        .schema
        .feature_names()
        .chain(std::iter::once("(intercept)".to_string()));
    if let Some(coefficients) = object["coefficients"].as_array_mut() {
        for (coefficient, name) in coefficients.iter_mut().zip(names) {
            coefficient["name"] = name.into();
        }
    }
    object
}

/// How the method ran, where it can run in more than one way.
fn solver(model: &Model) -> Value {
    match (&model.fit.solver, model.settings.rule) {
        (Some(solver), _) => json!(solver.name),
        (None, Some(rule)) => json!(rule),
        (None, None) => json!("auto"),
    }
}

/// A certificate: the numbers of one claim, or for several discriminants their sums and extremes, with
/// the parts below.
pub(crate) fn certificate(certificate: &Certificate, holds: bool, classes: &Classes) -> Value {
    let mut object = Map::new();
    object.insert("kind".into(), certificate.kind().into());
    object.insert("holds".into(), holds.into());
    let mut add = |name: &str, value: Value| object.insert(name.into(), value);
    let part_name = |k: usize, parts: usize| classes.names().get(if parts == 1 { 1 } else { k }).cloned();
    match certificate {
        Certificate::MistakeBound { parts } => {
            let bounds: Option<Vec<f64>> = parts.iter().map(|part| part.bound).collect();
            let margins: Option<Vec<f64>> = parts.iter().map(|part| part.margin).collect();
            add(
                "updates",
                parts.iter().map(|part| part.updates).sum::<u64>().into(),
            );
            add(
                "radius",
                parts.iter().map(|part| part.radius).fold(0.0, f64::max).into(),
            );
            add(
                "margin",
                margins.map(|all| all.into_iter().fold(f64::MAX, f64::min)).into(),
            );
            add(
                "slack",
                parts.iter().map(|part| part.slack).fold(0.0, f64::max).into(),
            );
            add("bound", bounds.map(|all| all.into_iter().sum::<f64>()).into());
            if parts.len() > 1 {
                let parts: Vec<Value> = parts
                    .iter()
                    .enumerate()
                    .map(|(k, part)| {
                        json!({"class": part_name(k, parts.len()), "updates": part.updates, "radius": part.radius,
                               "margin": part.margin, "slack": part.slack, "bound": part.bound})
                    })
                    .collect();
                add("parts", parts.into());
            }
        }
        Certificate::Separation { parts } => {
            let lower = parts.iter().map(|part| part.lower).fold(f64::MAX, f64::min);
            let upper = parts.iter().map(|part| part.upper).fold(f64::MAX, f64::min);
            add("lower", lower.into());
            add("upper", upper.into());
            add("gap", (upper - lower).into());
            add(
                "relative_gap",
                (upper > 0.0).then(|| (upper - lower) / upper).into(),
            );
            if parts.len() > 1 {
                let parts: Vec<Value> = parts
                    .iter()
                    .enumerate()
                    .map(|(k, part)| {
                        json!({"class": part_name(k, parts.len()), "lower": part.lower, "upper": part.upper})
                    })
                    .collect();
                add("parts", parts.into());
            }
        }
        Certificate::MaximumLikelihood {
            deviation,
            log_likelihood,
        } => {
            add("deviation", (*deviation).into());
            add("log_likelihood", (*log_likelihood).into());
        }
        Certificate::EnclosingBall { radii, relative_gap } => {
            let balls: Vec<Value> = radii
                .iter()
                .zip(classes.names())
                .map(|((lower, upper), class)| json!({"class": class, "lower": lower, "upper": upper}))
                .collect();
            add("balls", balls.into());
            add("relative_gap", (*relative_gap).into());
        }
        Certificate::DualityGap { parts } => {
            let sum = |value: fn(&DualityGap) -> f64| parts.iter().map(value).sum::<f64>();
            add("primal", sum(|part| part.primal).into());
            // Null where nothing is known of the optimum, rather than the largest of all numbers.
            let known = parts.iter().all(DualityGap::is_bound);
            let known = |value: f64| json!(known.then_some(value));
            add("dual", known(sum(|part| part.dual)));
            add("gap", known(sum(|part| part.gap)));
            // Each problem keeps the tolerance by itself.
            let worst = parts
                .iter()
                .map(|part| part.relative_gap)
                .fold(f64::MIN, f64::max);
            add("relative_gap", known(worst));
            if parts.len() > 1 {
                let part = |part: &DualityGap| {
                    json!({"primal": part.primal, "dual": part.dual, "gap": part.gap,
                           "relative_gap": part.relative_gap})
                };
                add("parts", parts.iter().map(part).collect());
            }
        }
        Certificate::Stationarity { parts } => {
            add(
                "objective",
                parts.iter().map(|part| part.objective).sum::<f64>().into(),
            );
            add(
                "slope",
                parts.iter().map(|part| part.slope).fold(0.0, f64::max).into(),
            );
        }
        Certificate::HardMargin { parts } => {
            let sum = |value: fn(&LargestMargin) -> f64| parts.iter().map(value).sum::<f64>();
            let most = |value: fn(&LargestMargin) -> f64| parts.iter().map(value).fold(0.0, f64::max);
            add("primal", sum(|part| part.primal).into());
            add("dual", sum(|part| part.dual).into());
            add("gap", sum(|part| part.primal - part.dual).into());
            add("relative_gap", most(|part| part.relative_gap).into());
            add("slackness", most(|part| part.slackness).into());
            add("imbalance", most(|part| part.imbalance).into());
            // The margin of each hyperplane, and what none exceeds.
            let least = parts.iter().map(LargestMargin::distance).fold(f64::MAX, f64::min);
            add("lower", least.into());
            let upper = |part: &LargestMargin| (0.5 / part.dual).sqrt();
            add("upper", parts.iter().map(upper).fold(f64::MAX, f64::min).into());
            let widths: Vec<f64> = parts.iter().map(LargestMargin::width).collect();
            add("width", json!(widths));
        }
        Certificate::MinError(part) => {
            add("errors", whole(part.cost));
            add("rows_wrong", part.errors.into());
            add("lower_bound", whole(part.lower_bound));
            add("gap", whole((part.cost - part.lower_bound).max(0.0)));
            add("proof", part.proof.name().into());
            if let ErrorProof::Circuits(tree) = &part.proof {
                add("circuits", tree.circuits.len().into());
                add("nodes", tree.steps.len().into());
            }
        }
        Certificate::None => {}
    }
    object.into()
}

/// A number, without decimals where it is a whole one.
pub(crate) fn whole(value: f64) -> Value {
    if value.fract() == 0.0 && (0.0..=9e15).contains(&value) {
        (value as u64).into()
    } else {
        value.into()
    }
}

/// What `verify --json` prints.
pub(crate) fn verified(verdict: &Verdict, classes: &Classes) -> Value {
    let mut object = certificate(&verdict.certificate, verdict.holds(), classes);
    if !verdict.holds() {
        object["objections"] = json!(verdict.objections);
    }
    object
}

/// What `inspect --json` prints.
pub(crate) fn inspected(model: &Model) -> Value {
    let mut object = json!({
        "method": model.method,
        "settings": model.settings,
        "classes": model.classes,
        "features": model.schema.features,
        "target": model.schema.target,
        "fit": model.fit,
        "certificate": certificate(&model.certificate, model.certificate.holds(), &model.classes),
    });
    if let Some(planes) = model.raw_hyperplanes() {
        object["names"] = model.schema.feature_names().collect();
        object["weights"] = planes.iter().map(|plane| plane.weights.as_slice()).collect();
        object["intercept"] = planes.iter().map(|plane| plane.intercept).collect();
    }
    if let Some(inference) = &model.inference {
        object["inference"] = inferred(model, inference);
    }
    object
}
