//! The subject of a report: a model, labelled rows, and the quantities that the library computes from both.

use wstar::Model;
use wstar::data::error::Result;
use wstar::data::{Dataset, Target};
use wstar::model::{AgainstRest, Judgement, Verification, against_rest, judge};

/// Number of classes in one chart or table. Cap: further classes are left out.
pub(crate) const MOST_CLASSES: usize = 8;

/// Whether the rows are the training rows, and the result of verifying the model's certificate on them.
#[derive(Debug, Clone, PartialEq)]
pub enum Standing {
    /// The training rows are available (with a hold-out set, the remaining rows of the same file), and the
    /// certificate was recomputed from them.
    Checked(Verification),
    /// The rows are not the training rows, so the certificate could not be recomputed.
    Elsewhere,
    /// The model file does not identify its training rows, and the certificate does not hold on these rows.
    Unknown(Verification),
}

impl Standing {
    /// Recomputes the model's certificate if `rows` may be the training rows.
    pub fn find(model: &Model, rows: &Dataset) -> Self {
        let verify = || wstar::verify(model, rows);
        match model.digest() {
            Some(digest) if *digest != rows.digest() => Standing::Elsewhere,
            // Verification fails with an error if, for example, the classes differ: then these are other rows.
            Some(_) => verify().map_or(Standing::Elsewhere, Standing::Checked),
            None => match verify() {
                Ok(verdict) if verdict.holds() => Standing::Checked(verdict),
                Ok(verdict) => Standing::Unknown(verdict),
                Err(_) => Standing::Elsewhere,
            },
        }
    }
}

/// A model and the rows on which it is evaluated.
#[derive(Debug)]
pub struct Subject<'a> {
    pub(crate) model: &'a Model,
    pub(crate) data: &'a Dataset,
    pub(crate) judgement: Judgement,
    /// Predictions of a real target; empty for a classifier.
    pub(crate) fitted: Vec<f64>,
    /// Scores of each class against the rest; empty for a regression.
    pub(crate) sides: Vec<AgainstRest>,
}

impl<'a> Subject<'a> {
    /// Evaluates the model on `data` and computes what the plots need.
    pub fn new(model: &'a Model, data: &'a Dataset) -> Result<Self> {
        let judgement = judge(model, data, None)?;
        let (fitted, sides) = match judgement {
            Judgement::Classes(_) => (Vec::new(), against_rest(model, data, MOST_CLASSES)?),
            _ => (model.scores(data)?.into_values(), Vec::new()),
        };
        Ok(Subject {
            model,
            data,
            judgement,
            fitted,
            sides,
        })
    }

    pub(crate) fn weights(&self) -> Option<&[f64]> {
        self.data.weights()
    }

    /// The class of each row; empty for a regression.
    pub(crate) fn codes(&self) -> &[u32] {
        match self.data.target() {
            Target::Classes { codes, .. } => codes,
            _ => &[],
        }
    }

    /// The real target of each row; empty for a classifier.
    pub(crate) fn truth(&self) -> &[f64] {
        match self.data.target() {
            Target::Real(values) => values,
            _ => &[],
        }
    }

    pub(crate) fn residuals(&self) -> Vec<f64> {
        self.truth()
            .iter()
            .zip(&self.fitted)
            .map(|(y, z)| y - z)
            .collect()
    }

    pub(crate) fn class(&self, code: u32) -> &str {
        self.model
            .classes()
            .names()
            .get(code as usize)
            .map_or("", String::as_str)
    }

    /// The name of the target column.
    pub(crate) fn target(&self) -> &str {
        self.model.schema().target.as_deref().unwrap_or("target")
    }
}
