//! Limited-memory BFGS (D. C. Liu and J. Nocedal, On the limited memory BFGS method for large scale
//! optimization, Mathematical Programming 45, 1989), for smooth losses and penalties and any number of
//! parameters.
//!
//! Problem: min P(θ). The inverse Hessian is approximated from the last few steps and changes of the
//! gradient, starting from the inverse of a cheap approximation of the Hessian (`preconditioner.rs`). That
//! approximation is recomputed at steps 4, 16, 64 and so on.

use std::collections::VecDeque;

use crate::preconditioner::Preconditioner;
use crate::quasi_newton::{InverseHessian, minimise};
use crate::{Control, Solution, Solver, SolverName, smooth_stopping};
use wstar_data::error::{Error, Result};
use wstar_numeric::dense::{axpy, dot};
use wstar_problem::objective::Objective;

/// Limited-memory BFGS.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lbfgs {
    /// The number of steps that the model keeps.
    pub(crate) memory: usize,
    /// The iteration limit.
    pub(crate) max_iterations: u64,
}

impl Default for Lbfgs {
    fn default() -> Self {
        Lbfgs {
            // Heuristic: fewer steps against O(m·d) work and memory; Liu and Nocedal use 3 to 7; not
            // measured yet.
            memory: 20,
            // Cap: the run ends with the iteration limit as its status.
            max_iterations: 5_000,
        }
    }
}

impl Solver for Lbfgs {
    fn name(&self) -> SolverName {
        SolverName::Lbfgs
    }

    fn check(&self, objective: &Objective<'_>) -> Result<()> {
        if self.memory == 0 {
            return Err(Error::settings("lbfgs must remember at least one step"));
        }
        smooth_stopping::check(self.name(), objective)
    }

    fn solve(
        &self,
        objective: &mut Objective<'_>,
        start: &[f64],
        control: &mut Control<'_>,
    ) -> Result<Solution> {
        self.check(objective)?;
        let mut model = Recent {
            memory: self.memory,
            base: Preconditioner::Diagonal(Vec::new()),
            pairs: VecDeque::new(),
        };
        minimise(
            &mut model,
            objective,
            start,
            control,
            self.name(),
            self.max_iterations,
            4,
        )
    }
}

/// A step, the change of the gradient over it, and their inner product.
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
    product: f64,
}

/// The inverse Hessian approximated from the last steps.
struct Recent {
    memory: usize,
    base: Preconditioner,
    pairs: VecDeque<Pair>,
}

impl InverseHessian for Recent {
    fn restart(&mut self, objective: &mut Objective<'_>, at: &[f64]) -> Result<()> {
        self.pairs.clear();
        self.refresh(objective, at)
    }

    fn refresh(&mut self, objective: &mut Objective<'_>, at: &[f64]) -> Result<()> {
        self.base.recompute(objective, at)
    }

    fn has_updates(&self) -> bool {
        !self.pairs.is_empty()
    }

    fn update(&mut self, step: Vec<f64>, change: Vec<f64>, product: f64) {
        if self.pairs.len() == self.memory {
            self.pairs.pop_front();
        }
        self.pairs.push_back(Pair {
            step,
            change,
            product,
        });
    }

    fn move_to(&mut self, at: &[f64]) {
        self.base.move_to(at);
    }

    // The two-loop recursion.
    fn times(&self, vector: &[f64]) -> Result<Vec<f64>> {
        let mut result = vector.to_vec();
        let mut alphas = Vec::with_capacity(self.pairs.len());
        for pair in self.pairs.iter().rev() {
            let alpha = dot(&pair.step, &result) / pair.product;
            axpy(-alpha, &pair.change, &mut result);
            alphas.push(alpha);
        }
        self.base.solve(&mut result)?;
        if let Some(pair) = self.pairs.back()
            && !self.base.has_scale_of_hessian()
        {
            // Scales the base to the curvature of the last step.
            let mut image = pair.change.clone();
            self.base.solve(&mut image)?;
            let size = pair.product / dot(&pair.change, &image);
            result.iter_mut().for_each(|r| *r *= size);
        }
        for (pair, alpha) in self.pairs.iter().zip(alphas.iter().rev()) {
            let beta = dot(&pair.change, &result) / pair.product;
            axpy(alpha - beta, &pair.step, &mut result);
        }
        Ok(result)
    }
}
