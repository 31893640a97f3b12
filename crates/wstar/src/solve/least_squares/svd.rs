//! Least squares by a singular value decomposition.
//!
//! Problem: min ½ Σᵢ cᵢ (yᵢ − w·xᵢ − b)² + l2/2 ‖w‖², and among its solutions the one of least ‖w‖ (a free
//! intercept not counted). With columns of equal length, AS = UΣVᵀ; singular values below max(n, d)·ε beside
//! the largest count as 0, and what is left says Σ₁V₁ᵀθ̃ = U₁ᵀy (G. Golub, W. Kahan, Calculating the singular
//! values and pseudo-inverse of a matrix, SIAM J. Numer. Anal. 2, 1965). The decomposition is that of the
//! small triangle R of a QR factorisation, and the solution is refined like that of QR.

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::svd::{ComputeSvdVectors, svd, svd_scratch};
use faer::{Mat, MatRef, Par};

use super::householder::Triangle;
use super::refine::{self, Factor, equilibrate};
use super::{System, check};
use crate::error::{Error, Result};
use crate::problem::Problem;
use crate::solve::{Control, Solution, Solver, SolverName};

/// Least squares by singular values.
#[derive(Debug, Clone, Copy, Default)]
pub struct Svd;

impl Solver for Svd {
    fn name(&self) -> SolverName {
        SolverName::Svd
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
        let (threshold, mut scale) = (system.threshold(), system.scale.clone());
        let mut triangle = system.triangle();
        equilibrate(&mut triangle, &mut scale);
        let (values, vectors) = decompose(&triangle, true)?;
        let largest = values.first().copied().unwrap_or(0.0);
        let rank = values.iter().take_while(|&&s| s > threshold * largest).count();
        let squares = values[..rank].iter().map(|s| s * s).collect();
        let factor = Factor::spectral(scale, squares, vectors[..rank].to_vec(), system.free);
        Ok(refine::solve(&system, problem, &factor, threshold, control))
    }
}

/// Singular values, the largest first, and (if asked for) their right vectors.
pub(super) fn decompose(triangle: &Triangle, vectors: bool) -> Result<(Vec<f64>, Vec<Vec<f64>>)> {
    let (rows, columns) = (triangle.rows, triangle.columns);
    let size = rows.min(columns);
    let a = MatRef::from_column_major_slice(&triangle.values, rows, columns);
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
        Error::data("the singular values of this design could not be found").hint("try --solver qr")
    })?;
    let values = s.column_vector().iter().copied().collect();
    let vectors = v.col_iter().map(|v| v.iter().copied().collect()).collect();
    Ok((values, vectors))
}
