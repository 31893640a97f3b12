//! The JSON objects that `--json` prints: exactly one object per command, in a fixed format.

use std::io::Write;

use anyhow::Result;
use serde_json::{Map, Value, json};
use wstar::certificate::{Certificate, Enclosure};
use wstar::certify::duality::DualityGap;
use wstar::data::Classes;
use wstar::inference::Inference;
use wstar::model::{Judgement, SoftMargin};
use wstar::separate::least_error::error_certificate::ErrorProof;
use wstar::separate::margin::margin_certificate::LargestMargin;
use wstar::settings::Method;
use wstar::{Model, model::Verification};

use crate::output;
use crate::trained::Trained;
use crate::wording::CommandLine;

/// Number of weights in the object. Cap: more weights are omitted unless `--weights` is given.
const MOST_WEIGHTS: usize = 10_000;

/// Prints one object on standard output.
pub(crate) fn print(value: &Value) -> Result<()> {
    let mut results = output::results();
    writeln!(results, "{value}")?;
    results.flush()?;
    Ok(())
}

/// The object that `train --json` prints.
pub(crate) fn trained(trained: &Trained, all_weights: bool) -> Value {
    let model = &trained.model;
    let mut object = json!({
        "method": model.method(),
        "solver": solver(model),
        "status": model.record().status,
        "rows": model.record().rows,
        "features": model.schema().features,
        "classes": model.classes(),
        "objective": model.record().objective,
        "iterations": model.record().iterations,
        "passes": model.record().passes,
        "certificate": certificate(model.certificate(), model.certificate().holds(), model.classes()),
        "model": trained.path,
        "seconds": {
            "read": trained.seconds.read.as_secs_f64(),
            "solve": trained.seconds.solve.as_secs_f64(),
            "certify": trained.seconds.certify.as_secs_f64(),
            "total": trained.seconds.total.as_secs_f64(),
        },
    });
    if let Some(quantile) = model.settings().options().quantile {
        object["quantile"] = json!(quantile);
    }
    if let Some(planes) = model.raw_hyperplanes()
        && (all_weights || planes.len() * model.schema().features <= MOST_WEIGHTS)
    {
        object["weights"] = planes.iter().map(|plane| plane.weights.as_slice()).collect();
        object["intercept"] = planes.iter().map(|plane| plane.intercept).collect();
    }
    if let Some(enclosures) = model.proved()
        && object.get("weights").is_some()
    {
        object["proved"] = proved(model, enclosures);
    }
    for (name, judgement) in [("train", &trained.train), ("test", &trained.test)] {
        match judgement {
            Some(Judgement::Classes(evaluation)) => {
                object[name] = json!({"error": evaluation.error(), "loss": evaluation.log_loss()});
                if name == "test" {
                    object[name]["auc"] = json!(evaluation.auc());
                }
            }
            Some(other) => object[name] = json!(other),
            None => {}
        }
    }
    if let Certificate::DualityGap { parts } = model.certificate()
        && model.method() == Method::Svm
    {
        let total = |count: fn(&DualityGap) -> u64| parts.iter().map(count).sum::<u64>();
        object["support_vectors"] =
            json!({"count": total(|part| part.support), "at_bound": total(|part| part.at_bound)});
        let margins = trained.margins.as_slice();
        if !margins.is_empty() {
            let total = |count: fn(&SoftMargin) -> u64| margins.iter().map(count).sum::<u64>();
            let (on, inside) = (
                total(|margin| margin.on_margin()),
                total(|margin| margin.inside()),
            );
            object["support_vectors"] = json!({"count": on + inside, "at_bound": inside});
            object["support_vectors"]["margin"] = match margins {
                [one] => json!(one),
                all => json!(all),
            };
        }
    }
    if let Certificate::HardMargin { parts } = model.certificate() {
        let count: usize = parts.iter().map(|part| part.support.len()).sum();
        let all: Vec<&Vec<(u64, f64)>> = parts.iter().map(|part| &part.support).collect();
        object["support_vectors"] = json!({"count": count, "at_bound": 0, "multipliers": all});
    }
    if let Some(inference) = model.inference() {
        object["inference"] = inferred(model, inference);
    }
    if let Some(report) = model.least_squares() {
        object["least_squares"] = json!(report);
    }
    if !model.record().notes.is_empty() {
        let notes = model.record().notes.iter().map(|note| note.worded(&CommandLine));
        object["notes"] = notes.collect();
    }
    if let Certificate::Separation { parts } = model.certificate() {
        let count: usize = parts
            .iter()
            .map(|part| part.positive.len() + part.negative.len())
            .sum();
        object["support_vectors"] = json!({"count": count, "at_bound": 0});
    }
    if !model.record().mistakes_by_pass.is_empty() {
        object["mistakes_by_pass"] = json!(model.record().mistakes_by_pass);
    }
    object
}

/// The ends of the proved intervals, in the shape of `weights` and `intercept`. Without an intercept its interval is [0, 0].
fn proved(model: &Model, enclosures: &[Enclosure]) -> Value {
    let features = model.schema().features;
    let ends = |end: fn(&Enclosure, usize) -> f64| {
        let weights = |part: &Enclosure| (0..features).map(|j| end(part, j)).collect::<Vec<f64>>();
        let intercept = |part: &Enclosure| match features < part.len() {
            true => end(part, features),
            false => 0.0,
        };
        (
            enclosures.iter().map(weights).collect::<Vec<_>>(),
            enclosures.iter().map(intercept).collect::<Vec<_>>(),
        )
    };
    let (lower, upper) = (ends(Enclosure::lower), ends(Enclosure::upper));
    json!({
        "weights": {"lower": lower.0, "upper": upper.0},
        "intercept": {"lower": lower.1, "upper": upper.1},
    })
}

/// The statistical inference, with the names of the coefficients.
fn inferred(model: &Model, inference: &Inference) -> Value {
    let mut object = json!(inference);
    let names = model
        .schema()
        .feature_names()
        .chain(std::iter::once("(intercept)".to_string()));
    if let Some(coefficients) = object["coefficients"].as_array_mut() {
        for (coefficient, name) in coefficients.iter_mut().zip(names) {
            coefficient["name"] = name.into();
        }
    }
    if let Some([part]) = model.proved()
        && let Some(errors) = &part.standard_errors
    {
        object["std_error"] = json!(errors);
    }
    object
}

/// The solver or update rule of the fit; `auto` for methods with only one algorithm.
fn solver(model: &Model) -> Value {
    match (&model.record().solver, model.settings().rule()) {
        (Some(solver), _) => json!(solver.name),
        (None, Some(rule)) => json!(rule),
        (None, None) => json!("auto"),
    }
}

/// A certificate: the numbers of one claim. For several subproblems, their sums and extremes, followed by the numbers
/// of each under `parts`.
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
            // Without a bound on the optimum these values are null instead of the largest finite number.
            let known = parts.iter().all(DualityGap::is_bound);
            let known = |value: f64| json!(known.then_some(value));
            add("dual", known(sum(|part| part.dual)));
            add("gap", known(sum(|part| part.gap)));
            // The tolerance applies to each subproblem separately, so the largest relative gap is reported.
            let worst = parts
                .iter()
                .map(|part| part.relative_gap)
                .fold(f64::MIN, f64::max);
            add("relative_gap", known(worst));
            if let Some(reach) = parts.iter().filter_map(|part| part.reach).reduce(f64::min) {
                add("reach", reach.into());
            }
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
            // Lower and upper bounds of the smallest margin over all hyperplanes.
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
        _ => {}
    }
    object.into()
}

/// A number as JSON; an integer if its value is a whole number.
pub(crate) fn whole(value: f64) -> Value {
    // Derived: 9e15 is just below 2⁵³, up to which every integer is exact.
    if value.fract() == 0.0 && (0.0..=9e15).contains(&value) {
        (value as u64).into()
    } else {
        value.into()
    }
}

/// The object that `verify --json` prints.
pub(crate) fn verified(verdict: &Verification, classes: &Classes) -> Value {
    let mut object = certificate(verdict.certificate(), verdict.holds(), classes);
    if !verdict.holds() {
        object["objections"] = verdict.objections().iter().map(ToString::to_string).collect();
    }
    object
}

/// The object that `inspect --json` prints.
pub(crate) fn inspected(model: &Model) -> Value {
    let mut object = json!({
        "method": model.method(),
        "settings": model.settings(),
        "classes": model.classes(),
        "features": model.schema().features,
        "target": model.schema().target,
        "fit": model.record(),
        "certificate": certificate(model.certificate(), model.certificate().holds(), model.classes()),
    });
    if let Some(planes) = model.raw_hyperplanes() {
        object["names"] = model.schema().feature_names().collect();
        object["weights"] = planes.iter().map(|plane| plane.weights.as_slice()).collect();
        object["intercept"] = planes.iter().map(|plane| plane.intercept).collect();
    }
    if let Some(inference) = model.inference() {
        object["inference"] = inferred(model, inference);
    }
    object
}
