//! max(0, 1 − yz)²: the support vector machine with squared slacks.

use crate::loss::Loss;

/// max(0, 1 − yz)².
#[derive(Debug, Clone, Copy, Default)]
pub struct SquaredHinge;

impl Loss for SquaredHinge {
    #[inline]
    fn value(self, y: f64, z: f64) -> f64 {
        let slack = (1.0 - y * z).max(0.0);
        slack * slack
    }

    #[inline]
    fn slope(self, y: f64, z: f64) -> f64 {
        -2.0 * y * (1.0 - y * z).max(0.0)
    }

    #[inline]
    fn curvature(self, y: f64, z: f64) -> f64 {
        if y * z < 1.0 { 2.0 } else { 0.0 }
    }

    #[inline]
    fn conjugate(self, y: f64, s: f64) -> f64 {
        if y * s <= 0.0 {
            y * s + 0.25 * s * s
        } else {
            f64::INFINITY
        }
    }

    #[inline]
    fn slopes(self, y: f64) -> (f64, f64) {
        if y > 0.0 {
            (f64::NEG_INFINITY, 0.0)
        } else {
            (0.0, f64::INFINITY)
        }
    }
}
