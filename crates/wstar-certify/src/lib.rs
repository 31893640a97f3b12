//! Certificates of an optimum, a duality gap or a stationary point, recomputed from the rows. This crate depends on no
//! solver: a certificate is computed from the problem, the rows and the bare claim.
//!
//! - [`duality`]: the duality gap P − D of a point of a convex problem, which bounds its distance from the optimum.
//! - [`enclosure`]: intervals for the parameters of the optimum, and for its standard errors.
//! - `sequential`: products and factors of small matrices by one thread.
//! - [`stationarity`]: the relative size of the gradient, for objectives that are not convex.

pub mod duality;
pub mod enclosure;
mod sequential;
pub mod stationarity;
