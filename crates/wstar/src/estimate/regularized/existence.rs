//! Existence of the maximum-likelihood estimate. It exists only if the classes overlap: along a direction that
//! separates them, even weakly, the likelihood increases without bound (A. Albert and J. A. Anderson, On the existence
//! of maximum likelihood estimates in logistic regression models, Biometrika 71, 1984).
//!
//! For K classes such a direction consists of vectors βₖ, not all 0, with (βₖ − βₗ)·x̃ ≥ 0 for every row of class k and
//! every l ≠ k. If every pair of classes overlaps, no such direction exists, because βₖ − βₗ would separate classes k
//! and l weakly, and would therefore be 0 on both. A hyperplane between one class and all others is such a direction.
//! The remaining cases are decided by one problem in all βₖ.

use std::time::{Duration, Instant};

use crate::model::Note;
use crate::settings::Regularized;
use wstar_data::error::Result;
use wstar_data::linear::Layout;
use wstar_data::run::{Budget, Watch};
use wstar_data::{Classes, Dataset, Design};
use wstar_problem::loss::LossName;
use wstar_problem::multiclass::{Subproblem, Subproblems};
use wstar_problem::objective::Rows;
use wstar_separate::exact::Signed;
use wstar_separate::margin::{Question, separate};
use wstar_separate::proof::{ClassNames as Names, Sides, Verdict};

/// Cap: time for the decision; beyond it the fit continues, and whether it has an optimum is unknown.
const PATIENCE: Duration = Duration::from_secs(30);

/// A direction along which the likelihood of a subproblem increases without bound.
pub(super) struct Direction {
    /// The direction, in the layout of the subproblem's parameters.
    pub(super) parameters: Vec<f64>,
    /// Whether the likelihood of every row increases along it, not only that of some rows.
    pub(super) complete: bool,
}

/// Whether a subproblem has an optimum.
pub(super) enum Existence {
    /// The optimum exists, or the loss is not a likelihood.
    Optimum,
    /// There is no optimum: the likelihood increases without bound.
    Endless(Direction),
    /// Not decided within the time limit.
    Unknown,
}

/// Decides the separability of classes within a budget: the time is that of all questions, the updates are those of each.
struct Inquiry<'a> {
    budget: Budget,
    deadline: Option<Instant>,
    watch: &'a mut dyn Watch,
}

/// Whether the likelihood of a subproblem has a maximum. A penalty or Firth's correction guarantees one, so these cases
/// need no test.
pub(super) fn inquire(
    data: &Dataset,
    reduction: &Subproblems,
    part: Subproblem,
    most: Option<Duration>,
    watch: &mut dyn Watch,
) -> Result<Existence> {
    if !reduction.problem().penalty().is_none() || reduction.problem().is_firth() {
        return Ok(Existence::Optimum);
    }
    let budget = Budget {
        max_time: Some(most.map_or(PATIENCE, |most| most.min(PATIENCE))),
        ..Budget::default()
    };
    let layout = reduction.problem().layout();
    let mut inquiry = Inquiry {
        budget,
        deadline: budget.max_time.and_then(|time| Instant::now().checked_add(time)),
        watch,
    };
    match reduction.problem().loss() {
        LossName::Logistic => inquiry.ask(
            data.design(),
            &signs(&reduction.rows(part, data)?),
            layout.intercept,
        ),
        LossName::Softmax => inquiry.softmax(data, layout),
        _ => Ok(Existence::Optimum),
    }
}

/// The side of each row in a subproblem with two sides; 0 for rows that do not take part.
pub(super) fn signs(rows: &Rows<'_>) -> Vec<i8> {
    (0..rows.len())
        .map(|i| match rows.weights.get(i) > 0.0 {
            true if rows.targets[i] > 0.0 => 1,
            true => -1,
            false => 0,
        })
        .collect()
}

/// The names of the two sides of a subproblem.
pub(super) fn who(part: Subproblem, classes: Option<&Classes>) -> String {
    match (part, classes) {
        (Subproblem::Against { positive }, Some(classes)) if classes.len() > 2 => {
            format!("{} and the rest", classes.name(positive))
        }
        (Subproblem::Pair { negative, positive }, Some(classes)) => {
            format!("{} and {}", classes.name(negative), classes.name(positive))
        }
        _ => "the classes".into(),
    }
}

impl Inquiry<'_> {
    /// Decides whether two classes are separable.
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
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
        let budget = Budget {
            max_time: self.deadline.map(left),
            ..self.budget
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
            let own = self.ask(data.design(), &sides.signs(data)?, layout.intercept)?;
            if let Existence::Endless(own) = own {
                let mut parameters = vec![0.0; layout.len()];
                let start = positive as usize * layout.width();
                parameters[start..start + layout.width()].copy_from_slice(&own.parameters);
                // The rows of the other classes gain nothing relative to each other.
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
                let pair = self.ask(data.design(), &sides.signs(data)?, layout.intercept)?;
                if !matches!(pair, Existence::Optimum) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// The notes about subproblems without an optimum.
pub(super) fn notes(
    existing: &[Existence],
    data: &Dataset,
    reduction: &Subproblems,
    settings: &Regularized,
) -> Vec<Note> {
    /// Cap: terms of a direction that a note names; further terms are left out.
    const MOST_TERMS: usize = 5;
    let layout = reduction.problem().layout();
    let method = settings.method;
    let mut notes = Vec::new();
    for (existence, part) in existing.iter().zip(reduction.parts()) {
        let direction = match existence {
            Existence::Optimum => continue,
            Existence::Unknown => {
                notes.push(Note::ExistenceUnknown);
                continue;
            }
            Existence::Endless(direction) => direction,
        };
        let name = |j: usize| {
            let feature = match j % layout.width() {
                intercept if intercept == layout.features => "intercept".to_owned(),
                feature => data.schema().feature_name(feature),
            };
            match (data.classes(), layout.outputs) {
                (Some(classes), 2..) => format!("{feature} of {}", classes.name((j / layout.width()) as u32)),
                _ => feature,
            }
        };
        let mut terms: Vec<(usize, f64)> = direction.parameters.iter().copied().enumerate().collect();
        terms.retain(|&(j, weight)| weight != 0.0 && !layout.is_intercept(j));
        terms.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        let more = terms.len() > MOST_TERMS;
        terms.truncate(MOST_TERMS);
        notes.push(Note::NoOptimum {
            who: who(*part, data.classes()),
            complete: direction.complete,
            method,
        });
        notes.push(Note::Ascent {
            terms: terms.into_iter().map(|(j, weight)| (name(j), weight)).collect(),
            more,
        });
    }
    if existing
        .iter()
        .any(|existence| matches!(existence, Existence::Endless(_)))
    {
        notes.push(Note::FiniteOptimum { method });
    }
    notes
}

/// The design of the vectors (βₖ − βₗ)·x̃, one for each row of class k and each other class l, as features of all β.
fn differences(data: &Dataset, layout: Layout) -> Result<Design> {
    let (codes, _) = data.require_classes()?;
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for (i, &own) in codes.iter().enumerate().filter(|(i, _)| data.weight(*i) > 0.0) {
        for other in (0..layout.outputs as u32).filter(|&other| other != own) {
            let mut sides = [(own, 1.0), (other, -1.0)];
            sides.sort_unstable_by_key(|side| side.0);
            for (class, sign) in sides {
                let first = class as usize * layout.width();
                data.design().row(i).for_each(|j, x| {
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
