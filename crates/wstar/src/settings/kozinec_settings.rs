//! The settings of Kozinec's algorithm.

use serde::{Deserialize, Serialize};

use super::checks::{at_least_one, check_multiset, limit};
use super::common::{Common, budget, common_setters};
use super::{Options, Rule};
use crate::online::Voters;
use wstar_data::error::Result;
use wstar_data::run::Budget;
use wstar_data::setting::Setting;

/// The relative tolerance on the margin by default. Heuristic: trades margin against updates; not measured yet.
const EPSILON: f64 = 0.01;

/// The settings of Kozinec's algorithm, which finds the maximum margin up to a relative ε.
///
/// ```
/// use wstar::data::Dataset;
/// use wstar::settings::KozinecMargin;
/// let rows = [[0.0, 2.0], [1.0, 3.0], [2.0, 0.0], [3.0, 1.0]];
/// let data = Dataset::labelled(&rows.map(Vec::from), &["a", "a", "b", "b"])?;
/// let model = KozinecMargin::within(1e-3).fit(&data)?;
/// assert!(model.certificate().holds());
/// # Ok::<(), wstar::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[must_use]
pub struct KozinecMargin {
    /// The relative tolerance ε on the margin.
    pub(crate) epsilon: f64,
    /// The most passes over the data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) epochs: Option<f64>,
    /// The most updates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_iter: Option<u64>,
    /// Which example comes next; by default the rows in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rule: Option<Rule>,
    /// Treats the rows as a multiset.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) multiset: bool,
    /// Predicts by a vote of these hyperplanes of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) vote: Option<Voters>,
    /// Whether there is an intercept.
    pub(crate) intercept: bool,
    /// The settings of every method.
    pub(crate) common: Common,
}

impl KozinecMargin {
    /// The maximum margin up to the relative tolerance `epsilon`.
    pub fn within(epsilon: f64) -> Self {
        KozinecMargin {
            epsilon,
            epochs: None,
            max_iter: None,
            rule: None,
            multiset: false,
            vote: None,
            intercept: true,
            common: Common::default(),
        }
    }

    /// Sets the most passes over the data.
    pub fn epochs(mut self, epochs: f64) -> Self {
        self.epochs = Some(epochs);
        self
    }

    /// Sets the most updates.
    pub fn max_iter(mut self, updates: u64) -> Self {
        self.max_iter = Some(updates);
        self
    }

    /// Predicts by a vote of these hyperplanes of the run.
    pub fn vote(mut self, voters: Voters) -> Self {
        self.vote = Some(voters);
        self
    }

    /// Treats the rows as a multiset: a weight is a number of equal rows, and the position of a row carries no information.
    pub fn multiset(mut self) -> Self {
        self.multiset = true;
        self
    }

    /// Sets which example comes next.
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rule = Some(rule);
        self
    }

    /// Fits a hyperplane through the origin.
    pub fn no_intercept(mut self) -> Self {
        self.intercept = false;
        self
    }

    pub(super) fn take(options: &mut Options) -> Self {
        KozinecMargin {
            epsilon: options.epsilon.take().unwrap_or(EPSILON),
            epochs: options.epochs.take(),
            max_iter: options.max_iter.take(),
            rule: options.rule.take(),
            multiset: std::mem::take(&mut options.multiset),
            vote: options.vote.take(),
            intercept: !std::mem::take(&mut options.no_intercept),
            common: Common::take(options),
        }
    }

    pub(super) fn give(&self, options: &mut Options) {
        options.epsilon = Some(self.epsilon).filter(|epsilon| *epsilon != EPSILON);
        options.epochs = self.epochs;
        options.max_iter = self.max_iter;
        options.rule = self.rule;
        options.multiset = self.multiset;
        options.vote = self.vote;
        options.no_intercept = !self.intercept;
    }

    pub(super) fn check(&self) -> Result<()> {
        limit(Setting::Epochs, self.epochs)?;
        at_least_one(Setting::MaxIter, self.max_iter)?;
        check_multiset(self.multiset, self.rule)
    }

    pub(crate) fn budget(&self) -> Budget {
        budget(self.max_iter, &self.common)
    }
}

common_setters!(KozinecMargin, this => this.common);
