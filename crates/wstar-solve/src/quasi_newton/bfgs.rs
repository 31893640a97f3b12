//! BFGS, for smooth losses and penalties and few parameters (C. G. Broyden; R. Fletcher; D. Goldfarb; D.
//! F. Shanno, all 1970; J. Nocedal and S. J. Wright, Numerical Optimization, chapter 6).
//!
//! Problem: min P(θ). The dense inverse Hessian is approximated by rank-two updates from each step and
//! the change of the gradient over it, starting from the inverse of the Hessian's diagonal.

use crate::quasi_newton::{InverseHessian, minimise};
use crate::{Control, Solution, Solver, SolverName, smooth_stopping};
use wstar_data::error::Result;
use wstar_numeric::dense::{axpy, dot};
use wstar_problem::objective::Objective;

/// The parameter limit. Cap: the model is a dense square matrix, so more parameters are refused with an
/// error.
const MOST_PARAMETERS: usize = 5_000;

/// BFGS with a dense inverse Hessian.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bfgs {
    /// The iteration limit.
    pub(crate) max_iterations: u64,
}

impl Default for Bfgs {
    fn default() -> Self {
        Bfgs {
            // Cap: the run ends with the iteration limit as its status.
            max_iterations: 5_000,
        }
    }
}

impl Solver for Bfgs {
    fn name(&self) -> SolverName {
        SolverName::Bfgs
    }

    fn check(&self, objective: &Objective<'_>) -> Result<()> {
        smooth_stopping::check(self.name(), objective)?;
        smooth_stopping::check_size(self.name(), objective, MOST_PARAMETERS)
    }

    fn solve(
        &self,
        objective: &mut Objective<'_>,
        start: &[f64],
        control: &mut Control<'_>,
    ) -> Result<Solution> {
        self.check(objective)?;
        let mut model = Inverse::default();
        let never = u64::MAX;
        minimise(
            &mut model,
            objective,
            start,
            control,
            self.name(),
            self.max_iterations,
            never,
        )
    }
}

/// The inverse Hessian, a symmetric matrix stored column by column.
#[derive(Default)]
struct Inverse {
    columns: Vec<f64>,
    length: usize,
    updated: bool,
}

impl Inverse {
    fn image(&self, vector: &[f64]) -> Vec<f64> {
        let columns = self.columns.chunks_exact(self.length.max(1));
        columns.map(|column| dot(column, vector)).collect()
    }
}

impl InverseHessian for Inverse {
    fn restart(&mut self, objective: &mut Objective<'_>, at: &[f64]) -> Result<()> {
        let diagonal = smooth_stopping::diagonal(objective, at)?;
        let length = diagonal.len();
        self.columns = vec![0.0; length * length];
        for (j, d) in diagonal.iter().enumerate() {
            self.columns[j * length + j] = 1.0 / d;
        }
        self.length = length;
        self.updated = false;
        Ok(())
    }

    fn refresh(&mut self, _problem: &mut Objective<'_>, _at: &[f64]) -> Result<()> {
        Ok(())
    }

    fn has_updates(&self) -> bool {
        self.updated
    }

    fn times(&self, vector: &[f64]) -> Result<Vec<f64>> {
        Ok(self.image(vector))
    }

    // B ← (I − s yᵀ/sᵀy) B (I − y sᵀ/sᵀy) + s sᵀ/sᵀy.
    fn update(&mut self, step: Vec<f64>, change: Vec<f64>, product: f64) {
        let image = self.image(&change);
        let own = (1.0 + dot(&change, &image) / product) / product;
        let columns = self.columns.chunks_exact_mut(self.length.max(1));
        for ((column, s), b) in columns.zip(&step).zip(&image) {
            axpy(own * s - b / product, &step, column);
            axpy(-s / product, &image, column);
        }
        self.updated = true;
    }
}
