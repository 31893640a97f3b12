//! ½(y − z)²: least squares.

use super::Loss;

/// ½(y − z)².
#[derive(Debug, Clone, Copy, Default)]
pub struct Squared;

impl Loss for Squared {
    fn value(self, y: f64, z: f64) -> f64 {
        0.5 * (y - z) * (y - z)
    }

    fn slope(self, y: f64, z: f64) -> f64 {
        z - y
    }

    fn curvature(self, _y: f64, _z: f64) -> f64 {
        1.0
    }

    fn conjugate(self, y: f64, s: f64) -> f64 {
        s * (0.5 * s + y)
    }

    fn slopes(self, _y: f64) -> (f64, f64) {
        (f64::NEG_INFINITY, f64::INFINITY)
    }
}
