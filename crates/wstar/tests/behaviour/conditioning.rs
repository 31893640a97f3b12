//! Numerically difficult data: for any column scales, dependent columns, few rows and unequal weights, a default fit
//! with a penalty reaches its gap, and `verify` agrees.
#![allow(clippy::unwrap_used, missing_docs)]

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use wstar::data::Dataset;
use wstar::data::run::{Status, Unwatched};
use wstar::fit;
use wstar::model::verify;
use wstar::problem::loss::LossName;
use wstar::problem::penalty::PenaltyName;
use wstar::settings::{Method, Options};

const LOSSES: [(Method, LossName); 7] = [
    (Method::Svm, LossName::Hinge),
    (Method::Svm, LossName::SquaredHinge),
    (Method::Logistic, LossName::Logistic),
    (Method::Softmax, LossName::Softmax),
    (Method::MseClassifier, LossName::Squared),
    (Method::LeastSquares, LossName::Squared),
    (Method::Lad, LossName::Absolute),
];
const PENALTIES: [PenaltyName; 3] = [PenaltyName::L2, PenaltyName::L1, PenaltyName::ElasticNet];
const CS: [f64; 6] = [1e-5, 1e5, 3e-2, 40.0, 2e3, 1.0];

/// The numerical difficulty of a set.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Flaw {
    /// Column scales from 1e-6 to 1e6; some columns are far from 0.
    Scales,
    /// The same scales, with fewer rows than columns.
    FewRows,
    /// Columns that differ in the eighth digit.
    NearlyCollinear,
    /// A duplicate column and a constant column.
    Dependent,
    /// Weights from 1e-5 to 1e5.
    Weights,
    /// Separable classes and a target without noise, on columns of all scales.
    Noiseless,
}

/// A random set with one difficulty.
struct Set {
    rows: Vec<Vec<f64>>,
    /// The values from which the target or the classes are made.
    scores: Vec<f64>,
    weights: Option<Vec<f64>>,
}

impl Set {
    fn new(flaw: Flaw, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut uniform = move || random.random::<f64>();
        let (rows, features) = match flaw {
            Flaw::FewRows => (18, 60),
            Flaw::Noiseless => (40, 25),
            _ => (60, 12),
        };
        let mut normal = {
            let mut random = ChaCha8Rng::seed_from_u64(seed + 1000);
            move || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
        };
        let scaled = matches!(flaw, Flaw::Scales | Flaw::FewRows | Flaw::Noiseless);
        let columns: Vec<(f64, f64)> = (0..features)
            .map(|_| match scaled {
                // Both ends of the range are included.
                true => (
                    [1e-6, 1e6, 1.0, 10f64.powf(12.0 * uniform() - 6.0)][(4.0 * uniform()) as usize],
                    [0.0, 0.0, 100.0, -5.0][(4.0 * uniform()) as usize],
                ),
                false => (1.0, 0.0),
            })
            .collect();
        let truth: Vec<f64> = (0..features).map(|_| normal()).collect();
        let noise = if flaw == Flaw::Noiseless { 0.0 } else { 1.0 };
        let (mut all, mut scores) = (Vec::new(), Vec::new());
        for _ in 0..rows {
            let x: Vec<f64> = (0..features).map(|_| normal()).collect();
            scores.push(x.iter().zip(&truth).map(|(x, w)| x * w).sum::<f64>() + noise * normal());
            let mut row: Vec<f64> = x.iter().zip(&columns).map(|(x, (c, s))| c * (x + s)).collect();
            match flaw {
                Flaw::NearlyCollinear => (1..6).for_each(|j| row[j] = row[0] + 1e-8 * x[j]),
                Flaw::Dependent => (row[1], row[2]) = (row[0], 3.0),
                _ => {}
            }
            all.push(row);
        }
        let weights =
            (flaw == Flaw::Weights).then(|| (0..rows).map(|_| 10f64.powf(10.0 * uniform() - 5.0)).collect());
        Set {
            rows: all,
            scores,
            weights,
        }
    }

    fn data(&self, method: Method) -> Dataset {
        let data = if method.is_regression() {
            Dataset::measured(&self.rows, self.scores.clone()).unwrap()
        } else {
            let ends: &[f64] = match method {
                Method::Softmax => &[-2.0, 1.0],
                _ => &[0.0],
            };
            let class = |score: &f64| format!("c{}", ends.iter().filter(|end| score > end).count());
            let labels: Vec<String> = self.scores.iter().map(class).collect();
            Dataset::labelled(&self.rows, &labels).unwrap()
        };
        data.with_weights(self.weights.clone()).unwrap()
    }
}

/// Describes the failure of a default fit, if it failed.
fn failure(data: &Dataset, settings: &Options) -> Option<String> {
    let model = fit(data, settings, &mut Unwatched).unwrap();
    if model.record().status != Status::Converged || !model.certificate().holds() {
        return Some(format!("{:?} {:?}", model.record(), model.certificate()));
    }
    let verdict = verify(&model, data).unwrap();
    (!verdict.holds()).then(|| format!("{:?}", verdict.objections()))
}

fn check(flaw: Flaw, seeds: std::ops::Range<u64>) {
    let mut failures = Vec::new();
    let mut fits = 0;
    for seed in seeds {
        let set = Set::new(flaw, seed);
        for (method, loss) in LOSSES {
            let data = set.data(method);
            for penalty in PENALTIES {
                for intercept in 0..3 {
                    let settings = Options {
                        loss: Some(loss),
                        penalty: Some(penalty),
                        c: Some(CS[fits % CS.len()]),
                        no_intercept: intercept == 1,
                        penalize_intercept: intercept == 2,
                        ..Options::of(method)
                    };
                    // Each combination of loss and penalty is fitted with each C.
                    fits += 1 + usize::from(intercept == 2);
                    if let Some(failure) = failure(&data, &settings) {
                        let mut failure = failure;
                        failure.truncate(600);
                        failures.push(format!(
                            "seed {seed}, {loss:?}, {penalty:?}, C {:?}, intercept {intercept}: {failure}",
                            settings.c
                        ));
                    }
                }
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} failed:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn columns_of_all_sizes() {
    check(Flaw::Scales, 0..3);
}

#[test]
fn fewer_rows_than_columns() {
    check(Flaw::FewRows, 0..3);
}

#[test]
fn nearly_collinear_columns() {
    check(Flaw::NearlyCollinear, 0..3);
}

#[test]
fn a_column_twice_and_a_constant_one() {
    check(Flaw::Dependent, 0..2);
}

#[test]
fn weights_over_ten_orders() {
    check(Flaw::Weights, 0..3);
}

#[test]
fn no_noise() {
    check(Flaw::Noiseless, 0..3);
}
