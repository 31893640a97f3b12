//! From raw data to a data set: which column is the target, which are dropped, how the rest is encoded.

use crate::data::{Design, Origin, Table, TextOptions};

/// Raw data, as the readers give them.
#[derive(Debug, Clone)]
pub enum Raw {
    /// Named columns.
    Table(Table),
    /// A matrix whose columns have no names.
    Matrix(Matrix),
}

/// A matrix read from a format without column names (svmlight, IDX), with its labels.
#[derive(Debug, Clone)]
pub struct Matrix {
    /// What it was read from, for messages.
    pub source: String,
    /// The rows.
    pub design: Design,
    /// The label of each row, if the file has them.
    pub labels: Option<Vec<f64>>,
    /// Which format it came from.
    pub origin: Origin,
}

/// What is to be done about missing values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missing {
    /// Refuse, naming the first one.
    #[default]
    Refuse,
    /// Put the column's mean (a category: its most frequent level).
    Mean,
    /// Leave the row out.
    Drop,
}

/// What is to be done about a category that training never saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unseen {
    /// Refuse, naming it.
    #[default]
    Refuse,
    /// Encode it as none of the known levels.
    Ignore,
}

/// Whether the target is one of classes or a real number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TargetKind {
    /// Classes if it is a category, or whole numbers with few different values; else real.
    #[default]
    Auto,
    /// Always classes.
    Classes,
    /// Always real; a category is refused.
    Real,
}

/// What to make of raw data.
#[derive(Debug, Clone, Default)]
pub struct Preparation {
    /// The target column; the last one if not named.
    pub target: Option<String>,
    /// Classes or real.
    pub target_kind: TargetKind,
    /// This value of the target against all others.
    pub positive: Option<String>,
    /// Columns to leave out.
    pub drop: Vec<String>,
    /// The column that holds sample weights.
    pub sample_weight: Option<String>,
    /// What to do about missing values.
    pub missing: Missing,
    /// Whether to standardise columns.
    pub standardize: bool,
    /// How texts are encoded.
    pub text: TextOptions,
}
