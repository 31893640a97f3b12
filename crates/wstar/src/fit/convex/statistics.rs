//! Adds what statistics can be given of a fit: only where they are valid, and otherwise why not.

use std::borrow::Cow;

use crate::data::Dataset;
use crate::fit::Outcome;
use crate::inference::{self, Inference};
use crate::loss::LossName;
use crate::model::Predictor;
use crate::oracle::{Rows, Weights};
use crate::problem::Intercept;
use crate::reduction::{Part, Reduction};
use crate::solve::least_squares::Solved;
use crate::watch::Status;

/// More parameters than these are not tested one by one.
const MOST_PARAMETERS: usize = 2000;

/// Adds inference, and for least squares rank and residuals. `gram` is X̃ᵀCX̃, if the fit has made it.
pub(super) fn add(outcome: &mut Outcome, data: &Dataset, reduction: &Reduction, gram: Option<&[f64]>) {
    let definition = &reduction.definition;
    let layout = definition.layout;
    let [part] = reduction.parts.as_slice() else {
        return;
    };
    let regression = *part == Part::Real && definition.loss == LossName::Squared;
    if !regression && definition.loss != LossName::Logistic {
        return;
    }
    let Predictor::Linear { discriminants, .. } = &outcome.predictor else {
        return;
    };
    let Ok(rows) = reduction.rows(*part, data) else {
        return;
    };
    // Statistics count rows, so C and class weights are left out.
    let weights = match &data.weights {
        Some(weights) => Weights::Each(Cow::Borrowed(weights)),
        None => Weights::Same(1.0),
    };
    let gram = gram.filter(|_| definition.penalty.is_none() && rows.weights == weights);
    let rows = Rows { weights, ..rows };
    let mut parameters = discriminants[0].weights.clone();
    parameters.extend(layout.intercept.then_some(discriminants[0].intercept));
    let solved =
        (regression && layout.len() <= MOST_PARAMETERS).then(|| match (gram, outcome.fit.objective) {
            // The objective is half the sum of squares, and has been certified.
            (Some(gram), Some(objective)) => Solved::from_gram(&rows, layout, gram, 2.0 * objective),
            _ => Solved::new(&rows, layout, &parameters),
        });
    if let Some(Ok(solved)) = &solved {
        outcome.least_squares = Some(solved.report.clone());
    }
    if let Some(reason) = invalid(outcome, data, reduction) {
        outcome.fit.notes.push(format!("no standard errors: {reason}"));
        return;
    }
    let level = inference::DEFAULT_LEVEL;
    let inferred = match solved {
        Some(Ok(solved)) => inference::of_least_squares(&solved, layout, &parameters, level),
        Some(Err(error)) => Err(error.to_string()),
        None => inference::logistic(&rows, layout, &parameters, level),
    };
    match inferred {
        // The estimate does not maximise the likelihood, so criteria that take its maximum say nothing.
        Ok(inference) if definition.firth => {
            outcome.inference = Some(Inference {
                aic: None,
                bic: None,
                ..inference
            });
        }
        Ok(inference) => outcome.inference = Some(inference),
        Err(reason) => outcome.fit.notes.push(format!("no standard errors: {reason}")),
    }
}

/// Why standard errors would not be valid, if so.
fn invalid(outcome: &Outcome, data: &Dataset, reduction: &Reduction) -> Option<&'static str> {
    let definition = &reduction.definition;
    if !definition.penalty.is_none() {
        return Some("a penalty biases the coefficients (--penalty none gives them)");
    }
    if reduction.has_class_weights() {
        return Some("class weights change what is estimated");
    }
    if definition.intercept == Intercept::Penalized {
        return Some("the intercept is penalised");
    }
    if data.schema.scaling.is_some() {
        return Some("the columns were standardised (leave --standardize out)");
    }
    if outcome.fit.status != Status::Converged {
        return Some("the fit did not converge");
    }
    if definition.layout.len() > MOST_PARAMETERS {
        return Some("there are too many parameters");
    }
    None
}
