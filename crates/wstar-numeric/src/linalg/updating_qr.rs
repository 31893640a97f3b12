//! An updating QR factorisation N = QR of an active set: the columns of N are active rows of the problem, added and removed
//! one at a time.
//!
//! Q has orthonormal columns. The first few are *fixed*: they span the directions to which every vector is made
//! orthogonal, and belong to no column of N. A column is added by Gram–Schmidt, repeated until the result is orthogonal,
//! and removed by Givens rotations (J. W. Daniel, W. B. Gragg, L. Kaufman and G. W. Stewart, Reorthogonalization and stable
//! algorithms for updating the Gram–Schmidt QR factorization, Math. Comp. 30, 1976). Both cost O(size of Q).

use crate::dense::{axpy, dot, squared_norm};

/// Gram–Schmidt is repeated while a pass leaves less than this fraction of the length.
/// From Daniel, Gragg, Kaufman and Stewart 1976: a threshold of about 1/√2.
const KEPT: f64 = 0.7;
/// The maximum number of Gram–Schmidt passes. Cap: a vector that still loses length after these passes is used as it is.
const MOST_PASSES: usize = 4;

/// The factors Q and R.
#[derive(Debug, Clone, Default)]
pub struct Factor {
    dimension: usize,
    fixed: usize,
    /// Q, column-major.
    q: Vec<f64>,
    /// The columns of the upper triangle R: column `k` has `k + 1` entries.
    r: Vec<Vec<f64>>,
}

/// `y = Aᵀx` for a column-major A with `x.len()` rows.
fn transposed_product(a: &[f64], x: &[f64], y: &mut [f64]) {
    if x.is_empty() {
        return y.fill(0.0);
    }
    for (y, column) in y.iter_mut().zip(a.chunks_exact(x.len())) {
        *y = dot(column, x);
    }
}

/// `y += scale·Ax` for a column-major A with `y.len()` rows.
fn add_product(scale: f64, a: &[f64], x: &[f64], y: &mut [f64]) {
    let rows = y.len();
    if rows == 0 {
        return;
    }
    // Four columns at a time: y is read and written a quarter as often.
    let (blocks, rest) = (x.len() / 4, x.len() % 4);
    for (x, block) in x.chunks_exact(4).zip(a.chunks_exact(4 * rows)) {
        let [x0, x1, x2, x3] = [scale * x[0], scale * x[1], scale * x[2], scale * x[3]];
        let (first, second) = block.split_at(2 * rows);
        let ((a0, a1), (a2, a3)) = (first.split_at(rows), second.split_at(rows));
        for ((((y, a0), a1), a2), a3) in y.iter_mut().zip(a0).zip(a1).zip(a2).zip(a3) {
            *y += (x0 * a0 + x1 * a1) + (x2 * a2 + x3 * a3);
        }
    }
    for k in 4 * blocks..4 * blocks + rest {
        axpy(scale * x[k], &a[k * rows..(k + 1) * rows], y);
    }
}

/// `y = Ax` for a row-major A with rows of length `x.len()`.
pub fn row_products(a: &[f64], x: &[f64], y: &mut [f64]) {
    transposed_product(a, x, y);
}

fn norm(x: &[f64]) -> f64 {
    squared_norm(x).sqrt()
}

/// A vector split into its component in the span of Q and its component orthogonal to it.
#[derive(Debug, Clone, Default)]
pub struct Projection {
    /// The coordinates in Q, those of the fixed directions first.
    pub inside: Vec<f64>,
    /// The component orthogonal to Q.
    pub outside: Vec<f64>,
    /// The norm of `outside`; 0 if it is within rounding error of 0.
    pub length: f64,
}

impl Factor {
    /// An empty factorisation of vectors of this dimension.
    pub fn new(dimension: usize) -> Self {
        Factor {
            dimension,
            ..Factor::default()
        }
    }

    /// The number of fixed directions.
    pub fn fixed(&self) -> usize {
        self.fixed
    }

    /// The dimension of the vectors.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Splits `x` into its components inside and orthogonal to the span of Q.
    pub fn project(&self, x: &[f64], into: &mut Projection) {
        let width = self.fixed + self.r.len();
        into.inside.clear();
        into.inside.resize(width, 0.0);
        into.outside.clear();
        into.outside.extend_from_slice(x);
        let whole = norm(x);
        into.length = whole;
        let mut more = vec![0.0; width];
        for pass in 0..MOST_PASSES {
            transposed_product(&self.q, &into.outside, &mut more);
            add_product(-1.0, &self.q, &more, &mut into.outside);
            into.inside.iter_mut().zip(&more).for_each(|(i, m)| *i += m);
            let left = norm(&into.outside);
            let enough = left > KEPT * into.length && pass > 0 || left > KEPT * whole;
            into.length = left;
            if enough || left == 0.0 {
                break;
            }
            if left <= f64::EPSILON * whole {
                into.length = 0.0;
                break;
            }
        }
    }

    /// Appends the projected vector as a column of N. `projection.length` must not be 0.
    pub fn push(&mut self, projection: &Projection) {
        let scale = 1.0 / projection.length;
        self.q.extend(projection.outside.iter().map(|e| e * scale));
        let mut column = projection.inside[self.fixed..].to_vec();
        column.push(projection.length);
        self.r.push(column);
    }

    /// Adds the orthogonal component of the projected vector to the fixed directions. N must have no columns yet.
    pub fn fix(&mut self, projection: &Projection) {
        debug_assert!(self.r.is_empty());
        let scale = 1.0 / projection.length;
        self.q.extend(projection.outside.iter().map(|e| e * scale));
        self.fixed += 1;
    }

    /// Removes all columns and keeps the fixed directions.
    pub fn clear(&mut self) {
        self.r.clear();
        self.q.truncate(self.fixed * self.dimension);
    }

    /// Removes column `k`.
    pub fn remove(&mut self, k: usize) {
        self.r.remove(k);
        for j in k..self.r.len() {
            // Column j now has one subdiagonal entry: a Givens rotation of rows j and j + 1 eliminates it.
            let (a, b) = (self.r[j][j], self.r[j][j + 1]);
            let length = a.hypot(b);
            let (c, s) = if length > 0.0 {
                (a / length, b / length)
            } else {
                (1.0, 0.0)
            };
            self.r[j][j] = length;
            self.r[j].truncate(j + 1);
            for column in &mut self.r[j + 1..] {
                let (a, b) = (column[j], column[j + 1]);
                column[j] = c * a + s * b;
                column[j + 1] = c * b - s * a;
            }
            let start = (self.fixed + j) * self.dimension;
            let (first, second) = self.q[start..start + 2 * self.dimension].split_at_mut(self.dimension);
            for (a, b) in first.iter_mut().zip(second) {
                (*a, *b) = (c * *a + s * *b, c * *b - s * *a);
            }
        }
        self.q.truncate((self.fixed + self.r.len()) * self.dimension);
    }

    /// Solves `Rx = h` in place.
    pub fn solve(&self, h: &mut [f64]) {
        for (k, column) in self.r.iter().enumerate().rev() {
            h[k] /= column[k];
            let value = h[k];
            h[..k].iter_mut().zip(column).for_each(|(h, r)| *h -= value * r);
        }
    }

    /// Solves `Rᵀx = h` in place.
    pub fn solve_transposed(&self, h: &mut [f64]) {
        for (k, column) in self.r.iter().enumerate() {
            let dot = dot(&column[..k], &h[..k]);
            h[k] = (h[k] - dot) / column[k];
        }
    }

    /// `y += scale·Qx`, where Q is restricted to the columns that belong to N.
    pub fn add_combination(&self, scale: f64, x: &[f64], y: &mut [f64]) {
        add_product(scale, &self.q[self.fixed * self.dimension..], x, y);
    }

    /// The coordinates of `x` in the fixed directions.
    pub fn within_fixed(&self, x: &[f64]) -> Vec<f64> {
        let mut inside = vec![0.0; self.fixed];
        transposed_product(&self.q[..self.fixed * self.dimension], x, &mut inside);
        inside
    }

    /// Makes `x` orthogonal to the fixed directions.
    pub fn avoid_fixed(&self, x: &mut [f64]) {
        let mut inside = vec![0.0; self.fixed];
        let fixed = &self.q[..self.fixed * self.dimension];
        for _ in 0..2 {
            transposed_product(fixed, x, &mut inside);
            add_product(-1.0, fixed, &inside, x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn adding_and_removing_keeps_the_factor() {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let dimension = 12;
        let mut factor = Factor::new(dimension);
        let mut columns: Vec<Vec<f64>> = Vec::new();
        let mut projection = Projection::default();
        for step in 0..300 {
            if columns.len() == dimension || (step % 3 == 2 && !columns.is_empty()) {
                let k = random.random_range(0..columns.len());
                columns.remove(k);
                factor.remove(k);
            } else {
                let x: Vec<f64> = (0..dimension).map(|_| random.random_range(-1.0..1.0)).collect();
                factor.project(&x, &mut projection);
                factor.push(&projection);
                columns.push(x);
            }
            // N = QR, column by column; and Q is orthonormal.
            for (k, x) in columns.iter().enumerate() {
                let mut made = vec![0.0; dimension];
                let mut r = factor.r[k].clone();
                r.resize(columns.len(), 0.0);
                factor.add_combination(1.0, &r, &mut made);
                let error = x
                    .iter()
                    .zip(&made)
                    .map(|(a, b)| (a - b).abs())
                    .fold(0.0, f64::max);
                assert!(error < 1e-13, "{error}");
                let unit = &factor.q[k * dimension..(k + 1) * dimension];
                factor.project(unit, &mut projection);
                assert!(projection.length < 1e-13 && (projection.inside[k] - 1.0).abs() < 1e-13);
            }
        }
    }
}
