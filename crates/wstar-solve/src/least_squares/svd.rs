//! Least squares by a singular value decomposition.
//!
//! Problem: min ½ Σᵢ cᵢ (yᵢ − w·xᵢ − b)² + l2/2 ‖w‖², and among its solutions the one of least ‖w‖ (not
//! counting a free intercept).
//!
//! Method: with columns scaled to equal length by S, AS = UΣVᵀ. Singular values below max(n, d)·ε times the
//! largest count as 0, and the others give Σ₁V₁ᵀθ̃ = U₁ᵀy (G. Golub, W. Kahan, Calculating the singular
//! values and pseudo-inverse of a matrix, SIAM J. Numer. Anal. 2, 1965). The decomposition is that of the
//! small triangle R of a QR factorisation, and the solution is refined iteratively as for QR.

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::svd::{ComputeSvdVectors, svd, svd_scratch};
use faer::{Mat, MatRef, Par};
use wstar_data::setting::Setting;

use crate::least_squares::iterative_refinement;
use crate::least_squares::iterative_refinement::{RefinedFactor, equilibrate};
use crate::least_squares::{System, check};
use crate::{Control, Solution, Solver, SolverName};
use wstar_data::error::{Error, Result};
use wstar_numeric::linalg::householder::Triangle;
use wstar_problem::objective::Objective;

/// Least squares by singular values.
#[derive(Debug, Clone, Copy, Default)]
pub struct Svd;

impl Solver for Svd {
    fn name(&self) -> SolverName {
        SolverName::Svd
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
        let (threshold, mut scale) = (system.threshold(), system.scale.clone());
        let mut triangle = system.triangle();
        equilibrate(&mut triangle, &mut scale);
        let (values, vectors) = decompose(&triangle, true)?;
        let largest = values.first().copied().unwrap_or(0.0);
        let rank = values.iter().take_while(|&&s| s > threshold * largest).count();
        let squares = values[..rank].iter().map(|s| s * s).collect();
        let factor = RefinedFactor::spectral(scale, squares, vectors[..rank].to_vec(), system.free);
        Ok(iterative_refinement::solve(
            &system, objective, &factor, threshold, control,
        ))
    }
}

/// The singular values in descending order and, if `vectors` is set, the right singular vectors.
pub(super) fn decompose(triangle: &Triangle, vectors: bool) -> Result<(Vec<f64>, Vec<Vec<f64>>)> {
    let (rows, columns) = (triangle.rows(), triangle.columns());
    let size = rows.min(columns);
    let a = MatRef::from_column_major_slice(triangle.values(), rows, columns);
    let mut s = Diag::<f64>::zeros(size);
    let mut v = Mat::<f64>::zeros(columns, if vectors { size } else { 0 });
    let wanted = if vectors {
        ComputeSvdVectors::Thin
    } else {
        ComputeSvdVectors::No
    };
    let scratch = svd_scratch::<f64>(
        rows,
        columns,
        ComputeSvdVectors::No,
        wanted,
        Par::Seq,
        Default::default(),
    );
    svd(
        a,
        s.as_mut(),
        None,
        vectors.then_some(v.as_mut()),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    )
    .map_err(|_| {
        Error::data("the singular values of this design could not be found").remedy(Setting::Solver.to("qr"))
    })?;
    let values = s.column_vector().iter().copied().collect();
    let vectors = v.col_iter().map(|v| v.iter().copied().collect()).collect();
    Ok((values, vectors))
}
