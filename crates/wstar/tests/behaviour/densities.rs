//! Density estimates, compared with closed forms computed by hand, and with the same estimate from another storage,
//! from weights instead of repeated rows, and on other numbers of threads.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{real_data, sparse, with_rows};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use wstar::bayes::{self, DensitySettings, Estimate, Gaussian};
use wstar::certificate::maximum_likelihood::recompute;
use wstar::data::{Dataset, Design, Target};
use wstar::metrics;
use wstar::scoring::{self, Ask, Scorer, answer};

const ALL: [DensitySettings; 5] = [
    DensitySettings::GAUSSIAN,
    DensitySettings::LDA,
    DensitySettings::NAIVE_GAUSSIAN,
    DensitySettings::NAIVE_BERNOULLI,
    DensitySettings::NAIVE_MULTINOMIAL,
];

fn data(rows: &[(&str, &[f64])]) -> Dataset {
    let values: Vec<Vec<f64>> = rows.iter().map(|(_, row)| row.to_vec()).collect();
    let labels: Vec<&str> = rows.iter().map(|(label, _)| *label).collect();
    Dataset::labelled(&values, &labels).unwrap()
}

fn gaussian(data: &Dataset, settings: DensitySettings) -> Gaussian {
    match bayes::fit(data, &settings).unwrap() {
        Estimate::Gaussian(gaussian) => gaussian,
        other => panic!("{other:?}"),
    }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * b.abs().max(1.0)
}

fn log_joint(scorer: &Scorer, x: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; scorer.classes()];
    scorer.log_joint(wstar::data::Row::Dense64(x), &mut out);
    out
}

fn predictions(scorer: &Scorer, data: &Dataset) -> Vec<u32> {
    let penalties = bayes::Penalties::zero_one(scorer.classes());
    let posteriors = answer(scorer, data.design(), Ask::Probabilities, true).values;
    posteriors
        .chunks(scorer.classes())
        .map(|p| penalties.decide(p) as u32)
        .collect()
}

/// Counts, many of them 0, whose distributions differ slightly between the classes.
fn counts(seed: u64, n: usize, d: usize, classes: u32) -> Dataset {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (mut rows, mut labels) = (Vec::new(), Vec::new());
    for i in 0..n {
        let k = i as u32 % classes;
        rows.push(
            (0..d)
                .map(|j| {
                    let most = 2 + (j as u32 + k) % 3;
                    f64::from(random.random_range(0..=most)) * f64::from(random.random_range(0..2u32))
                })
                .collect::<Vec<f64>>(),
        );
        labels.push(k.to_string());
    }
    Dataset::labelled(&rows, &labels).unwrap()
}

#[test]
fn two_gaussians_by_hand() {
    // Class a: mean (2, 3/2), covariance [2 1; 1 5/4], determinant 3/2.
    // Class b: mean (11/2, 11/2), covariance ¼I.
    let data = data(&[
        ("a", &[0.0, 0.0]),
        ("a", &[2.0, 1.0]),
        ("a", &[4.0, 2.0]),
        ("a", &[2.0, 3.0]),
        ("b", &[5.0, 5.0]),
        ("b", &[6.0, 5.0]),
        ("b", &[5.0, 6.0]),
        ("b", &[6.0, 6.0]),
    ]);
    let estimate = gaussian(&data, DensitySettings::GAUSSIAN);
    assert_eq!(estimate.priors, [0.5, 0.5]);
    assert_eq!(estimate.means, [[2.0, 1.5], [5.5, 5.5]]);
    assert_eq!(estimate.covariances, [[2.0, 1.0, 1.25], [0.25, 0.0, 0.25]]);
    // At (2, 2): (0, ½)Σ⁻¹(0, ½)ᵀ = ¼·2/(3/2) = 1/3 for a, (3.5² + 3.5²)/¼ = 98 for b.
    let tau = std::f64::consts::TAU;
    let expected = [
        0.5f64.ln() - 0.5 * 1.5f64.ln() - tau.ln() - 1.0 / 6.0,
        0.5f64.ln() - 0.5 * (1.0f64 / 16.0).ln() - tau.ln() - 49.0,
    ];
    let found = log_joint(&estimate.scorer().unwrap(), &[2.0, 2.0]);
    assert!(
        close(found[0], expected[0]) && close(found[1], expected[1]),
        "{found:?}"
    );
    let mut posterior = found;
    scoring::normalize(&mut posterior);
    assert!(close(
        posterior[0],
        1.0 / (1.0 + (expected[1] - expected[0]).exp())
    ));

    let shared = gaussian(&data, DensitySettings::LDA);
    assert_eq!(shared.covariances, [[1.125, 0.5, 0.75]]);
    // Linear scores and log densities differ by a term that all classes share.
    let linear = log_joint(&shared.scorer().unwrap(), &[2.0, 2.0]);
    let full = log_joint(&Scorer::Quadratic(shared.densities().unwrap()), &[2.0, 2.0]);
    assert!(
        close(linear[1] - linear[0], full[1] - full[0]),
        "{linear:?} {full:?}"
    );
    // The textbook form wₖ = Σ⁻¹μₖ: the weights differ by Σ⁻¹(μ_b − μ_a), with Σ⁻¹ = [¾ −½; −½ 9/8]/(19/32).
    let (w, _) = shared.scorer().unwrap().linear().unwrap().hyperplane().unwrap();
    let determinant = 1.125 * 0.75 - 0.25;
    assert!(close(w[0], (0.75 * 3.5 - 0.5 * 4.0) / determinant));
    assert!(close(w[1], (-0.5 * 3.5 + 1.125 * 4.0) / determinant));
}

#[test]
fn with_equal_covariances_the_midpoint_is_on_the_boundary_and_quadratic_equals_linear() {
    let cloud = [[0.0, 0.0], [2.0, 1.0], [4.0, 2.0], [2.0, 3.0]];
    for offset in [0.0, 1e7] {
        let mut rows = Vec::new();
        for [x, y] in cloud {
            rows.push(vec![x + offset, y]);
        }
        for [x, y] in cloud {
            rows.push(vec![x + offset + 6.0, y - 2.0]);
        }
        let data = Dataset::labelled(&rows, &["a", "a", "a", "a", "b", "b", "b", "b"]).unwrap();
        let linear = gaussian(&data, DensitySettings::LDA).scorer().unwrap();
        let quadratic = gaussian(&data, DensitySettings::GAUSSIAN).scorer().unwrap();
        let midpoint = [2.0 + offset + 3.0, 1.5 - 1.0];
        let at = log_joint(&linear, &midpoint);
        assert!((at[1] - at[0]).abs() < 1e-7, "{at:?}");
        for x in [[1.0 + offset, 1.0], [9.0 + offset, -4.0], midpoint] {
            let (a, b) = (log_joint(&linear, &x), log_joint(&quadratic, &x));
            assert!(((a[1] - a[0]) - (b[1] - b[0])).abs() < 1e-7, "{a:?} {b:?}");
        }
    }
}

#[test]
fn bernoulli_and_multinomial_by_hand() {
    let data = data(&[
        ("ham", &[1.0, 0.0, 2.0]),
        ("spam", &[0.0, 3.0, 0.0]),
        ("spam", &[1.0, 1.0, 0.0]),
    ]);
    let Estimate::NaiveBernoulli(bernoulli) = bayes::fit(&data, &DensitySettings::NAIVE_BERNOULLI).unwrap()
    else {
        panic!("another family");
    };
    // (Nₖⱼ + 1) / (Nₖ + 2): ham 2/3, 1/3, 2/3; spam 2/4, 3/4, 1/4.
    let expected = [[2.0 / 3.0, 1.0 / 3.0, 2.0 / 3.0], [0.5, 0.75, 0.25]];
    for (k, row) in expected.iter().enumerate() {
        for (j, p) in row.iter().enumerate() {
            assert!(close(bernoulli.probability(k, j), *p));
        }
    }
    // (0, 5, 1) becomes no, yes, yes: ham ⅓·(⅓·⅓·⅔), spam ⅔·(½·¾·¼).
    let scores = log_joint(&bernoulli.scorer(), &[0.0, 5.0, 1.0]);
    assert!(close(scores[0], (2.0f64 / 81.0).ln()) && close(scores[1], (1.0f64 / 16.0).ln()));

    let Estimate::NaiveMultinomial(multinomial) =
        bayes::fit(&data, &DensitySettings::NAIVE_MULTINOMIAL).unwrap()
    else {
        panic!("another family");
    };
    // (Nₖⱼ + 1) / (Nₖ + 3): ham sums 1, 0, 2: 2/6, 1/6, 3/6; spam sums 1, 4, 0: 2/8, 5/8, 1/8.
    let expected = [[1.0 / 3.0, 1.0 / 6.0, 0.5], [0.25, 0.625, 0.125]];
    for (k, row) in expected.iter().enumerate() {
        for (j, p) in row.iter().enumerate() {
            assert!(close(multinomial.probability(k, j), *p));
        }
    }
    let scores = log_joint(&multinomial.scorer(), &[1.0, 2.0, 0.0]);
    assert!(close(scores[0], (1.0f64 / 3.0 / 3.0 / 36.0).ln()));
    assert!(close(scores[1], (2.0f64 / 3.0 * 0.25 * 0.625 * 0.625).ln()));
}

#[test]
fn naive_gaussian_by_hand() {
    // a: means (1, 5), variances (1, 0); b: means (4, 8), variances (1, 1).
    let data = data(&[
        ("a", &[0.0, 5.0]),
        ("a", &[2.0, 5.0]),
        ("b", &[3.0, 7.0]),
        ("b", &[5.0, 9.0]),
    ]);
    let Estimate::NaiveGaussian(naive) = bayes::fit(&data, &DensitySettings::NAIVE_GAUSSIAN).unwrap() else {
        panic!("another family");
    };
    assert_eq!(naive.means, [[1.0, 5.0], [4.0, 8.0]]);
    assert_eq!(naive.variances, [[1.0, 0.0], [1.0, 1.0]]);
    // Over all rows: x1 is 0, 2, 3, 5: mean 2.5, variance 3.25; x2 is 5, 5, 7, 9: mean 6.5, variance 2.75.
    let floor = 3.25e-9;
    assert!((naive.floor() - floor).abs() < 1e-20);
    let density = |x: f64, mean: f64, variance: f64| {
        -0.5 * (std::f64::consts::TAU * variance).ln() - (x - mean).powi(2) / (2.0 * variance)
    };
    let scores = log_joint(&naive.scorer(), &[1.5, 8.5]);
    let expected = [
        0.5f64.ln() + density(1.5, 1.0, 1.0 + floor) + density(8.5, 5.0, floor),
        0.5f64.ln() + density(1.5, 4.0, 1.0 + floor) + density(8.5, 8.0, 1.0 + floor),
    ];
    assert!(close(scores[0], expected[0]) && close(scores[1], expected[1]));
}

#[test]
fn a_singular_covariance_is_refused_with_its_columns() {
    let constant = data(&[
        ("a", &[0.0, 0.1, 1.0]),
        ("a", &[2.0, 0.1, 0.0]),
        ("a", &[1.0, 0.1, 5.0]),
        ("b", &[3.0, 0.3, 1.0]),
        ("b", &[5.0, 0.3, 2.0]),
    ]);
    for settings in [DensitySettings::GAUSSIAN, DensitySettings::LDA] {
        let error = bayes::fit(&constant, &settings).unwrap_err().to_string();
        assert!(error.contains("column x2 does not vary"), "{error}");
        assert!(error.contains("shrinkage = 1e-6"), "{error}");
    }
    let repeated = data(&[
        ("a", &[0.0, 0.0, 1.0]),
        ("a", &[2.0, 6.0, 0.0]),
        ("a", &[1.1, 3.3, 5.0]),
        ("a", &[1.7, 5.1, 7.0]),
        ("b", &[3.0, 9.0, 1.0]),
        ("b", &[5.3, 15.9, 2.0]),
    ]);
    for settings in [DensitySettings::GAUSSIAN, DensitySettings::LDA] {
        let error = bayes::fit(&repeated, &settings).unwrap_err().to_string();
        assert!(error.contains("column x2 is a linear combination"), "{error}");
    }
    let few = data(&[
        ("a", &[0.0, 1.0, 1.0]),
        ("a", &[2.0, 6.0, 0.0]),
        ("b", &[3.0, 9.0, 1.0]),
        ("b", &[5.0, 1.0, 2.0]),
        ("b", &[4.0, 1.0, 3.0]),
        ("b", &[3.0, 2.0, 7.0]),
    ]);
    let error = bayes::fit(&few, &DensitySettings::GAUSSIAN)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("class \"a\"") && error.contains("2 rows are too few for 3 columns"),
        "{error}"
    );
    for data in [constant, repeated, few] {
        for settings in [
            DensitySettings::Gaussian { shrinkage: 1e-6 },
            DensitySettings::Lda { shrinkage: 1e-6 },
        ] {
            let estimate = bayes::fit(&data, &settings).unwrap();
            estimate.check(3, 2).unwrap();
            let scorer = estimate.scorer().unwrap();
            assert!(scorer.log_joints(data.design()).iter().all(|s| s.is_finite()));
            let Target::Classes { codes, .. } = data.target() else {
                panic!()
            };
            assert_eq!(&predictions(&scorer, &data), codes);
        }
    }
}

#[test]
fn invalid_data_and_settings_are_refused() {
    let negative = data(&[("a", &[1.0, 2.0]), ("b", &[0.0, -3.0])]);
    let error = bayes::fit(&negative, &DensitySettings::NAIVE_MULTINOMIAL)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("row 1, column x2") && error.contains("-3"),
        "{error}"
    );
    let mut weighted = data(&[("a", &[1.0]), ("a", &[2.0]), ("b", &[0.0])]);
    for weights in [vec![1.0, -1.0, 1.0], vec![1.0, f64::NAN, 1.0], vec![1.0]] {
        assert!(weighted.clone().with_weights(weights).is_err());
    }
    weighted = weighted.with_weights(vec![1.0, 1.0, 0.0]).unwrap();
    for settings in ALL.iter().chain([&DensitySettings::Minimax]) {
        assert!(bayes::fit(&weighted, settings).is_err());
    }
    weighted = weighted.with_weights(None).unwrap();
    for settings in [
        DensitySettings::Lda { shrinkage: 1.5 },
        DensitySettings::Gaussian { shrinkage: f64::NAN },
        DensitySettings::NaiveBernoulli {
            alpha: 0.0,
            threshold: 0.0,
        },
        DensitySettings::NaiveBernoulli {
            alpha: 1.0,
            threshold: -1.0,
        },
        DensitySettings::NaiveMultinomial { alpha: f64::INFINITY },
        DensitySettings::NaiveGaussian { var_smoothing: -1.0 },
    ] {
        assert_eq!(
            bayes::fit(&weighted, &settings).unwrap_err().kind(),
            wstar::data::error::ErrorKind::Settings
        );
    }
    let wide = Design::from_csr(vec![0, 1, 2], vec![0, 5_999], vec![1.0, 1.0], 6_000).unwrap();
    let mut wide_data = data(&[("a", &[1.0]), ("b", &[0.0])]);
    wide_data = with_rows(wide_data, wide);
    let error = bayes::fit(&wide_data, &DensitySettings::LDA)
        .unwrap_err()
        .to_string();
    assert!(error.contains("too large") && error.contains("5000"), "{error}");
    assert!(bayes::fit(&wide_data, &DensitySettings::NAIVE_MULTINOMIAL).is_ok());
    let huge = data(&[("a", &[1.0, 2.0]), ("b", &[0.0, 1e200])]);
    for settings in ALL.iter().chain([&DensitySettings::Minimax]) {
        let error = bayes::fit(&huge, settings).unwrap_err().to_string();
        assert!(error.contains("row 1, column x2"), "{error}");
    }
    let single = data(&[("a", &[1.0]), ("a", &[2.0])]);
    assert!(bayes::fit(&single, &DensitySettings::LDA).is_err());
}

#[test]
fn an_estimate_survives_its_file_and_a_damaged_one_is_refused() {
    let data = counts(5, 60, 4, 3);
    for settings in ALL.iter().chain([&DensitySettings::Minimax]) {
        let estimate = bayes::fit(&data, settings).unwrap();
        assert_eq!(estimate.settings(), *settings);
        let text = serde_json::to_string(&estimate).unwrap();
        let read: Estimate = serde_json::from_str(&text).unwrap();
        assert_eq!(read, estimate);
        read.check(4, 3).unwrap();
        assert!(read.check(5, 3).is_err());
        assert!(read.check(4, 2).is_err());
        // With any array shortened or any number negated, the file must be rejected or be usable without a panic.
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        for (key, field) in value.as_object().unwrap() {
            let mut damaged = value.clone();
            damaged[key] = match field {
                serde_json::Value::Array(items) => items[1..].to_vec().into(),
                serde_json::Value::Number(_) => (-1.0).into(),
                _ => continue,
            };
            let read: Estimate = serde_json::from_value(damaged).unwrap();
            assert!(read.check(4, 3).is_err(), "{key}");
        }
    }
}

#[test]
fn the_recheck_accepts_the_estimate_and_rejects_a_changed_one() {
    let mut data = counts(11, 300, 5, 3);
    let weights: Vec<f64> = (0..300).map(|i| 0.25 + f64::from(i % 7)).collect();
    data = data.with_weights(weights).unwrap();
    for data in [data.clone(), sparse(&data)] {
        for settings in &ALL {
            let estimate = bayes::fit(&data, settings).unwrap();
            let agreement = recompute(&data, &estimate).unwrap();
            assert!(agreement.deviation < 1e-12, "{settings:?} {agreement:?}");
            let mut weights = data.weights().unwrap().to_vec();
            weights[17] += 0.5;
            let other = data.clone().with_weights(weights).unwrap();
            let changed = recompute(&other, &estimate).unwrap();
            assert!(changed.deviation > 1e-6, "{settings:?} {changed:?}");
        }
    }
}

/// The computed variance of a constant column is pure rounding error, in the fit and in the recomputation.
#[test]
fn the_recheck_tolerates_rounding_errors_of_constant_columns() {
    let mut data = counts(29, 70, 3, 2);
    let rows: Vec<Vec<f64>> = data
        .design()
        .iter()
        .map(|row| [row.to_dense(3), vec![0.1, 1e7]].concat())
        .collect();
    data = with_rows(data, Design::from_rows(&rows).unwrap());
    for data in [data.clone(), sparse(&data)] {
        for settings in [
            DensitySettings::Gaussian { shrinkage: 0.01 },
            DensitySettings::Lda { shrinkage: 0.01 },
            DensitySettings::NAIVE_GAUSSIAN,
        ] {
            let agreement = recompute(&data, &bayes::fit(&data, &settings).unwrap()).unwrap();
            assert!(agreement.deviation < 1e-9, "{settings:?} {agreement:?}");
        }
    }
}

/// Perturbed estimates have a smaller likelihood.
#[test]
fn the_likelihood_is_at_its_maximum() {
    let data = counts(13, 200, 3, 2);
    let estimate = gaussian(&data, DensitySettings::GAUSSIAN);
    let best = recompute(&data, &Estimate::Gaussian(estimate.clone()))
        .unwrap()
        .log_likelihood;
    // Closed form: Σ nₖ (ln πₖ − ½(d ln 2π + ln |Σₖ| + d)).
    let determinant = |c: &[f64]| {
        c[0] * (c[2] * c[5] - c[4] * c[4]) - c[1] * (c[1] * c[5] - c[4] * c[3])
            + c[3] * (c[1] * c[4] - c[2] * c[3])
    };
    let closed: f64 = (0..2)
        .map(|k| {
            let log_determinant = determinant(&estimate.covariances[k]).ln();
            100.0 * (0.5f64.ln() - 0.5 * (3.0 * (std::f64::consts::TAU.ln() + 1.0) + log_determinant))
        })
        .sum();
    assert!((best - closed).abs() < 1e-9 * closed.abs(), "{best} {closed}");
    for change in [-0.01, 0.01] {
        let mut moved = estimate.clone();
        moved.means[1][2] += change;
        assert!(
            recompute(&data, &Estimate::Gaussian(moved))
                .unwrap()
                .log_likelihood
                < best
        );
        let mut moved = estimate.clone();
        moved.covariances[0][3] += change;
        assert!(
            recompute(&data, &Estimate::Gaussian(moved))
                .unwrap()
                .log_likelihood
                < best
        );
        let mut moved = estimate.clone();
        moved.priors = vec![0.5 + change, 0.5 - change];
        assert!(
            recompute(&data, &Estimate::Gaussian(moved))
                .unwrap()
                .log_likelihood
                < best
        );
    }
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let data = counts(17, 20_000, 9, 3);
    let wide = counts(19, 700, 300, 2);
    let fits = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            let mut results = Vec::new();
            for settings in &ALL {
                for data in [&data, &wide] {
                    let settings = match settings {
                        DensitySettings::Gaussian { .. } => DensitySettings::Gaussian { shrinkage: 0.01 },
                        other => *other,
                    };
                    let estimate = bayes::fit(data, &settings).unwrap();
                    let scores = estimate.scorer().unwrap().log_joints(data.design());
                    results.push((estimate, scores));
                }
            }
            results
        })
    };
    let (one, two) = (fits(1), fits(2));
    assert_eq!(one, two);
}

/// Covariances of more columns than one tile, compared with the definition.
#[test]
fn wide_covariances_are_the_definition() {
    let data = counts(23, 600, 290, 2);
    let estimate = Estimate::Gaussian(gaussian(&data, DensitySettings::Lda { shrinkage: 0.0 }));
    assert!(recompute(&data, &estimate).unwrap().deviation < 1e-12);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn dense_equals_sparse_and_a_weight_is_a_repetition(
        seed in any::<u64>(),
        n in 40usize..400,
        d in 1usize..5,
        classes in 2u32..4,
    ) {
        let mut weighted = counts(seed, n, d, classes);
        let weights: Vec<usize> = (0..n).map(|i| 1 + (i / 3) % 3).collect();
        let numbers: Vec<f64> = weights.iter().map(|&w| w as f64).collect();
        weighted = weighted.with_weights(numbers).unwrap();
        let repetitions: Vec<usize> = (0..n).flat_map(|i| vec![i; weights[i]]).collect();
        let mut repeated = weighted.select(&repetitions);
        repeated = repeated.with_weights(None).unwrap();
        for settings in &ALL {
            let Ok(estimate) = bayes::fit(&weighted, settings) else { continue };
            let scores = estimate.scorer().unwrap().log_joints(weighted.design());
            for other in [&sparse(&weighted), &repeated, &sparse(&repeated)] {
                let estimate = bayes::fit(other, settings).unwrap();
                // Scored in its own storage, on the rows that both sets contain.
                let design = if other.design().is_sparse() { sparse(&weighted).design().clone() } else { weighted.design().clone() };
                let found = estimate.scorer().unwrap().log_joints(&design);
                for (a, b) in scores.iter().zip(&found) {
                    prop_assert!((a - b).abs() <= 1e-9 * a.abs().max(1.0), "{settings:?}: {a} {b}");
                }
            }
        }
    }
}

/// Known result: both discriminants misclassify 3 of the 150 flowers.
#[test]
fn iris_has_three_errors() {
    let Some(file) = real_data("toy/iris.csv") else {
        return;
    };
    let text = std::fs::read_to_string(file).unwrap();
    let (mut rows, mut labels) = (Vec::new(), Vec::new());
    for line in text.lines().skip(1) {
        let (row, label) = line.rsplit_once(',').unwrap();
        rows.push(
            row.split(',')
                .map(|cell| cell.parse::<f64>().unwrap())
                .collect::<Vec<_>>(),
        );
        labels.push(label);
    }
    let data = Dataset::labelled(&rows, &labels).unwrap();
    let (codes, _) = data.require_classes().unwrap();
    for settings in [DensitySettings::LDA, DensitySettings::GAUSSIAN] {
        let estimate = bayes::fit(&data, &settings).unwrap();
        let predicted = predictions(&estimate.scorer().unwrap(), &data);
        let errors = metrics::error(codes, &predicted, None).unwrap() * 150.0;
        assert_eq!(errors.round(), 3.0, "{settings:?}");
        assert!(recompute(&data, &estimate).unwrap().deviation < 1e-12);
    }
    // Known result: Gaussian naive Bayes misclassifies 6.
    let estimate = bayes::fit(&data, &DensitySettings::NAIVE_GAUSSIAN).unwrap();
    let predicted = predictions(&estimate.scorer().unwrap(), &data);
    assert_eq!(
        (metrics::error(codes, &predicted, None).unwrap() * 150.0).round(),
        6.0
    );
}
