//! Limited-memory BFGS (Liu and Nocedal, Mathematical Programming 45, 1989), for smooth losses and penalties
//! and any number of parameters.
//!
//! Problem: min P(θ). The inverse Hessian is modelled from the last few steps and changes of the gradient, on
//! top of the inverse of a simple Hessian (`preconditioner.rs`), which is made again at steps 4, 16, 64 and so on.

use std::collections::VecDeque;

use crate::error::{Error, Result};
use crate::kernel::dense::{axpy, dot};
use crate::problem::Problem;
use crate::solve::preconditioner::Preconditioner;
use crate::solve::quasi_newton::{Model, minimise};
use crate::solve::{Control, Solution, Solver, SolverName, smooth};

/// Limited-memory BFGS.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lbfgs {
    /// How many steps are remembered.
    pub memory: usize,
    /// The most steps.
    pub max_iterations: u64,
}

impl Default for Lbfgs {
    fn default() -> Self {
        Lbfgs {
            memory: 20,
            max_iterations: 5_000,
        }
    }
}

impl Solver for Lbfgs {
    fn name(&self) -> SolverName {
        SolverName::Lbfgs
    }

    fn check(&self, problem: &Problem<'_>) -> Result<()> {
        if self.memory == 0 {
            return Err(Error::settings("lbfgs must remember at least one step"));
        }
        smooth::check(self.name(), problem)
    }

    fn solve(&self, problem: &mut Problem<'_>, start: &[f64], control: &mut Control<'_>) -> Result<Solution> {
        self.check(problem)?;
        let mut model = Recent {
            memory: self.memory,
            base: Preconditioner::Diagonal(Vec::new()),
            pairs: VecDeque::new(),
        };
        minimise(
            &mut model,
            problem,
            start,
            control,
            self.name(),
            self.max_iterations,
            4,
        )
    }
}

/// A step, the change of the gradient over it, and their product.
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
    product: f64,
}

/// The inverse Hessian as the last steps tell it.
struct Recent {
    memory: usize,
    base: Preconditioner,
    pairs: VecDeque<Pair>,
}

impl Model for Recent {
    fn restart(&mut self, problem: &mut Problem<'_>, at: &[f64]) -> Result<()> {
        self.pairs.clear();
        self.refresh(problem, at)
    }

    fn refresh(&mut self, problem: &mut Problem<'_>, at: &[f64]) -> Result<()> {
        self.base.renew(problem, at)
    }

    fn has_learnt(&self) -> bool {
        !self.pairs.is_empty()
    }

    fn learn(&mut self, step: Vec<f64>, change: Vec<f64>, product: f64) {
        if self.pairs.len() == self.memory {
            self.pairs.pop_front();
        }
        self.pairs.push_back(Pair {
            step,
            change,
            product,
        });
    }

    fn follow(&mut self, at: &[f64]) {
        self.base.follow(at);
    }

    // The two loops.
    fn times(&self, vector: &[f64]) -> Result<Vec<f64>> {
        let mut result = vector.to_vec();
        let mut shares = Vec::with_capacity(self.pairs.len());
        for pair in self.pairs.iter().rev() {
            let share = dot(&pair.step, &result) / pair.product;
            axpy(-share, &pair.change, &mut result);
            shares.push(share);
        }
        self.base.solve(&mut result)?;
        if let Some(pair) = self.pairs.back()
            && !self.base.is_true_to_scale()
        {
            // The base's size is that of the last change.
            let mut image = pair.change.clone();
            self.base.solve(&mut image)?;
            let size = pair.product / dot(&pair.change, &image);
            result.iter_mut().for_each(|r| *r *= size);
        }
        for (pair, share) in self.pairs.iter().zip(shares.iter().rev()) {
            let own = dot(&pair.change, &result) / pair.product;
            axpy(share - own, &pair.step, &mut result);
        }
        Ok(result)
    }
}
