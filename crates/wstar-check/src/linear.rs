//! Plain linear algebra for matrices of up to a few thousand rows, and the proof that a factor nearly inverts a matrix.
//!
//! A [`Frame`] maps a row x̃ = (x, 1) to x̂ = SCx̃: it subtracts a double mⱼ from each column (only if there is a free intercept,
//! whose column of ones makes this a linear map of x̃), and multiplies by powers of two. SC is nonsingular for any m.
//! Each entry fl((xⱼ − mⱼ)sⱼ) has a relative error of at most u, so columns far from 0 lose nothing.
//!
//! **Lemma (inverse factor).** Let H = Σᵢ Wᵢ⊗x̂ᵢx̂ᵢᵀ + Λ with Wᵢ positive semidefinite, every entry of Wᵢ known to a relative error η,
//! Λ ≥ 0 diagonal, let Ĥ be H computed in any order of summation from n rows, d²_a = 1.02·Ĥ_aa, and R any lower triangle with nonzero
//! diagonal. Then ‖RHRᵀ − I‖ ≤ ε = ‖fl(RĤRᵀ) − I‖_F + (γ_{2p+4} + γ_{n+10} + 1.01η)·1.05·‖|R|d‖².
//! *Proof.* Every product w·x̂_a·x̂_b is rounded twice, x̂ contributes 2u, the sum n + 1 roundings: |Ĥ − H|_ab ≤
//! (γ_{n+10} + 1.01η)·Σ|w||x̂_a||x̂_b| + …, and |w_kl| ≤ √(w_kk·w_ll), so by Cauchy and Schwarz the sum is at most √(H_aa·H_bb) ≤ d_a·d_b.
//! RĤRᵀ is computed as two products of p terms: its error is at most γ_{2p+4}·|R||Ĥ||R|ᵀ ≤ 1.02·γ_{2p+4}·(|R|d)(|R|d)ᵀ, element by element,
//! and the Frobenius norm of that is γ‖|R|d‖². The same for |R||Ĥ − H||R|ᵀ. ∎
//!
//! If ε < 1, H is positive definite, and x̃ᵀH⁻¹g = (Rx̂)ᵀ(I + E)⁻¹(Rĝ) with ‖E‖ ≤ ε.

use crate::arithmetic::{Interval, gamma, larger};
use crate::design::{Design, Row};
use crate::mutant::{self, Mutant};
use crate::products::ColumnSums;

/// Rows that are added to a matrix together, so that it is read from memory once for all of them.
const BLOCK: usize = 8;
/// Cap on the order of a matrix that is factored for a gap.
pub(crate) const MOST_CONSTRAINTS: usize = 4000;

/// An affine change of the columns, or of the intercept's alone.
pub(crate) struct Frame {
    /// m, zeros if the columns are not centred; empty for the intercept alone.
    pub(crate) shift: Vec<f64>,
    /// s, powers of two; the intercept's last.
    pub(crate) scale: Vec<f64>,
}

impl Frame {
    /// Chooses m as the means and 1/s as the standard deviations by given weights of the rows, without any proof.
    pub(crate) fn new(design: &Design, width: usize, centred: bool, weight: impl Fn(usize) -> f64) -> Frame {
        let rows = || (0..design.rows()).filter(|&i| weight(i) > 0.0);
        let total: f64 = rows().map(&weight).sum();
        let mut shift = vec![0.0; design.features];
        for i in rows().filter(|_| centred) {
            let k = weight(i) / total;
            design.row(i).entries().for_each(|(j, x)| shift[j] += k * x);
        }
        let mut frame = Frame {
            shift,
            scale: vec![1.0; width],
        };
        let (mut squares, mut x) = (vec![0.0; width], vec![0.0; width]);
        for i in rows() {
            frame.map(design.row(i), &mut x);
            let k = weight(i) / total;
            (0..width).for_each(|j| squares[j] += k * x[j] * x[j]);
        }
        for (scale, square) in frame.scale.iter_mut().zip(squares).take(design.features) {
            *scale = 1.0 / power_of_two(square.sqrt());
        }
        frame
    }

    pub(crate) fn width(&self) -> usize {
        self.scale.len()
    }

    /// x̂ of a row, each entry with a relative error of at most u.
    pub(crate) fn map(&self, row: Row<'_>, out: &mut [f64]) {
        for ((out, m), s) in out.iter_mut().zip(&self.shift).zip(&self.scale) {
            *out = -m * s;
        }
        let weights = row.entries().filter(|_| !self.shift.is_empty());
        weights.for_each(|(j, x)| out[j] = (x - self.shift[j]) * self.scale[j]);
        if let Some(last) = out.get_mut(self.shift.len()) {
            *last = 1.0;
        }
    }

    /// The direction ν = (SC)ᵀn of parameters for which x̃·ν = x̂·n.
    pub(crate) fn direction(&self, n: &[Interval]) -> Vec<Interval> {
        let mut v: Vec<Interval> = n.iter().zip(&self.scale).map(|(&n, &s)| s * n).collect();
        if v.len() > self.shift.len() {
            let shifted = (0..self.shift.len()).map(|j| self.shift[j] * v[j]);
            v[self.shift.len()] = v[self.shift.len()] - shifted.sum::<Interval>();
        }
        v
    }

    /// SC times column products, whose last column is that of the intercept if there is one.
    pub(crate) fn products(&self, sums: &ColumnSums) -> Vec<Interval> {
        let (features, last) = (self.shift.len(), sums.width().saturating_sub(1));
        let column = |j: usize| match j < features && self.shift[j] != 0.0 {
            true => self.scale[j] * sums.centred(j, last, self.shift[j]),
            false => self.scale[j] * sums.interval(if j < features { j } else { last }),
        };
        (0..self.width()).map(column).collect()
    }
}

/// The power of two below a number, or 1 if it is extreme.
pub(crate) fn power_of_two(x: f64) -> f64 {
    let exponent = x.to_bits() >> 52;
    let usable = (123..1923).contains(&exponent);
    f64::from_bits(if usable { exponent } else { 1023 } << 52)
}

/// The matrix H = Σᵢ Wᵢ⊗x̂ᵢx̂ᵢᵀ, row by row of the design.
pub(crate) struct Information {
    /// The order of H: the blocks, which is the order of the Wᵢ, times the columns.
    pub(crate) order: usize,
    /// The lower triangle of H, row by row.
    pub(crate) matrix: Vec<f64>,
    pub(crate) rows: usize,
    pub(crate) blocks: usize,
    width: usize,
    /// The largest ‖x̂‖², rounded.
    largest: f64,
    waiting: [(Vec<f64>, Vec<f64>); BLOCK],
}

impl Information {
    pub(crate) fn new(blocks: usize, width: usize) -> Information {
        Information {
            order: blocks * width,
            matrix: vec![0.0; (blocks * width).pow(2)],
            rows: 0,
            blocks,
            width,
            largest: 0.0,
            waiting: std::array::from_fn(|_| (vec![0.0; blocks * blocks], vec![0.0; width])),
        }
    }

    /// Adds a row with its W, of which the lower triangle is used.
    pub(crate) fn add(&mut self, weights: &[f64], x: &[f64]) {
        let (w, t) = &mut self.waiting[self.rows % BLOCK];
        w.copy_from_slice(weights);
        t.copy_from_slice(x);
        self.rows += 1;
        self.largest = larger(self.largest, x.iter().map(|x| x * x).sum());
        if self.rows.is_multiple_of(BLOCK) {
            self.flush();
        }
    }

    pub(crate) fn flush(&mut self) {
        let m = self.width;
        for (k, l, a) in (0..self.order).flat_map(|at| (0..=at / m).map(move |l| (at / m, l, at % m))) {
            let length = if k == l { a + 1 } else { m };
            let target = &mut self.matrix[(k * m + a) * self.order + l * m..][..length];
            let rows = self.waiting.each_ref();
            let f = rows.map(|(w, t)| w[k * self.blocks + l] * t[a]);
            let [t0, t1, t2, t3, t4, t5, t6, t7] = rows.map(|(_, t)| &t[..length]);
            for b in 0..length {
                let low = f[0] * t0[b] + f[1] * t1[b] + (f[2] * t2[b] + f[3] * t3[b]);
                let high = f[4] * t4[b] + f[5] * t5[b] + (f[6] * t6[b] + f[7] * t7[b]);
                target[b] += low + high;
            }
        }
        self.waiting.iter_mut().for_each(|(w, _)| w.fill(0.0));
    }

    /// An upper bound on |x̃ᵢ·(s_k − s_l)|, of a single block on |x̃ᵢ·s|, for all rows, all pairs of blocks and all changes s of the
    /// parameters with ‖R⁻ᵀs‖ ≤ 1: 2·max ‖R(e_k⊗x̂ᵢ)‖ ≤ 2·max ‖R_k‖_F·max ‖x̂ᵢ‖, where R_k are the columns of block k.
    pub(crate) fn largest_range(&self, r: &[f64]) -> f64 {
        let of_block = |k: usize| {
            let columns = k * self.width..(k + 1) * self.width;
            let rows = r.chunks_exact(self.order).map(|row| &row[columns.clone()]);
            rows.map(|row| dot(row, row)).sum::<f64>()
        };
        let largest = (0..self.blocks).map(of_block).fold(0.0, larger);
        self.blocks.min(2) as f64 * (largest * self.largest).sqrt() * (1.0 + 1e-6) + 1e-150
    }
}

/// Σ kᵢtᵢtᵢᵀ for vectors of length `p`: the lower triangle, row by row in p × p numbers. `fill` writes tᵢ and returns kᵢ.
pub(crate) fn gram(
    p: usize,
    rows: impl Iterator<Item = usize>,
    mut fill: impl FnMut(usize, &mut [f64]) -> f64,
) -> Vec<f64> {
    let (mut sum, mut t) = (Information::new(1, p), vec![0.0; p]);
    for i in rows {
        let k = fill(i, &mut t);
        sum.add(&[k], &t);
    }
    sum.flush();
    sum.matrix
}

/// A lower triangle R with RHRᵀ ≈ I for the lower triangle of H, or nothing if H is not positive definite in doubles.
pub(crate) fn inverse_factor(h: &[f64], p: usize) -> Option<Vec<f64>> {
    let mut l = h.to_vec();
    for a in 0..p {
        let (above, rest) = l.split_at_mut(a * p);
        let row = &mut rest[..p];
        for b in 0..a {
            let other = &above[b * p..][..b + 1];
            row[b] = (row[b] - dot(&row[..b], &other[..b])) / other[b];
        }
        let pivot = row[a] - dot(&row[..a], &row[..a]);
        if !(pivot > 0.0 && pivot.is_finite()) {
            return None;
        }
        row[a] = pivot.sqrt();
        row[a + 1..].fill(0.0);
    }
    // R = L⁻¹ by forward substitution, row by row: R_a = (e_a − Σ_{b<a} L_ab·R_b)/L_aa.
    let mut r = vec![0.0; p * p];
    for a in 0..p {
        let (above, rest) = r.split_at_mut(a * p);
        let row = &mut rest[..p];
        for b in 0..a {
            let (factor, other) = (l[a * p + b], &above[b * p..][..b + 1]);
            add_multiple(row, -factor, other);
        }
        row[a] += 1.0;
        row[..a + 1].iter_mut().for_each(|entry| *entry /= l[a * p + a]);
    }
    if mutant::is(Mutant::PoorFactor) || mutant::is(Mutant::ExactInverse) {
        let poor = |(at, entry): (usize, &mut f64)| *entry *= 1.0 + 1e-3 * (at as f64).sin();
        r.iter_mut().enumerate().for_each(poor);
    }
    r.iter().all(|entry| entry.is_finite()).then_some(r)
}

/// sum + factor·row, for as many entries as both have.
pub(crate) fn add_multiple(sum: &mut [f64], factor: f64, row: &[f64]) {
    for (sum, entry) in sum.iter_mut().zip(row) {
        *sum += factor * entry;
    }
}

/// A rounded product of vectors, in any order of summation: four sums run next to each other.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a4, a), (b4, b)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    let rest: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    let mut sums = [0.0; 4];
    for (a, b) in a4.iter().zip(b4) {
        (0..4).for_each(|k| sums[k] += a[k] * b[k]);
    }
    rest + ((sums[0] + sums[1]) + (sums[2] + sums[3]))
}

/// ε of the lemma for the lower triangles Ĥ and R; infinite if the numbers are out of range.
pub(crate) fn identity_defect(h: &[f64], r: &[f64], p: usize, rows: usize, relative_error: f64) -> f64 {
    let mut full = h.to_vec();
    (0..p).for_each(|a| (0..a).for_each(|b| full[b * p + a] = full[a * p + b]));
    let diagonal = || (0..p).map(|a| full[a * p + a]);
    if !diagonal().all(|entry| (1e-150..1e150).contains(&entry)) || !r.iter().all(|r| r.abs() < 1e150) {
        return f64::INFINITY;
    }
    let (mut squares, mut sizes) = (0.0, 0.0);
    let mut product = vec![0.0; p];
    for k in 0..p {
        product.fill(0.0);
        let mut size = 0.0;
        for a in 0..k + 1 {
            let (factor, row) = (r[k * p + a], &full[a * p..][..p]);
            add_multiple(&mut product, factor, row);
            size += factor.abs() * row[a].sqrt();
        }
        sizes += size * size;
        for l in 0..k + 1 {
            let entry = dot(&product[..l + 1], &r[l * p..][..l + 1]) - f64::from(u8::from(k == l));
            squares += if k == l { 1.0 } else { 2.0 } * entry * entry;
        }
    }
    // Both sums have terms of at least 0: their own rounding is below 1 in 10⁶.
    let errors = gamma(2 * p + 4) + gamma(rows + 10) + 1.01 * relative_error;
    let total = squares.sqrt() * (1.0 + 1e-6) + errors * 1.06 * 1.02 * sizes * (1.0 + 1e-6) + 1e-100;
    match (mutant::is(Mutant::ExactInverse), total < 1.0) {
        (true, _) => 0.0,
        (_, true) => total,
        _ => f64::INFINITY,
    }
}

/// Rg and an upper bound on ‖Rg‖, for a vector of intervals.
pub(crate) fn product(r: &[f64], g: &[Interval]) -> (Vec<Interval>, Interval) {
    let row = |row: &[f64]| row.iter().zip(g).map(|(&r, &g)| r * g).sum();
    let product: Vec<Interval> = r.chunks_exact(g.len()).map(row).collect();
    let square: Interval = product.iter().map(|entry| entry.square()).sum();
    (product, Interval::point(square.sqrt().hi))
}

/// Rᵀt.
pub(crate) fn transposed_product(r: &[f64], t: &[Interval]) -> Vec<Interval> {
    let mut sum = vec![Interval::ZERO; t.len()];
    for (k, &t) in t.iter().enumerate() {
        let row = &r[k * sum.len()..][..k + 1];
        sum.iter_mut().zip(row).for_each(|(sum, &r)| *sum = *sum + r * t);
    }
    sum
}

/// An upper bound on ‖R‖_F.
pub(crate) fn frobenius(r: &[f64]) -> f64 {
    r.iter().map(|entry| entry * entry).sum::<f64>().sqrt() * (1.0 + 1e-6) + 1e-150
}
