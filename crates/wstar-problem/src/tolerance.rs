//! When a gap is small enough, relative to the objective.

/// A tolerance on gaps: a share of max(|P|, `least_scale`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// The relative gap that is allowed.
    pub relative: f64,
    /// The least scale of a gap, for objectives near 0: see [`baseline`](crate::baseline).
    pub least_scale: f64,
}

/// A relative gap on the scale of the objective alone.
impl From<f64> for Tolerance {
    fn from(relative: f64) -> Self {
        Tolerance {
            relative,
            least_scale: 0.0,
        }
    }
}

impl Tolerance {
    /// What gaps are divided by.
    #[inline]
    pub fn scale(self, objective: f64) -> f64 {
        objective.abs().max(self.least_scale)
    }

    /// The gap that is allowed.
    #[inline]
    pub fn gap(self, objective: f64) -> f64 {
        self.relative * self.scale(objective)
    }

    /// The relative gap; 0 for a gap of at most 0, which only rounding can make negative.
    pub fn relative_gap(self, gap: f64, objective: f64) -> f64 {
        match gap <= 0.0 {
            true => 0.0,
            false => gap / self.scale(objective),
        }
    }

    /// Another relative gap on the same scale.
    #[must_use]
    pub fn of(self, relative: f64) -> Self {
        Tolerance { relative, ..self }
    }

    /// A multiple of the relative gap.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        self.of(factor * self.relative)
    }
}
