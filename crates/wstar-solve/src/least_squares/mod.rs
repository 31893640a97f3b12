//! Least squares by direct methods: the closed form for one feature, normal equations, QR and singular
//! values.
//!
//! Problem: all four minimise ½ Σᵢ cᵢ (yᵢ − w·xᵢ − b)² + l2/2 ‖w‖² with a free, penalised or absent
//! intercept. If the solution is not unique, they return the one of least ‖w‖, measured on the scale of the
//! data and without a free intercept. [`Qr`] is the most accurate. Each file cites its method.
//!
//! - `closed_form`, `normal_equations`, `qr`, `svd`: the four solvers
//! - `weighted_system`: the rows as a linear system, with its triangle R, gradient and Gram matrix
//! - `iterative_refinement`: refinement of a solution in double-double arithmetic
//! - `minimum_norm`: the minimum-norm solution of an underdetermined system
//! - `diagnostics`: rank, condition number and residual statistics

mod closed_form;
mod diagnostics;
mod iterative_refinement;
mod minimum_norm;
mod normal_equations;
mod qr;
mod svd;
mod weighted_system;

pub use closed_form::ClosedForm;
pub use diagnostics::LeastSquaresReport;
pub use normal_equations::NormalEquations;
pub use qr::Qr;
pub use svd::Svd;

pub use diagnostics::Diagnostics;
pub(crate) use weighted_system::System;

use crate::SolverName;
use wstar_data::error::{Error, Result};
use wstar_data::setting::Setting;
use wstar_problem::loss::LossName;
use wstar_problem::objective::Objective;

/// Largest number of entries of a dense factor. Cap: beyond it (512 MB) the problem is refused.
const MAX_ENTRIES: usize = 1 << 26;

/// Refuses a problem that is not least squares with no penalty or an ℓ2 penalty, or that is too large.
fn check(objective: &Objective<'_>, solver: SolverName, needs_rows: bool) -> Result<()> {
    let name = solver.name();
    if objective.problem.loss() != LossName::Squared {
        return Err(Error::conflict(
            Setting::Solver.to(name),
            Setting::Loss.to(objective.problem.loss().name()),
        )
        .because("because it is for the squared loss")
        .remedy(Setting::Solver.any(["newton", "lbfgs"])));
    }
    if !objective.problem.penalty().is_smooth() {
        return Err(Error::misuse(Setting::Solver.to(name), "takes no l1 penalty")
            .remedy(Setting::Solver.to("coordinate-descent")));
    }
    let layout = objective.problem.layout();
    if layout.outputs != 1 {
        return Err(Error::misuse(
            Setting::Solver.to(name),
            "fits one output at a time",
        ));
    }
    if needs_rows && objective.rows.is_none() {
        return Err(
            Error::misuse(Setting::Solver.to(name), "needs the rows in memory")
                .remedy(Setting::Solver.to("normal-equations")),
        );
    }
    let width = layout.len();
    let rows = objective.rows.as_ref().map_or(width, |rows| rows.len());
    let kept = if needs_rows && objective.problem.penalty().is_none() {
        rows.min(width)
    } else {
        width
    };
    if solver != SolverName::ClosedForm && kept.saturating_mul(width) > MAX_ENTRIES {
        return Err(Error::misuse(
            Setting::Solver.to(name),
            format!("would need a dense factor of {kept} × {width}"),
        )
        .remedy(Setting::Solver.any(["newton-cg", "lbfgs"])));
    }
    Ok(())
}
