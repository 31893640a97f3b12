//! Margins, hulls and balls against exact arithmetic.

use crate::enclosing_ball::radii;
use crate::hyperplane::Hyperplane;
use crate::mutant::{Mutant, with};
use crate::separation::{bound, margin};
use crate::tests::exact::{Big, big, dot, zero};
use crate::tests::random_problems::Random;
use crate::tests::random_rows::{bigs, contains, random, rows};

#[test]
fn a_margin_by_hand() {
    let data = rows(
        &[vec![2.0, 0.0], vec![2.0, 5.0], vec![0.0, 1.0]],
        &[1.0, 1.0, 0.0],
        None,
        false,
    );
    let y = [1.0, 1.0, -1.0];
    // The hyperplane x₀ = 1 has the margin 1, and (2, 1) = ⅘·(2, 0) + ⅕·(2, 5) lies at a distance of 2 from (0, 1).
    let plane = Hyperplane(vec![3.0, 0.0, -3.0]);
    assert!(contains(margin(&data, &y, &plane), &big(1.0)));
    let (positive, negative) = (vec![(0, 8.0), (1, 2.0)], vec![(2, 0.5)]);
    let upper = bound(&data, &y, &[&positive, &negative]).unwrap();
    assert!(contains(upper, &big(1.0)) && upper.hi - upper.lo < 1e-14);
    let wrong = Hyperplane(vec![3.0, 0.0, 3.0]);
    assert!(contains(margin(&data, &y, &wrong), &big(-1.0)));
    // A row of the other side, of no side, a negative share, and no shares prove nothing.
    for shares in [
        vec![(2, 1.0)],
        vec![(3, 1.0)],
        vec![(0, 1.0), (1, -0.1)],
        vec![],
        vec![(0, 0.0)],
        vec![(0, f64::NAN)],
    ] {
        assert_eq!(bound(&data, &y, &[&shares, &negative]), None, "{shares:?}");
    }
    // Without an intercept (2, 0) and −(0, 1) have the mean (1, −½).
    let shares = vec![(0, 1.0), (2, 1.0)];
    assert!(contains(bound(&data, &y, &[&shares]).unwrap(), &big(1.25).sqrt()));
}

/// The numbers of intervals, and of those that do not contain the exact number.
fn compare() -> (usize, usize) {
    let (mut compared, mut wrong) = (0, 0);
    let mut check = |interval, exact: &Big| {
        compared += 1;
        wrong += usize::from(!contains(interval, exact));
    };
    for seed in 0..150 {
        let mut source = Random(seed);
        let (data, x) = random(&mut source, 2);
        let d = x[0].len();
        let y: Vec<f64> = data.targets.iter().map(|t| 2.0 * t - 1.0).collect();
        let plane: Vec<f64> = (0..d + 1).map(|_| source.normal()).collect();
        let lifted = |i: usize| bigs(&[x[i].as_slice(), &[1.0]].concat());
        let scores = data
            .counting()
            .map(|i| big(y[i]) * dot(&bigs(&plane), &lifted(i)));
        let least = scores.reduce(|a, b| if a < b { a } else { b }).unwrap();
        let norm = dot(&bigs(&plane[..d]), &bigs(&plane[..d])).sqrt();
        check(margin(&data, &y, &Hyperplane(plane.clone())), &(least / norm));
        let shares: Vec<(u64, f64)> = data.counting().map(|i| (i as u64, source.uniform())).collect();
        let combination = |keep: &dyn Fn(usize) -> bool| {
            let own: Vec<&(u64, f64)> = shares.iter().filter(|(i, _)| keep(*i as usize)).collect();
            let total = own.iter().fold(zero(), |sum, (_, share)| sum + big(*share));
            let coordinate = |j: usize| {
                let terms = own
                    .iter()
                    .map(|(i, share)| big(y[*i as usize] * share) * big(x[*i as usize][j]));
                terms.fold(zero(), |sum, term| sum + term) / &total
            };
            (0..d).map(coordinate).collect::<Vec<Big>>()
        };
        let every = combination(&|_| true);
        check(bound(&data, &y, &[&shares]).unwrap(), &dot(&every, &every).sqrt());
        let (positive, negative) = (combination(&|i| y[i] > 0.0), combination(&|i| y[i] < 0.0));
        let difference: Vec<Big> = positive.iter().zip(&negative).map(|(p, q)| p + q).collect();
        let sides = [1.0, -1.0].map(|side| {
            shares
                .iter()
                .copied()
                .filter(|(i, _)| y[*i as usize] == side)
                .collect()
        });
        check(
            bound(&data, &y, &[&sides[0], &sides[1]]).unwrap(),
            &(dot(&difference, &difference).sqrt() * big(0.5)),
        );
        // A ball around a point near the mean of a class.
        let centre: Vec<f64> = (0..d).map(|j| x[1][j] + 0.1 * source.normal()).collect();
        let from_centre =
            |i: usize| -> Vec<Big> { x[i].iter().zip(&centre).map(|(x, c)| big(*x) - big(*c)).collect() };
        let (lower, upper) = radii(&data, 1, &centre, &sides[0]);
        let distances = data
            .counting()
            .filter(|&i| y[i] > 0.0)
            .map(|i| dot(&from_centre(i), &from_centre(i)));
        check(
            upper,
            &distances.reduce(|a, b| if a > b { a } else { b }).unwrap().sqrt(),
        );
        let (mut total, mut spread, mut mean) = (zero(), zero(), vec![zero(); d]);
        for (i, share) in &sides[0] {
            let t = from_centre(*i as usize);
            total = total + big(*share);
            spread = spread + big(*share) * dot(&t, &t);
            mean = mean.iter().zip(&t).map(|(m, t)| m + big(*share) * t).collect();
        }
        let dual = spread / &total - dot(&mean, &mean) / (&total * &total);
        check(lower, &if dual > zero() { dual.sqrt() } else { zero() });
    }
    (compared, wrong)
}

#[test]
fn margins_hulls_and_balls_contain_the_exact_numbers() {
    let (compared, wrong) = compare();
    assert_eq!((compared, wrong), (750, 0));
    for mutant in [Mutant::WholeDistance, Mutant::NoOffset] {
        let (_, wrong) = with(mutant, compare);
        assert!(wrong > 100, "{mutant:?}: {wrong}");
    }
}

#[test]
fn a_ball_by_hand() {
    let x = [
        vec![-1.0, 0.0],
        vec![1.0, 0.0],
        vec![0.0, 1.0],
        vec![9.0, 9.0],
        vec![7.0, 7.0],
    ];
    let data = rows(
        &x,
        &[0.0, 0.0, 0.0, 1.0, 0.0],
        Some(vec![1.0, 2.0, 1.0, 1.0, 0.0]),
        false,
    );
    let (lower, upper) = radii(&data, 0, &[0.0, 0.0], &[(0, 0.5), (1, 0.5)]);
    assert!(contains(lower, &big(1.0)) && contains(upper, &big(1.0)));
    assert!(upper.hi - lower.lo < 1e-14);
    let (lower, upper) = radii(&data, 0, &[0.0, 1.0], &[(0, 2.0), (1, 2.0)]);
    assert!(contains(lower, &big(1.0)) && contains(upper, &big(2.0).sqrt()));
    for support in [
        vec![(3, 1.0)],
        vec![(4, 1.0)],
        vec![(9, 1.0)],
        vec![(0, -1.0), (1, 2.0)],
        vec![],
        vec![(0, 0.0)],
    ] {
        assert_eq!(radii(&data, 0, &[0.0, 0.0], &support).0.hi, 0.0, "{support:?}");
    }
    let (lower, upper) = radii(&data, 1, &[9.0, 9.0], &[(3, 1.0)]);
    assert!(lower.hi < 1e-150 && upper.hi == 0.0);
}
