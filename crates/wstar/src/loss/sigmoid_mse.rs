//! (t − σ(z))² with t = 1 for the positive class and 0 for the other: the squared error of the
//! probability. Not convex: it flattens out where a row is badly wrong, so only stationarity can be claimed.

use super::Loss;

/// (t − σ(z))², t = (1 + y)/2.
#[derive(Debug, Clone, Copy, Default)]
pub struct SigmoidMse;

/// The probability of the wrong label, u = σ(−yz), and of the right one: ℓ = u².
fn shares(y: f64, z: f64) -> (f64, f64) {
    let m = y * z;
    let e = (-m.abs()).exp();
    let (small, large) = (e / (1.0 + e), 1.0 / (1.0 + e));
    if m > 0.0 { (small, large) } else { (large, small) }
}

impl Loss for SigmoidMse {
    fn value(self, y: f64, z: f64) -> f64 {
        let (wrong, _) = shares(y, z);
        wrong * wrong
    }

    fn slope(self, y: f64, z: f64) -> f64 {
        let (wrong, right) = shares(y, z);
        -2.0 * y * wrong * wrong * right
    }

    fn curvature(self, y: f64, z: f64) -> f64 {
        let (wrong, right) = shares(y, z);
        2.0 * wrong * wrong * right * (2.0 * right - wrong)
    }

    /// It has none that proves anything: a loss that is not convex is not its conjugate's conjugate.
    fn conjugate(self, _y: f64, _s: f64) -> f64 {
        f64::INFINITY
    }

    fn slopes(self, y: f64) -> (f64, f64) {
        // The steepest point is where wrong = 2/3.
        let steepest = 8.0 / 27.0;
        if y > 0.0 {
            (-steepest, 0.0)
        } else {
            (0.0, steepest)
        }
    }
}
