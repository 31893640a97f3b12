//! From rows to scores, from scores to classes.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::bayes::{Estimate, Penalties, normalize};
use crate::data::Design;
use crate::error::{Error, Result};
use crate::model::Hyperplane;
use crate::online::{Committee, Ties, argmax};

/// How a model predicts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Predictor {
    /// By the side of one hyperplane, or the largest score of several.
    Linear {
        /// One for two classes, else one for each class.
        discriminants: Vec<Hyperplane>,
        /// What a score of exactly 0 means.
        ties: Ties,
        /// What the scores stand for.
        #[serde(default)]
        link: Link,
    },
    /// By the votes of many hyperplanes.
    Committee {
        /// One for two classes, else one for each class.
        committees: Vec<Committee>,
    },
    /// By the Bayes rule with estimated densities.
    Bayes {
        /// The densities.
        estimate: Estimate,
        /// The penalty of each decision for each true class; 0–1 if not given.
        penalties: Option<Penalties>,
    },
}

/// What the scores of hyperplanes stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Link {
    /// Only their order counts.
    #[default]
    Margin,
    /// Log-odds of the positive class; with more classes, of each against the rest.
    Logit,
    /// Logarithms of probabilities, up to a constant: one for each class.
    Softmax,
    /// One hyperplane for each pair of classes, in the order (0, 1), (0, 2) … (1, 2) …; the later class is the
    /// positive one, and each pair gives its winner a vote.
    Pairs,
    /// The prediction of a real target.
    Identity,
}

impl Link {
    /// How many hyperplanes tell so many classes apart (0 for a real target).
    fn discriminants(self, classes: usize) -> usize {
        match self {
            Link::Margin | Link::Logit => crate::online::discriminants(classes),
            Link::Softmax => classes,
            Link::Pairs => classes * (classes - 1) / 2,
            Link::Identity => 1,
        }
    }
}

/// The scores of rows: one column for two classes, else one for each class.
#[derive(Debug, Clone, PartialEq)]
pub struct Scores {
    /// Row by row.
    pub values: Vec<f64>,
    /// One, or as many as there are classes.
    pub columns: usize,
}

impl Scores {
    /// The scores of each row.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.values.chunks_exact(self.columns)
    }
}

impl Predictor {
    /// The scores of all rows. With two classes a positive one speaks for the last class.
    pub fn scores(&self, design: &Design) -> Result<Scores> {
        Ok(match self {
            Predictor::Linear {
                discriminants, link, ..
            } => {
                let scores = Scores {
                    columns: discriminants.len(),
                    values: (0..design.rows())
                        .into_par_iter()
                        .flat_map_iter(|i| discriminants.iter().map(move |plane| plane.score(design.row(i))))
                        .collect(),
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
                let joint = scorer.log_joints(design);
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

    /// The class that the scores of a row decide for.
    pub fn decide(&self, scores: &[f64]) -> u32 {
        if let Predictor::Bayes {
            penalties: Some(penalties),
            ..
        } = self
        {
            return penalties.decide(&posterior(scores)) as u32;
        }
        match scores {
            [score] => u32::from(self.ties().is_positive(*score)),
            _ => argmax(scores) as u32,
        }
    }

    /// The class of every row.
    pub fn classes(&self, design: &Design) -> Result<Vec<u32>> {
        Ok(self.scores(design)?.rows().map(|row| self.decide(row)).collect())
    }

    /// The probabilities of all classes that the scores of a row stand for; `None` if they are no log odds.
    pub fn probabilities(&self, scores: &[f64]) -> Option<Vec<f64>> {
        match self {
            Predictor::Bayes { .. } => Some(posterior(scores)),
            Predictor::Linear { link, .. } => match (link, scores) {
                (Link::Softmax, _) | (Link::Logit, [_]) => Some(posterior(scores)),
                (Link::Logit, _) => {
                    // Each class against the rest gives odds of its own; their shares sum to 1.
                    let shares = scores.iter().map(|score| posterior(&[*score])[1]);
                    let mut shares: Vec<f64> = shares.collect();
                    let total: f64 = shares.iter().sum();
                    let count = shares.len() as f64;
                    shares.iter_mut().for_each(|share| {
                        *share = if total > 0.0 { *share / total } else { 1.0 / count };
                    });
                    Some(shares)
                }
                (Link::Margin | Link::Pairs | Link::Identity, _) => None,
            },
            Predictor::Committee { .. } => None,
        }
    }

    /// The hyperplanes it is made of, where it is made of hyperplanes: one for two classes, else one a class.
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

    /// Whether it predicts a real target.
    pub fn is_regression(&self) -> bool {
        matches!(
            self,
            Predictor::Linear {
                link: Link::Identity,
                ..
            }
        )
    }

    /// The penalty matrix it decides by, if it was given one.
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

    /// Refuses a predictor whose parts do not fit each other, as a damaged file may hold.
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
                    "{count} discriminants do not tell {classes} classes apart"
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

/// The votes that pairs of classes give each class; ties are broken by the scores, which add less than a vote.
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
                // Bounded by 1/3 over all pairs of a class, so that no sum of scores outweighs a vote.
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

/// Probabilities from log odds (one score) or log densities (one a class).
fn posterior(scores: &[f64]) -> Vec<f64> {
    let mut values = match scores {
        [log_odds] => vec![0.0, *log_odds],
        _ => scores.to_vec(),
    };
    normalize(&mut values);
    values
}
