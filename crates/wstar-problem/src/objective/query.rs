//! Queries for sums over rows, and their answers.

/// What a solver asks for. All sums are over the rows, with weights and C included and the penalty excluded.
#[derive(Debug, Clone, Copy)]
pub enum Query<'a> {
    /// The loss and its gradient.
    Gradient {
        /// The parameters.
        at: &'a [f64],
    },
    /// The loss, its gradient and its Hessian; only for few parameters.
    Hessian {
        /// The parameters.
        at: &'a [f64],
    },
    /// The diagonal of the Hessian, returned in [`Sums::gradient`].
    Diagonal {
        /// The parameters.
        at: &'a [f64],
    },
    /// The Hessian times a vector, returned in [`Sums::gradient`].
    Product {
        /// The parameters.
        at: &'a [f64],
        /// The vector.
        along: &'a [f64],
    },
    /// The loss and its first two derivatives at several steps along a line.
    Line {
        /// The parameters at step 0.
        at: &'a [f64],
        /// The direction.
        along: &'a [f64],
        /// The steps.
        steps: &'a [f64],
    },
}

/// The loss at one step along a line.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LinePoint {
    /// The value.
    pub value: f64,
    /// The derivative with respect to the step.
    pub slope: f64,
    /// The second derivative with respect to the step.
    pub curvature: f64,
}

/// The answer to a [`Query`]: sums over rows. A vector that was not asked for is empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sums {
    /// Σ cᵢ ℓ(yᵢ, zᵢ).
    pub value: f64,
    /// One entry for each parameter.
    pub gradient: Vec<f64>,
    /// The full symmetric matrix, in column-major order.
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
