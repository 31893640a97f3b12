//! From a target and settings to subproblems: what is minimised over which rows, with which signs and weights.
//!
//! A real target and a binary one give a single problem. More than two classes give one problem with a score for each class
//! (softmax), one binary subproblem for each class against the rest, or one for each pair of classes. Fits and certificates
//! share these definitions and nothing else.

use std::borrow::Cow;
use std::fmt;
use wstar_data::setting::Setting;

use serde::{Deserialize, Serialize};

use crate::loss::LossName;
use crate::objective::{Blocks, Rows, Weights};
use crate::penalty::Penalty;
use crate::problem::Intercept;
use crate::problem::Problem;
use wstar_data::error::{Error, Result, shown};
use wstar_data::linear::Layout;
use wstar_data::{Classes, Dataset, DatasetChunks, Design, Target, refuse_huge, refuse_huge_targets};

/// How a target of more than two classes is reduced to problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Multiclass {
    /// One problem with a score for each class.
    Softmax,
    /// One binary subproblem for each class against the rest; the largest score decides.
    Ovr,
    /// One binary subproblem for each pair of classes; the majority of votes decides.
    Ovo,
}

impl Multiclass {
    /// The name on the command line and in model files.
    pub fn name(self) -> &'static str {
        match self {
            Multiclass::Softmax => "softmax",
            Multiclass::Ovr => "ovr",
            Multiclass::Ovo => "ovo",
        }
    }
}

/// The weights of the classes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ClassWeights {
    /// n/(K·nₖ) for class k, so that all classes have the same total weight.
    Balanced,
    /// The weights of the named classes; all others have weight 1.
    Given(Vec<(String, f64)>),
}

/// As on the command line: `balanced`, or `spam:2,ham:1`.
impl fmt::Display for ClassWeights {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClassWeights::Balanced => out.write_str("balanced"),
            ClassWeights::Given(pairs) => pairs.iter().enumerate().try_for_each(|(k, (name, weight))| {
                let comma = if k == 0 { "" } else { "," };
                write!(out, "{comma}{name}:{weight}")
            }),
        }
    }
}

/// Which rows a subproblem includes, and with which targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subproblem {
    /// All rows, with their real target.
    Real,
    /// All rows, with the index of their class.
    Every,
    /// All rows, with one class as +1 and all others as −1.
    Against {
        /// The class that is +1.
        positive: u32,
    },
    /// The rows of two classes; all others have weight 0.
    Pair {
        /// The class that is −1.
        negative: u32,
        /// The class that is +1.
        positive: u32,
    },
}

/// What a fit minimises, independent of the rows and with every default resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec<'a> {
    /// The loss ℓ.
    pub loss: LossName,
    /// The penalty R.
    pub penalty: Penalty,
    /// C, the factor of the sum of losses.
    pub c: f64,
    /// Whether there is an intercept, and whether R includes it.
    pub intercept: Intercept,
    /// Whether Firth's correction is applied.
    pub firth: bool,
    /// How more than two classes are reduced; `None` for a real target and for two classes.
    pub multiclass: Option<Multiclass>,
    /// The weights of the classes, if they are not all 1.
    pub class_weight: Option<&'a ClassWeights>,
}

/// The subproblems that a fit consists of.
#[derive(Debug, Clone, PartialEq)]
pub struct Subproblems {
    /// What each subproblem minimises.
    pub(crate) problem: Problem,
    /// The subproblems, in the order of the model's discriminants.
    pub(crate) parts: Vec<Subproblem>,
    c: f64,
    class_weights: Option<Vec<f64>>,
}

/// Sums of the sample weights, in total and by class.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Totals {
    /// The sum over all rows.
    pub(crate) rows: f64,
    /// The sum over each class; empty for a real target.
    pub(crate) classes: Vec<f64>,
    /// The number of rows with a weight above 0.
    pub(crate) counted: u64,
}

impl Totals {
    /// A placeholder for settings that do not depend on the totals.
    pub const UNCOUNTED: Totals = Totals {
        rows: 1.0,
        classes: Vec::new(),
        counted: 0,
    };

    /// The sum over all rows.
    pub fn rows(&self) -> f64 {
        self.rows
    }

    /// The sum over each class; empty for a real target.
    pub fn classes(&self) -> &[f64] {
        &self.classes
    }

    /// The number of rows with a weight above 0.
    pub fn counted(&self) -> u64 {
        self.counted
    }

    /// The totals of the data, in one pass. Numbers whose squares could overflow when summed are refused.
    pub fn of(data: &mut dyn DatasetChunks) -> Result<Self> {
        let mut totals = Totals::default();
        data.each(&mut |chunk| {
            refuse_huge(chunk)?;
            totals.add(chunk);
            Ok(())
        })?;
        Ok(totals)
    }

    /// The totals of the data; validates the targets but not the features.
    pub fn of_targets(data: &Dataset) -> Result<Self> {
        refuse_huge_targets(data)?;
        let mut totals = Totals::default();
        totals.add(data);
        Ok(totals)
    }

    fn add(&mut self, data: &Dataset) {
        if data.weights().is_none() {
            // Counts are exact in any order, so they can be summed in parallel.
            self.counted += data.rows() as u64;
            self.rows += data.rows() as f64;
            let counts = data.class_counts();
            self.classes.resize(counts.len().max(self.classes.len()), 0.0);
            (self.classes.iter_mut().zip(counts)).for_each(|(sum, count)| *sum += count as f64);
            return;
        }
        self.counted += (0..data.rows()).filter(|&i| data.weight(i) > 0.0).count() as u64;
        if let Target::Classes { codes, classes } = data.target() {
            self.classes.resize(classes.len().max(self.classes.len()), 0.0);
            for (i, &code) in codes.iter().enumerate() {
                self.classes[code as usize] += data.weight(i);
            }
        }
        self.rows += (0..data.rows()).map(|i| data.weight(i)).sum::<f64>();
    }
}

impl Subproblems {
    /// What each subproblem minimises.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The subproblems, in the order of the model's discriminants.
    pub fn parts(&self) -> &[Subproblem] {
        &self.parts
    }

    /// The subproblems of a target; `classes` is empty for a real target.
    pub fn new(spec: &Spec<'_>, classes: &Classes, features: usize, totals: &Totals) -> Result<Self> {
        if totals.rows <= 0.0 {
            return Err(Error::data("all sample weights are 0: no row counts"));
        }
        let count = classes.len() as u32;
        let parts: Vec<Subproblem> = match (count, spec.multiclass) {
            (0, _) => vec![Subproblem::Real],
            (_, Some(Multiclass::Softmax)) => vec![Subproblem::Every],
            (2, _) => vec![Subproblem::Against { positive: 1 }],
            (_, Some(Multiclass::Ovo)) => (0..count)
                .flat_map(|negative| {
                    (negative + 1..count).map(move |positive| Subproblem::Pair { negative, positive })
                })
                .collect(),
            _ => (0..count)
                .map(|positive| Subproblem::Against { positive })
                .collect(),
        };
        let outputs = match spec.loss {
            LossName::Softmax => classes.len(),
            _ => 1,
        };
        let layout = Layout {
            outputs,
            features,
            intercept: spec.intercept != Intercept::Absent,
        };
        let problem = Problem::new(spec.loss, spec.penalty, spec.intercept, layout)?;
        Ok(Subproblems {
            problem: match spec.firth {
                true => problem.with_firth()?,
                false => problem,
            },
            parts,
            c: spec.c,
            class_weights: class_weights(spec.class_weight, classes, totals)?,
        })
    }

    /// C, the factor of the sum of losses.
    pub fn c(&self) -> f64 {
        self.c
    }

    /// Whether there are class weights.
    pub fn has_class_weights(&self) -> bool {
        self.class_weights.is_some()
    }

    /// The rows of one subproblem. Rows that do not belong to it have weight 0.
    pub fn rows<'a>(&self, subproblem: Subproblem, data: &'a Dataset) -> Result<Rows<'a>> {
        self.rows_of(subproblem, data.design(), data.target(), data.weights())
            .map_err(|error| error.in_file(data.source()))
    }

    fn rows_of<'a>(
        &self,
        subproblem: Subproblem,
        design: &'a Design,
        target: &'a Target,
        sample: Option<&'a [f64]>,
    ) -> Result<Rows<'a>> {
        let codes: &[u32] = match (subproblem, target) {
            (Subproblem::Real, Target::Real(_)) => &[],
            (
                Subproblem::Every | Subproblem::Against { .. } | Subproblem::Pair { .. },
                Target::Classes { codes, .. },
            ) => codes,
            _ => return Err(Error::data("the target is not of the kind that the model is for")),
        };
        let sign = |yes: bool| if yes { 1.0 } else { -1.0 };
        let targets: Cow<'a, [f64]> = match (subproblem, target) {
            (Subproblem::Real, Target::Real(values)) => Cow::Borrowed(values),
            (Subproblem::Real, _) => Cow::Borrowed(&[]),
            (Subproblem::Every, _) => codes.iter().map(|&code| f64::from(code)).collect(),
            (Subproblem::Against { positive }, _) | (Subproblem::Pair { positive, .. }, _) => {
                codes.iter().map(|&code| sign(code == positive)).collect()
            }
        };
        let included = |code: u32| match subproblem {
            Subproblem::Pair { negative, positive } => code == negative || code == positive,
            _ => true,
        };
        let unit_weights = sample.is_none()
            && self.class_weights.is_none()
            && !matches!(subproblem, Subproblem::Pair { .. });
        let weights = if unit_weights {
            Weights::Same(self.c)
        } else {
            let weight = |i: usize| {
                let sample = sample.map_or(1.0, |weights| weights[i]);
                match codes.get(i) {
                    Some(&code) if !included(code) => 0.0,
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
        if design.features() > self.problem.layout().features {
            return Err(Error::data(format!(
                "there are {} features, and the model has {}",
                design.features(),
                self.problem.layout().features
            )));
        }
        Ok(Rows {
            design,
            targets,
            weights,
        })
    }
}

/// The rows of one subproblem, chunk by chunk.
pub struct SubproblemBlocks<'a> {
    data: &'a mut dyn DatasetChunks,
    subproblems: &'a Subproblems,
    subproblem: Subproblem,
}

impl<'a> SubproblemBlocks<'a> {
    /// The blocks of one of the subproblems.
    pub fn new(
        data: &'a mut dyn DatasetChunks,
        subproblems: &'a Subproblems,
        subproblem: Subproblem,
    ) -> Self {
        SubproblemBlocks {
            data,
            subproblems,
            subproblem,
        }
    }
}

impl Blocks for SubproblemBlocks<'_> {
    fn pass(&mut self, visit: &mut dyn FnMut(&Rows<'_>) -> Result<()>) -> Result<()> {
        let (subproblems, subproblem) = (self.subproblems, self.subproblem);
        self.data
            .each(&mut |chunk| visit(&subproblems.rows(subproblem, chunk)?))
    }
}

/// The weight of each class; `None` if all are 1.
pub(crate) fn class_weights(
    given: Option<&ClassWeights>,
    classes: &Classes,
    totals: &Totals,
) -> Result<Option<Vec<f64>>> {
    let weights = match given {
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
                    Error::misuse(
                        Setting::ClassWeight.given(),
                        format!("names {}, which is no class", shown(name)),
                    )
                    .remedy(format!("the classes: {}", classes.names().join(", ")))
                })?;
                weights[code as usize] = *weight;
            }
            weights
        }
    };
    Ok(Some(weights))
}

/// The cost of misclassifying each row: its sample weight times its class weight.
pub fn row_costs(data: &Dataset, given: Option<&ClassWeights>) -> Result<Vec<f64>> {
    let (codes, classes) = data.require_classes()?;
    let weights = match given {
        None => None,
        Some(_) => class_weights(given, classes, &Totals::of(&mut &*data)?)?,
    };
    let class = |code: u32| weights.as_ref().map_or(1.0, |weights| weights[code as usize]);
    Ok((0..)
        .zip(codes)
        .map(|(i, &code)| data.weight(i) * class(code))
        .collect())
}
