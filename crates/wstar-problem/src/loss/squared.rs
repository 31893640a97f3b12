//! ½(y − z)²: least squares.

use crate::loss::Loss;

/// ½(y − z)².
#[derive(Debug, Clone, Copy, Default)]
pub struct Squared;

impl Loss for Squared {
    #[inline]
    fn value(self, y: f64, z: f64) -> f64 {
        0.5 * (y - z) * (y - z)
    }

    #[inline]
    fn slope(self, y: f64, z: f64) -> f64 {
        z - y
    }

    #[inline]
    fn curvature(self, _y: f64, _z: f64) -> f64 {
        1.0
    }

    #[inline]
    fn conjugate(self, y: f64, s: f64) -> f64 {
        s * (0.5 * s + y)
    }

    #[inline]
    fn slopes(self, _y: f64) -> (f64, f64) {
        (f64::NEG_INFINITY, f64::INFINITY)
    }
}
