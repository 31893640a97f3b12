//! Exact geometry of two point sets: separability, the maximum margin and the least 0–1 error.
//! Every answer comes with a proof that can be checked without the solver, in exact arithmetic wherever a
//! verdict depends on a sign.
//!
//! - [`exact`]: arithmetic over the binary64 inputs without rounding: signs, circuits, ranks, null vectors.
//! - [`least_error`]: the hyperplane of the least weighted 0–1 training error, with a proof of its lower
//!   bound.
//! - [`margin`]: decides separability and finds the maximum-margin hyperplane.
//! - [`proof`]: the proof of a verdict, its file format and its check.

pub mod exact;
pub mod least_error;
pub mod margin;
pub mod proof;
