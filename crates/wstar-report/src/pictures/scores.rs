//! Histograms of the scores by class.

use wstar::data::error::Result;
use wstar::metrics;

use super::{axis, legend, line};
use crate::draw::{Chart, Ink, Mark};
use crate::subject::{MOST_CLASSES, Subject};

/// Bins of the histogram. Heuristic: resolution for the noise of the counts; not measured yet.
const BINS: usize = 30;

/// With two classes, the histogram of the score by true class; with more, of the probability (or score) of each row's
/// true class.
pub(crate) fn scores(subject: &Subject<'_>) -> Result<Chart> {
    let names = subject.model.classes().names();
    let shown = names.len().min(MOST_CLASSES);
    let codes = subject.codes();
    let (values, groups, weights, label): (Vec<f64>, Vec<u32>, Option<Vec<f64>>, String) =
        match subject.sides.as_slice() {
            [side] if names.len() == 2 => {
                let positive = subject.class(1);
                let label = match side.probabilities() {
                    Some(_) => format!("score: log-odds of {positive}"),
                    None => format!("score: above 0 is {positive}"),
                };
                (
                    side.scores().to_vec(),
                    codes.to_vec(),
                    subject.weights().map(Vec::from),
                    label,
                )
            }
            sides => {
                let kept: Vec<usize> = (0..codes.len())
                    .filter(|&i| (codes[i] as usize) < sides.len())
                    .collect();
                let likely = sides.first().is_some_and(|side| side.probabilities().is_some());
                let label = match likely {
                    true => "probability of the true class",
                    false => "score of the true class",
                };
                (
                    kept.iter()
                        .map(|&i| sides[codes[i] as usize].scores()[i])
                        .collect(),
                    kept.iter().map(|&i| codes[i]).collect(),
                    subject
                        .weights()
                        .map(|weights| kept.iter().map(|&i| weights[i]).collect()),
                    label.into(),
                )
            }
        };
    let found = metrics::histogram(&values, &groups, shown, weights.as_deref(), BINS)?;
    let highest = found.highest().max(1.0);
    let mut marks = Vec::new();
    for (class, counts) in found.counts().iter().enumerate() {
        let ink = Ink::Class(class);
        let mut outline = vec![(found.edges()[0], 0.0)];
        for (bin, &count) in counts.iter().enumerate() {
            let (from, to) = (found.edges()[bin], found.edges()[bin + 1]);
            if count > 0.0 {
                marks.push(Mark::Bar {
                    from: (from, 0.0),
                    to: (to, count),
                    ink,
                    opacity: 0.35,
                });
            }
            outline.extend([(from, count), (to, count)]);
        }
        outline.push((found.edges()[BINS], 0.0));
        marks.push(line(outline, ink, 1.6));
    }
    let decides = names.len() == 2 && found.edges()[0] < 0.0 && found.edges()[BINS] > 0.0;
    if decides {
        marks.push(line(vec![(0.0, 0.0), (0.0, 1.05 * highest)], Ink::Ink, 1.0));
    }
    let at_zero = if decides {
        " The line at 0 is the threshold of the decision."
    } else {
        ""
    };
    Ok(Chart {
        id: "scores".into(),
        title: "Scores by true class".into(),
        description: format!("The number of rows of each class by score, in {BINS} bins.{at_zero}"),
        x: axis(label, (found.edges()[0], found.edges()[BINS])),
        y: axis("rows", (0.0, 1.08 * highest)),
        marks,
        legend: names
            .iter()
            .take(shown)
            .enumerate()
            .map(|(k, name)| legend(name, k))
            .collect(),
    })
}
