//! From the settings and the rows to the subproblems: which rows each one has, with which targets and weights.
//!
//! The weight of a row is cᵢ = fl(fl(C·sᵢ)·k), with its sample weight sᵢ and the weight k of its class. C is given, or
//! fl(1/fl(nλ)) with the sum n of the sample weights. Balanced class weights are fl(n/fl(K·nₖ)), with the sum nₖ over the class.
//! Sums of sample weights are those of recursive summation in the order of the rows.

use crate::model::Model;
use crate::problem::{Intercept, Loss, Problem, Subproblem};
use crate::regularized::{ClassWeights, Multiclass, Settings, Strength};
use crate::schema::Schema;
use crate::training_rows::{TrainingRows, in_range};
use crate::unreadable::{Reading, Unreadable, require, shown};
use crate::verdict::Verdict;

/// Which rows a subproblem has, and with which targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// All rows, with their real targets.
    Real,
    /// All rows, with the indices of their classes.
    Every,
    /// All rows: one class is +1, all others are −1.
    Against(usize),
    /// The rows of two classes; the others have weight 0.
    Pair(usize, usize),
}

impl Part {
    /// The targets of the rows: ±1 if classes are separated.
    pub(crate) fn targets(self, rows: &TrainingRows) -> Vec<f64> {
        let sign = |target: &f64, positive: usize| if *target == positive as f64 { 1.0 } else { -1.0 };
        match self {
            Part::Real | Part::Every => rows.targets.clone(),
            Part::Against(positive) | Part::Pair(_, positive) => {
                rows.targets.iter().map(|target| sign(target, positive)).collect()
            }
        }
    }

    pub(crate) fn label(self, classes: &[String]) -> String {
        let name = |class: usize| classes.get(class).map_or("", String::as_str);
        match self {
            Part::Real | Part::Every => "all rows".into(),
            Part::Against(class) if classes.len() == 2 => {
                format!("{} against {}", name(class), name(1 - class))
            }
            Part::Against(class) => format!("{} against the rest", name(class)),
            Part::Pair(one, other) => format!("{} against {}", name(other), name(one)),
        }
    }

    /// The subproblems of methods with a hyperplane for two classes, or with one for each class against the rest.
    pub(crate) fn against_rest(classes: usize) -> Vec<Part> {
        let positives = if classes == 2 { 1..2 } else { 0..classes };
        positives.map(Part::Against).collect()
    }
}

pub(crate) struct Reduction {
    pub(crate) problem: Problem,
    /// The subproblems, in the order of the hyperplanes.
    pub(crate) parts: Vec<Part>,
    pub(crate) c: f64,
    /// The weight of each class; `None` if all are 1.
    class_weights: Option<Vec<f64>>,
}

impl Reduction {
    /// The subproblems that settings define for these rows, if a model with so many hyperplanes can be their solution.
    pub(crate) fn new(
        settings: &Settings,
        schema: &Schema,
        planes: usize,
        rows: &TrainingRows,
    ) -> Reading<Self> {
        let classes = &schema.classes;
        let (loss, parts) = parts(settings, classes.len())?;
        let outputs = if loss == Loss::Softmax { classes.len() } else { 1 };
        let expected = outputs * parts.len();
        let refusal = || format!("the model has {planes} hyperplanes, and its settings define {expected}");
        require(planes == expected, refusal)?;
        Ok(Reduction {
            problem: Problem {
                loss,
                l1: settings.l1,
                l2: settings.l2,
                intercept: settings.intercept,
                outputs,
                features: schema.features,
            },
            parts,
            c: match settings.strength {
                Strength::C(c) => c,
                Strength::Lambda(lambda) => 1.0 / (total(rows) * lambda),
            },
            class_weights: weights_of_classes(settings.class_weights.as_ref(), classes, rows)?,
        })
    }

    pub(crate) fn objections(
        &self,
        model: &Model,
        planes: &[(Vec<f64>, f64)],
        claims: usize,
        verdict: &mut Verdict,
    ) -> Reading<()> {
        let parts = self.parts.len();
        let message = format!("{claims} claims are made, and there are {parts} subproblems");
        verdict.object_unless(claims == parts, message);
        let no_intercept = planes.iter().all(|(_, intercept)| *intercept == 0.0);
        let fits = self.problem.intercept != Intercept::Absent || no_intercept;
        verdict.object_unless(fits, "the model has an intercept, and its settings allow none");
        let link = match (self.parts.first(), self.problem.loss) {
            (Some(Part::Real), _) => "identity",
            (_, Loss::Softmax) => "softmax",
            (Some(Part::Pair(..)), _) => "pairs",
            (_, Loss::Logistic | Loss::SigmoidMse) => "logit",
            _ => "margin",
        };
        let stated = model.root().field("predictor")?.field("link")?.text()?;
        let message = format!("the scores are called {stated}, and are {link}");
        verdict.object_unless(stated == link, message);
        Ok(())
    }

    pub(crate) fn weights(&self, part: Part, rows: &TrainingRows) -> Vec<f64> {
        let weight = |row: usize| {
            let class = rows.targets[row] as usize;
            let class_weight = match (part, &self.class_weights) {
                (Part::Pair(one, other), _) if class != one && class != other => return 0.0,
                (Part::Real, _) | (_, None) => 1.0,
                (_, Some(weights)) => weights[class],
            };
            self.c * rows.weight(row) * class_weight
        };
        (0..rows.len()).map(weight).collect()
    }

    /// A subproblem with these rows, whose numbers must be in the range of the error bounds.
    pub(crate) fn subproblem<'a>(
        &self,
        rows: &'a TrainingRows,
        targets: &'a [f64],
        weights: &'a [f64],
        point: &[f64],
    ) -> Reading<Subproblem<'a>> {
        let fits = point.iter().chain(weights).all(|value| in_range(*value));
        let refusal = "a weight of a row or of the model lies outside 1e-140 to 1e140 in size";
        require(fits, || refusal)?;
        let (problem, design) = (self.problem.clone(), &rows.design);
        Ok(Subproblem {
            problem,
            design,
            targets,
            weights,
        })
    }

    /// The parameters of a subproblem: for each output the weights, and then the intercept unless it is absent.
    pub(crate) fn point(&self, index: usize, hyperplanes: &[(Vec<f64>, f64)]) -> Vec<f64> {
        let outputs = self.problem.outputs;
        let mut point = Vec::new();
        for (weights, intercept) in hyperplanes.iter().skip(index * outputs).take(outputs) {
            point.extend_from_slice(weights);
            if self.problem.intercept != Intercept::Absent {
                point.push(*intercept);
            }
        }
        point
    }
}

fn parts(settings: &Settings, count: usize) -> Reading<(Loss, Vec<Part>)> {
    let loss = settings.loss;
    let fits = match (settings.method.as_str(), loss) {
        ("logistic", Loss::Logistic | Loss::SigmoidMse) | ("softmax", Loss::Softmax) => count > 0,
        ("mse-classifier", Loss::Squared) => count > 0,
        ("svm", Loss::Hinge | Loss::SquaredHinge | Loss::ModifiedHuber) => count > 0,
        ("least-squares", Loss::Squared) | ("lad", Loss::Absolute | Loss::Quantile(_)) => count == 0,
        _ => false,
    };
    let refusal = "the loss does not fit the method and the kind of the target";
    require(fits, || refusal)?;
    // Several classes have the softmax loss in place of the logistic one, unless another reduction is chosen.
    let by_default = matches!(loss, Loss::Softmax | Loss::Logistic).then_some(Multiclass::Softmax);
    let reduction = settings.multiclass.or(by_default).unwrap_or(Multiclass::Ovr);
    Ok(match (count, reduction) {
        (_, Multiclass::Softmax) if by_default.is_none() => {
            return Err(Unreadable::new(
                "a softmax reduction of another loss than the logistic one",
            ));
        }
        (0, _) => (loss, vec![Part::Real]),
        (2, _) if loss != Loss::Softmax => (loss, Part::against_rest(count)),
        (_, Multiclass::Softmax) => (Loss::Softmax, vec![Part::Every]),
        _ if loss == Loss::Softmax => return Err(Unreadable::new("softmax with another reduction")),
        (_, Multiclass::Ovo) => {
            let with = |one: usize| (one + 1..count).map(move |other| Part::Pair(one, other));
            (loss, (0..count).flat_map(with).collect())
        }
        (_, Multiclass::Ovr) => (loss, Part::against_rest(count)),
    })
}

/// The sum of the sample weights. Adding to +0 or to −0 gives the same sums, because weights are not negative.
fn total(rows: &TrainingRows) -> f64 {
    (0..rows.len()).map(|row| rows.weight(row)).sum()
}

/// The weight of each class; `None` if all are 1.
pub(crate) fn weights_of_classes(
    given: Option<&ClassWeights>,
    classes: &[String],
    rows: &TrainingRows,
) -> Reading<Option<Vec<f64>>> {
    let mut weights = vec![1.0; classes.len()];
    match given {
        Some(ClassWeights::Given(given)) => {
            for (name, weight) in given {
                let unknown = || format!("the class weight of {}, which is no class", shown(name));
                let class = classes.iter().position(|class| class == name);
                weights[class.ok_or_else(|| Unreadable::new(unknown()))?] = *weight;
            }
        }
        Some(ClassWeights::Balanced) if !classes.is_empty() => {
            let mut totals = vec![0.0; classes.len()];
            (0..rows.len()).for_each(|row| totals[rows.targets[row] as usize] += rows.weight(row));
            let balanced = |sum: f64| total(rows) / (classes.len() as f64 * sum);
            weights = totals
                .iter()
                .map(|&sum| if sum > 0.0 { balanced(sum) } else { 0.0 })
                .collect();
        }
        _ => return Ok(None),
    }
    Ok(Some(weights))
}
