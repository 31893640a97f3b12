//! The oracle: all that a batch solver knows of the data.
//!
//! A solver asks for sums over the rows, Σᵢ cᵢ ℓ(yᵢ, zᵢ) and its derivatives at a point, and never learns
//! where the rows are: in memory ([`Local`]), in parts ([`Partitioned`]) or in a file that is read anew for
//! every pass ([`Streamed`]). Sums are merged in a fixed order, so that the same question has the same
//! answer, bit for bit, for any number of threads.

mod few_columns;
mod kept;
mod local;
mod merged;
mod moments;
mod partitioned;
pub(crate) mod products;
mod rows;
mod streamed;

pub(crate) use few_columns::FewColumns;
pub(crate) use kept::Kept;
pub use local::Local;
pub(crate) use merged::Merged;
pub use partitioned::Partitioned;
pub use rows::{Blocks, Rows, Weights};
pub(crate) use rows::{Sample, column_counts};
pub use streamed::Streamed;

use crate::error::Result;

/// How parameters lie in one vector: for each output its weights and then its intercept, if it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Scores a row: 1, or one for each class.
    pub outputs: usize,
    /// Weights of each output.
    pub features: usize,
    /// Whether each output has an intercept.
    pub intercept: bool,
}

impl Layout {
    /// Parameters of one output.
    pub fn width(self) -> usize {
        self.features + usize::from(self.intercept)
    }

    /// All parameters.
    pub fn len(self) -> usize {
        self.outputs * self.width()
    }

    /// Whether there are no parameters.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Whether parameter `j` is an intercept.
    pub fn is_intercept(self, j: usize) -> bool {
        self.intercept && j % self.width() == self.features
    }

    /// The weights and the intercept (0 if it has none) of output `k`.
    pub fn output(self, parameters: &[f64], k: usize) -> (&[f64], f64) {
        let own = &parameters[k * self.width()..(k + 1) * self.width()];
        (
            &own[..self.features],
            own.get(self.features).copied().unwrap_or(0.0),
        )
    }
}

/// What a solver asks. All sums are over the rows, weights and C included, penalty excluded.
#[derive(Debug, Clone, Copy)]
pub enum Query<'a> {
    /// The loss and its gradient.
    Gradient {
        /// The parameters.
        at: &'a [f64],
    },
    /// The loss, its gradient and its Hessian: asked only where the parameters are few.
    Hessian {
        /// The parameters.
        at: &'a [f64],
    },
    /// The diagonal of the Hessian, as the gradient of the answer.
    Diagonal {
        /// The parameters.
        at: &'a [f64],
    },
    /// The Hessian times a vector, as the gradient of the answer.
    Product {
        /// The parameters.
        at: &'a [f64],
        /// The vector.
        along: &'a [f64],
    },
    /// The loss along a line.
    Line {
        /// The parameters at step 0.
        at: &'a [f64],
        /// The direction.
        along: &'a [f64],
        /// The steps.
        steps: &'a [f64],
    },
}

/// The loss at one step of a line.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LinePoint {
    /// Its value.
    pub value: f64,
    /// Its derivative by the step.
    pub slope: f64,
    /// Its second derivative.
    pub curvature: f64,
}

/// The answer to a [`Query`]: sums over rows, empty where they were not asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sums {
    /// Σ cᵢ ℓ(yᵢ, zᵢ).
    pub value: f64,
    /// One entry for each parameter.
    pub gradient: Vec<f64>,
    /// Column by column, both triangles.
    pub hessian: Vec<f64>,
    /// One entry for each step.
    pub line: Vec<LinePoint>,
}

impl Sums {
    /// Adds the sums over other rows.
    pub fn merge(&mut self, other: &Sums) {
        fn add(to: &mut Vec<f64>, from: &[f64]) {
            if to.is_empty() {
                to.extend_from_slice(from);
            } else {
                to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
            }
        }
        self.value += other.value;
        add(&mut self.gradient, &other.gradient);
        add(&mut self.hessian, &other.hessian);
        if self.line.is_empty() {
            self.line.clone_from(&other.line);
        } else {
            for (to, from) in self.line.iter_mut().zip(&other.line) {
                to.value += from.value;
                to.slope += from.slope;
                to.curvature += from.curvature;
            }
        }
    }
}

/// Answers questions about a sum over rows.
pub trait Oracle {
    /// How the parameters lie.
    fn layout(&self) -> Layout;
    /// Σ cᵢ: the most that a loss with slopes up to 1 can pull.
    fn total_weight(&self) -> f64;
    /// How often all rows were read.
    fn passes(&self) -> u64;
    /// Answers a question; an error only where rows cannot be read again.
    fn ask(&mut self, query: Query<'_>) -> Result<Sums>;
}
