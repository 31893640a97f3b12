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
pub mod io;
pub mod kernel;
pub mod metrics;

pub use error::{Error, ErrorKind, Result};
