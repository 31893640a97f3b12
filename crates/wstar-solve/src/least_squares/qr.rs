//! Least squares by a Householder QR factorisation with iterative refinement (G. H. Golub, Numerical
//! methods for solving linear least squares problems, Numerische Mathematik 7, 1965).
//!
//! Problem: min ½ Σᵢ cᵢ (yᵢ − w·xᵢ − b)² + l2/2 ‖w‖².
//!
//! Method: R is accumulated from blocks of rows (J. Demmel, L. Grigori, M. Hoemmen, J. Langou,
//! Communication-optimal parallel and sequential QR and LU factorizations, SIAM J. Sci. Comput. 34, 2012),
//! so only one block at a time is copied. The solution is computed from R alone by [iterative
//! refinement](super::iterative_refinement). If the columns are linearly dependent, the result is the
//! solution of least norm.

use crate::least_squares::iterative_refinement;
use crate::least_squares::iterative_refinement::RefinedFactor;
use crate::least_squares::{System, check};
use crate::{Control, Solution, Solver, SolverName};
use wstar_data::error::Result;
use wstar_data::run::Status;
use wstar_problem::objective::Objective;

/// Least squares by QR.
#[derive(Debug, Clone, Copy, Default)]
pub struct Qr;

impl Solver for Qr {
    fn name(&self) -> SolverName {
        SolverName::Qr
    }

    fn check(&self, objective: &Objective<'_>) -> Result<()> {
        check(objective, self.name(), true)
    }

    fn solve(
        &self,
        objective: &mut Objective<'_>,
        _start: &[f64],
        control: &mut Control<'_>,
    ) -> Result<Solution> {
        self.check(objective)?;
        let system = System::of(objective)?;
        let (threshold, triangle) = (system.threshold(), system.triangle());
        let solve = |threshold: f64, control: &mut Control<'_>| {
            let factor =
                RefinedFactor::triangular(triangle.clone(), system.scale.clone(), threshold, system.free);
            iterative_refinement::solve(&system, objective, &factor, threshold, control)
        };
        let solution = solve(threshold, control);
        if solution.status != Status::IterationLimit || control.out_of_budget().is_some() {
            return Ok(solution);
        }
        // Refinement that does not converge indicates that some accepted pivots were rounding errors, so the
        // factorisation is repeated with a larger threshold. Heuristic: the factor 1e3 is not measured yet.
        Ok(solve(1e3 * threshold, control))
    }
}
