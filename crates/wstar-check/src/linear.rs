//! Plain linear algebra for matrices of up to about 1,000 rows, and the proof that a factor nearly inverts a matrix.
//!
//! A [`Frame`] maps a row x̃ = (x, 1) to x̂ = SCx̃: it subtracts a double mⱼ from each column (only if there is a free intercept,
//! whose column of ones makes this a linear map of x̃), and multiplies by powers of two. SC is nonsingular for any m.
//! Each entry fl((xⱼ − mⱼ)sⱼ) has a relative error of at most u, so columns far from 0 lose nothing.
//!
//! **Lemma (inverse factor).** Let H = Σ kᵢx̂ᵢx̂ᵢᵀ + Λ with kᵢ ≥ 0 known to a relative error η, Λ ≥ 0 diagonal, let Ĥ be H computed
//! in any order of summation from n rows, d²_a = 1.02·Ĥ_aa, and R any lower triangle with nonzero diagonal. Then
//! ‖RHRᵀ − I‖ ≤ ε = ‖fl(RĤRᵀ) − I‖_F + (γ_{2p+4} + γ_{n+10} + 1.01η)·1.05·‖|R|d‖².
//! *Proof.* Every product kx̂_a·x̂_b is rounded twice, x̂ contributes 2u, the sum n + 1 roundings: |Ĥ − H|_ab ≤
//! (γ_{n+10} + 1.01η)·Σk|x̂_a||x̂_b| + …, and by Cauchy and Schwarz the sum is at most √(H_aa·H_bb) ≤ d_a·d_b. RĤRᵀ is computed as
//! two products of p terms: its error is at most γ_{2p+4}·|R||Ĥ||R|ᵀ ≤ 1.02·γ_{2p+4}·(|R|d)(|R|d)ᵀ, element by element, and the
//! Frobenius norm of that is γ‖|R|d‖². The same for |R||Ĥ − H||R|ᵀ. ∎
//!
//! If ε < 1, H is positive definite, and x̃ᵀH⁻¹g = (Rx̂)ᵀ(I + E)⁻¹(Rĝ) with ‖E‖ ≤ ε.

use crate::arithmetic::{Interval, gamma};
use crate::design::{Design, Row};
use crate::mutant::{self, Mutant};

/// Rows that are added to a matrix together, so that it is read from memory once for all of them.
const BLOCK: usize = 8;
/// Cap on the order of a matrix that is factored for a gap.
pub const MOST_CONSTRAINTS: usize = 4000;

/// An affine change of the columns.
#[derive(Debug, Clone)]
pub struct Frame {
    features: usize,
    /// m, zeros if the columns are not centred.
    pub shift: Vec<f64>,
    /// s, powers of two; the intercept's last.
    pub scale: Vec<f64>,
}

impl Frame {
    /// Chooses m as the means and 1/s as the standard deviations by given weights of the rows, without any proof.
    pub fn new(design: &Design, width: usize, centred: bool, weight: impl Fn(usize) -> f64) -> Frame {
        let features = design.features;
        let rows = || (0..design.rows()).filter(|&i| weight(i) > 0.0);
        let total: f64 = rows().map(&weight).sum();
        let mut shift = vec![0.0; features];
        if centred {
            for i in rows() {
                let k = weight(i) / total;
                design.row(i).entries().for_each(|(j, x)| shift[j] += k * x);
            }
        }
        let mut frame = Frame {
            features,
            shift,
            scale: vec![1.0; width],
        };
        let mut squares = vec![0.0; width];
        let mut x = vec![0.0; width];
        for i in rows() {
            frame.map(design.row(i), &mut x);
            let k = weight(i) / total;
            x.iter()
                .zip(&mut squares)
                .for_each(|(x, square): (&f64, &mut f64)| *square += k * x * x);
        }
        for (scale, square) in frame.scale.iter_mut().zip(squares).take(features) {
            let norm = square.sqrt();
            let exponent = (norm.to_bits() >> 52) as i64 - 1023;
            if (-900..900).contains(&exponent) {
                *scale = f64::from_bits(((1023 - exponent) as u64) << 52);
            }
        }
        frame
    }

    /// Number of columns, with the intercept's.
    pub fn width(&self) -> usize {
        self.scale.len()
    }

    /// x̂ of a row, each entry with a relative error of at most u.
    pub fn map(&self, row: Row<'_>, out: &mut [f64]) {
        for ((out, m), s) in out.iter_mut().zip(&self.shift).zip(&self.scale) {
            *out = -m * s;
        }
        row.entries()
            .for_each(|(j, x)| out[j] = (x - self.shift[j]) * self.scale[j]);
        if let Some(last) = out.get_mut(self.features) {
            *last = 1.0;
        }
    }

    /// The direction ν = (SC)ᵀn of parameters for which x̃·ν = x̂·n, rounded.
    pub fn direction(&self, n: &[f64]) -> Vec<f64> {
        let mut v: Vec<f64> = n.iter().zip(&self.scale).map(|(n, s)| n * s).collect();
        if v.len() > self.features {
            let shifted: f64 = self.shift.iter().zip(&v).map(|(m, v)| m * v).sum();
            v[self.features] -= shifted;
        }
        v
    }
}

/// Σ kᵢtᵢtᵢᵀ for vectors of length `p`: the lower triangle, row by row in p × p numbers. `fill` writes tᵢ and returns kᵢ.
pub fn gram(
    p: usize,
    rows: impl Iterator<Item = usize>,
    mut fill: impl FnMut(usize, &mut [f64]) -> f64,
) -> Vec<f64> {
    let mut sum = vec![0.0; p * p];
    let (mut t, mut kt) = (vec![0.0; BLOCK * p], vec![0.0; BLOCK * p]);
    let mut used = 0;
    let mut flush = |t: &[f64], kt: &[f64]| {
        let rows: [&[f64]; BLOCK] = std::array::from_fn(|r| &t[r * p..][..p]);
        for a in 0..p {
            let factor: [f64; BLOCK] = std::array::from_fn(|r| kt[r * p + a]);
            let target = &mut sum[a * p..][..a + 1];
            let [t0, t1, t2, t3, t4, t5, t6, t7] = rows.map(|row| &row[..a + 1]);
            for b in 0..a + 1 {
                let low = factor[0] * t0[b] + factor[1] * t1[b] + (factor[2] * t2[b] + factor[3] * t3[b]);
                let high = factor[4] * t4[b] + factor[5] * t5[b] + (factor[6] * t6[b] + factor[7] * t7[b]);
                target[b] += low + high;
            }
        }
    };
    for i in rows {
        let span = used * p..(used + 1) * p;
        let k = fill(i, &mut t[span.clone()]);
        kt[span.clone()]
            .iter_mut()
            .zip(&t[span])
            .for_each(|(kt, t)| *kt = k * t);
        used += 1;
        if used == BLOCK {
            flush(&t, &kt);
            used = 0;
        }
    }
    t[used * p..].fill(0.0);
    kt[used * p..].fill(0.0);
    flush(&t, &kt);
    sum
}

/// A lower triangle R with RHRᵀ ≈ I for the lower triangle of H, or nothing if H is not positive definite in doubles.
pub fn inverse_factor(h: &[f64], p: usize) -> Option<Vec<f64>> {
    let mut l = h.to_vec();
    for a in 0..p {
        let (above, rest) = l.split_at_mut(a * p);
        let row = &mut rest[..p];
        for b in 0..a {
            let other = &above[b * p..][..b + 1];
            let dot = dot(&row[..b], &other[..b]);
            row[b] = (row[b] - dot) / other[b];
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
            let factor = l[a * p + b];
            row.iter_mut()
                .zip(&above[b * p..][..b + 1])
                .for_each(|(row, other)| *row -= factor * other);
        }
        row[a] += 1.0;
        let pivot = l[a * p + a];
        row[..a + 1].iter_mut().for_each(|entry| *entry /= pivot);
    }
    if mutant::is(Mutant::PoorFactor) || mutant::is(Mutant::ExactInverse) {
        r.iter_mut()
            .enumerate()
            .for_each(|(at, entry)| *entry *= 1.0 + 1e-3 * (at as f64).sin());
    }
    r.iter().all(|entry| entry.is_finite()).then_some(r)
}

/// A rounded product of vectors, in any order of summation.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a4, b4) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = a4
        .remainder()
        .iter()
        .zip(b4.remainder())
        .map(|(a, b)| a * b)
        .sum();
    let mut lanes = [0.0; 4];
    for (a, b) in a4.zip(b4) {
        for k in 0..4 {
            lanes[k] += a[k] * b[k];
        }
    }
    rest + ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]))
}

/// ε of the lemma for the lower triangles Ĥ and R; infinite if the numbers are out of range.
pub fn identity_defect(h: &[f64], r: &[f64], p: usize, rows: usize, relative_error: f64) -> f64 {
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
            let factor = r[k * p + a];
            product
                .iter_mut()
                .zip(&full[a * p..][..p])
                .for_each(|(sum, entry)| *sum += factor * entry);
            size += factor.abs() * full[a * p + a].sqrt();
        }
        sizes += size * size;
        for l in 0..k + 1 {
            let entry = dot(&product[..l + 1], &r[l * p..][..l + 1]) - f64::from(u8::from(k == l));
            squares += if k == l {
                entry * entry
            } else {
                2.0 * entry * entry
            };
        }
    }
    // Both sums have terms of at least 0: their own rounding is below 1 in 10⁶.
    let rounding =
        (gamma(2 * p + 4) + gamma(rows + 10) + 1.01 * relative_error) * 1.06 * 1.02 * sizes * (1.0 + 1e-6);
    let total = squares.sqrt() * (1.0 + 1e-6) + rounding + 1e-100;
    if mutant::is(Mutant::ExactInverse) {
        0.0
    } else if total < 1.0 {
        total
    } else {
        f64::INFINITY
    }
}

/// An upper bound on ‖Rg‖ for a vector of intervals.
pub fn norm_of_product(r: &[f64], g: &[Interval]) -> f64 {
    product(r, g)
        .iter()
        .map(|entry| entry.square())
        .sum::<Interval>()
        .sqrt()
        .hi
}

/// Rg in intervals.
pub fn product(r: &[f64], g: &[Interval]) -> Vec<Interval> {
    let p = g.len();
    let row = |k: usize| r[k * p..][..k + 1].iter().zip(g).map(|(&r, &g)| r * g).sum();
    (0..p).map(row).collect()
}

/// Rᵀt for doubles, rounded.
pub fn transposed_product(r: &[f64], t: &[f64]) -> Vec<f64> {
    let p = t.len();
    let mut sum = vec![0.0; p];
    for (k, &t) in t.iter().enumerate() {
        sum.iter_mut()
            .zip(&r[k * p..][..k + 1])
            .for_each(|(sum, r)| *sum += r * t);
    }
    sum
}

/// An upper bound on ‖R‖_F.
pub fn frobenius(r: &[f64]) -> f64 {
    r.iter().map(|entry| entry * entry).sum::<f64>().sqrt() * (1.0 + 1e-6) + 1e-150
}

/// An upper bound on ‖Rx̂‖ for the exact x̂ of a row, given its rounded one and ‖R‖_F: the product of p terms errs by at most
/// γ_{p+3}·|R||x̂|, whose norm is at most γ_{p+3}·‖R‖_F·‖x̂‖.
pub fn norm_of_row(r: &[f64], x: &[f64], frobenius: f64) -> f64 {
    let p = x.len();
    let squares: f64 = (0..p)
        .map(|k| dot(&r[k * p..][..k + 1], &x[..k + 1]).powi(2))
        .sum();
    let size: f64 = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    (squares.sqrt() + gamma(p + 3) * frobenius * size * 1.01) * (1.0 + 1e-6) + 1e-150
}
