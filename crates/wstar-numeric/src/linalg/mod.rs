//! Small dense factorisations and their matrices.
//!
//! - [`householder`]: R of a QR factorisation by Householder reflections, with and without column pivoting.
//! - [`updating_qr`]: a QR factorisation to which columns are added and from which they are removed.
//! - [`double_double_cholesky`]: Cholesky's factorisation in double-double arithmetic.
//! - [`growing_matrix`]: a square matrix that grows in place.
//! - [`power_of_two`]: exact scaling.

pub mod double_double_cholesky;
pub mod growing_matrix;
pub mod householder;
pub mod power_of_two;
pub mod updating_qr;
