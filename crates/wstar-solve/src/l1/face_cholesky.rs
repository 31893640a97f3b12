//! An updatable Cholesky factor of a face's Hessian: coordinates enter and leave the face while the matrix
//! stays the same.
//!
//! Coordinates that enter are appended by a triangular solve for their rows of the factor. Coordinates that
//! leave stay in the factor and are held at 0 (P. E. Gill, W. Murray, M. A. Saunders and M. H. Wright, A
//! Schur-complement method for sparse quadratic programming, in Reliable Numerical Computation, Oxford
//! 1990). With u = Lᵀx the system minimises ½‖u‖² − (L⁻¹f)·u, and xⱼ = 0 means that u is orthogonal to
//! L⁻¹eⱼ, so the projection of L⁻¹f on the span of these vectors is subtracted. After many changes the
//! matrix is factored again.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Accum, Mat, MatMut, Par};

use wstar_numeric::dense::{axpy, dot};
use wstar_numeric::linalg::growing_matrix::GrowingMatrix;

/// The matrix is factored again if more than one in this many coordinates is held. Heuristic: cost of held
/// coordinates against a factorisation; not measured yet.
const MOST_HELD: usize = 8;
/// The matrix is factored again if more than one in this many coordinates is new. Heuristic: as
/// [`MOST_HELD`]; not measured yet.
const MOST_NEW: usize = 2;
/// The change of a coordinate's share of the diagonal up to which the factor is kept. Derived: a hundredth of
/// the least ridge, 1e-9.
const SAME_SHARE: f64 = 1e-11;

/// The matrix that is factored: D(H + own)D + ridge·I, where D scales the diagonal to 1.
pub(super) struct Scaled<'a, F> {
    /// The columns of a multiple of H.
    pub(super) column: F,
    /// The coordinates of the face.
    pub(super) face: &'a [usize],
    /// The share of `own` in the diagonal of each coordinate.
    pub(super) shares: &'a [f64],
    /// The ridge added to the diagonal of 1.
    pub(super) ridge: f64,
}

/// The factor, and the coordinates that are held at 0.
#[derive(Debug, Default)]
pub(crate) struct FaceCholesky {
    /// The coordinates, in the order of the factor.
    order: Vec<usize>,
    shares: Vec<f64>,
    /// The scale factors that make the diagonal 1 − share.
    roots: Vec<f64>,
    ridge: f64,
    lower: GrowingMatrix,
    /// The position of each coordinate of the face in the factor.
    positions: Vec<usize>,
    /// The positions of the held coordinates.
    held: Vec<usize>,
    /// L⁻¹eⱼ of each held coordinate.
    held_vectors: Vec<Vec<f64>>,
    /// The Cholesky factor of their inner products.
    held_factor: GrowingMatrix,
}

impl FaceCholesky {
    /// Updates to the factor of this matrix, or factors it again if necessary or if `refactor`; false if the
    /// matrix is not positive definite.
    pub(super) fn update<'m, F: Fn(usize) -> &'m [f64]>(
        &mut self,
        matrix: &Scaled<'_, F>,
        refactor: bool,
    ) -> bool {
        let succeeded = (!refactor && self.try_update(matrix)) || self.factorise(matrix);
        if !succeeded {
            *self = FaceCholesky::default();
        }
        succeeded
    }

    /// Discards the factor.
    pub(crate) fn clear(&mut self) {
        *self = FaceCholesky::default();
    }

    /// Factors the matrix from scratch.
    fn factorise<'m, F: Fn(usize) -> &'m [f64]>(&mut self, matrix: &Scaled<'_, F>) -> bool {
        self.order.clear();
        self.shares.clear();
        self.roots.clear();
        self.held.clear();
        self.held_vectors.clear();
        self.ridge = matrix.ridge;
        self.lower.resize(0);
        let all: Vec<usize> = (0..matrix.face.len()).collect();
        self.positions.clone_from(&all);
        self.append(matrix, &all)
    }

    /// Updates the factor if few coordinates have changed; false otherwise.
    fn try_update<'m, F: Fn(usize) -> &'m [f64]>(&mut self, matrix: &Scaled<'_, F>) -> bool {
        let last = self.order.iter().chain(matrix.face).max().map_or(0, |&j| j + 1);
        let mut position_of = vec![usize::MAX; last];
        self.order
            .iter()
            .enumerate()
            .for_each(|(at, &j)| position_of[j] = at);
        let mut is_held = vec![true; self.order.len()];
        let mut new = Vec::new();
        self.positions.clear();
        for (k, (&j, share)) in matrix.face.iter().zip(matrix.shares).enumerate() {
            let at = position_of[j];
            if at == usize::MAX {
                self.positions.push(self.order.len() + new.len());
                new.push(k);
                continue;
            }
            if (share - self.shares[at]).abs() > SAME_SHARE {
                return false;
            }
            is_held[at] = false;
            self.positions.push(at);
        }
        let held: Vec<usize> = (0..is_held.len()).filter(|&at| is_held[at]).collect();
        if self.order.is_empty()
            || self.ridge != matrix.ridge
            || held.len() * MOST_HELD > self.order.len()
            || new.len() * MOST_NEW > self.order.len()
        {
            return false;
        }
        let kept = self.held.iter().zip(self.held_vectors.drain(..));
        let kept = kept.filter(|(at, _)| is_held[**at]);
        (self.held, self.held_vectors) = kept.map(|(&at, vector)| (at, vector)).unzip();
        if !new.is_empty() && !self.append(matrix, &new) {
            return false;
        }
        let more: Vec<usize> = held.into_iter().filter(|at| !self.held.contains(at)).collect();
        self.hold(&more)
    }

    /// Appends these coordinates of the face to the factor.
    fn append<'m, F: Fn(usize) -> &'m [f64]>(&mut self, matrix: &Scaled<'_, F>, new: &[usize]) -> bool {
        let before = self.order.len();
        let size = before + new.len();
        for &k in new {
            let (j, share) = (matrix.face[k], matrix.shares[k]);
            let root = ((1.0 - share) / (matrix.column)(j)[j]).sqrt();
            self.order.push(j);
            self.shares.push(share);
            self.roots.push(if root.is_finite() { root } else { 0.0 });
        }
        self.lower.resize(size);
        for (at, &j) in self.order.iter().enumerate().skip(before) {
            let (from, root) = ((matrix.column)(j), self.roots[at]);
            let rows = self.order[at..].iter().zip(&self.roots[at..]);
            let to = &mut self.lower.column_mut(at)[at..];
            to.iter_mut()
                .zip(rows)
                .for_each(|(to, (&i, own))| *to = root * own * from[i]);
            to[0] = 1.0 + matrix.ridge;
        }
        let mut rows = Mat::<f64>::zeros(before, new.len());
        if before > 0 {
            for (t, at) in (before..size).enumerate() {
                let (from, root) = ((matrix.column)(self.order[at]), self.roots[at]);
                let columns = self.order[..before].iter().zip(&self.roots);
                let to = rows.col_as_slice_mut(t);
                to.iter_mut()
                    .zip(columns)
                    .for_each(|(to, (&i, own))| *to = root * own * from[i]);
            }
            // Sequential, because the rounding of parallel products depends on how the work is split.
            solve_lower_triangular_in_place(self.lower.block(0..before, 0..before), rows.as_mut(), Par::Seq);
            let corner = self.lower.block_mut(before..size, before..size);
            matmul(
                corner,
                Accum::Add,
                rows.transpose(),
                rows.as_ref(),
                -1.0,
                Par::Seq,
            );
            for c in 0..before {
                let to = &mut self.lower.column_mut(c)[before..];
                to.iter_mut().enumerate().for_each(|(t, to)| *to = rows[(c, t)]);
            }
        }
        if !factored(self.lower.block_mut(before..size, before..size)) {
            return false;
        }
        for vector in &mut self.held_vectors {
            let mut more: Vec<f64> = (0..new.len())
                .map(|t| -dot(rows.col_as_slice(t), vector))
                .collect();
            let column = MatMut::from_column_major_slice_mut(&mut more, new.len(), 1);
            solve_lower_triangular_in_place(self.lower.block(before..size, before..size), column, Par::Seq);
            vector.extend(more);
        }
        true
    }

    /// Holds more of the factor's coordinates at 0.
    fn hold(&mut self, more: &[usize]) -> bool {
        let size = self.order.len();
        if let Some(&first) = more.iter().min() {
            let mut units = Mat::<f64>::zeros(size - first, more.len());
            for (c, &at) in more.iter().enumerate() {
                units[(at - first, c)] = 1.0;
            }
            let lower = self.lower.block(first..size, first..size);
            solve_lower_triangular_in_place(lower, units.as_mut(), Par::Seq);
            for (c, &at) in more.iter().enumerate() {
                let mut vector = vec![0.0; first];
                vector.extend_from_slice(units.col_as_slice(c));
                self.held.push(at);
                self.held_vectors.push(vector);
            }
        }
        let held = self.held.len();
        self.held_factor.resize(held);
        for c in 0..held {
            for r in c..held {
                // One of the two vectors is 0 in the rows before the later position.
                let from = self.held[r].max(self.held[c]);
                self.held_factor.column_mut(c)[r] =
                    dot(&self.held_vectors[r][from..], &self.held_vectors[c][from..]);
            }
        }
        factored(self.held_factor.block_mut(0..held, 0..held))
    }

    /// Solves for a right-hand side over the face; the caller applies D.
    pub(super) fn solve(&self, right: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut z = vec![0.0; self.order.len()];
        self.positions
            .iter()
            .zip(right)
            .for_each(|(&at, right)| z[at] = right);
        forwards(|j| self.lower.column(j), &mut z);
        if !self.held.is_empty() {
            let mut coefficients: Vec<f64> = self.held_vectors.iter().map(|vector| dot(vector, &z)).collect();
            forwards(|j| self.held_factor.column(j), &mut coefficients);
            backwards(|j| self.held_factor.column(j), &mut coefficients);
            for (vector, coefficient) in self.held_vectors.iter().zip(coefficients) {
                axpy(-coefficient, vector, &mut z);
            }
        }
        backwards(|j| self.lower.column(j), &mut z);
        self.positions.iter().map(|&at| z[at]).collect()
    }
}

/// Solves Lx = z in place, from the columns of L.
fn forwards<'m>(column: impl Fn(usize) -> &'m [f64], z: &mut [f64]) {
    for j in 0..z.len() {
        if let ([head, rest @ ..], [own, column @ ..]) = (&mut z[j..], &column(j)[j..]) {
            *head /= own;
            if *head != 0.0 {
                axpy(-*head, column, rest);
            }
        }
    }
}

/// Solves Lᵀx = z in place, from the columns of L.
fn backwards<'m>(column: impl Fn(usize) -> &'m [f64], z: &mut [f64]) {
    for j in (0..z.len()).rev() {
        if let ([head, rest @ ..], [own, column @ ..]) = (&mut z[j..], &column(j)[j..]) {
            *head = (*head - dot(column, rest)) / own;
        }
    }
}

/// Overwrites the lower triangle with its Cholesky factor; false if it is not positive definite.
fn factored(mut matrix: MatMut<'_, f64>) -> bool {
    let scratch = cholesky_in_place_scratch::<f64>(matrix.nrows(), Par::Seq, Default::default());
    let mut memory = MemBuffer::new(scratch);
    let done = cholesky_in_place(
        matrix.as_mut(),
        Default::default(),
        Par::Seq,
        MemStack::new(&mut memory),
        Default::default(),
    );
    done.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZE: usize = 24;

    /// The Gram matrix of random columns in a space of more dimensions, so that no two are dependent.
    fn gram(entries: &[f64]) -> Vec<f64> {
        let columns: Vec<&[f64]> = entries.chunks_exact(entries.len() / SIZE).collect();
        let products = columns.iter().flat_map(|a| columns.iter().map(|b| dot(a, b)));
        products.collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn factor_follows_arbitrary_faces(
            entries in prop::collection::vec(-1.0..1.0f64, SIZE * 40),
            faces in prop::collection::vec(prop::collection::vec(prop::bool::weighted(0.9), SIZE), 1..12),
            right in prop::collection::vec(-1.0..1.0f64, SIZE),
            own in 0.0..0.5f64,
            own_changes in prop::bool::weighted(0.2),
        ) {
            let matrix = gram(&entries);
            let column = |j: usize| &matrix[j * SIZE..(j + 1) * SIZE];
            let mut factor = FaceCholesky::default();
            for (round, chosen) in faces.iter().enumerate() {
                let face: Vec<usize> = (0..SIZE).filter(|&j| chosen[j]).collect();
                let own = if own_changes && round % 3 == 2 { 0.5 * own } else { own };
                let shares = vec![own; face.len()];
                let scaled = Scaled { column, face: &face, shares: &shares, ridge: 1e-9 };
                prop_assert!(factor.update(&scaled, false));
                let solved = factor.solve(face.iter().map(|&j| right[j]));
                for &i in &face {
                    let entry = |j: usize| {
                        let root = |j: usize| ((1.0 - own) / column(j)[j]).sqrt();
                        if i == j { 1.0 + 1e-9 } else { root(i) * root(j) * column(i)[j] }
                    };
                    let product: f64 = face.iter().zip(&solved).map(|(&j, x)| entry(j) * x).sum();
                    prop_assert!((product - right[i]).abs() < 1e-7, "{product}, not {}", right[i]);
                }
            }
        }
    }

    #[test]
    fn indefinite_matrix_is_refused() {
        let matrix = [1.0, 2.0, 2.0, 1.0];
        let scaled = Scaled {
            column: |j: usize| &matrix[2 * j..2 * j + 2],
            face: &[0, 1],
            shares: &[0.0, 0.0],
            ridge: 1e-9,
        };
        assert!(!FaceCholesky::default().update(&scaled, false));
    }
}
