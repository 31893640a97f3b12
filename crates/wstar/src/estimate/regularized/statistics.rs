//! Adds the statistics of a fit where they are valid, and otherwise a note with the reason why not.

use std::borrow::Cow;

use crate::estimate::outcome::Outcome;
use crate::inference::{self, Inference};
use crate::model::{Invalid, Note, Predictor};
use wstar_data::Dataset;
use wstar_data::run::Status;
use wstar_data::setting::Plain;
use wstar_problem::loss::LossName;
use wstar_problem::multiclass::{Subproblem, Subproblems};
use wstar_problem::objective::{Rows, Weights};
use wstar_problem::problem::Intercept;
use wstar_solve::least_squares::Diagnostics;

/// Cap: parameters; beyond it a fit has no standard errors and no least-squares report.
const MOST_PARAMETERS: usize = 2000;

/// Adds inference, and for least squares the rank and the residuals. `gram` is X̃ᵀCX̃ if the solver computed it.
pub(super) fn add(outcome: &mut Outcome, data: &Dataset, reduction: &Subproblems, gram: Option<&[f64]>) {
    let problem = reduction.problem();
    let layout = problem.layout();
    let [part] = reduction.parts() else {
        return;
    };
    let regression = *part == Subproblem::Real && problem.loss() == LossName::Squared;
    if !regression && problem.loss() != LossName::Logistic {
        return;
    }
    let Predictor::Linear { discriminants, .. } = &outcome.predictor else {
        return;
    };
    let Ok(rows) = reduction.rows(*part, data) else {
        return;
    };
    // Inference is about the rows, so C and class weights are left out.
    let weights = match &data.weights() {
        Some(weights) => Weights::Each(Cow::Borrowed(weights)),
        None => Weights::Same(1.0),
    };
    let gram = gram.filter(|_| problem.penalty().is_none() && rows.weights == weights);
    let rows = Rows { weights, ..rows };
    let mut parameters = discriminants[0].weights.clone();
    parameters.extend(layout.intercept.then_some(discriminants[0].intercept));
    let solved =
        (regression && layout.len() <= MOST_PARAMETERS).then(|| match (gram, outcome.fit.objective) {
            // The objective is half the sum of squares, and is certified.
            (Some(gram), Some(objective)) => Diagnostics::from_gram(&rows, layout, gram, 2.0 * objective),
            _ => Diagnostics::new(&rows, layout, &parameters),
        });
    if let Some(Ok(solved)) = &solved {
        outcome.least_squares = Some(solved.report().clone());
    }
    if let Some(reason) = invalid(outcome, data, reduction) {
        outcome.fit.notes.push(Note::NoStandardErrors(reason));
        return;
    }
    let level = inference::DEFAULT_LEVEL;
    let inferred = match solved {
        Some(Ok(solved)) => inference::of_least_squares(&solved, layout, &parameters, level),
        // The remedy is about the fit, which succeeded.
        Some(Err(error)) => Err(error.message(&Plain)),
        None => inference::logistic(&rows, layout, &parameters, level),
    };
    match inferred {
        // The estimate does not maximise the likelihood, so AIC and BIC are not defined for it.
        Ok(inference) if problem.is_firth() => {
            outcome.inference = Some(Inference {
                aic: None,
                bic: None,
                ..inference
            });
        }
        Ok(inference) => outcome.inference = Some(inference),
        Err(reason) => {
            let why = Invalid::Singular(reason);
            outcome.fit.notes.push(Note::NoStandardErrors(why));
        }
    }
}

/// The reason why standard errors would not be valid, if there is one.
fn invalid(outcome: &Outcome, data: &Dataset, reduction: &Subproblems) -> Option<Invalid> {
    let problem = reduction.problem();
    if !problem.penalty().is_none() {
        return Some(Invalid::Penalty);
    }
    if reduction.has_class_weights() {
        return Some(Invalid::ClassWeights);
    }
    if problem.intercept() == Intercept::Penalized {
        return Some(Invalid::PenalizedIntercept);
    }
    if data.schema().scaling.is_some() {
        return Some(Invalid::Standardized);
    }
    if outcome.fit.status != Status::Converged {
        return Some(Invalid::NotConverged);
    }
    if problem.layout().len() > MOST_PARAMETERS {
        return Some(Invalid::TooManyParameters);
    }
    None
}
