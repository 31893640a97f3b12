//! Random data sets for the tests of the mistake-driven learners.
#![allow(dead_code, clippy::unwrap_used)]

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use wstar::data::Dataset;
use wstar::data::linear::Hyperplane;
use wstar::data::run::Unwatched;
use wstar::model::Predictor;
use wstar::settings::{Method, Options};
use wstar::{Model, fit};

/// A separable set, and a hyperplane with weights of norm 1 that separates it.
pub(crate) struct Separable {
    pub(crate) rows: Vec<Vec<f64>>,
    pub(crate) labels: Vec<&'static str>,
    pub(crate) weights: Vec<f64>,
    pub(crate) intercept: f64,
}

impl Separable {
    pub(crate) fn data(&self) -> Dataset {
        Dataset::labelled(&self.rows, &self.labels).unwrap()
    }

    pub(crate) fn label(&self, i: usize) -> f64 {
        if self.labels[i] == "b" { 1.0 } else { -1.0 }
    }
}

/// Points in a cube of half-width `scale`, none closer than `margin·scale` to a random hyperplane, and some on each
/// side of it. Without an intercept the hyperplane passes through the origin.
pub(crate) fn separable(
    random: &mut ChaCha8Rng,
    features: usize,
    rows: usize,
    margin: f64,
    scale: f64,
    intercept: bool,
) -> Separable {
    loop {
        let mut weights: Vec<f64> = (0..features).map(|_| random.random_range(-1.0..1.0)).collect();
        let norm = weights.iter().map(|w| w * w).sum::<f64>().sqrt();
        if norm < 0.1 {
            continue;
        }
        weights.iter_mut().for_each(|w| *w /= norm);
        let offset = if intercept {
            random.random_range(-0.3..0.3)
        } else {
            0.0
        };
        let (mut points, mut labels) = (Vec::new(), Vec::new());
        for _ in 0..1000 {
            if points.len() == rows {
                break;
            }
            let x: Vec<f64> = (0..features).map(|_| random.random_range(-1.0..1.0)).collect();
            let distance = x.iter().zip(&weights).map(|(x, w)| x * w).sum::<f64>() + offset;
            if distance.abs() >= margin {
                points.push(x.iter().map(|x| x * scale).collect());
                labels.push(if distance > 0.0 { "b" } else { "a" });
            }
        }
        if labels.contains(&"a") && labels.contains(&"b") {
            return Separable {
                rows: points,
                labels,
                weights,
                intercept: offset * scale,
            };
        }
    }
}

/// Integer points with random labels; they are hardly ever separable.
pub(crate) fn noise(random: &mut ChaCha8Rng, features: usize, rows: usize, names: &[&str]) -> Dataset {
    let points: Vec<Vec<f64>> = (0..rows)
        .map(|_| {
            (0..features)
                .map(|_| f64::from(random.random_range(-3..=3i32)))
                .collect()
        })
        .collect();
    let labels: Vec<&str> = (0..rows)
        .map(|i| {
            names[if i < names.len() {
                i
            } else {
                random.random_range(0..names.len())
            }]
        })
        .collect();
    Dataset::labelled(&points, &labels).unwrap()
}

pub(crate) fn train(data: &Dataset, settings: &Options) -> Model {
    fit(data, settings, &mut Unwatched).unwrap()
}

pub(crate) fn settings(method: Method) -> Options {
    Options::of(method)
}

pub(crate) fn hyperplane(model: &Model) -> &Hyperplane {
    match model.predictor() {
        Predictor::Linear { discriminants, .. } => &discriminants[0],
        other => panic!("not linear: {other:?}"),
    }
}
