//! The settings of Rosenblatt's perceptron and its variants.

use serde::{Deserialize, Serialize};

use super::checks::{at_least_one, check_multiset, check_schedule, limit, misplaced};
use super::common::{Common, budget, common_setters};
use super::{Family, Method, Options, Rule};
use crate::online::{PerceptronRule, Ties, Voters};
use wstar_data::error::{Error, Result};
use wstar_data::run::Budget;
use wstar_data::setting::Setting;
use wstar_solve::learning_rate::Schedule;

/// The settings of a perceptron.
///
/// ```
/// use wstar::data::Dataset;
/// use wstar::settings::Perceptrons;
/// let rows = [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]];
/// let data = Dataset::labelled(&rows.map(Vec::from), &["spam", "ham", "ham"])?;
/// let model = Perceptrons::until_separated().fit(&data)?;
/// assert!(model.verify(&data)?.holds());
/// # Ok::<(), wstar::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[must_use]
pub struct Perceptrons {
    /// The variant.
    pub(crate) method: Method,
    /// Passes over the data: the most for the perceptron and the pocket, the exact number for the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) epochs: Option<f64>,
    /// The most updates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_iter: Option<u64>,
    /// The learning rate of the first update.
    pub(crate) learning_rate: f64,
    /// How the learning rate changes with the updates.
    pub(crate) schedule: Schedule,
    /// Which example comes next; the default depends on the variant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rule: Option<Rule>,
    /// Treats the rows as a multiset: a weight is a number of equal rows, and the position of a row carries no
    /// information.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) multiset: bool,
    /// The meaning of a score of exactly 0.
    pub(crate) ties: Ties,
    /// The starting point: the intercept first (if there is one), then the weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) start: Option<Vec<f64>>,
    /// Predicts by a vote of these hyperplanes of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) vote: Option<Voters>,
    /// Whether there is an intercept.
    pub(crate) intercept: bool,
    /// The settings of every method.
    pub(crate) common: Common,
}

impl Perceptrons {
    fn new(method: Method) -> Self {
        Perceptrons {
            method,
            epochs: None,
            max_iter: None,
            learning_rate: 1.0,
            schedule: Schedule::default(),
            rule: None,
            multiset: false,
            ties: Ties::default(),
            start: None,
            vote: None,
            intercept: true,
            common: Common::default(),
        }
    }

    /// Passes over the data until no mistake is left.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = Dataset::labelled(&[[0.0], [1.0], [3.0], [4.0]], &["low", "low", "high", "high"])?;
    /// let model = Perceptrons::until_separated().fit(&data)?;
    /// assert_eq!(model.labels(&data)?, ["low", "low", "high", "high"]);
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn until_separated() -> Self {
        Perceptrons::new(Method::Perceptron)
    }

    /// A fixed number of passes, by default one.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = Dataset::labelled(&[[0.0], [1.0], [3.0], [4.0]], &["low", "low", "high", "high"])?;
    /// let model = Perceptrons::online().epochs(3.0).rule(Rule::Shuffled).fit(&data)?;
    /// assert_eq!(model.record().seen, 12);
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn online() -> Self {
        Perceptrons::new(Method::OnlinePerceptron)
    }

    /// A vote of all hyperplanes of an online run.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = Dataset::labelled(&[[0.0], [1.0], [3.0], [4.0]], &["low", "low", "high", "high"])?;
    /// let model = Perceptrons::voted().epochs(10.0).fit(&data)?;
    /// assert_eq!(model.hyperplanes(), None);
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn voted() -> Self {
        Perceptrons::new(Method::VotedPerceptron)
    }

    /// The mean of all hyperplanes of an online run.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = Dataset::labelled(&[[0.0], [1.0], [3.0], [4.0]], &["low", "low", "high", "high"])?;
    /// let model = Perceptrons::averaged().epochs(10.0).fit(&data)?;
    /// assert_eq!(model.hyperplanes().map(|planes| planes.len()), Some(1));
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn averaged() -> Self {
        Perceptrons::new(Method::AveragedPerceptron)
    }

    /// The hyperplane of the run with the fewest training errors.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = Dataset::labelled(&[[0.0], [1.0], [3.0], [4.0]], &["low", "low", "high", "high"])?;
    /// let model = Perceptrons::pocket().epochs(10.0).fit(&data)?;
    /// assert_eq!(model.hyperplanes().map(|planes| planes.len()), Some(1));
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn pocket() -> Self {
        Perceptrons::new(Method::Pocket)
    }

    /// Sets the passes over the data.
    pub fn epochs(mut self, epochs: f64) -> Self {
        self.epochs = Some(epochs);
        self
    }

    /// Sets the most updates.
    pub fn max_iter(mut self, updates: u64) -> Self {
        self.max_iter = Some(updates);
        self
    }

    /// Sets the learning rate of the first update, and how it changes.
    pub fn learning_rate(mut self, first: f64, schedule: Schedule) -> Self {
        (self.learning_rate, self.schedule) = (first, schedule);
        self
    }

    /// Sets which example comes next.
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rule = Some(rule);
        self
    }

    /// Sets the meaning of a score of exactly 0.
    pub fn ties(mut self, ties: Ties) -> Self {
        self.ties = ties;
        self
    }

    /// Predicts by a vote of these hyperplanes of the run. The averaged perceptron and the pocket refuse it.
    pub fn vote(mut self, voters: Voters) -> Self {
        self.vote = Some(voters);
        self
    }

    /// Treats the rows as a multiset: a weight is a number of equal rows, and the position of a row carries no information.
    pub fn multiset(mut self) -> Self {
        self.multiset = true;
        self
    }

    /// Sets the starting point: the intercept first, then the weights.
    pub fn start(mut self, numbers: impl Into<Vec<f64>>) -> Self {
        self.start = Some(numbers.into());
        self
    }

    /// Fits a hyperplane through the origin.
    pub fn no_intercept(mut self) -> Self {
        self.intercept = false;
        self
    }

    /// The variant.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Whether the variant lets several hyperplanes vote. The averaged perceptron and the pocket choose one in their own
    /// way.
    fn may_vote(method: Method) -> bool {
        !matches!(method, Method::AveragedPerceptron | Method::Pocket)
    }

    pub(super) fn take(method: Method, options: &mut Options) -> Self {
        Perceptrons {
            method,
            epochs: options.epochs.take(),
            max_iter: options.max_iter.take(),
            learning_rate: options.learning_rate.take().unwrap_or(1.0),
            schedule: options.schedule.take().unwrap_or_default(),
            rule: options.rule.take(),
            multiset: std::mem::take(&mut options.multiset),
            ties: options.ties.take().unwrap_or_default(),
            start: options.start.take(),
            vote: options.vote.take_if(|_| Perceptrons::may_vote(method)),
            intercept: !std::mem::take(&mut options.no_intercept),
            common: Common::take(options),
        }
    }

    pub(super) fn give(&self, options: &mut Options) {
        options.epochs = self.epochs;
        options.max_iter = self.max_iter;
        options.learning_rate = Some(self.learning_rate).filter(|rate| *rate != 1.0);
        options.schedule = Some(self.schedule).filter(|schedule| *schedule != Schedule::default());
        options.rule = self.rule;
        options.multiset = self.multiset;
        options.ties = Some(self.ties).filter(|ties| *ties != Ties::default());
        options.start = self.start.clone();
        options.vote = self.vote;
        options.no_intercept = !self.intercept;
    }

    pub(super) fn check(&self) -> Result<()> {
        let name = self.method.name();
        if self.method.family() != Family::Perceptrons {
            return Err(Error::settings(format!("{name} is not a perceptron")));
        }
        limit(Setting::Epochs, self.epochs)?;
        at_least_one(Setting::MaxIter, self.max_iter)?;
        check_schedule(Some(self.schedule))?;
        if self.vote.is_some() && !Perceptrons::may_vote(self.method) {
            return Err(misplaced(Setting::Vote, self.method));
        }
        check_multiset(self.multiset, self.rule)
    }

    /// The update rule of the learner.
    pub(crate) fn update_rule(&self) -> PerceptronRule {
        PerceptronRule {
            rate: self.learning_rate,
            schedule: self.schedule,
            ties: self.ties,
            intercept: self.intercept,
        }
    }

    pub(crate) fn budget(&self) -> Budget {
        budget(self.max_iter, &self.common)
    }
}

common_setters!(Perceptrons, this => this.common);
