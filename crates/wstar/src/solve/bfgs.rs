//! BFGS (Broyden; Fletcher; Goldfarb; Shanno, all 1970), for smooth losses and penalties and few parameters.
//!
//! Problem: min P(θ). The whole inverse Hessian is modelled by updates of rank two from each step and the
//! change of the gradient over it, starting from the inverse of the Hessian's diagonal.

use crate::error::Result;
use crate::kernel::dense::{axpy, dot};
use crate::problem::Problem;
use crate::solve::quasi_newton::{Model, minimise};
use crate::solve::{Control, Solution, Solver, SolverName, smooth};

/// Parameters at most: the model is a square matrix of them.
const MOST_PARAMETERS: usize = 5_000;

/// BFGS with the whole inverse Hessian.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bfgs {
    /// The most steps.
    pub max_iterations: u64,
}

impl Default for Bfgs {
    fn default() -> Self {
        Bfgs {
            max_iterations: 5_000,
        }
    }
}

impl Solver for Bfgs {
    fn name(&self) -> SolverName {
        SolverName::Bfgs
    }

    fn check(&self, problem: &Problem<'_>) -> Result<()> {
        smooth::check(self.name(), problem)?;
        smooth::check_size(self.name(), problem, MOST_PARAMETERS)
    }

    fn solve(&self, problem: &mut Problem<'_>, start: &[f64], control: &mut Control<'_>) -> Result<Solution> {
        self.check(problem)?;
        let mut model = Inverse::default();
        let never = u64::MAX;
        minimise(
            &mut model,
            problem,
            start,
            control,
            self.name(),
            self.max_iterations,
            never,
        )
    }
}

/// The inverse Hessian, column by column; symmetric.
#[derive(Default)]
struct Inverse {
    columns: Vec<f64>,
    length: usize,
    learnt: bool,
}

impl Inverse {
    fn image(&self, vector: &[f64]) -> Vec<f64> {
        let columns = self.columns.chunks_exact(self.length.max(1));
        columns.map(|column| dot(column, vector)).collect()
    }
}

impl Model for Inverse {
    fn restart(&mut self, problem: &mut Problem<'_>, at: &[f64]) -> Result<()> {
        let diagonal = smooth::diagonal(problem, at)?;
        let length = diagonal.len();
        self.columns = vec![0.0; length * length];
        for (j, d) in diagonal.iter().enumerate() {
            self.columns[j * length + j] = 1.0 / d;
        }
        self.length = length;
        self.learnt = false;
        Ok(())
    }

    fn refresh(&mut self, _problem: &mut Problem<'_>, _at: &[f64]) -> Result<()> {
        Ok(())
    }

    fn has_learnt(&self) -> bool {
        self.learnt
    }

    fn times(&self, vector: &[f64]) -> Result<Vec<f64>> {
        Ok(self.image(vector))
    }

    // B ← (I − s yᵀ/sᵀy) B (I − y sᵀ/sᵀy) + s sᵀ/sᵀy.
    fn learn(&mut self, step: Vec<f64>, change: Vec<f64>, product: f64) {
        let image = self.image(&change);
        let own = (1.0 + dot(&change, &image) / product) / product;
        let columns = self.columns.chunks_exact_mut(self.length.max(1));
        for ((column, s), b) in columns.zip(&step).zip(&image) {
            axpy(own * s - b / product, &step, column);
            axpy(-s / product, &image, column);
        }
        self.learnt = true;
    }
}
