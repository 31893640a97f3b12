//! The certificate, an explanation of its meaning, and the result of verifying it.

use wstar::certificate::Certificate;

use super::table::list;
use crate::claim::claim as in_words;
use crate::draw::escaped;
use crate::subject::{Standing, Subject};

/// Explains to a new reader what a kind of certificate proves, and how.
fn meaning(certificate: &Certificate) -> &'static str {
    match certificate {
        Certificate::DualityGap { .. } => {
            "P is the objective at these weights. D is the objective of a dual point, computed from the data, and no weights \
             have an objective below D. So the objective at these weights is at most P − D above the optimum."
        }
        Certificate::MistakeBound { .. } => {
            "A perceptron makes at most this number of updates on these rows, in any order. R is the largest norm of a row, \
             and γ is the margin of a hyperplane that the model file contains (Novikoff 1962). If some rows violate this \
             margin, D is the norm of the violations, and k is the number of passes (Freund and Schapire 1999)."
        }
        Certificate::Separation { .. } => {
            "The first number is the margin of this hyperplane. The second is half the distance between two points, one in \
             the convex hull of each class, and no hyperplane has a larger margin."
        }
        Certificate::MaximumLikelihood { .. } => {
            "The estimates have closed forms (means, covariances, proportions). Each was recomputed from the rows by its \
             definition, and agrees with the model."
        }
        Certificate::EnclosingBall { .. } => {
            "Each class lies in a ball of this radius, and some of its points prove that no smaller ball contains all of them."
        }
        Certificate::Stationarity { .. } => {
            "The objective is not convex, so better weights may exist elsewhere. What is proved is that its gradient is \
             nearly 0 at these weights."
        }
        Certificate::MinError(_) => {
            "The errors were counted, and a proof in the model file shows that every hyperplane misclassifies at least as \
             many rows."
        }
        Certificate::HardMargin { .. } => {
            "The multipliers of the support vectors are a dual point. They prove that no hyperplane has a larger margin."
        }
        Certificate::None => {
            "The rows were read only once and were not stored, so nothing could be proved about them."
        }
        _ => "The documentation of the library explains this kind of claim.",
    }
}

/// The first section of a report.
pub(super) fn claim(subject: &Subject<'_>, standing: &Standing) -> String {
    let model = subject.model;
    let (certificate, objections) = match standing {
        Standing::Checked(verdict) => (verdict.certificate(), verdict.objections()),
        Standing::Unknown(verdict) => (model.certificate(), verdict.objections()),
        Standing::Elsewhere => (model.certificate(), [].as_slice()),
    };
    let none = matches!(model.certificate(), Certificate::None);
    let (class, word, checked) = match standing {
        _ if none => ("claim open", "Nothing is claimed:", ""),
        Standing::Checked(_) if objections.is_empty() && model.certificate().holds() => (
            "claim",
            "Proved:",
            "The proof was checked again for this report, from the training rows alone, and it holds.",
        ),
        Standing::Checked(_) if objections.is_empty() => (
            "claim open",
            "Not proved completely:",
            "The numbers were recomputed for this report, from the training rows alone. They are correct, but the fit \
             stopped before it reached its tolerance.",
        ),
        Standing::Checked(_) => (
            "claim broken",
            "Does not hold:",
            "The proof was checked again for this report, from the training rows, and it does not hold:",
        ),
        Standing::Elsewhere if model.certificate().holds() => (
            "claim open",
            "Claimed:",
            "The rows given for this report are not those that the model was trained on, so the proof could not be checked \
             here; `wstar verify` checks it on the training rows.",
        ),
        Standing::Elsewhere => (
            "claim open",
            "Not proved completely:",
            "The rows given for this report are not those that the model was trained on, so its numbers could not be \
             recomputed here.",
        ),
        Standing::Unknown(_) => (
            "claim open",
            "Claimed:",
            "The proof does not hold on the rows given for this report, and the model file does not say which rows it was \
             trained on; they may be different rows. The objections:",
        ),
    };
    let mut text = format!(
        "<section class=\"{class}\" aria-labelledby=\"proof\">\n<h2 id=\"proof\">The claim and its proof</h2>\n\
         <p class=\"verdict\"><strong>{word}</strong> {}.</p>\n<p>{}</p>\n",
        escaped(&in_words(certificate, model.classes())),
        escaped(meaning(certificate)),
    );
    if !checked.is_empty() {
        text += &format!("<p>{}</p>\n", escaped(checked));
    }
    if !objections.is_empty() {
        text += &list(objections.iter().map(ToString::to_string));
    }
    text + "</section>\n"
}
