//! max(0, 1 − yz)², continued linearly as −4yz where yz < −1 (Zhang, Annals of Statistics 32, 2004): a squared hinge that
//! is less sensitive to rows far on the wrong side. (1 + z)/2, clipped to [0, 1], estimates the probability of the positive
//! class.

use crate::loss::Loss;

/// max(0, 1 − yz)² where yz ≥ −1, else −4yz.
#[derive(Debug, Clone, Copy, Default)]
pub struct ModifiedHuber;

impl Loss for ModifiedHuber {
    #[inline]
    fn value(self, y: f64, z: f64) -> f64 {
        let margin = y * z;
        if margin < -1.0 {
            -4.0 * margin
        } else {
            let slack = (1.0 - margin).max(0.0);
            slack * slack
        }
    }

    #[inline]
    fn slope(self, y: f64, z: f64) -> f64 {
        -2.0 * y * (1.0 - y * z).clamp(0.0, 2.0)
    }

    #[inline]
    fn curvature(self, y: f64, z: f64) -> f64 {
        if (-1.0..1.0).contains(&(y * z)) { 2.0 } else { 0.0 }
    }

    #[inline]
    fn conjugate(self, y: f64, s: f64) -> f64 {
        let slope = y * s;
        if (-4.0..=0.0).contains(&slope) {
            slope + 0.25 * slope * slope
        } else {
            f64::INFINITY
        }
    }

    #[inline]
    fn slopes(self, y: f64) -> (f64, f64) {
        if y > 0.0 { (-4.0, 0.0) } else { (0.0, 4.0) }
    }
}
