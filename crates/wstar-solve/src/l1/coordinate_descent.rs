//! Coordinate descent for ℓ1 penalties and the elastic net.
//!
//! Problem: min l1·‖w‖₁ + l2·½‖w‖² + Σ cᵢ ℓ(yᵢ, zᵢ), ℓ smooth and convex.
//!
//! Method: each outer step is a prox-Newton step (J. D. Lee, Y. Sun and M. A. Saunders, Proximal
//! Newton-type methods for minimizing composite functions, SIAM J. Optimization 24, 2014). The loss is
//! replaced by its quadratic model, which coordinate descent minimises together with the penalty (J.
//! Friedman, T. Hastie and R. Tibshirani, Regularization paths for generalized linear models via
//! coordinate descent, J. Statistical Software 33, 2010; G.-X. Yuan, C.-H. Ho and C.-J. Lin, An improved
//! GLMNET for L1-regularized logistic regression, J. Machine Learning Research 13, 2012), and a line
//! search ensures descent. For least squares the model equals the loss. A step along one weight is scaled
//! by that weight's own curvature, so the scale of a column does not matter.
//!
//! With few parameters the model uses the full Hessian. Otherwise it is built from the columns of a
//! working set.

pub use crate::l1::shared_columns::SharedColumns;

use crate::l1::orthant_newton::{ModelSolver, reduced_newton};
use crate::l1::prox_newton::prox_newton;
use crate::l1::working_set;
use crate::{Control, Solution, Solver, SolverName};
use wstar_data::error::Result;
use wstar_data::setting::Setting;
use wstar_problem::loss::LossName;
use wstar_problem::objective::Objective;
use wstar_problem::objective::Rows;

/// Coordinate descent with working sets.
#[derive(Debug, Clone)]
pub struct CoordinateDescent {
    /// The most parameters for which the full Hessian is used.
    pub most_for_gram: usize,
    /// The largest working set whose Gram matrix is formed; beyond it, sweeps go over the columns themselves.
    pub largest_set_gram: usize,
    /// The columns, where fits to the same rows share them.
    pub shared: Option<SharedColumns>,
}

impl Default for CoordinateDescent {
    fn default() -> Self {
        CoordinateDescent {
            // Heuristic: O(d²) memory and O(d³) time against passes over the columns; not measured yet.
            most_for_gram: 1500,
            // Heuristic: as above, for a working set; not measured yet.
            largest_set_gram: 800,
            shared: None,
        }
    }
}

/// The multiplications per stored entry up to which the full Gram matrix is formed. Heuristic: one Gram
/// matrix against this many passes over the rows; not measured yet.
const GRAM_PASSES: usize = 400;

impl CoordinateDescent {
    /// Whether the full Hessian is small and cheap to form.
    fn uses_gram(&self, objective: &Objective<'_>) -> bool {
        let layout = objective.problem.layout();
        if layout.len() > self.most_for_gram {
            return false;
        }
        let Some(rows) = &objective.rows else {
            return true;
        };
        // Multiplications per stored entry of the design.
        let work_per_entry = if rows.design.is_sparse() {
            rows.design.stored() / rows.len().max(1)
        } else {
            rows.design.features()
        };
        layout.outputs > 1 || work_per_entry <= GRAM_PASSES
    }

    /// Solves on working sets. On sparse rows with an ℓ1 penalty, orthant-wise Newton steps on a few columns
    /// run first: they usually converge, and then the columns of all rows are never copied. Least squares
    /// skips them, because its products of columns are kept from fit to fit.
    fn solve_columns(
        &self,
        objective: &mut Objective<'_>,
        rows: &Rows<'_>,
        start: &[f64],
        control: &mut Control<'_>,
    ) -> Result<Solution> {
        let shared = self.shared.clone().unwrap_or_default();
        let most = self.largest_set_gram;
        if !rows.design.is_sparse()
            || objective.problem.loss() == LossName::Squared
            || objective.problem.penalty().l1 == 0.0
        {
            return working_set::solve(objective, rows, start, control, &shared, most);
        }
        control.enter(SolverName::OrthantNewton);
        let (parameters, status) = reduced_newton(objective, rows, start, control)?;
        match status {
            Some(status) => Ok(Solution {
                parameters,
                dual: None,
                gram: None,
                status,
                iterations: control.iterations(),
            }),
            None => {
                control.enter(self.name());
                working_set::solve(objective, rows, &parameters, control, &shared, most)
            }
        }
    }
}

impl Solver for CoordinateDescent {
    fn name(&self) -> SolverName {
        SolverName::CoordinateDescent
    }

    fn check(&self, objective: &Objective<'_>) -> Result<()> {
        check_smooth(objective, self.name())?;
        if self.uses_gram(objective) {
            return Ok(());
        }
        if objective.problem.loss() == LossName::Softmax {
            return Err(self
                .name()
                .refuses(format!(
                    "on softmax takes {} parameters at most, not {}",
                    self.most_for_gram,
                    objective.problem.layout().len()
                ))
                .remedy(SolverName::any([SolverName::OrthantNewton])));
        }
        match &objective.rows {
            None => Err(self
                .name()
                .refuses(format!(
                    "on {} parameters goes column by column and needs all rows in memory",
                    objective.problem.layout().len()
                ))
                .remedy(SolverName::any([SolverName::OrthantNewton]))),
            Some(rows) if u32::try_from(rows.len()).is_err() => Err(self
                .name()
                .refuses(format!(
                    "goes column by column and takes {} rows at most, not {}",
                    u32::MAX,
                    rows.len()
                ))
                .remedy(SolverName::any([SolverName::OrthantNewton]))),
            Some(_) => Ok(()),
        }
    }

    fn solve(
        &self,
        objective: &mut Objective<'_>,
        start: &[f64],
        control: &mut Control<'_>,
    ) -> Result<Solution> {
        self.check(objective)?;
        control.enter(self.name());
        if self.uses_gram(objective) {
            return prox_newton(objective, start, control, ModelSolver::Sweeps);
        }
        // The rows are taken out of the objective, because its sums are borrowed mutably while the rows are
        // read.
        let rows = objective.rows.take();
        let solution = match &rows {
            Some(rows) => self.solve_columns(objective, rows, start, control),
            None => Err(self.name().refuses("needs all rows in memory")),
        };
        objective.rows = rows;
        solution
    }
}

/// Returns an error for a loss that is not smooth and convex, and for a problem without a penalty.
pub(super) fn check_smooth(objective: &Objective<'_>, solver: SolverName) -> Result<()> {
    if !objective.problem.loss().is_smooth() || !objective.problem.loss().is_convex() {
        return Err(solver
            .refuses(format!(
                "does not fit the {} loss: it must be smooth and convex",
                objective.problem.loss().name()
            ))
            .remedy(Setting::Loss.any(["squared", "logistic", "squared-hinge", "softmax"])));
    }
    if objective.problem.penalty().is_none() {
        return Err(solver.refuses("is for problems with a penalty").remedy([
            Setting::Penalty.any(["l1", "elastic-net", "l2"]),
            SolverName::any([SolverName::Newton]),
        ]));
    }
    Ok(())
}
