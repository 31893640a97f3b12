//! Gradients and objectives of the claims of stationarity against exact arithmetic.

use crate::gap::Subproblem;
use crate::mutant::{Mutant, with};
use crate::problem::{Intercept, Loss, Problem};
use crate::stationarity::measure;
use crate::tests::exact::{Big, abs, big, dot, rounded, solve_symmetric, zero};
use crate::tests::random_problems::Random;
use crate::tests::random_rows::{bigs, contains, random, rows};

#[test]
fn gradients_by_hand() {
    let data = rows(&[vec![1.0], vec![-2.0]], &[1.0, 0.0], None, false);
    let problem = Problem {
        loss: Loss::SigmoidMse,
        l1: 0.0,
        l2: 1.0,
        intercept: Intercept::Free,
        outputs: 1,
        features: 1,
    };
    let sub = Subproblem {
        problem: problem.clone(),
        design: &data.design,
        targets: &[1.0, -1.0],
        weights: &[1.0, 1.0],
    };
    // At 0 all u are ½: P = ½, the derivatives are −¼·1 + ¼·(−2) = −¾ of at most 8/27·3, and −¼ + ¼ = 0.
    let (value, slope) = measure(&sub, false, &[0.0, 0.0]);
    assert!(contains(value, &big(0.5)) && contains(slope, &(big(27.0) / big(32.0))));
    // Firth without an intercept: k = ¼, I = 5/4, the leverages are 1/5 and 4/5, and ½ − p = 0. The derivative is −½ − ½·2 of at most 3.
    let sub = Subproblem {
        problem: Problem {
            loss: Loss::Logistic,
            l2: 0.0,
            intercept: Intercept::Absent,
            ..problem
        },
        ..sub
    };
    let (value, slope) = measure(&sub, true, &[0.0]);
    assert!(contains(
        value,
        &(big(2.0) * big(2.0).ln() - big(0.5) * big(1.25).ln())
    ));
    assert!(contains(slope, &big(0.5)) && slope.hi - slope.lo < 1e-13);
    // Dependent columns have no such objective.
    let data = rows(&[vec![1.0, 1.0], vec![-2.0, -2.0]], &[1.0, 0.0], None, false);
    let problem = Problem {
        features: 2,
        ..sub.problem
    };
    let (_, slope) = measure(
        &Subproblem {
            problem,
            design: &data.design,
            ..sub
        },
        true,
        &[0.0, 0.0],
    );
    assert_eq!(slope.hi, f64::INFINITY);
}

/// The objective and the relative slope.
fn exact(sub: &Subproblem<'_>, firth: bool, x: &[Vec<f64>], point: &[f64]) -> (Big, Big) {
    let width = sub.problem.width();
    let lifted = |i: usize| bigs(&[x[i].as_slice(), &[1.0]].concat()[..width]);
    let one = big(1.0);
    let share = |i: usize| {
        let margin = big(sub.targets[i]) * dot(&lifted(i), &bigs(point));
        &one / (&one + margin.exp())
    };
    let mut information = vec![vec![zero(); width]; width];
    for i in sub.rows() {
        let (u, row) = (share(i), lifted(i));
        let k = big(sub.weights[i]) * &u * (&one - &u);
        for a in 0..width {
            for b in 0..width {
                information[a][b] = &information[a][b] + &k * &row[a] * &row[b];
            }
        }
    }
    let (mut value, mut gradient, mut sizes) = (zero(), vec![zero(); width], vec![zero(); width]);
    for i in sub.rows() {
        let (u, row, c, y) = (share(i), lifted(i), big(sub.weights[i]), big(sub.targets[i]));
        let (slope, steepest) = if firth {
            value = value - &c * (&one - &u).ln();
            let solved = solve_symmetric(information.clone(), row.clone()).unwrap();
            let leverage = &c * &u * (&one - &u) * dot(&row, &solved);
            (-(&y * (&c * &u + leverage * (big(0.5) - (&one - &u)))), c.clone())
        } else {
            value = value + &c * &u * &u;
            (
                -(big(2.0) * &y * &c * &u * &u * (&one - &u)),
                &c * big(8.0) / big(27.0),
            )
        };
        for j in 0..width {
            gradient[j] = &gradient[j] + &slope * &row[j];
            sizes[j] = &sizes[j] + &steepest * abs(&row[j]);
        }
    }
    let mut worst = zero();
    for j in 0..width {
        let penalty = if sub.problem.penalizes(j) {
            big(sub.problem.l2) * big(point[j])
        } else {
            zero()
        };
        value = value + big(0.5) * &penalty * big(point[j]);
        let size = &sizes[j] + abs(&penalty);
        if size > zero() {
            let relative = abs(&(&gradient[j] + &penalty)) / size;
            worst = if relative > worst { relative } else { worst };
        }
    }
    if firth {
        let mut a = information;
        for k in 0..width {
            value = value - big(0.5) * a[k][k].ln();
            for i in k + 1..width {
                let factor = &a[i][k] / &a[k][k];
                for j in k..width {
                    let product = &factor * &a[k][j];
                    a[i][j] = &a[i][j] - product;
                }
            }
        }
    }
    (value, worst)
}

/// The numbers of comparisons, of wrong intervals, and of gradients that are not enclosed.
fn compare() -> (usize, usize, usize) {
    let (mut compared, mut wrong, mut unknown) = (0, 0, 0);
    for seed in 0..120 {
        let mut source = Random(seed);
        let (data, x) = random(&mut source, 2);
        let (firth, d) = (source.below(2) == 0, x[0].len());
        let problem = Problem {
            loss: if firth { Loss::Logistic } else { Loss::SigmoidMse },
            l1: 0.0,
            l2: if firth { 0.0 } else { source.pick(&[0.0, 1.0]) },
            intercept: source.pick(&[Intercept::Free, Intercept::Absent]),
            outputs: 1,
            features: d,
        };
        let size = x.iter().flatten().fold(0.0f64, |size, x| size.max(x.abs()));
        let point: Vec<f64> = (0..problem.width())
            .map(|_| 2.0 * source.normal() / size)
            .collect();
        let y: Vec<f64> = data.targets.iter().map(|t| 2.0 * t - 1.0).collect();
        let weights: Vec<f64> = (0..data.len()).map(|i| 1.5 * data.weight(i)).collect();
        let sub = Subproblem {
            problem,
            design: &data.design,
            targets: &y,
            weights: &weights,
        };
        let (value, slope) = measure(&sub, firth, &point);
        if slope.hi == f64::INFINITY {
            unknown += 1;
            continue;
        }
        let (exact_value, exact_slope) = exact(&sub, firth, &x, &point);
        compared += 1;
        let right = contains(value, &exact_value) && contains(slope, &exact_slope);
        wrong += usize::from(!right);
        if !right && !crate::mutant::is(Mutant::NoLeverages) {
            println!(
                "{seed} {firth} {value:?} {} {slope:?} {}",
                rounded(&exact_value),
                rounded(&exact_slope)
            );
        }
    }
    (compared, wrong, unknown)
}

#[test]
fn gradients_contain_the_exact_numbers() {
    let (compared, wrong, unknown) = compare();
    println!("{compared} gradients, {unknown} not enclosed");
    assert!(compared > 100 && wrong == 0, "{compared} {wrong} {unknown}");
    assert!(with(Mutant::NoLeverages, compare).1 > 20);
    assert!(with(Mutant::ExactInverse, compare).1 > 5);
    assert_eq!(with(Mutant::PoorFactor, compare).1, 0);
}
