//! Orthant-wise Newton for an ℓ1 penalty and a smooth loss, using sums over the rows only.
//!
//! Problem: min R(θ) + L(θ) with R(θ) = l1·‖w‖₁ + l2·½‖w‖².
//!
//! Method: within an orthant ‖w‖₁ is linear, so the objective is as smooth as the loss (G. Andrew and J.
//! Gao, Scalable training of L1-regularized log-linear models, ICML 2007; R. H. Byrd, G. M. Chin, J.
//! Nocedal and F. Oztoprak, A family of second-order methods for convex ℓ1-regularized optimization,
//! Mathematical Programming 159, 2016). Proximal gradient steps on the model of the loss choose the
//! orthant. A Newton step on its nonzero weights stays within it: weights that would cross 0 stop there.
//! The Newton step uses conjugate gradients, or the full Hessian where it is small. A few such rounds
//! minimise the model of a prox-Newton step, which is damped if its decrease falls short of the predicted
//! one.

pub(crate) use crate::l1::conjugate_gradients::conjugate_gradients;
pub(crate) use crate::l1::face_cholesky::FaceCholesky;
pub(crate) use crate::l1::hessian_operator::Gram;
pub(crate) use crate::l1::kinked_line_search::least_along;
pub(crate) use crate::l1::prox_newton::{MOST_FAILED, ModelSolver, prox_newton};
pub(crate) use crate::l1::quadratic::{CoordinateQuadratic, Effort, Quadratic, add_product};
pub(crate) use crate::l1::quadratic_model::QuadraticModel;
pub(crate) use crate::l1::reduced_newton::reduced_newton;

use crate::l1::coordinate_descent::check_smooth;
use crate::{Control, Solution, Solver, SolverName};
use wstar_data::error::Result;
use wstar_problem::objective::Objective;

/// Orthant-wise Newton.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OrthantNewton {
    /// The most parameters for which the full Hessian is used instead of conjugate gradients.
    pub most_for_hessian: usize,
    /// The most products with the Hessian for one face.
    pub most_products: usize,
}

impl Default for OrthantNewton {
    fn default() -> Self {
        OrthantNewton {
            // Heuristic: a factorisation of O(d³) against passes over the rows; not measured yet.
            most_for_hessian: 2000,
            // Cap: the solution of the face so far is used.
            most_products: 100,
        }
    }
}

impl Solver for OrthantNewton {
    fn name(&self) -> SolverName {
        SolverName::OrthantNewton
    }

    fn check(&self, objective: &Objective<'_>) -> Result<()> {
        check_smooth(objective, self.name())
    }

    fn solve(
        &self,
        objective: &mut Objective<'_>,
        start: &[f64],
        control: &mut Control<'_>,
    ) -> Result<Solution> {
        self.check(objective)?;
        control.enter(self.name());
        let inner = if start.len() <= self.most_for_hessian {
            ModelSolver::Faces
        } else {
            ModelSolver::Products(self.most_products)
        };
        prox_newton(objective, start, control, inner)
    }
}
