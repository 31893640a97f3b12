//! Least squares by a QR factorisation, refined to the last digits.
//!
//! Problem: min ½ Σᵢ cᵢ (yᵢ − w·xᵢ − b)² + l2/2 ‖w‖². R is folded together from blocks of rows (J. Demmel,
//! L. Grigori, M. Hoemmen, J. Langou, Communication-optimal parallel and sequential QR and LU factorizations,
//! SIAM J. Sci. Comput. 34, 2012), so only one block at a time is copied; the solution comes from R alone by
//! [refinement](super::refine). Where columns depend on each other the answer of least norm is given.

use super::refine::{self, Factor};
use super::{System, check};
use crate::error::Result;
use crate::problem::Problem;
use crate::solve::{Control, Solution, Solver, SolverName};
use crate::watch::Status;

/// Least squares by QR.
#[derive(Debug, Clone, Copy, Default)]
pub struct Qr;

impl Solver for Qr {
    fn name(&self) -> SolverName {
        SolverName::Qr
    }

    fn check(&self, problem: &Problem<'_>) -> Result<()> {
        check(problem, self.name(), true)
    }

    fn solve(
        &self,
        problem: &mut Problem<'_>,
        _start: &[f64],
        control: &mut Control<'_>,
    ) -> Result<Solution> {
        self.check(problem)?;
        let system = System::of(problem)?;
        let (threshold, triangle) = (system.threshold(), system.triangle());
        let solve = |threshold: f64, control: &mut Control<'_>| {
            let factor = Factor::triangular(triangle.clone(), system.scale.clone(), threshold, system.free);
            refine::solve(&system, problem, &factor, threshold, control)
        };
        let solution = solve(threshold, control);
        if solution.status != Status::IterationLimit || control.out_of_budget().is_some() {
            return Ok(solution);
        }
        // Steps that lead nowhere come from pivots that were rounding errors after all.
        Ok(solve(1e3 * threshold, control))
    }
}
