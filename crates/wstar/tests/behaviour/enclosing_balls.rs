//! Smallest enclosing balls: known ones, random ones compared with a general solver, and their proofs.

#![allow(clippy::unwrap_used)]

use crate::common::sparse;
use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SupportedConeT, ZeroConeT,
};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use wstar::bayes::minimax::{self, Ball, Minimax};
use wstar::data::Dataset;

/// Class `a` holds the rows; class `b` is a single point, so that there are two classes.
fn dataset(rows: &[Vec<f64>]) -> Dataset {
    let mut all = rows.to_vec();
    all.push(vec![1e3; rows[0].len()]);
    let mut labels = vec!["a"; rows.len()];
    labels.push("b");
    Dataset::labelled(&all, &labels).unwrap()
}

fn ball(rows: &[Vec<f64>]) -> Ball {
    proved(&dataset(rows))
}

/// The ball of class `a`, after a check of all its properties.
fn proved(data: &Dataset) -> Ball {
    let fitted = minimax::fit(data).unwrap();
    let intervals = minimax::verify(data, &fitted).unwrap();
    for (ball, (lower, upper)) in fitted.balls.iter().zip(&intervals) {
        assert_eq!((ball.lower, ball.radius), (*lower, *upper));
        assert!(ball.relative_gap() <= 1e-9, "gap {:e}", ball.relative_gap());
        assert!(ball.multipliers.iter().all(|&m| m >= 0.0));
        assert!((ball.multipliers.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(ball.support.len() <= data.features() + 1);
    }
    assert_eq!((intervals[1], fitted.balls[1].support.len()), ((0.0, 0.0), 1));
    // Checks the claims of the certificate again, from the definitions.
    let ball = fitted.balls[0].clone();
    let point = |i: usize| data.design().row(i).to_dense(data.features());
    for i in 0..data.rows() - 1 {
        let squared: f64 = point(i)
            .iter()
            .zip(&ball.centre)
            .map(|(x, c)| (x - c).powi(2))
            .sum();
        assert!(squared.sqrt() <= ball.radius * (1.0 + 1e-12));
    }
    for (&i, &multiplier) in ball.support.iter().zip(&ball.multipliers) {
        let squared: f64 = point(i)
            .iter()
            .zip(&ball.centre)
            .map(|(x, c)| (x - c).powi(2))
            .sum();
        assert!(
            multiplier < 1e-9 || squared.sqrt() >= ball.radius * (1.0 - 1e-6),
            "a support point lies on the sphere"
        );
    }
    ball
}

fn assert_ball(ball: &Ball, centre: &[f64], radius: f64) {
    assert!(
        (ball.radius - radius).abs() <= 1e-12 * radius.max(1.0),
        "{ball:?}"
    );
    for (found, known) in ball.centre.iter().zip(centre) {
        assert!((found - known).abs() <= 1e-12 * known.abs().max(1.0), "{ball:?}");
    }
}

#[test]
fn known_balls() {
    assert_ball(&ball(&[vec![3.0, 4.0]]), &[3.0, 4.0], 0.0);
    assert_ball(&ball(&vec![vec![0.1, 0.7]; 5]), &[0.1, 0.7], 0.0);
    assert_ball(&ball(&[vec![0.0, 0.0], vec![6.0, 8.0]]), &[3.0, 4.0], 5.0);
    // Equilateral triangle with side 2: the circumradius is 2/√3.
    let height = 3f64.sqrt();
    let triangle = [vec![-1.0, 0.0], vec![1.0, 0.0], vec![0.0, height]];
    assert_ball(&ball(&triangle), &[0.0, 1.0 / height], 2.0 / height);
    // Obtuse triangle: the longest edge alone determines the ball.
    let obtuse = ball(&[vec![0.0, 0.0], vec![10.0, 0.0], vec![5.0, 1.0]]);
    assert_ball(&obtuse, &[5.0, 0.0], 5.0);
    assert_eq!(obtuse.support.iter().filter(|&&i| i == 2).count(), 0);
    // A square and its centre: four points on one circle, affinely dependent.
    let square = [
        vec![0.0, 0.0],
        vec![0.0, 2.0],
        vec![2.0, 0.0],
        vec![2.0, 2.0],
        vec![1.0, 1.0],
    ];
    assert_ball(&ball(&square), &[1.0, 1.0], 2f64.sqrt());
    // Collinear points.
    let line: Vec<Vec<f64>> = (0..=10)
        .map(|i| vec![f64::from(i), 2.0 * f64::from(i), 0.0])
        .collect();
    assert_ball(&ball(&line), &[5.0, 10.0, 0.0], 125f64.sqrt());
}

#[test]
fn corners_of_a_cube_and_points_on_a_sphere() {
    let cube: Vec<Vec<f64>> = (0..1024u32)
        .map(|code| (0..10).map(|j| f64::from(code >> j & 1)).collect())
        .collect();
    assert_ball(&ball(&cube), &[0.5; 10], 2.5f64.sqrt());
    // ±7e_j around an offset of a million: all points lie on the boundary of the ball.
    let mut cross = Vec::new();
    for j in 0..30 {
        for sign in [-7.0, 7.0] {
            let mut point = vec![1e6; 30];
            point[j] += sign;
            cross.push(point);
        }
    }
    assert_ball(&ball(&cross), &[1e6; 30], 7.0);
}

#[test]
fn frequencies_do_not_matter_and_rows_of_weight_zero_are_absent() {
    let rows = vec![
        vec![0.0, 1.0],
        vec![4.0, 1.0],
        vec![2.0, 2.5],
        vec![2.0, 2.5],
        vec![90.0, 0.0],
    ];
    let mut data = dataset(&rows);
    data = data.with_weights(vec![7.0, 0.5, 1.0, 3.0, 0.0, 1.0]).unwrap();
    let found = minimax::fit(&data).unwrap();
    assert_ball(&found.balls[0], &[2.0, 1.0], 2.0);
    assert_eq!(
        minimax::verify(&data, &found).unwrap()[0].1,
        found.balls[0].radius
    );
}

#[test]
fn a_false_claim_is_rejected() {
    let data = dataset(&[vec![0.0, 0.0], vec![6.0, 8.0], vec![3.0, 3.0]]);
    let fitted = minimax::fit(&data).unwrap();
    let mut shifted: Minimax = fitted.clone();
    shifted.balls[0].centre[0] += 0.01;
    let (lower, upper) = minimax::verify(&data, &shifted).unwrap()[0];
    assert!(upper > 5.005 && lower <= 5.0 + 1e-12);
    let mut negative = fitted.clone();
    negative.balls[0].multipliers = vec![-1.0; negative.balls[0].support.len()];
    assert!(minimax::verify(&data, &negative).is_err());
    let mut elsewhere = fitted.clone();
    elsewhere.balls[0].support[0] = 3;
    assert!(
        minimax::verify(&data, &elsewhere).is_err(),
        "a row of the other class"
    );
    let mut beyond = fitted;
    beyond.balls[0].support[0] = 1_000_000;
    assert!(minimax::verify(&data, &beyond).is_err());
}

#[test]
fn the_nearest_centre_wins() {
    let rows = [vec![0.0, 0.0], vec![2.0, 0.0], vec![10.0, 1.0], vec![10.0, 3.0]];
    let data = Dataset::labelled(&rows, &["a", "a", "b", "b"]).unwrap();
    let scorer = minimax::fit(&data).unwrap().scorer();
    let (w, b) = scorer.linear().unwrap().hyperplane().unwrap();
    // The centres are (1, 0) and (10, 2). The boundary is the perpendicular bisector of the segment between them.
    assert!((w[0] - 9.0).abs() < 1e-12 && (w[1] - 2.0).abs() < 1e-12);
    assert!((w[0] * 5.5 + w[1] * 1.0 + b).abs() < 1e-12);
}

/// The squared radius, from the dual quadratic programme by a general interior-point solver.
fn reference(rows: &[Vec<f64>]) -> f64 {
    let n = rows.len();
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let upper: Vec<Vec<f64>> = (0..n)
        .map(|i| {
            (0..n)
                .map(|j| {
                    if i <= j {
                        2.0 * dot(&rows[i], &rows[j])
                    } else {
                        0.0
                    }
                })
                .collect()
        })
        .collect();
    let p = CscMatrix::from(&upper);
    let q: Vec<f64> = rows.iter().map(|x| -dot(x, x)).collect();
    let mut constraints = vec![vec![1.0; n]];
    for i in 0..n {
        constraints.push((0..n).map(|j| if i == j { -1.0 } else { 0.0 }).collect());
    }
    let a = CscMatrix::from(&constraints);
    let mut b = vec![0.0; n + 1];
    b[0] = 1.0;
    let cones: [SupportedConeT<f64>; 2] = [ZeroConeT(1), NonnegativeConeT(n)];
    let settings = DefaultSettings {
        verbose: false,
        ..Default::default()
    };
    let mut solver = DefaultSolver::new(&p, &q, &a, &b, &cones, settings).unwrap();
    solver.solve();
    -solver.solution.obj_val
}

#[test]
fn rows_far_from_zero_keep_their_digits_in_dense_and_sparse_storage() {
    let data = dataset(&[vec![999.25, 999.25], vec![999.25, 1000.25]]);
    for data in [sparse(&data), data] {
        let ball = proved(&data);
        assert!((ball.radius - 0.5).abs() <= 1e-13, "{}", ball.radius);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Small integer coordinates: many points coincide, lie on one sphere or are affinely dependent.
    #[test]
    fn agrees_with_a_general_solver(
        (rows, shift) in (1usize..6, 1usize..14).prop_flat_map(|(d, n)| (
            prop::collection::vec(prop::collection::vec((-3i8..=3).prop_map(f64::from), d), n),
            prop::sample::select(vec![0.0, 1000.25]),
        ))
    ) {
        let moved: Vec<Vec<f64>> =
            rows.iter().map(|row| row.iter().map(|v| v + shift).collect()).collect();
        let data = dataset(&moved);
        let dense = proved(&data);
        let squared = reference(&rows);
        prop_assert!((dense.radius.powi(2) - squared).abs() <= 1e-6 * squared.max(1.0), "{} {}", dense.radius.powi(2), squared);
        let from_sparse = proved(&sparse(&data));
        prop_assert!((from_sparse.radius - dense.radius).abs() <= 1e-9 * dense.radius.max(1.0));
    }

    #[test]
    fn gaps_close_on_random_sets(
        seed in any::<u64>(), n in 1usize..120, d in 1usize..60, scale in -6i32..7, copies in 1usize..3
    ) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut rows: Vec<Vec<f64>> = (0..n)
            .map(|_| (0..d).map(|_| (random.random::<f64>() - 0.5) * 10f64.powi(scale)).collect())
            .collect();
        for _ in 1..copies {
            rows.extend_from_within(..n);
        }
        proved(&dataset(&rows));
    }
}

/// Points near a sphere, nearly all of them relevant, with fewer or more dimensions than points.
#[test]
fn points_near_a_sphere() {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for (n, d) in [(400, 200), (150, 300), (3000, 20)] {
        let rows: Vec<Vec<f64>> = (0..n)
            .map(|_| {
                let x: Vec<f64> = (0..d)
                    .map(|_| (0..6).map(|_| random.random::<f64>() - 0.5).sum())
                    .collect();
                let norm = x.iter().map(|v| v * v).sum::<f64>().sqrt();
                let radius = 1.0 + 1e-4 * random.random::<f64>();
                x.iter().map(|v| v / norm * radius).collect()
            })
            .collect();
        proved(&dataset(&rows));
    }
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let rows: Vec<Vec<f64>> = (0..3000)
        .map(|_| (0..20).map(|_| random.random::<f64>()).collect())
        .collect();
    let data = dataset(&rows);
    let fit = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| minimax::fit(&data).unwrap())
    };
    assert_eq!(fit(1), fit(2));
}
