//! Separation under a penalty: the fit exists, and the size of its weights is the penalty's doing.
//!
//! What can be told for next to nothing is told: whether the fitted weights themselves separate, whether one column
//! does, and on small problems what [`existence`] finds out, unless a glance at a few rows shows that they
//! [`overlap`]. Separation that shows in none of these goes without a note; a note is never wrong, for what it rests on is checked exactly.

use std::cmp::Ordering;
use std::time::Duration;

use rayon::prelude::*;

use super::existence::{self, Existence};
use super::overlap;
use super::part::Solved;
use crate::certify::proof::Sides;
use crate::data::{Dataset, Row};
use crate::error::Result;
use crate::exact::{self, Signed};
use crate::loss::LossName;
use crate::margin::{weak_column, weak_columns};
use crate::oracle::Layout;
use crate::reduction::{Part, Reduction};
use crate::watch::{Status, Unwatched};

/// Numbers (rows × parameters) of the largest problem that is decided.
const SMALL: usize = 200_000;
/// Its most parameters: exact circuits of more take longer than the fit.
const NARROW: usize = 64;
/// In case it takes longer after all.
const PATIENCE: Duration = Duration::from_millis(200);
/// Features beyond which single columns are not looked at: in text some word is nearly always of one class.
const COLUMNS: usize = 10_000;
/// Rows that rule most directions out.
const FEW: usize = 1000;
/// How many are named in one note.
const NAMED: usize = 5;

/// How the two sides of a problem lie.
enum Kind {
    Separable,
    Quasi,
    /// Quasi-separable by this column alone, if not more.
    Column(usize),
}

/// What a person should know of penalised likelihoods of separated classes.
pub(super) fn notes(solved: &[Solved], data: &Dataset, reduction: &Reduction) -> Result<Vec<String>> {
    let definition = &reduction.definition;
    let is_likelihood = matches!(definition.loss, LossName::Logistic | LossName::Softmax);
    let cut_short = |fit: &Solved| matches!(fit.status, Status::Stopped | Status::TimeLimit);
    if !is_likelihood || definition.penalty.is_none() || definition.firth || solved.iter().any(cut_short) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for (fit, &part) in solved.iter().zip(&reduction.parts) {
        found.extend(one_problem(&fit.parameters, data, reduction, part)?);
    }
    Ok(told(&found, data))
}

/// Who lies apart in one problem, and how.
fn one_problem(
    parameters: &[f64],
    data: &Dataset,
    reduction: &Reduction,
    part: Part,
) -> Result<Vec<(String, Kind)>> {
    let layout = reduction.definition.layout;
    let who = |part| existence::who(part, data.classes());
    // The two sides that a hyperplane may lie between, each with a direction to try.
    let mut sides: Vec<(Part, Vec<i8>, Vec<f64>)> = Vec::new();
    if part == Part::Every {
        if every_row_is_right(parameters, data, layout)? {
            return Ok(vec![(who(part), Kind::Separable)]);
        }
        for positive in 0..layout.outputs as u32 {
            let own = Sides {
                positive,
                negative: None,
            };
            sides.push((
                Part::Against { positive },
                own.signs(data)?,
                against_the_mean(parameters, layout, positive as usize),
            ));
        }
    } else {
        let signs = existence::signs(&reduction.rows(part, data)?);
        let signed = Signed {
            design: &data.design,
            signs: &signs,
            intercept: layout.intercept,
        };
        if layout.len() <= NARROW && overlap::shows(&signed, parameters) {
            return Ok(Vec::new());
        }
        sides.push((part, signs, layout.output(parameters, 0).0.to_vec()));
    }
    let signed = |signs| Signed {
        design: &data.design,
        signs,
        intercept: layout.intercept,
    };
    let mut found: Vec<(String, Kind)> = sides
        .iter()
        .filter(|(_, signs, weights)| splits(&signed(signs), weights))
        .map(|(part, ..)| (who(*part), Kind::Separable))
        .collect();
    let is_small = layout.len() <= NARROW && data.rows().saturating_mul(layout.len()) <= SMALL;
    if found.is_empty() && is_small {
        let answer = existence::without_penalty(data, reduction, part, PATIENCE, &mut Unwatched)?;
        if let Existence::Endless(direction) = answer {
            let kind = if direction.complete {
                Kind::Separable
            } else {
                Kind::Quasi
            };
            found.push((who(part), kind));
        }
    } else if found.is_empty() && part == Part::Every && layout.len() <= COLUMNS {
        let (codes, _) = data.require_classes()?;
        let columns = weak_columns(data, codes, layout.outputs, layout.intercept);
        let columns = sides.iter().zip(columns);
        found.extend(
            columns
                .filter_map(|((part, ..), column)| column.map(|column| (who(*part), Kind::Column(column)))),
        );
    } else if found.is_empty() && layout.features <= COLUMNS {
        found.extend(sides.iter().filter_map(|(part, signs, _)| {
            weak_column(&signed(signs)).map(|column| (who(*part), Kind::Column(column)))
        }));
    }
    Ok(found)
}

/// The weights of one class less the mean of all.
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
        let side = exact::sign(signed.design.row(i), weights, -at);
        side == signed.signs[i].cmp(&0)
    })
}

/// A number between the scores of the two classes, but for rounding.
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

/// Whether the score of its own class is the largest of every row, exactly.
fn every_row_is_right(parameters: &[f64], data: &Dataset, layout: Layout) -> Result<bool> {
    let (codes, _) = data.require_classes()?;
    let right = |&i: &usize| {
        let (mut x, mut columns) = (Vec::new(), Vec::new());
        data.design.row(i).for_each(|j, value| {
            columns.push(j);
            x.push(value);
        });
        let (own, own_intercept) = layout.output(parameters, codes[i] as usize);
        // The difference of two scores is the score of (x, −x): no difference of weights is rounded.
        x.push(1.0);
        x.extend((0..x.len()).map(|k| -x[k]).collect::<Vec<f64>>());
        (0..layout.outputs).filter(|&k| k != codes[i] as usize).all(|k| {
            let (other, other_intercept) = layout.output(parameters, k);
            let mut weights: Vec<f64> = columns.iter().map(|&j| own[j]).collect();
            weights.push(own_intercept);
            weights.extend(columns.iter().map(|&j| other[j]));
            weights.push(other_intercept);
            exact::sign(Row::Dense64(&x), &weights, 0.0) == Ordering::Greater
        })
    };
    let rows: Vec<usize> = (0..data.rows()).filter(|&i| data.weight(i) > 0.0).collect();
    Ok(rows.par_iter().all(right))
}

/// One note for each way to lie apart.
fn told(found: &[(String, Kind)], data: &Dataset) -> Vec<String> {
    let columns = |kind: &Kind| match kind {
        Kind::Column(j) => format!(" (by {} alone)", data.schema.feature_name(*j)),
        _ => String::new(),
    };
    let word = |kind: &Kind| match kind {
        Kind::Separable => "separable",
        Kind::Quasi => "quasi-separable",
        Kind::Column(_) => "at least quasi-separable",
    };
    let mut notes = Vec::new();
    for how in ["separable", "quasi-separable", "at least quasi-separable"] {
        let mut names: Vec<String> = found
            .iter()
            .filter(|(_, kind)| word(kind) == how)
            .map(|(who, kind)| format!("{who}{}", columns(kind)))
            .collect();
        if names.is_empty() {
            continue;
        }
        let more = names.len().saturating_sub(NAMED);
        names.truncate(NAMED);
        if more > 0 {
            names.push(format!("{more} more"));
        }
        notes.push(format!(
            "{} are {how}: the size of the weights is the penalty's doing; without it there is no \
             maximum-likelihood fit, nor are there standard errors",
            names.join("; ")
        ));
    }
    notes
}
