//! max(0, 1 − yz): the soft margin of the support vector machine (Cortes and Vapnik, Machine Learning 20, 1995).

use crate::loss::Loss;

/// max(0, 1 − yz).
#[derive(Debug, Clone, Copy, Default)]
pub struct Hinge;

impl Loss for Hinge {
    #[inline]
    fn value(self, y: f64, z: f64) -> f64 {
        (1.0 - y * z).max(0.0)
    }

    #[inline]
    fn slope(self, y: f64, z: f64) -> f64 {
        if y * z < 1.0 { -y } else { 0.0 }
    }

    #[inline]
    fn curvature(self, _y: f64, _z: f64) -> f64 {
        0.0
    }

    #[inline]
    fn conjugate(self, y: f64, s: f64) -> f64 {
        if (-1.0..=0.0).contains(&(y * s)) {
            y * s
        } else {
            f64::INFINITY
        }
    }

    #[inline]
    fn slopes(self, y: f64) -> (f64, f64) {
        if y > 0.0 { (-1.0, 0.0) } else { (0.0, 1.0) }
    }
}
