//! Householder triangularisation: QᵀA = R for an orthogonal Q that is never formed.
//!
//! The reflections of a panel of columns are applied to the columns on its right as one product, I − VTᵀVᵀ
//! (R. Schreiber, C. Van Loan, A storage-efficient WY representation for products of Householder
//! transformations, SIAM J. Sci. Stat. Comput. 10, 1989). The factorisation itself makes no rank decision: the caller
//! decides from R, once all rows have been folded into it, which columns are dependent.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, Par};

use crate::dense::{axpy, dot};

/// The number of columns whose reflections are applied together.
/// Heuristic: wider panels make larger matrix products and more work within the panel; not measured yet.
const PANEL: usize = 32;

/// A column-major upper triangle, or an upper trapezoid if it has fewer rows than columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Triangle {
    /// The number of rows.
    pub(crate) rows: usize,
    /// The number of columns.
    pub(crate) columns: usize,
    /// The entries, column-major.
    pub(crate) values: Vec<f64>,
}

impl Triangle {
    /// The number of rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    #[inline]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The entries, column-major.
    #[inline]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The triangle of a matrix without rows.
    pub fn empty(columns: usize) -> Self {
        Triangle {
            rows: 0,
            columns,
            values: Vec::new(),
        }
    }

    /// The columns in turn; none if there are no rows.
    pub fn columns_mut(&mut self) -> impl Iterator<Item = &mut [f64]> {
        self.values.chunks_exact_mut(self.rows.max(1))
    }

    /// Column `j`.
    pub fn column(&self, j: usize) -> &[f64] {
        &self.values[j * self.rows..(j + 1) * self.rows]
    }

    /// Entry (i, j).
    pub fn get(&self, i: usize, j: usize) -> f64 {
        self.values[j * self.rows + i]
    }

    /// The triangle R of this one stacked on `count` further rows, given column-major in `more`.
    pub fn with(&self, more: &[f64], count: usize) -> Triangle {
        let mut stacked = Vec::with_capacity((self.rows + count) * self.columns);
        for j in 0..self.columns {
            stacked.extend_from_slice(self.column(j));
            stacked.extend_from_slice(&more[j * count..(j + 1) * count]);
        }
        triangular(stacked, self.rows + count, self.columns)
    }

    /// Solves Rᵀx = g in place, for the leading `rank` rows and columns of R.
    pub fn solve_transposed(&self, rank: usize, g: &mut [f64]) {
        for j in 0..rank {
            let column = self.column(j);
            g[j] = (g[j] - dot(&column[..j], &g[..j])) / column[j];
        }
    }

    /// Solves Rx = c in place, for the leading `rank` rows and columns of R.
    pub fn solve(&self, rank: usize, c: &mut [f64]) {
        for j in (0..rank).rev() {
            let column = self.column(j);
            c[j] /= column[j];
            let x = c[j];
            axpy(-x, &column[..j], &mut c[..j]);
        }
    }

    /// The Cholesky factor R, with RᵀR = G for the matrix G of these entries; `None` if G is not positive definite.
    pub fn of_gram(width: usize, entry: impl Fn(usize, usize) -> f64) -> Option<Triangle> {
        let mut lower = Mat::from_fn(width, width, entry);
        let scratch = cholesky_in_place_scratch::<f64>(width, Par::Seq, Default::default());
        cholesky_in_place(
            lower.as_mut(),
            Default::default(),
            Par::Seq,
            MemStack::new(&mut MemBuffer::new(scratch)),
            Default::default(),
        )
        .ok()?;
        let values = (0..width * width).map(|at| {
            let (i, j) = (at % width, at / width);
            if i <= j { lower[(j, i)] } else { 0.0 }
        });
        Some(Triangle {
            rows: width,
            columns: width,
            values: values.collect(),
        })
    }

    /// [`Triangle::of_gram`] for a small matrix, by a simple loop over columns: the fixed overhead of the library routine
    /// would cost more.
    pub fn of_small_gram(width: usize, entry: impl Fn(usize, usize) -> f64) -> Option<Triangle> {
        let mut values = vec![0.0; width * width];
        for j in 0..width {
            let (known, column) = values.split_at_mut(j * width);
            for i in 0..j {
                let own = &known[i * width..][..=i];
                column[i] = (entry(i, j) - dot(&own[..i], &column[..i])) / own[i];
            }
            let square = entry(j, j) - dot(&column[..j], &column[..j]);
            if !(square > 0.0 && square.is_finite()) {
                return None;
            }
            column[j] = square.sqrt();
        }
        Some(Triangle {
            rows: width,
            columns: width,
            values,
        })
    }

    /// An estimate of ‖R⁻¹‖₂ = 1/√λ_min(RᵀR), from below, by four steps of inverse iteration; infinite if R is singular.
    pub fn inverse_norm(&self) -> f64 {
        let p = self.columns;
        if self.rows < p || (0..p).any(|j| self.get(j, j) == 0.0) {
            return f64::INFINITY;
        }
        let mut x: Vec<f64> = (0..p).map(|j| 1.0 + 0.5 * (j as f64).sin()).collect();
        let mut growth = 0.0;
        for _ in 0..4 {
            let norm = dot(&x, &x).sqrt();
            x.iter_mut().for_each(|x| *x /= norm);
            self.solve_transposed(p, &mut x);
            self.solve(p, &mut x);
            growth = dot(&x, &x).sqrt();
            if !growth.is_finite() {
                return f64::INFINITY;
            }
        }
        growth.sqrt()
    }
}

/// Computes the reflection I − τvvᵀ that maps `x` to a multiple of e₁. The first entry of `x` becomes that multiple, the
/// other entries become the tail of v, whose first entry is 1. Returns τ, which is 0 if `x` already is such a multiple.
fn reflect(x: &mut [f64]) -> f64 {
    let Some((first, tail)) = x.split_first_mut() else {
        return 0.0;
    };
    let below = dot(tail, tail);
    if below == 0.0 {
        return 0.0;
    }
    let norm = (*first * *first + below).sqrt();
    let image = if *first > 0.0 { -norm } else { norm };
    let scale = 1.0 / (*first - image);
    tail.iter_mut().for_each(|x| *x *= scale);
    let tau = (image - *first) / image;
    *first = image;
    tau
}

/// Applies I − τvvᵀ with v = (1, tail) to `x`.
fn apply(tau: f64, tail: &[f64], x: &mut [f64]) {
    if let Some((first, rest)) = x.split_first_mut() {
        let along = tau * (*first + dot(tail, rest));
        *first -= along;
        axpy(-along, tail, rest);
    }
}

/// The factor R of a column-major matrix.
pub fn triangular(mut a: Vec<f64>, rows: usize, columns: usize) -> Triangle {
    let kept = rows.min(columns);
    let mut start = 0;
    while start < kept {
        let end = (start + PANEL).min(kept);
        let width = end - start;
        let mut taus = [0.0; PANEL];
        for j in start..end {
            let (own, right) = a[j * rows..end * rows].split_at_mut(rows);
            taus[j - start] = reflect(&mut own[j..]);
            for other in right.chunks_exact_mut(rows) {
                apply(taus[j - start], &own[j + 1..], &mut other[j..]);
            }
        }
        if end < columns {
            let height = rows - start;
            let v = Mat::from_fn(height, width, |i, k| match i.cmp(&k) {
                std::cmp::Ordering::Less => 0.0,
                std::cmp::Ordering::Equal => 1.0,
                std::cmp::Ordering::Greater => a[(start + k) * rows + start + i],
            });
            // Column k of T: tₖ = −τₖ T Vᵀvₖ above the diagonal, τₖ on it.
            let mut t = Mat::<f64>::zeros(width, width);
            let mut inner = Mat::<f64>::zeros(width, width);
            matmul(inner.as_mut(), Accum::Replace, v.transpose(), &v, 1.0, Par::Seq);
            for k in 0..width {
                t[(k, k)] = taus[k];
                for i in 0..k {
                    t[(i, k)] = -taus[k] * (i..k).map(|l| t[(i, l)] * inner[(l, k)]).sum::<f64>();
                }
            }
            let whole = MatMut::from_column_major_slice_mut(&mut a, rows, columns);
            let mut right = whole.submatrix_mut(start, end, height, columns - end);
            let mut along = Mat::<f64>::zeros(width, columns - end);
            let mut turned = Mat::<f64>::zeros(width, columns - end);
            matmul(
                along.as_mut(),
                Accum::Replace,
                v.transpose(),
                right.as_ref(),
                1.0,
                Par::Seq,
            );
            matmul(
                turned.as_mut(),
                Accum::Replace,
                t.transpose(),
                &along,
                1.0,
                Par::Seq,
            );
            matmul(right.as_mut(), Accum::Add, &v, &turned, -1.0, Par::Seq);
        }
        start = end;
    }
    let mut values = vec![0.0; kept * columns];
    for j in 0..columns {
        let upper = (j + 1).min(kept);
        values[j * kept..j * kept + upper].copy_from_slice(&a[j * rows..j * rows + upper]);
    }
    Triangle {
        rows: kept,
        columns,
        values,
    }
}

/// The factor R with column pivoting, and the order of the columns: each step takes the column with the largest remaining
/// norm (P. Businger, G. H. Golub, Linear least squares solutions by Householder transformations, Numerische Mathematik 7,
/// 1965).
pub fn pivoted(triangle: &Triangle) -> (Triangle, Vec<usize>) {
    let (rows, columns) = (triangle.rows, triangle.columns);
    let mut a: Vec<Vec<f64>> = (0..columns).map(|j| triangle.column(j).to_vec()).collect();
    let mut order: Vec<usize> = (0..columns).collect();
    for k in 0..rows.min(columns) {
        // The remaining norms are recomputed at every step: downdated norms lose accuracy exactly where the rank is decided.
        let left = |column: &Vec<f64>| dot(&column[k..], &column[k..]);
        let longest = (k..columns)
            .map(|j| (j, left(&a[j])))
            .reduce(|best, next| if next.1 > best.1 { next } else { best });
        if let Some((j, _)) = longest {
            a.swap(k, j);
            order.swap(k, j);
        }
        let (own, right) = a.split_at_mut(k + 1);
        let own = &mut own[k];
        let tau = reflect(&mut own[k..]);
        for other in right {
            apply(tau, &own[k + 1..], &mut other[k..]);
        }
        own[k + 1..].iter_mut().for_each(|v| *v = 0.0);
    }
    let values = a.concat();
    let triangle = Triangle {
        rows,
        columns,
        values,
    };
    (triangle, order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn gram(a: &[f64], rows: usize, columns: usize) -> Vec<f64> {
        let column = |j: usize| &a[j * rows..(j + 1) * rows];
        (0..columns * columns)
            .map(|at| dot(column(at / columns), column(at % columns)))
            .collect()
    }

    fn near(a: &[f64], b: &[f64], scale: f64) -> bool {
        a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-13 * scale)
    }

    proptest! {
        #[test]
        fn r_has_the_gram_matrix_of_the_input(rows in 1usize..90, columns in 1usize..75, seed in 0u64..1000) {
            let a: Vec<f64> = (0..rows * columns)
                .map(|i| ((i as f64 + 1.0) * 12.9898 + seed as f64).sin() * 3.0)
                .collect();
            let scale = 9.0 * rows as f64;
            let r = triangular(a.clone(), rows, columns);
            prop_assert!(near(&gram(&a, rows, columns), &gram(&r.values, r.rows, columns), scale));
            for j in 0..columns {
                for i in j + 1..r.rows {
                    prop_assert_eq!(r.get(i, j), 0.0);
                }
            }
            let (sorted, order) = pivoted(&r);
            let moved: Vec<f64> = order.iter().flat_map(|&j| a[j * rows..(j + 1) * rows].to_vec()).collect();
            prop_assert!(near(&gram(&moved, rows, columns), &gram(&sorted.values, r.rows, columns), scale));
            // Folding the rows in two blocks gives the same Gram matrix.
            let half = rows / 2;
            let part = |from: usize, to: usize| -> Vec<f64> {
                (0..columns).flat_map(|j| a[j * rows + from..j * rows + to].to_vec()).collect()
            };
            let folded = Triangle::empty(columns).with(&part(0, half), half).with(&part(half, rows), rows - half);
            prop_assert!(near(&gram(&a, rows, columns), &gram(&folded.values, folded.rows, columns), scale));
        }
    }
}
