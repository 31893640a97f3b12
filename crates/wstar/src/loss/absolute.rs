//! |y − z|, and its two sides weighed apart: least absolute deviations and quantile regression.

use serde::{Deserialize, Serialize};

use super::Loss;
use crate::error::{Error, Result};

/// Linear on both sides of z = y: |y − z|, or the pinball loss max(q(y − z), (q − 1)(y − z)) of a quantile q.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Absolute {
    /// The slope by z where z < y, below 0.
    below: f64,
    /// The slope by z where z > y, above 0.
    above: f64,
}

impl Absolute {
    /// |y − z|.
    pub const BOTH: Absolute = Absolute {
        below: -1.0,
        above: 1.0,
    };

    /// The pinball loss of a quantile.
    pub fn quantile(quantile: Quantile) -> Self {
        Absolute {
            below: -quantile.value(),
            above: 1.0 - quantile.value(),
        }
    }
}

impl Loss for Absolute {
    fn value(self, y: f64, z: f64) -> f64 {
        let beyond = z - y;
        (self.below * beyond).max(self.above * beyond)
    }

    fn slope(self, y: f64, z: f64) -> f64 {
        if z > y {
            self.above
        } else if z < y {
            self.below
        } else {
            0.0
        }
    }

    fn curvature(self, _y: f64, _z: f64) -> f64 {
        0.0
    }

    fn conjugate(self, y: f64, s: f64) -> f64 {
        if (self.below..=self.above).contains(&s) {
            s * y
        } else {
            f64::INFINITY
        }
    }

    fn slopes(self, _y: f64) -> (f64, f64) {
        (self.below, self.above)
    }
}

/// Which quantile: strictly between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Quantile(f64);

// Never NaN, and never the zero that has two signs.
impl Eq for Quantile {}

impl std::hash::Hash for Quantile {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl Quantile {
    /// Refuses what is not strictly between 0 and 1, and what is so near to an end that nothing is left of it.
    pub fn new(value: f64) -> Result<Self> {
        if value > 1e-15 && value < 1.0 {
            Ok(Quantile(value))
        } else {
            Err(Error::settings(format!(
                "--quantile must lie strictly between 0 and 1, not {value}"
            ))
            .hint("0.5 is the median, 0.9 is exceeded by one row in ten"))
        }
    }

    /// The share of the rows below it.
    pub fn value(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Quantile {
    type Error = Error;
    fn try_from(value: f64) -> Result<Self> {
        Quantile::new(value)
    }
}

impl From<Quantile> for f64 {
    fn from(quantile: Quantile) -> f64 {
        quantile.0
    }
}
