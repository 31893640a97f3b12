//! Limits on time are kept. These tests measure time, so `cargo xtask test` runs them alone, after all others.
#![allow(clippy::unwrap_used)]

use std::time::Instant;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use wstar::certificate::Certificate;
use wstar::data::Dataset;
use wstar::data::run::{Status, Unwatched};
use wstar::fit;
use wstar::settings::{Method, Options};

/// Two classes that overlap: the sign of a sum of features, plus noise.
fn noisy(n: usize, features: usize) -> Dataset {
    const NOISE: f64 = 4.0;
    let mut random = ChaCha8Rng::seed_from_u64(8);
    let rows: Vec<Vec<f64>> = (0..n)
        .map(|_| (0..features).map(|_| random.random_range(-1.0..1.0)).collect())
        .collect();
    let labels: Vec<&str> = rows
        .iter()
        .map(|row| row.iter().sum::<f64>() + NOISE * random.random_range(-1.0..1.0) > 0.0)
        .map(|positive| if positive { "b" } else { "a" })
        .collect();
    Dataset::labelled(&rows, &labels).unwrap()
}

#[test]
#[ignore = "measures time: runs alone"]
fn least_error_keeps_its_time_in_every_phase() {
    for (n, features) in [(60_000, 5), (15_000, 3), (40_000, 3), (300, 40)] {
        let data = noisy(n, features);
        let settings = Options {
            max_seconds: Some(1.0),
            ..Options::of(Method::MinError)
        };
        let started = Instant::now();
        let model = fit(&data, &settings, &mut Unwatched).unwrap();
        let seconds = started.elapsed().as_secs_f64();
        // Twice the time limit, because other processes may slow the run down.
        assert!(seconds < 2.2, "{n} × {features}: {seconds} s");
        assert_eq!(model.record().status, Status::TimeLimit, "{n} × {features}");
        let Certificate::MinError(claim) = model.certificate() else {
            panic!("{:?}", model.certificate())
        };
        assert!(claim.lower_bound < claim.cost && claim.cost < 0.5 * n as f64);
    }
}
