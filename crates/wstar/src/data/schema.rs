//! How raw columns become the design's columns: what a model must remember to predict from a raw row.

use serde::{Deserialize, Serialize};

use crate::data::{Scaling, TextEncoding};

/// Where the rows come from, and so how a raw row is matched to the design's columns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Named columns (CSV, TSV, a data frame): matched by name, in any order.
    Table,
    /// Numbered features (svmlight): matched by index.
    Indexed {
        /// The index of the first feature, 0 or 1.
        base: u32,
    },
    /// Pixels of an image (IDX): matched by position.
    Pixels {
        /// Rows of an image.
        height: usize,
        /// Columns of an image.
        width: usize,
    },
}

/// How one raw column is encoded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encoding {
    /// As it is.
    Number {
        /// What stands in for a missing value, if anything may.
        fill: Option<f64>,
    },
    /// One column a level, 1 where the row has it. A column of two levels becomes one column, for
    /// the second: the other one would be its mirror image.
    OneHot {
        /// The levels, sorted.
        levels: Vec<String>,
        /// What stands in for a missing value, if anything may.
        fill: Option<String>,
    },
    /// Words of a text.
    Text(TextEncoding),
}

impl Encoding {
    /// How many columns of the design it makes.
    pub fn width(&self) -> usize {
        match self {
            Encoding::Number { .. } => 1,
            Encoding::OneHot { levels, .. } if levels.len() == 2 => 1,
            Encoding::OneHot { levels, .. } => levels.len(),
            Encoding::Text(text) => text.width(),
        }
    }
}

/// One raw column that the model uses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RawColumn {
    /// Its name in the file.
    pub name: String,
    /// How it is encoded.
    pub encoding: Encoding,
}

/// How raw columns become the design's columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// Where the rows come from.
    pub origin: Origin,
    /// The raw columns used, in the order of the design; empty unless the origin is a table.
    pub columns: Vec<RawColumn>,
    /// The number of design columns.
    pub features: usize,
    /// The name of the target column, where columns have names.
    pub target: Option<String>,
    /// How the design's columns are standardised, if they are.
    pub scaling: Option<Scaling>,
}

impl Schema {
    /// The schema of a bare matrix whose columns are called `x1`, `x2` ….
    pub fn numbered(features: usize) -> Self {
        Schema {
            origin: Origin::Table,
            columns: (1..=features)
                .map(|j| RawColumn {
                    name: format!("x{j}"),
                    encoding: Encoding::Number { fill: None },
                })
                .collect(),
            features,
            target: None,
            scaling: None,
        }
    }

    /// The name of design column `j`, as a person would say it: `balance`, `student=Yes`, `text:free`, `17`.
    pub fn feature_name(&self, j: usize) -> String {
        match self.origin {
            Origin::Indexed { base } => (j + base as usize).to_string(),
            Origin::Pixels { width, .. } => format!("pixel {},{}", j / width.max(1), j % width.max(1)),
            Origin::Table => {
                let mut offset = 0;
                for RawColumn { name, encoding } in &self.columns {
                    let within = j - offset;
                    offset += encoding.width();
                    if j < offset {
                        return match encoding {
                            Encoding::Number { .. } => name.clone(),
                            Encoding::OneHot { levels, .. } if levels.len() == 2 => {
                                format!("{name}={}", levels[1])
                            }
                            Encoding::OneHot { levels, .. } => format!("{name}={}", levels[within]),
                            Encoding::Text(text) => format!("{name}:{}", text.word(within)),
                        };
                    }
                }
                format!("column {j}")
            }
        }
    }
}
