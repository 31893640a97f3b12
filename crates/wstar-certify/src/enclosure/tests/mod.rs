//! Enclosures against optima of 60 digits, against the independent checker, and against published values.
// Tests report counts, digits and times.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod high_precision;
mod random_rows;

use wstar_data::Design;
use wstar_data::linear::Layout;
use wstar_problem::loss::LossName;
use wstar_problem::objective::{Rows, Weights};
use wstar_problem::penalty::Penalty;
use wstar_problem::{Intercept, Problem};

use super::rounding::UNIT;
use super::{Enclosure, RowWeights, enclose};
use high_precision::{Big, abs, big, optimum, rounded};
use random_rows::Case;

fn problem(loss: LossName, l2: f64, intercept: Intercept, features: usize) -> Problem {
    let layout = Layout {
        outputs: 1,
        features,
        intercept: intercept != Intercept::Absent,
    };
    Problem::new(loss, Penalty { l1: 0.0, l2 }, intercept, layout).unwrap()
}

/// Parameters outside of their intervals.
fn outside(found: &Enclosure, exact: &[Big]) -> usize {
    let is_outside = |j: &usize| {
        let distance = abs(&(&exact[*j] - big(found.centre[*j]) - big(found.low[*j])));
        let ends = big(found.lower(*j)) <= exact[*j] && exact[*j] <= big(found.upper(*j));
        distance > big(found.radius[*j]) || !ends
    };
    (0..exact.len()).filter(is_outside).count()
}

/// The results of many random problems.
#[derive(Debug, Default)]
struct Tally {
    proved: usize,
    unproved: usize,
    outside: usize,
    errors_outside: usize,
    digits: Vec<u32>,
}

fn tally(seeds: std::ops::Range<u64>) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        let Some(case) = Case::random(seed) else { continue };
        let rows = case.rows();
        let Some(found) = enclose(&rows, &case.problem, &case.point, RowWeights::Frequencies) else {
            tally.unproved += 1;
            continue;
        };
        let exact = optimum(&rows, &case.problem, &found.centre).unwrap_or_else(|| panic!("seed {seed}"));
        tally.proved += 1;
        let missed = outside(&found, &exact.point);
        tally.outside += missed;
        tally.digits.push(found.least_digits());
        if let Some(errors) = &found.standard_errors {
            let variance = match case.problem.loss() {
                LossName::Squared => exact.squares / exact.freedom,
                _ => big(1.0),
            };
            for (j, v) in exact.variances.iter().enumerate() {
                let square = v * &variance;
                let within = big(errors.lower[j]) * big(errors.lower[j]) <= square
                    && square <= big(errors.upper[j]) * big(errors.upper[j]);
                tally.errors_outside += usize::from(!within);
            }
        }
    }
    tally.digits.sort_unstable();
    tally
}

#[test]
fn enclosures_contain_the_optimum() {
    let found = tally(0..160);
    println!("{found:?}");
    assert_eq!((found.outside, found.errors_outside), (0, 0));
    assert!(found.proved >= 100, "{found:?}");
    assert!(found.digits[found.digits.len() / 2] >= 11, "{found:?}");
}

/// A thousand problems.
#[test]
#[ignore = "long"]
fn enclosures_contain_the_optimum_of_many_problems() {
    let found = tally(1000..2500);
    println!("{found:?}");
    assert_eq!((found.outside, found.errors_outside), (0, 0));
    assert!(found.proved >= 1000, "{found:?}");
}

/// The mutant: without rounding errors in the bounds, intervals miss the optimum, so the test above is sensitive to them.
#[test]
fn bounds_without_rounding_errors_miss_the_optimum() {
    let unit = UNIT.replace(1e-40);
    let found = tally(0..60);
    UNIT.set(unit);
    println!("{found:?}");
    assert!(found.outside > 20, "{found:?}");
}

#[test]
fn a_mean_is_enclosed() {
    // Least squares with an intercept only in effect: w = 0 by symmetry, b is the mean.
    let design = Design::from_rows(&[[-1.0], [1.0], [-1.0], [1.0]]).unwrap();
    let rows = Rows {
        design: &design,
        targets: vec![0.1, 0.1, 0.2, 0.2].into(),
        weights: Weights::Same(1.0),
    };
    let problem = problem(LossName::Squared, 0.0, Intercept::Free, 1);
    let found = enclose(&rows, &problem, &[0.01, 0.14], RowWeights::Frequencies).unwrap();
    let mean = (big(0.1) + big(0.2)) / big(2.0);
    assert_eq!(outside(&found, &[big(0.0), mean]), 0);
    assert!(found.radius.iter().all(|&radius| radius < 1e-28), "{found:?}");
    // RSS = 4·0.05², n − p = 2, (X̃ᵀX̃)⁻¹ = I/4.
    let errors = found.standard_errors.clone().unwrap();
    let exact = 0.05 / 2f64.sqrt();
    for j in 0..2 {
        assert!(errors.lower[j] <= exact * (1.0 + 1e-15) && exact * (1.0 - 1e-15) <= errors.upper[j]);
        assert!(errors.upper[j] - errors.lower[j] < 1e-13 * exact, "{errors:?}");
    }
    assert!(found.standard_error_digits(1).unwrap() >= 12 && found.digits(0) == 0 && found.digits(1) >= 25);
    // Without frequencies there are no standard errors.
    let found = enclose(&rows, &problem, &[0.01, 0.14], RowWeights::Factors).unwrap();
    assert_eq!(found.standard_errors, None);
}

#[test]
fn log_odds_are_enclosed() {
    // Three of four rows are positive: b = log 3, and the standard error is √(16/12).
    let design = Design::from_rows(&[[1.0], [-1.0], [1.0], [-1.0], [1.0], [-1.0], [1.0], [-1.0]]).unwrap();
    let rows = Rows {
        design: &design,
        targets: vec![1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -1.0, -1.0].into(),
        weights: Weights::Same(0.5),
    };
    let problem = problem(LossName::Logistic, 0.0, Intercept::Free, 1);
    // From 0 the Newton steps come first.
    for start in [[0.0, 0.0], [1e-9, 1.1]] {
        let found = enclose(&rows, &problem, &start, RowWeights::Frequencies).unwrap();
        assert_eq!(outside(&found, &[big(0.0), big(3.0).ln()]), 0);
        assert!(found.radius[1] < 1e-13 && found.digits(1) >= 13, "{found:?}");
        let errors = found.standard_errors.unwrap();
        let exact = (4.0 / 3.0f64).sqrt();
        assert!(errors.lower[1] <= exact && exact <= errors.upper[1]);
        // The information is computed again until it changes by less than 10⁻⁹.
        assert!(errors.upper[1] - errors.lower[1] < 2e-9);
    }
}

#[test]
fn nothing_is_proved_without_a_unique_optimum() {
    let prove = |x: &[[f64; 2]], y: &[f64], loss, l2| {
        let design = Design::from_rows(x).unwrap();
        let rows = Rows {
            design: &design,
            targets: y.into(),
            weights: Weights::Same(1.0),
        };
        let problem = problem(loss, l2, Intercept::Free, 2);
        enclose(&rows, &problem, &[0.1, 0.1, 0.0], RowWeights::Frequencies)
    };
    let dependent = [[1.0, 2.0], [2.0, 4.0], [-1.0, -2.0], [0.5, 1.0]];
    let y = [1.0, -1.0, 1.0, -1.0];
    assert_eq!(prove(&dependent, &y, LossName::Squared, 0.0), None);
    assert!(prove(&dependent, &y, LossName::Squared, 1e-3).is_some());
    // Separable classes.
    let apart = [[1.0, 2.0], [2.0, 1.0], [-1.0, -2.0], [-2.0, -1.0]];
    let y = [1.0, 1.0, -1.0, -1.0];
    assert_eq!(prove(&apart, &y, LossName::Logistic, 0.0), None);
    assert_eq!(prove(&apart, &y, LossName::SquaredHinge, 0.0), None);
    assert!(prove(&apart, &y, LossName::Logistic, 1.0).is_some());
    // Losses with kinks in their values, and numbers out of range.
    assert_eq!(prove(&apart, &y, LossName::Hinge, 1.0), None);
    let huge = [[1.0, 2e80], [2.0, 1e80], [-1.0, -2e80], [-2.0, 1e80]];
    assert_eq!(prove(&huge, &y, LossName::Squared, 0.0), None);
}

#[test]
fn a_claim_follows_only_from_a_narrower_enclosure() {
    let case = (0..).find_map(|seed| {
        let case = Case::random(seed)?;
        (case.problem.loss() == LossName::Logistic && case.problem.penalty().is_none()).then_some(case)
    });
    let case = case.unwrap();
    let found = enclose(&case.rows(), &case.problem, &case.point, RowWeights::Frequencies).unwrap();
    let stated = found.clone().widened();
    assert!(found.follows_from(&found) || stated.follows_from(&found));
    assert!(stated.follows_from(&found) && !found.follows_from(&stated));
    let changes: [fn(&mut Enclosure); 7] = [
        |claim| claim.radius[0] *= 0.5,
        |claim| claim.centre[0] += claim.radius[0],
        |claim| claim.low[0] += claim.radius[0],
        |claim| claim.centre[0] = f64::NAN,
        |claim| claim.radius.truncate(1),
        |claim| {
            claim
                .standard_errors
                .iter_mut()
                .for_each(|errors| errors.lower[0] = errors.upper[0])
        },
        |claim| {
            claim
                .standard_errors
                .iter_mut()
                .for_each(|errors| errors.upper.clear())
        },
    ];
    for change in changes {
        let mut claim = stated.clone();
        change(&mut claim);
        assert!(!claim.follows_from(&found), "{claim:?}");
    }
}

#[test]
fn digits_are_counted_from_the_first_one() {
    let digits = super::proved_digits;
    assert_eq!(digits(1.234, 1e-3), 3);
    assert_eq!(digits(-1.234, 0.4e-3), 4);
    assert_eq!(digits(9.9, 0.6), 0);
    assert_eq!(digits(9.9, 0.4), 1);
    assert_eq!(digits(1234.0, 600.0), 0);
    assert_eq!(digits(1.0, 2.0), 0);
    assert_eq!(digits(0.0, 1e-20), 0);
    assert_eq!(digits(5e-9, 4e-19), 10);
}

/// A file of the real data for tests (`WSTAR_DATA`, or `shared/data` next to the project); in CI it must be there.
fn real_data(name: &str) -> Option<String> {
    let folder = std::env::var("WSTAR_DATA")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data").into());
    let text = std::fs::read_to_string(format!("{folder}/{name}")).ok();
    let is_required = std::env::var_os("CI").is_some();
    assert!(text.is_some() || !is_required, "{folder}/{name} is absent");
    if text.is_none() {
        eprintln!("skipped: {folder}/{name} is absent");
    }
    text
}

#[test]
fn balance_predicts_default() {
    let Some(text) = real_data("islr/Default.csv") else {
        return;
    };
    let lines = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect::<Vec<_>>());
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for cells in lines {
        x.push([cells[2].parse::<f64>().unwrap()]);
        y.push(if cells[0] == "Yes" { 1.0 } else { -1.0 });
    }
    let design = Design::from_rows(&x).unwrap();
    let rows = Rows {
        design: &design,
        targets: y.into(),
        weights: Weights::Same(1.0),
    };
    let problem = problem(LossName::Logistic, 0.0, Intercept::Free, 1);
    let found = enclose(&rows, &problem, &[0.0055, -10.65], RowWeights::Frequencies).unwrap();
    println!("{found:?}");
    let published = [(0, 0.005498916934904633, 1e-16), (1, -10.65133062095797, 1e-13)];
    for (j, value, tolerance) in published {
        let distance = rounded(&abs(&(big(found.centre[j]) + big(found.low[j]) - big(value))));
        assert!(found.radius[j] <= tolerance, "{:e}", found.radius[j]);
        // The published value is rounded to the digits that are shown.
        assert!(distance <= found.radius[j] + 0.1 * tolerance, "{distance:e}");
    }
    let errors = found.standard_errors.unwrap();
    assert!((errors.lower[1] - 0.36116872521).abs() < 1e-9 && errors.upper[1] - errors.lower[1] < 1e-9);
}

#[test]
fn least_squares_of_nist_are_enclosed() {
    let Some(text) = real_data("nist/certified.json") else {
        return;
    };
    let certified: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut proved = Vec::new();
    for (name, known) in certified.as_object().unwrap() {
        let Some(text) = real_data(&format!("nist/{name}.csv")) else {
            continue;
        };
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next().unwrap().split(',').collect();
        let target = names.iter().position(|name| *name == "y").unwrap_or(0);
        let table: Vec<Vec<f64>> = lines
            .filter(|line| !line.is_empty())
            .map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect())
            .collect();
        let p = known["p"].as_u64().unwrap() as usize;
        let has_intercept = known["intercept"].as_bool().unwrap();
        let features = p - usize::from(has_intercept);
        let columns = names.len() - 1;
        let x: Vec<Vec<f64>> = table
            .iter()
            .map(|row| {
                let mut x = row.clone();
                x.remove(target);
                // A polynomial of one column, or all columns.
                match columns == features {
                    true => x,
                    false => (1..=features as i32).map(|k| x[0].powi(k)).collect(),
                }
            })
            .collect();
        let targets: Vec<f64> = table.iter().map(|row| row[target]).collect();
        let design = Design::from_rows(&x).unwrap();
        let rows = Rows {
            design: &design,
            targets: targets.into(),
            weights: Weights::Same(1.0),
        };
        let intercept = if has_intercept {
            Intercept::Free
        } else {
            Intercept::Absent
        };
        let problem = problem(LossName::Squared, 0.0, intercept, features);
        let exact = optimum(&rows, &problem, &vec![0.0; p]).unwrap();
        let start: Vec<f64> = exact.point.iter().map(|w| rounded(w) * (1.0 + 1e-10)).collect();
        let Some(found) = enclose(&rows, &problem, &start, RowWeights::Frequencies) else {
            println!("{name}: nothing proved");
            continue;
        };
        println!("{name}: {} digits, {found:?}", found.least_digits());
        assert_eq!(outside(&found, &exact.point), 0, "{name}");
        let errors = found.standard_errors.as_ref().unwrap();
        for (j, v) in exact.variances.iter().enumerate() {
            let square = v * (&exact.squares / &exact.freedom);
            let within = big(errors.lower[j]) * big(errors.lower[j]) <= square
                && square <= big(errors.upper[j]) * big(errors.upper[j]);
            assert!(within, "{name}: {j}");
        }
        assert!(found.least_digits() >= 16, "{name}: {}", found.least_digits());
        proved.push(name.clone());
    }
    assert!(proved.len() >= 5, "{proved:?}");
}

/// The time of an enclosure against that of a Hessian of the solvers.
#[test]
#[ignore = "long"]
fn an_enclosure_costs_a_few_hessians() {
    use rand::{RngExt, SeedableRng};
    use std::time::Instant;
    use wstar_problem::objective::{Objective, Validation};
    for (n, d) in [(100_000, 20), (20_000, 200), (10_000, 2)] {
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(5);
        let x: Vec<f64> = (0..n * d).map(|_| random.random_range(-1.0..1.0)).collect();
        let y: Vec<f64> = x
            .chunks(d)
            .map(|x| {
                if x[0] - x[1] + random.random_range(-2.0..2.0) > 0.0 {
                    1.0
                } else {
                    -1.0
                }
            })
            .collect();
        let design = Design::from_dense(x, n, d).unwrap();
        let rows = Rows {
            design: &design,
            targets: y.into(),
            weights: Weights::Same(1.0),
        };
        let problem = problem(LossName::Logistic, 0.0, Intercept::Free, d);
        let point = random_rows::solve(&rows, &problem).unwrap();
        let mut objective = Objective::in_memory(problem, rows.borrowed(), Validation::Done);
        let least = |run: &mut dyn FnMut()| {
            let time = |_| {
                let start = Instant::now();
                run();
                start.elapsed().as_secs_f64()
            };
            (0..5).map(time).fold(f64::INFINITY, f64::min)
        };
        let hessian = least(&mut || drop(objective.hessian(&point).unwrap()));
        let mut found = None;
        let proof = least(&mut || found = enclose(&rows, &problem, &point, RowWeights::Factors));
        let found = found.unwrap();
        println!(
            "{n} × {d}: {} digits, {proof:.4} s, {:.1} Hessians, {:.2} operations a ns",
            found.least_digits(),
            proof / hessian,
            super::operations(&rows, &problem) / proof * 1e-9,
        );
        assert!(found.least_digits() >= 8 && proof < 40.0 * hessian);
    }
}
