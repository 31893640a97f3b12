//! Preparation: from raw data to a data set. It decides which column is the target, which columns are dropped, and how the
//! others are encoded.
//!
//! - `learn_schema`: training rows, from which the schema is learnt.
//! - `apply_schema`: new rows, by the schema of a model.
//! - `column_roles`: which column is the target, the sample weight or a feature.
//! - `target`: the target as classes or real numbers.
//! - `missing_values`: finding and refusing missing values.
//! - `sample_weights`: the column of sample weights.
//! - `encode`: raw columns to rows of a design.

pub(crate) mod apply_schema;
pub(crate) mod column_roles;
pub(crate) mod encode;
mod learn_schema;
pub(crate) mod missing_values;
mod sample_weights;
pub(crate) mod target;

pub use learn_schema::prepare;

use crate::{Missing, TextOptions};

/// The kind of the target: classes or real numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TargetKind {
    /// Classes for categories and for integers with few distinct values; real otherwise.
    #[default]
    Auto,
    /// Always classes.
    Classes,
    /// Always real; categories are refused.
    Real,
}

/// Options of the preparation of raw data.
#[derive(Debug, Clone, Default)]
pub struct Preparation {
    /// The target column; the last column if absent.
    pub target: Option<String>,
    /// The kind of the target.
    pub target_kind: TargetKind,
    /// The value of the target that is classified against all others.
    pub positive: Option<String>,
    /// Columns to leave out.
    pub drop: Vec<String>,
    /// The column of sample weights.
    pub sample_weight: Option<String>,
    /// The treatment of missing values.
    pub missing: Missing,
    /// Whether to standardise columns.
    pub standardize: bool,
    /// The encoding of texts.
    pub text: TextOptions,
}
