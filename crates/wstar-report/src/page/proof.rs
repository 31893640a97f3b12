//! The claim and its proof in plain words, and what re-checking it led to.

use wstar::certify::Certificate;

use super::table::list;
use crate::claim::claim as in_words;
use crate::draw::escaped;
use crate::subject::{Standing, Subject};

/// What a certificate of a kind proves, and how, for a reader who meets one for the first time.
fn meaning(certificate: &Certificate) -> &'static str {
    match certificate {
        Certificate::DualityGap { .. } => {
            "P is the objective at these weights. D is a number that no weights whatever can get below: it is computed from \
             the data by a dual point. So these weights are at most P − D away from the best there are."
        }
        Certificate::MistakeBound { .. } => {
            "A perceptron cannot make more updates than this on these rows, whatever their order: R is the length of the \
             longest row and γ the margin of a hyperplane that is kept with the model (Novikoff 1962). Where the rows do \
             not all keep that margin, D says by how much they miss it, and k is the number of passes (Freund and Schapire \
             1999)."
        }
        Certificate::Separation { .. } => {
            "The first number is the margin of this very hyperplane. The second is half the distance between two points, one \
             of the hull of each class, and no hyperplane has a wider margin than that."
        }
        Certificate::MaximumLikelihood { .. } => {
            "The estimates have closed forms (means, covariances, shares). Each was computed again from the rows by its \
             definition, and agrees with the model's."
        }
        Certificate::EnclosingBall { .. } => {
            "Around each class there is a ball of this radius, and a few of its points show that no smaller one holds them all."
        }
        Certificate::Stationarity { .. } => {
            "The objective is not convex, so nobody can promise that there is no better one elsewhere; what is proved is \
             that its slope here is next to nothing."
        }
        Certificate::MinError(_) => {
            "The rows were counted, and a proof that goes with the model shows that every hyperplane gets at least so many \
             of them wrong."
        }
        Certificate::HardMargin { .. } => {
            "The multipliers of the support vectors are a dual point: they show that no hyperplane keeps the classes \
             farther apart."
        }
        Certificate::None => {
            "The rows went by only once and were not kept, so nothing could be proved about them."
        }
    }
}

/// The section that opens a report.
pub(super) fn claim(subject: &Subject<'_>, standing: &Standing) -> String {
    let model = subject.model;
    let (certificate, objections) = match standing {
        Standing::Checked(verdict) => (&verdict.certificate, verdict.objections.as_slice()),
        Standing::Unknown(verdict) => (&model.certificate, verdict.objections.as_slice()),
        Standing::Elsewhere => (&model.certificate, [].as_slice()),
    };
    let none = matches!(model.certificate, Certificate::None);
    let (class, word, checked) = match standing {
        _ if none => ("claim open", "Nothing is claimed:", ""),
        Standing::Checked(_) if objections.is_empty() && model.certificate.holds() => (
            "claim",
            "Proved:",
            "The proof was checked again for this report, from the training rows alone: it holds.",
        ),
        Standing::Checked(_) if objections.is_empty() => (
            "claim open",
            "Not proved to the end:",
            "The numbers were computed again for this report, from the training rows alone: they are right, but the fit \
             stopped before they reached what was asked.",
        ),
        Standing::Checked(_) => (
            "claim broken",
            "Does not hold:",
            "The proof was checked again for this report, from the training rows, and it does not hold:",
        ),
        Standing::Elsewhere if model.certificate.holds() => (
            "claim open",
            "Claimed:",
            "The rows given for this report are not those that the model was trained on, so the proof could not be checked \
             here; `wstar verify` checks it on the training rows.",
        ),
        Standing::Elsewhere => (
            "claim open",
            "Not proved to the end:",
            "The rows given for this report are not those that the model was trained on, so its numbers could not be \
             computed again here.",
        ),
        Standing::Unknown(_) => (
            "claim open",
            "Claimed:",
            "The proof does not hold on the rows given for this report, and the model file does not say which rows it was \
             trained on: these may be others. What stands against it:",
        ),
    };
    let mut text = format!(
        "<section class=\"{class}\" aria-labelledby=\"proof\">\n<h2 id=\"proof\">What is claimed, and why it is so</h2>\n\
         <p class=\"verdict\"><strong>{word}</strong> {}.</p>\n<p>{}</p>\n",
        escaped(&in_words(certificate, &model.classes)),
        escaped(meaning(certificate)),
    );
    if !checked.is_empty() {
        text += &format!("<p>{}</p>\n", escaped(checked));
    }
    if !objections.is_empty() {
        text += &list(objections.iter().cloned());
    }
    text + "</section>\n"
}
