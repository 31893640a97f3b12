//! Notes about separable classes under a penalty: the fit exists, but only the penalty bounds its weights.
//!
//! Two cheap tests are made: whether the fitted weights separate the classes, and whether one column does. Separation that neither
//! finds gets no note; `wstar separate` decides. A note is never wrong, because the separation is checked exactly.

use std::cmp::Ordering;

use rayon::prelude::*;

use crate::estimate::regularized::existence;
use crate::estimate::regularized::subproblem::Solved;
use crate::model::{Note, Separability, SeparableSide};
use wstar_data::error::Result;
use wstar_data::linear::Layout;
use wstar_data::run::Status;
use wstar_data::{Dataset, Row};
use wstar_problem::loss::LossName;
use wstar_problem::multiclass::{Subproblem, Subproblems};
use wstar_separate::exact;
use wstar_separate::exact::Signed;
use wstar_separate::margin::{weak_column, weak_columns};
use wstar_separate::proof::Sides;

/// Cap: features; beyond it single columns are not tested, because in text data some word nearly always occurs in one
/// class only.
const COLUMNS: usize = 10_000;
/// Rows of the sample that a direction must separate first. Heuristic: a larger sample rejects more directions
/// without a full pass and costs more; not measured yet.
const FEW: usize = 1000;
/// Cap: sides that one note names; further sides are counted.
const NAMED: usize = 5;

/// The separation of the two sides of a subproblem.
enum Overlap {
    Separable,
    /// At least quasi-separable, by this column alone.
    Column(usize),
}

/// The notes about penalised likelihoods of separable classes.
pub(super) fn notes(solved: &[Solved], data: &Dataset, reduction: &Subproblems) -> Result<Vec<Note>> {
    let problem = reduction.problem();
    let is_likelihood = matches!(problem.loss(), LossName::Logistic | LossName::Softmax);
    let cut_short = |fit: &Solved| matches!(fit.status, Status::Stopped | Status::TimeLimit);
    if !is_likelihood || problem.penalty().is_none() || problem.is_firth() || solved.iter().any(cut_short) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for (fit, &part) in solved.iter().zip(reduction.parts()) {
        found.extend(one_problem(&fit.parameters, data, reduction, part)?);
    }
    Ok(worded(found, data))
}

/// The separable sides of one subproblem, and the kind of separation.
fn one_problem(
    parameters: &[f64],
    data: &Dataset,
    reduction: &Subproblems,
    part: Subproblem,
) -> Result<Vec<(String, Overlap)>> {
    let layout = reduction.problem().layout();
    let who = |part| existence::who(part, data.classes());
    // The sides that a hyperplane may separate, each with a direction to test.
    let mut sides: Vec<(Subproblem, Vec<i8>, Vec<f64>)> = Vec::new();
    if part == Subproblem::Every {
        if every_row_is_right(parameters, data, layout)? {
            return Ok(vec![(who(part), Overlap::Separable)]);
        }
        for positive in 0..layout.outputs as u32 {
            let own = Sides {
                positive,
                negative: None,
            };
            sides.push((
                Subproblem::Against { positive },
                own.signs(data)?,
                against_the_mean(parameters, layout, positive as usize),
            ));
        }
    } else {
        let signs = existence::signs(&reduction.rows(part, data)?);
        sides.push((part, signs, layout.output(parameters, 0).0.to_vec()));
    }
    let signed = |signs| Signed {
        design: data.design(),
        signs,
        intercept: layout.intercept,
    };
    let mut found: Vec<(String, Overlap)> = sides
        .iter()
        .filter(|(_, signs, weights)| splits(&signed(signs), weights))
        .map(|(part, ..)| (who(*part), Overlap::Separable))
        .collect();
    if found.is_empty() && part == Subproblem::Every && layout.len() <= COLUMNS {
        let (codes, _) = data.require_classes()?;
        let columns = weak_columns(data, codes, layout.outputs, layout.intercept);
        let columns = sides.iter().zip(columns);
        found.extend(
            columns.filter_map(|((part, ..), column)| {
                column.map(|column| (who(*part), Overlap::Column(column)))
            }),
        );
    } else if found.is_empty() && layout.features <= COLUMNS {
        found.extend(sides.iter().filter_map(|(part, signs, _)| {
            weak_column(&signed(signs)).map(|column| (who(*part), Overlap::Column(column)))
        }));
    }
    Ok(found)
}

/// The weights of one class minus the mean over all classes.
fn against_the_mean(parameters: &[f64], layout: Layout, class: usize) -> Vec<f64> {
    let mut weights = layout.output(parameters, class).0.to_vec();
    for k in 0..layout.outputs {
        let (other, _) = layout.output(parameters, k);
        weights
            .iter_mut()
            .zip(other)
            .for_each(|(w, v)| *w -= v / layout.outputs as f64);
    }
    weights
}

/// Whether some hyperplane with these weights has every row strictly on its side.
fn splits(signed: &Signed<'_>, weights: &[f64]) -> bool {
    let rows: Vec<usize> = signed.participants().collect();
    let some: Vec<usize> = rows
        .iter()
        .copied()
        .step_by(rows.len().div_ceil(FEW).max(1))
        .collect();
    if threshold(signed, weights, &some).is_none() {
        return false;
    }
    let Some(at) = threshold(signed, weights, &rows) else {
        return false;
    };
    rows.par_iter().all(|&i| {
        let side = exact::sign::sign(signed.design.row(i), weights, -at);
        side == signed.signs[i].cmp(&0)
    })
}

/// A number between the scores of the two sides, in floating-point arithmetic.
fn threshold(signed: &Signed<'_>, weights: &[f64], rows: &[usize]) -> Option<f64> {
    let ends = |&i: &usize| {
        let score = signed.design.row(i).dot(weights);
        if signed.signs[i] > 0 {
            (f64::NEG_INFINITY, score)
        } else {
            (score, f64::INFINITY)
        }
    };
    let apart = (f64::NEG_INFINITY, f64::INFINITY);
    let (below, above) = rows
        .par_iter()
        .map(ends)
        .reduce(|| apart, |a, b| (a.0.max(b.0), a.1.min(b.1)));
    if signed.intercept {
        let middle = below + (above - below) / 2.0;
        (below < above && middle.is_finite()).then_some(middle)
    } else {
        (below < 0.0 && above > 0.0).then_some(0.0)
    }
}

/// Whether every row has its largest score for its own class, decided exactly.
fn every_row_is_right(parameters: &[f64], data: &Dataset, layout: Layout) -> Result<bool> {
    let (codes, _) = data.require_classes()?;
    let right = |&i: &usize| {
        let (mut x, mut columns) = (Vec::new(), Vec::new());
        data.design().row(i).for_each(|j, value| {
            columns.push(j);
            x.push(value);
        });
        let (own, own_intercept) = layout.output(parameters, codes[i] as usize);
        // The difference of two scores is the score of (x, −x), so no difference of weights is rounded.
        x.push(1.0);
        x.extend((0..x.len()).map(|k| -x[k]).collect::<Vec<f64>>());
        (0..layout.outputs).filter(|&k| k != codes[i] as usize).all(|k| {
            let (other, other_intercept) = layout.output(parameters, k);
            let mut weights: Vec<f64> = columns.iter().map(|&j| own[j]).collect();
            weights.push(own_intercept);
            weights.extend(columns.iter().map(|&j| other[j]));
            weights.push(other_intercept);
            exact::sign::sign(Row::Dense64(&x), &weights, 0.0) == Ordering::Greater
        })
    };
    let rows: Vec<usize> = (0..data.rows()).filter(|&i| data.weight(i) > 0.0).collect();
    Ok(rows.par_iter().all(right))
}

/// One note for each kind of separation.
fn worded(found: Vec<(String, Overlap)>, data: &Dataset) -> Vec<Note> {
    let how = |kind: &Overlap| match kind {
        Overlap::Separable => Separability::Separable,
        Overlap::Column(_) => Separability::AtLeastQuasiSeparable,
    };
    let ways = [Separability::Separable, Separability::AtLeastQuasiSeparable];
    let note = |way| {
        let mut sides: Vec<SeparableSide> = found
            .iter()
            .filter(|(_, kind)| how(kind) == way)
            .map(|(who, kind)| SeparableSide {
                who: who.clone(),
                by: match kind {
                    Overlap::Column(j) => Some(data.schema().feature_name(*j)),
                    _ => None,
                },
            })
            .collect();
        let more = sides.len().saturating_sub(NAMED);
        sides.truncate(NAMED);
        (!sides.is_empty()).then_some(Note::Separable {
            sides,
            more,
            how: way,
        })
    };
    ways.into_iter().filter_map(note).collect()
}
