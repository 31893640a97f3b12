//! How well a model does on data whose target is known.

use serde::Serialize;

use crate::bayes::Penalties;
use crate::data::{Classes, Dataset, Target};
use crate::error::{Error, Result};
use crate::metrics;
use crate::model::Model;

/// How well a classifier did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evaluation {
    /// Rows judged.
    pub rows: usize,
    /// The share of the rows (by weight) whose class was predicted wrongly.
    pub error: f64,
    /// One minus the error.
    pub accuracy: f64,
    /// The mean negative log probability of the true class, for models that give probabilities.
    pub log_loss: Option<f64>,
    /// The area under the ROC curve, for two classes.
    pub auc: Option<f64>,
    /// Rows by true class (down) and predicted class (across).
    pub confusion: Vec<Vec<f64>>,
    /// The classes, in the order of the confusion matrix.
    pub classes: Classes,
    /// The mean penalty, if penalties were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk: Option<f64>,
}

/// How well a regression did.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Deviations {
    /// Rows judged.
    pub rows: usize,
    /// The mean squared deviation.
    pub mse: f64,
    /// The mean absolute deviation.
    pub mae: f64,
    /// The share of the target's variance that is explained; `None` if it has none.
    pub r2: Option<f64>,
}

/// How well a model did, whatever it predicts.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Judgement {
    /// Of a classifier.
    Classes(Evaluation),
    /// Of a regression.
    Real(Deviations),
}

/// Judges a model on data prepared with its schema, by what it predicts; for classifiers also by the mean of
/// these penalties.
pub fn judge(model: &Model, data: &Dataset, penalties: Option<&Penalties>) -> Result<Judgement> {
    if !model.predictor.is_regression() {
        let penalties = penalties.or(model.predictor.penalties());
        return evaluate_with(model, data, penalties).map(Judgement::Classes);
    }
    if penalties.is_some() {
        return Err(Error::settings(
            "penalties are for classes, and the model predicts a number",
        ));
    }
    let Target::Real(truth) = &data.target else {
        return Err(Error::data("the data have no target to compare with").in_file(&data.source));
    };
    if truth.is_empty() {
        return Err(Error::data("there are no rows to judge").in_file(&data.source));
    }
    let predicted = model.predictor.scores(&data.design)?.values;
    let weights = data.weights.as_deref();
    Ok(Judgement::Real(Deviations {
        rows: truth.len(),
        mse: metrics::mean_squared(truth, &predicted, weights)?,
        mae: metrics::mean_absolute(truth, &predicted, weights)?,
        r2: metrics::r_squared(truth, &predicted, weights)?,
    }))
}

/// Judges a classifier on data prepared with its schema.
pub fn evaluate(model: &Model, data: &Dataset) -> Result<Evaluation> {
    evaluate_with(model, data, model.predictor.penalties())
}

/// Judges a classifier on data prepared with its schema, also by the mean of these penalties.
pub fn evaluate_with(model: &Model, data: &Dataset, penalties: Option<&Penalties>) -> Result<Evaluation> {
    let Target::Classes { codes, .. } = &data.target else {
        return Err(Error::data("the data have no target to compare with").in_file(&data.source));
    };
    if codes.is_empty() {
        return Err(Error::data("there are no rows to judge").in_file(&data.source));
    }
    let weights = data.weights.as_deref();
    let scores = model.predictor.scores(&data.design)?;
    let predicted: Vec<u32> = scores.rows().map(|row| model.predictor.decide(row)).collect();
    let classes = model.classes.len();
    let probabilities: Option<Vec<Vec<f64>>> = scores
        .rows()
        .map(|row| model.predictor.probabilities(row))
        .collect();
    let error = metrics::error(codes, &predicted, weights)?;
    let auc = match scores.columns {
        1 => {
            let positive: Vec<bool> = codes.iter().map(|&code| code == 1).collect();
            metrics::auc(&positive, &scores.values, weights)?
        }
        _ => None,
    };
    Ok(Evaluation {
        rows: codes.len(),
        error,
        accuracy: 1.0 - error,
        log_loss: probabilities
            .map(|rows| metrics::log_loss(codes, &rows.concat(), classes, weights))
            .transpose()?,
        auc,
        confusion: metrics::confusion(codes, &predicted, classes, weights)?,
        classes: model.classes.clone(),
        risk: penalties
            .map(|penalties| metrics::empirical_risk(codes, &predicted, penalties, weights))
            .transpose()?,
    })
}
