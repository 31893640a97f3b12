//! Coordinate descent: P(w, b) = l1·‖w‖₁ + l2·½‖w‖² + Σ cᵢ ℓ(yᵢ, zᵢ), ℓ smooth, one weight at a time.
//!
//! Each outer step is one of prox-Newton (Lee, Sun and Saunders 2014): the loss is replaced by its quadratic
//! model, which coordinate descent minimises with the penalty as it is (Friedman, Hastie and Tibshirani
//! 2010; Yuan, Ho and Lin 2012), and a line search makes sure of the descent. Least squares is its own
//! model. A step along one weight is measured by that weight's own curvature, so the scale of a column does
//! not matter. Where the parameters are few the model is the whole Hessian; else it is made of
//! the columns of a working set.

mod column_model;
mod columns;
mod kept_columns;
mod pulls;
mod scores;
mod set_gram;
mod shared;
mod working_set;

pub use shared::SharedColumns;

use crate::error::{Error, Result};
use crate::loss::LossName;
use crate::oracle::Rows;
use crate::problem::Problem;
use crate::solve::orthant::{Inner, narrow_newton, prox_newton};
use crate::solve::{Control, Solution, Solver, SolverName};

/// Coordinate descent with working sets.
#[derive(Debug, Clone)]
pub struct CoordinateDescent {
    /// The most parameters for which the whole Hessian is used.
    pub most_for_gram: usize,
    /// The largest working set whose Gram matrix is made; beyond, the model is swept by its columns.
    pub largest_set_gram: usize,
    /// The columns, where fits to the same rows share them.
    pub shared: Option<SharedColumns>,
}

impl Default for CoordinateDescent {
    fn default() -> Self {
        CoordinateDescent {
            most_for_gram: 1500,
            largest_set_gram: 800,
            shared: None,
        }
    }
}

/// A Gram matrix is worth this many passes over the rows.
const GRAM_PASSES: usize = 400;

impl CoordinateDescent {
    /// Whether the whole Hessian is small and cheap.
    fn uses_gram(&self, problem: &Problem<'_>) -> bool {
        let layout = problem.layout();
        if layout.len() > self.most_for_gram {
            return false;
        }
        let Some(rows) = &problem.rows else {
            return true;
        };
        // Multiplications for one entry of the design.
        let each = if rows.design.is_sparse() {
            rows.design.stored() / rows.len().max(1)
        } else {
            rows.design.features()
        };
        layout.outputs > 1 || each <= GRAM_PASSES
    }

    /// Working sets; before them, on sparse rows and for ℓ1, Newton steps that mostly arrive and never need the columns of
    /// all rows. Least squares have their own products, which they keep from fit to fit.
    fn solve_columns(
        &self,
        problem: &mut Problem<'_>,
        rows: &Rows<'_>,
        start: &[f64],
        control: &mut Control<'_>,
    ) -> Result<Solution> {
        if !rows.design.is_sparse() || problem.loss == LossName::Squared || problem.penalty.l1 == 0.0 {
            return working_set::solve(problem, rows, start, control, self);
        }
        let (parameters, status) = narrow_newton(problem, rows, start, control)?;
        match status {
            Some(status) => Ok(Solution {
                parameters,
                dual: None,
                gram: None,
                status,
                iterations: control.iterations(),
            }),
            None => working_set::solve(problem, rows, &parameters, control, self),
        }
    }
}

impl Solver for CoordinateDescent {
    fn name(&self) -> SolverName {
        SolverName::CoordinateDescent
    }

    fn check(&self, problem: &Problem<'_>) -> Result<()> {
        check_smooth(problem, self.name())?;
        if self.uses_gram(problem) {
            return Ok(());
        }
        if problem.loss == LossName::Softmax {
            return Err(Error::settings(format!(
                "coordinate-descent on softmax takes {} parameters at most, not {}",
                self.most_for_gram,
                problem.layout().len()
            ))
            .hint("use --solver orthant-newton"));
        }
        match &problem.rows {
            None => Err(Error::settings(format!(
                "coordinate-descent on {} parameters goes column by column and needs all rows in memory",
                problem.layout().len()
            ))
            .hint("use --solver orthant-newton")),
            Some(rows) if u32::try_from(rows.len()).is_err() => Err(Error::settings(format!(
                "coordinate-descent goes column by column and takes {} rows at most, not {}",
                u32::MAX,
                rows.len()
            ))
            .hint("use --solver orthant-newton")),
            Some(_) => Ok(()),
        }
    }

    fn solve(&self, problem: &mut Problem<'_>, start: &[f64], control: &mut Control<'_>) -> Result<Solution> {
        self.check(problem)?;
        control.enter(self.name());
        if self.uses_gram(problem) {
            return prox_newton(problem, start, control, Inner::Sweeps);
        }
        // Taken out for the time being, for the oracle is asked while the rows are looked at.
        let rows = problem.rows.take();
        let solution = match &rows {
            Some(rows) => self.solve_columns(problem, rows, start, control),
            None => Err(Error::settings("coordinate-descent needs all rows in memory")),
        };
        problem.rows = rows;
        solution
    }
}

/// Refuses losses that are not smooth and convex, and problems without a penalty.
pub(super) fn check_smooth(problem: &Problem<'_>, solver: SolverName) -> Result<()> {
    if !problem.loss.is_smooth() || !problem.loss.is_convex() {
        return Err(Error::settings(format!(
            "{} does not fit the {} loss: it must be smooth and convex",
            solver.name(),
            problem.loss.name()
        ))
        .hint("use --loss squared, logistic, squared-hinge or softmax"));
    }
    if problem.penalty.is_none() {
        return Err(
            Error::settings(format!("{} is for problems with a penalty", solver.name()))
                .hint("use --penalty l1, elastic-net or l2; or without a penalty --solver newton"),
        );
    }
    Ok(())
}
