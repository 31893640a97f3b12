//! The settings of the maximum-margin hyperplane.

use serde::{Deserialize, Serialize};

use super::Options;
use super::checks::{at_least_one, positive};
use super::common::{Common, budget, common_setters};
use wstar_data::error::Result;
use wstar_data::run::Budget;
use wstar_data::setting::Setting;

/// The relative gap by default. Heuristic: nearly all digits of the optimum, for more time than a looser gap; not
/// measured yet.
const TOL: f64 = 1e-8;

/// The settings of the maximum-margin hyperplane of separable classes.
///
/// ```
/// use wstar::data::Dataset;
/// use wstar::settings::MaximumMargin;
/// let rows = [[0.0, 2.0], [1.0, 3.0], [2.0, 0.0], [3.0, 1.0]];
/// let data = Dataset::labelled(&rows.map(Vec::from), &["a", "a", "b", "b"])?;
/// let model = MaximumMargin::new().fit(&data)?;
/// assert!(model.certificate().holds());
/// # Ok::<(), wstar::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[must_use]
pub struct MaximumMargin {
    /// The relative duality gap to reach.
    pub(crate) tol: f64,
    /// The most steps of the active-set method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_iter: Option<u64>,
    /// Whether there is an intercept.
    pub(crate) intercept: bool,
    /// The settings of every method.
    pub(crate) common: Common,
}

impl Default for MaximumMargin {
    fn default() -> Self {
        MaximumMargin::new()
    }
}

impl MaximumMargin {
    /// All defaults.
    pub fn new() -> Self {
        MaximumMargin {
            tol: TOL,
            max_iter: None,
            intercept: true,
            common: Common::default(),
        }
    }

    /// Sets the relative duality gap to reach.
    pub fn tol(mut self, tol: f64) -> Self {
        self.tol = tol;
        self
    }

    /// Sets the most steps of the active-set method.
    pub fn max_iter(mut self, steps: u64) -> Self {
        self.max_iter = Some(steps);
        self
    }

    /// Fits a hyperplane through the origin.
    pub fn no_intercept(mut self) -> Self {
        self.intercept = false;
        self
    }

    pub(super) fn take(options: &mut Options) -> Self {
        MaximumMargin {
            tol: options.tol.take().unwrap_or(TOL),
            max_iter: options.max_iter.take(),
            intercept: !std::mem::take(&mut options.no_intercept),
            common: Common::take(options),
        }
    }

    pub(super) fn give(&self, options: &mut Options) {
        options.tol = Some(self.tol).filter(|tol| *tol != TOL);
        options.max_iter = self.max_iter;
        options.no_intercept = !self.intercept;
    }

    pub(super) fn check(&self) -> Result<()> {
        positive(Setting::Tol, Some(self.tol))?;
        at_least_one(Setting::MaxIter, self.max_iter)
    }

    pub(crate) fn budget(&self) -> Budget {
        budget(self.max_iter, &self.common)
    }
}

common_setters!(MaximumMargin, this => this.common);
