//! **wstar finds w\*, and proves it.** One engine for every classic linear model, in which every
//! answer carries a certificate that anyone can re-check from the data.
//!
//! ```text
//! file ──io──▶ Dataset ──┬─▶ online learners (mistake-driven) ─▶ Model + Certificate
//!                        └─▶ Bayes rules from densities ───────▶  │
//!                                                                 └─▶ predict · evaluate · verify
//! ```

pub mod bayes;
pub mod certify;
pub mod data;
pub mod error;
pub mod exact;
pub mod fit;
pub mod inference;
pub mod io;
pub mod kernel;
pub mod loss;
pub mod margin;
pub mod metrics;
pub mod model;
pub mod online;
pub mod oracle;
pub mod penalty;
pub mod problem;
pub mod reduction;
pub mod risk;
pub mod schedule;
pub mod settings;
pub mod solve;
pub mod watch;

pub use error::{Error, ErrorKind, Result};
pub use fit::fit;
pub use model::{Model, evaluate, verify};

/// The README's example, so that it is compiled and run with the others.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
