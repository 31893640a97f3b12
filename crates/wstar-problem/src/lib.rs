//! What is minimised: the losses, the penalties, a [`Problem`] and its sums over rows.
//!
//! A [`Problem`] is pure data: loss, penalty, intercept and layout of the parameters. An
//! [`Objective`](objective::Objective) is a problem over rows that are in memory, partitioned or streamed.
//!
//! - [`loss`]: the losses, one file each: value, slope, curvature and conjugate of a scalar score.
//! - [`penalty`]: none, ℓ2, ℓ1 and the elastic net as one type.
//! - [`problem`]: the [`Problem`], shared by fits and certificates.
//! - [`multiclass`]: from a target, C and class weights to binary or softmax subproblems.
//! - [`objective`]: a problem over rows, and the sums over rows that solvers ask for.
//! - [`baseline`]: the objective of the best constant model, which gives relative gaps their scale.
//! - [`tolerance`]: when a gap is small enough.
//! - [`looseness`]: the expected ratio of the certified gap to the suboptimality.
//! - `rows`: labelled and weighted rows, in one block or in several.
//! - `subsample`: random samples of the rows.

pub mod baseline;
pub mod looseness;
pub mod loss;
pub mod multiclass;
pub mod objective;
pub mod penalty;
pub mod problem;
pub(crate) mod rows;
pub mod subsample;
pub mod tolerance;

pub use problem::{Intercept, Problem};
