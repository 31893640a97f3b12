//! Does the maximum-likelihood estimate exist? Only where the classes overlap: along a direction that separates
//! them, even weakly, the likelihood rises without end (A. Albert and J. A. Anderson, On the existence of maximum
//! likelihood estimates in logistic regression models, Biometrika 71, 1984).
//!
//! For K classes the direction has a part βₖ for each, with (βₖ − βₗ)·x̃ ≥ 0 for every row of class k and every l ≠ k,
//! not all 0. Where every pair of classes overlaps there is none: βₖ − βₗ would separate classes k and l weakly, and so be 0
//! on both. A hyperplane between one class and all others is one. What is left is one problem in all the βs.

use std::time::{Duration, Instant};

use crate::certify::proof::{Classes as Names, Sides, Verdict};
use crate::data::{Classes, Dataset, Design};
use crate::error::Result;
use crate::exact::Signed;
use crate::loss::LossName;
use crate::margin::{Question, separate};
use crate::oracle::{Layout, Rows};
use crate::reduction::{Part, Reduction};
use crate::settings::{Method, Settings};
use crate::watch::{Budget, Watch};

/// The longest that the question is looked into; a fit whose existence is not settled by then goes on without.
const PATIENCE: Duration = Duration::from_secs(30);

/// A direction along which the likelihood of one problem rises without end.
pub(super) struct Direction {
    /// Parameters, as the problem's lie.
    pub(super) parameters: Vec<f64>,
    /// Whether every row gains by it, or only some do.
    pub(super) complete: bool,
}

/// Whether a problem has an optimum.
pub(super) enum Existence {
    /// It has, or the problem is of another kind.
    Optimum,
    /// It has none.
    Endless(Direction),
    /// That was not found out in time.
    Unknown,
}

/// Asks how classes lie, until time is up.
struct Inquiry<'a> {
    deadline: Instant,
    watch: &'a mut dyn Watch,
}

/// Whether the likelihood of a problem without a penalty has a maximum.
pub(super) fn inquire(
    data: &Dataset,
    reduction: &Reduction,
    part: Part,
    most: Option<Duration>,
    watch: &mut dyn Watch,
) -> Result<Existence> {
    if !reduction.definition.penalty.is_none() || reduction.definition.firth {
        return Ok(Existence::Optimum);
    }
    without_penalty(
        data,
        reduction,
        part,
        most.map_or(PATIENCE, |most| most.min(PATIENCE)),
        watch,
    )
}

/// Whether it has, or would have if there were no penalty.
pub(super) fn without_penalty(
    data: &Dataset,
    reduction: &Reduction,
    part: Part,
    most: Duration,
    watch: &mut dyn Watch,
) -> Result<Existence> {
    let layout = reduction.definition.layout;
    let mut inquiry = Inquiry {
        deadline: Instant::now() + most,
        watch,
    };
    match reduction.definition.loss {
        LossName::Logistic => inquiry.ask(
            &data.design,
            &signs(&reduction.rows(part, data)?),
            layout.intercept,
        ),
        LossName::Softmax => inquiry.softmax(data, layout),
        _ => Ok(Existence::Optimum),
    }
}

/// The class of each row of a problem of two, 0 where it takes no part.
pub(super) fn signs(rows: &Rows<'_>) -> Vec<i8> {
    (0..rows.len())
        .map(|i| match rows.weights.get(i) > 0.0 {
            true if rows.targets[i] > 0.0 => 1,
            true => -1,
            false => 0,
        })
        .collect()
}

/// What the two sides of a problem are called.
pub(super) fn who(part: Part, classes: Option<&Classes>) -> String {
    match (part, classes) {
        (Part::Against { positive }, Some(classes)) if classes.len() > 2 => {
            format!("{} and the rest", classes.name(positive))
        }
        (Part::Pair { negative, positive }, Some(classes)) => {
            format!("{} and {}", classes.name(negative), classes.name(positive))
        }
        _ => "the classes".into(),
    }
}

impl Inquiry<'_> {
    /// How two classes lie.
    fn ask(&mut self, design: &Design, signs: &[i8], intercept: bool) -> Result<Existence> {
        let signed = Signed {
            design,
            signs,
            intercept,
        };
        let names = Names {
            positive: "+1".into(),
            negative: "-1".into(),
        };
        let budget = Budget {
            max_time: Some(self.deadline.saturating_duration_since(Instant::now())),
            ..Budget::default()
        };
        let found = separate(&signed, names, Question::Verdict, budget, self.watch)?;
        Ok(match (found.proof.map(|proof| proof.verdict), found.hyperplane) {
            (Some(Verdict::Inseparable), _) => Existence::Optimum,
            (Some(verdict), Some(plane)) => {
                let mut parameters = plane.weights;
                parameters.extend(intercept.then_some(plane.intercept));
                Existence::Endless(Direction {
                    parameters,
                    complete: verdict == Verdict::Separable,
                })
            }
            _ => Existence::Unknown,
        })
    }

    fn softmax(&mut self, data: &Dataset, layout: Layout) -> Result<Existence> {
        if self.every_pair_overlaps(data, layout)? {
            return Ok(Existence::Optimum);
        }
        for positive in 0..layout.outputs as u32 {
            let sides = Sides {
                positive,
                negative: None,
            };
            let own = self.ask(&data.design, &sides.signs(data)?, layout.intercept)?;
            if let Existence::Endless(own) = own {
                let mut parameters = vec![0.0; layout.len()];
                let start = positive as usize * layout.width();
                parameters[start..start + layout.width()].copy_from_slice(&own.parameters);
                // The other classes gain nothing on each other.
                let complete = own.complete && layout.outputs == 2;
                return Ok(Existence::Endless(Direction { parameters, complete }));
            }
        }
        let differences = differences(data, layout)?;
        self.ask(&differences, &vec![1; differences.rows()], false)
    }

    fn every_pair_overlaps(&mut self, data: &Dataset, layout: Layout) -> Result<bool> {
        for negative in 0..layout.outputs as u32 {
            for positive in negative + 1..layout.outputs as u32 {
                let sides = Sides {
                    positive,
                    negative: Some(negative),
                };
                let pair = self.ask(&data.design, &sides.signs(data)?, layout.intercept)?;
                if !matches!(pair, Existence::Optimum) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// What a person should know of problems without an optimum.
pub(super) fn notes(
    existing: &[Existence],
    data: &Dataset,
    reduction: &Reduction,
    settings: &Settings,
) -> Vec<String> {
    /// Terms of a direction that are named.
    const MOST_TERMS: usize = 5;
    let layout = reduction.definition.layout;
    let mut notes = Vec::new();
    for (existence, part) in existing.iter().zip(&reduction.parts) {
        let direction = match existence {
            Existence::Optimum => continue,
            Existence::Unknown => {
                notes.push("whether an optimum exists was not settled: the classes may be separated".into());
                continue;
            }
            Existence::Endless(direction) => direction,
        };
        let name = |j: usize| {
            let feature = match j % layout.width() {
                intercept if intercept == layout.features => "intercept".to_owned(),
                feature => data.schema.feature_name(feature),
            };
            match (data.classes(), layout.outputs) {
                (Some(classes), 2..) => format!("{feature} of {}", classes.name((j / layout.width()) as u32)),
                _ => feature,
            }
        };
        let mut terms: Vec<(usize, f64)> = direction.parameters.iter().copied().enumerate().collect();
        terms.retain(|&(j, weight)| weight != 0.0 && !layout.is_intercept(j));
        terms.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        let more = if terms.len() > MOST_TERMS { " …" } else { "" };
        let shown: Vec<String> = terms
            .iter()
            .take(MOST_TERMS)
            .map(|&(j, weight)| match weight.abs() {
                0.001..1e5 => format!("{weight:+.3}·{}", name(j)),
                _ => format!("{weight:+.2e}·{}", name(j)),
            })
            .collect();
        let who = who(*part, data.classes());
        let how = if direction.complete {
            "separated"
        } else {
            "quasi-separated"
        };
        notes.push(format!(
            "{who} are {how}: no {} fit without a penalty exists",
            settings.method().name()
        ));
        notes.push(format!(
            "the likelihood rises without end along {}{more}",
            shown.join(" ")
        ));
    }
    if existing
        .iter()
        .any(|existence| matches!(existence, Existence::Endless(_)))
    {
        let other = match settings.method() {
            Method::Softmax => "--method logistic --multiclass ovr --firth",
            _ => "--firth",
        };
        notes.push(format!(
            "use --penalty l2, or {other}, whose optimum is finite (`wstar separate` has the proof)"
        ));
    }
    notes
}

/// One row (βₖ − βₗ)·x̃ for each row of class k and each other class l, as features of all β.
fn differences(data: &Dataset, layout: Layout) -> Result<Design> {
    let (codes, _) = data.require_classes()?;
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for (i, &own) in codes.iter().enumerate().filter(|(i, _)| data.weight(*i) > 0.0) {
        for other in (0..layout.outputs as u32).filter(|&other| other != own) {
            let mut sides = [(own, 1.0), (other, -1.0)];
            sides.sort_unstable_by_key(|side| side.0);
            for (class, sign) in sides {
                let first = class as usize * layout.width();
                data.design.row(i).for_each(|j, x| {
                    indices.push((first + j) as u32);
                    values.push(sign * x);
                });
                if layout.intercept {
                    indices.push((first + layout.features) as u32);
                    values.push(sign);
                }
            }
            starts.push(indices.len());
        }
    }
    Design::from_csr(starts, indices, values, layout.len())
}
