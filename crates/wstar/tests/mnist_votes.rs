//! The table of the voted perceptron on handwritten digits: 9 against the rest, test error by passes.
//! The entries are those of a lecture on the method; any shuffle reproduces them closely.
#![allow(clippy::unwrap_used)]

mod common;

use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;

use common::real_data;
use flate2::read::GzDecoder;
use rayon::prelude::*;
use wstar::data::{Classes, Dataset, Design, Schema, Target};
use wstar::model::{Hyperplane, Predictor};
use wstar::settings::{Method, Rule, Settings};
use wstar::watch::{Step, Unwatched, Watch};
use wstar::{evaluate, fit, verify};

const PASSES: [f64; 6] = [0.1, 1.0, 2.0, 3.0, 4.0, 10.0];
const ONLINE: [f64; 6] = [0.079, 0.064, 0.057, 0.063, 0.058, 0.059];
const VOTED: [f64; 6] = [0.045, 0.039, 0.038, 0.038, 0.038, 0.037];

fn unpack(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    GzDecoder::new(File::open(path).unwrap())
        .read_to_end(&mut bytes)
        .unwrap();
    bytes
}

/// Pixels from 0 to 255 as they are, stored by their non-zeros; the digit 9 is the positive class.
fn digits(folder: &Path, name: &str) -> Dataset {
    let images = unpack(&folder.join(format!("{name}-images-idx3-ubyte.gz")));
    let labels = unpack(&folder.join(format!("{name}-labels-idx1-ubyte.gz")));
    let (pixels, labels) = (&images[16..], &labels[8..]);
    assert_eq!(pixels.len(), labels.len() * 784);
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for image in pixels.chunks_exact(784) {
        for (j, &pixel) in (0..).zip(image).filter(|&(_, &pixel)| pixel > 0) {
            indices.push(j);
            values.push(f64::from(pixel));
        }
        starts.push(values.len());
    }
    Dataset {
        source: name.into(),
        design: Design::from_csr(starts, indices, values, 784).unwrap(),
        target: Target::Classes {
            codes: labels.iter().map(|&digit| u32::from(digit == 9)).collect(),
            classes: Classes::against_rest("9"),
        },
        weights: None,
        schema: Schema::numbered(784),
        notes: Vec::new(),
    }
}

fn moment(passes: f64) -> u64 {
    (passes * 60_000.0).round() as u64
}

/// The share of the rows whose score is on the wrong side.
fn error(scores: impl Iterator<Item = f64>, codes: &[u32]) -> f64 {
    let wrong = scores
        .zip(codes)
        .filter(|(score, code)| (*score > 0.0) != (**code == 1));
    wrong.count() as f64 / codes.len() as f64
}

/// Copies the hyperplane after each of the given numbers of examples.
struct Photographer {
    after: Vec<u64>,
    pictures: Vec<Hyperplane>,
}

impl Watch for Photographer {
    fn wants_steps(&self) -> bool {
        true
    }

    fn step(&mut self, step: &Step<'_>) -> ControlFlow<()> {
        if self.after.contains(&step.step) {
            self.pictures.push(step.hyperplane.clone());
        }
        ControlFlow::Continue(())
    }
}

#[test]
fn the_online_row_on_average() {
    // The last hyperplane of an online run is a matter of luck: single runs differ by ±0.03, so the
    // entries, which are of one run too, are compared with the mean of several.
    const RUNS: u64 = 8;
    let Some(folder) = real_data("mnist") else { return };
    let (train, test) = (digits(&folder, "train"), digits(&folder, "t10k"));
    let Target::Classes { codes, .. } = &test.target else {
        panic!("no classes");
    };
    let runs: Vec<Vec<f64>> = (0..RUNS)
        .into_par_iter()
        .map(|seed| {
            let settings = Settings {
                epochs: Some(10.0),
                rule: Some(Rule::Shuffled),
                no_intercept: true,
                seed,
                ..Settings::for_method(Method::OnlinePerceptron)
            };
            let mut photographer = Photographer {
                after: PASSES.map(moment).to_vec(),
                pictures: Vec::new(),
            };
            fit(&train, &settings, &mut photographer).unwrap();
            photographer
                .pictures
                .iter()
                .map(|plane| error(test.design.iter().map(|x| plane.score(x)), codes))
                .collect()
        })
        .collect();
    for (k, passes) in PASSES.into_iter().enumerate() {
        let mean = runs.iter().map(|errors| errors[k]).sum::<f64>() / RUNS as f64;
        assert!(
            (mean - ONLINE[k]).abs() <= 0.015,
            "online after {passes} passes: {mean}"
        );
    }
}

#[test]
fn the_voted_row() {
    let Some(folder) = real_data("mnist") else { return };
    let (train, test) = (digits(&folder, "train"), digits(&folder, "t10k"));
    assert_eq!((train.rows(), test.rows()), (60_000, 10_000));
    let Target::Classes { codes, .. } = &test.target else {
        panic!("no classes");
    };
    let settings = Settings {
        epochs: Some(10.0),
        no_intercept: true,
        ..Settings::for_method(Method::VotedPerceptron)
    };
    let model = fit(&train, &settings, &mut Unwatched).unwrap();
    assert_eq!(model.fit.seen, 600_000);
    assert!(verify(&model, &train).unwrap().holds());
    let Predictor::Committee { committees } = &model.predictor else {
        panic!("no committee");
    };

    let after = PASSES.map(moment);
    let histories = committees[0].histories(&test.design, &after);
    let voted = |k: usize| error(histories.iter().map(|history| history[k].1), codes);
    for (k, passes) in PASSES.into_iter().enumerate() {
        let found = voted(k);
        assert!(
            (found - VOTED[k]).abs() <= 0.004,
            "voted after {passes} passes: {found}"
        );
    }
    // The history ends with what the model predicts.
    assert_eq!(evaluate(&model, &test).unwrap().error, voted(5));

    // A run of part of a pass is the beginning of the longer one.
    let short = Settings {
        epochs: Some(0.1),
        ..settings
    };
    let short = fit(&train, &short, &mut Unwatched).unwrap();
    assert_eq!(evaluate(&short, &test).unwrap().error, voted(0));
}
