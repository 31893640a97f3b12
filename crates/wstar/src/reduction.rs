//! From a target and settings to problems: what is minimised over which rows, with which signs and weights.
//!
//! A real target and two classes are one problem; more classes are one with a score for each (softmax), one
//! for each class against the rest, or one for each pair. Fit and certificate share these definitions, and
//! nothing else.

use std::borrow::Cow;

use crate::certify::duality::Definition;
use crate::data::{Classes, Dataset, Design, Portions, Target, refuse_huge, refuse_huge_targets};
use crate::error::{Error, Result, shown};
use crate::loss::LossName;
use crate::oracle::{Blocks, Layout, Rows, Weights};
use crate::penalty::{Penalty, PenaltyName};
use crate::problem::Intercept;
use crate::settings::{ClassWeights, Method, Multiclass, Settings};

/// Which rows a problem sees, and as what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All, with their real target.
    Real,
    /// All, with the number of their class.
    Every,
    /// One class as +1 and all others as −1.
    Against {
        /// The class that is +1.
        positive: u32,
    },
    /// Two classes, the others left out.
    Pair {
        /// The class that is −1.
        negative: u32,
        /// The class that is +1.
        positive: u32,
    },
}

/// The problems that a fit is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Reduction {
    /// What each minimises.
    pub definition: Definition,
    /// The problems, in the order of the model's discriminants.
    pub parts: Vec<Part>,
    c: f64,
    class_weights: Option<Vec<f64>>,
}

/// Sums of sample weights, over all rows and by class.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Totals {
    /// Over all rows.
    pub rows: f64,
    /// By class; empty for a real target.
    pub classes: Vec<f64>,
    /// How many rows have a weight above 0.
    pub counted: u64,
}

impl Totals {
    /// For settings that do not depend on them.
    pub(crate) const UNCOUNTED: Totals = Totals {
        rows: 1.0,
        classes: Vec::new(),
        counted: 0,
    };

    /// Of these data, in one pass, which refuses numbers that no sum of squares can hold.
    pub fn of(data: &mut dyn Portions) -> Result<Self> {
        let mut totals = Totals::default();
        data.each(&mut |portion| {
            refuse_huge(portion)?;
            totals.add(portion);
            Ok(())
        })?;
        Ok(totals)
    }

    /// The same, without a look at the features.
    pub(crate) fn unseen(data: &Dataset) -> Result<Self> {
        refuse_huge_targets(data)?;
        let mut totals = Totals::default();
        totals.add(data);
        Ok(totals)
    }

    fn add(&mut self, data: &Dataset) {
        if data.weights.is_none() {
            // Counting is exact in any order, and so worth sharing out.
            self.counted += data.rows() as u64;
            self.rows += data.rows() as f64;
            let counts = data.class_counts();
            self.classes.resize(counts.len().max(self.classes.len()), 0.0);
            (self.classes.iter_mut().zip(counts)).for_each(|(sum, count)| *sum += count as f64);
            return;
        }
        self.counted += (0..data.rows()).filter(|&i| data.weight(i) > 0.0).count() as u64;
        if let Target::Classes { codes, classes } = &data.target {
            self.classes.resize(classes.len().max(self.classes.len()), 0.0);
            for (i, &code) in codes.iter().enumerate() {
                self.classes[code as usize] += data.weight(i);
            }
        }
        self.rows += (0..data.rows()).map(|i| data.weight(i)).sum::<f64>();
    }
}

impl Reduction {
    /// The problems that these settings make of a target; `classes` is empty for a real one.
    pub fn new(settings: &Settings, classes: &Classes, features: usize, totals: &Totals) -> Result<Self> {
        let method = settings.method();
        if totals.rows <= 0.0 {
            return Err(Error::data("all sample weights are 0: no row counts"));
        }
        let multiclass = multiclass(settings, classes)?;
        let loss = match multiclass {
            Some(Multiclass::Softmax) => LossName::Softmax,
            _ => settings
                .loss
                .unwrap_or(match (settings.quantile, method.losses().first()) {
                    (Some(quantile), _) => LossName::Quantile(quantile),
                    (_, Some(LossName::Softmax) | None) => LossName::Logistic,
                    (_, Some(loss)) => *loss,
                }),
        };
        let count = classes.len() as u32;
        let parts: Vec<Part> = match (count, multiclass) {
            (0, _) => vec![Part::Real],
            (_, Some(Multiclass::Softmax)) => vec![Part::Every],
            (2, _) => vec![Part::Against { positive: 1 }],
            (_, Some(Multiclass::Ovo)) => (0..count)
                .flat_map(|negative| {
                    (negative + 1..count).map(move |positive| Part::Pair { negative, positive })
                })
                .collect(),
            _ => (0..count).map(|positive| Part::Against { positive }).collect(),
        };
        if settings.firth && loss == LossName::Softmax {
            return Err(Error::settings("--firth is for two classes")
                .hint("--multiclass ovr makes a problem of two for each class"));
        }
        let penalty = settings
            .penalty
            .unwrap_or(if method.is_regression() || settings.firth {
                PenaltyName::None
            } else {
                PenaltyName::L2
            });
        if !loss.is_convex() && matches!(penalty, PenaltyName::L1 | PenaltyName::ElasticNet) {
            return Err(Error::settings(format!(
                "--loss {} does not go with --penalty {}",
                loss.name(),
                penalty.name()
            ))
            .hint("use --penalty l2 or none"));
        }
        let c = match settings.lambda {
            Some(lambda) => 1.0 / (totals.rows * lambda),
            None => settings.c.unwrap_or(1.0),
        };
        let intercept = match (settings.no_intercept, settings.penalize_intercept) {
            (true, _) => Intercept::Absent,
            (_, true) => Intercept::Penalized,
            _ => Intercept::Free,
        };
        let outputs = if loss == LossName::Softmax {
            classes.len()
        } else {
            1
        };
        Ok(Reduction {
            definition: Definition {
                loss,
                penalty: Penalty::new(penalty, settings.l1_ratio.unwrap_or(0.5))?,
                intercept,
                firth: settings.firth,
                layout: Layout {
                    outputs,
                    features,
                    intercept: intercept != Intercept::Absent,
                },
            },
            parts,
            c,
            class_weights: class_weights(settings, classes, totals)?,
        })
    }

    /// C, whichever way it was given.
    pub fn c(&self) -> f64 {
        self.c
    }

    /// Whether classes have weights of their own.
    pub fn has_class_weights(&self) -> bool {
        self.class_weights.is_some()
    }

    /// The rows of one problem. Rows that it does not see have weight 0.
    pub fn rows<'a>(&self, part: Part, data: &'a Dataset) -> Result<Rows<'a>> {
        self.rows_of(part, &data.design, &data.target, data.weights.as_deref())
            .map_err(|error| error.in_file(&data.source))
    }

    fn rows_of<'a>(
        &self,
        part: Part,
        design: &'a Design,
        target: &'a Target,
        sample: Option<&'a [f64]>,
    ) -> Result<Rows<'a>> {
        let codes: &[u32] = match (part, target) {
            (Part::Real, Target::Real(_)) => &[],
            (Part::Real, _) | (_, Target::Real(_) | Target::Unknown) => {
                return Err(Error::data("the target is not of the kind that the model is for"));
            }
            (_, Target::Classes { codes, .. }) => codes,
        };
        let sign = |yes: bool| if yes { 1.0 } else { -1.0 };
        let targets: Cow<'a, [f64]> = match (part, target) {
            (Part::Real, Target::Real(values)) => Cow::Borrowed(values),
            (Part::Real, _) => Cow::Borrowed(&[]),
            (Part::Every, _) => codes.iter().map(|&code| f64::from(code)).collect(),
            (Part::Against { positive }, _) | (Part::Pair { positive, .. }, _) => {
                codes.iter().map(|&code| sign(code == positive)).collect()
            }
        };
        let seen = |code: u32| match part {
            Part::Pair { negative, positive } => code == negative || code == positive,
            _ => true,
        };
        let all_alike =
            sample.is_none() && self.class_weights.is_none() && !matches!(part, Part::Pair { .. });
        let weights = if all_alike {
            Weights::Same(self.c)
        } else {
            let weight = |i: usize| {
                let sample = sample.map_or(1.0, |weights| weights[i]);
                match codes.get(i) {
                    Some(&code) if !seen(code) => 0.0,
                    Some(&code) => {
                        let class = self
                            .class_weights
                            .as_ref()
                            .map_or(1.0, |weights| weights[code as usize]);
                        self.c * sample * class
                    }
                    None => self.c * sample,
                }
            };
            Weights::Each((0..design.rows()).map(weight).collect())
        };
        if design.features() > self.definition.layout.features {
            return Err(Error::data(format!(
                "there are {} features, and the model has {}",
                design.features(),
                self.definition.layout.features
            )));
        }
        Ok(Rows {
            design,
            targets,
            weights,
        })
    }
}

/// The rows of one problem, portion by portion.
pub struct PartBlocks<'a> {
    data: &'a mut dyn Portions,
    reduction: &'a Reduction,
    part: Part,
}

impl<'a> PartBlocks<'a> {
    /// Of this part of the reduction.
    pub fn new(data: &'a mut dyn Portions, reduction: &'a Reduction, part: Part) -> Self {
        PartBlocks {
            data,
            reduction,
            part,
        }
    }
}

impl Blocks for PartBlocks<'_> {
    fn pass(&mut self, visit: &mut dyn FnMut(&Rows<'_>) -> Result<()>) -> Result<()> {
        let (reduction, part) = (self.reduction, self.part);
        self.data
            .each(&mut |portion| visit(&reduction.rows(part, portion)?))
    }
}

/// How the classes are told apart; `None` for a real target and for two classes.
fn multiclass(settings: &Settings, classes: &Classes) -> Result<Option<Multiclass>> {
    let method = settings.method();
    if classes.is_empty() {
        return Ok(None);
    }
    if method == Method::Softmax {
        return match settings.multiclass {
            None | Some(Multiclass::Softmax) => Ok(Some(Multiclass::Softmax)),
            Some(_) => Err(Error::settings("--method softmax is --multiclass softmax itself")
                .hint("use --method logistic with ovr or ovo")),
        };
    }
    let may_softmax =
        method == Method::Logistic && settings.loss.is_none_or(|loss| loss == LossName::Logistic);
    match settings.multiclass {
        Some(Multiclass::Softmax) if !may_softmax => Err(Error::settings(format!(
            "--multiclass softmax does not go with --method {}",
            method.name()
        ))
        .hint("use ovr or ovo")),
        _ if classes.len() == 2 => Ok(None),
        None if may_softmax => Ok(Some(Multiclass::Softmax)),
        None => Ok(Some(Multiclass::Ovr)),
        chosen => Ok(chosen),
    }
}

/// How much each class counts, if not all alike.
pub(crate) fn class_weights(
    settings: &Settings,
    classes: &Classes,
    totals: &Totals,
) -> Result<Option<Vec<f64>>> {
    let weights = match &settings.class_weight {
        None => return Ok(None),
        Some(ClassWeights::Balanced) => totals
            .classes
            .iter()
            .map(|total| {
                if *total > 0.0 {
                    totals.rows / (classes.len() as f64 * total)
                } else {
                    0.0
                }
            })
            .collect(),
        Some(ClassWeights::Given(given)) => {
            let mut weights = vec![1.0; classes.len()];
            for (name, weight) in given {
                let code = classes.code(name).ok_or_else(|| {
                    Error::settings(format!("--class-weight names {}, which is no class", shown(name)))
                        .hint(format!("the classes: {}", classes.names().join(", ")))
                })?;
                weights[code as usize] = *weight;
            }
            weights
        }
    };
    Ok(Some(weights))
}
