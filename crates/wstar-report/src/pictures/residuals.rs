//! The residuals of a regression: against fitted values, and their histogram.

use wstar::data::error::Result;
use wstar::metrics;

use super::{around, axis, drawn, line};
use crate::draw::{Chart, Ink, Mark, Shape};
use crate::subject::Subject;
use crate::words::number;

/// Bins of the histogram. Heuristic: resolution for the noise of the counts; not measured yet.
const BINS: usize = 30;

pub(crate) fn against_fitted(subject: &Subject<'_>) -> Chart {
    let residuals = subject.residuals();
    let (rows, note) = drawn(residuals.len());
    let x = around(subject.fitted.iter().copied(), 0.03);
    let y = around(residuals.iter().copied(), 0.05);
    Chart {
        id: "residuals".into(),
        title: "Residuals against fitted values".into(),
        description: format!(
            "The target minus the prediction, against the prediction. The residuals of a good model lie in a band of \
             constant width around 0.{note}"
        ),
        x: axis(format!("fitted {}", subject.target()), x),
        y: axis("residual", y),
        marks: vec![
            line(vec![(x.0, 0.0), (x.1, 0.0)], Ink::Quiet, 1.0),
            Mark::Points {
                points: rows.iter().map(|&i| (subject.fitted[i], residuals[i])).collect(),
                ink: Ink::Accent,
                shape: Shape::Circle,
                radius: 2.6,
                opacity: 0.65,
            },
        ],
        legend: Vec::new(),
    }
}

pub(crate) fn distribution(subject: &Subject<'_>) -> Result<Chart> {
    let residuals = subject.residuals();
    let groups = vec![0; residuals.len()];
    let found = metrics::histogram(&residuals, &groups, 1, subject.weights(), BINS)?;
    let quantiles = metrics::quantiles(&residuals, subject.weights(), &[0.05, 0.25, 0.5, 0.75, 0.95])?;
    let highest = found.highest().max(1.0);
    let bars = found.counts()[0]
        .iter()
        .enumerate()
        .map(|(bin, &count)| Mark::Bar {
            from: (found.edges()[bin], 0.0),
            to: (found.edges()[bin + 1], count),
            ink: Ink::Accent,
            opacity: 0.6,
        });
    let mut marks: Vec<Mark> = bars.collect();
    marks.extend(
        quantiles
            .iter()
            .map(|&at| line(vec![(at, 0.0), (at, 1.05 * highest)], Ink::Quiet, 1.0)),
    );
    let texts: Vec<String> = quantiles.iter().map(|&value| number(value)).collect();
    Ok(Chart {
        id: "residual-histogram".into(),
        title: "Histogram of the residuals".into(),
        description: format!(
            "The number of rows by residual, in {BINS} bins. The lines are the quantiles 5, 25, 50, 75 and 95 %: {}.",
            texts.join(", ")
        ),
        x: axis(
            format!("residual of {}", subject.target()),
            (found.edges()[0], found.edges()[BINS]),
        ),
        y: axis("rows", (0.0, 1.08 * highest)),
        marks,
        legend: Vec::new(),
    })
}
