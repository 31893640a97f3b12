//! Margins, hulls and balls against exact arithmetic.

use crate::arithmetic::Interval;
use crate::densities;
use crate::dyadic::Dyadic;
use crate::margins;
use crate::mutant::{Mutant, with};
use crate::points::Points;
use crate::reduction::Part;
use crate::tests::exact::{Big, big, dot, zero};
use crate::tests::random_problems::Random;
use crate::tests::random_rows::{bigs, contains, random, rows};
use crate::training_rows::TrainingRows;

/// The margin of a hyperplane and the bound by hulls, of class 1 against class 0.
fn margins(
    data: &TrainingRows,
    plane: &[f64],
    shares: &[(usize, f64)],
    intercept: bool,
) -> Option<(Interval, Interval)> {
    let points = Points::new(data, Part::Against(1), intercept);
    let plane: Vec<Dyadic> = plane[..points.width()]
        .iter()
        .copied()
        .map(Dyadic::double)
        .collect();
    let shares = shares
        .iter()
        .map(|&(i, share)| (i, Dyadic::double(share)))
        .collect();
    margins::margins(&points, &plane, &shares).map(|[lower, upper, ..]| (lower, upper))
}

#[test]
fn a_margin_by_hand() {
    let x = [vec![2.0, 0.0], vec![2.0, 5.0], vec![0.0, 1.0]];
    let data = rows(&x, &[1.0, 1.0, 0.0], None, false);
    // The hyperplane x₀ = 1 has the margin 1, and (2, 1) = ⅘·(2, 0) + ⅕·(2, 5) lies at a distance of 2 from (0, 1).
    let (plane, shares) = ([3.0, 0.0, -3.0], [(0, 8.0), (1, 2.0), (2, 0.5)]);
    let (lower, upper) = margins(&data, &plane, &shares, true).unwrap();
    assert!(contains(lower, &big(1.0)) && contains(upper, &big(1.0)));
    assert!(upper.hi - lower.lo < 1e-14);
    assert!(margins(&data, &[3.0, 0.0, 3.0], &shares, true).is_none());
    // Rows of one side, a row that does not exist, a negative share, and no shares prove nothing.
    for shares in [
        &[(2, 1.0)][..],
        &[(3, 1.0), (2, 1.0)],
        &[(0, 1.0), (1, -0.1), (2, 1.0)],
        &[],
        &[(0, 0.0), (2, 1.0)],
    ] {
        assert!(margins(&data, &plane, shares, true).is_none(), "{shares:?}");
    }
    // Without an intercept (2, 0) and −(0, 1) have the mean (1, −½), and 3x₀ − x₁ = 0 the margin 1/√10.
    let (lower, upper) = margins(&data, &[3.0, -1.0], &[(0, 1.0), (2, 1.0)], false).unwrap();
    assert!(contains(upper, &big(1.25).sqrt()));
    assert!(contains(lower, &(big(1.0) / big(10.0).sqrt())));
}

fn radii(
    data: &TrainingRows,
    class: usize,
    centre: &[f64],
    support: &[(usize, f64)],
) -> (Interval, Interval) {
    let support = support
        .iter()
        .map(|&(i, share)| (i, Dyadic::double(share)))
        .collect();
    densities::radii(data, class, centre, &support)
}

/// The numbers of intervals, and of those that do not contain the exact number.
fn compare() -> (usize, usize) {
    let (mut compared, mut wrong) = (0, 0);
    let mut check = |interval, exact: &Big| {
        compared += 1;
        wrong += usize::from(!contains(interval, exact));
    };
    for seed in 0..300 {
        let mut source = Random(seed);
        let (mut data, x) = random(&mut source, 2);
        let d = x[0].len();
        // Classes by the sides of a hyperplane near the first row.
        let mut plane: Vec<f64> = (0..d + 1).map(|_| source.normal()).collect();
        plane[d] = -x[0].iter().zip(&plane).map(|(x, w)| x * w).sum::<f64>() - 1e-3;
        let lifted = |i: usize| bigs(&[x[i].as_slice(), &[1.0]].concat());
        let score = |i: usize| dot(&bigs(&plane), &lifted(i));
        data.targets = (0..x.len())
            .map(|i| f64::from(u8::from(score(i) > zero())))
            .collect();
        let y: Vec<f64> = data.targets.iter().map(|t| 2.0 * t - 1.0).collect();
        let scores = data.counting().map(|i| big(y[i]) * score(i));
        let least = scores.reduce(|a, b| if a < b { a } else { b }).unwrap();
        let norm = dot(&bigs(&plane[..d]), &bigs(&plane[..d])).sqrt();
        let shares: Vec<(usize, f64)> = data.counting().map(|i| (i, source.uniform())).collect();
        let combination = |keep: &dyn Fn(usize) -> bool| {
            let own: Vec<&(usize, f64)> = shares.iter().filter(|(i, _)| keep(*i)).collect();
            let total = own.iter().fold(zero(), |sum, (_, share)| sum + big(*share));
            let coordinate = |j: usize| {
                let terms = own
                    .iter()
                    .map(|(i, share)| big(y[*i]) * big(*share) * big(x[*i][j]));
                terms.fold(zero(), |sum, term| sum + term) / &total
            };
            (0..d).map(coordinate).collect::<Vec<Big>>()
        };
        if let Some((lower, upper)) = margins(&data, &plane, &shares, true) {
            check(lower, &(least / norm));
            let (positive, negative) = (combination(&|i| y[i] > 0.0), combination(&|i| y[i] < 0.0));
            let difference: Vec<Big> = positive.iter().zip(&negative).map(|(p, q)| p + q).collect();
            check(upper, &(dot(&difference, &difference).sqrt() * big(0.5)));
        }
        let own = |i: usize| data.targets[i] == 1.0;
        let support: Vec<(usize, f64)> = shares.iter().filter(|(i, _)| own(*i)).copied().collect();
        if support.is_empty() {
            continue;
        }
        // A ball around a point near the mean of a class.
        let centre: Vec<f64> = (0..d).map(|j| x[1][j] + 0.1 * source.normal()).collect();
        let from_centre =
            |i: usize| -> Vec<Big> { x[i].iter().zip(&centre).map(|(x, c)| big(*x) - big(*c)).collect() };
        let (lower, upper) = radii(&data, 1, &centre, &support);
        let distances = data
            .counting()
            .filter(|&i| y[i] > 0.0)
            .map(|i| dot(&from_centre(i), &from_centre(i)));
        check(
            upper,
            &distances.reduce(|a, b| if a > b { a } else { b }).unwrap().sqrt(),
        );
        let (mut total, mut spread, mut mean) = (zero(), zero(), vec![zero(); d]);
        for (i, share) in &support {
            let t = from_centre(*i);
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
    assert!(compared > 600 && wrong == 0, "{compared} {wrong}");
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
