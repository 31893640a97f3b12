//! The plots, each in its own file: functions that turn the library's results into a chart.

pub(crate) mod coefficients;
pub(crate) mod confusion;
pub(crate) mod convergence;
pub(crate) mod curves;
pub(crate) mod plane;
pub(crate) mod residuals;
pub(crate) mod scores;

use crate::draw::{Axis, Ink, Mark, Shape, Ticks};

/// Number of points in a chart; more would overlap and make a large file. Cap: evenly spaced rows are drawn instead.
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

/// Indices of the rows to draw, all or evenly spaced ones, and a sentence for the description if some are left out.
fn drawn(rows: usize) -> (Vec<usize>, String) {
    if rows <= MOST_POINTS {
        return ((0..rows).collect(), String::new());
    }
    let every = rows.div_ceil(MOST_POINTS);
    let chosen: Vec<usize> = (0..rows).step_by(every).collect();
    let note = format!(" Of {rows} rows every {every}th is drawn.");
    (chosen, note)
}

/// A nonempty range around the values, extended on each side by the fraction `room` of its width.
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
