//! Estimates and likelihoods against exact arithmetic.

use crate::densities::Recomputed;
use crate::json::{Node, parse};
use crate::mutant::{Mutant, with};
use crate::tests::exact::{Big, abs, big, dot, rounded, solve_symmetric, zero};
use crate::tests::random_problems::Random;
use crate::tests::random_rows::{contains, random, rows};
use crate::training_rows::TrainingRows;

fn found(
    data: &TrainingRows,
    classes: usize,
    estimate: &str,
) -> (crate::arithmetic::Interval, crate::arithmetic::Interval) {
    let document = parse(estimate).unwrap();
    let found = Recomputed::new(data, classes, &Node::root(&document)).unwrap();
    (found.deviation, found.log_likelihood)
}

#[test]
fn estimates_by_hand() {
    // Means 1 and 4, variances 1 and 4, one column.
    let data = rows(
        &[vec![0.0], vec![2.0], vec![2.0], vec![6.0]],
        &[0.0, 0.0, 1.0, 1.0],
        None,
        false,
    );
    let own = r#"{"density":"gaussian","priors":[0.5,0.5],"means":[[1],[4]],"covariances":[[1],[4]],"shared":false,"shrinkage":0}"#;
    // Σ log N = −½(4·log 2π + 2·log 1 + 2·log 4 + 4).
    let log_tau = std::f64::consts::TAU.ln();
    let expected = 4.0 * 0.5f64.ln() - 0.5 * (4.0 * log_tau + 2.0 * 4f64.ln() + 4.0);
    let (deviation, likelihood) = found(&data, 2, own);
    assert!(
        deviation.hi < 1e-14
            && likelihood.lo <= expected
            && expected <= likelihood.hi
            && likelihood.hi - likelihood.lo < 1e-12
    );
    let (deviation, _) = found(
        &data,
        2,
        &own.replace("[[1],[4]],\"shared\"", "[[1],[5]],\"shared\""),
    );
    assert!(deviation.lo <= 0.25 && 0.25 <= deviation.hi && deviation.hi < 0.2500001);
    let shared = own.replace("[[1],[4]],\"shared\":false", "[[2.5]],\"shared\":true");
    assert!(found(&data, 2, &shared).0.hi < 1e-14);
    let naive = r#"{"density":"naive-gaussian","priors":[0.5,0.5],"means":[[1],[4]],"variances":[[1],[4]],"var_smoothing":0}"#;
    let (deviation, likelihood) = found(&data, 2, naive);
    assert!(deviation.hi < 1e-14 && likelihood.lo <= expected && expected <= likelihood.hi);
    // Counts above 1: 1 of 2, and 2 of 2; with α = 1 the probabilities 2/4 and 3/4.
    let bernoulli =
        r#"{"density":"naive-bernoulli","totals":[2,2],"counts":[[1],[2]],"alpha":1,"threshold":1}"#;
    let (deviation, likelihood) = found(&data, 2, bernoulli);
    let expected = 4.0 * 0.5f64.ln() + 2.0 * 0.5f64.ln() + 2.0 * 0.75f64.ln();
    assert!(deviation.hi < 1e-15 && likelihood.lo <= expected && expected <= likelihood.hi);
    let multinomial = r#"{"density":"naive-multinomial","totals":[2,2],"counts":[[2],[8]],"alpha":1}"#;
    let (deviation, likelihood) = found(&data, 2, multinomial);
    assert!(deviation.hi < 1e-15 && likelihood.lo <= 4.0 * 0.5f64.ln() && 4.0 * 0.5f64.ln() <= likelihood.hi);
    // A covariance that is not positive definite has no likelihood.
    let (_, likelihood) = found(
        &data,
        2,
        &own.replace("[[1],[4]],\"shared\"", "[[1],[-4]],\"shared\""),
    );
    assert_eq!(likelihood.hi, f64::INFINITY);
}

/// The exact largest deviation and log-likelihood of Gaussians.
fn exact(
    data: &TrainingRows,
    x: &[Vec<f64>],
    priors: &[f64],
    means: &[Vec<f64>],
    covariances: &[Vec<f64>],
    shrinkage: f64,
) -> (f64, Big) {
    let (p, classes) = (x[0].len(), means.len());
    let members = |k: usize| data.counting().filter(move |&i| data.targets[i] as usize == k);
    let weight = |i: usize| big(data.weight(i));
    let totals: Vec<Big> = (0..classes)
        .map(|k| members(k).fold(zero(), |sum, i| sum + weight(i)))
        .collect();
    let all = totals.iter().fold(zero(), |sum, total| sum + total);
    let mean =
        |k: usize, j: usize| members(k).fold(zero(), |sum, i| sum + weight(i) * big(x[i][j])) / &totals[k];
    let mu: Vec<Vec<Big>> = (0..classes)
        .map(|k| (0..p).map(|j| mean(k, j)).collect())
        .collect();
    let mut worst = zero();
    let mut compare = |stored: f64, defined: &Big, scale: &Big| {
        let size = if abs(defined) > *scale {
            abs(defined)
        } else {
            scale.clone()
        };
        let difference = abs(&(big(stored) - defined));
        if difference > zero() && &difference / &size > worst {
            worst = &difference / &size;
        }
    };
    let mut likelihood = zero();
    for (matrix, covariance) in covariances.iter().enumerate() {
        let shared = covariances.len() < classes;
        let of: Vec<usize> = if shared {
            (0..classes).collect()
        } else {
            vec![matrix]
        };
        let total = of.iter().fold(zero(), |sum, &k| sum + &totals[k]);
        let about = |centre: &dyn Fn(usize, usize) -> Big, a: usize, b: usize| {
            let term = |k: usize, i: usize| {
                weight(i) * (big(x[i][a]) - centre(k, a)) * (big(x[i][b]) - centre(k, b))
            };
            of.iter()
                .fold(zero(), |sum, &k| members(k).fold(sum, |sum, i| sum + term(k, i)))
        };
        let defined = |a: usize, b: usize| about(&|k, j| mu[k][j].clone(), a, b) / &total;
        let scale: Vec<Big> = (0..p)
            .map(|j| {
                let largest = mu.iter().fold(
                    zero(),
                    |size, mu| if abs(&mu[j]) > size { abs(&mu[j]) } else { size },
                );
                let (deviation, least) = (defined(j, j).sqrt(), largest * big(1e-8));
                if deviation > least { deviation } else { least }
            })
            .collect();
        let mut sigma = vec![vec![zero(); p]; p];
        let trace = (0..p).fold(zero(), |sum, a| sum + big(covariance[a * (a + 3) / 2]));
        let mut trace_term = zero();
        for a in 0..p {
            for b in 0..p {
                let stored = covariance[a.max(b) * (a.max(b) + 1) / 2 + a.min(b)];
                sigma[a][b] = (big(1.0) - big(shrinkage)) * big(stored);
                if a == b {
                    sigma[a][a] = &sigma[a][a] + big(shrinkage) * &trace / big(p as f64);
                }
                if b <= a {
                    compare(stored, &defined(a, b), &(&scale[a] * &scale[b]));
                }
            }
            of.iter()
                .for_each(|&k| compare(means[k][a], &mu[k][a], &scale[a]));
        }
        // Columns of G by solving, and the determinant by elimination.
        for b in 0..p {
            let column: Vec<Big> = (0..p).map(|a| about(&|k, j| big(means[k][j]), a, b)).collect();
            trace_term = trace_term + &solve_symmetric(sigma.clone(), column).unwrap()[b];
        }
        let mut determinant = big(1.0);
        let mut a = sigma;
        for k in 0..p {
            determinant = determinant * &a[k][k];
            for i in k + 1..p {
                let factor = &a[i][k] / &a[k][k];
                for j in k..p {
                    let product = &factor * &a[k][j];
                    a[i][j] = &a[i][j] - product;
                }
            }
        }
        let tau = big(std::f64::consts::TAU) + big(2.4492935982947064e-16);
        likelihood =
            likelihood - big(0.5) * (&total * (big(p as f64) * tau.ln() + determinant.ln()) + trace_term);
    }
    for (k, prior) in priors.iter().enumerate() {
        compare(*prior, &(&totals[k] / &all), &zero());
        likelihood = likelihood + &totals[k] * big(*prior).ln();
    }
    (rounded(&worst), likelihood)
}

fn json(table: &[Vec<f64>]) -> String {
    format!("{table:?}")
}

/// Estimates in doubles, perturbed, and compared: the number of comparisons, and of intervals that are wrong.
fn compare() -> (usize, usize) {
    let (mut compared, mut wrong) = (0, 0);
    for seed in 0..80 {
        let mut source = Random(seed);
        let (data, x) = random(&mut source, 3);
        let (p, shared, shrinkage) = (x[0].len(), source.below(2) == 0, source.pick(&[0.0, 0.1]));
        let error = source.pick(&[0.0, 1e-12, 1e-3]);
        let totals: Vec<f64> = (0..3)
            .map(|k| {
                data.counting()
                    .filter(|&i| data.targets[i] as usize == k)
                    .map(|i| data.weight(i))
                    .sum()
            })
            .collect();
        let all: f64 = totals.iter().sum();
        let priors: Vec<f64> = totals.iter().map(|total| total / all).collect();
        let mut means = vec![vec![0.0; p]; 3];
        for i in data.counting() {
            let k = data.targets[i] as usize;
            (0..p).for_each(|j| means[k][j] += data.weight(i) * x[i][j] / totals[k]);
        }
        let mut covariances = vec![vec![0.0; p * (p + 1) / 2]; if shared { 1 } else { 3 }];
        for i in data.counting() {
            let k = data.targets[i] as usize;
            let (matrix, total) = if shared { (0, all) } else { (k, totals[k]) };
            for a in 0..p {
                for b in 0..a + 1 {
                    covariances[matrix][a * (a + 1) / 2 + b] +=
                        data.weight(i) * (x[i][a] - means[k][a]) * (x[i][b] - means[k][b]) / total;
                }
            }
        }
        let spread = covariances[0][0].sqrt();
        means
            .iter_mut()
            .flatten()
            .for_each(|m| *m += error * spread * source.normal());
        let estimate = format!(
            r#"{{"density":"gaussian","priors":{priors:?},"means":{},"covariances":{},"shared":{shared},"shrinkage":{shrinkage}}}"#,
            json(&means),
            json(&covariances)
        );
        let (deviation, likelihood) = found(&data, 3, &estimate);
        if likelihood.hi == f64::INFINITY {
            continue;
        }
        let (worst, value) = exact(&data, &x, &priors, &means, &covariances, shrinkage);
        compared += 1;
        let enclosed = deviation.lo <= worst.next_up() && worst.next_down() <= deviation.hi;
        wrong += usize::from(!enclosed || !contains(likelihood, &value));
        if compared < 4 {
            println!("{deviation:?} {worst:e} {likelihood:?}");
        }
        if wrong > 0 && !crate::mutant::is(Mutant::NoShift) {
            println!(
                "{seed} {error} {deviation:?} {worst:e} {likelihood:?} {}",
                rounded(&value)
            );
        }
    }
    (compared, wrong)
}

#[test]
fn gaussians_contain_the_exact_numbers() {
    let (compared, wrong) = compare();
    println!("{compared} estimates");
    assert!(compared > 60 && wrong == 0, "{compared} {wrong}");
    assert!(with(Mutant::NoShift, compare).1 > 5);
    assert!(with(Mutant::ExactInverse, compare).1 > 5);
    assert_eq!(with(Mutant::PoorFactor, compare).1, 0);
}

#[test]
fn the_rounding_of_long_sums_is_counted() {
    // A variance of 0.01·4000/4001 about 0.1 or −0.1, whose terms are rounded alike.
    let x: Vec<Vec<f64>> = (0..8001)
        .map(|i| vec![if i % 2 == 0 { 0.1 } else { -0.1 }])
        .collect();
    let data = rows(&x, &vec![0.0; x.len()], None, false);
    let estimate = r#"{"density":"gaussian","priors":[1],"means":[[0]],"covariances":[[0.01]],"shared":false,"shrinkage":0}"#;
    let n = big(8001.0);
    let mean = big(0.1) / &n;
    let variance = big(0.1) * big(0.1) - &mean * &mean;
    let worst = abs(&(big(0.01) - &variance)) / &variance;
    let of_mean = &mean / variance.sqrt();
    let exact = if of_mean > worst { of_mean } else { worst };
    let tau = big(std::f64::consts::TAU) + big(2.4492935982947064e-16);
    let value = -(big(0.5) * &n * ((tau * big(0.01)).ln() + big(0.1) * big(0.1) / big(0.01)));
    let holds = || {
        let (deviation, likelihood) = found(&data, 1, estimate);
        contains(deviation, &exact) && contains(likelihood, &value)
    };
    assert!(holds());
    assert!(!with(Mutant::TinyRoundoff, holds));
}

#[test]
fn naive_densities_contain_the_exact_numbers() {
    for seed in 0..100 {
        let mut source = Random(seed);
        let (data, x) = random(&mut source, 2);
        let d = x[0].len();
        let counts: Vec<Vec<f64>> = (0..2)
            .map(|_| (0..d).map(|_| source.uniform() * 3.0).collect())
            .collect();
        let (totals, alpha, threshold) = ([3.0 + source.uniform(), 4.0], source.uniform() + 0.1, 0.5);
        let weight = |k: usize, keep: &dyn Fn(usize) -> bool| {
            let own = data
                .counting()
                .filter(|&i| data.targets[i] as usize == k && keep(i));
            own.fold(zero(), |sum, i| sum + big(data.weight(i)))
        };
        let (mut worst, mut value) = (0.0f64, zero());
        let deviation = |stored: f64, defined: &Big| rounded(&(abs(&(big(stored) - defined)) / defined));
        for k in 0..2 {
            let all = weight(k, &|_| true);
            worst = worst.max(deviation(totals[k], &all));
            value = value + &all * (big(totals[k]) / (big(totals[0]) + big(totals[1]))).ln();
            for j in 0..d {
                let above = weight(k, &|i| x[i][j] > threshold);
                worst = worst.max(if above == zero() {
                    f64::INFINITY
                } else {
                    deviation(counts[k][j], &above)
                });
                let p = (big(counts[k][j]) + big(alpha)) / (big(totals[k]) + big(2.0) * big(alpha));
                value = value + &above * p.ln() + (&all - &above) * (big(1.0) - p).ln();
            }
        }
        let estimate = format!(
            r#"{{"density":"naive-bernoulli","totals":{totals:?},"counts":{},"alpha":{alpha},"threshold":{threshold}}}"#,
            json(&counts)
        );
        let (deviation, likelihood) = found(&data, 2, &estimate);
        assert!(
            deviation.hi >= worst.min(1e250) && deviation.lo <= worst.next_up(),
            "{seed} {deviation:?} {worst}"
        );
        assert!(
            contains(likelihood, &value),
            "{seed} {likelihood:?} {}",
            rounded(&value)
        );
        // Independent normal columns: the sum over all columns of Gaussians with one column.
        let (means, variances, smoothing) = (
            (0..2)
                .map(|_| (0..d).map(|j| x[0][j] + source.normal()).collect())
                .collect::<Vec<Vec<f64>>>(),
            counts
                .iter()
                .map(|row| row.iter().map(|v| v + 0.1).collect())
                .collect::<Vec<Vec<f64>>>(),
            source.pick(&[0.0, 1e-3]),
        );
        let priors = [0.25, 0.75];
        let spread = |j: usize| {
            let centre = (0..2).fold(zero(), |sum, k| sum + big(priors[k]) * big(means[k][j]));
            (0..2).fold(zero(), |sum, k| {
                let offset = big(means[k][j]) - &centre;
                sum + big(priors[k]) * (big(variances[k][j]) + &offset * &offset)
            })
        };
        let largest = (0..d)
            .map(spread)
            .reduce(|a, b| if a > b { a } else { b })
            .unwrap();
        let tau = big(std::f64::consts::TAU) + big(2.4492935982947064e-16);
        let mut value = zero();
        for i in data.counting() {
            let k = data.targets[i] as usize;
            value = value + big(data.weight(i)) * big(priors[k]).ln();
            for j in 0..d {
                let variance = big(variances[k][j]) + big(smoothing) * &largest;
                let offset = vec![big(x[i][j]) - big(means[k][j])];
                value = value
                    - big(0.5 * data.weight(i))
                        * ((&tau * &variance).ln() + dot(&offset, &offset) / variance);
            }
        }
        let estimate = format!(
            r#"{{"density":"naive-gaussian","priors":{priors:?},"means":{},"variances":{},"var_smoothing":{smoothing}}}"#,
            json(&means),
            json(&variances)
        );
        let (_, likelihood) = found(&data, 2, &estimate);
        assert!(
            contains(likelihood, &value),
            "{seed} {likelihood:?} {}",
            rounded(&value)
        );
    }
}
