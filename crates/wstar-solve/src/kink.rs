//! Losses with one kink per row: ℓ(z) = max(lo·(z − at), hi·(z − at)) with lo ≤ 0 ≤ hi. Hinge, absolute and
//! quantile loss have this form.
//!
//! The conjugate is ℓ\*(s) = s·at for lo ≤ s ≤ hi, so a dual point is a slope in [lo, hi] for every row.

use wstar_problem::loss::{Loss, LossName};
use wstar_problem::on_loss;

/// The loss of one row, linear on each side of the score `at`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kink {
    /// The slope for z < at, at most 0.
    pub(crate) lo: f64,
    /// The slope for z > at, at least 0.
    pub(crate) hi: f64,
    /// The score of the kink, where the loss is 0.
    pub(crate) at: f64,
}

impl Kink {
    /// The loss of this name for the target `y`; `None` if the loss is not of this form.
    pub fn new(loss: LossName, y: f64) -> Option<Self> {
        match loss {
            LossName::Hinge if y > 0.0 => Some(Kink {
                lo: -1.0,
                hi: 0.0,
                at: 1.0,
            }),
            LossName::Hinge => Some(Kink {
                lo: 0.0,
                hi: 1.0,
                at: -1.0,
            }),
            LossName::Absolute | LossName::Quantile(_) => {
                let (lo, hi) = on_loss!(loss, loss => loss.slopes(y), softmax => return None);
                Some(Kink { lo, hi, at: y })
            }
            _ => None,
        }
    }

    /// |z − at|.
    pub fn absolute(at: f64) -> Self {
        Kink {
            lo: -1.0,
            hi: 1.0,
            at,
        }
    }

    /// ℓ(z).
    pub fn value(self, z: f64) -> f64 {
        let beyond = z - self.at;
        (self.lo * beyond).max(self.hi * beyond)
    }

    /// hi − lo.
    pub fn width(self) -> f64 {
        self.hi - self.lo
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wstar_problem::loss::{Absolute, Hinge, Quantile};

    #[test]
    fn kinks_agree_with_the_losses() {
        for z in [-3.0, -1.0, -0.5, 0.0, 0.25, 1.0, 2.0] {
            for y in [-1.0, 1.0] {
                let kink = Kink::new(LossName::Hinge, y).unwrap();
                assert_eq!(kink.value(z), Hinge.value(y, z));
                assert_eq!((kink.lo, kink.hi), Hinge.slopes(y));
            }
            let kink = Kink::new(LossName::Absolute, 0.3).unwrap();
            assert_eq!(kink.value(z), Absolute::BOTH.value(0.3, z));
            let quantile = Quantile::new(0.9).unwrap();
            let kink = Kink::new(LossName::Quantile(quantile), 0.3).unwrap();
            assert_eq!(kink.value(z), Absolute::quantile(quantile).value(0.3, z));
        }
        assert_eq!(Kink::new(LossName::Logistic, 1.0), None);
    }
}
