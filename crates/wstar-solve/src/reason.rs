//! Why a plan chose its solvers.

use std::fmt;

use serde::{Deserialize, Serialize};

use wstar_data::one_of_each;
use wstar_data::setting::{Plain, Setting, Wording};

/// Why a plan chose its solvers.
///
/// A reason is data. [`Reason::worded`] turns it into a few words with the setting names of a front end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Reason {
    /// The user chose the solver.
    AskedFor,
    /// A setting was given that only this solver has.
    Given(Setting),
    /// Firth's correction has one solver.
    Firth,
    /// The rows are sparse, with few stored entries for so many features.
    FewEntries,
    /// The problem is a linear programme.
    LinearProgramme,
    /// The loss has a kink.
    Kink,
    /// The loss has a kink, and there are more features than rows.
    KinkMoreFeaturesThanRows,
    /// The loss has a kink, and there are many features.
    KinkManyFeatures,
    /// An ℓ1 penalty.
    L1,
    /// An ℓ1 penalty, and streamed rows.
    L1Streamed,
    /// An ℓ1 penalty, and several scores for each row.
    L1SeveralScores,
    /// An ℓ1 penalty, several scores for each row, and few features.
    L1SeveralScoresFewFeatures,
    /// Least squares with few features.
    LeastSquaresFewFeatures,
    /// Few features.
    FewFeatures,
    /// Many features.
    ManyFeatures,
    /// Many weights: features times scores.
    ManyWeights,
    /// Words of a model file that an earlier version wrote.
    Text(String),
}

impl Reason {
    /// One value of every variant at least, for the tests of a front end's wording.
    pub fn samples() -> Vec<Reason> {
        one_of_each!(Reason {
            Reason::AskedFor => [Reason::AskedFor],
            Reason::Given(_) => [
                Setting::Batch,
                Setting::Epochs,
                Setting::LearningRate,
                Setting::Momentum,
                Setting::Schedule,
            ]
            .map(Reason::Given),
            Reason::Firth => [Reason::Firth],
            Reason::FewEntries => [Reason::FewEntries],
            Reason::LinearProgramme => [Reason::LinearProgramme],
            Reason::Kink => [Reason::Kink],
            Reason::KinkMoreFeaturesThanRows => [Reason::KinkMoreFeaturesThanRows],
            Reason::KinkManyFeatures => [Reason::KinkManyFeatures],
            Reason::L1 => [Reason::L1],
            Reason::L1Streamed => [Reason::L1Streamed],
            Reason::L1SeveralScores => [Reason::L1SeveralScores],
            Reason::L1SeveralScoresFewFeatures => [Reason::L1SeveralScoresFewFeatures],
            Reason::LeastSquaresFewFeatures => [Reason::LeastSquaresFewFeatures],
            Reason::FewFeatures => [Reason::FewFeatures],
            Reason::ManyFeatures => [Reason::ManyFeatures],
            Reason::ManyWeights => [Reason::ManyWeights],
            Reason::Text(_) => [Reason::Text("words of an earlier version".into())],
        })
    }

    /// The reason for words that an earlier version wrote into a model file.
    pub fn from_earlier(text: &str) -> Reason {
        Reason::samples()
            .into_iter()
            .find(|reason| !matches!(reason, Reason::Text(_)) && reason.to_string() == text)
            .unwrap_or_else(|| Reason::Text(text.into()))
    }

    /// The reason in a few words, with the setting names of a front end.
    pub fn worded(&self, wording: &dyn Wording) -> String {
        let words = match self {
            Reason::Text(text) => text,
            Reason::Given(setting) => {
                return format!("chosen: {} was given", wording.choice(&setting.given()));
            }
            Reason::AskedFor => "asked for",
            Reason::Firth => "Firth's correction",
            Reason::FewEntries => "chosen: few entries for so many features",
            Reason::LinearProgramme => "chosen: a linear programme",
            Reason::Kink => "chosen: a loss with a kink",
            Reason::KinkMoreFeaturesThanRows => "chosen: a loss with a kink, more features than rows",
            Reason::KinkManyFeatures => "chosen: a loss with a kink, many features",
            Reason::L1 => "chosen: ℓ1",
            Reason::L1Streamed => "chosen: ℓ1, streamed",
            Reason::L1SeveralScores => "chosen: ℓ1, several scores a row",
            Reason::L1SeveralScoresFewFeatures => "chosen: ℓ1, several scores a row, few features",
            Reason::LeastSquaresFewFeatures => "chosen: least squares, few features",
            Reason::FewFeatures => "chosen: few features",
            Reason::ManyFeatures => "chosen: many features",
            Reason::ManyWeights => "chosen: many weights",
        };
        words.into()
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.worded(&Plain))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_earlier_versions_are_known_reasons_or_kept() {
        assert_eq!(Reason::from_earlier("chosen: few features"), Reason::FewFeatures);
        assert_eq!(Reason::from_earlier("asked for"), Reason::AskedFor);
        let steps = "chosen: steps were given";
        assert_eq!(Reason::from_earlier(steps), Reason::Text(steps.into()));
    }
}
