//! The convergence of a fit: the gap or the objective by iteration, or the mistakes of each pass.

use wstar::Model;
use wstar::model::History;

use super::{around, axis, line, points};
use crate::draw::{Axis, Chart, Ink, Mark, Shape, Ticks};
use crate::words::{number, passes, plural};

pub(crate) fn convergence(model: &Model) -> Option<Chart> {
    match (model.history(), model.record().mistakes_by_pass.as_slice()) {
        // A history whose gaps are all within the tolerance has no convergence to show.
        (Some(history), _) if history.gaps().iter().flatten().any(|&gap| gap > tolerance(model)) => {
            Some(gaps(model, history))
        }
        (Some(history), _) if history.objectives().windows(2).any(|pair| pair[0] != pair[1]) => {
            Some(objectives(model, history))
        }
        (_, [_, _, ..]) => Some(mistakes(model)),
        _ => None,
    }
}

/// The values and label of the horizontal axis: passes over the data, or iterations if the passes do not increase. The
/// count of passes restarts with each subproblem.
fn across(history: &History) -> (&[u64], &'static str) {
    let (first, last) = (history.passes().first(), history.passes().last());
    match history.passes().windows(2).all(|pair| pair[0] <= pair[1]) && first < last {
        true => (history.passes(), "passes over the data"),
        false => (history.iterations(), "iteration"),
    }
}

/// The relative gap that the fit was to reach. Methods without a tolerance are drawn with the default 1e-6.
fn tolerance(model: &Model) -> f64 {
    model.settings().tol().unwrap_or(1e-6)
}

fn solver(model: &Model) -> String {
    (model.record().solver.as_ref()).map_or_else(String::new, |solver| format!(" by {}", solver.name.name()))
}

fn gaps(model: &Model, history: &History) -> Chart {
    /// Least gap drawn, because 0 has no logarithm. Derived: below the unit roundoff 1.1e-16.
    const LEAST: f64 = 1e-17;
    let (positions, label) = across(history);
    let path: Vec<(f64, f64)> = positions
        .iter()
        .zip(history.gaps())
        .filter_map(|(&at, gap)| Some((at as f64, gap.as_ref()?.max(LEAST).log10())))
        .collect();
    let tol = tolerance(model).log10();
    let (low, high) = around(path.iter().map(|point| point.1).chain([tol]), 0.0);
    let y = ((low - 0.3).floor(), (high + 0.3).ceil());
    let x = around(path.iter().map(|point| point.0), 0.02);
    Chart {
        id: "convergence".into(),
        title: format!("Relative gap{}", solver(model)),
        description: format!(
            "The solver's own relative gap after each iteration, on a logarithmic scale, over {} and {}; the line is the \
             tolerance, {}. The certificate is recomputed at the end.",
            plural(model.record().iterations, "iteration"),
            passes(model.record().passes),
            number(tolerance(model))
        ),
        x: axis(label, x),
        y: Axis {
            ticks: Ticks::Powers,
            ..axis("relative gap", y)
        },
        marks: vec![
            line(vec![(x.0, tol), (x.1, tol)], Ink::Quiet, 1.0),
            line(path.clone(), Ink::Accent, 1.6),
            dots(path),
        ],
        legend: vec![
            ("relative gap".into(), Ink::Accent, Shape::Circle),
            ("tolerance".into(), Ink::Quiet, Shape::Bar),
        ],
    }
}

/// Dots along a path, omitted where they would overlap.
fn dots(path: Vec<(f64, f64)>) -> Mark {
    Mark::Points {
        points: if path.len() <= 60 { path } else { Vec::new() },
        ink: Ink::Accent,
        shape: Shape::Circle,
        radius: 3.0,
        opacity: 1.0,
    }
}

fn objectives(model: &Model, history: &History) -> Chart {
    let (positions, label) = across(history);
    let path: Vec<(f64, f64)> = positions
        .iter()
        .zip(history.objectives())
        .map(|(&at, &value)| (at as f64, value))
        .collect();
    Chart {
        id: "convergence".into(),
        title: format!("Objective{}", solver(model)),
        description: format!(
            "The objective after each iteration, over {} and {}.",
            plural(model.record().iterations, "iteration"),
            passes(model.record().passes)
        ),
        x: axis(label, around(path.iter().map(|point| point.0), 0.02)),
        y: axis("objective", around(path.iter().map(|point| point.1), 0.05)),
        marks: vec![line(path.clone(), Ink::Accent, 1.6), dots(path)],
        legend: Vec::new(),
    }
}

fn mistakes(model: &Model) -> Chart {
    let mistakes = &model.record().mistakes_by_pass;
    let path: Vec<(f64, f64)> = (1..)
        .zip(mistakes)
        .map(|(pass, &count)| (f64::from(pass), count as f64))
        .collect();
    let highest = path.iter().map(|point| point.1).fold(1.0, f64::max);
    let few = path.len() <= 60;
    Chart {
        id: "convergence".into(),
        title: "Mistakes in each pass".into(),
        description: format!(
            "The number of rows that were misclassified when they were processed, by pass: {} in the first, {} in the last \
             of {}.",
            mistakes.first().copied().unwrap_or_default(),
            mistakes.last().copied().unwrap_or_default(),
            passes(mistakes.len() as u64)
        ),
        x: axis("pass", around(path.iter().map(|point| point.0), 0.03)),
        y: axis("mistakes", (0.0, 1.08 * highest)),
        marks: vec![
            line(path.clone(), Ink::Class(0), 1.6),
            points(if few { path } else { Vec::new() }, 0, 3.0),
        ],
        legend: Vec::new(),
    }
}
