//! The maximum margin: feasible primal and dual points without a gap, compared with a general solver.
#![allow(clippy::unwrap_used, missing_docs)]

use crate::margins::qp_margin;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use wstar::data::Design;
use wstar::data::run::{Budget, Status, Unwatched};
use wstar::separate::exact::Signed;
use wstar::separate::margin::{HardMargin, MaximumMargin, hard_margin};
use wstar::separate::proof::{ClassNames, Verdict};

fn find(design: &Design, signs: &[i8], intercept: bool) -> MaximumMargin {
    let signed = Signed {
        design,
        signs,
        intercept,
    };
    let classes = ClassNames {
        positive: "b".into(),
        negative: "a".into(),
    };
    hard_margin(&signed, classes, 1e-8, Budget::default(), &mut Unwatched).unwrap()
}

#[track_caller]
fn found(design: &Design, signs: &[i8], intercept: bool) -> HardMargin {
    match find(design, signs, intercept) {
        MaximumMargin::Found(margin) => *margin,
        MaximumMargin::Refused(separated) => panic!("refused: {:?}", separated.proof),
    }
}

/// Recomputes every claim in plain arithmetic. By weak duality, the result proves the optimum.
#[track_caller]
fn proves(design: &Design, signs: &[i8], intercept: bool, margin: &HardMargin, tol: f64) {
    assert_eq!(margin.status, Status::Converged);
    let features = design.features();
    let plane = &margin.hyperplane;
    let mut alpha = vec![0.0; design.rows()];
    margin.support.iter().for_each(|&(i, a)| alpha[i as usize] = a);
    let (mut sum, mut balance, mut point) = (0.0, 0.0, vec![0.0; features]);
    for (i, &y) in signs.iter().enumerate().filter(|(_, y)| **y != 0) {
        let y = f64::from(y);
        let x = design.row(i).to_dense(features);
        let score = y * (x.iter().zip(&plane.weights).map(|(x, w)| x * w).sum::<f64>() + plane.intercept);
        assert!(score >= 1.0 - tol, "row {i} has {score}");
        assert!(alpha[i] >= 0.0);
        sum += alpha[i];
        balance += alpha[i] * y;
        point.iter_mut().zip(&x).for_each(|(p, x)| *p += alpha[i] * y * x);
    }
    for (i, &y) in signs.iter().enumerate().filter(|(_, y)| **y != 0) {
        let score = f64::from(y) * plane.score(design.row(i));
        assert!(
            alpha[i] * (score - 1.0) <= tol * sum,
            "complementary slackness of row {i}"
        );
    }
    if intercept {
        assert!(balance.abs() <= 1e-12 * sum, "{balance} of {sum}");
    }
    let primal = plane.weights.iter().map(|w| w * w).sum::<f64>() / 2.0;
    let dual = sum - point.iter().map(|p| p * p).sum::<f64>() / 2.0;
    assert!((primal - dual).abs() <= tol * primal, "{primal} {dual}");
    assert!((margin.primal - primal).abs() <= 1e-9 * primal && (margin.dual - dual).abs() <= tol * primal);
    assert!(
        margin.relative_gap <= 1e-8 && margin.relative_gap >= -1e-9,
        "{}",
        margin.relative_gap
    );
    let width = 1.0 / (2.0 * primal).sqrt();
    assert!((margin.margin - width).abs() <= 1e-9 * width);
}

/// 1/‖w‖, where w minimises ½‖w‖² subject to y(w·x + b) ≥ 1, by Clarabel.
fn reference(rows: &[Vec<f64>], signs: &[i8], intercept: bool) -> f64 {
    let features = rows[0].len();
    let columns = features + usize::from(intercept);
    let constraints: Vec<Vec<f64>> = rows
        .iter()
        .zip(signs)
        .map(|(x, &y)| {
            let mut row: Vec<f64> = x.iter().map(|x| -f64::from(y) * x).collect();
            row.resize(columns, -f64::from(y));
            row
        })
        .collect();
    qp_margin(&constraints, features)
}

fn separable(
    random: &mut ChaCha8Rng,
    n: usize,
    d: usize,
    gap: f64,
    intercept: bool,
) -> (Vec<Vec<f64>>, Vec<i8>) {
    let w: Vec<f64> = (0..d).map(|_| random.random_range(-1.0..1.0)).collect();
    let norm = w.iter().map(|w| w * w).sum::<f64>().sqrt();
    let b = if intercept { 0.2 } else { 0.0 };
    let (mut rows, mut signs) = (Vec::new(), Vec::new());
    while rows.len() < n || !signs.contains(&1) || !signs.contains(&-1) {
        let mut x: Vec<f64> = (0..d).map(|_| random.random_range(-1.0..1.0)).collect();
        let score = x.iter().zip(&w).map(|(x, w)| x * w).sum::<f64>() / norm + b;
        x.iter_mut()
            .zip(&w)
            .for_each(|(x, w)| *x += score.signum() * gap * w / norm);
        rows.push(x);
        signs.push(score.signum() as i8);
    }
    (rows, signs)
}

#[test]
fn small_sets_agree_with_a_general_solver() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for trial in 0..300 {
        let intercept = trial % 2 == 0;
        let (n, d) = (random.random_range(2..40), random.random_range(1..=6));
        let gap = 10f64.powf(random.random_range(-2.0..-0.3));
        let (rows, signs) = separable(&mut random, n, d, gap, intercept);
        let design = Design::from_rows(&rows).unwrap();
        let margin = found(&design, &signs, intercept);
        proves(&design, &signs, intercept, &margin, 1e-8);
        let expected = reference(&rows, &signs, intercept);
        assert!(
            (margin.margin - expected).abs() <= 1e-6 * expected,
            "{} {expected}",
            margin.margin
        );
        assert!(
            margin.support.len() <= d + usize::from(intercept),
            "{}",
            margin.support.len()
        );
    }
}

#[test]
fn a_worked_example() {
    // The nearest points of the classes are (1, 1) and (0, 0): w = (1, 1), b = −1, both at distance √½.
    let design =
        Design::from_rows(&[vec![1.0, 1.0], vec![2.0, 2.0], vec![0.0, 0.0], vec![-1.0, 0.0]]).unwrap();
    let margin = found(&design, &[1, 1, -1, -1], true);
    assert!(
        (margin.hyperplane.weights[0] - 1.0).abs() < 1e-14
            && (margin.hyperplane.weights[1] - 1.0).abs() < 1e-14
    );
    assert!((margin.hyperplane.intercept + 1.0).abs() < 1e-14);
    assert!((margin.margin - 0.5f64.sqrt()).abs() < 1e-14);
    assert_eq!(margin.support.iter().map(|&(i, _)| i).collect::<Vec<_>>(), [0, 2]);
    assert!(margin.support.iter().all(|&(_, a)| (a - 1.0).abs() < 1e-14));
}

#[test]
fn thousands_of_rows_in_every_storage() {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    for (n, d, gap) in [(20_000, 20, 0.05), (5_000, 60, 0.001)] {
        let (mut rows, signs) = separable(&mut random, n, d, gap, true);
        // Few bits, so that single precision holds the same numbers.
        rows.iter_mut()
            .flatten()
            .for_each(|x| *x = f64::from((*x * 65536.0).round() as f32) / 65536.0);
        let narrow = Design::from_rows(&rows).unwrap();
        assert!(matches!(narrow, Design::Dense32(_)));
        let margin = found(&narrow, &signs, true);
        proves(&narrow, &signs, true, &margin, 1e-8);
        let wide = Design::Dense64(wstar::data::Dense::new(rows.concat(), rows.len(), d).unwrap());
        let again = found(&wide, &signs, true);
        assert_eq!(margin.hyperplane, again.hyperplane, "storage changes nothing");
    }
}

#[test]
fn inseparable_classes_are_refused_with_the_proof() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    for trial in 0..40 {
        let intercept = trial % 2 == 0;
        let (mut rows, mut signs) = separable(&mut random, 60, 4, 0.01, intercept);
        // A point of one class is repeated in the other class.
        rows.push(rows[0].clone());
        signs.push(-signs[0]);
        let design = Design::from_rows(&rows).unwrap();
        match find(&design, &signs, intercept) {
            MaximumMargin::Refused(separated) => {
                let proof = separated.proof.unwrap();
                assert_ne!(proof.verdict, Verdict::Separable);
                assert!(proof.check(&design, &signs).unwrap().holds);
            }
            MaximumMargin::Found(margin) => panic!("{margin:?}"),
        }
    }
}

#[test]
fn more_columns_than_a_matrix_could_have() {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    let (n, d) = (1500, 60_000u32);
    for intercept in [true, false] {
        let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        let signs: Vec<i8> = (0..n).map(|i| if i % 3 == 0 { 1 } else { -1 }).collect();
        for _ in 0..n {
            let mut columns: Vec<u32> = (0..20)
                .map(|k| {
                    if k < 5 {
                        random.random_range(0..40)
                    } else {
                        random.random_range(0..d)
                    }
                })
                .collect();
            columns.sort_unstable();
            columns.dedup();
            values.extend(columns.iter().map(|_| random.random_range(0.1..1.0)));
            indices.extend(columns);
            starts.push(indices.len());
        }
        let design = Design::from_csr(starts, indices, values, d as usize).unwrap();
        let margin = found(&design, &signs, intercept);
        proves(&design, &signs, intercept, &margin, 1e-8);
    }
}
