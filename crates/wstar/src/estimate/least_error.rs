//! The hyperplane of least training error: starts at the hyperplanes of other methods, searches, and certifies.

use std::time::{Duration, Instant};

use crate::certificate::Certificate;
use crate::estimate::outcome::Outcome;
use crate::model::{FitRecord, Link, Model, Note, Predictor};
use crate::online::Ties;
use crate::settings::{Method, MinError, Options};
use wstar_data::error::Result;
use wstar_data::linear::Hyperplane;
use wstar_data::linear::Layout;
use wstar_data::run::{Iteration, Status, Watch};
use wstar_data::{Dataset, refuse_huge};
use wstar_problem::multiclass::row_costs;
use wstar_separate::least_error;
use wstar_separate::least_error::error_certificate;
pub(crate) use wstar_separate::least_error::error_certificate::{ErrorProof, LeastError};
use wstar_separate::least_error::{BoundProof, End, NodeLimit};

/// The methods whose hyperplanes start the search. The result is at least as good as each of them, unless a time limit
/// restricts them to a sample of the rows.
const STARTS: [Method; 6] = [
    Method::Logistic,
    Method::Svm,
    Method::MseClassifier,
    Method::Lda,
    Method::Pocket,
    Method::Perceptron,
];

/// Numbers (rows × features) that the other methods receive per second of the time limit. Heuristic: a larger sample
/// gives better starts and leaves less time for the search; not measured yet.
const NUMBERS_A_SECOND: f64 = 4e4;

/// The fit of another method with these options.
type FitOther<'a> = dyn Fn(&Dataset, &Options) -> Result<Model> + 'a;

/// Searches for the hyperplane with the fewest errors, and certifies the result. `fit_other` fits the methods whose
/// hyperplanes start the search.
pub(super) fn fit(
    data: &Dataset,
    settings: &MinError,
    fit_other: &FitOther<'_>,
    watch: &mut dyn Watch,
) -> Result<Outcome> {
    let started = Instant::now();
    refuse_huge(data)?;
    let costs = row_costs(data, settings.class_weight.as_ref())?;
    let points = error_certificate::gather(data, settings.intercept, &costs)?;
    // The other methods receive each distinct point once, with the total weight of its rows.
    let rows: Vec<usize> = points.rows.iter().map(|&row| row as usize).collect();
    let mut distinct = data.select(&rows);
    distinct = distinct.with_weights(points.costs.clone())?;
    let starts = starts(&distinct, settings, fit_other, started);
    let layout = Layout {
        outputs: 1,
        features: data.features(),
        intercept: settings.intercept,
    };
    let hyperplane = |parameters: &[f64]| {
        let (weights, intercept) = layout.output(parameters, 0);
        Hyperplane::new(weights.to_vec(), intercept)
    };
    let judge = |parameters: &[f64]| {
        let judged = error_certificate::errors_of(&hyperplane(parameters), data, &costs);
        judged.map_or(f64::INFINITY, |(_, cost)| cost)
    };
    let budget = NodeLimit {
        nodes: settings.max_iter,
        time: settings
            .budget()
            .max_time
            .map(|most| most.saturating_sub(started.elapsed())),
    };
    let least = least_error::minimise(
        &points,
        &starts,
        budget,
        settings.common.seed,
        &judge,
        &mut |progress| {
            let mut iteration =
                Iteration::new("min-error", progress.nodes, progress.cost, progress.plane, layout);
            iteration.relative_gap = (progress.cost - progress.bound) / progress.cost.max(f64::MIN_POSITIVE);
            watch.iterate(&iteration).is_continue()
        },
    );
    watch.certifying();
    let plane = hyperplane(&least.plane);
    let (errors, cost) = error_certificate::errors_of(&plane, data, &costs)?;
    let proof = match least.proof {
        BoundProof::Tree(tree) => ErrorProof::Circuits(tree),
        BoundProof::Enumeration => ErrorProof::Enumeration,
    };
    let claim = LeastError::new(errors, cost, least.bound, proof);
    let rows = (0..data.rows()).filter(|&i| data.weight(i) > 0.0).count() as u64;
    let mut notes = Vec::new();
    if least.end == End::Digits {
        notes.push(Note::LostDigits { errors: least.bound });
    }
    Ok(Outcome {
        predictor: Predictor::Linear {
            discriminants: vec![plane],
            ties: Ties::Mistake,
            link: Link::Margin,
        },
        fit: FitRecord {
            status: match least.end {
                End::Proved => Status::Converged,
                End::Nodes | End::Digits => Status::IterationLimit,
                End::Time => Status::TimeLimit,
                End::Stopped => Status::Stopped,
            },
            rows,
            passes: 0,
            iterations: least.nodes,
            seen: 0,
            mistakes_by_pass: Vec::new(),
            objective: Some(cost),
            solver: None,
            notes,
        },
        certificate: Certificate::MinError(claim),
        inference: None,
        proved: None,
        least_squares: None,
    })
}

/// The hyperplanes of the other methods, in the parameters of the search. Methods that fail are left out. So are those
/// that would start after the first two fifths of the time limit.
fn starts(data: &Dataset, settings: &MinError, fit_other: &FitOther<'_>, started: Instant) -> Vec<Vec<f64>> {
    let most = settings.budget().max_time;
    let mut planes = Vec::new();
    // The sample is needed because a solver checks the clock only between passes, and its certificate takes more time.
    let numbers = most.map_or(f64::INFINITY, |most| most.as_secs_f64() * NUMBERS_A_SECOND);
    let rows = (numbers / data.features().max(1) as f64).max(1000.0);
    let step = (data.rows() as f64 / rows).ceil().max(1.0) as usize;
    let some = (step > 1).then(|| data.select(&(0..data.rows()).step_by(step).collect::<Vec<usize>>()));
    let sample = some.as_ref().unwrap_or(data);
    // One feature is solved by sorting, which needs no start.
    let methods = if data.features() == 1 {
        &[][..]
    } else {
        &STARTS[..]
    };
    for &method in methods {
        if !planes.is_empty() && most.is_some_and(|most| started.elapsed() > most * 2 / 5) {
            break;
        }
        let share = most.map(|most| most / 10);
        let is_convex = method.is_convex();
        // A rule from class densities always has an intercept.
        if !settings.intercept && !is_convex && !method.is_online() {
            continue;
        }
        let own = Options {
            no_intercept: !settings.intercept,
            max_seconds: share.as_ref().map(Duration::as_secs_f64).filter(|s| *s > 0.0),
            seed: settings.common.seed,
            ..Options::of(method)
        };
        let Ok(model) = fit_other(sample, &own) else {
            continue;
        };
        for plane in model.predictor.hyperplanes().unwrap_or_default() {
            let mut parameters = plane.weights;
            parameters.resize(data.features(), 0.0);
            parameters.extend(settings.intercept.then_some(plane.intercept));
            planes.push(parameters);
        }
    }
    planes
}
