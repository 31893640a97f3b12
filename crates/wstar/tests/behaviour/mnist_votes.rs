//! The table of the voted perceptron on handwritten digits: 9 against the rest, test error by number of passes.
//! The entries come from a lecture on the method; any shuffle of the rows reproduces them closely.
#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;

use crate::common::real_data;
use flate2::read::GzDecoder;
use rayon::prelude::*;
use wstar::data::linear::Hyperplane;
use wstar::data::run::{Step, Unwatched, Watch};
use wstar::data::{Classes, Dataset, Design, Schema, Target};
use wstar::fit;
use wstar::model::Predictor;
use wstar::model::{evaluate, verify};
use wstar::settings::{Method, Options, Rule};

/// The columns of the table: the number of passes.
const PASSES: [f64; 6] = [0.1, 1.0, 2.0, 3.0, 4.0, 10.0];
/// Test errors of the last hyperplane, from the lecture's table.
const ONLINE: [f64; 6] = [0.079, 0.064, 0.057, 0.063, 0.058, 0.059];
/// Test errors of the voted perceptron, from the lecture's table.
const VOTED: [f64; 6] = [0.045, 0.039, 0.038, 0.038, 0.038, 0.037];

fn unpack(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    GzDecoder::new(File::open(path).unwrap())
        .read_to_end(&mut bytes)
        .unwrap();
    bytes
}

/// Unscaled pixels from 0 to 255 in sparse storage; the digit 9 is the positive class.
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
    let design = Design::from_csr(starts, indices, values, 784).unwrap();
    let target = Target::Classes {
        codes: labels.iter().map(|&digit| u32::from(digit == 9)).collect(),
        classes: Classes::against_rest("9"),
    };
    Dataset::new(design, target, Schema::numbered(784))
        .unwrap()
        .with_source(name)
}

fn moment(passes: f64) -> u64 {
    (passes * 60_000.0).round() as u64
}

/// The fraction of the rows whose score has the wrong sign.
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
    // The last hyperplane of an online run depends on chance: single runs differ by ±0.03. The entries, which come from
    // a single run too, are therefore compared with the mean of several runs.
    const RUNS: u64 = 8;
    let Some(folder) = real_data("mnist") else { return };
    let (train, test) = (digits(&folder, "train"), digits(&folder, "t10k"));
    let Target::Classes { codes, .. } = test.target() else {
        panic!("no classes");
    };
    let runs: Vec<Vec<f64>> = (0..RUNS)
        .into_par_iter()
        .map(|seed| {
            let settings = Options {
                epochs: Some(10.0),
                rule: Some(Rule::Shuffled),
                no_intercept: true,
                seed,
                ..Options::of(Method::OnlinePerceptron)
            };
            let mut photographer = Photographer {
                after: PASSES.map(moment).to_vec(),
                pictures: Vec::new(),
            };
            fit(&train, &settings, &mut photographer).unwrap();
            photographer
                .pictures
                .iter()
                .map(|plane| error(test.design().iter().map(|x| plane.score(x)), codes))
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
    let Target::Classes { codes, .. } = test.target() else {
        panic!("no classes");
    };
    let settings = Options {
        epochs: Some(10.0),
        no_intercept: true,
        ..Options::of(Method::VotedPerceptron)
    };
    let model = fit(&train, &settings, &mut Unwatched).unwrap();
    assert_eq!(model.record().seen, 600_000);
    assert!(verify(&model, &train).unwrap().holds());
    let Predictor::Committee { committees } = model.predictor() else {
        panic!("no committee");
    };

    let after = PASSES.map(moment);
    let histories: Vec<Vec<(f64, f64)>> =
        (test.design().iter().map(|x| committees[0].history(x, &after))).collect();
    let voted = |k: usize| error(histories.iter().map(|history| history[k].1), codes);
    for (k, passes) in PASSES.into_iter().enumerate() {
        let found = voted(k);
        assert!(
            (found - VOTED[k]).abs() <= 0.004,
            "voted after {passes} passes: {found}"
        );
    }
    // The last entry of the history equals the prediction of the model.
    assert_eq!(evaluate(&model, &test).unwrap().error(), voted(5));

    // A run of a fraction of a pass is the beginning of the longer run.
    let short = Options {
        epochs: Some(0.1),
        ..settings
    };
    let short = fit(&train, &short, &mut Unwatched).unwrap();
    assert_eq!(evaluate(&short, &test).unwrap().error(), voted(0));
}
