//! Fits the hyperplane of the least training error: starts from what the other methods find, searches, and certifies.

use std::time::{Duration, Instant};

use crate::certify::{Certificate, ErrorProof, LeastError, least_error};
use crate::data::{Dataset, refuse_huge};
use crate::error::Result;
use crate::fit::Outcome;
use crate::model::{FitRecord, Hyperplane, Link, Predictor};
use crate::online::Ties;
use crate::oracle::Layout;
use crate::risk::{self, Budget, End, Proof};
use crate::settings::{Method, Settings};
use crate::watch::{Iteration, Status, Unwatched, Watch};

/// The methods whose hyperplanes the search starts from: the result is never worse than any of them, unless a limit on
/// its time leaves them only some of the rows.
const STARTS: [Method; 6] = [
    Method::Logistic,
    Method::Svm,
    Method::MseClassifier,
    Method::Lda,
    Method::Pocket,
    Method::Perceptron,
];

/// Numbers in the rows that other methods are given for each second that may be spent in all.
const NUMBERS_A_SECOND: f64 = 4e4;

/// Searches for the fewest errors, and certifies what was found.
pub(super) fn fit(data: &Dataset, settings: &Settings, watch: &mut dyn Watch) -> Result<Outcome> {
    let started = Instant::now();
    refuse_huge(data)?;
    let costs = least_error::costs(data, settings)?;
    let points = least_error::gather(data, settings, &costs)?;
    // The other methods see each point once, with all that its rows weigh.
    let rows: Vec<usize> = points.rows.iter().map(|&row| row as usize).collect();
    let mut distinct = data.select(&rows);
    distinct.weights = Some(points.costs.clone());
    let starts = starts(&distinct, settings, started);
    let layout = Layout {
        outputs: 1,
        features: data.features(),
        intercept: !settings.no_intercept,
    };
    let hyperplane = |parameters: &[f64]| {
        let (weights, intercept) = layout.output(parameters, 0);
        Hyperplane::new(weights.to_vec(), intercept)
    };
    let judge = |parameters: &[f64]| {
        let judged = least_error::errors_of(&hyperplane(parameters), data, &costs);
        judged.map_or(f64::INFINITY, |(_, cost)| cost)
    };
    let budget = Budget {
        nodes: settings.max_iter,
        time: settings
            .max_time()
            .map(|most| most.saturating_sub(started.elapsed())),
    };
    let least = risk::minimise(&points, &starts, budget, settings.seed, &judge, &mut |progress| {
        let iteration = Iteration {
            solver: "min-error",
            iteration: progress.nodes,
            passes: 0,
            objective: progress.cost,
            relative_gap: (progress.cost - progress.bound) / progress.cost.max(f64::MIN_POSITIVE),
            parameters: progress.plane,
            layout,
        };
        watch.iterate(&iteration).is_continue()
    });
    watch.certifying();
    let plane = hyperplane(&least.plane);
    let (errors, cost) = least_error::errors_of(&plane, data, &costs)?;
    let claim = LeastError {
        errors,
        cost,
        lower_bound: least.bound,
        proof: match least.proof {
            Proof::Tree(tree) => ErrorProof::Circuits(tree),
            Proof::Enumeration => ErrorProof::Enumeration,
        },
    };
    let rows = (0..data.rows()).filter(|&i| data.weight(i) > 0.0).count() as u64;
    let mut notes = Vec::new();
    if least.end == End::Digits {
        notes.push(format!(
            "some hyperplane has an error of {}, but it is so near to some points that scores in binary64 do not \
             tell its sides apart",
            least.bound
        ));
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
        least_squares: None,
    })
}

/// The hyperplanes of other methods, in the form of the search; those that cannot be had, or not in the first two fifths of
/// the time, are left out.
fn starts(data: &Dataset, settings: &Settings, started: Instant) -> Vec<Vec<f64>> {
    let most = settings.max_time();
    let mut planes = Vec::new();
    // A solver looks at the clock between passes, and its certificate takes some more.
    let numbers = most.map_or(f64::INFINITY, |most| most.as_secs_f64() * NUMBERS_A_SECOND);
    let rows = (numbers / data.features().max(1) as f64).max(1000.0);
    let step = (data.rows() as f64 / rows).ceil().max(1.0) as usize;
    let some = (step > 1).then(|| data.select(&(0..data.rows()).step_by(step).collect::<Vec<usize>>()));
    let sample = some.as_ref().unwrap_or(data);
    // One feature is sorted, which needs no start.
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
        // Class densities have an intercept of their own.
        if settings.no_intercept && !is_convex && !method.is_online() {
            continue;
        }
        let own = Settings {
            no_intercept: settings.no_intercept,
            max_seconds: share.as_ref().map(Duration::as_secs_f64).filter(|s| *s > 0.0),
            seed: settings.seed,
            ..Settings::for_method(method)
        };
        let Ok(model) = super::fit(sample, &own, &mut Unwatched) else {
            continue;
        };
        for plane in model.predictor.hyperplanes().unwrap_or_default() {
            let mut parameters = plane.weights;
            parameters.resize(data.features(), 0.0);
            parameters.extend((!settings.no_intercept).then_some(plane.intercept));
            planes.push(parameters);
        }
    }
    planes
}
