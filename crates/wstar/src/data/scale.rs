//! Standardising columns.

use serde::{Deserialize, Serialize};

/// How the design's columns are standardised: `(x − shift) · factor`. Sparse designs are not shifted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// What is subtracted from each column; empty for sparse designs, which must stay sparse.
    pub shifts: Vec<f64>,
    /// What each column is then multiplied by.
    pub factors: Vec<f64>,
}
