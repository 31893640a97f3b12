//! Conjugate gradients (Hestenes and Stiefel 1952) with a diagonal preconditioner, for the Newton systems
//! of a face: H d = r, H positive semidefinite.

use crate::error::Result;
use crate::kernel::dense::{axpy, dot};

/// Curvature below this share of what the diagonal promises is none.
pub(crate) const FLAT: f64 = 1e-15;

/// Solves H d = r until the preconditioned residual has fallen to the share `tol`, or no entry of the residual is more than
/// `enough`, in `most` products at most. A direction
/// without curvature along which the quadratic falls is given instead, where there is one.
pub(crate) fn conjugate_gradients(
    mut product: impl FnMut(&[f64]) -> Result<Vec<f64>>,
    diagonal: &[f64],
    r: &[f64],
    tol: f64,
    enough: f64,
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
        if size <= tol * tol * first || residual.iter().all(|r| r.abs() <= enough) {
            break;
        }
        let hp = product(&p)?;
        let curvature = dot(&p, &hp);
        let promised: f64 = p.iter().zip(diagonal).map(|(p, h)| h * p * p).sum();
        if curvature <= FLAT * promised {
            // A direction that falls without end only counts where the fall is more than rounding.
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
        let share = next / size;
        size = next;
        p.iter_mut().zip(&z).for_each(|(p, z)| *p = z + share * *p);
    }
    Ok(along)
}
