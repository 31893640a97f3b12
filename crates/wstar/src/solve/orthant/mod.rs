//! Orthant-wise Newton: P(θ) = R(θ) + L(θ) with an ℓ1 penalty and a smooth loss, through the oracle alone.
//!
//! Within an orthant ‖w‖₁ is linear, so the objective is as smooth as the loss (Andrew and Gao 2007; Byrd,
//! Chin, Nocedal and Oztoprak 2016). Proximal gradient steps on the model of the loss choose the
//! orthant; a Newton step on its weights that are not 0, by conjugate gradients or with the whole Hessian
//! where it is small, is kept within it: weights that would cross 0 stop there. A few such rounds minimise
//! the model of a prox-Newton step, which is damped where it promised too much.

mod bent_line;
mod conjugate;
mod curved;
mod factor;
mod growing;
mod hessian;
mod model;
mod narrow;
mod prox_newton;

pub(crate) use bent_line::least_along;
pub(crate) use conjugate::conjugate_gradients;
pub(crate) use curved::{Curved, Effort, Stepped, add_product};
pub(crate) use factor::Factor;
pub(crate) use growing::Growing;
pub(crate) use hessian::Gram;
pub(crate) use model::Model;
pub(crate) use narrow::narrow_newton;
pub(crate) use prox_newton::{Inner, MOST_FAILED, prox_newton};

use crate::error::Result;
use crate::problem::Problem;
use crate::solve::coordinate_descent::check_smooth;
use crate::solve::{Control, Solution, Solver, SolverName};

/// Orthant-wise Newton.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OrthantNewton {
    /// The most parameters for which the whole Hessian is used instead of conjugate gradients.
    pub most_for_hessian: usize,
    /// Products with the Hessian at most for one face.
    pub most_products: usize,
}

impl Default for OrthantNewton {
    fn default() -> Self {
        OrthantNewton {
            most_for_hessian: 2000,
            most_products: 100,
        }
    }
}

impl Solver for OrthantNewton {
    fn name(&self) -> SolverName {
        SolverName::OrthantNewton
    }

    fn check(&self, problem: &Problem<'_>) -> Result<()> {
        check_smooth(problem, self.name())
    }

    fn solve(&self, problem: &mut Problem<'_>, start: &[f64], control: &mut Control<'_>) -> Result<Solution> {
        self.check(problem)?;
        control.enter(self.name());
        let inner = if start.len() <= self.most_for_hessian {
            Inner::Faces
        } else {
            Inner::Products(self.most_products)
        };
        prox_newton(problem, start, control, inner)
    }
}
