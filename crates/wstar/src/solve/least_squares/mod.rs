//! Least squares by direct methods: one-feature closed form, normal equations, QR and singular values.
//!
//! All four minimise ½ Σᵢ cᵢ (yᵢ − w·xᵢ − b)² + l2/2 ‖w‖² with the intercept free, penalised or absent, and give
//! the solution of least ‖w‖ (a free intercept not counted, on the scale of the data) where there are many.
//! [`Qr`] is the one that gets the digits.

mod closed_form;
mod extended;
mod householder;
mod minimum_norm;
mod normal_equations;
mod qr;
mod refine;
mod report;
mod svd;
mod system;

pub use closed_form::ClosedForm;
pub use normal_equations::NormalEquations;
pub use qr::Qr;
pub use report::LeastSquaresReport;
pub use svd::Svd;

pub(crate) use extended::Extended;
pub(crate) use householder::Triangle;
pub(crate) use report::Solved;
pub(crate) use system::System;

use crate::error::{Error, Result};
use crate::loss::LossName;
use crate::problem::Problem;
use crate::solve::SolverName;

/// Factors are dense: they may hold this many numbers (512 MB).
const MOST_CELLS: usize = 1 << 26;

/// The power of two that brings a number near 1; 1 for 0.
pub(crate) fn power_of_two(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 1.0;
    }
    let exponent = (value.log2().round() as i64).clamp(-1000, 1000);
    f64::from_bits(((1023 - exponent) as u64) << 52)
}

/// Refuses what is not least squares with no or an ℓ2 penalty, or what is too large.
fn check(problem: &Problem<'_>, solver: SolverName, needs_rows: bool) -> Result<()> {
    let name = solver.name();
    if problem.loss != LossName::Squared {
        return Err(Error::settings(format!(
            "--solver {name} is for the squared loss, not for {}",
            problem.loss.name()
        ))
        .hint("use --solver newton or lbfgs"));
    }
    if !problem.penalty.is_smooth() {
        return Err(Error::settings(format!("--solver {name} takes no l1 penalty"))
            .hint("use --solver coordinate-descent"));
    }
    let layout = problem.layout();
    if layout.outputs != 1 {
        return Err(Error::settings(format!(
            "--solver {name} fits one output at a time"
        )));
    }
    if needs_rows && problem.rows.is_none() {
        return Err(
            Error::settings(format!("--solver {name} needs the rows in memory"))
                .hint("use --solver normal-equations"),
        );
    }
    let width = layout.len();
    let rows = problem.rows.as_ref().map_or(width, |rows| rows.len());
    let kept = if needs_rows && problem.penalty.is_none() {
        rows.min(width)
    } else {
        width
    };
    if solver != SolverName::ClosedForm && kept.saturating_mul(width) > MOST_CELLS {
        return Err(Error::settings(format!(
            "--solver {name} would need a dense factor of {kept} × {width}"
        ))
        .hint("use --solver newton-cg or lbfgs"));
    }
    Ok(())
}
