//! Times of the gap and of the digits: `cargo test --release -p wstar-check speed -- --ignored --nocapture`.

use std::time::Instant;

use crate::design::Design;
use crate::gap::{Hints, Subproblem, prove};
use crate::problem::{Intercept, Loss, Problem};
use crate::tests::random_problems::Random;

#[test]
#[ignore = "measures time"]
fn a_million_rows_of_fifty_columns() {
    let (n, d) = (1_000_000, 50);
    let mut random = Random(1);
    let values: Vec<f64> = (0..n * d).map(|_| random.uniform() - 0.5).collect();
    let design = Design {
        features: d,
        starts: (0..=n).map(|i| i * d).collect(),
        columns: Vec::new(),
        values,
    };
    let signal: Vec<f64> = (0..n)
        .map(|i| design.row(i).values[0] * 3.0 + random.normal())
        .collect();
    let classes: Vec<f64> = signal.iter().map(|s| s.signum()).collect();
    let weights = vec![1.0; n];
    for (loss, l2, targets) in [
        (Loss::Squared, 1.0, &signal),
        (Loss::Logistic, 1.0, &classes),
        (Loss::Logistic, 0.0, &classes),
    ] {
        let problem = Problem {
            loss,
            l1: 0.0,
            l2,
            intercept: Intercept::Free,
            outputs: 1,
            features: d,
        };
        let sub = Subproblem {
            problem,
            design: &design,
            targets,
            weights: &weights,
        };
        let Some(first) = crate::digits::prove(&sub, &vec![0.0; d + 1]) else {
            continue;
        };
        let near: Vec<f64> = first.centre.iter().map(|c| c.0).collect();
        let start = Instant::now();
        let Some(digits) = crate::digits::prove(&sub, &near) else {
            continue;
        };
        println!("{loss:?} l2 {l2}: digits {:.2?}", start.elapsed());
        let worst = digits
            .centre
            .iter()
            .zip(&digits.radius)
            .map(|(c, r)| -(r / c.0.abs()).log10())
            .fold(99.0, f64::min);
        let point: Vec<f64> = digits.centre.iter().map(|c| c.0).collect();
        let start = Instant::now();
        let gap = prove(&sub, &point, &Hints::default());
        println!("{worst:.1} digits; gap {:.2?}: {gap:?}", start.elapsed());
    }
}
