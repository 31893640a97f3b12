//! A data set ready for a fit.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::data::{Design, Schema};
use crate::error::{Error, Result};

/// Rows whose classes one task counts.
const COUNTED: usize = 1 << 16;

/// What is to be predicted.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// One of K classes: `codes[i]` indexes `classes`.
    Classes {
        /// The class of each row.
        codes: Vec<u32>,
        /// The classes, sorted.
        classes: Classes,
    },
    /// A real number for each row.
    Real(Vec<f64>),
    /// Not known (rows to predict).
    Unknown,
}

/// The names of the classes, sorted: by value if all are numbers, else by their letters; or one
/// value against all others. With two classes the last one is the positive one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Classes {
    names: Vec<String>,
}

impl Classes {
    /// No classes: those of a real target.
    pub const NONE: Classes = Classes { names: Vec::new() };

    /// Sorts and keeps the distinct names.
    pub fn new<I: IntoIterator<Item = S>, S: Into<String>>(names: I) -> Self {
        let mut names: Vec<String> = names.into_iter().map(Into::into).collect();
        let all_numbers = names
            .iter()
            .all(|name| name.parse::<f64>().is_ok_and(f64::is_finite));
        if all_numbers {
            let value = |name: &String| name.parse::<f64>().unwrap_or_default();
            names.sort_by(|a, b| value(a).total_cmp(&value(b)).then_with(|| a.cmp(b)));
        } else {
            names.sort();
        }
        names.dedup();
        Classes { names }
    }

    /// These names in this order, for callers that number their classes themselves; each may come only once.
    pub fn ordered<I: IntoIterator<Item = S>, S: Into<String>>(names: I) -> Result<Self> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        let mut sorted: Vec<&String> = names.iter().collect();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(Error::data(format!("two classes are called {}", pair[0]))),
            None => Ok(Classes { names }),
        }
    }

    /// All others, called `rest`, and one class against them: the positive one, whatever its name.
    pub fn against_rest(positive: impl Into<String>) -> Self {
        let positive = positive.into();
        let rest = if positive == "rest" { "other" } else { "rest" };
        Classes {
            names: vec![rest.into(), positive],
        }
    }

    /// How many classes there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The names in order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The name of a class.
    pub fn name(&self, code: u32) -> &str {
        &self.names[code as usize]
    }

    /// The code of a name.
    pub fn code(&self, name: &str) -> Option<u32> {
        self.names
            .iter()
            .position(|known| known == name)
            .map(|k| k as u32)
    }
}

/// A design, what is to be predicted, how much each row counts, and where the columns came from.
#[derive(Debug, Clone)]
pub struct Dataset {
    /// What it was read from, for messages and titles.
    pub source: String,
    /// The encoded rows.
    pub design: Design,
    /// What is to be predicted.
    pub target: Target,
    /// How much each row counts; `None` means 1 for all.
    pub weights: Option<Vec<f64>>,
    /// How raw columns become the design's columns.
    pub schema: Schema,
    /// What was left out or changed on the way here, one line each, for a person to read.
    pub notes: Vec<String>,
}

impl Dataset {
    /// A data set for classification from rows of numbers and class names; columns are called `x1`, `x2` ….
    ///
    /// ```
    /// use wstar::data::Dataset;
    /// let data = Dataset::labelled(&[vec![0.0, 1.0], vec![1.0, 0.0]], &["spam", "ham"]).unwrap();
    /// assert_eq!(data.classes().unwrap().names(), ["ham", "spam"]);
    /// ```
    pub fn labelled<S: AsRef<str>>(rows: &[Vec<f64>], labels: &[S]) -> Result<Self> {
        if rows.len() != labels.len() {
            return Err(Error::data(format!(
                "{} rows but {} labels",
                rows.len(),
                labels.len()
            )));
        }
        let design = Design::from_rows(rows)?;
        let classes = Classes::new(labels.iter().map(|label| label.as_ref()));
        let codes = labels
            .iter()
            .filter_map(|label| classes.code(label.as_ref()))
            .collect();
        Ok(Dataset {
            source: "data".into(),
            schema: Schema::numbered(design.features()),
            design,
            target: Target::Classes { codes, classes },
            weights: None,
            notes: Vec::new(),
        })
    }

    /// A data set for regression from rows of numbers and real targets; columns are called `x1`, `x2` ….
    ///
    /// ```
    /// use wstar::data::Dataset;
    /// let data = Dataset::measured(&[vec![0.0], vec![1.0]], vec![0.5, 1.5]).unwrap();
    /// assert_eq!(data.rows(), 2);
    /// ```
    pub fn measured(rows: &[Vec<f64>], targets: Vec<f64>) -> Result<Self> {
        if rows.len() != targets.len() {
            return Err(Error::data(format!(
                "{} rows but {} targets",
                rows.len(),
                targets.len()
            )));
        }
        if let Some(row) = targets.iter().position(|value| !value.is_finite()) {
            return Err(Error::data(format!(
                "the target of row {row}, {}, is not a finite number",
                targets[row]
            )));
        }
        let design = Design::from_rows(rows)?;
        Ok(Dataset {
            source: "data".into(),
            schema: Schema::numbered(design.features()),
            design,
            target: Target::Real(targets),
            weights: None,
            notes: Vec::new(),
        })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.design.rows()
    }

    /// The number of encoded columns.
    pub fn features(&self) -> usize {
        self.design.features()
    }

    /// The classes, if the target has classes.
    pub fn classes(&self) -> Option<&Classes> {
        match &self.target {
            Target::Classes { classes, .. } => Some(classes),
            _ => None,
        }
    }

    /// Class codes and classes; an error if the target is not one of classes, or of fewer than two.
    pub fn require_classes(&self) -> Result<(&[u32], &Classes)> {
        match &self.target {
            Target::Classes { codes, classes } if classes.len() >= 2 => Ok((codes, classes)),
            Target::Classes { classes, .. } => Err(Error::data(match classes.names().first() {
                Some(only) => format!(
                    "every row has the same class, {}: a classifier needs two",
                    crate::error::shown(only)
                ),
                None => "there are no rows to learn from".into(),
            })
            .in_file(&self.source)),
            Target::Real(_) => {
                let name = self.schema.target.as_deref().unwrap_or("target");
                Err(Error::data("the target is a real number, not a class")
                    .hint(format!(
                        "--categorical {name} makes its values classes, --positive one of them"
                    ))
                    .in_file(&self.source))
            }
            Target::Unknown => Err(Error::data("the data have no target column").in_file(&self.source)),
        }
    }

    /// The weight of row `i`.
    pub fn weight(&self, i: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[i])
    }

    /// How many rows each class has.
    pub fn class_counts(&self) -> Vec<usize> {
        match &self.target {
            Target::Classes { codes, classes } => {
                let none = || vec![0; classes.len()];
                let count = |codes: &[u32]| {
                    let mut counts = none();
                    codes.iter().for_each(|&code| counts[code as usize] += 1);
                    counts
                };
                let add = |mut a: Vec<usize>, b: Vec<usize>| {
                    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
                    a
                };
                codes.par_chunks(COUNTED).map(count).reduce(none, add)
            }
            _ => Vec::new(),
        }
    }

    /// The rows at the given positions, in that order.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        Dataset {
            source: self.source.clone(),
            design: self.design.select(rows),
            target: match &self.target {
                Target::Classes { codes, classes } => Target::Classes {
                    codes: rows.iter().map(|&i| codes[i]).collect(),
                    classes: classes.clone(),
                },
                Target::Real(values) => Target::Real(rows.iter().map(|&i| values[i]).collect()),
                Target::Unknown => Target::Unknown,
            },
            weights: self
                .weights
                .as_ref()
                .map(|weights| rows.iter().map(|&i| weights[i]).collect()),
            schema: self.schema.clone(),
            notes: self.notes.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_keep_a_given_order_or_are_sorted() {
        assert_eq!(Classes::new(["10", "9"]).names(), ["9", "10"]);
        assert_eq!(Classes::ordered(["10", "9"]).unwrap().names(), ["10", "9"]);
        assert!(Classes::ordered(["a", "b", "a"]).is_err());
    }
}
