//! Plots of the plane: decision regions and boundary of a model with two features, and the rows along their principal
//! components for more features.

use wstar::data::Components;
use wstar::data::error::Result;
use wstar::model::{Link, Predictor, Window};
use wstar::settings::Method;

use super::{around, axis, drawn, legend, line, points};
use crate::draw::{Chart, Ink, Mark};
use crate::subject::{MOST_CLASSES, Subject};
use crate::words::percent;

/// Cells of the decision regions, horizontally and vertically. Heuristic: sharp edges of the regions for larger files;
/// not measured yet.
const CELLS: (usize, usize) = (180, 140);
/// Number of features d for principal components. Cap: no plot is drawn for more features.
const MOST_FEATURES: usize = 2_000;
/// Cost n·d² of the covariance matrix for principal components. Cap: no plot is drawn beyond it.
const MOST_WORK: f64 = 2e10;

/// The points of each class, up to `MOST_CLASSES` classes.
fn classes(subject: &Subject<'_>, at: &[(f64, f64)], rows: &[usize], radius: f64) -> Vec<Mark> {
    let codes = subject.codes();
    (0..subject.model.classes().len().min(MOST_CLASSES))
        .map(|class| {
            let own = rows.iter().zip(at).filter(|(i, _)| codes[**i] as usize == class);
            points(own.map(|(_, &point)| point).collect(), class, radius)
        })
        .collect()
}

fn legends(subject: &Subject<'_>) -> Vec<(String, Ink, crate::draw::Shape)> {
    let names = subject.model.classes().names().iter().take(MOST_CLASSES);
    names.enumerate().map(|(k, name)| legend(name, k)).collect()
}

pub(crate) fn boundary(subject: &Subject<'_>) -> Result<Option<Chart>> {
    let model = subject.model;
    if model.schema().features != 2 || subject.data.rows() == 0 {
        return Ok(None);
    }
    let all = model.raw_points(subject.data)?;
    let window = Window::around(&all, 0.06);
    let (columns, cells) = CELLS;
    let regions = model.regions(&window, columns, cells)?;
    let at = |range: (f64, f64), k: usize, of: usize| range.0 + (range.1 - range.0) * k as f64 / of as f64;
    let mut marks = Vec::new();
    for (i, row) in regions.chunks(columns).enumerate() {
        let mut start = 0;
        for run in row.chunk_by(|a, b| a == b) {
            marks.push(Mark::Bar {
                from: (at(window.x, start, columns), at(window.y, i, cells)),
                to: (
                    at(window.x, start + run.len(), columns),
                    at(window.y, i + 1, cells),
                ),
                ink: Ink::Class(run[0] as usize),
                opacity: 0.18,
            });
            start += run.len();
        }
    }
    let mut note = String::new();
    if let Some([plane]) = model.raw_hyperplanes().as_deref() {
        // The levels ±1 are the margin, for the methods that have one.
        let has_margin = matches!(model.method(), Method::Svm | Method::HardMargin | Method::Kozinec)
            && matches!(
                model.predictor(),
                Predictor::Linear {
                    link: Link::Margin,
                    ..
                }
            );
        let levels: &[f64] = if has_margin { &[0.0, -1.0, 1.0] } else { &[0.0] };
        for &level in levels {
            if let Some(ends) = window.segment(plane, level) {
                let width = if level == 0.0 { 2.0 } else { 1.0 };
                marks.push(line(ends.to_vec(), Ink::Ink, width));
            }
        }
        note += if has_margin {
            " The thick line is the boundary, the thin ones are the levels −1 and +1."
        } else {
            " The line is the boundary."
        };
    }
    let (rows, which) = drawn(all.len());
    let shown: Vec<(f64, f64)> = rows.iter().map(|&i| all[i]).collect();
    marks.extend(classes(subject, &shown, &rows, 4.0));
    Ok(Some(Chart {
        id: "boundary".into(),
        title: "Decision regions".into(),
        description: format!(
            "The plane of the two features, shaded by the predicted class, with the rows by their true class.{note}{which}"
        ),
        x: axis(model.schema().feature_name(0), window.x),
        y: axis(model.schema().feature_name(1), window.y),
        marks,
        legend: legends(subject),
    }))
}

pub(crate) fn components(subject: &Subject<'_>) -> Result<Option<Chart>> {
    let (data, features) = (subject.data, subject.model.schema().features);
    let work = data.rows() as f64 * (features as f64).powi(2);
    if !(3..=MOST_FEATURES).contains(&features) || data.rows() == 0 || work > MOST_WORK {
        return Ok(None);
    }
    let found = Components::learn(data.design(), data.weights(), 2)?;
    let (rows, which) = drawn(data.rows());
    let at: Vec<(f64, f64)> = rows
        .iter()
        .map(|&i| {
            let along = found.project(data.design().row(i));
            (along[0], along[1])
        })
        .collect();
    let label = |k: usize| {
        format!(
            "component {} ({} of the variance)",
            k + 1,
            percent(found.share(k))
        )
    };
    Ok(Some(Chart {
        id: "components".into(),
        title: "The rows in their first two principal components".into(),
        description: format!(
            "The rows by true class in the two directions of largest variance of the standardised features. The model does \
             not use these directions.{which}"
        ),
        x: axis(label(0), around(at.iter().map(|point| point.0), 0.05)),
        y: axis(label(1), around(at.iter().map(|point| point.1), 0.05)),
        marks: classes(subject, &at, &rows, 3.4),
        legend: legends(subject),
    }))
}
