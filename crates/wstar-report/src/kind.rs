//! The pictures that a model has, by name.

use wstar::{Error, Result};

use crate::draw::{Chart, Picture, Size};
use crate::pictures::{coefficients, confusion, convergence, curves, plane, residuals, scores};
use crate::subject::Subject;

/// A picture, by what it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// True against false positives, at every threshold.
    Roc,
    /// Precision against recall, at every threshold.
    PrecisionRecall,
    /// Observed shares against predicted probabilities.
    Calibration,
    /// How scores are distributed, class by class.
    Scores,
    /// True against predicted classes.
    Confusion,
    /// Residuals against fitted values.
    Residuals,
    /// How residuals are distributed.
    ResidualHistogram,
    /// The heaviest weights, with intervals where they are valid.
    Coefficients,
    /// The gap, the objective or the mistakes as the fit went on.
    Convergence,
    /// The plane of a model of two features: regions, boundary, points.
    Boundary,
    /// The rows along the two directions in which they differ most.
    Components,
}

impl Kind {
    /// All of them, in the order of a report.
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

    /// Its name on the command line.
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

    /// What it shows, in a few words.
    pub fn description(self) -> &'static str {
        match self {
            Kind::Roc => "True against false positives at every threshold",
            Kind::PrecisionRecall => "Precision against recall at every threshold",
            Kind::Calibration => "Observed shares against predicted probabilities",
            Kind::Scores => "How scores are distributed, class by class",
            Kind::Confusion => "True against predicted classes",
            Kind::Residuals => "Residuals against fitted values",
            Kind::ResidualHistogram => "How residuals are distributed",
            Kind::Coefficients => "The heaviest weights, with intervals where valid",
            Kind::Convergence => "Gap or mistakes as the fit went on",
            Kind::Boundary => "The plane of a model of two features",
            Kind::Components => "The rows along their two principal components",
        }
    }

    /// The size it has unless another is asked for: what goes from 0 to 1 both ways is near to square.
    pub fn size(self) -> Size {
        let (width, height) = match self {
            Kind::Roc | Kind::PrecisionRecall | Kind::Calibration | Kind::Confusion => (640, 540),
            Kind::Boundary | Kind::Components | Kind::Coefficients => (640, 540),
            _ => (640, 420),
        };
        Size { width, height }
    }

    /// Draws it; an error says why a model has no such picture.
    pub fn draw(self, subject: &Subject<'_>, size: Size) -> Result<Picture> {
        self.chart(subject)?.draw(size)
    }

    /// Whether it is about what the model predicts: classes, numbers, or either.
    pub(crate) fn is_about(self, subject: &Subject<'_>) -> bool {
        let regression = subject.model.predictor.is_regression();
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
                match subject.model.predictor.is_regression() {
                    true => "the model predicts a number, and this is about classes",
                    false => "the model predicts classes, and this is about numbers",
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
        chart.ok_or_else(|| unfit(self, self.lacking()))
    }

    /// What a model or its rows lack if there is nothing to draw.
    fn lacking(self) -> &'static str {
        match self {
            Kind::Roc | Kind::PrecisionRecall => "the rows have only one of the classes",
            Kind::Calibration => "the model's scores are no probabilities",
            Kind::Coefficients => "the model is not made of hyperplanes",
            Kind::Convergence => {
                "the model file holds no history: its answer came in one step, or it is an older file"
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
