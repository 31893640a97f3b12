//! The multipliers of a row with a score for each class, and their defect.
//!
//! The multipliers are α = c(e_y − p') with shares p' ≥ 0 that sum to 1, and the defect is c·KL(p'‖p) with p = softmax(z). The
//! shares of all classes but that with the largest score, t, are doubles; p'_t = 1 − Σ_{k≠t} p'_k is a real number. A double
//! for it errs by at most Ku, where p_t is at least 1/(2K).

use wstar_data::Row;
use wstar_numeric::double_double::{Compensated, DoubleDouble};
use wstar_numeric::softplus::{EXP_ERROR, exponentials_of};

use crate::duality::claim_sums::Claim;
use crate::duality::error_bounds::{Rounding, upwards};
use crate::duality::row_dual::{Multiplier, Score, VALUE_ERROR};

/// The scores of a row.
pub(super) struct ClassScores {
    /// z_k − z_t, at most 0.
    differences: Vec<f64>,
    /// t.
    pub(super) top: usize,
    /// y.
    class: usize,
    /// A bound on the error of each difference.
    pub(super) error: f64,
    /// p.
    pub(super) shares: Vec<f64>,
    /// Σ_{k≠t} e^(z_k − z_t).
    rest: f64,
}

/// p for scores relative to the largest one, and the sum of the other exponentials.
fn shares(differences: &[f64], top: usize) -> (Vec<f64>, f64) {
    let mut shares = vec![0.0; differences.len()];
    exponentials_of(differences, &mut shares);
    let rest: f64 = (0..shares.len()).filter(|&k| k != top).map(|k| shares[k]).sum();
    shares.iter_mut().for_each(|share| *share /= 1.0 + rest);
    (shares, rest)
}

/// The position of the largest number.
fn largest(scores: impl Iterator<Item = f64>) -> usize {
    let ahead = |best: (usize, f64), next: (usize, f64)| if next.1 > best.1 { next } else { best };
    scores.enumerate().fold((0, f64::NEG_INFINITY), ahead).0
}

impl ClassScores {
    pub(super) fn new(row: Row<'_>, claim: &Claim<'_>, class: usize) -> Self {
        let layout = claim.problem.layout();
        let score = |k: usize| Score::new(row, layout.output(claim.parameters, k), claim.rounding);
        let scores: Vec<Score> = (0..layout.outputs).map(score).collect();
        let top = largest(scores.iter().map(|score| score.value.value()));
        let difference = |score: &Score| (score.value - scores[top].value).value().min(0.0);
        let differences: Vec<f64> = scores.iter().map(difference).collect();
        let error = scores.iter().map(|score| score.error).fold(0.0, f64::max);
        let size = differences.iter().fold(0.0, |size: f64, d| size.max(-d));
        let (shares, rest) = shares(&differences, top);
        ClassScores {
            top,
            class,
            error: upwards(2.0 * error + 4.0 * claim.rounding.unit() * size),
            shares,
            rest,
            differences,
        }
    }

    /// The loss, and a bound on its error.
    pub(super) fn value(&self) -> (f64, f64) {
        let value = self.rest.ln_1p() - self.differences[self.class];
        (value, upwards(self.error + VALUE_ERROR * value))
    }

    /// The relative error of each share.
    fn share_error(&self, rounding: Rounding) -> f64 {
        let unit = rounding.unit();
        let exponential = EXP_ERROR / (0.5 * f64::EPSILON) * unit;
        2.0 * exponential
            + (self.shares.len() as f64 + 6.0) * unit
            + 2.0 * self.error * (1.0 + 2.0 * self.error)
    }
}

/// p' of a row.
pub(super) struct SoftmaxDual {
    pub(super) shares: Vec<f64>,
    top: usize,
    class: usize,
}

impl SoftmaxDual {
    /// The shares of the scores, or of the scores plus a shift.
    pub(super) fn new(scores: &ClassScores, shift: Option<&[f64]>) -> Self {
        let (shares, top) = match shift {
            None => (scores.shares.clone(), scores.top),
            Some(shift) => {
                let moved: Vec<f64> = scores.differences.iter().zip(shift).map(|(d, s)| d + s).collect();
                let top = largest(moved.iter().copied());
                let differences: Vec<f64> = moved.iter().map(|d| (d - moved[top]).min(0.0)).collect();
                (shares(&differences, top).0, top)
            }
        };
        SoftmaxDual {
            shares,
            top,
            class: scores.class,
        }
    }

    /// The multiplier of class `k` in two doubles. That of t is −Σ_{k≠t} α_k, with an error of at most that of a sum of 2K terms of
    /// total magnitude 2c.
    pub(super) fn multiplier(&self, k: usize, c: f64) -> Multiplier {
        let own = |k: usize| c * self.shares[k];
        let is_class = |k: usize| if k == self.class { c } else { 0.0 };
        if k != self.top {
            let (high, low) = match is_class(k) {
                0.0 => (-own(k), 0.0),
                c => (c, -own(k)),
            };
            return Multiplier { high, low };
        }
        let mut sum = Compensated::default();
        for l in (0..self.shares.len()).filter(|&l| l != k) {
            sum.add(-is_class(l));
            sum.add(own(l));
        }
        let DoubleDouble { high, low } = sum.total();
        Multiplier { high, low }
    }

    /// The sum of the magnitudes of the terms of the multiplier of class `k`, which its error is relative to; 0 if it is exact.
    pub(super) fn sum_size(&self, k: usize, c: f64) -> f64 {
        if k != self.top {
            return 0.0;
        }
        let others = (0..self.shares.len()).filter(|&l| l != k);
        let of_class = if self.class == k { 0.0 } else { c };
        of_class + c * others.map(|l| self.shares[l]).sum::<f64>()
    }

    /// The entry (k, l) of diag p' − p'p'ᵀ.
    pub(super) fn curvature(&self, k: usize, l: usize) -> f64 {
        let own = if k == l { 1.0 } else { 0.0 };
        self.shares[l] * (own - self.shares[k])
    }

    /// An upper bound of Σ p'·|log(p'/p)|.
    pub(super) fn log_ratios(&self, scores: &ClassScores, rounding: Rounding) -> f64 {
        let classes = self.shares.len();
        let eta =
            scores.share_error(rounding) + (2 * classes + 8) as f64 * 2.0 * classes as f64 * rounding.unit();
        let terms = (0..classes).map(|k| {
            let (p_dual, p) = (self.shares[k], scores.shares[k]);
            let off = (p_dual / p - 1.0).abs() * (1.0 + 2.0 * eta) + 2.0 * eta;
            if off <= 0.5 {
                p_dual * (1.0 + eta) * off * (1.0 + 2.0 * off)
            } else {
                // p'·|log(p'/p)| ≤ p'·log(1/p) + p/e.
                let log = scores.error - scores.differences[k] + (2.0 * classes as f64).ln() + 1.0;
                p_dual * (1.0 + eta) * log + p + eta
            }
        });
        upwards(terms.sum())
    }

    /// An upper bound of KL(p'‖p).
    pub(super) fn divergence(&self, scores: &ClassScores, rounding: Rounding) -> f64 {
        let classes = self.shares.len();
        let (unit, eta) = (rounding.unit(), scores.share_error(rounding));
        if eta.is_nan() || eta >= 0.05 {
            return f64::INFINITY;
        }
        // The doubles c·p'_k are rounded once, and p'_t is the rest of 1.
        let of_top = (2 * classes + 8) as f64 * unit;
        let mut sum = 0.0;
        for k in 0..classes {
            let (p_dual, p) = (self.shares[k], scores.shares[k]);
            let off = (p_dual - p).abs() + 4.0 * unit * p_dual + if k == self.top { of_top } else { 0.0 };
            let p_upper = p * (1.0 + eta) + 1e-300;
            let far = (p_dual + off)
                * (scores.error - scores.differences[k] + (2.0 * classes as f64).ln() + 1.0)
                + p_upper;
            let near = if p > 1e-290 {
                let omega = off / p * (1.0 + 2.0 * eta) + eta;
                let downwards = if p_dual < p { omega } else { eta };
                0.5 * p_upper * omega * omega * (1.0 + downwards)
            } else {
                f64::INFINITY
            };
            sum += near.min(far);
        }
        upwards(sum)
    }
}
