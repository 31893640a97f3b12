//! Standard errors, tests and information criteria of unpenalised fits, compared with published numbers and identities.
#![allow(clippy::unwrap_used, clippy::excessive_precision, clippy::needless_range_loop)]

use std::borrow::Cow;

use wstar::data::Design;
use wstar::data::linear::Layout;
use wstar::inference::{self, Inference, TestDistribution};
use wstar::problem::objective::{Rows, Weights};

fn rows<'a>(design: &'a Design, targets: &'a [f64], weights: Option<&'a [f64]>) -> Rows<'a> {
    Rows {
        design,
        targets: Cow::Borrowed(targets),
        weights: weights.map_or(Weights::Same(1.0), |weights| {
            Weights::Each(Cow::Borrowed(weights))
        }),
    }
}

fn layout(features: usize) -> Layout {
    Layout {
        outputs: 1,
        features,
        intercept: true,
    }
}

/// Solves Ax = b by Gaussian elimination.
fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for k in 0..n {
        let pivot = (k..n)
            .max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs()))
            .unwrap();
        a.swap(k, pivot);
        b.swap(k, pivot);
        for i in k + 1..n {
            let factor = a[i][k] / a[k][k];
            for j in k..n {
                a[i][j] -= factor * a[k][j];
            }
            b[i] -= factor * b[k];
        }
    }
    for k in (0..n).rev() {
        for j in k + 1..n {
            b[k] -= a[k][j] * b[j];
        }
        b[k] /= a[k][k];
    }
    b
}

/// Iteratively reweighted least squares; returns the weights, then the intercept.
fn maximum_likelihood(x: &[Vec<f64>], y: &[f64], weights: &[f64]) -> Vec<f64> {
    let p = x[0].len() + 1;
    let scale: Vec<f64> = (0..p)
        .map(|j| {
            x.iter()
                .map(|row| row.get(j).map_or(1.0, |v| v.abs()))
                .fold(1e-300, f64::max)
        })
        .collect();
    let lifted: Vec<Vec<f64>> = x
        .iter()
        .map(|row| {
            let ones = row.iter().chain(&[1.0]).zip(&scale);
            ones.map(|(v, s)| v / s).collect()
        })
        .collect();
    let mut at = vec![0.0; p];
    for _ in 0..30 {
        let mut hessian = vec![vec![0.0; p]; p];
        let mut gradient = vec![0.0; p];
        for ((row, y), c) in lifted.iter().zip(y).zip(weights) {
            let z: f64 = row.iter().zip(&at).map(|(a, b)| a * b).sum();
            let share = 1.0 / (1.0 + (-z).exp());
            let truth = f64::from(u8::from(*y > 0.0));
            for j in 0..p {
                gradient[j] += c * (truth - share) * row[j];
                for k in 0..p {
                    hessian[j][k] += c * share * (1.0 - share) * row[j] * row[k];
                }
            }
        }
        let step = solve(hessian, gradient);
        at.iter_mut().zip(&step).for_each(|(at, step)| *at += step);
    }
    at.iter().zip(&scale).map(|(w, s)| w / s).collect()
}

/// The ISLR Default data: (student, balance, income) and ±1.
fn default_data() -> Option<(Vec<Vec<f64>>, Vec<f64>)> {
    let text = std::fs::read_to_string(crate::common::real_data("islr/Default.csv")?).unwrap();
    let mut lines = text
        .lines()
        .map(|line| line.split(',').map(|v| v.trim_matches('"')).collect());
    let header: Vec<&str> = lines.next().unwrap();
    let at = |name: &str| header.iter().position(|&h| h == name).unwrap();
    let (default, student, balance, income) = (at("default"), at("student"), at("balance"), at("income"));
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for line in lines {
        let line: Vec<&str> = line;
        let student = f64::from(u8::from(line[student] == "Yes"));
        x.push(vec![
            student,
            line[balance].parse().unwrap(),
            line[income].parse().unwrap(),
        ]);
        y.push(if line[default] == "Yes" { 1.0 } else { -1.0 });
    }
    Some((x, y))
}

fn logistic(x: &[Vec<f64>], y: &[f64]) -> Inference {
    let design = Design::from_rows(x).unwrap();
    let at = maximum_likelihood(x, y, &vec![1.0; y.len()]);
    inference::logistic(&rows(&design, y, None), layout(x[0].len()), &at, 0.95).unwrap()
}

#[track_caller]
fn near(found: f64, known: f64, within: f64) {
    assert!((found - known).abs() <= within, "{found}, not {known} ± {within}");
}

#[test]
fn default_by_balance_is_as_published() {
    let Some((x, y)) = default_data() else { return };
    let balance: Vec<Vec<f64>> = x.iter().map(|row| vec![row[1]]).collect();
    let found = logistic(&balance, &y);
    assert_eq!(found.kind(), TestDistribution::Z);
    // An Introduction to Statistical Learning, table 4.1: −10.6513 (0.3612, −29.5), 0.0055 (0.0002, 24.9).
    let [weight, intercept] = found.coefficients()[..] else {
        panic!("two coefficients")
    };
    near(intercept.estimate(), -10.6513, 5e-5);
    near(intercept.standard_error(), 0.3612, 5e-5);
    near(intercept.statistic().unwrap(), -29.5, 0.05);
    near(weight.estimate(), 0.0054989, 5e-8);
    near(weight.standard_error(), 2.204e-4, 5e-8);
    near(weight.statistic().unwrap(), 24.95, 0.01);
    assert!(weight.p_value().unwrap() < 1e-130 && weight.p_value().unwrap() > 0.0);
    assert!(intercept.p_value().unwrap() < 1e-180 && intercept.p_value().unwrap() > 0.0);
    // R: glm(default ~ balance, binomial, Default): residual deviance 1596.5 on 9998, AIC 1600.5.
    near(-2.0 * found.log_likelihood().unwrap(), 1596.5, 0.05);
    near(found.aic().unwrap(), 1600.5, 0.05);
    near(
        found.bic().unwrap(),
        found.aic().unwrap() - 4.0 + 2.0 * 10_000f64.ln(),
        1e-9,
    );
    assert_eq!(found.degrees_of_freedom(), 9998.0);
    near(
        weight.upper() - weight.lower(),
        2.0 * 1.959964 * weight.standard_error(),
        1e-9,
    );
}

#[test]
fn default_by_all_three_is_as_published() {
    let Some((x, y)) = default_data() else { return };
    let found = logistic(&x, &y);
    // Table 4.3, and R's summary: AIC 1579.5.
    let known = [
        (-0.6468, 5e-5, 0.2363, 5e-5),
        (0.005737, 5e-7, 2.319e-4, 5e-8),
        (3.033e-6, 5e-10, 8.203e-6, 5e-10),
        (-10.869, 5e-4, 0.4923, 5e-5),
    ];
    for (found, (estimate, within, error, error_within)) in found.coefficients().iter().zip(known) {
        near(found.estimate(), estimate, within);
        near(found.standard_error(), error, error_within);
    }
    near(found.coefficients()[0].p_value().unwrap(), 0.00619, 5e-6);
    // R stops slightly early, which affects the last digit of this value.
    near(found.coefficients()[2].p_value().unwrap(), 0.71152, 1e-5);
    near(found.aic().unwrap(), 1579.5, 0.05);
}

#[test]
fn longley_is_as_published() {
    let Some(folder) = crate::common::real_data("nist") else {
        return;
    };
    let text = std::fs::read_to_string(folder.join("longley.csv")).unwrap();
    let table: Vec<Vec<f64>> = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').map(|v| v.parse().unwrap()).collect())
        .collect();
    let design = Design::from_rows(&table.iter().map(|row| row[1..].to_vec()).collect::<Vec<_>>()).unwrap();
    let y: Vec<f64> = table.iter().map(|row| row[0]).collect();
    let at = [
        15.061872271373294970,
        -0.035819179292591016617,
        -2.0202298038168250857,
        -1.0332268671735919755,
        -0.051104105653580714471,
        1829.1514646135518452,
        -3482258.6345958183253,
    ];
    let found = inference::least_squares(&rows(&design, &y, None), layout(6), &at, 0.95).unwrap();
    assert_eq!(found.kind(), TestDistribution::T);
    // NIST's certified F statistic, on 6 and 9 degrees of freedom.
    let f = found.f_test().unwrap();
    near(f.statistic(), 330.285339234588, 1e-9);
    assert_eq!((f.explained(), f.residual()), (6, 9.0));
    near(f.p_value(), 4.984e-10, 1e-13);
    // R's summary(lm(…)) of these data: t, Pr(>|t|), adjusted R², and AIC counting σ.
    near(found.coefficients()[6].statistic().unwrap(), -3.911, 5e-4);
    near(found.coefficients()[6].p_value().unwrap(), 0.003560, 5e-7);
    near(found.coefficients()[2].statistic().unwrap(), -4.136, 5e-4);
    near(found.coefficients()[2].p_value().unwrap(), 0.002535, 5e-7);
    near(found.adjusted_r_squared().unwrap(), 0.9925, 5e-5);
    let rss: f64 = 836424.05550591462250;
    let log_likelihood = -8.0 * ((2.0 * std::f64::consts::PI * rss / 16.0).ln() + 1.0);
    near(found.log_likelihood().unwrap(), log_likelihood, 1e-9);
    near(found.aic().unwrap(), -2.0 * log_likelihood + 16.0, 1e-9);
    near(
        found.bic().unwrap(),
        -2.0 * log_likelihood + 8.0 * 16f64.ln(),
        1e-9,
    );
    // R: confint(lm(…)) for the year: 798.7875 … 2859.5155.
    near(found.coefficients()[5].lower(), 798.7875, 5e-3);
    near(found.coefficients()[5].upper(), 2859.5155, 5e-3);
    // The result survives serialisation.
    let text = serde_json::to_string(&found).unwrap();
    assert_eq!(serde_json::from_str::<Inference>(&text).unwrap(), found);
    assert!(text.contains("\"kind\":\"t\""));
}

#[test]
fn a_weight_of_two_is_the_row_twice_and_a_weight_of_zero_no_row() {
    let x: Vec<Vec<f64>> = (0..12)
        .map(|i| vec![f64::from(i), f64::from(i * i % 7)])
        .collect();
    let y: Vec<f64> = (0..12).map(|i| if i * 5 % 11 > 4 { 1.0 } else { -1.0 }).collect();
    let weights: Vec<f64> = (0..12).map(|i| f64::from(i % 3)).collect();
    let repeated: Vec<usize> = (0..12).flat_map(|i| vec![i; i % 3]).collect();
    let again: Vec<Vec<f64>> = repeated.iter().map(|&i| x[i].clone()).collect();
    let y_again: Vec<f64> = repeated.iter().map(|&i| y[i]).collect();
    let (design, design_again) = (Design::from_rows(&x).unwrap(), Design::from_rows(&again).unwrap());
    let at = [0.1, -0.2, 0.3];
    for statistics in [inference::least_squares, inference::logistic] {
        let weighted = statistics(&rows(&design, &y, Some(&weights)), layout(2), &at, 0.9).unwrap();
        let copied = statistics(&rows(&design_again, &y_again, None), layout(2), &at, 0.9).unwrap();
        for (a, b) in weighted.coefficients().iter().zip(copied.coefficients()) {
            near(a.standard_error() / b.standard_error(), 1.0, 1e-13);
            near(a.lower(), b.lower(), 1e-12);
            near(a.p_value().unwrap(), b.p_value().unwrap(), 1e-12);
        }
        assert_eq!(weighted.degrees_of_freedom(), copied.degrees_of_freedom());
        near(weighted.aic().unwrap(), copied.aic().unwrap(), 1e-10);
        near(weighted.bic().unwrap(), copied.bic().unwrap(), 1e-10);
    }
}

#[test]
fn invalid_statistics_have_a_reason() {
    let twice: Vec<Vec<f64>> = (0..8).map(|i| vec![f64::from(i), f64::from(2 * i)]).collect();
    let design = Design::from_rows(&twice).unwrap();
    let y = [1.0, -1.0, 1.0, 1.0, -1.0, -1.0, 1.0, -1.0];
    let rows_of = |design| rows(design, &y, None);
    let at = [0.1, 0.1, 0.1];
    let reason = inference::least_squares(&rows_of(&design), layout(2), &at, 0.95).unwrap_err();
    assert!(reason.contains("rank 2 of 3"), "{reason}");
    let reason = inference::logistic(&rows_of(&design), layout(2), &at, 0.95).unwrap_err();
    assert!(reason.contains("singular"), "{reason}");
    assert!(inference::logistic(&rows_of(&design), layout(2), &at, 1.0).is_err());
    let square = Design::from_rows(&[vec![1.0, 0.0], vec![0.0, 1.0], vec![1.0, 2.0]]).unwrap();
    let few = rows(&square, &y[..3], None);
    let reason = inference::least_squares(&few, layout(2), &at, 0.95).unwrap_err();
    assert!(reason.contains("no degrees of freedom"), "{reason}");
    // A perfect fit: standard error 0, no test, an interval of length 0.
    let line = Design::from_rows(&(0..5).map(|i| vec![f64::from(i)]).collect::<Vec<_>>()).unwrap();
    let targets: Vec<f64> = (0..5).map(|i| 2.0 * f64::from(i) + 1.0).collect();
    let perfect =
        inference::least_squares(&rows(&line, &targets, None), layout(1), &[2.0, 1.0], 0.95).unwrap();
    assert_eq!(perfect.coefficients()[0].standard_error(), 0.0);
    assert_eq!(perfect.coefficients()[0].p_value(), None);
    assert_eq!((perfect.log_likelihood(), perfect.r_squared()), (None, Some(1.0)));
}
