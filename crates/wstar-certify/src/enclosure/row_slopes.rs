//! α = −cℓ'(z) of rows in two doubles, the curvature h = cℓ''(z), and bounds on their errors.
//!
//! z is given in two doubles with an error of at most e. All bounds are multiples of h, so that the error of X̃ᵀα is bounded by √Σh
//! standard errors (`newton_kantorovich.rs`).
//!
//! - **Squared.** α = c(y − z) in two doubles: an error of at most c(e + 10u²(|y| + 2|z|)), and h = c exactly.
//! - **Logistic.** With m = yz and the probability p of the wrong label, α = yc·p. `softplus::losses` evaluates t = e^(−|m|) by
//!   Horner's rule of degree 13 on |r| ≤ 0.3467 after a reduction whose first step is exact. The errors of the rule sum to at most
//!   2.5u absolutely, 3.5u of e^r ≥ 0.707; the cut of the series is below 10⁻¹⁷, and the error of r below 0.4u: t has a relative error
//!   of at most 8u. The smaller probability t/(1 + t) then has at most 13u, and t/(1 + t)² at most 14u. For m ≤ 0 α is
//!   yc − yc·(1 − p) in two doubles. So the error of α is at most 15u·c·min(p, 1 − p) ≤ 30u·h. z is rounded to a double, δ away, for p, and
//!   −h·yδ is added to α: |p(m + δ) − p(m) − p'(m)δ| ≤ ½δ²·h/c·e^|δ|. Below m = −708 or above 708, t is 0: an absolute error below 10⁻³⁰⁰.
//! - **Squared hinge, modified Huber.** α = 2yc·k with k = 1 − yz clipped to k ≥ 0, or to [0, 2]: with k known to e + 10u²(1 + 2|z|), α is
//!   known to 2c times that, because clipping moves no two numbers apart. h is 2c inside and 0 outside. Rows within [`UNSURE`] of a kink count
//!   0 in h, and are summed apart.

use super::rounding::unit;
use wstar_numeric::double_double::{DoubleDouble, two_prod, two_sum};
use wstar_numeric::softplus;
use wstar_problem::loss::LossName;

/// The distance of k = 1 − yz from a kink within which the side of a row is not used. Heuristic: above the distance of a
/// converged point from the optimum, and below that of nearly all rows from a kink; not measured yet.
pub(super) const UNSURE: f64 = 1e-6;

/// Absolute error of a slope of weight 1 where e^(−|m|) is evaluated as 0. Derived: e⁻⁷⁰⁸ is below 10⁻³⁰⁷.
pub(super) const UNDERFLOW: f64 = 1e-300;

/// Whether tier 2 is implemented for a loss.
pub(super) fn is_supported(loss: LossName) -> bool {
    matches!(
        loss,
        LossName::Squared | LossName::Logistic | LossName::SquaredHinge | LossName::ModifiedHuber
    )
}

/// Whether ℓ'' jumps at a kink.
pub(super) fn has_kinks(loss: LossName) -> bool {
    matches!(loss, LossName::SquaredHinge | LossName::ModifiedHuber)
}

/// Relative errors: of α, as a multiple of h, and of h.
#[derive(Debug, Clone, Copy)]
pub(super) struct SlopeErrors {
    pub(super) slope: f64,
    pub(super) curvature: f64,
}

impl SlopeErrors {
    /// The bounds for scores with an error of at most `e`, magnitudes of at most `score`, and targets of at most `target`; nothing if
    /// scores are too large to be of use.
    pub(super) fn new(loss: LossName, e: f64, score: f64, target: f64) -> Option<SlopeErrors> {
        let u = unit();
        let residual = e + 10.0 * u * u * (target + 2.0 * score);
        let errors = match loss {
            LossName::Logistic => {
                // The distance of z from its first double.
                let delta = 1.01 * u * score + e;
                (delta <= 1e-3).then_some(SlopeErrors {
                    slope: 30.0 * u + 1.2 * (delta * delta + e) + 60.0 * u * delta,
                    curvature: 16.0 * u + 1.2 * delta,
                })
            }
            _ => Some(SlopeErrors {
                slope: residual,
                curvature: 0.0,
            }),
        };
        errors.filter(|errors| errors.slope <= 1e-8 || loss == LossName::Squared)
    }
}

/// Slopes and curvatures of a block of rows.
#[derive(Default)]
pub(super) struct BlockSlopes {
    /// First doubles of the scores, then of α.
    pub(super) high: Vec<f64>,
    /// Second doubles of the scores, then of α.
    pub(super) low: Vec<f64>,
    /// h; 0 near a kink.
    pub(super) curvature: Vec<f64>,
    /// Σ2c over rows near a kink.
    pub(super) unsure: f64,
    /// Σα²/c, for the squared loss.
    pub(super) residual: DoubleDouble,
    margins: Vec<f64>,
    wrong: Vec<f64>,
    values: Vec<f64>,
}

impl BlockSlopes {
    /// Vectors for this many rows.
    pub(super) fn resize(&mut self, rows: usize) {
        for vector in [&mut self.high, &mut self.low, &mut self.curvature] {
            vector.clear();
            vector.resize(rows, 0.0);
        }
        self.unsure = 0.0;
        self.residual = DoubleDouble::ZERO;
    }

    /// Replaces the scores in `high` and `low` by α, and writes h. The targets and weights are those of the rows.
    pub(super) fn replace_scores(
        &mut self,
        loss: LossName,
        targets: impl Fn(usize) -> f64,
        weights: impl Fn(usize) -> f64,
    ) {
        if loss == LossName::Logistic {
            return self.logistic(targets, weights);
        }
        for at in 0..self.high.len() {
            let (y, c) = (targets(at), weights(at));
            if c == 0.0 {
                (self.high[at], self.low[at], self.curvature[at]) = (0.0, 0.0, 0.0);
                continue;
            }
            // y − z, or 1 − yz.
            let (from, sign) = if loss == LossName::Squared {
                (y, 1.0)
            } else {
                (1.0, y)
            };
            let (sum, error) = two_sum(from, -sign * self.high[at]);
            let (sum, rest) = two_sum(sum, error - sign * self.low[at]);
            let (alpha, curvature) = match loss {
                LossName::Squared => {
                    let alpha = scaled(sum, rest, c);
                    self.residual += alpha * DoubleDouble { high: sum, low: rest };
                    (alpha, c)
                }
                _ => {
                    let top = if loss == LossName::ModifiedHuber {
                        2.0
                    } else {
                        f64::INFINITY
                    };
                    let is_near = sum.abs() <= UNSURE || (sum - top).abs() <= UNSURE;
                    let is_inside = sum > 0.0 && sum < top;
                    self.unsure += if is_near { 2.0 * c } else { 0.0 };
                    let alpha = match is_inside {
                        true => scaled(sum, rest, 2.0 * y * c),
                        false if sum <= 0.0 => DoubleDouble::ZERO,
                        false => DoubleDouble::from(4.0 * y * c),
                    };
                    (alpha, if is_inside && !is_near { 2.0 * c } else { 0.0 })
                }
            };
            (self.high[at], self.low[at], self.curvature[at]) = (alpha.high, alpha.low, curvature);
        }
    }

    fn logistic(&mut self, targets: impl Fn(usize) -> f64, weights: impl Fn(usize) -> f64) {
        let rows = self.high.len();
        for at in 0..rows {
            (self.high[at], self.low[at]) = two_sum(self.high[at], self.low[at]);
        }
        self.margins.clear();
        self.margins
            .extend((0..rows).map(|at| targets(at) * self.high[at]));
        self.wrong.resize(rows, 0.0);
        self.values.resize(rows, 0.0);
        softplus::losses(
            &self.margins,
            &mut self.values,
            &mut self.wrong,
            &mut self.curvature,
        );
        for at in 0..rows {
            let (y, c) = (targets(at), weights(at));
            let h = c * self.curvature[at];
            let (first, second) = if self.margins[at] > 0.0 {
                (c * self.wrong[at], 0.0)
            } else {
                two_sum(c, -c * (self.curvature[at] / self.wrong[at]))
            };
            let (high, low) = two_sum(first, second - h * (y * self.low[at]));
            (self.high[at], self.low[at]) = (y * high, y * low);
            self.curvature[at] = h;
        }
    }
}

/// (a + b)·factor, with a + b normalised.
fn scaled(a: f64, b: f64, factor: f64) -> DoubleDouble {
    let (product, error) = two_prod(a, factor);
    let (high, low) = two_sum(product, error + b * factor);
    DoubleDouble { high, low }
}
