//! Distances from a centre, computed without cancellation where the data lie far from 0.

use rayon::prelude::*;

use wstar_data::{Design, Row};
use wstar_numeric::dense;

/// ‖x − c‖² for each of the given rows.
pub(super) fn squared_distances(design: &Design, rows: &[usize], centre: &[f64]) -> Vec<f64> {
    let squared = dense::squared_norm(centre);
    rows.par_iter()
        // Heuristic: scheduling overhead against load balance; not measured yet.
        .with_min_len(64)
        .map(|&i| squared_distance(design.row(i), centre, squared))
        .collect()
}

/// ‖x − c‖²; `squared` is ‖c‖², used for sparse rows.
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
            // Heuristic: less than two digits are lost above this fraction; not measured yet.
            if squared + sum > 0.05 * squared {
                return squared + sum;
            }
            // The difference cancels for a row close to the centre, so such a row is expanded.
            distance(&row.to_dense(centre.len()), centre)
        }
    }
}

/// Independent partial sums, which the compiler can vectorise. Heuristic: trades instruction-level parallelism
/// against work on short rows; not measured yet.
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
