//! What a report is about: a model, rows whose target is known, and what the library says of the two.

use wstar::data::{Dataset, Target};
use wstar::model::{AgainstRest, Judgement, Verdict, against_rest, judge};
use wstar::{Model, Result};

/// More classes than this are not drawn side by side.
pub(crate) const MOST_CLASSES: usize = 8;

/// How the rows stand to those that the model was trained on, and what became of its claim.
#[derive(Debug, Clone, PartialEq)]
pub enum Standing {
    /// The rows the model was trained on (or, with rows held out, the others of the same file) were at hand, and the
    /// claim was recomputed from them.
    Checked(Verdict),
    /// These are other rows, so nothing could be recomputed.
    Elsewhere,
    /// The model does not say what it was trained on, and its claim does not hold on these rows.
    Unknown(Verdict),
}

impl Standing {
    /// Recomputes the model's claim, if these may be the rows that it was trained on.
    pub fn find(model: &Model, rows: &Dataset) -> Self {
        let verify = || wstar::verify(model, rows);
        match &model.digest {
            Some(digest) if *digest != rows.digest() => Standing::Elsewhere,
            // Rows that cannot even be asked (other classes, say) are others.
            Some(_) => verify().map_or(Standing::Elsewhere, Standing::Checked),
            None => match verify() {
                Ok(verdict) if verdict.holds() => Standing::Checked(verdict),
                Ok(verdict) => Standing::Unknown(verdict),
                Err(_) => Standing::Elsewhere,
            },
        }
    }
}

/// A model and the rows that it is judged on.
#[derive(Debug)]
pub struct Subject<'a> {
    pub(crate) model: &'a Model,
    pub(crate) data: &'a Dataset,
    pub(crate) judgement: Judgement,
    /// What the model predicts of a real target.
    pub(crate) fitted: Vec<f64>,
    /// Each class against the rest.
    pub(crate) sides: Vec<AgainstRest>,
}

impl<'a> Subject<'a> {
    /// Asks the library all that the pictures need of it.
    pub fn new(model: &'a Model, data: &'a Dataset) -> Result<Self> {
        let judgement = judge(model, data, None)?;
        let (fitted, sides) = match judgement {
            Judgement::Real(_) => (model.predictor.scores(&data.design)?.values, Vec::new()),
            Judgement::Classes(_) => (Vec::new(), against_rest(model, data, MOST_CLASSES)?),
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
        self.data.weights.as_deref()
    }

    /// The class of each row; none of a regression.
    pub(crate) fn codes(&self) -> &[u32] {
        match &self.data.target {
            Target::Classes { codes, .. } => codes,
            _ => &[],
        }
    }

    /// The real target of each row; none of a classifier.
    pub(crate) fn truth(&self) -> &[f64] {
        match &self.data.target {
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
            .classes
            .names()
            .get(code as usize)
            .map_or("", String::as_str)
    }

    /// The name of what is predicted.
    pub(crate) fn target(&self) -> &str {
        self.model.schema.target.as_deref().unwrap_or("target")
    }
}
