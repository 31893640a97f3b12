//! What a user may ask of a fit: the method and its settings, checked at one door.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::online::{Ties, Voters};
use crate::schedule::Schedule;

/// The methods, by the names that users give them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Rosenblatt's perceptron, until no mistake is left.
    Perceptron,
    /// A perceptron that sees each example once, or a set number of times.
    OnlinePerceptron,
    /// All hyperplanes of an online perceptron vote.
    VotedPerceptron,
    /// The mean of all hyperplanes of an online perceptron.
    AveragedPerceptron,
    /// A perceptron that keeps the best hyperplane by training error.
    Pocket,
    /// Nearest points of the hulls: maximum margin up to ε.
    Kozinec,
    /// Class-conditional Gaussians with their own covariances.
    Gaussian,
    /// Class-conditional Gaussians with a shared covariance: linear discriminant analysis.
    Lda,
    /// Independent features within each class.
    NaiveBayes,
    /// The Gaussian mean under which the least likely example of each class is likeliest.
    Minimax,
}

impl Method {
    /// All methods, in the order in which help lists them.
    pub const ALL: [Method; 10] = [
        Method::Perceptron,
        Method::OnlinePerceptron,
        Method::VotedPerceptron,
        Method::AveragedPerceptron,
        Method::Pocket,
        Method::Kozinec,
        Method::Gaussian,
        Method::Lda,
        Method::NaiveBayes,
        Method::Minimax,
    ];

    /// Its name on the command line and in model files.
    pub fn name(self) -> &'static str {
        match self {
            Method::Perceptron => "perceptron",
            Method::OnlinePerceptron => "online-perceptron",
            Method::VotedPerceptron => "voted-perceptron",
            Method::AveragedPerceptron => "averaged-perceptron",
            Method::Pocket => "pocket",
            Method::Kozinec => "kozinec",
            Method::Gaussian => "gaussian",
            Method::Lda => "lda",
            Method::NaiveBayes => "naive-bayes",
            Method::Minimax => "minimax",
        }
    }

    /// What it does, in a few words.
    pub fn description(self) -> &'static str {
        match self {
            Method::Perceptron => "Until no mistake is left",
            Method::OnlinePerceptron => "Each example once",
            Method::VotedPerceptron => "All its hyperplanes vote",
            Method::AveragedPerceptron => "The mean of its hyperplanes",
            Method::Pocket => "The best hyperplane it has held",
            Method::Kozinec => "Maximum margin up to epsilon",
            Method::Gaussian => "Gaussian classes, quadratic boundaries",
            Method::Lda => "Gaussian classes, linear boundaries",
            Method::NaiveBayes => "Independent features",
            Method::Minimax => "Smallest balls around the classes",
        }
    }

    /// Whether it learns a row at a time, driven by its mistakes.
    pub fn is_online(self) -> bool {
        matches!(
            self,
            Method::Perceptron
                | Method::OnlinePerceptron
                | Method::VotedPerceptron
                | Method::AveragedPerceptron
                | Method::Pocket
                | Method::Kozinec
        )
    }
}

/// Which example a mistake-driven learner looks at next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The rows in order, again and again.
    Cyclic,
    /// The rows in an order shuffled anew for every pass.
    Shuffled,
    /// The row that is classified worst of all.
    Worst,
}

/// How a feature is distributed within a class, for naive Bayes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Density {
    /// Normal, with a mean and a variance for each class.
    #[default]
    Gaussian,
    /// Present (greater than 0) or not.
    Bernoulli,
    /// Counts of draws.
    Multinomial,
}

/// What is asked of a fit. What is `None` takes the method's own default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The method; by default the [first choice](Settings::first_choice) for the data.
    pub method: Option<Method>,
    /// Passes over the data: exactly so many for the online methods, at most so many for the others.
    pub epochs: Option<f64>,
    /// At most so many updates.
    pub max_iter: Option<u64>,
    /// At most so many seconds.
    pub max_seconds: Option<f64>,
    /// The learning rate of the first update; by default 1.
    pub learning_rate: Option<f64>,
    /// How it changes.
    pub schedule: Option<Schedule>,
    /// Which example comes next.
    pub rule: Option<Rule>,
    /// What a score of exactly 0 means.
    pub ties: Option<Ties>,
    /// Where to start: the intercept first (if there is one), then the weights.
    pub start: Option<Vec<f64>>,
    /// Lets the hyperplanes of a mistake-driven learner vote.
    pub vote: Option<Voters>,
    /// The relative margin that may be missing, for Kozinec's algorithm.
    pub epsilon: Option<f64>,
    /// How features are distributed, for naive Bayes.
    pub density: Option<Density>,
    /// Pseudo-counts added for naive Bayes, or the share of the largest variance that is added to all.
    pub smoothing: Option<f64>,
    /// What is added to the diagonal of covariances, relatively to their mean.
    pub shrinkage: Option<f64>,
    /// The penalty W(k, d) of deciding d when k is true, row by row.
    pub penalties: Option<Vec<Vec<f64>>>,
    /// Leaves the intercept out.
    pub no_intercept: bool,
    /// The share of the rows that was held out of the training, so that a claim is checked on the rest.
    pub holdout: Option<f64>,
    /// The seed of everything random.
    pub seed: u64,
}

impl Settings {
    /// Settings for a method, all others at their defaults.
    pub fn for_method(method: Method) -> Self {
        Settings {
            method: Some(method),
            ..Settings::default()
        }
    }

    /// The method asked for, or the one that fits any data.
    pub fn method(&self) -> Method {
        self.method.unwrap_or(Method::AveragedPerceptron)
    }

    /// The method that a person who asked for none should try first: the linear discriminant on a few
    /// dense columns with rows enough to estimate their covariance, unless a setting was given that only
    /// a mistake-driven method has a use for.
    pub fn first_choice(&self, data: &Dataset) -> Method {
        const FEW_COLUMNS: usize = 100;
        let enough = data.class_counts().iter().all(|&rows| rows > data.features());
        let suits = !data.design.is_sparse() && data.features() <= FEW_COLUMNS && enough;
        let free = self
            .special_settings()
            .iter()
            .all(|(given, _, fits)| !given || fits(Method::Lda));
        if suits && free {
            Method::Lda
        } else {
            Method::AveragedPerceptron
        }
    }

    /// The most time the fit may take.
    pub(crate) fn max_time(&self) -> Option<Duration> {
        self.max_seconds.map(Duration::from_secs_f64)
    }

    /// Refuses numbers out of range and settings that the method has no use for.
    pub fn check(&self) -> Result<()> {
        let method = self.method();
        if let Some(seconds) = self.max_seconds
            && !(seconds.is_finite() && seconds > 0.0 && seconds < 1e15)
        {
            return Err(Error::settings(format!(
                "--max-seconds must be a positive number, not {seconds}"
            )));
        }
        if let Some(epochs) = self.epochs
            && !(epochs.is_finite() && epochs > 0.0 && epochs < 1e15)
        {
            return Err(Error::settings(format!(
                "--epochs must be a positive number, not {epochs}"
            )));
        }
        if self.max_iter == Some(0) {
            return Err(Error::settings("--max-iter must be at least 1, not 0"));
        }
        if let Some(Schedule::Halving { first: 0 }) = self.schedule {
            return Err(Error::settings(
                "the halving schedule needs at least one step at the full rate",
            ));
        }
        for (given, option, fits) in self.special_settings() {
            if given && !fits(method) {
                return Err(Error::settings(format!(
                    "--{option} does not go with --method {}",
                    method.name()
                )));
            }
        }
        if self.schedule.is_some() && method == Method::Kozinec {
            return Err(Error::settings(
                "--schedule does not go with --method kozinec, which has no learning rate",
            ));
        }
        if self.vote.is_some() && matches!(method, Method::AveragedPerceptron | Method::Pocket) {
            return Err(Error::settings(format!(
                "--vote does not go with --method {}, which has its own way to choose one hyperplane",
                method.name()
            )));
        }
        Ok(())
    }

    /// Settings that only some methods have a use for: whether given, the option's name, and which methods.
    #[allow(clippy::type_complexity)]
    fn special_settings(&self) -> [(bool, &'static str, fn(Method) -> bool); 12] {
        let online: fn(Method) -> bool = Method::is_online;
        let perceptrons: fn(Method) -> bool = |method| method.is_online() && method != Method::Kozinec;
        let bayes: fn(Method) -> bool = |method| !method.is_online();
        [
            (self.epochs.is_some(), "epochs", online),
            (self.max_iter.is_some(), "max-iter", online),
            (self.learning_rate.is_some(), "learning-rate", perceptrons),
            (self.schedule.is_some(), "schedule", perceptrons),
            (self.rule.is_some(), "rule", online),
            (self.ties.is_some(), "ties", perceptrons),
            (self.start.is_some(), "start", perceptrons),
            (self.vote.is_some(), "vote", online),
            (self.epsilon.is_some(), "epsilon", |method| {
                method == Method::Kozinec
            }),
            (self.density.is_some(), "density", |method| {
                method == Method::NaiveBayes
            }),
            (self.penalties.is_some(), "penalties", bayes),
            (self.no_intercept, "no-intercept", online),
        ]
    }
}
