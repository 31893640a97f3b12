//! |y − z| and the pinball loss: least absolute deviations and quantile regression (Koenker and Bassett, Econometrica 46,
//! 1978).

use serde::{Deserialize, Serialize};
use wstar_data::error::Range;
use wstar_data::setting::Setting;

use crate::loss::Loss;
use wstar_data::error::{Error, Result};

/// Linear on both sides of z = y: |y − z|, or the pinball loss max(q(y − z), (q − 1)(y − z)) of a quantile q.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Absolute {
    /// ∂ℓ/∂z < 0 where z < y.
    below: f64,
    /// ∂ℓ/∂z > 0 where z > y.
    above: f64,
}

impl Absolute {
    /// |y − z|.
    pub const BOTH: Absolute = Absolute {
        below: -1.0,
        above: 1.0,
    };

    /// The pinball loss of a quantile.
    #[inline]
    pub fn quantile(quantile: Quantile) -> Self {
        Absolute {
            below: -quantile.value(),
            above: 1.0 - quantile.value(),
        }
    }
}

impl Loss for Absolute {
    #[inline]
    fn value(self, y: f64, z: f64) -> f64 {
        let beyond = z - y;
        (self.below * beyond).max(self.above * beyond)
    }

    #[inline]
    fn slope(self, y: f64, z: f64) -> f64 {
        if z > y {
            self.above
        } else if z < y {
            self.below
        } else {
            0.0
        }
    }

    #[inline]
    fn curvature(self, _y: f64, _z: f64) -> f64 {
        0.0
    }

    #[inline]
    fn conjugate(self, y: f64, s: f64) -> f64 {
        if (self.below..=self.above).contains(&s) {
            s * y
        } else {
            f64::INFINITY
        }
    }

    #[inline]
    fn slopes(self, _y: f64) -> (f64, f64) {
        (self.below, self.above)
    }
}

/// The level of a quantile, strictly between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Quantile(f64);

// The value is never NaN or ±0, so equality of values is equality of bits.
impl Eq for Quantile {}

impl std::hash::Hash for Quantile {
    #[inline]
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl Quantile {
    /// Refuses values outside (0, 1), and values up to 1e-15, whose slope would be lost in rounding.
    #[inline]
    pub fn new(value: f64) -> Result<Self> {
        // Derived: about five machine epsilons; below one of them 1 − q rounds to 1.
        if value > 1e-15 && value < 1.0 {
            Ok(Quantile(value))
        } else {
            Err(
                Error::out_of_range(Setting::Quantile, Range::StrictlyBetween(0.0, 1.0), value)
                    .remedy("0.5 is the median, 0.9 is exceeded by one row in ten"),
            )
        }
    }

    /// The level q: the share of rows below the quantile.
    #[inline]
    pub fn value(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Quantile {
    type Error = Error;
    #[inline]
    fn try_from(value: f64) -> Result<Self> {
        Quantile::new(value)
    }
}

impl From<Quantile> for f64 {
    #[inline]
    fn from(quantile: Quantile) -> f64 {
        quantile.0
    }
}
