//! A checker of wstar's certificates that shares no code with the engine. It uses only the standard library and one thread,
//! and is meant to be read: each file opens with the lemma that it implements. `docs/certificate-format.md` specifies what it reads.
//!
//! The core, in the order of reading:
//! - `arithmetic`, `elementary`: intervals of doubles with directed rounding, sums in two doubles, exponential and logarithm.
//! - `problem`, `design`, `products`: what is minimised, the rows, and products with them.
//! - `gap`: the theorem and the bound on P − inf P; `defect`: the defect of a row; `bound`: the bound from all defects; `baseline`: the
//!   scale of the relative gap; `linear`, `constraint`: factors of matrices with bounds, and moves onto equality constraints;
//!   `softmax`: several scores a row.
//! - `digits`: intervals for the optimum of smooth losses; `row_slope`: slopes and Hessians of rows; `active_set`: the same where
//!   the objective has kinks.
//! - `json`, `base64`, `sha256`, `csv`, `svmlight`: formats. `decimal`: numbers as text, rounded outwards.
//! - [`model`], `schema`, `regularized`: the model file. [`table`], `training_rows`, [`canonical_rows`]: the rows. `reduction`: the
//!   subproblems.
//! - [`check`]: the claim by its kind; [`verdict`]: statements and objections; `duality_gap`: what the file states about a gap;
//!   [`report`]: the verdict in words and as JSON; [`unreadable`]: why a file cannot be read.
//!
//! The other kinds of claims:
//! - `mistake_bound`, `densities`, `stationarity`.
//! - Exact geometry: `dyadic`, exact numbers; `points`, the points of two classes; `separability`, proof files; `margins`,
//!   largest margins; `least_error`, least errors, with bounds by `circuit_tree` and `enumeration`, rows by `costed_rows`.
//!
//! `mutant` and `recorder` are switches of the tests, which are constant in real builds.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod active_set;
mod arithmetic;
mod base64;
mod baseline;
mod bound;
pub mod canonical_rows;
pub mod check;
mod circuit_tree;
mod constraint;
mod costed_rows;
mod csv;
mod decimal;
mod defect;
mod densities;
mod design;
mod digits;
mod duality_gap;
#[allow(unreachable_pub)]
mod dyadic;
mod elementary;
mod enumeration;
mod gap;
mod json;
mod least_error;
mod linear;
mod margins;
mod mistake_bound;
pub mod model;
mod mutant;
#[allow(unreachable_pub)]
mod points;
mod problem;
mod products;
#[cfg(test)]
mod recorder;
mod reduction;
mod regularized;
pub mod report;
mod row_slope;
mod schema;
mod separability;
mod sha256;
mod softmax;
mod stationarity;
mod svmlight;
pub mod table;
#[cfg(test)]
mod tests;
mod training_rows;
pub mod unreadable;
pub mod verdict;
