//! The confusion matrix: true against predicted classes.

use wstar::model::Judgement;

use super::axis;
use crate::draw::{Axis, Chart, Ink, Mark, Ticks};
use crate::subject::Subject;
use crate::words::{number, percent};

/// Number of classes in the chart. Cap: no chart is drawn for more classes.
const MOST: usize = 12;

pub(crate) fn confusion(subject: &Subject<'_>) -> Option<Chart> {
    let Judgement::Classes(evaluation) = &subject.judgement else {
        return None;
    };
    let names = evaluation.classes().names();
    let count = names.len();
    if count > MOST {
        return None;
    }
    let mut marks = Vec::new();
    let mut texts = Vec::new();
    for (k, row) in evaluation.confusion().iter().enumerate() {
        let all: f64 = row.iter().sum();
        for (d, &cell) in row.iter().enumerate() {
            let share = if all > 0.0 { cell / all } else { 0.0 };
            // The first class is at the top, as in a table.
            let (x, y) = (d as f64, (count - 1 - k) as f64);
            marks.push(Mark::Bar {
                from: (x + 0.02, y + 0.02),
                to: (x + 0.98, y + 0.98),
                ink: if k == d { Ink::Class(0) } else { Ink::Class(1) },
                opacity: 0.06 + 0.5 * share,
            });
            let text_at = |up: f64, text: String, ink: Ink| Mark::Text {
                at: (x + 0.5, y + up),
                text,
                ink,
            };
            marks.push(text_at(
                if count <= 6 { 0.57 } else { 0.5 },
                number(cell),
                Ink::Ink,
            ));
            if count <= 6 {
                marks.push(text_at(0.38, percent(share), Ink::Ink));
            }
        }
        texts.push(format!(
            "of {} {} are correct",
            names[k],
            percent(if all > 0.0 { row[k] / all } else { 0.0 })
        ));
    }
    let range = (0.0, count as f64);
    let named = |name: &dyn Fn(usize) -> String| {
        Ticks::Named((0..count).map(|k| (k as f64 + 0.5, name(k))).collect())
    };
    Some(Chart {
        id: "confusion".into(),
        title: "True class (rows) and predicted class (columns)".into(),
        description: format!(
            "Rows by their true and their predicted class, with the fraction of each true class: {}.",
            texts.join("; ")
        ),
        x: Axis {
            ticks: named(&|k| names[k].clone()),
            ..axis("predicted class", range)
        },
        y: Axis {
            ticks: named(&|k| names[count - 1 - k].clone()),
            ..axis("true class", range)
        },
        marks,
        legend: Vec::new(),
    })
}
