//! A triangle R with RHRᵀ ≈ I for the information H = Σ hᵢx̂ᵢx̂ᵢᵀ + Λ, and a bound on ‖RHRᵀ − I‖.
//!
//! The coordinates are scaled by powers of two, so that the diagonal of H is between 1 and 4.
//!
//! **Lemma (inverse factor).** Let Ĥ be H computed with k roundings of each element from x̂ rounded to a relative u and h known to a relative
//! η_h, let η = 1.01(γ_{k+16} + η_h) + 10⁻⁶⁰ ≤ 0.01, d_a² = Ĥ_aa/(1 − η), and R any matrix of doubles. Then
//! ‖RHRᵀ − I‖ ≤ ε = ‖fl(RĤRᵀ) − I‖_F + (1.03·γ_{2p+8} + 1.01η)·‖|R|d‖².
//! *Proof.* |Ĥ − H|_ab ≤ η Σh|x̂_a||x̂_b| + ηΛ_ab ≤ η√(H_aa·H_bb) by Cauchy and Schwarz, so H_aa ≤ d_a², and the norm of R(Ĥ − H)Rᵀ is at most that of
//! η(|R|d)(|R|d)ᵀ. Two products of p terms err by at most γ_{2p+8}·|R||Ĥ||R|ᵀ in any order of summation, and |Ĥ_ab| ≤ (1 + η)d_a·d_b. ∎
//! (The 10⁻⁶⁰ is for underflow: all numbers are below 10⁷⁰, weights above 10⁻⁷⁰, and the diagonal of H above 10⁻¹⁵⁰.)
//!
//! R is not trusted: with ε < 1 it is nonsingular, and H is positive definite.

use faer::Mat;

use super::rounding::{FEW, SLACK, gamma};
use crate::sequential::{inverse_factor, product};

/// Diagonal elements of H outside this range, with its inverse, are refused. Derived: keeps all products in the range of
/// doubles, far from underflow.
const LEAST_DIAGONAL: f64 = 1e-150;

/// R, the scaling, and the bound.
pub(super) struct InverseFactor {
    /// R, a lower triangle.
    pub(super) r: Mat<f64>,
    /// The powers of two s by which the coordinates are scaled: the columns of H are those of x̂·s.
    pub(super) scale: Vec<f64>,
    /// Upper bounds on √H_aa in scaled coordinates.
    pub(super) diagonal: Vec<f64>,
    /// ε.
    pub(super) epsilon: f64,
}

impl InverseFactor {
    /// The factor of the matrix whose lower triangle is given column by column, without Λ. `penalties` is the diagonal of Λ.
    pub(super) fn new(
        gram: &[f64],
        penalties: &[f64],
        roundings: usize,
        curvature_error: f64,
    ) -> Option<Self> {
        let p = penalties.len();
        let eta = 1.01 * (gamma(roundings + 16) + curvature_error) + 1e-60;
        let diagonal: Vec<f64> = (0..p).map(|a| gram[a * p + a] + penalties[a]).collect();
        let usable = |x: &f64| (LEAST_DIAGONAL..=1.0 / LEAST_DIAGONAL).contains(x);
        if eta > 0.01 || !diagonal.iter().all(usable) {
            return None;
        }
        let scale: Vec<f64> = diagonal.iter().map(|&d| 1.0 / power_of_two(d.sqrt())).collect();
        let h = Mat::from_fn(p, p, |a, b| {
            let entry = gram[a.min(b) * p + a.max(b)] + if a == b { penalties[a] } else { 0.0 };
            entry * scale[a] * scale[b]
        });
        let r = inverse_factor(&h)?;
        let identity = product(product(r.as_ref(), h.as_ref()).as_ref(), r.transpose());
        let mut squares = 0.0;
        for b in 0..p {
            for a in 0..p {
                let entry = identity[(a, b)] - f64::from(u8::from(a == b));
                squares += entry * entry;
            }
        }
        let bounds: Vec<f64> = (0..p).map(|a| (h[(a, a)] / (1.0 - eta)).sqrt() * SLACK).collect();
        let sizes = norm_of_sizes(&r, &bounds);
        let epsilon =
            (squares.sqrt() + (1.03 * gamma(2 * p + 8) + 1.01 * eta) * sizes * sizes) * SLACK + 1e-60;
        (epsilon < 0.5).then_some(InverseFactor {
            r,
            scale,
            diagonal: bounds,
            epsilon,
        })
    }

    /// The order of R.
    pub(super) fn order(&self) -> usize {
        self.scale.len()
    }

    /// An upper bound on ‖|R|v‖ for a vector of numbers of at least 0.
    pub(super) fn norm_of_sizes(&self, v: &[f64]) -> f64 {
        norm_of_sizes(&self.r, v)
    }

    /// Rv, rounded: each element has an error of at most γ_p·(|R||v|).
    pub(super) fn times(&self, v: &[f64]) -> Vec<f64> {
        let mut sum = vec![0.0; v.len()];
        for (b, &v) in v.iter().enumerate() {
            for (a, sum) in sum.iter_mut().enumerate().skip(b) {
                *sum += self.r[(a, b)] * v;
            }
        }
        sum
    }

    /// Rᵀt, rounded, and |R|ᵀ|t|, which bounds its error by γ_p times it.
    pub(super) fn transposed_times(&self, t: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let column = |b: usize| {
            let terms = || (b..t.len()).map(|a| self.r[(a, b)] * t[a]);
            (
                terms().sum::<f64>(),
                terms().map(|term| term.abs()).sum::<f64>() * SLACK,
            )
        };
        (0..t.len()).map(column).unzip()
    }

    /// A lower and an upper bound on ‖Rv‖ for a vector of doubles.
    pub(super) fn norm(&self, v: &[f64]) -> (f64, f64) {
        let sizes: Vec<f64> = v.iter().map(|v| v.abs()).collect();
        let rounded = norm(&self.times(v));
        let slack = gamma(v.len() + 4) * (self.norm_of_sizes(&sizes) + rounded) * SLACK;
        ((rounded - slack) / FEW, (rounded + slack) * FEW)
    }
}

fn norm_of_sizes(r: &Mat<f64>, v: &[f64]) -> f64 {
    let mut sums = vec![0.0; v.len()];
    for (b, &v) in v.iter().enumerate() {
        for (a, sum) in sums.iter_mut().enumerate().skip(b) {
            *sum += r[(a, b)].abs() * v;
        }
    }
    norm(&sums) * SLACK
}

/// ‖v‖, rounded.
pub(super) fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// The largest power of two that is at most x, for positive normal numbers.
fn power_of_two(x: f64) -> f64 {
    const FRACTION: u64 = (1 << 52) - 1;
    f64::from_bits(x.to_bits() & !FRACTION)
}
