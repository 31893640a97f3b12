//! The predictor that a model stores: the rule that gives a row its scores and its class.

use serde::{Deserialize, Serialize};

use crate::bayes::{Estimate, Penalties};
use crate::online::{Committee, Ties, argmax};
use crate::scoring::{Ask, Linear, Scorer, answer};
use wstar_data::Design;
use wstar_data::error::{Error, Result};
use wstar_data::linear::Hyperplane;
use wstar_problem::loss::LossName;
use wstar_problem::multiclass::{Subproblem, Subproblems};

/// The prediction rule of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Predictor {
    /// The sign of the score of one hyperplane, or the largest score of several.
    Linear {
        /// One hyperplane for two classes, otherwise one per class.
        discriminants: Vec<Hyperplane>,
        /// The meaning of a score of exactly 0.
        ties: Ties,
        /// The meaning of the scores.
        #[serde(default)]
        link: Link,
    },
    /// A vote of many hyperplanes.
    Committee {
        /// One committee for two classes, otherwise one per class.
        committees: Vec<Committee>,
    },
    /// The Bayes rule with estimated densities.
    Bayes {
        /// The class-conditional densities.
        estimate: Estimate,
        /// The penalty of each decision for each true class; the 0–1 loss if absent.
        penalties: Option<Penalties>,
    },
}

/// The meaning of the scores of hyperplanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Link {
    /// Margins: only the order of the scores matters.
    #[default]
    Margin,
    /// Log-odds of the positive class; with more than two classes, of each class against the rest.
    Logit,
    /// Log-probabilities up to an additive constant, one for each class.
    Softmax,
    /// One hyperplane for each pair of classes, in the order (0, 1), (0, 2) … (1, 2) …. The later class of a pair is
    /// the positive one, and each pair votes for one of its classes.
    Pairs,
    /// The prediction of a real target.
    Identity,
}

impl Link {
    /// The link of the models that these subproblems make.
    pub(crate) fn of(reduction: &Subproblems) -> Self {
        match (reduction.parts().first(), reduction.problem().loss()) {
            (Some(Subproblem::Real), _) => Link::Identity,
            (_, LossName::Softmax) => Link::Softmax,
            (Some(Subproblem::Pair { .. }), _) => Link::Pairs,
            (_, LossName::Logistic | LossName::SigmoidMse) => Link::Logit,
            _ => Link::Margin,
        }
    }

    /// The number of hyperplanes for this number of classes (0 for a real target).
    fn discriminants(self, classes: usize) -> usize {
        match self {
            Link::Margin | Link::Logit => wstar_data::discriminants(classes),
            Link::Softmax => classes,
            Link::Pairs => classes * (classes - 1) / 2,
            Link::Identity => 1,
        }
    }
}

/// A matrix with one row of numbers for each row of data. Scores have one column for two classes or a real target, and
/// otherwise one column for each class. Probabilities have one column for each class.
///
/// ```
/// use wstar::model::Scores;
/// let scores = Scores::new(vec![0.25, 0.75, 0.5, 0.5], 2)?;
/// assert_eq!(scores.rows().next(), Some(&[0.25, 0.75][..]));
/// assert!(Scores::new(vec![1.0, 2.0, 3.0], 2).is_err());
/// # Ok::<(), wstar::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Scores {
    values: Vec<f64>,
    columns: usize,
}

impl Scores {
    /// The matrix of these values, row by row. The number of columns must divide the number of values.
    pub fn new(values: Vec<f64>, columns: usize) -> Result<Self> {
        match columns > 0 && values.len().is_multiple_of(columns) {
            true => Ok(Scores { values, columns }),
            false => Err(Error::data(format!(
                "{} values are not rows of {columns}",
                values.len()
            ))),
        }
    }

    /// All values, row by row.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// All values, row by row, without a copy.
    pub fn into_values(self) -> Vec<f64> {
        self.values
    }

    /// One, or the number of classes.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The values of each row.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.values.chunks_exact(self.columns)
    }
}

impl Predictor {
    /// The scores of rows that are encoded and scaled. With two classes a positive score means the last class.
    pub(super) fn scores(&self, design: &Design) -> Result<Scores> {
        Ok(match self {
            Predictor::Linear {
                discriminants, link, ..
            } => {
                let scorer = Scorer::Linear(Linear {
                    weights: discriminants.iter().map(|plane| plane.weights.clone()).collect(),
                    intercepts: discriminants.iter().map(|plane| plane.intercept).collect(),
                    threshold: None,
                });
                let answers = answer(&scorer, design, Ask::Scores, true);
                let scores = Scores {
                    values: answers.values,
                    columns: answers.columns,
                };
                match link {
                    Link::Pairs => votes(&scores),
                    _ => scores,
                }
            }
            Predictor::Committee { committees } => {
                let votes: Vec<Vec<f64>> = committees
                    .iter()
                    .map(|committee| committee.votes(design))
                    .collect();
                Scores {
                    columns: committees.len(),
                    values: (0..design.rows())
                        .flat_map(|i| votes.iter().map(move |votes| votes[i]))
                        .collect(),
                }
            }
            Predictor::Bayes { estimate, .. } => {
                let scorer = estimate.scorer()?;
                let joint = answer(&scorer, design, Ask::Scores, true).values;
                match scorer.classes() {
                    2 => Scores {
                        columns: 1,
                        values: joint.chunks_exact(2).map(|pair| pair[1] - pair[0]).collect(),
                    },
                    classes => Scores {
                        columns: classes,
                        values: joint,
                    },
                }
            }
        })
    }

    /// The class predicted from the scores of a row.
    pub(super) fn decide(&self, scores: &[f64]) -> u32 {
        if let Predictor::Bayes {
            penalties: Some(penalties),
            ..
        } = self
        {
            return penalties.decide(&shares(Ask::Probabilities, scores)) as u32;
        }
        match scores {
            [score] => u32::from(self.ties().is_positive(*score)),
            _ => argmax(scores) as u32,
        }
    }

    /// The transformation from scores to probabilities; `None` if the scores do not determine probabilities.
    pub(super) fn shares(&self) -> Option<Ask> {
        match self {
            Predictor::Bayes { .. } => Some(Ask::Probabilities),
            Predictor::Linear { link, .. } => match link {
                Link::Softmax => Some(Ask::Probabilities),
                Link::Logit => Some(Ask::Odds),
                Link::Margin | Link::Pairs | Link::Identity => None,
            },
            Predictor::Committee { .. } => None,
        }
    }

    /// The hyperplanes of a linear rule: one for two classes, otherwise one per class. `None` if the rule is nonlinear.
    pub fn hyperplanes(&self) -> Option<Vec<Hyperplane>> {
        match self {
            Predictor::Linear { discriminants, .. } => Some(discriminants.clone()),
            Predictor::Committee { .. } => None,
            Predictor::Bayes { estimate, .. } => {
                let scorer = estimate.scorer().ok()?;
                let linear = scorer.linear()?;
                Some(match linear.hyperplane() {
                    Some((weights, intercept)) => vec![Hyperplane::new(weights, intercept)],
                    None => linear
                        .weights
                        .iter()
                        .zip(&linear.intercepts)
                        .map(|(weights, &intercept)| Hyperplane::new(weights.clone(), intercept))
                        .collect(),
                })
            }
        }
    }

    /// Whether the target is real.
    pub fn is_regression(&self) -> bool {
        matches!(
            self,
            Predictor::Linear {
                link: Link::Identity,
                ..
            }
        )
    }

    /// The penalty matrix of the decisions, if one was given.
    pub fn penalties(&self) -> Option<&Penalties> {
        match self {
            Predictor::Bayes { penalties, .. } => penalties.as_ref(),
            _ => None,
        }
    }

    fn ties(&self) -> Ties {
        match self {
            Predictor::Linear { ties, .. } => *ties,
            Predictor::Committee { .. } | Predictor::Bayes { .. } => Ties::Mistake,
        }
    }

    /// Rejects an inconsistent predictor, such as one from a damaged file.
    pub(crate) fn check(&self, features: usize, classes: usize) -> Result<()> {
        if self.is_regression() != (classes == 0) || classes == 1 {
            return Err(Error::model("the predictor does not fit the number of classes"));
        }
        let link = match self {
            Predictor::Linear { link, .. } => *link,
            _ => Link::Margin,
        };
        let fits = |count: usize| {
            if count == link.discriminants(classes) {
                Ok(())
            } else {
                Err(Error::model(format!(
                    "{count} discriminants do not match {classes} classes"
                )))
            }
        };
        match self {
            Predictor::Linear { discriminants, .. } => {
                fits(discriminants.len())?;
                let whole = |plane: &Hyperplane| {
                    plane.weights.len() == features
                        && plane.intercept.is_finite()
                        && plane.weights.iter().all(|w| w.is_finite())
                };
                if discriminants.iter().all(whole) {
                    Ok(())
                } else {
                    Err(Error::model(format!(
                        "a hyperplane does not have {features} finite weights"
                    )))
                }
            }
            Predictor::Committee { committees } => {
                fits(committees.len())?;
                committees
                    .iter()
                    .try_for_each(|committee| committee.check(features))
            }
            Predictor::Bayes { estimate, penalties } => {
                estimate.check(features, classes)?;
                penalties
                    .as_ref()
                    .map_or(Ok(()), |penalties| penalties.check(classes))
            }
        }
    }
}

/// The votes of all pairs for each class. Scores break ties; their sum stays below one vote.
fn votes(pairs: &Scores) -> Scores {
    let mut classes = 2;
    while classes * (classes - 1) / 2 < pairs.columns {
        classes += 1;
    }
    let mut values = Vec::with_capacity(pairs.values.len() / pairs.columns.max(1) * classes);
    for row in pairs.rows() {
        let start = values.len();
        values.resize(start + classes, 0.0);
        let votes = &mut values[start..];
        let mut scores = row.iter();
        for first in 0..classes {
            for second in first + 1..classes {
                let score = scores.next().copied().unwrap_or_default();
                let winner = if score > 0.0 { second } else { first };
                // At most 1/3 in sum over all pairs of a class, so that the scores never outweigh a vote.
                let tie = score / (3.0 * (1.0 + score.abs()) * classes as f64);
                votes[winner] += 1.0;
                votes[second] += tie;
                votes[first] -= tie;
            }
        }
    }
    Scores {
        values,
        columns: classes,
    }
}

/// The probabilities of all classes.
fn shares(ask: Ask, scores: &[f64]) -> Vec<f64> {
    let mut shares = vec![0.0; ask.columns(scores.len())];
    ask.answer(scores, &mut shares);
    shares
}
