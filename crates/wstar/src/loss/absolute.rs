//! |y − z|: least absolute deviations.

use super::Loss;

/// |y − z|.
#[derive(Debug, Clone, Copy, Default)]
pub struct Absolute;

impl Loss for Absolute {
    fn value(self, y: f64, z: f64) -> f64 {
        (y - z).abs()
    }

    fn slope(self, y: f64, z: f64) -> f64 {
        if z > y {
            1.0
        } else if z < y {
            -1.0
        } else {
            0.0
        }
    }

    fn curvature(self, _y: f64, _z: f64) -> f64 {
        0.0
    }

    fn conjugate(self, y: f64, s: f64) -> f64 {
        if s.abs() <= 1.0 { s * y } else { f64::INFINITY }
    }

    fn slopes(self, _y: f64) -> (f64, f64) {
        (-1.0, 1.0)
    }
}
