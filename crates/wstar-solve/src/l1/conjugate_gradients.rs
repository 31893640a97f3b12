//! Conjugate gradients with a diagonal preconditioner (M. R. Hestenes and E. Stiefel, Methods of
//! conjugate gradients for solving linear systems, J. Research of the National Bureau of Standards 49,
//! 1952).
//!
//! Problem: the Newton system of a face, H d = r with H positive semidefinite.

use wstar_data::error::Result;
use wstar_numeric::dense::{axpy, dot};

/// The curvature, relative to that of the diagonal alone, below which a direction counts as flat. Derived: a
/// few machine epsilons.
pub(crate) const FLAT: f64 = 1e-15;

/// Solves H d = r until the preconditioned residual is at most `tol` times the first one or no entry of the
/// residual exceeds `abs_tol`, with at most `most` products. If a direction without curvature is found along
/// which the quadratic decreases, that direction is returned instead.
pub(crate) fn conjugate_gradients(
    mut product: impl FnMut(&[f64]) -> Result<Vec<f64>>,
    diagonal: &[f64],
    r: &[f64],
    tol: f64,
    abs_tol: f64,
    most: usize,
) -> Result<Vec<f64>> {
    let precondition = |r: &[f64]| -> Vec<f64> {
        let pairs = r.iter().zip(diagonal);
        pairs.map(|(r, &h)| if h > 0.0 { r / h } else { 0.0 }).collect()
    };
    let mut along = vec![0.0; r.len()];
    let mut residual = r.to_vec();
    let mut p = precondition(&residual);
    let mut size = dot(&residual, &p);
    let first = size;
    for _ in 0..most {
        if size <= tol * tol * first || residual.iter().all(|r| r.abs() <= abs_tol) {
            break;
        }
        let hp = product(&p)?;
        let curvature = dot(&p, &hp);
        let promised: f64 = p.iter().zip(diagonal).map(|(p, h)| h * p * p).sum();
        if curvature <= FLAT * promised {
            // An unbounded direction counts only if its decrease is more than rounding. Heuristic: a relative
            // residual of 1e-10; not measured yet.
            if size > 1e-20 * first {
                return Ok(p);
            }
            break;
        }
        let step = size / curvature;
        axpy(step, &p, &mut along);
        axpy(-step, &hp, &mut residual);
        let z = precondition(&residual);
        let next = dot(&residual, &z);
        let beta = next / size;
        size = next;
        p.iter_mut().zip(&z).for_each(|(p, z)| *p = z + beta * *p);
    }
    Ok(along)
}
