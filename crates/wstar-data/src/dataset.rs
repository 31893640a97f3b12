//! A data set ready for a fit: the design, the target, the weights and the schema.

use crate::error::Remedy;
use crate::setting::Setting;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::error::{Error, Result};
use crate::{Classes, DatasetNote, Design, Schema};

/// The number of rows whose classes one task counts.
/// Heuristic: small tasks balance the threads, large tasks have less overhead; not measured yet.
const COUNTED: usize = 1 << 16;

/// The target: the values to be predicted.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
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
    /// Unknown, as in rows to predict.
    Unknown,
}

impl Target {
    /// Refuses targets that are not one for each row, or that have an unknown class.
    fn check(&self, rows: usize) -> Result<()> {
        let length = match self {
            Target::Classes { codes, classes } => {
                if let Some(row) = codes.iter().position(|&code| code as usize >= classes.len()) {
                    return Err(Error::data(format!("the label of row {row} has no class")));
                }
                codes.len()
            }
            Target::Real(values) => values.len(),
            Target::Unknown => rows,
        };
        match length == rows {
            true => Ok(()),
            false => Err(Error::data(format!("{rows} rows but {length} targets"))),
        }
    }

    /// The classes of these labels, by their text.
    ///
    /// ```
    /// use wstar_data::Target;
    /// let Target::Classes { codes, .. } = Target::labels(&[true, false, true]) else { unreachable!() };
    /// assert_eq!(codes, [1, 0, 1]);
    /// ```
    pub fn labels<L: ToString>(labels: &[L]) -> Self {
        let mut found: FxHashMap<String, u32> = FxHashMap::default();
        let mut codes: Vec<u32> = Vec::with_capacity(labels.len());
        for label in labels {
            let next = found.len() as u32;
            codes.push(*found.entry(label.to_string()).or_insert(next));
        }
        let classes = Classes::new(found.keys());
        let mut sorted = vec![0; found.len()];
        for (name, &code) in &found {
            sorted[code as usize] = classes.code(name).unwrap_or_default();
        }
        codes.iter_mut().for_each(|code| *code = sorted[*code as usize]);
        Target::Classes { codes, classes }
    }
}

/// A data set: a design, a target, sample weights, and the schema of the columns.
#[derive(Debug, Clone)]
pub struct Dataset {
    /// The name of its source, for messages and titles.
    pub(crate) source: String,
    /// The encoded rows.
    pub(crate) design: Design,
    /// The values to be predicted.
    pub(crate) target: Target,
    /// The weight of each row; `None` means 1 for all.
    pub(crate) weights: Option<Vec<f64>>,
    /// The encoding of the raw columns.
    pub(crate) schema: Schema,
    /// What preparation left out or changed, one line each, for the user.
    pub(crate) notes: Vec<DatasetNote>,
    /// Whether the columns are those of a model by position, because the rows have no names of columns.
    pub(crate) by_position: bool,
}

impl Dataset {
    /// A data set of encoded rows, their targets, and the schema that encoded them. All rows have weight 1.
    ///
    /// The target must have as many rows as the design, and only known classes; the schema as many features as the design.
    ///
    /// ```
    /// use wstar_data::{ColumnSource, Dataset, Design, Schema, Target};
    /// let design = Design::from_csr(vec![0, 1, 2], vec![0, 1], vec![1.0, 1.0], 2).unwrap();
    /// let schema = Schema::numeric(["height", "weight"].map(String::from));
    /// let data = Dataset::new(design.clone(), Target::Real(vec![0.5, 1.5]), schema.clone()).unwrap();
    /// assert_eq!(data.rows(), 2);
    /// assert!(Dataset::new(design, Target::Real(vec![0.5]), schema).is_err());
    /// ```
    pub fn new(design: Design, target: Target, schema: Schema) -> Result<Self> {
        target.check(design.rows())?;
        expect_features(&schema, &design)?;
        Ok(Dataset {
            by_position: false,
            schema,
            ..Dataset::of_design(design, target)
        })
    }

    /// A data set for classification from rows of numbers, or a matrix, and class names. Columns are called `x1`, `x2` ….
    ///
    /// Rows are `&[Vec<f64>]`, `&[[f64; D]]` or similar, a [`Design`], or a matrix of `faer`, `ndarray` or `sprs` (the
    /// last two are features of the crate).
    ///
    /// ```
    /// use wstar_data::Dataset;
    /// let data = Dataset::labelled(&[[0.0, 1.0], [1.0, 0.0]], &["spam", "ham"]).unwrap();
    /// assert_eq!(data.classes().unwrap().names(), ["ham", "spam"]);
    /// let data = Dataset::labelled(&[[0.0], [1.0], [2.0]], &[7, 10, 7]).unwrap();
    /// assert_eq!(data.classes().unwrap().names(), ["7", "10"]);
    /// ```
    pub fn labelled<X, L>(rows: X, labels: &[L]) -> Result<Self>
    where
        X: TryInto<Design>,
        Error: From<X::Error>,
        L: ToString,
    {
        let design = rows.try_into()?;
        expect_length(labels.len(), "labels", &design)?;
        Ok(Dataset::of_design(design, Target::labels(labels)))
    }

    /// A data set for regression from rows of numbers, or a matrix, as in [`Dataset::labelled`], and real targets.
    ///
    /// ```
    /// use wstar_data::Dataset;
    /// let data = Dataset::measured(&[[0.0], [1.0]], vec![0.5, 1.5]).unwrap();
    /// assert_eq!(data.rows(), 2);
    /// ```
    pub fn measured<X>(rows: X, targets: Vec<f64>) -> Result<Self>
    where
        X: TryInto<Design>,
        Error: From<X::Error>,
    {
        let design = rows.try_into()?;
        expect_length(targets.len(), "targets", &design)?;
        if let Some(row) = targets.iter().position(|value| !value.is_finite()) {
            return Err(Error::data(format!(
                "the target of row {row}, {}, is not a finite number",
                targets[row]
            )));
        }
        Ok(Dataset::of_design(design, Target::Real(targets)))
    }

    /// A data set without a target, to predict.
    ///
    /// ```
    /// use wstar_data::Dataset;
    /// assert_eq!(Dataset::unlabelled(&[[0.0, 1.0]]).unwrap().features(), 2);
    /// ```
    pub fn unlabelled<X>(rows: X) -> Result<Self>
    where
        X: TryInto<Design>,
        Error: From<X::Error>,
    {
        Ok(Dataset::of_design(rows.try_into()?, Target::Unknown))
    }

    fn of_design(design: Design, target: Target) -> Self {
        Dataset {
            source: "data".into(),
            schema: Schema::numbered(design.features()),
            design,
            target,
            weights: None,
            notes: Vec::new(),
            by_position: true,
        }
    }

    /// The same rows from a source of this name, for messages and titles.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<String>) -> Self {
        self.source = source.into();
        self
    }

    /// The same rows, whose columns are those of a model by position, whatever their names. Rows of arrays are so until
    /// [`with_columns`](Dataset::with_columns) names their columns.
    ///
    /// ```
    /// use wstar_data::{Dataset, Schema};
    /// let data = Dataset::unlabelled(&[[0.0]]).unwrap().with_columns(["height"]).unwrap();
    /// let schema = Schema::numeric(["length".into()]);
    /// assert!(data.design_for(&schema).is_err());
    /// assert!(data.by_position().design_for(&schema).is_ok());
    /// ```
    #[must_use]
    pub fn by_position(mut self) -> Self {
        self.by_position = true;
        self
    }

    /// The same rows with names for the columns.
    ///
    /// ```
    /// use wstar_data::Dataset;
    /// let data = Dataset::measured(&[[0.0], [1.0]], vec![0.5, 1.5]).unwrap().with_columns(["height"]).unwrap();
    /// assert_eq!(data.schema().feature_name(0), "height");
    /// ```
    pub fn with_columns<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Result<Self> {
        let schema = Schema::numeric(names.into_iter().map(Into::into));
        if schema.features != self.features() {
            return Err(Error::data(format!(
                "{} names for {} columns",
                schema.features,
                self.features()
            )));
        }
        self.schema = Schema {
            target: self.schema.target,
            positive: self.schema.positive,
            ..schema
        };
        self.by_position = false;
        Ok(self)
    }

    /// The same rows with a weight for each; `None` means 1 for all.
    ///
    /// ```
    /// use wstar_data::Dataset;
    /// let data = Dataset::measured(&[[0.0], [1.0]], vec![0.5, 1.5]).unwrap();
    /// assert!(data.clone().with_weights(vec![1.0, 2.0]).is_ok());
    /// assert!(data.with_weights(vec![1.0, -2.0]).is_err());
    /// ```
    pub fn with_weights(mut self, weights: impl Into<Option<Vec<f64>>>) -> Result<Self> {
        let Some(weights) = weights.into() else {
            self.weights = None;
            return Ok(self);
        };
        expect_length(weights.len(), "weights", &self.design)?;
        if let Some(row) = weights.iter().position(|&w| !(w.is_finite() && w >= 0.0)) {
            return Err(Error::data(format!(
                "the weight of row {row}, {}, is not a number of at least 0",
                weights[row]
            )));
        }
        self.weights = Some(weights);
        Ok(self)
    }

    /// The name of its source, for messages and titles.
    #[inline]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The encoded rows.
    #[inline]
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// The values to be predicted.
    #[inline]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The weight of each row; `None` means 1 for all.
    #[inline]
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// The encoding of the raw columns.
    #[inline]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// What preparation left out or changed, one line each, for the user.
    #[inline]
    pub fn notes(&self) -> &[DatasetNote] {
        &self.notes
    }

    /// The design, the target, the weights and the schema, without a copy.
    pub fn into_parts(self) -> (Design, Target, Option<Vec<f64>>, Schema) {
        (self.design, self.target, self.weights, self.schema)
    }

    /// The same target and weights with other rows of the same size, such as another storage of them.
    ///
    /// ```
    /// use wstar_data::{Dataset, Design};
    /// let data = Dataset::measured(&[[0.0], [2.0]], vec![0.5, 1.5]).unwrap();
    /// let sparse = Design::from_csr(vec![0, 0, 1], vec![0], vec![2.0], 1).unwrap();
    /// assert_eq!(data.clone().with_design(sparse).unwrap().digest(), data.digest());
    /// ```
    pub fn with_design(mut self, design: Design) -> Result<Self> {
        if design.rows() != self.rows() {
            return Err(Error::data(format!("{} rows for {}", design.rows(), self.rows())));
        }
        expect_features(&self.schema, &design)?;
        self.design = design;
        Ok(self)
    }

    /// The same rows with another target.
    pub fn with_target(mut self, target: Target) -> Result<Self> {
        target.check(self.rows())?;
        self.target = target;
        Ok(self)
    }

    /// The same rows under another schema of as many features, such as one that names the target.
    pub fn with_schema(mut self, schema: Schema) -> Result<Self> {
        expect_features(&schema, &self.design)?;
        self.schema = schema;
        self.by_position = false;
        Ok(self)
    }

    /// The number of rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.design.rows()
    }

    /// The number of encoded columns.
    #[inline]
    pub fn features(&self) -> usize {
        self.design.features()
    }

    /// The classes, if the target has classes.
    #[inline]
    pub fn classes(&self) -> Option<&Classes> {
        match &self.target {
            Target::Classes { classes, .. } => Some(classes),
            _ => None,
        }
    }

    /// Class codes and classes; an error unless the target has at least two classes.
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
                    .remedy(Remedy::Effect(
                        Setting::Categorical.to(name),
                        "makes its values classes".into(),
                    ))
                    .in_file(&self.source))
            }
            Target::Unknown => Err(Error::data("the data have no target column").in_file(&self.source)),
        }
    }

    /// The weight of row `i`.
    #[inline]
    pub fn weight(&self, i: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[i])
    }

    /// The number of rows of each class; empty if the target has no classes.
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

    /// The rows with the given indices, in that order.
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
            by_position: self.by_position,
        }
    }
}

/// Refuses a schema that does not have the columns of the design.
fn expect_features(schema: &Schema, design: &Design) -> Result<()> {
    match design.features() {
        features if features == schema.features => Ok(()),
        features => Err(Error::data(format!(
            "a schema of {} features for {features} columns",
            schema.features
        ))),
    }
}

/// Refuses a number of labels, targets or weights that is not the number of rows.
fn expect_length(found: usize, what: &str, design: &Design) -> Result<()> {
    match design.rows() {
        rows if rows == found => Ok(()),
        rows => Err(Error::data(format!("{rows} rows but {found} {what}"))),
    }
}
