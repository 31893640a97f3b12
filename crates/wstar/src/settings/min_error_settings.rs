//! The settings of the hyperplane with the fewest training errors.

use serde::{Deserialize, Serialize};

use super::Options;
use super::checks::{at_least_one, check_class_weight};
use super::common::{Common, budget, common_setters};
use wstar_data::error::Result;
use wstar_data::run::Budget;
use wstar_data::setting::Setting;
use wstar_problem::multiclass::ClassWeights;

/// The settings of the hyperplane with the fewest training errors.
///
/// ```
/// use wstar::data::Dataset;
/// use wstar::settings::MinError;
/// let rows = [[0.0], [1.0], [2.0], [3.0]].map(Vec::from);
/// let data = Dataset::labelled(&rows, &["a", "b", "a", "b"])?;
/// let model = MinError::new().max_seconds(5.0).fit(&data)?;
/// assert!(model.certificate().holds());
/// # Ok::<(), wstar::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[must_use]
pub struct MinError {
    /// The cost of an error in each class; by default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) class_weight: Option<ClassWeights>,
    /// The most nodes of the search tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_iter: Option<u64>,
    /// Whether there is an intercept.
    pub(crate) intercept: bool,
    /// The settings of every method.
    pub(crate) common: Common,
}

impl Default for MinError {
    fn default() -> Self {
        MinError::new()
    }
}

impl MinError {
    /// All defaults.
    pub fn new() -> Self {
        MinError {
            class_weight: None,
            max_iter: None,
            intercept: true,
            common: Common::default(),
        }
    }

    /// Sets the cost of an error in each class.
    pub fn class_weight(mut self, weights: ClassWeights) -> Self {
        self.class_weight = Some(weights);
        self
    }

    /// Sets the most nodes of the search tree.
    pub fn max_iter(mut self, nodes: u64) -> Self {
        self.max_iter = Some(nodes);
        self
    }

    /// Fits a hyperplane through the origin.
    pub fn no_intercept(mut self) -> Self {
        self.intercept = false;
        self
    }

    pub(super) fn take(options: &mut Options) -> Self {
        MinError {
            class_weight: options.class_weight.take(),
            max_iter: options.max_iter.take(),
            intercept: !std::mem::take(&mut options.no_intercept),
            common: Common::take(options),
        }
    }

    pub(super) fn give(&self, options: &mut Options) {
        options.class_weight = self.class_weight.clone();
        options.max_iter = self.max_iter;
        options.no_intercept = !self.intercept;
    }

    pub(super) fn check(&self) -> Result<()> {
        at_least_one(Setting::MaxIter, self.max_iter)?;
        check_class_weight(self.class_weight.as_ref())
    }

    pub(crate) fn budget(&self) -> Budget {
        budget(self.max_iter, &self.common)
    }
}

common_setters!(MinError, this => this.common);
