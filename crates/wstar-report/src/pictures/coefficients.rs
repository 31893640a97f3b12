//! The weights of largest magnitude, by feature name.

use wstar::Model;
use wstar::data::Encoding;

use super::{axis, legend, line};
use crate::draw::{Axis, Chart, Ink, Mark, Shape, Ticks};
use crate::subject::MOST_CLASSES;
use crate::words::{count, number};

/// Features in the chart. Cap: features with smaller weights are left out.
const MOST: usize = 20;

/// A feature and its weight in each hyperplane.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Weighted {
    pub(crate) name: String,
    pub(crate) weights: Vec<f64>,
    /// The confidence interval, where one is valid.
    pub(crate) interval: Option<(f64, f64)>,
}

/// The `most` features with the largest weights, and the number of all features. If all are returned, they keep the
/// order of the columns.
pub(crate) fn largest_weights(model: &Model, most: usize) -> Option<(Vec<Weighted>, usize)> {
    let planes = model.raw_hyperplanes()?;
    // The statistics refer to the columns as fitted, which may be standardised.
    let inferred = model.inference().filter(|_| planes.len() == 1);
    let weight = |j: usize| match inferred {
        Some(inference) => inference
            .coefficients()
            .get(j)
            .map_or(0.0, |c| c.estimate().abs()),
        None => planes
            .iter()
            .map(|plane| plane.weights[j].abs())
            .fold(0.0, f64::max),
    };
    let mut order: Vec<usize> = (0..model.schema().features).collect();
    order.sort_by(|&a, &b| weight(b).total_cmp(&weight(a)));
    let all = order.len();
    order.truncate(most);
    if all <= most {
        order.sort_unstable();
    }
    let weighted = |&j: &usize| match inferred.and_then(|inference| inference.coefficients().get(j)) {
        Some(coefficient) => Weighted {
            name: name(model, j),
            weights: vec![coefficient.estimate()],
            interval: Some((coefficient.lower(), coefficient.upper())),
        },
        None => Weighted {
            name: name(model, j),
            weights: planes.iter().map(|plane| plane.weights[j]).collect(),
            interval: None,
        },
    };
    Some((order.iter().map(weighted).collect(), all))
}

/// The name of feature `j`. If a text column is the only column, its name is omitted before the word.
pub(crate) fn name(model: &Model, j: usize) -> String {
    let name = model.schema().feature_name(j);
    match model.schema().columns.as_slice() {
        [only] if matches!(only.encoding, Encoding::Text(_)) => name
            .strip_prefix(&format!("{}:", only.name))
            .map_or(name.clone(), String::from),
        _ => name,
    }
}

/// Column headers of the weights: classes, pairs of classes, or `weight` for a regression.
pub(crate) fn columns(model: &Model, planes: usize) -> Vec<String> {
    let names = model.classes().names();
    match planes {
        1 if names.is_empty() => vec!["weight".into()],
        1 => vec![format!("for {}", names.last().map_or("", String::as_str))],
        pairs if pairs > names.len() => {
            let pairs = (0..names.len())
                .flat_map(|a| names[a + 1..].iter().map(move |b| format!("{b}/{}", names[a])));
            pairs.collect()
        }
        _ => names.to_vec(),
    }
}

pub(crate) fn coefficients(model: &Model) -> Option<Chart> {
    let (features, all) = largest_weights(model, MOST)?;
    let planes = features.first()?.weights.len();
    let shown = planes.min(MOST_CLASSES);
    let inferred = features.iter().any(|feature| feature.interval.is_some());
    let ends = features.iter().flat_map(|feature| {
        let interval = feature
            .interval
            .map(|(lower, upper)| [lower, upper])
            .into_iter()
            .flatten();
        feature.weights[..shown].iter().copied().chain(interval)
    });
    let (low, high) = ends.fold((0.0f64, 0.0f64), |(low, high), end| (low.min(end), high.max(end)));
    let room = 0.06 * (high - low).max(f64::MIN_POSITIVE);
    let range = if high > low {
        (low - room, high + room)
    } else {
        (-1.0, 1.0)
    };
    let rows = features.len();
    let mut marks = vec![line(vec![(0.0, 0.0), (0.0, rows as f64)], Ink::Quiet, 1.0)];
    for (at, feature) in features.iter().enumerate() {
        let y = (rows - 1 - at) as f64 + 0.5;
        if planes == 1 {
            let weight = feature.weights[0];
            let ink = match (model.classes().is_empty(), weight < 0.0) {
                (true, _) => Ink::Accent,
                (false, true) => Ink::Class(0),
                (false, false) => Ink::Class(1),
            };
            let opacity = if feature.interval.is_some() { 0.35 } else { 0.75 };
            marks.push(Mark::Bar {
                from: (weight.min(0.0), y - 0.32),
                to: (weight.max(0.0), y + 0.32),
                ink,
                opacity,
            });
            if let Some((lower, upper)) = feature.interval {
                marks.push(line(vec![(lower, y), (upper, y)], Ink::Ink, 1.4));
                marks.push(Mark::Points {
                    points: vec![(weight, y)],
                    ink: Ink::Ink,
                    shape: Shape::Circle,
                    radius: 2.8,
                    opacity: 1.0,
                });
            }
        } else {
            for (k, &weight) in feature.weights[..shown].iter().enumerate() {
                marks.push(line(vec![(0.0, y), (weight, y)], Ink::Rule, 1.0));
                marks.push(super::points(vec![(weight, y)], k, 4.0));
            }
        }
    }
    let names = columns(model, planes);
    let legends = match planes {
        1 if model.classes().is_empty() => Vec::new(),
        1 => {
            let [first, last] = [0, 1].map(|k| model.classes().names().get(k).cloned().unwrap_or_default());
            let side = |name: String, k: usize| (format!("for {name}"), Ink::Class(k), Shape::Square);
            vec![side(first, 0), side(last, 1)]
        }
        _ => names
            .iter()
            .take(shown)
            .enumerate()
            .map(|(k, name)| legend(name, k))
            .collect(),
    };
    let which = match all > rows {
        true => format!("The {rows} largest of {} weights", count(all as u64)),
        false => "The weights".into(),
    };
    let with = if inferred {
        ", with their 95 % intervals"
    } else {
        ""
    };
    let first = features
        .iter()
        .max_by(|a, b| a.weights[0].abs().total_cmp(&b.weights[0].abs()))?;
    let units = match inferred && model.schema().scaling.is_some() {
        true => "of the standardised columns",
        false => "in the units of the columns",
    };
    let of = if planes > 1 {
        format!(" of {}", names[0])
    } else {
        String::new()
    };
    Some(Chart {
        id: "coefficients".into(),
        title: format!("{which}{with}"),
        description: format!(
            "{which} by feature{with}, {units}. The largest weight{of} is {}, {}.",
            first.name,
            number(first.weights[0])
        ),
        x: axis("weight", range),
        y: Axis {
            label: String::new(),
            range: (0.0, rows as f64),
            ticks: Ticks::Named(
                features
                    .iter()
                    .enumerate()
                    .map(|(at, feature)| ((rows - 1 - at) as f64 + 0.5, feature.name.clone()))
                    .collect(),
            ),
        },
        marks,
        legend: legends,
    })
}
