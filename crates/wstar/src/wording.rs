//! Everything that the library can say, for the tests of front ends: no front end may leave a variant without words.

use crate::model::Note;
use crate::settings::Method;
use wstar_data::error::{Cause, Remedy};
use wstar_data::setting::{Choice, Setting, Wording};
use wstar_data::{DatasetNote, Objection};
use wstar_problem::loss::LossName;
use wstar_problem::penalty::PenaltyName;
use wstar_solve::{Reason, SolverName};

/// Every setting alone and with each of its values; a setting with a number or a name for a value has a sample of it.
///
/// ```
/// use wstar::data::setting::Setting;
/// let choices = wstar::wording::choices();
/// assert!(choices.contains(&Setting::Firth.given()));
/// assert!(choices.contains(&Setting::Penalty.to("elastic-net")));
/// ```
pub fn choices() -> Vec<Choice> {
    let with_values = |&setting: &Setting| {
        let values = values(setting);
        let together = (values.len() > 1).then(|| setting.any(values.clone()));
        let each = values.into_iter().map(move |value| setting.to(value));
        std::iter::once(setting.given()).chain(each).chain(together)
    };
    Setting::ALL.iter().flat_map(with_values).collect()
}

/// The values of a setting; none for a switch.
fn values(setting: Setting) -> Vec<String> {
    let texts = |values: &[&str]| values.iter().map(ToString::to_string).collect();
    match setting {
        Setting::Firth
        | Setting::Multiset
        | Setting::NoIntercept
        | Setting::PenalizeIntercept
        | Setting::Standardize
        | Setting::Stream => Vec::new(),
        Setting::ClassWeight => texts(&["balanced"]),
        Setting::Density => texts(&["gaussian", "bernoulli", "multinomial"]),
        Setting::Format => texts(&["csv", "tsv", "svmlight", "idx"]),
        Setting::Loss => LossName::ALL.map(|loss| loss.name().into()).into(),
        Setting::Method => Method::ALL.map(|method| method.name().into()).into(),
        Setting::Missing => texts(&["mean", "drop"]),
        Setting::Multiclass => texts(&["softmax", "ovr", "ovo"]),
        Setting::Prove => texts(&["digits"]),
        Setting::Penalty => [
            PenaltyName::None,
            PenaltyName::L2,
            PenaltyName::L1,
            PenaltyName::ElasticNet,
        ]
        .map(|penalty| penalty.name().into())
        .into(),
        Setting::Rule => texts(&["cyclic", "shuffled", "worst"]),
        Setting::Schedule => texts(&["constant", "inverse", "halving"]),
        Setting::Solver => SolverName::ALL.map(|solver| solver.name().into()).into(),
        Setting::Ties => texts(&["mistake", "positive"]),
        Setting::Unseen => texts(&["ignore"]),
        Setting::Vote => texts(&["all", "last-half"]),
        Setting::Categorical
        | Setting::Checkpoint
        | Setting::Classes
        | Setting::Drop
        | Setting::Labels
        | Setting::Numeric
        | Setting::Positive
        | Setting::StartFrom
        | Setting::Target
        | Setting::Text => texts(&["NAME"]),
        Setting::Batch
        | Setting::Digits
        | Setting::Epochs
        | Setting::HalvingSteps
        | Setting::MaxIter
        | Setting::Seed => texts(&["1"]),
        _ => texts(&["0.5"]),
    }
}

/// Every kind of message in the wording of a front end: all notes, causes and remedies, all [`choices`] as remedies, all
/// reasons for a solver, all notes about data and all objections to a claim.
pub fn sentences(wording: &dyn Wording) -> Vec<String> {
    let notes = Note::samples().into_iter().map(|note| note.worded(wording));
    let causes = Cause::samples().into_iter().map(|cause| cause.worded(wording));
    let remedies = Remedy::samples()
        .into_iter()
        .chain(choices().into_iter().map(Remedy::from));
    let remedies = remedies.map(|remedy| remedy.worded(wording));
    let reasons = Reason::samples().into_iter().map(|reason| reason.worded(wording));
    let of_data = DatasetNote::samples().into_iter().map(|note| note.to_string());
    let objections = Objection::samples()
        .into_iter()
        .map(|objection| objection.to_string());
    notes
        .chain(causes)
        .chain(remedies)
        .chain(reasons)
        .chain(of_data)
        .chain(objections)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wstar_data::setting::Plain;

    #[test]
    fn every_sentence_is_one_line_without_syntax_of_a_front_end() {
        for sentence in sentences(&Plain) {
            assert!(!sentence.is_empty() && !sentence.contains('\n'), "{sentence}");
            for syntax in ["--", "=\"", "=None", "sklearn", ",,", "  "] {
                assert!(!sentence.contains(syntax), "{sentence}");
            }
        }
    }
}
