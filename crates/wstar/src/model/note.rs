//! Notes about a fit for the user, in addition to the certificate.

use serde::{Deserialize, Deserializer, Serialize};

use crate::settings::Method;
use wstar_data::one_of_each;
use wstar_data::setting::{Command, Plain, Setting, Wording};

/// A note about a fit.
///
/// A note is data. [`Note::worded`] turns it into a sentence with the setting names of a front end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Note {
    /// The fit uses Firth's correction.
    Firth,
    /// The loss is not convex.
    NotConvex,
    /// The classes can be separated, so the fit has no optimum. This was found while fitting.
    Diverges {
        /// The method without an optimum.
        method: Method,
    },
    /// Whether the optimum exists was not decided within the time limit.
    ExistenceUnknown,
    /// A fit without a penalty has no optimum. This was proved before fitting.
    NoOptimum {
        /// The sides that are separated, by name.
        who: String,
        /// `true`: complete separation. `false`: quasi-complete separation, with some rows on the hyperplane.
        complete: bool,
        /// The method without an optimum.
        method: Method,
    },
    /// A direction along which the likelihood increases without bound.
    Ascent {
        /// The features and their weights, by decreasing magnitude.
        terms: Vec<(String, f64)>,
        /// Whether further terms are left out.
        more: bool,
    },
    /// Settings with a finite optimum, recommended when the fit has none.
    FiniteOptimum {
        /// The method without an optimum.
        method: Method,
    },
    /// A penalised fit to separable classes.
    Separable {
        /// The sides that are separated.
        sides: Vec<SeparableSide>,
        /// The number of further sides.
        more: usize,
        /// The kind of separation.
        how: Separability,
    },
    /// Standard errors are not valid.
    NoStandardErrors(Invalid),
    /// Digits of the optimum were asked for, and fewer are proved.
    FewerDigits {
        /// The digits that are proved of every parameter; 0 if the optimum is not enclosed.
        proved: u32,
    },
    /// A hyperplane with the least error exists, but its coefficients lose the signs of some scores when they are rounded.
    LostDigits {
        /// The least error, in rows or in weight.
        errors: f64,
    },
    /// A sentence of a model file that an earlier version wrote.
    Text(String),
}

/// Two sides that can be separated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SeparableSide {
    /// The names of the two sides.
    pub(crate) who: String,
    /// The feature that separates the sides by itself, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<String>,
}

/// The kind of separation between two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Separability {
    /// A hyperplane lies strictly between the two sides.
    Separable,
    /// A hyperplane has no row on its wrong side, and some rows on itself.
    QuasiSeparable,
    /// Separable or quasi-separable; which of the two was not decided.
    AtLeastQuasiSeparable,
}

impl Separability {
    /// One value of every variant, for the tests of a front end's wording.
    pub fn samples() -> Vec<Separability> {
        one_of_each!(Separability {
            Separability::Separable => [Separability::Separable],
            Separability::QuasiSeparable => [Separability::QuasiSeparable],
            Separability::AtLeastQuasiSeparable => [Separability::AtLeastQuasiSeparable],
        })
    }
}

/// The reason why standard errors are not valid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Invalid {
    /// A penalty biases the coefficients.
    Penalty,
    /// Class weights change the estimated quantity.
    ClassWeights,
    /// The intercept is penalised.
    PenalizedIntercept,
    /// The columns were scaled.
    Standardized,
    /// The fit did not converge.
    NotConverged,
    /// There are too many parameters.
    TooManyParameters,
    /// The information matrix could not be inverted; with the reason.
    Singular(String),
}

/// Deserialises the notes of a model file. Files of version 1 may hold sentences, which become [`Note::Text`].
pub(super) fn read<'de, D: Deserializer<'de>>(file: D) -> Result<Vec<Note>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum InFile {
        Note(Note),
        Sentence(String),
    }
    let notes: Vec<InFile> = Vec::deserialize(file)?;
    let note = |read| match read {
        InFile::Note(note) => note,
        InFile::Sentence(text) => Note::Text(text),
    };
    Ok(notes.into_iter().map(note).collect())
}

impl Invalid {
    /// One value of every variant, for the tests of a front end's wording.
    pub fn samples() -> Vec<Invalid> {
        one_of_each!(Invalid {
            Invalid::Penalty => [Invalid::Penalty],
            Invalid::ClassWeights => [Invalid::ClassWeights],
            Invalid::PenalizedIntercept => [Invalid::PenalizedIntercept],
            Invalid::Standardized => [Invalid::Standardized],
            Invalid::NotConverged => [Invalid::NotConverged],
            Invalid::TooManyParameters => [Invalid::TooManyParameters],
            Invalid::Singular(_) => [Invalid::Singular("column x is constant".into())],
        })
    }
}

impl Note {
    /// One value of every variant at least, for the tests of a front end's wording: notes that depend on the method are
    /// there for every method.
    pub fn samples() -> Vec<Note> {
        let no_optimum = |method| {
            [true, false].map(|complete| Note::NoOptimum {
                who: "a and b".into(),
                complete,
                method,
            })
        };
        let separable = |how| Note::Separable {
            sides: vec![
                SeparableSide {
                    who: "a and b".into(),
                    by: Some("x".into()),
                },
                SeparableSide {
                    who: "a and c".into(),
                    by: None,
                },
            ],
            more: 2,
            how,
        };
        one_of_each!(Note {
            Note::Firth => [Note::Firth],
            Note::NotConvex => [Note::NotConvex],
            Note::Diverges { .. } => Method::ALL.map(|method| Note::Diverges { method }),
            Note::ExistenceUnknown => [Note::ExistenceUnknown],
            Note::NoOptimum { .. } => Method::ALL.into_iter().flat_map(no_optimum),
            Note::Ascent { .. } => [Note::Ascent {
                terms: vec![("x".into(), 1.5), ("y".into(), -1e-9)],
                more: true,
            }],
            Note::FiniteOptimum { .. } => Method::ALL.map(|method| Note::FiniteOptimum { method }),
            Note::Separable { .. } => Separability::samples().into_iter().map(separable),
            Note::NoStandardErrors(_) => Invalid::samples().into_iter().map(Note::NoStandardErrors),
            Note::FewerDigits { .. } => [0, 1, 9].map(|proved| Note::FewerDigits { proved }),
            Note::LostDigits { .. } => [Note::LostDigits { errors: 3.0 }],
            Note::Text(_) => [Note::Text("a sentence of an earlier version".into())],
        })
    }

    /// The note as a sentence, with the setting names of a front end.
    pub fn worded(&self, wording: &dyn Wording) -> String {
        let none = || wording.choice(&Setting::Penalty.to("none"));
        match self {
            Note::Firth => {
                "Firth's correction: the likelihood is weighted by Jeffreys' prior, and the optimum is finite"
                    .into()
            }
            Note::NotConvex => "the loss is not convex: there may be a better optimum elsewhere".into(),
            Note::Diverges { method } => format!(
                "the classes can be separated, so no {} fit without a penalty exists: the weights grow without bound",
                method.name()
            ),
            Note::ExistenceUnknown => {
                "whether an optimum exists was not decided: the classes may be separated".into()
            }
            Note::NoOptimum {
                who,
                complete,
                method,
            } => {
                let how = if *complete { "separated" } else { "quasi-separated" };
                format!(
                    "{who} are {how}: no {} fit without a penalty exists",
                    method.name()
                )
            }
            Note::Ascent { terms, more } => {
                let shown: Vec<String> = terms
                    .iter()
                    .map(|(name, weight)| match weight.abs() {
                        0.001..1e5 => format!("{weight:+.3}·{name}"),
                        _ => format!("{weight:+.2e}·{name}"),
                    })
                    .collect();
                let more = if *more { " …" } else { "" };
                format!(
                    "the likelihood increases without bound along {}{more}",
                    shown.join(" ")
                )
            }
            Note::FiniteOptimum { method } => {
                let other = match method {
                    Method::Softmax => wording.together(&[
                        Setting::Method.to("logistic"),
                        Setting::Multiclass.to("ovr"),
                        Setting::Firth.given(),
                    ]),
                    _ => wording.choice(&Setting::Firth.given()),
                };
                format!(
                    "use {}, or {other}, whose optimum is finite ({} has the proof)",
                    wording.choice(&Setting::Penalty.to("l2")),
                    wording.command(Command::Separate)
                )
            }
            Note::Separable { sides, more, how } => {
                let mut names: Vec<String> = sides
                    .iter()
                    .map(|side| match &side.by {
                        Some(by) => format!("{} (by {by} alone)", side.who),
                        None => side.who.clone(),
                    })
                    .collect();
                names.extend((*more > 0).then(|| format!("{more} more")));
                let how = match how {
                    Separability::Separable => "separable",
                    Separability::QuasiSeparable => "quasi-separable",
                    Separability::AtLeastQuasiSeparable => "at least quasi-separable",
                };
                format!(
                    "{} are {how}: the penalty alone keeps the weights finite; without it there is no \
                     maximum-likelihood fit, nor are there standard errors",
                    names.join("; ")
                )
            }
            Note::FewerDigits { proved: 0 } => {
                "no digits of the optimum are proved: that takes a smooth loss with one score for each row, no ℓ1, columns as they are, and \
                 at most 1,000 parameters that the rows determine"
                    .into()
            }
            Note::FewerDigits { proved } => {
                format!("fewer digits than asked for are proved: {proved} of every coefficient")
            }
            Note::NoStandardErrors(why) => {
                let why = match why {
                    Invalid::Penalty => format!("a penalty biases the coefficients ({} gives them)", none()),
                    Invalid::ClassWeights => "class weights change what is estimated".into(),
                    Invalid::PenalizedIntercept => "the intercept is penalised".into(),
                    Invalid::Standardized => format!(
                        "the columns were standardised (leave {} out)",
                        wording.choice(&Setting::Standardize.given())
                    ),
                    Invalid::NotConverged => "the fit did not converge".into(),
                    Invalid::TooManyParameters => "there are too many parameters".into(),
                    Invalid::Singular(why) => why.clone(),
                };
                format!("no standard errors: {why}")
            }
            Note::LostDigits { errors } => format!(
                "some hyperplane has an error of {errors}, but it is so near to some points that the signs of their \
                 scores are lost in binary64"
            ),
            Note::Text(text) => text.clone(),
        }
    }
}

impl std::fmt::Display for Note {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.worded(&Plain))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_note_survives_a_file_and_has_words() {
        let text = serde_json::to_string(&Note::samples()).unwrap();
        assert_eq!(
            read(&mut serde_json::Deserializer::from_str(&text)).unwrap(),
            Note::samples()
        );
        for note in Note::samples() {
            let words = note.to_string();
            assert!(!words.is_empty() && !words.contains("--"), "{words}");
        }
    }

    #[test]
    fn sentences_of_version_1_are_kept() {
        let text = "[\"no standard errors: a penalty\"]";
        let notes = read(&mut serde_json::Deserializer::from_str(text)).unwrap();
        assert_eq!(notes, [Note::Text("no standard errors: a penalty".into())]);
    }
}
