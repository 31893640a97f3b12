//! The data of a fit: a design matrix, a target, sample weights, and the schema that maps raw columns to the design's
//! columns. The crate reads and writes files, encodes raw columns, and defines what a running fit shares with its caller.
//!
//! From a file to a data set:
//! - [`read`], [`mod@write`]: readers and writers of the file formats.
//! - `raw`, `table`: raw data as the readers return them: named columns, or a matrix without names.
//! - [`prepare`](mod@prepare): raw data to a [`Dataset`]: roles of the columns, missing values, encoding, the target.
//! - `schema`: the encoding of each raw column, which a model stores to predict from raw rows; scaling and text encodings.
//! - `holdout`: seeded, stratified splits into training and test rows.
//! - `validate`: refuses values that are not finite or too large to be squared and summed.
//!
//! Data sets:
//! - `dataset`: [`Dataset`] and [`Target`]. `classes`: [`Classes`], the names of the classes of a target. `dataset_note`: what was
//!   left out of a data set.
//! - `design`: the design matrix, dense, CSR or column-major, in `f32` or `f64`.
//! - `chunked`: [`DatasetChunks`], rows in chunks, in memory or streamed.
//! - `rows_for_schema`: the rows of a data set as the columns of a model: as they are, scaled, or refused.
//! - `digest`: a digest that identifies a data set.
//! - `principal_components`: principal components of the design.
//!
//! Shared with every fit:
//! - [`linear`]: hyperplanes and the layout of parameters in one vector.
//! - [`run`]: budgets, progress events and the status at the end of a fit.
//! - `objection`: what verification finds wrong with a claim.
//! - [`error`], [`setting`]: the error type, and settings by name. `samples`: every message, for tests.

mod chunked;
mod classes;
mod dataset;
mod dataset_note;
mod design;
mod digest;
pub mod error;
mod holdout;
pub mod linear;
mod objection;
pub mod prepare;
mod principal_components;
mod raw;
pub mod read;
mod rows_for_schema;
pub mod run;
mod samples;
mod schema;
pub mod setting;
mod table;
mod validate;
pub mod write;

pub use chunked::DatasetChunks;
pub use classes::{Classes, discriminants};
pub use dataset::{Dataset, Target};
pub use dataset_note::DatasetNote;
pub use design::column_major::ColumnMajor;
pub(crate) use design::exact_in_f32;
pub use design::row::Row;
pub use design::{Csr, Dense, Design};
pub use holdout::{holdout, split_raw};
pub use objection::{Objection, Quantity};
pub use prepare::apply_schema::{Applied, prepare_with};
pub use prepare::encode::Unseen;
pub use prepare::missing_values::Missing;
pub use prepare::{Preparation, TargetKind, prepare};
pub use principal_components::Components;
pub use raw::{Matrix, Raw};
pub use schema::scaling::Scaling;
pub use schema::text_encoding::{Terms, TextEncoding, TextOptions, Weighting};
pub use schema::{ColumnSource, Encoding, RawColumn, Schema};
pub use table::numeric_block::BlockColumn;
pub(crate) use table::numeric_block::NumericBlock;
pub use table::{Cells, Column, Numbers, Table, Texts};
pub use validate::{
    any_too_large, may_contain_too_large, refuse_huge, refuse_huge_features, refuse_huge_targets,
};
