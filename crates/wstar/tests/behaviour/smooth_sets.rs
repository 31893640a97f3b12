//! Small random problems in every storage, for the tests of objectives and smooth solvers.
#![allow(dead_code, clippy::unwrap_used)]

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use wstar::data::{Csr, Dense, Design};
use wstar::problem::loss::LossName;
use wstar::problem::objective::{Rows, Weights};

/// The smooth losses.
pub(crate) const LOSSES: [LossName; 5] = [
    LossName::Logistic,
    LossName::Squared,
    LossName::SquaredHinge,
    LossName::Softmax,
    LossName::SigmoidMse,
];

/// Rows with targets that are valid for the loss.
#[derive(Debug, Clone)]
pub(crate) struct Set {
    pub(crate) loss: LossName,
    pub(crate) x: Vec<Vec<f64>>,
    pub(crate) targets: Vec<f64>,
    pub(crate) weights: Vec<f64>,
}

impl Set {
    pub(crate) fn outputs(&self) -> usize {
        if self.loss == LossName::Softmax { 3 } else { 1 }
    }

    pub(crate) fn features(&self) -> usize {
        self.x[0].len()
    }

    pub(crate) fn rows<'a>(&'a self, design: &'a Design) -> Rows<'a> {
        Rows {
            design,
            targets: (&self.targets).into(),
            weights: Weights::Each((&self.weights).into()),
        }
    }
}

/// A random set: entries exact in f32, a quarter of them 0; targets from a linear model with noise, so that the
/// classes overlap.
pub(crate) fn set(seed: u64, loss: LossName, rows: usize, features: usize) -> Set {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut number = |from: f64, to: f64| f64::from(random.random_range(from..to) as f32);
    let truth: Vec<f64> = (0..3 * features).map(|_| number(-1.0, 1.0)).collect();
    let mut set = Set {
        loss,
        x: Vec::new(),
        targets: Vec::new(),
        weights: Vec::new(),
    };
    for i in 0..rows {
        let x: Vec<f64> = (0..features)
            .map(|_| {
                if number(0.0, 1.0) < 0.25 {
                    0.0
                } else {
                    number(-2.0, 2.0)
                }
            })
            .collect();
        let score = |k: usize| -> f64 {
            let w = &truth[k * features..(k + 1) * features];
            x.iter().zip(w).map(|(x, w)| x * w).sum()
        };
        let noisy: Vec<f64> = (0..3).map(|k| score(k) + number(-2.5, 2.5)).collect();
        set.targets.push(match loss {
            LossName::Squared | LossName::Absolute => noisy[0],
            LossName::Softmax => {
                // The first rows ensure that every class occurs.
                let largest = (0..3).fold(0, |best, k| if noisy[k] > noisy[best] { k } else { best });
                if i < 3 { i as f64 } else { largest as f64 }
            }
            _ if i < 2 => 2.0 * i as f64 - 1.0,
            _ => noisy[0].signum(),
        });
        set.weights.push(number(0.2, 2.0));
        set.x.push(x);
    }
    set
}

/// The storage of a design.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Storage {
    Dense32,
    Dense64,
    Sparse32,
    Sparse64,
}

impl Storage {
    pub(crate) const ALL: [Storage; 4] = [
        Storage::Dense32,
        Storage::Dense64,
        Storage::Sparse32,
        Storage::Sparse64,
    ];
}

/// The rows in the given storage. With 32 bits, every entry must be exact.
pub(crate) fn in_storage(x: &[Vec<f64>], storage: Storage) -> Design {
    let features = x[0].len();
    let all = x.concat();
    if matches!(storage, Storage::Dense32 | Storage::Sparse32) {
        assert!(all.iter().all(|&v| f64::from(v as f32) == v), "not exact in f32");
    }
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in x {
        for (j, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(j as u32);
            values.push(v);
        }
        starts.push(values.len());
    }
    let narrow = |values: &[f64]| -> Vec<f32> { values.iter().map(|&v| v as f32).collect() };
    match storage {
        Storage::Dense32 => Design::Dense32(Dense::new(narrow(&all), x.len(), features).unwrap()),
        Storage::Dense64 => Design::Dense64(Dense::new(all, x.len(), features).unwrap()),
        Storage::Sparse32 => Design::Sparse32(Csr::new(starts, indices, narrow(&values), features).unwrap()),
        Storage::Sparse64 => Design::Sparse64(Csr::new(starts, indices, values, features).unwrap()),
    }
}
