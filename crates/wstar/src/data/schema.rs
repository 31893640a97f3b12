//! How raw columns become the design's columns: what a model must remember to predict from a raw row.

use serde::{Deserialize, Serialize};

use crate::data::{Scaling, TextEncoding};
use crate::error::{Error, Result};

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

    /// The name of its design column `within`, for a raw column called `name`.
    fn part_name(&self, name: &str, within: usize) -> String {
        match self {
            Encoding::Number { .. } => name.to_owned(),
            Encoding::OneHot { levels, .. } => {
                let level = if levels.len() == 2 { 1 } else { within };
                format!("{name}={}", levels.get(level).map_or("", String::as_str))
            }
            Encoding::Text(text) => format!("{name}:{}", text.word(within)),
        }
    }

    /// Whether it has something to put where a value is missing.
    pub(super) fn fills(&self) -> bool {
        match self {
            Encoding::Number { fill } => fill.is_some(),
            Encoding::OneHot { fill, .. } => fill.is_some(),
            Encoding::Text(_) => true,
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
    /// The value of the target that stands against all others, if one does.
    pub positive: Option<String>,
    /// The name of the column of sample weights, if there is one.
    pub sample_weight: Option<String>,
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
            positive: None,
            sample_weight: None,
            scaling: None,
        }
    }

    /// The name of design column `j`, as a person would say it: `balance`, `student=Yes`, `text:free`,
    /// `17`. For all of them, [`Schema::feature_names`] is faster.
    pub fn feature_name(&self, j: usize) -> String {
        let mut within = j;
        match self.origin {
            Origin::Table => {
                for RawColumn { name, encoding } in &self.columns {
                    if within < encoding.width() {
                        return encoding.part_name(name, within);
                    }
                    within -= encoding.width();
                }
                format!("column {j}")
            }
            _ => self.numbered_name(j),
        }
    }

    /// The names of all design columns, in order.
    pub fn feature_names(&self) -> impl Iterator<Item = String> + '_ {
        let numbered = if self.origin == Origin::Table {
            0
        } else {
            self.features
        };
        let parts = |column: &RawColumn| column.encoding.width();
        self.columns
            .iter()
            .flat_map(move |column| {
                (0..parts(column)).map(|within| column.encoding.part_name(&column.name, within))
            })
            .chain((0..numbered).map(|j| self.numbered_name(j)))
    }

    fn numbered_name(&self, j: usize) -> String {
        match self.origin {
            Origin::Pixels { width, .. } => format!("pixel {},{}", j / width.max(1), j % width.max(1)),
            Origin::Indexed { base } => (j + base as usize).to_string(),
            Origin::Table => format!("column {j}"),
        }
    }

    /// Whether its parts fit together; what comes from a file may not.
    pub fn check(&self) -> Result<()> {
        let broken = |what: &str| Err(Error::model(format!("the model's schema is damaged: {what}")));
        for RawColumn { name, encoding } in &self.columns {
            match encoding {
                Encoding::Number { fill: Some(fill) } if !fill.is_finite() => {
                    return broken("what stands in for a missing number is none");
                }
                Encoding::OneHot { levels, fill } => {
                    if levels.is_empty() {
                        return broken(&format!("column {name} has no levels"));
                    }
                    if fill.as_ref().is_some_and(|fill| !levels.contains(fill)) {
                        return broken(&format!("column {name} fills in an unknown level"));
                    }
                }
                Encoding::Text(text) => text.check()?,
                Encoding::Number { .. } => {}
            }
        }
        let width = self
            .columns
            .iter()
            .try_fold(0usize, |sum, column| sum.checked_add(column.encoding.width()));
        match self.origin {
            Origin::Table if width != Some(self.features) => {
                return broken("its columns do not make as many features as it says");
            }
            Origin::Pixels { height, width } if height.checked_mul(width) != Some(self.features) => {
                return broken("its images do not have as many pixels as it says");
            }
            Origin::Indexed { .. } | Origin::Pixels { .. } if !self.columns.is_empty() => {
                return broken("numbered features have no named columns");
            }
            _ => {}
        }
        if let Some(scaling) = &self.scaling {
            let lengths_fit = scaling.factors.len() == self.features
                && (scaling.shifts.is_empty() || scaling.shifts.len() == self.features);
            let finite = scaling
                .factors
                .iter()
                .chain(&scaling.shifts)
                .all(|v| v.is_finite());
            if !lengths_fit || !finite {
                return broken("its scaling does not fit its features");
            }
        }
        Ok(())
    }
}
