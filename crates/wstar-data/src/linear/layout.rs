//! The layout of the parameters of a linear model in one vector.

use serde::{Deserialize, Serialize};

/// The layout of the parameters in one vector: for each output its weights, then its intercept if it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Layout {
    /// The number of scores of a row: 1, or one for each class.
    pub outputs: usize,
    /// The number of weights of each output.
    pub features: usize,
    /// Whether each output has an intercept.
    pub intercept: bool,
}

impl Layout {
    /// The number of parameters of one output.
    #[inline]
    pub fn width(self) -> usize {
        self.features + usize::from(self.intercept)
    }

    /// The number of all parameters.
    #[inline]
    pub fn len(self) -> usize {
        self.outputs * self.width()
    }

    /// Whether there are no parameters.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Whether parameter `j` is an intercept.
    #[inline]
    pub fn is_intercept(self, j: usize) -> bool {
        self.intercept && j % self.width() == self.features
    }

    /// The weights and the intercept (0 if it has none) of output `k`.
    #[inline]
    pub fn output(self, parameters: &[f64], k: usize) -> (&[f64], f64) {
        let own = &parameters[k * self.width()..(k + 1) * self.width()];
        (
            &own[..self.features],
            own.get(self.features).copied().unwrap_or(0.0),
        )
    }
}
