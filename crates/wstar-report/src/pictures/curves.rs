//! ROC, precision–recall and calibration curves.

use wstar::data::error::Result;
use wstar::inference::DEFAULT_LEVEL;
use wstar::metrics;
use wstar::model::AgainstRest;

use super::{axis, legend, line, points};
use crate::draw::{Chart, Ink, Mark, thinned};
use crate::subject::{MOST_CLASSES, Subject};
use crate::words::percent;

/// Bins of a calibration curve. Heuristic: resolution for the width of the intervals; not measured yet.
const BINS: usize = 10;
/// The range of rates and probabilities.
const UNIT: (f64, f64) = (0.0, 1.0);
/// The range of an axis for `UNIT`, with a margin so that curves along an edge are not clipped.
/// Heuristic: complete lines for a smaller scale; not measured yet.
const ROOMY: (f64, f64) = (-0.02, 1.02);

/// A sentence for the description if not all classes are drawn.
fn left_out(subject: &Subject<'_>) -> String {
    match subject.model.classes().len() {
        classes if classes > MOST_CLASSES => {
            format!(" The first {MOST_CLASSES} of {classes} classes are drawn.")
        }
        _ => String::new(),
    }
}

/// The colour index of a class; with two classes, the curve has the colour of the positive class.
fn colour(side: &AgainstRest) -> usize {
    side.class() as usize
}

/// A curve, with a few marks along it that identify the class by shape.
fn curve(path: Vec<(f64, f64)>, class: usize) -> [Mark; 2] {
    let every = path.len().div_ceil(8).max(1);
    let some = path.iter().copied().skip(every / 2).step_by(every).collect();
    [line(path, Ink::Class(class), 2.0), points(some, class, 3.5)]
}

pub(crate) fn roc(subject: &Subject<'_>) -> Result<Option<Chart>> {
    let mut marks = vec![line(vec![(0.0, 0.0), (1.0, 1.0)], Ink::Quiet, 1.0)];
    let (mut names, mut texts) = (Vec::new(), Vec::new());
    for side in &subject.sides {
        let Some(found) = metrics::roc(side.positive(), side.scores(), subject.weights())? else {
            continue;
        };
        let text = format!("{}: AUC {:.4}", subject.class(side.class()), found.area());
        marks.extend(curve(thinned(found.rates(), UNIT, UNIT), colour(side)));
        names.push(legend(text.clone(), colour(side)));
        texts.push(text);
    }
    Ok((!texts.is_empty()).then(|| Chart {
        id: "roc".into(),
        title: "ROC curve".into(),
        description: format!(
            "For every threshold of the score, the fraction of the class at or above it against the fraction of the other \
             rows at or above it; the diagonal is a random classifier. {}.{}",
            texts.join("; "),
            left_out(subject)
        ),
        x: axis("false positive rate", ROOMY),
        y: axis("true positive rate", ROOMY),
        marks,
        legend: names,
    }))
}

pub(crate) fn precision_recall(subject: &Subject<'_>) -> Result<Option<Chart>> {
    let (mut marks, mut names, mut texts) = (Vec::new(), Vec::new(), Vec::new());
    for side in &subject.sides {
        let Some(found) = metrics::precision_recall(side.positive(), side.scores(), subject.weights())?
        else {
            continue;
        };
        let text = format!(
            "{}: average precision {:.4}",
            subject.class(side.class()),
            found.average()
        );
        marks.push(line(
            vec![(0.0, found.prevalence()), (1.0, found.prevalence())],
            Ink::Quiet,
            0.8,
        ));
        let path = found
            .points()
            .iter()
            .map(|&(recall, precision, _)| (recall, precision));
        marks.extend(curve(thinned(path, UNIT, UNIT), colour(side)));
        names.push(legend(text.clone(), colour(side)));
        texts.push(format!("{text}, of all rows {}", percent(found.prevalence())));
    }
    Ok((!texts.is_empty()).then(|| Chart {
        id: "precision-recall".into(),
        title: "Precision against recall".into(),
        description: format!(
            "For every threshold of the score, the fraction of the rows at or above it that have the class, against the \
             fraction of the class at or above it; the thin line is the fraction of the class among all rows. {}.{}",
            texts.join("; "),
            left_out(subject)
        ),
        x: axis("recall", ROOMY),
        y: axis("precision", ROOMY),
        marks,
        legend: names,
    }))
}

pub(crate) fn calibration(subject: &Subject<'_>) -> Result<Option<Chart>> {
    let mut marks = vec![line(vec![(0.0, 0.0), (1.0, 1.0)], Ink::Quiet, 1.0)];
    let (mut names, mut texts) = (Vec::new(), Vec::new());
    for side in &subject.sides {
        let Some(probabilities) = side.probabilities() else {
            return Ok(None);
        };
        let bins = metrics::calibration(
            side.positive(),
            probabilities,
            subject.weights(),
            BINS,
            DEFAULT_LEVEL,
        )?;
        let ink = Ink::Class(colour(side));
        let mut outside = 0;
        for bin in &bins {
            marks.push(line(
                vec![(bin.predicted(), bin.lower()), (bin.predicted(), bin.upper())],
                ink,
                1.2,
            ));
            outside += usize::from(!(bin.lower()..=bin.upper()).contains(&bin.predicted()));
        }
        let path: Vec<(f64, f64)> = bins.iter().map(|bin| (bin.predicted(), bin.observed())).collect();
        marks.push(line(path.clone(), ink, 1.2));
        marks.push(points(path, colour(side), 4.0));
        let name = subject.class(side.class());
        names.push(legend(name, colour(side)));
        texts.push(format!(
            "{name}: the diagonal is outside the interval in {outside} of {} bins",
            bins.len()
        ));
    }
    Ok((!texts.is_empty()).then(|| Chart {
        id: "calibration".into(),
        title: "Calibration of the probabilities".into(),
        description: format!(
            "Rows are grouped by their probability: the mean probability of each bin against the fraction of its rows that \
             have the class, with Wilson's 95 % interval. On the diagonal both are equal. {}.{}",
            texts.join("; "),
            left_out(subject)
        ),
        x: axis("predicted probability", ROOMY),
        y: axis("observed frequency", ROOMY),
        marks,
        legend: names,
    }))
}
