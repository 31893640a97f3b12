//! Evaluation of a model on data with a known target.

use serde::Serialize;

use crate::bayes::Penalties;
use crate::metrics;
use crate::model::Model;
use wstar_data::error::{Error, Result};
use wstar_data::{Classes, Dataset, Target};

/// The evaluation of a classifier.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Evaluation {
    /// The number of rows.
    pub(crate) rows: usize,
    /// The weighted share of misclassified rows.
    pub(crate) error: f64,
    /// One minus the error.
    pub(crate) accuracy: f64,
    /// The mean negative log-probability of the true class, for models that give probabilities.
    pub(crate) log_loss: Option<f64>,
    /// The area under the ROC curve, for two classes.
    pub(crate) auc: Option<f64>,
    /// The confusion matrix: true class by row, predicted class by column.
    pub(crate) confusion: Vec<Vec<f64>>,
    /// The classes, in the order of the confusion matrix.
    pub(crate) classes: Classes,
    /// The mean penalty, if a penalty matrix was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) risk: Option<f64>,
}

impl Evaluation {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The weighted share of misclassified rows.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// One minus the error.
    pub fn accuracy(&self) -> f64 {
        self.accuracy
    }

    /// The mean negative log-probability of the true class, for models that give probabilities.
    pub fn log_loss(&self) -> Option<f64> {
        self.log_loss
    }

    /// The area under the ROC curve, for two classes.
    pub fn auc(&self) -> Option<f64> {
        self.auc
    }

    /// The confusion matrix: true class by row, predicted class by column.
    pub fn confusion(&self) -> &[Vec<f64>] {
        &self.confusion
    }

    /// The classes, in the order of the confusion matrix.
    pub fn classes(&self) -> &Classes {
        &self.classes
    }

    /// The mean penalty, if a penalty matrix was given.
    pub fn risk(&self) -> Option<f64> {
        self.risk
    }
}

/// The evaluation of a regression.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Deviations {
    /// The number of rows.
    pub(crate) rows: usize,
    /// The mean squared error.
    pub(crate) mse: f64,
    /// The mean absolute error.
    pub(crate) mae: f64,
    /// The coefficient of determination R²; `None` if the target has no variance.
    pub(crate) r2: Option<f64>,
}

impl Deviations {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The mean squared error.
    pub fn mse(&self) -> f64 {
        self.mse
    }

    /// The mean absolute error.
    pub fn mae(&self) -> f64 {
        self.mae
    }

    /// The coefficient of determination R²; `None` if the target has no variance.
    pub fn r2(&self) -> Option<f64> {
        self.r2
    }
}

/// The evaluation of a model.
///
/// ```
/// use wstar::prelude::*;
/// let data = Dataset::measured(&[[0.0], [1.0], [2.0], [3.0]], vec![1.0, 3.0, 5.5, 7.0])?;
/// let found = LeastSquares::l2().fit(&data)?.evaluate(&data)?;
/// let deviations = found.real().expect("the target is real");
/// assert!(deviations.mse() < 1.0 && found.classes().is_none());
/// # Ok::<(), wstar::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Judgement {
    /// The evaluation of a classifier.
    Classes(Evaluation),
    /// The evaluation of a regression.
    Real(Deviations),
}

impl Judgement {
    /// The evaluation of a classifier; `None` for a regression.
    pub fn classes(&self) -> Option<&Evaluation> {
        match self {
            Judgement::Classes(found) => Some(found),
            Judgement::Real(_) => None,
        }
    }

    /// The evaluation of a regression; `None` for a classifier.
    pub fn real(&self) -> Option<&Deviations> {
        match self {
            Judgement::Classes(_) => None,
            Judgement::Real(found) => Some(found),
        }
    }
}

impl Model {
    /// Evaluates the model on rows that it can [predict](Model::predict): errors for classes, deviations for a real target.
    /// Classes are matched by name.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = wstar::read("@iris")?.dataset()?;
    /// let model = Softmax::l2().fit(&data)?;
    /// let found = model.evaluate(&data)?;
    /// let found = found.classes().expect("iris has classes");
    /// assert!(found.error() < 0.05 && found.confusion().len() == 3);
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn evaluate(&self, data: &Dataset) -> Result<Judgement> {
        judge(self, data, None)
    }
}

/// Evaluates a model on rows that it can [predict](Model::predict), as a classifier or a regression. The penalty matrix, if given,
/// adds the mean penalty of a classifier's decisions.
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
    let Target::Real(truth) = data.target() else {
        return Err(Error::data("the data have no target to compare with").in_file(data.source()));
    };
    if truth.is_empty() {
        return Err(Error::data("there are no rows to evaluate").in_file(data.source()));
    }
    let predicted = model.scores(data)?.into_values();
    let weights = data.weights();
    Ok(Judgement::Real(Deviations {
        rows: truth.len(),
        mse: metrics::mean_squared(truth, &predicted, weights)?,
        mae: metrics::mean_absolute(truth, &predicted, weights)?,
        r2: metrics::r_squared(truth, &predicted, weights)?,
    }))
}

/// Evaluates a classifier on rows that it can [predict](Model::predict).
///
/// ```
/// use wstar::prelude::*;
/// let data = Dataset::labelled(&[[0.0], [1.0], [2.0], [3.0]], &["a", "a", "b", "b"])?;
/// let model = Logistic::l2().fit(&data)?;
/// let found = wstar::evaluate(&model, &data)?;
/// assert_eq!((found.error(), found.auc()), (0.0, Some(1.0)));
/// # Ok::<(), wstar::Error>(())
/// ```
pub fn evaluate(model: &Model, data: &Dataset) -> Result<Evaluation> {
    evaluate_with(model, data, model.predictor.penalties())
}

/// Evaluates a classifier on rows that it can [predict](Model::predict), with the mean of these penalties.
pub fn evaluate_with(model: &Model, data: &Dataset, penalties: Option<&Penalties>) -> Result<Evaluation> {
    let codes = &*model.codes_of(data)?;
    if codes.is_empty() {
        return Err(Error::data("there are no rows to evaluate").in_file(data.source()));
    }
    let weights = data.weights();
    let scores = model.scores(data)?;
    let predicted = model.decide(&scores);
    let classes = model.classes.len();
    let probabilities = model.probabilities_of(&scores);
    let error = metrics::error(codes, &predicted, weights)?;
    let auc = match scores.columns() {
        1 => {
            let positive: Vec<bool> = codes.iter().map(|&code| code == 1).collect();
            metrics::auc(&positive, scores.values(), weights)?
        }
        _ => None,
    };
    Ok(Evaluation {
        rows: codes.len(),
        error,
        accuracy: 1.0 - error,
        log_loss: probabilities
            .map(|shares| metrics::log_loss(codes, shares.values(), classes, weights))
            .transpose()?,
        auc,
        confusion: metrics::confusion(codes, &predicted, classes, weights)?,
        classes: model.classes.clone(),
        risk: penalties
            .map(|penalties| metrics::empirical_risk(codes, &predicted, penalties, weights))
            .transpose()?,
    })
}
