//! Verifies a circuit of full size in binary64 with bounds on all rounding errors (S. M. Rump,
//! *Verification methods: rigorous results using floating-point arithmetic*, Acta Numerica 19, 2010). In
//! many dimensions this is thousands of times faster than integers. It never confirms a wrong circuit, but
//! may fail to confirm a true one.

use crate::least_error::distinct_points::DistinctPoints;

/// Whether `D + 1` points of `D` dimensions are certainly a circuit: the first `D` are independent, and the
/// last is a combination of them with only negative multipliers.
pub(crate) fn is_certainly_circuit(points: &DistinctPoints, members: &[usize]) -> bool {
    let d = points.dimension;
    if members.len() != d + 1 || !members.iter().any(|&i| points.positive[i]) {
        return false;
    }
    let Some(mut columns) = scaled(points, members) else {
        return false;
    };
    let Some(last) = columns.pop() else {
        return false;
    };
    let Some(inverse) = invert(&columns) else {
        return false;
    };
    // The relative error of a sum of d products in any order, relative to the sum of absolute values.
    let share = (d as f64 + 4.0) * f64::EPSILON;
    // ‖inverse·columns − I‖∞; a value below 1 proves that the columns are independent.
    let mut distance = 0.0f64;
    for (k, row) in inverse.iter().enumerate() {
        let mut sum = 0.0;
        for (j, column) in columns.iter().enumerate() {
            let (product, size) = product(row, column);
            let off = product - if j == k { 1.0 } else { 0.0 };
            sum += off.abs() + share * (size + 1.0);
        }
        distance = distance.max(sum * (1.0 + share));
    }
    let multipliers: Vec<f64> = inverse.iter().map(|row| -product(row, &last).0).collect();
    let residual: Vec<f64> = (0..d)
        .map(|i| {
            let (mut sum, mut size) = (last[i], last[i].abs());
            for (column, multiplier) in columns.iter().zip(&multipliers) {
                sum += column[i] * multiplier;
                size += (column[i] * multiplier).abs();
            }
            sum.abs() + share * size
        })
        .collect();
    let sizes = |row: &Vec<f64>| row.iter().zip(&residual).map(|(v, r)| v.abs() * r).sum::<f64>();
    let error = inverse.iter().map(sizes).fold(0.0, f64::max) * (1.0 + share) / (1.0 - distance);
    // The constant covers underflow, which loses far less.
    distance < 0.5 && multipliers.iter().all(|m| *m > 1.01 * error + 1e-200)
}

/// The points, multiplied by their signs, as columns. Coordinates and points are scaled by powers of two,
/// which does not round. `None` if an entry is below 1e-100 or above 1e100. Derived: products of the others
/// neither underflow nor overflow.
fn scaled(points: &DistinctPoints, members: &[usize]) -> Option<Vec<Vec<f64>>> {
    let power = |most: f64| (-most.log2().floor()).clamp(-500.0, 500.0).exp2();
    let factors: Vec<f64> = (0..points.dimension)
        .map(|j| {
            let most = members
                .iter()
                .map(|&i| points.row(i)[j].abs())
                .fold(0.0, f64::max);
            if most > 0.0 { power(most) } else { 1.0 }
        })
        .collect();
    let column = |&i: &usize| {
        let sign = if points.positive[i] { 1.0 } else { -1.0 };
        let mut column: Vec<f64> = points
            .row(i)
            .iter()
            .zip(&factors)
            .map(|(v, f)| sign * v * f)
            .collect();
        let most = column.iter().fold(0.0f64, |most, v| most.max(v.abs()));
        let factor = if most > 0.0 { power(most) } else { 1.0 };
        column.iter_mut().for_each(|v| *v *= factor);
        let lost = points
            .row(i)
            .iter()
            .zip(&column)
            .any(|(v, c)| *v != 0.0 && c.abs() < 1e-100);
        (!lost && column.iter().all(|v| v.abs() < 1e100)).then_some(column)
    };
    members.iter().map(column).collect()
}

/// The rows of the rounded inverse of a matrix given by columns; `None` if a pivot or an entry is outside the
/// range that `scaled` accepts.
fn invert(columns: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let d = columns.len();
    // Each line holds a row of the matrix and a row of the identity.
    let mut lines: Vec<Vec<f64>> = (0..d)
        .map(|i| {
            let identity = (0..d).map(|j| if i == j { 1.0 } else { 0.0 });
            columns.iter().map(|column| column[i]).chain(identity).collect()
        })
        .collect();
    for k in 0..d {
        let pivot = (k..d).max_by(|&a, &b| lines[a][k].abs().total_cmp(&lines[b][k].abs()))?;
        lines.swap(k, pivot);
        let value = lines[k][k];
        if value.is_nan() || value.abs() <= 1e-100 {
            return None;
        }
        lines[k].iter_mut().for_each(|v| *v /= value);
        let line = lines[k].clone();
        for (i, other) in lines.iter_mut().enumerate() {
            let factor = other[k];
            if i != k && factor != 0.0 {
                for (v, by) in other[k..].iter_mut().zip(&line[k..]) {
                    *v -= factor * by;
                }
            }
        }
    }
    let inverse: Vec<Vec<f64>> = lines.into_iter().map(|line| line[d..].to_vec()).collect();
    inverse
        .iter()
        .flatten()
        .all(|v| v.abs() < 1e100)
        .then_some(inverse)
}

/// A sum of products, and the sum of their absolute values.
fn product(a: &[f64], b: &[f64]) -> (f64, f64) {
    a.iter().zip(b).fold((0.0, 0.0), |(sum, size), (a, b)| {
        (sum + a * b, size + (a * b).abs())
    })
}
