//! Prediction: scores, classes and probabilities of rows. The model scales rows that are not scaled yet, and refuses rows
//! that are not encoded as its own.

use std::borrow::Cow;

use crate::model::{Model, Scores};
use wstar_data::error::{Error, Result, shown};
use wstar_data::{Dataset, Design, Target};

/// The predictions of a model.
///
/// ```
/// use wstar::prelude::*;
/// let data = Dataset::measured(&[[0.0], [1.0], [2.0], [3.0]], vec![1.0, 3.0, 5.5, 7.0])?;
/// let model = LeastSquares::l2().fit(&data)?;
/// assert_eq!(model.predict(&data)?.numbers().map(<[f64]>::len), Some(4));
/// assert_eq!(model.predict(&data)?.classes(), None);
/// # Ok::<(), wstar::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Predictions {
    /// The index of each row's class among the classes of the model.
    Classes(Vec<u32>),
    /// A number for each row.
    Numbers(Vec<f64>),
}

impl Predictions {
    /// The class indices; `None` for a real target.
    pub fn classes(&self) -> Option<&[u32]> {
        match self {
            Predictions::Classes(codes) => Some(codes),
            Predictions::Numbers(_) => None,
        }
    }

    /// The numbers; `None` for classes.
    pub fn numbers(&self) -> Option<&[f64]> {
        match self {
            Predictions::Classes(_) => None,
            Predictions::Numbers(values) => Some(values),
        }
    }
}

impl Model {
    /// Predicts the class or the target value of every row.
    ///
    /// The rows are encoded as in the training: by [`FileReader::rows_for`](crate::FileReader::rows_for) for a file, or as
    /// numbers in the units of the raw columns, in the order of the training, for an array. The model scales rows that are
    /// not scaled yet. Rows of another width, encoding or scaling are an error; [`Dataset::design_for`] says which.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let (train, test) = wstar::read("@iris")?.standardize().holdout(0.2, 7)?;
    /// let model = Softmax::l2().fit(&train)?;
    /// assert_eq!(model.predict(&test)?.classes().map(<[u32]>::len), Some(30));
    /// // Four numbers in centimetres: the model standardises them.
    /// let flower = Dataset::unlabelled(&[[5.1, 3.5, 1.4, 0.2]])?;
    /// assert_eq!(model.labels(&flower)?, ["setosa"]);
    /// assert!(model.predict(&Dataset::unlabelled(&[[5.1, 3.5]])?).is_err());
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn predict(&self, x: &Dataset) -> Result<Predictions> {
        let scores = self.scores(x)?;
        Ok(match self.predictor.is_regression() {
            true => Predictions::Numbers(scores.into_values()),
            false => Predictions::Classes(self.decide(&scores)),
        })
    }

    /// The name of the predicted class of every row; empty for a real target.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let rows = [[0.0], [1.0], [2.0], [3.0]].map(Vec::from);
    /// let data = Dataset::labelled(&rows, &["low", "low", "high", "high"])?;
    /// let model = Logistic::l2().c(100.0).fit(&data)?;
    /// assert_eq!(model.labels(&data)?, ["low", "low", "high", "high"]);
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn labels(&self, x: &Dataset) -> Result<Vec<&str>> {
        Ok(match self.predict(x)? {
            Predictions::Classes(codes) => codes.into_iter().map(|code| self.classes.name(code)).collect(),
            Predictions::Numbers(_) => Vec::new(),
        })
    }

    /// The scores of every row: one column for two classes or a real target, otherwise one for each class. With two
    /// classes a positive score means the last class.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = Dataset::measured(&[[0.0], [1.0], [2.0]], vec![1.0, 3.0, 5.0])?;
    /// let model = LeastSquares::unpenalized().fit(&data)?;
    /// let scores = model.scores(&Dataset::unlabelled(&[[3.0]])?)?;
    /// assert!((scores.values()[0] - 7.0).abs() < 1e-12);
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn scores(&self, x: &Dataset) -> Result<Scores> {
        self.predictor.scores(&*self.design_of(x)?)
    }

    /// The probability of each class for every row; `None` if the scores do not determine probabilities.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = wstar::read("@iris")?.dataset()?;
    /// let shares = Softmax::l2().fit(&data)?.probabilities(&data)?.expect("softmax gives probabilities");
    /// let first = shares.rows().next().expect("150 rows");
    /// assert!((first.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    /// assert!(Svm::l2().fit(&data)?.probabilities(&data)?.is_none());
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn probabilities(&self, x: &Dataset) -> Result<Option<Scores>> {
        match self.predictor.shares() {
            Some(_) => Ok(self.probabilities_of(&self.scores(x)?)),
            None => Ok(None),
        }
    }

    /// The rows as the columns of the model: as they are, or scaled. Other rows are refused.
    pub(crate) fn design_of<'a>(&self, x: &'a Dataset) -> Result<Cow<'a, Design>> {
        x.design_for(&self.schema)
            .map_err(|error| error.in_file(x.source()))
    }

    /// The data set as the columns of the model: as it is, or scaled. Other rows are refused.
    pub(crate) fn rows_of<'a>(&self, x: &'a Dataset) -> Result<Cow<'a, Dataset>> {
        x.rows_for(&self.schema)
            .map_err(|error| error.in_file(x.source()))
    }

    /// The class of each row as an index among the classes of the model, which the data may number otherwise.
    pub(crate) fn codes_of<'a>(&self, data: &'a Dataset) -> Result<Cow<'a, [u32]>> {
        let Target::Classes { codes, classes } = data.target() else {
            return Err(Error::data("the data have no target to compare with").in_file(data.source()));
        };
        if *classes == self.classes {
            return Ok(Cow::Borrowed(codes));
        }
        let code = |name: &String| {
            self.classes.code(name).ok_or_else(|| {
                Error::data(format!("the model has no class {}", shown(name))).in_file(data.source())
            })
        };
        let known = classes.names().iter().map(code).collect::<Result<Vec<u32>>>()?;
        Ok(Cow::Owned(
            codes.iter().map(|&code| known[code as usize]).collect(),
        ))
    }

    /// The probabilities given by scores of this model; `None` if its scores do not determine probabilities.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = Dataset::labelled(&[[0.0], [1.0], [2.0], [3.0]], &["a", "a", "b", "b"])?;
    /// let model = Logistic::l2().fit(&data)?;
    /// let scores = model.scores(&data)?;
    /// assert_eq!(model.probabilities_of(&scores), model.probabilities(&data)?);
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn probabilities_of(&self, scores: &Scores) -> Option<Scores> {
        let ask = self.predictor.shares()?;
        let columns = ask.columns(scores.columns());
        let mut values = vec![0.0; scores.rows().len() * columns];
        for (row, out) in scores.rows().zip(values.chunks_exact_mut(columns)) {
            ask.answer(row, out);
        }
        Scores::new(values, columns).ok()
    }

    /// The predicted class of every row, for a classifier: its index among the classes of the model.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = Dataset::labelled(&[[0.0], [1.0], [2.0], [3.0]], &["a", "a", "b", "b"])?;
    /// let model = MinError::new().fit(&data)?;
    /// assert_eq!(model.classify(&data)?, [0, 0, 1, 1]);
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn classify(&self, x: &Dataset) -> Result<Vec<u32>> {
        Ok(self.decide(&self.scores(x)?))
    }

    /// The classes predicted from scores of this model.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = Dataset::labelled(&[[0.0], [1.0], [2.0], [3.0]], &["a", "a", "b", "b"])?;
    /// let model = Logistic::l2().fit(&data)?;
    /// assert_eq!(model.decide(&model.scores(&data)?), [0, 0, 1, 1]);
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn decide(&self, scores: &Scores) -> Vec<u32> {
        scores.rows().map(|row| self.predictor.decide(row)).collect()
    }
}
