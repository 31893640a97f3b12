//! (t − σ(z))² with t = 1 for the positive class and 0 for the other: the squared error of the probability.
//!
//! The loss is not convex: it flattens out where a row is far on the wrong side. So only stationarity can be certified.

use crate::loss::Loss;

/// (t − σ(z))², t = (1 + y)/2.
#[derive(Debug, Clone, Copy, Default)]
pub struct SigmoidMse;

/// The probabilities u = σ(−yz) of the wrong label and 1 − u of the right one; ℓ = u².
fn probabilities(y: f64, z: f64) -> (f64, f64) {
    let m = y * z;
    let e = (-m.abs()).exp();
    let (small, large) = (e / (1.0 + e), 1.0 / (1.0 + e));
    if m > 0.0 { (small, large) } else { (large, small) }
}

impl Loss for SigmoidMse {
    #[inline]
    fn value(self, y: f64, z: f64) -> f64 {
        let (wrong, _) = probabilities(y, z);
        wrong * wrong
    }

    #[inline]
    fn slope(self, y: f64, z: f64) -> f64 {
        let (wrong, right) = probabilities(y, z);
        -2.0 * y * wrong * wrong * right
    }

    #[inline]
    fn curvature(self, y: f64, z: f64) -> f64 {
        let (wrong, right) = probabilities(y, z);
        2.0 * wrong * wrong * right * (2.0 * right - wrong)
    }

    /// Always +∞: a loss that is not convex differs from its biconjugate, so its conjugate proves nothing.
    #[inline]
    fn conjugate(self, _y: f64, _s: f64) -> f64 {
        f64::INFINITY
    }

    #[inline]
    fn slopes(self, y: f64) -> (f64, f64) {
        // |slope| = 2u²(1 − u) is largest at u = 2/3.
        let steepest = 8.0 / 27.0;
        if y > 0.0 {
            (-steepest, 0.0)
        } else {
            (0.0, steepest)
        }
    }
}
