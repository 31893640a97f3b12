//! Distances from a centre that keep their digits wherever the data lie.

use rayon::prelude::*;

use crate::data::{Design, Row};
use crate::kernel::dense;

/// ‖x − c‖² of each of the given rows.
pub(super) fn squared_distances(design: &Design, rows: &[usize], centre: &[f64]) -> Vec<f64> {
    let squared = dense::squared_norm(centre);
    rows.par_iter()
        .with_min_len(64)
        .map(|&i| squared_distance(design.row(i), centre, squared))
        .collect()
}

/// ‖x − c‖²; `squared` is ‖c‖², of use for sparse rows.
pub(super) fn squared_distance(row: Row<'_>, centre: &[f64], squared: f64) -> f64 {
    match row {
        Row::Dense32(x) => distance(x, centre),
        Row::Dense64(x) => distance(x, centre),
        row if !row.is_sparse() => distance(&row.to_dense(centre.len()), centre),
        row => {
            let mut sum = 0.0;
            row.for_each(|j, v| {
                if let Some(c) = centre.get(j) {
                    sum += v * (v - 2.0 * c);
                }
            });
            if squared + sum > 0.05 * squared {
                return squared + sum;
            }
            // Digits cancelled: the row is near the centre compared with 0, and is taken in full.
            distance(&row.to_dense(centre.len()), centre)
        }
    }
}

const LANES: usize = 8;

fn distance<T: Copy + Into<f64>>(x: &[T], centre: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    for (x, c) in x.chunks(LANES).zip(centre.chunks(LANES)) {
        for ((lane, &x), c) in lanes.iter_mut().zip(x).zip(c) {
            let difference = x.into() - c;
            *lane += difference * difference;
        }
    }
    lanes.iter().sum()
}

/// (x − o)·y.
pub(super) fn centred_dot<T: Copy + Into<f64>>(x: &[T], origin: &[f64], y: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    for ((x, o), y) in x.chunks(LANES).zip(origin.chunks(LANES)).zip(y.chunks(LANES)) {
        for (((lane, &x), o), y) in lanes.iter_mut().zip(x).zip(o).zip(y) {
            *lane += (x.into() - o) * y;
        }
    }
    lanes.iter().sum()
}
