//! log(1 + e^(−yz)): the negative log-likelihood of a label under the odds e^z.

use crate::loss::Loss;
use wstar_numeric::softplus::losses;

/// log(1 + e^(−yz)).
#[derive(Debug, Clone, Copy, Default)]
pub struct Logistic;

impl Loss for Logistic {
    #[inline]
    fn value(self, y: f64, z: f64) -> f64 {
        let m = y * z;
        // Neither branch overflows, and both are accurate where the loss is tiny.
        if m > 0.0 {
            (-m).exp().ln_1p()
        } else {
            m.exp().ln_1p() - m
        }
    }

    #[inline]
    fn slope(self, y: f64, z: f64) -> f64 {
        -y * wrong(y * z)
    }

    #[inline]
    fn curvature(self, y: f64, z: f64) -> f64 {
        let e = (-(y * z).abs()).exp();
        e / ((1.0 + e) * (1.0 + e))
    }

    #[inline]
    fn conjugate(self, y: f64, s: f64) -> f64 {
        let p = -y * s;
        if !(0.0..=1.0).contains(&p) {
            return f64::INFINITY;
        }
        entropy(p) + entropy(1.0 - p)
    }

    #[inline]
    fn slopes(self, y: f64) -> (f64, f64) {
        if y > 0.0 { (-1.0, 0.0) } else { (0.0, 1.0) }
    }

    fn all(self, y: f64, z: f64) -> (f64, f64, f64) {
        let m = y * z;
        let e = (-m.abs()).exp();
        let share = 1.0 / (1.0 + e);
        let (value, wrong) = if m > 0.0 {
            (e.ln_1p(), e * share)
        } else {
            (e.ln_1p() - m, share)
        };
        (value, -y * wrong, e * share * share)
    }

    #[inline]
    fn each(self, y: &[f64], scores: &mut [f64], values: &mut [f64], curvatures: Option<&mut [f64]>) {
        let margins: Vec<f64> = y.iter().zip(&*scores).map(|(y, z)| y * z).collect();
        match curvatures {
            Some(curvatures) => losses(&margins, values, scores, curvatures),
            None => losses(&margins, values, scores, &mut vec![0.0; margins.len()]),
        }
        scores.iter_mut().zip(y).for_each(|(wrong, y)| *wrong *= -y);
    }
}

/// The probability of the wrong label at the margin m = yz: σ(−m).
fn wrong(m: f64) -> f64 {
    let e = (-m.abs()).exp();
    if m > 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) }
}

/// p·log p, with the limit 0 at p = 0.
pub(super) fn entropy(p: f64) -> f64 {
    if p > 0.0 { p * p.ln() } else { 0.0 }
}
