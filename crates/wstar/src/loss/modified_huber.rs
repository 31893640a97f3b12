//! max(0, 1 − yz)² that goes on as a line, −4yz, where yz < −1 (Zhang, Annals of Statistics 32, 2004): the squared
//! hinge without its weight on rows far on the wrong side. (1 + z)/2, cut at 0 and 1, estimates the probability of the
//! positive class.

use super::Loss;

/// max(0, 1 − yz)² where yz ≥ −1, else −4yz.
#[derive(Debug, Clone, Copy, Default)]
pub struct ModifiedHuber;

impl Loss for ModifiedHuber {
    fn value(self, y: f64, z: f64) -> f64 {
        let margin = y * z;
        if margin < -1.0 {
            -4.0 * margin
        } else {
            let slack = (1.0 - margin).max(0.0);
            slack * slack
        }
    }

    fn slope(self, y: f64, z: f64) -> f64 {
        -2.0 * y * (1.0 - y * z).clamp(0.0, 2.0)
    }

    fn curvature(self, y: f64, z: f64) -> f64 {
        if (-1.0..1.0).contains(&(y * z)) { 2.0 } else { 0.0 }
    }

    fn conjugate(self, y: f64, s: f64) -> f64 {
        let slope = y * s;
        if (-4.0..=0.0).contains(&slope) {
            slope + 0.25 * slope * slope
        } else {
            f64::INFINITY
        }
    }

    fn slopes(self, y: f64) -> (f64, f64) {
        if y > 0.0 { (-4.0, 0.0) } else { (0.0, 4.0) }
    }
}
