//! The fitted model: the values that a fit stores, and access to them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::certificate::{Certificate, Enclosure};
use crate::inference::Inference;
use crate::model::{FitRecord, History, Note, Predictor};
use crate::settings::{Method, Settings};
use wstar_data::linear::Hyperplane;
use wstar_data::run::Status;
use wstar_data::{Classes, Schema};
use wstar_solve::LeastSquaresReport;

/// A fitted model: everything needed to predict from a raw row and to verify its certificate.
///
/// A model does not depend on the time or place of the fit: the same data, settings and seed give the same file. A model
/// that is read, by [`Model::load`] or with `serde`, is checked to be consistent.
///
/// ```
/// use wstar::prelude::*;
/// let data = Dataset::labelled(&[[0.0], [1.0], [2.0], [3.0]], &["a", "a", "b", "b"])?;
/// let model = Logistic::l2().fit(&data)?;
/// assert_eq!(model.labels(&data)?, ["a", "a", "b", "b"]);
/// assert!(model.verify(&data)?.holds());
/// # Ok::<(), wstar::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "super::model_file::Unchecked")]
pub struct Model {
    /// The settings of the fit.
    pub(crate) settings: Settings,
    /// How raw columns become features. All models of a path share one schema.
    pub(crate) schema: Arc<Schema>,
    /// The classes; empty for a real target.
    pub(crate) classes: Classes,
    /// How the model predicts.
    pub(crate) predictor: Predictor,
    /// How the fit ended, and its counts.
    pub(crate) fit: FitRecord,
    /// The certificate, recomputed from the rows.
    pub(crate) certificate: Certificate,
    /// Standard errors, tests and intervals, where they are valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) inference: Option<Inference>,
    /// Intervals that contain the optimum of every subproblem, where they were proved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) proved: Option<Vec<Enclosure>>,
    /// Rank, condition and residuals of least squares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) least_squares: Option<LeastSquaresReport>,
    /// Objective and gap by iteration, for methods that minimise an objective.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) history: Option<History>,
    /// The digest of the training rows, if the caller stored one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) digest: Option<String>,
}

impl Model {
    /// The method of the fit.
    pub fn method(&self) -> Method {
        self.settings.method()
    }

    /// The settings of the fit.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = Dataset::labelled(&[[0.0], [1.0], [2.0], [3.0]], &["a", "a", "b", "b"])?;
    /// let model = Logistic::l2().tol(1e-9).fit(&data)?;
    /// assert_eq!(model.settings().tol(), Some(1e-9));
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// How raw columns become features.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The classes; empty for a real target.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = Dataset::labelled(&[[0.0], [1.0], [2.0], [3.0]], &["a", "a", "b", "b"])?;
    /// assert_eq!(Logistic::l2().fit(&data)?.classes().names(), ["a", "b"]);
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn classes(&self) -> &Classes {
        &self.classes
    }

    /// How the model predicts.
    pub fn predictor(&self) -> &Predictor {
        &self.predictor
    }

    /// The weights and intercepts: one hyperplane for two classes or a real target, otherwise one for each class or pair;
    /// `None` if the scores are not linear.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = Dataset::measured(&[vec![0.0], vec![1.0], vec![2.0]], vec![1.0, 3.0, 5.0])?;
    /// let planes = LeastSquares::unpenalized().fit(&data)?.hyperplanes().unwrap_or_default();
    /// assert!((planes[0].intercept - 1.0).abs() < 1e-12);
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn hyperplanes(&self) -> Option<Vec<Hyperplane>> {
        self.predictor.hyperplanes()
    }

    /// How the fit ended, and its counts.
    pub fn record(&self) -> &FitRecord {
        &self.fit
    }

    /// How the fit ended.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = Dataset::labelled(&[[0.0], [1.0], [2.0], [3.0]], &["a", "a", "b", "b"])?;
    /// assert_eq!(Logistic::l2().fit(&data)?.status(), Status::Converged);
    /// assert_eq!(Logistic::l2().max_seconds(1e-9).fit(&data)?.status(), Status::TimeLimit);
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn status(&self) -> Status {
        self.fit.status
    }

    /// Notes about the fit for the user.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = Dataset::labelled(&[[0.0], [1.0], [2.0], [3.0]], &["a", "a", "b", "b"])?;
    /// // Without a penalty, separable classes have no logistic fit. A note says so.
    /// let model = Logistic::unpenalized().fit(&data)?;
    /// assert_eq!(model.status(), Status::Diverging);
    /// assert!(!model.notes().is_empty());
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn notes(&self) -> &[Note] {
        &self.fit.notes
    }

    /// The certificate, recomputed from the rows.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = Dataset::measured(&[[0.0], [1.0], [2.0], [3.0]], vec![1.0, 3.0, 5.5, 7.0])?;
    /// let model = LeastSquares::l2().fit(&data)?;
    /// let Certificate::DualityGap { parts } = model.certificate() else { panic!("a convex objective has a gap") };
    /// assert!(model.certificate().holds() && parts[0].relative_gap <= 1e-6);
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// Standard errors, tests and intervals, where they are valid.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = Dataset::measured(&[[0.0], [1.0], [2.0], [3.0]], vec![1.0, 3.0, 5.5, 7.0])?;
    /// let model = LeastSquares::unpenalized().fit(&data)?;
    /// let inference = model.inference().expect("no penalty, so standard errors are valid");
    /// assert_eq!(inference.coefficients().len(), 2);
    /// assert!(LeastSquares::l2().fit(&data)?.inference().is_none());
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn inference(&self) -> Option<&Inference> {
        self.inference.as_ref()
    }

    /// Proved intervals for the parameters of the optimum and their standard errors, one enclosure for each subproblem in the order of
    /// the [hyperplanes](Model::hyperplanes): the weights first, then the intercept. `None` where nothing was proved.
    ///
    /// They are about the real-number problem that the stored rows state. They are computed during a fit if this takes a few
    /// milliseconds, and otherwise on request ([`Prove::Digits`](crate::settings::Prove)).
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = Dataset::measured(&[[-1.0], [0.0], [1.0]], vec![0.0, -1.0, 4.0])?;
    /// let model = LeastSquares::unpenalized().fit(&data)?;
    /// let proved = &model.proved().expect("the columns are independent")[0];
    /// assert!(proved.lower(0) <= 2.0 && 2.0 <= proved.upper(0) && proved.digits(0) >= 16);
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn proved(&self) -> Option<&[Enclosure]> {
        self.proved.as_deref()
    }

    /// Rank, condition and residuals of least squares.
    pub fn least_squares(&self) -> Option<&LeastSquaresReport> {
        self.least_squares.as_ref()
    }

    /// Objective and gap by iteration, for methods that minimise an objective.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = Dataset::labelled(&[[0.0], [1.0], [2.0], [3.0]], &["a", "a", "b", "b"])?;
    /// let model = Logistic::l2().fit(&data)?;
    /// let history = model.history().expect("the fit minimised an objective");
    /// assert_eq!(history.iterations().len(), history.objectives().len());
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn history(&self) -> Option<&History> {
        self.history.as_ref()
    }

    /// The [digest](wstar_data::Dataset::digest) of the training rows, if the caller stored one.
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// Stores the [digest](wstar_data::Dataset::digest) of the training rows.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = Dataset::labelled(&[[0.0], [1.0], [2.0], [3.0]], &["a", "a", "b", "b"])?;
    /// let model = Logistic::l2().fit(&data)?.with_digest(Some(data.digest()));
    /// assert_eq!(model.digest(), Some(data.digest().as_str()));
    /// # Ok::<(), wstar::Error>(())
    /// ```
    #[must_use]
    pub fn with_digest(mut self, digest: Option<String>) -> Self {
        self.digest = digest;
        self
    }
}
