//! The perceptron (F. Rosenblatt, The perceptron: a probabilistic model for information storage and organization
//! in the brain, Psychological Review 65, 1958): at each mistake, the example is added to the weights.
//!
//! Finds `w, b` with `yᵢ(w·xᵢ + b) > 0` for all `i`, if such a hyperplane exists, by `(w, b) += αₜ·y·(x, 1)` at
//! every mistake. With a margin `γ` and `‖(x, 1)‖ ≤ R` it makes at most `R²/γ²` updates (A. B. J. Novikoff, On
//! convergence proofs on perceptrons, Symposium on the Mathematical Theory of Automata, 1962).

use serde::{Deserialize, Serialize};

use crate::online::{Change, Learner, Seen};
use wstar_data::Row;
use wstar_data::error::{Error, Range, Result};
use wstar_data::linear::Hyperplane;
use wstar_data::setting::Setting;
use wstar_solve::learning_rate::Schedule;

/// How a score of exactly 0 is interpreted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Ties {
    /// As a mistake, whatever the label; it is predicted as the negative class.
    #[default]
    Mistake,
    /// As the positive class, so that it is a mistake only for a negative example.
    Positive,
}

impl Ties {
    /// Whether an example with this score and label counts as a mistake.
    pub fn is_mistake(self, score: f64, y: f64) -> bool {
        match self {
            Ties::Mistake => y * score <= 0.0,
            Ties::Positive => (score >= 0.0) != (y > 0.0),
        }
    }

    /// Whether a score is predicted as the positive class.
    pub fn is_positive(self, score: f64) -> bool {
        match self {
            Ties::Mistake => score > 0.0,
            Ties::Positive => score >= 0.0,
        }
    }
}

/// The settings of a perceptron.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PerceptronRule {
    /// The learning rate α of the first update.
    pub(crate) rate: f64,
    /// How the rate changes with the number of updates.
    pub(crate) schedule: Schedule,
    /// How a score of 0 is interpreted.
    pub(crate) ties: Ties,
    /// Whether there is an intercept (the lifted form). Without one, the hyperplane passes through the origin.
    pub(crate) intercept: bool,
}

impl Default for PerceptronRule {
    fn default() -> Self {
        PerceptronRule {
            rate: 1.0,
            schedule: Schedule::Constant,
            ties: Ties::Mistake,
            intercept: true,
        }
    }
}

impl PerceptronRule {
    /// Rejects a rate that is not a positive number.
    pub fn check(&self) -> Result<()> {
        if self.rate.is_finite() && self.rate > 0.0 {
            Ok(())
        } else {
            Err(Error::out_of_range(
                Setting::LearningRate,
                Range::Positive,
                self.rate,
            ))
        }
    }
}

/// A perceptron: a hyperplane that is updated at every mistake.
#[derive(Debug, Clone)]
pub struct Perceptron {
    rule: PerceptronRule,
    hyperplane: Hyperplane,
    updates: u64,
}

impl Perceptron {
    /// A perceptron that starts from the given hyperplane.
    pub fn new(rule: PerceptronRule, start: Hyperplane) -> Self {
        Perceptron {
            rule,
            hyperplane: start,
            updates: 0,
        }
    }

    /// Its settings.
    pub fn rule(&self) -> &PerceptronRule {
        &self.rule
    }
}

impl Learner for Perceptron {
    fn see(&mut self, _id: u64, x: Row<'_>, y: f64, weight: f64) -> Seen {
        let score = self.hyperplane.score(x);
        let wrong = self.errs(score, y);
        let change = if wrong {
            self.updates += 1;
            let step = self.rule.rate * self.rule.schedule.factor(self.updates) * weight * y;
            self.hyperplane.add(step, x, self.rule.intercept);
            Change::Add(step)
        } else {
            Change::None
        };
        Seen { score, wrong, change }
    }

    fn errs(&self, score: f64, y: f64) -> bool {
        self.rule.ties.is_mistake(score, y)
    }

    fn hyperplane(&self) -> &Hyperplane {
        &self.hyperplane
    }
}
