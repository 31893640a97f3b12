//! max(0, 1 − yz): the soft margin.

use super::Loss;

/// max(0, 1 − yz).
#[derive(Debug, Clone, Copy, Default)]
pub struct Hinge;

impl Loss for Hinge {
    fn value(self, y: f64, z: f64) -> f64 {
        (1.0 - y * z).max(0.0)
    }

    fn slope(self, y: f64, z: f64) -> f64 {
        if y * z < 1.0 { -y } else { 0.0 }
    }

    fn curvature(self, _y: f64, _z: f64) -> f64 {
        0.0
    }

    fn conjugate(self, y: f64, s: f64) -> f64 {
        if (-1.0..=0.0).contains(&(y * s)) {
            y * s
        } else {
            f64::INFINITY
        }
    }

    fn slopes(self, y: f64) -> (f64, f64) {
        if y > 0.0 { (-1.0, 0.0) } else { (0.0, 1.0) }
    }
}
