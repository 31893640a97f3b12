//! One file a picture: from what the library says to a chart.

pub(crate) mod coefficients;
pub(crate) mod confusion;
pub(crate) mod convergence;
pub(crate) mod curves;
pub(crate) mod plane;
pub(crate) mod residuals;
pub(crate) mod scores;

use crate::draw::{Axis, Ink, Mark, Shape, Ticks};

/// More points than this would hide each other, and make a large file.
const MOST_POINTS: usize = 1_500;

fn axis(label: impl Into<String>, range: (f64, f64)) -> Axis {
    Axis {
        label: label.into(),
        range,
        ticks: Ticks::Numbers,
    }
}

fn line(points: Vec<(f64, f64)>, ink: Ink, width: f64) -> Mark {
    Mark::Line { points, ink, width }
}

fn points(points: Vec<(f64, f64)>, class: usize, radius: f64) -> Mark {
    Mark::Points {
        points,
        ink: Ink::Class(class),
        shape: Shape::of_class(class),
        radius,
        opacity: 0.8,
    }
}

fn legend(name: impl Into<String>, class: usize) -> (String, Ink, Shape) {
    (name.into(), Ink::Class(class), Shape::of_class(class))
}

/// The rows that are drawn: all, or evenly spaced ones where they are too many; with what to say about it.
fn drawn(rows: usize) -> (Vec<usize>, String) {
    if rows <= MOST_POINTS {
        return ((0..rows).collect(), String::new());
    }
    let every = rows.div_ceil(MOST_POINTS);
    let chosen: Vec<usize> = (0..rows).step_by(every).collect();
    let told = format!(" Of {rows} rows every {every}th is drawn.");
    (chosen, told)
}

/// A range around values, with room; never empty.
fn around(values: impl Iterator<Item = f64>, room: f64) -> (f64, f64) {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    match high - low {
        width if width > 0.0 && width.is_finite() => (low - room * width, high + room * width),
        _ if low.is_finite() => (low - 0.5, low + 0.5),
        _ => (0.0, 1.0),
    }
}
