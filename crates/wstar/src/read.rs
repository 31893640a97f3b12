//! Reads a file into a data set in one line. The file options of the command line are functions here.

use crate::model::Model;
use wstar_data::error::Result;
use wstar_data::read::{ReadOptions, Source, read as read_raw};
use wstar_data::{
    Applied, Dataset, Missing, Preparation, Raw, TargetKind, TextOptions, prepare, prepare_with, split_raw,
};

/// A file to be read: what is known about its columns, and the functions that read it.
///
/// ```
/// use wstar::prelude::*;
/// let (train, test) = wstar::read("@breast-cancer")?.standardize().holdout(0.25, 1)?;
/// assert!(train.rows() > test.rows());
/// # Ok::<(), wstar::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct FileReader {
    source: Source,
    options: ReadOptions,
    preparation: Preparation,
}

/// Names a file to be read: a path, or a name such as `@iris` for an embedded data set. CSV, TSV, svmlight and
/// IDX files are detected, also compressed by gzip.
///
/// ```
/// use wstar::prelude::*;
/// let data = wstar::read("@breast-cancer")?.target("diagnosis")?;
/// let model = Logistic::l2().fit(&data)?;
/// assert!(model.certificate().holds());
/// # Ok::<(), wstar::Error>(())
/// ```
pub fn read(name: &str) -> Result<FileReader> {
    Ok(FileReader {
        source: Source::parse(name)?,
        options: ReadOptions::default(),
        preparation: Preparation::default(),
    })
}

impl FileReader {
    /// Reads these columns as categories, whatever their values.
    pub fn categorical<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.options
            .categorical
            .extend(columns.into_iter().map(Into::into));
        self
    }

    /// Reads these columns as numbers, whatever their values.
    pub fn numeric<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.options.numeric.extend(columns.into_iter().map(Into::into));
        self
    }

    /// Reads these columns as free text, encoded as set in `how`.
    pub fn text<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>, how: TextOptions) -> Self {
        self.options.text.extend(columns.into_iter().map(Into::into));
        self.preparation.text = how;
        self
    }

    /// Leaves these columns out.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = wstar::read("@iris")?.drop(["petal length"]).dataset()?;
    /// assert_eq!(data.features(), 3);
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn drop<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.options.drop.extend(columns.into_iter().map(Into::into));
        self
    }

    /// Chooses the treatment of missing values; by default they are refused.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// use wstar::data::Missing;
    /// let path = std::env::temp_dir().join(format!("wstar-missing-{}.csv", std::process::id()));
    /// std::fs::write(&path, "height,kind\n1.5,a\n,a\n1.7,b\n").expect("a file");
    /// let read = || wstar::read(&path.display().to_string());
    /// assert!(read()?.dataset().is_err());
    /// assert_eq!(read()?.missing(Missing::Mean).dataset()?.rows(), 3);
    /// assert_eq!(read()?.missing(Missing::Drop).dataset()?.rows(), 2);
    /// # std::fs::remove_file(&path).expect("the file was written");
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn missing(mut self, missing: Missing) -> Self {
        self.preparation.missing = missing;
        self
    }

    /// Scales every column to mean 0 and standard deviation 1. The model keeps the scaling.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = wstar::read("@iris")?.standardize().dataset()?;
    /// let model = Softmax::l2().fit(&data)?;
    /// // The model scales rows that are not scaled yet.
    /// assert_eq!(model.labels(&Dataset::unlabelled(&[[5.1, 3.5, 1.4, 0.2]])?)?, ["setosa"]);
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn standardize(mut self) -> Self {
        self.preparation.standardize = true;
        self
    }

    /// Takes the sample weights from this column.
    pub fn sample_weight(mut self, column: impl Into<String>) -> Self {
        self.preparation.sample_weight = Some(column.into());
        self
    }

    /// Classifies this value of the target against all others.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = wstar::read("@iris")?.positive("setosa").dataset()?;
    /// assert_eq!(data.classes().expect("two classes").names(), ["rest", "setosa"]);
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn positive(mut self, value: impl Into<String>) -> Self {
        self.preparation.positive = Some(value.into());
        self
    }

    /// Treats the target as a real number, also if its values are few integers.
    pub fn regression(mut self) -> Self {
        self.preparation.target_kind = TargetKind::Real;
        self
    }

    /// Replaces all options of the reader and of the preparation, for what the functions above do not offer.
    pub fn with(mut self, options: ReadOptions, preparation: Preparation) -> Self {
        (self.options, self.preparation) = (options, preparation);
        self
    }

    /// Takes this column as the target; by default the last one.
    pub fn with_target(mut self, column: impl Into<String>) -> Self {
        self.preparation.target = Some(column.into());
        self
    }

    /// Reads the file, with this column as the target.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = wstar::read("@iris")?.drop(["species"]).target("petal width")?;
    /// assert!(matches!(data.target(), Target::Real(_)));
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn target(self, column: impl Into<String>) -> Result<Dataset> {
        self.with_target(column).dataset()
    }

    /// Reads the file, with its last column, or the labels of an svmlight or IDX file, as the target.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// assert_eq!(wstar::read("@iris")?.dataset()?.rows(), 150);
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn dataset(self) -> Result<Dataset> {
        let raw = self.raw()?;
        prepare(raw, &self.preparation)
    }

    /// Reads the file, and splits its rows into training rows and a share of test rows, with a seed.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let (train, test) = wstar::read("@iris")?.holdout(0.2, 7)?;
    /// let model = Softmax::l2().fit(&train)?;
    /// assert_eq!(model.predict(&test)?.classes().map(<[u32]>::len), Some(30));
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn holdout(self, share: f64, seed: u64) -> Result<(Dataset, Dataset)> {
        let (train, test) = split_raw(self.raw()?, &self.preparation, share, seed)?;
        let train = prepare(train, &self.preparation)?;
        let how = Applied {
            with_target: true,
            with_weights: true,
            ..Applied::default()
        };
        let test = prepare_with(test, train.schema(), train.classes(), &how)?;
        Ok((train, test))
    }

    /// Reads the file as rows for a model: its columns by name, encoded as in the training. The target is read if the
    /// file has it.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let model = Softmax::l2().fit(&wstar::read("@iris")?.standardize().dataset()?)?;
    /// let rows = wstar::read("@iris")?.rows_for(&model)?;
    /// assert_eq!(model.labels(&rows)?.len(), 150);
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn rows_for(self, model: &Model) -> Result<Dataset> {
        let options = self.options.matching(&model.schema, None);
        let raw = read_raw(&self.source, &options)?;
        let has_target = match &raw {
            Raw::Table(table) => table
                .columns
                .iter()
                .any(|column| model.schema.target.as_ref() == Some(&column.name)),
            Raw::Matrix(_) => true,
        };
        let how = Applied {
            with_target: has_target,
            ..Applied::default()
        };
        let classes = (!model.classes.is_empty()).then_some(&model.classes);
        prepare_with(raw, &model.schema, classes, &how)
    }

    fn raw(&self) -> Result<Raw> {
        read_raw(&self.source, &self.options)
    }
}
