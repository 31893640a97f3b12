//! Products and factors of small matrices by one thread: the bits of parallel operations depend on how they were split, and a
//! certificate is the same for any number of threads.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Accum, Mat, MatRef, Par};

/// AB.
pub(crate) fn product(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let mut product = Mat::zeros(a.nrows(), b.ncols());
    matmul(product.as_mut(), Accum::Replace, a, b, 1.0, Par::Seq);
    product
}

/// The inverse R = L⁻¹ of Cholesky's factor H = LLᵀ, a lower triangle; `None` if H is not positive definite in doubles.
pub(crate) fn inverse_factor(h: &Mat<f64>) -> Option<Mat<f64>> {
    let order = h.nrows();
    let mut factor = h.clone();
    let scratch = cholesky_in_place_scratch::<f64>(order, Par::Seq, Default::default());
    cholesky_in_place(
        factor.as_mut(),
        Default::default(),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    )
    .ok()?;
    let mut r = Mat::<f64>::identity(order, order);
    solve_lower_triangular_in_place(factor.as_ref(), r.as_mut(), Par::Seq);
    let is_finite = r.col_iter().all(|column| column.iter().all(|x| x.is_finite()));
    is_finite.then_some(r)
}
