//! The schema: how raw columns are encoded as columns of the design. A model stores it to predict from raw rows.
//!
//! - `scaling`: standardisation of the design's columns.
//! - `text_encoding`: texts as sparse vectors of terms.

pub(crate) mod scaling;
pub(crate) mod text_encoding;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::{Scaling, TextEncoding};

/// The origin of the rows, which determines how the columns of new raw rows are matched to the design's columns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ColumnSource {
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
#[non_exhaustive]
pub enum Encoding {
    /// A number, unchanged.
    Number {
        /// The value that replaces a missing value; `None` if missing values are refused.
        fill: Option<f64>,
    },
    /// One-hot: one column for each level, which is 1 in the rows with this level. Two levels make one column, for the
    /// second level, because the other one would be its complement.
    OneHot {
        /// The levels, sorted.
        levels: Vec<String>,
        /// The level that replaces a missing value; `None` if missing values are refused.
        fill: Option<String>,
    },
    /// The terms of a text.
    Text(TextEncoding),
}

impl Encoding {
    /// The number of design columns that it produces.
    pub fn width(&self) -> usize {
        match self {
            Encoding::Number { .. } => 1,
            Encoding::OneHot { levels, .. } if levels.len() == 2 => 1,
            Encoding::OneHot { levels, .. } => levels.len(),
            Encoding::Text(text) => text.width(),
        }
    }

    /// The name of the design column at position `within` of this encoding, for a raw column called `name`.
    fn column_name(&self, name: &str, within: usize) -> String {
        match self {
            Encoding::Number { .. } => name.to_owned(),
            Encoding::OneHot { levels, .. } => {
                let level = if levels.len() == 2 { 1 } else { within };
                format!("{name}={}", levels.get(level).map_or("", String::as_str))
            }
            Encoding::Text(text) => format!("{name}:{}", text.word(within)),
        }
    }

    /// Whether missing values are accepted: replaced, or for texts encoded as a text without terms.
    pub fn fills(&self) -> bool {
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
    /// The name in the file.
    pub name: String,
    /// The encoding.
    pub encoding: Encoding,
}

/// The encoding of all raw columns as columns of the design.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// The origin of the rows.
    pub origin: ColumnSource,
    /// The raw columns used, in the order of the design; empty unless the origin is a table.
    pub columns: Vec<RawColumn>,
    /// The number of design columns.
    pub features: usize,
    /// The name of the target column, where columns have names.
    pub target: Option<String>,
    /// The value of the target that is classified against all others, if there is one.
    pub positive: Option<String>,
    /// The name of the column of sample weights, if there is one.
    pub sample_weight: Option<String>,
    /// The standardisation of the design's columns, if there is one.
    pub scaling: Option<Scaling>,
}

impl Schema {
    /// The schema of a matrix whose columns are called `x1`, `x2` ….
    pub fn numbered(features: usize) -> Self {
        Schema::numeric((1..=features).map(|j| format!("x{j}")))
    }

    /// The schema of a matrix whose columns have these names.
    pub fn numeric(names: impl IntoIterator<Item = String>) -> Self {
        let column = |name| RawColumn {
            name,
            encoding: Encoding::Number { fill: None },
        };
        let columns: Vec<RawColumn> = names.into_iter().map(column).collect();
        Schema {
            origin: ColumnSource::Table,
            features: columns.len(),
            columns,
            target: None,
            positive: None,
            sample_weight: None,
            scaling: None,
        }
    }

    /// The readable name of design column `j`, such as `balance`, `student=Yes`, `text:free` or `17`. For all columns,
    /// [`Schema::feature_names`] is faster.
    pub fn feature_name(&self, j: usize) -> String {
        let mut within = j;
        match self.origin {
            ColumnSource::Table => {
                for RawColumn { name, encoding } in &self.columns {
                    if within < encoding.width() {
                        return encoding.column_name(name, within);
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
        let numbered = if self.origin == ColumnSource::Table {
            0
        } else {
            self.features
        };
        let width = |column: &RawColumn| column.encoding.width();
        self.columns
            .iter()
            .flat_map(move |column| {
                (0..width(column)).map(|within| column.encoding.column_name(&column.name, within))
            })
            .chain((0..numbered).map(|j| self.numbered_name(j)))
    }

    fn numbered_name(&self, j: usize) -> String {
        match self.origin {
            ColumnSource::Pixels { width, .. } => format!("pixel {},{}", j / width.max(1), j % width.max(1)),
            ColumnSource::Indexed { base } => (j + base as usize).to_string(),
            ColumnSource::Table => format!("column {j}"),
        }
    }

    /// Checks that the schema is consistent; one read from a file may not be.
    pub fn check(&self) -> Result<()> {
        let broken = |what: &str| Err(Error::model(format!("the model's schema is damaged: {what}")));
        for RawColumn { name, encoding } in &self.columns {
            match encoding {
                Encoding::Number { fill: Some(fill) } if !fill.is_finite() => {
                    return broken("the value that replaces a missing number is not finite");
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
            ColumnSource::Table if width != Some(self.features) => {
                return broken("its columns do not make as many features as it says");
            }
            ColumnSource::Pixels { height, width } if height.checked_mul(width) != Some(self.features) => {
                return broken("its images do not have as many pixels as it says");
            }
            ColumnSource::Indexed { .. } | ColumnSource::Pixels { .. } if !self.columns.is_empty() => {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Terms, Weighting};

    fn mixed() -> Schema {
        let column = |name: &str, encoding| RawColumn {
            name: name.into(),
            encoding,
        };
        let one_hot = |levels: &[&str]| Encoding::OneHot {
            levels: levels.iter().map(|&level| level.into()).collect(),
            fill: Some(levels[0].into()),
        };
        let text = TextEncoding {
            weighting: Weighting::TfIdf,
            sublinear: true,
            ngrams: 2,
            min_df: 1,
            max_features: Some(2),
            terms: Terms::Vocabulary(vec!["free".into(), "free entry".into()]),
            idf: vec![0.1 + 0.2, 1.0 / 3.0],
        };
        Schema {
            origin: ColumnSource::Table,
            columns: vec![
                column("balance", Encoding::Number { fill: Some(0.1) }),
                column("student", one_hot(&["No", "Yes"])),
                column("colour", one_hot(&["blue", "green", "red"])),
                column("text", Encoding::Text(text)),
            ],
            features: 7,
            target: Some("default".into()),
            positive: None,
            sample_weight: None,
            scaling: Some(Scaling {
                shifts: Vec::new(),
                factors: vec![1.0 / 3.0; 7],
            }),
        }
    }

    #[test]
    fn feature_names_are_readable() {
        let schema = mixed();
        let names: Vec<String> = schema.feature_names().collect();
        assert_eq!(
            names,
            [
                "balance",
                "student=Yes",
                "colour=blue",
                "colour=green",
                "colour=red",
                "text:free",
                "text:free entry"
            ]
        );
        let one_by_one: Vec<String> = (0..7).map(|j| schema.feature_name(j)).collect();
        assert_eq!(names, one_by_one);

        let pixels = Schema {
            origin: ColumnSource::Pixels { height: 2, width: 2 },
            columns: Vec::new(),
            features: 4,
            scaling: None,
            ..mixed()
        };
        assert_eq!(pixels.feature_names().nth(2).unwrap(), "pixel 1,0");
        let indexed = Schema {
            origin: ColumnSource::Indexed { base: 1 },
            ..pixels
        };
        assert_eq!(indexed.feature_names().collect::<Vec<_>>(), ["1", "2", "3", "4"]);
        assert_eq!(indexed.feature_name(3), "4");
    }

    #[test]
    fn json_round_trips_exactly() {
        let schema = mixed();
        let text = serde_json::to_string(&schema).unwrap();
        let read: Schema = serde_json::from_str(&text).unwrap();
        assert_eq!(read, schema);
        read.check().unwrap();
    }

    #[test]
    fn inconsistent_schemas_are_refused() {
        let damaged: [fn(&mut Schema); 7] = [
            |schema| schema.features = 8,
            |schema| schema.columns.clear(),
            |schema| {
                schema.scaling = Some(Scaling {
                    shifts: vec![1.0],
                    factors: vec![1.0; 7],
                })
            },
            |schema| {
                schema.scaling = Some(Scaling {
                    shifts: vec![],
                    factors: vec![f64::NAN; 7],
                })
            },
            |schema| schema.origin = ColumnSource::Pixels { height: 2, width: 3 },
            |schema| {
                if let Encoding::OneHot { fill, .. } = &mut schema.columns[1].encoding {
                    *fill = Some("Maybe".into());
                }
            },
            |schema| {
                if let Encoding::Text(text) = &mut schema.columns[3].encoding {
                    text.idf.pop();
                }
            },
        ];
        for (case, damage) in damaged.iter().enumerate() {
            let mut schema = mixed();
            damage(&mut schema);
            assert!(schema.check().is_err(), "case {case}");
        }
    }
}
