//! Random rows of classes for the claims that are not about a gap.

use crate::arithmetic::Interval;
use crate::design::Design;
use crate::tests::exact::{Big, big};
use crate::tests::random_problems::Random;
use crate::training_rows::TrainingRows;

/// Rows with these entries. `sparse` leaves zeros out.
pub(super) fn rows(x: &[Vec<f64>], targets: &[f64], weights: Option<Vec<f64>>, sparse: bool) -> TrainingRows {
    let mut design = Design {
        features: x[0].len(),
        starts: vec![0],
        columns: Vec::new(),
        values: Vec::new(),
    };
    for row in x {
        for (j, &value) in row
            .iter()
            .enumerate()
            .filter(|(_, value)| !sparse || **value != 0.0)
        {
            design.values.push(value);
            if sparse {
                design.columns.push(j as u32);
            }
        }
        design.starts.push(design.values.len());
    }
    TrainingRows {
        design,
        targets: targets.to_vec(),
        weights,
        left_out: 0,
    }
}

/// Rows of several classes, dense or sparse, with or without weights, some of them 0, near 0 or far from it.
pub(super) fn random(random: &mut Random, classes: usize) -> (TrainingRows, Vec<Vec<f64>>) {
    let (n, d) = (4 * classes + random.below(20), 1 + random.below(4));
    let (sparse, offset, scale) = (
        random.below(2) == 0,
        random.pick(&[0.0, 0.0, 3.0, 1e5]),
        random.pick(&[1.0, 1e-4, 1e3]),
    );
    let entry = |random: &mut Random| match sparse && random.below(3) == 0 {
        true => 0.0,
        false => offset + scale * random.normal(),
    };
    let x: Vec<Vec<f64>> = (0..n).map(|_| (0..d).map(|_| entry(random)).collect()).collect();
    let targets: Vec<f64> = (0..n).map(|i| (i % classes) as f64).collect();
    let weights: Vec<f64> = (0..n)
        .map(|i| {
            if i > 3 * classes && random.below(4) == 0 {
                0.0
            } else {
                0.1 + random.uniform()
            }
        })
        .collect();
    let weights = (random.below(2) == 0).then_some(weights);
    (rows(&x, &targets, weights, sparse), x)
}

pub(super) fn bigs(x: &[f64]) -> Vec<Big> {
    x.iter().map(|&x| big(x)).collect()
}

/// Whether an interval contains a number.
pub(super) fn contains(interval: Interval, exact: &Big) -> bool {
    let above = interval.lo == f64::NEG_INFINITY || big(interval.lo) <= *exact;
    above && (interval.hi == f64::INFINITY || *exact <= big(interval.hi))
}
