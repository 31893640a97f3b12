//! The `fit` request: the model, its certificate, and the recorded steps of the fit.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wstar::data::error::{Error, Result};
use wstar::data::linear::Hyperplane;
use wstar::data::{Dataset, Design, Target};
use wstar::model::{Judgement, Model, Predictor, SoftMargin, judge, soft_margins};
use wstar::settings::{Method, Settings};

use crate::judge::wrong_rows;
use crate::plane::Plane;
use crate::request::{FitRequest, View};
use crate::surface;
use crate::trace::{Iterate, Line, Look, Recorder};
use crate::wording::Controls;

/// Time limit of a fit. Cap: larger values of `max_seconds` are reduced to it.
pub(crate) const LONGEST: Duration = Duration::from_secs(30);
/// Number of grid points of a view. Cap: a finer view is refused.
const MOST_PLACES: usize = 40_000;
/// Number of scores, recorded steps × rows, computed for values that the learner itself does not need. Cap: beyond it
/// the trace lacks those objectives or margins.
const MOST_SCORES: usize = 20_000_000;

/// Fits a model and returns everything that the page shows about it.
pub(crate) fn fit(request: FitRequest, line: &Line<'_>) -> Result<Value> {
    let mut settings = request.settings;
    let asked = settings.max_seconds.unwrap_or(LONGEST.as_secs_f64());
    settings.max_seconds = Some(asked.min(LONGEST.as_secs_f64()));
    let regression = settings.method.is_some_and(Method::is_regression);
    let data = Plane::of(request.data)?.dataset(regression)?;
    let mut recorder = Recorder::new(line, request.trace);
    let started = Instant::now();
    let model = wstar::estimate::fit(&data, &settings, &mut recorder)?;
    let seconds = started.elapsed().as_secs_f64();

    let planes = model.predictor().hyperplanes();
    let mut answer = json!({
        "method": model.method(),
        "status": model.record().status,
        "ended": model.record().status.in_words(),
        "success": model.record().status.is_success(),
        "rows": model.record().rows,
        "iterations": model.record().iterations,
        "passes": model.record().passes,
        "objective": model.record().objective,
        "notes": model.record().notes.iter().map(|note| note.worded(&Controls)).collect::<Vec<_>>(),
        "solver": model.record().solver,
        "holds": model.certificate().holds(),
        "certificate": certificate(&model),
        "planes": planes,
        "seconds": seconds,
    });
    if let Predictor::Linear { link, ties, .. } = model.predictor() {
        answer["link"] = json!(link);
        answer["ties"] = json!(ties);
    }
    judged(&mut answer, &model, &data)?;
    if model.method() == Method::Svm {
        let (support, sums) = support(&model, &data)?;
        answer["support"] = support.into();
        answer["soft"] = json!(sums);
    }
    if request.trace {
        let (mut looks, all) = recorder.looks();
        forget_early(&mut looks, &data);
        let mut iterates = recorder.iterates();
        complete(&mut iterates, &data, model.settings());
        answer["trace"] = json!({
            "margins": margins(&looks, &data),
            "looks": looks,
            "all": all,
            "iterates": iterates,
        });
    }
    if let Some(view) = request.view
        && is_curved(&model)
    {
        answer["regions"] = regions(&model, &view)?;
    }
    Ok(answer)
}

/// Whether the decision regions of the model cannot be drawn from its hyperplanes alone.
fn is_curved(model: &Model) -> bool {
    match model.predictor() {
        Predictor::Linear { link, .. } => *link == wstar::model::Link::Pairs,
        Predictor::Bayes { penalties, .. } => {
            penalties.is_some() || model.predictor().hyperplanes().is_none()
        }
        // A committee, and any rule without hyperplanes.
        _ => true,
    }
}

/// The numbers of a certificate, without dual points and error proofs, which are long and not displayed.
fn certificate(model: &Model) -> Value {
    let mut answer = json!(model.certificate());
    answer["kind"] = model.certificate().kind().into();
    if let Some(parts) = answer.get_mut("parts").and_then(Value::as_array_mut) {
        for part in parts.iter_mut().filter_map(Value::as_object_mut) {
            part.remove("dual_point");
        }
    }
    if let wstar::certificate::Certificate::MinError(claim) = model.certificate() {
        answer["proof"] = claim.proof.name().into();
    }
    answer
}

fn judged(answer: &mut Value, model: &Model, data: &Dataset) -> Result<()> {
    match judge(model, data, None)? {
        Judgement::Classes(found) => {
            let wrong = wrong_rows(data, &model.classify(data)?);
            answer["errors"] = wrong.len().into();
            answer["error"] = found.error().into();
            answer["loss"] = found.log_loss().into();
            answer["wrong"] = wrong.into();
        }
        other => answer["deviations"] = json!(other.real()),
    }
    Ok(())
}

/// The support vectors of a soft margin, by binary subproblem.
fn support(model: &Model, data: &Dataset) -> Result<(Vec<Value>, Vec<SoftMargin>)> {
    let mut found = Vec::new();
    let sums = soft_margins(model, data, &mut |problem, point| {
        if point.alpha() > 0.0 && point.case() != wstar::model::Case::Outside {
            found.push(json!({
                "problem": problem,
                "row": point.row(),
                "alpha": point.alpha(),
                "margin": point.margin(),
                "slack": point.slack(),
                "case": point.case(),
            }));
        }
    })?;
    Ok((found, sums))
}

/// Computes the objective at the iterates that lack it, those between the iterations of a stochastic solver. Nothing is
/// computed beyond `MOST_SCORES`.
fn complete(iterates: &mut [Iterate], data: &Dataset, settings: &Settings) {
    let missing = iterates.iter().filter(|point| point.objective.is_none()).count();
    if missing == 0 || missing.saturating_mul(data.rows()) > MOST_SCORES {
        return;
    }
    let Ok(mut problem) = surface::objective(data, settings) else {
        return;
    };
    let layout = problem.problem.layout();
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

/// Removes the upper bounds on the margin from the steps before the learner has processed both classes: a bound comes
/// from the distance between two points, one of each class.
fn forget_early(looks: &mut [Look], data: &Dataset) {
    let Target::Classes { codes, .. } = data.target() else {
        return;
    };
    let class = |look: &Look| codes.get(look.row as usize).copied();
    let first = looks.first().and_then(class);
    let early = looks.iter().position(|look| class(look) != first);
    let early = early.unwrap_or(looks.len());
    looks[..early].iter_mut().for_each(|look| look.upper = None);
}

/// The largest margin of the hyperplanes up to each step: the lower end of the interval whose upper end the step holds.
/// `None` if no step has an upper end, if there are not two classes, or beyond `MOST_SCORES`.
fn margins(looks: &[Look], data: &Dataset) -> Option<Vec<f64>> {
    let narrowing = looks.iter().any(|look| look.upper.is_some());
    let Target::Classes { codes, classes } = data.target() else {
        return None;
    };
    if !narrowing || classes.len() != 2 || looks.len().saturating_mul(data.rows()) > MOST_SCORES {
        return None;
    }
    let labels: Vec<f64> = codes.iter().map(|&code| f64::from(code) * 2.0 - 1.0).collect();
    let mut best = 0.0f64;
    let margin = |plane: &Hyperplane| plane.margin_of_set(data.design(), &labels);
    let mut last: Option<&Hyperplane> = None;
    let largest = looks.iter().map(|look| {
        if last != Some(&look.plane) {
            best = best.max(margin(&look.plane).unwrap_or(0.0));
            last = Some(&look.plane);
        }
        best
    });
    Some(largest.collect())
}

/// The predicted classes at the cell centres of a grid, row by row, with the second coordinate increasing.
fn regions(model: &Model, view: &View) -> Result<Value> {
    let ends = [view.x, view.y];
    let cells = view.columns.saturating_mul(view.rows);
    if cells > MOST_PLACES || view.columns < 2 || view.rows < 2 {
        return Err(Error::settings(format!(
            "a view has at most {MOST_PLACES} grid points"
        )));
    }
    if ends.as_flattened().iter().any(|end| !end.is_finite()) {
        return Err(Error::settings("a view needs finite numbers"));
    }
    let value =
        |[least, most]: [f64; 2], i: usize, of: usize| least + (most - least) * (i as f64 + 0.5) / of as f64;
    let mut values = Vec::with_capacity(2 * cells);
    for row in 0..view.rows {
        for column in 0..view.columns {
            values.push(value(view.x, column, view.columns));
            values.push(value(view.y, row, view.rows));
        }
    }
    let design = Design::from_dense(values, cells, 2)?;
    let scores = model.scores(&Dataset::unlabelled(design)?)?;
    let class = model.decide(&scores);
    // The largest class probability, in percent.
    let sure: Option<Vec<u32>> = model.probabilities_of(&scores).map(|shares| {
        let most = shares.rows().map(|row| row.iter().copied().fold(0.0, f64::max));
        most.map(|most| (100.0 * most).round() as u32).collect()
    });
    Ok(
        json!({"x": view.x, "y": view.y, "columns": view.columns, "rows": view.rows,
              "class": class, "sure": sure}),
    )
}
