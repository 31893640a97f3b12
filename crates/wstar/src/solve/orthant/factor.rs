//! A Cholesky factor that follows a face: coordinates come and go, and the matrix stays the same.
//!
//! Those that come are appended, by a triangular solve for their rows of the factor. Those that go stay in it and are
//! held at 0 (P. E. Gill, W. Murray, M. A. Saunders and M. H. Wright, A Schur-complement method for sparse quadratic
//! programming, 1990): for u = Lᵀx the system is to minimise ½‖u‖² − (L⁻¹f)·u, and xⱼ = 0 says that u is orthogonal to
//! L⁻¹eⱼ, so the part of L⁻¹f in the span of those is taken away. Where much has changed the factor is made anew.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Accum, Mat, MatMut, Par};

use crate::kernel::dense::{axpy, dot};
use crate::solve::orthant::growing::Growing;

/// One in so many coordinates may be held before the factor is made anew.
const MOST_HELD: usize = 8;
/// And so many come at a time.
const MOST_NEW: usize = 2;
/// How far a coordinate's own share of the diagonal may be from what was factored, beside the least ridge.
const SAME_SHARE: f64 = 1e-11;

/// What is factored: D(H + own)D, where D makes the diagonal 1, and a ridge.
pub(super) struct Scaled<'a, F> {
    /// The columns of a multiple of H.
    pub(super) column: F,
    /// The coordinates that count.
    pub(super) face: &'a [usize],
    /// What share of the diagonal is each one's own.
    pub(super) shares: &'a [f64],
    /// What is added to the diagonal of 1.
    pub(super) ridge: f64,
}

/// The factor, and who is held.
#[derive(Debug, Default)]
pub(crate) struct Factor {
    /// The coordinates in its order.
    order: Vec<usize>,
    shares: Vec<f64>,
    /// What brings the matrix's diagonal to 1 less the share.
    roots: Vec<f64>,
    ridge: f64,
    lower: Growing,
    /// Where the face's coordinates lie in it.
    places: Vec<usize>,
    /// Where those lie that are held, L⁻¹eⱼ of each, and the factor of their products.
    held: Vec<usize>,
    across: Vec<Vec<f64>>,
    inner: Growing,
}

impl Factor {
    /// Becomes the factor of this matrix, anew if it must be so; whether it could.
    pub(super) fn follow<'m, F: Fn(usize) -> &'m [f64]>(
        &mut self,
        matrix: &Scaled<'_, F>,
        anew: bool,
    ) -> bool {
        let could = (!anew && self.change(matrix)) || self.make(matrix);
        if !could {
            *self = Factor::default();
        }
        could
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        *self = Factor::default();
    }

    fn make<'m, F: Fn(usize) -> &'m [f64]>(&mut self, matrix: &Scaled<'_, F>) -> bool {
        self.order.clear();
        self.shares.clear();
        self.roots.clear();
        self.held.clear();
        self.across.clear();
        self.ridge = matrix.ridge;
        self.lower.resize(0);
        let all: Vec<usize> = (0..matrix.face.len()).collect();
        self.places.clone_from(&all);
        self.append(matrix, &all)
    }

    /// Goes on from what is known, if little has changed.
    fn change<'m, F: Fn(usize) -> &'m [f64]>(&mut self, matrix: &Scaled<'_, F>) -> bool {
        let last = self.order.iter().chain(matrix.face).max().map_or(0, |&j| j + 1);
        let mut place = vec![usize::MAX; last];
        self.order.iter().enumerate().for_each(|(at, &j)| place[j] = at);
        let mut is_held = vec![true; self.order.len()];
        let mut new = Vec::new();
        self.places.clear();
        for (k, (&j, share)) in matrix.face.iter().zip(matrix.shares).enumerate() {
            let at = place[j];
            if at == usize::MAX {
                self.places.push(self.order.len() + new.len());
                new.push(k);
                continue;
            }
            if (share - self.shares[at]).abs() > SAME_SHARE {
                return false;
            }
            is_held[at] = false;
            self.places.push(at);
        }
        let held: Vec<usize> = (0..is_held.len()).filter(|&at| is_held[at]).collect();
        if self.order.is_empty()
            || self.ridge != matrix.ridge
            || held.len() * MOST_HELD > self.order.len()
            || new.len() * MOST_NEW > self.order.len()
        {
            return false;
        }
        let kept = self.held.iter().zip(self.across.drain(..));
        let kept = kept.filter(|(at, _)| is_held[**at]);
        (self.held, self.across) = kept.map(|(&at, across)| (at, across)).unzip();
        if !new.is_empty() && !self.append(matrix, &new) {
            return false;
        }
        let more: Vec<usize> = held.into_iter().filter(|at| !self.held.contains(at)).collect();
        self.hold(&more)
    }

    /// Adds these of the face's coordinates at the end.
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
            // One thread: the bits of parallel products depend on how they were split.
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
        for across in &mut self.across {
            let mut more: Vec<f64> = (0..new.len())
                .map(|t| -dot(rows.col_as_slice(t), across))
                .collect();
            let column = MatMut::from_column_major_slice_mut(&mut more, new.len(), 1);
            solve_lower_triangular_in_place(self.lower.block(before..size, before..size), column, Par::Seq);
            across.extend(more);
        }
        true
    }

    /// Holds more of its coordinates at 0.
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
                let mut across = vec![0.0; first];
                across.extend_from_slice(units.col_as_slice(c));
                self.held.push(at);
                self.across.push(across);
            }
        }
        let held = self.held.len();
        self.inner.resize(held);
        for c in 0..held {
            for r in c..held {
                // Rows before the later of the two are 0 in one of them.
                let from = self.held[r].max(self.held[c]);
                self.inner.column_mut(c)[r] = dot(&self.across[r][from..], &self.across[c][from..]);
            }
        }
        factored(self.inner.block_mut(0..held, 0..held))
    }

    /// The solution for a right-hand side over the face, D taken care of elsewhere.
    pub(super) fn solve(&self, right: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut z = vec![0.0; self.order.len()];
        self.places
            .iter()
            .zip(right)
            .for_each(|(&at, right)| z[at] = right);
        forwards(|j| self.lower.column(j), &mut z);
        if !self.held.is_empty() {
            let mut parts: Vec<f64> = self.across.iter().map(|across| dot(across, &z)).collect();
            forwards(|j| self.inner.column(j), &mut parts);
            backwards(|j| self.inner.column(j), &mut parts);
            for (across, part) in self.across.iter().zip(parts) {
                axpy(-part, across, &mut z);
            }
        }
        backwards(|j| self.lower.column(j), &mut z);
        self.places.iter().map(|&at| z[at]).collect()
    }
}

/// Solves Lx = z, by the columns of L.
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

/// Solves Lᵀx = z, by the columns of L.
fn backwards<'m>(column: impl Fn(usize) -> &'m [f64], z: &mut [f64]) {
    for j in (0..z.len()).rev() {
        if let ([head, rest @ ..], [own, column @ ..]) = (&mut z[j..], &column(j)[j..]) {
            *head = (*head - dot(column, rest)) / own;
        }
    }
}

/// The lower triangle becomes its Cholesky factor; whether it could.
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

    /// Products of more columns than there are coordinates, so that no two depend on each other.
    fn gram(entries: &[f64]) -> Vec<f64> {
        let columns: Vec<&[f64]> = entries.chunks_exact(entries.len() / SIZE).collect();
        let products = columns.iter().flat_map(|a| columns.iter().map(|b| dot(a, b)));
        products.collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn follows_any_faces(
            entries in prop::collection::vec(-1.0..1.0f64, SIZE * 40),
            faces in prop::collection::vec(prop::collection::vec(prop::bool::weighted(0.9), SIZE), 1..12),
            right in prop::collection::vec(-1.0..1.0f64, SIZE),
            own in 0.0..0.5f64,
            change in prop::bool::weighted(0.2),
        ) {
            let matrix = gram(&entries);
            let column = |j: usize| &matrix[j * SIZE..(j + 1) * SIZE];
            let mut factor = Factor::default();
            for (round, chosen) in faces.iter().enumerate() {
                let face: Vec<usize> = (0..SIZE).filter(|&j| chosen[j]).collect();
                let own = if change && round % 3 == 2 { 0.5 * own } else { own };
                let shares = vec![own; face.len()];
                let scaled = Scaled { column, face: &face, shares: &shares, ridge: 1e-9 };
                prop_assert!(factor.follow(&scaled, false));
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
    fn a_matrix_with_a_negative_eigenvalue_has_none() {
        let matrix = [1.0, 2.0, 2.0, 1.0];
        let scaled = Scaled {
            column: |j: usize| &matrix[2 * j..2 * j + 2],
            face: &[0, 1],
            shares: &[0.0, 0.0],
            ridge: 1e-9,
        };
        assert!(!Factor::default().follow(&scaled, false));
    }
}
