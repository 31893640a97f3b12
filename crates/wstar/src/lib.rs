//! **wstar finds w\*, and proves it.** One library for the classic linear models. Every fitted model carries a
//! certificate that can be recomputed from the data.
//!
//! ```
//! use wstar::prelude::*;
//! let rows = [[0.0, 1.0], [1.0, 0.5], [2.0, 0.0], [3.0, 2.0]].map(Vec::from);
//! let data = Dataset::labelled(&rows, &["ham", "spam", "ham", "spam"])?;
//! let model = Logistic::l2().c(1.0).fit(&data)?;
//! let labels = model.predict(&data)?;
//! assert_eq!(labels.classes().map(<[u32]>::len), Some(4));
//! assert!(model.verify(&data)?.holds());
//! # Ok::<(), wstar::Error>(())
//! ```
//!
//! # From a file to a model
//!
//! ```text
//! file ──▶ Table ──▶ Dataset ──▶ Problem ──▶ Objective ──▶ Solution ──▶ Certificate ──▶ Model
//! ```
//!
//! - A [`Dataset`](data::Dataset) comes from [`read`](read()), or from the arrays of a program.
//! - A builder of [`settings`] fits it: [`Logistic`](settings::Logistic), [`Softmax`](settings::Softmax),
//!   [`Svm`](settings::Svm), [`LeastSquares`](settings::LeastSquares), [`Lad`](settings::Lad),
//!   [`MseClassifier`](settings::MseClassifier), [`Perceptrons`](settings::Perceptrons),
//!   [`KozinecMargin`](settings::KozinecMargin), [`Densities`](settings::Densities),
//!   [`MaximumMargin`](settings::MaximumMargin), [`MinError`](settings::MinError).
//! - A [`Model`] predicts, evaluates, verifies its certificate, and is stored in a file.
//!
//! # Modules
//!
//! - [`settings`]: the methods and their settings.
//! - [`estimate`]: fits, one file for each family of methods. [`select`]: paths of fits.
//! - [`model`]: models: prediction, evaluation, verification, the model file. [`scoring`]: the scores of rows.
//! - [`certificate`]: what is claimed, and how it is recomputed.
//! - [`inference`], [`metrics`]: standard errors and tests; measures of predictions.
//! - [`online`], [`bayes`]: mistake-driven learners; class-conditional densities.
//! - [`wording`]: everything that the library can say, for the tests of front ends.
//! - `read`: from a file to a data set in one line. [`prelude`]: the names that most programs use.
//! - `separability`: whether hyperplanes separate the classes, with proofs.
//!
//! The crates below are re-exported: [`data`], [`problem`], [`certify`], [`solve`], [`separate`] and [`numeric`].

pub mod bayes;
pub mod certificate;
pub mod estimate;
pub mod inference;
pub mod metrics;
pub mod model;
pub mod online;
pub mod prelude;
mod read;
pub mod scoring;
pub mod select;
mod separability;
pub mod settings;
pub mod wording;

pub use wstar_certify as certify;
pub use wstar_data as data;
pub use wstar_numeric as numeric;
pub use wstar_problem as problem;
pub use wstar_separate as separate;
pub use wstar_solve as solve;

pub use estimate::fit;
pub use model::{Model, evaluate, verify};
pub use read::{FileReader, read};
pub use separability::separability;
pub use wstar_data::error::{Error, ErrorKind, Result};

/// The example of the README, compiled and run as a doc test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
