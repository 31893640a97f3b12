//! A fit as the page shows it: the model, what is claimed about it, and every step that led there.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wstar::data::{Dataset, Design, Target};
use wstar::model::{Hyperplane, Judgement, Model, Predictor, SoftMargin, judge, soft_margins};
use wstar::settings::{Method, Settings};
use wstar::{Error, Result};

use crate::judge::wrong_rows;
use crate::plane::Plane;
use crate::request::{FitRequest, View};
use crate::surface;
use crate::trace::{Iterate, Line, Look, Recorder};

/// A fit for the page may take this long.
pub(crate) const LONGEST: Duration = Duration::from_secs(30);
/// The most places at which a decision is asked for.
const MOST_PLACES: usize = 40_000;
/// The most scores that are computed to tell of each step what the learner itself did not need.
const MOST_SCORES: usize = 20_000_000;

/// Fits, and tells all that can be shown of it.
pub(crate) fn fit(request: FitRequest, line: &Line<'_>) -> Result<Value> {
    let mut settings = request.settings;
    let asked = settings.max_seconds.unwrap_or(LONGEST.as_secs_f64());
    settings.max_seconds = Some(asked.min(LONGEST.as_secs_f64()));
    settings.check()?;
    let data = Plane::of(request.data)?.dataset(settings.method().is_regression())?;
    let mut recorder = Recorder::new(line, request.trace);
    let started = Instant::now();
    let model = wstar::fit(&data, &settings, &mut recorder)?;
    let seconds = started.elapsed().as_secs_f64();

    let planes = model.predictor.hyperplanes();
    let mut told = json!({
        "method": model.method,
        "status": model.fit.status,
        "ended": model.fit.status.in_words(),
        "success": model.fit.status.is_success(),
        "rows": model.fit.rows,
        "iterations": model.fit.iterations,
        "passes": model.fit.passes,
        "objective": model.fit.objective,
        "notes": model.fit.notes,
        "solver": model.fit.solver,
        "holds": model.certificate.holds(),
        "certificate": certificate(&model),
        "planes": planes,
        "seconds": seconds,
    });
    if let Predictor::Linear { link, ties, .. } = &model.predictor {
        told["link"] = json!(link);
        told["ties"] = json!(ties);
    }
    judged(&mut told, &model, &data)?;
    if model.method == Method::Svm {
        let (support, sums) = support(&model, &data)?;
        told["support"] = support.into();
        told["soft"] = json!(sums);
    }
    if request.trace {
        let (mut looks, all) = recorder.looks();
        forget_early(&mut looks, &data);
        let mut iterates = recorder.iterates();
        complete(&mut iterates, &data, &settings);
        told["trace"] = json!({
            "margins": margins(&looks, &data),
            "looks": looks,
            "all": all,
            "iterates": iterates,
        });
    }
    if let Some(view) = request.view
        && is_curved(&model)
    {
        told["regions"] = regions(&model, &view)?;
    }
    Ok(told)
}

/// Whether lines do not tell how the model decides.
fn is_curved(model: &Model) -> bool {
    match &model.predictor {
        Predictor::Linear { link, .. } => *link == wstar::model::Link::Pairs,
        Predictor::Committee { .. } => true,
        Predictor::Bayes { penalties, .. } => penalties.is_some() || model.predictor.hyperplanes().is_none(),
    }
}

/// The numbers of a certificate, without the long lists that only a computer checks.
fn certificate(model: &Model) -> Value {
    let mut told = json!(model.certificate);
    told["kind"] = model.certificate.kind().into();
    if let Some(parts) = told.get_mut("parts").and_then(Value::as_array_mut) {
        for part in parts.iter_mut().filter_map(Value::as_object_mut) {
            part.remove("dual_point");
        }
    }
    if let wstar::certify::Certificate::MinError(claim) = &model.certificate {
        told["proof"] = claim.proof.name().into();
    }
    told
}

fn judged(told: &mut Value, model: &Model, data: &Dataset) -> Result<()> {
    match judge(model, data, None)? {
        Judgement::Classes(found) => {
            let wrong = wrong_rows(data, &model.predictor.classes(&data.design)?);
            told["errors"] = wrong.len().into();
            told["error"] = found.error.into();
            told["loss"] = found.log_loss.into();
            told["wrong"] = wrong.into();
        }
        Judgement::Real(found) => told["deviations"] = json!(found),
    }
    Ok(())
}

/// The support vectors of a soft margin, by problem.
fn support(model: &Model, data: &Dataset) -> Result<(Vec<Value>, Vec<SoftMargin>)> {
    let mut found = Vec::new();
    let sums = soft_margins(model, data, &mut |problem, point| {
        if point.alpha > 0.0 && point.case != wstar::model::Case::Outside {
            found.push(json!({
                "problem": problem,
                "row": point.row,
                "alpha": point.alpha,
                "margin": point.margin,
                "slack": point.slack,
                "case": point.case,
            }));
        }
    })?;
    Ok((found, sums))
}

/// The objective at the points between the iterations of a stochastic solver, where that is affordable.
fn complete(iterates: &mut [Iterate], data: &Dataset, settings: &Settings) {
    let missing = iterates.iter().filter(|point| point.objective.is_none()).count();
    if missing == 0 || missing.saturating_mul(data.rows()) > MOST_SCORES {
        return;
    }
    let Ok(mut problem) = surface::problem(data, settings) else {
        return;
    };
    let layout = problem.layout();
    for point in iterates.iter_mut().filter(|point| point.objective.is_none()) {
        let [plane] = point.planes.as_slice() else {
            return;
        };
        let mut at = plane.weights.clone();
        at.extend(layout.intercept.then_some(plane.intercept));
        point.objective = problem
            .gradient(&at)
            .ok()
            .map(|found| found.objective)
            .filter(|value| value.is_finite());
    }
}

/// Takes back what a learner says of the largest margin before it has met both classes: until then there are no two
/// points whose distance would bound it.
fn forget_early(looks: &mut [Look], data: &Dataset) {
    let Target::Classes { codes, .. } = &data.target else {
        return;
    };
    let class = |look: &Look| codes.get(look.row as usize).copied();
    let first = looks.first().and_then(class);
    let early = looks.iter().position(|look| class(look) != first);
    let early = early.unwrap_or(looks.len());
    looks[..early].iter_mut().for_each(|look| look.upper = None);
}

/// The best margin so far at each step that narrows an interval: the lower end of it.
fn margins(looks: &[Look], data: &Dataset) -> Option<Vec<f64>> {
    let narrowing = looks.iter().any(|look| look.upper.is_some());
    let Target::Classes { codes, classes } = &data.target else {
        return None;
    };
    if !narrowing || classes.len() != 2 || looks.len().saturating_mul(data.rows()) > MOST_SCORES {
        return None;
    }
    let labels: Vec<f64> = codes.iter().map(|&code| f64::from(code) * 2.0 - 1.0).collect();
    let mut best = 0.0f64;
    let margin = |plane: &Hyperplane| plane.margin_of_set(&data.design, &labels);
    let mut last: Option<&Hyperplane> = None;
    let told = looks.iter().map(|look| {
        if last != Some(&look.plane) {
            best = best.max(margin(&look.plane).unwrap_or(0.0));
            last = Some(&look.plane);
        }
        best
    });
    Some(told.collect())
}

/// What the model decides at the places of a grid, row by row from the least second coordinate.
fn regions(model: &Model, view: &View) -> Result<Value> {
    let ends = [view.x, view.y];
    let places = view.columns.saturating_mul(view.rows);
    if places > MOST_PLACES || view.columns < 2 || view.rows < 2 {
        return Err(Error::settings(format!("a view has up to {MOST_PLACES} places")));
    }
    if ends.as_flattened().iter().any(|end| !end.is_finite()) {
        return Err(Error::settings("a view needs finite numbers"));
    }
    let value =
        |[least, most]: [f64; 2], i: usize, of: usize| least + (most - least) * (i as f64 + 0.5) / of as f64;
    let mut values = Vec::with_capacity(2 * places);
    for row in 0..view.rows {
        for column in 0..view.columns {
            values.push(value(view.x, column, view.columns));
            values.push(value(view.y, row, view.rows));
        }
    }
    let design = Design::from_dense(values, places, 2)?;
    let scores = model.predictor.scores(&design)?;
    let class: Vec<u32> = scores.rows().map(|row| model.predictor.decide(row)).collect();
    // How sure it is of its decision, in hundredths.
    let sure: Option<Vec<u32>> = scores
        .rows()
        .map(|row| {
            let most = model
                .predictor
                .probabilities(row)?
                .into_iter()
                .fold(0.0, f64::max);
            Some((100.0 * most).round() as u32)
        })
        .collect();
    Ok(
        json!({"x": view.x, "y": view.y, "columns": view.columns, "rows": view.rows,
              "class": class, "sure": sure}),
    )
}
