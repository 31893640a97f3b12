//! The kinds of plots: their names, sizes and availability for a model.

use wstar::data::error::{Error, Result};

use crate::draw::{Chart, Picture, Size};
use crate::pictures::{coefficients, confusion, convergence, curves, plane, residuals, scores};
use crate::subject::Subject;

/// A kind of plot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// True positive rate against false positive rate, at every threshold.
    Roc,
    /// Precision against recall, at every threshold.
    PrecisionRecall,
    /// Observed frequencies against predicted probabilities.
    Calibration,
    /// Histogram of the scores by class.
    Scores,
    /// Confusion matrix: true against predicted classes.
    Confusion,
    /// Residuals against fitted values.
    Residuals,
    /// Histogram of the residuals.
    ResidualHistogram,
    /// The weights of largest magnitude, with confidence intervals where they are valid.
    Coefficients,
    /// Duality gap, objective or number of mistakes by iteration.
    Convergence,
    /// Decision regions, boundary and points of a model with two features.
    Boundary,
    /// The rows projected onto their first two principal components.
    Components,
}

impl Kind {
    /// All kinds, in the order of a report.
    pub const ALL: [Kind; 11] = [
        Kind::Boundary,
        Kind::Coefficients,
        Kind::Confusion,
        Kind::Scores,
        Kind::Roc,
        Kind::PrecisionRecall,
        Kind::Calibration,
        Kind::Residuals,
        Kind::ResidualHistogram,
        Kind::Components,
        Kind::Convergence,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Roc => "roc",
            Kind::PrecisionRecall => "precision-recall",
            Kind::Calibration => "calibration",
            Kind::Scores => "scores",
            Kind::Confusion => "confusion",
            Kind::Residuals => "residuals",
            Kind::ResidualHistogram => "residual-histogram",
            Kind::Coefficients => "coefficients",
            Kind::Convergence => "convergence",
            Kind::Boundary => "boundary",
            Kind::Components => "components",
        }
    }

    /// A short description.
    pub fn description(self) -> &'static str {
        match self {
            Kind::Roc => "True against false positives at every threshold",
            Kind::PrecisionRecall => "Precision against recall at every threshold",
            Kind::Calibration => "Observed frequencies against predicted probabilities",
            Kind::Scores => "Histogram of the scores by class",
            Kind::Confusion => "True against predicted classes",
            Kind::Residuals => "Residuals against fitted values",
            Kind::ResidualHistogram => "Histogram of the residuals",
            Kind::Coefficients => "The largest weights, with intervals if valid",
            Kind::Convergence => "Gap, objective or mistakes during the fit",
            Kind::Boundary => "Decision regions of a model with two features",
            Kind::Components => "The rows in their first two principal components",
        }
    }

    /// The default size; plots whose axes are both [0, 1] are nearly square.
    pub fn size(self) -> Size {
        let (width, height) = match self {
            Kind::Roc | Kind::PrecisionRecall | Kind::Calibration | Kind::Confusion => (640, 540),
            Kind::Boundary | Kind::Components | Kind::Coefficients => (640, 540),
            _ => (640, 420),
        };
        Size { width, height }
    }

    /// Draws the plot. The error says why the model has no plot of this kind.
    pub fn draw(self, subject: &Subject<'_>, size: Size) -> Result<Picture> {
        self.chart(subject)?.draw(size)
    }

    /// Whether the plot applies to the model's kind of target: classes, real numbers, or either.
    pub(crate) fn is_about(self, subject: &Subject<'_>) -> bool {
        let regression = subject.model.predictor().is_regression();
        match self {
            Kind::Residuals | Kind::ResidualHistogram => regression,
            Kind::Coefficients | Kind::Convergence => true,
            _ => !regression,
        }
    }

    pub(crate) fn chart(self, subject: &Subject<'_>) -> Result<Chart> {
        if !self.is_about(subject) {
            return Err(unfit(
                self,
                match subject.model.predictor().is_regression() {
                    true => "the model predicts a number, and this plot is for classes",
                    false => "the model predicts classes, and this plot is for numbers",
                },
            ));
        }
        let chart = match self {
            Kind::Roc => curves::roc(subject)?,
            Kind::PrecisionRecall => curves::precision_recall(subject)?,
            Kind::Calibration => curves::calibration(subject)?,
            Kind::Scores => Some(scores::scores(subject)?),
            Kind::Confusion => confusion::confusion(subject),
            Kind::Residuals => Some(residuals::against_fitted(subject)),
            Kind::ResidualHistogram => Some(residuals::distribution(subject)?),
            Kind::Coefficients => coefficients::coefficients(subject.model),
            Kind::Convergence => convergence::convergence(subject.model),
            Kind::Boundary => plane::boundary(subject)?,
            Kind::Components => plane::components(subject)?,
        };
        chart.ok_or_else(|| unfit(self, self.reason()))
    }

    /// The reason given when a model has no plot of this kind.
    fn reason(self) -> &'static str {
        match self {
            Kind::Roc | Kind::PrecisionRecall => "the rows belong to one class only",
            Kind::Calibration => "the model has no probabilities",
            Kind::Coefficients => "the model does not consist of hyperplanes",
            Kind::Convergence => {
                "the model file has no history: the fit had one step, or an older version wrote the file"
            }
            Kind::Boundary => "the model does not have two features",
            Kind::Components => "the model has fewer than three or more than 2,000 features",
            Kind::Confusion => "there are too many classes for a picture",
            Kind::Scores | Kind::Residuals | Kind::ResidualHistogram => "there are no rows",
        }
    }
}

fn unfit(kind: Kind, why: &str) -> Error {
    Error::settings(format!("there is no {} picture: {why}", kind.name()))
}
