//! What a user may ask of a fit: the method and its settings, checked at one door.

mod convex;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::data::Target;
use crate::error::{Error, Result};
use crate::loss::{LossName, Quantile};
use crate::online::{Ties, Voters};
use crate::penalty::PenaltyName;
use crate::schedule::Schedule;
use crate::solve::SolverName;

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
    /// Log-odds that are linear in the features; more than two classes by softmax.
    Logistic,
    /// One linear score for each class, probabilities in proportion to their exponentials.
    Softmax,
    /// The soft margin: a support vector machine.
    Svm,
    /// The least sum of squared deviations from a real target.
    LeastSquares,
    /// The least sum of absolute deviations from a real target.
    Lad,
    /// Least squares on −1 and +1, and the sign.
    MseClassifier,
    /// The hyperplane that classifies the fewest rows wrongly.
    MinError,
    /// The largest margin of separable classes.
    HardMargin,
}

impl Method {
    /// All methods, in the order in which help lists them.
    pub const ALL: [Method; 18] = [
        Method::Logistic,
        Method::Softmax,
        Method::Svm,
        Method::HardMargin,
        Method::LeastSquares,
        Method::Lad,
        Method::MseClassifier,
        Method::MinError,
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
            Method::Logistic => "logistic",
            Method::Softmax => "softmax",
            Method::Svm => "svm",
            Method::LeastSquares => "least-squares",
            Method::Lad => "lad",
            Method::MseClassifier => "mse-classifier",
            Method::MinError => "min-error",
            Method::HardMargin => "hard-margin",
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
            Method::Logistic => "Log-odds linear in the features",
            Method::Softmax => "Log-odds for any number of classes",
            Method::Svm => "Soft margin: hinge or squared hinge",
            Method::LeastSquares => "Regression: squared deviations",
            Method::Lad => "Regression: absolute deviations",
            Method::MseClassifier => "Least squares on -1 and +1",
            Method::MinError => "The fewest errors of all hyperplanes",
            Method::HardMargin => "The largest margin of separable classes",
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

impl Method {
    /// Whether it minimises a loss and a penalty over all rows.
    pub fn is_convex(self) -> bool {
        matches!(
            self,
            Method::Logistic
                | Method::Softmax
                | Method::Svm
                | Method::LeastSquares
                | Method::Lad
                | Method::MseClassifier
        )
    }

    /// Whether it is for a real target.
    pub fn is_regression(self) -> bool {
        matches!(self, Method::LeastSquares | Method::Lad)
    }

    /// Whether it decides by estimated densities.
    pub fn is_bayes(self) -> bool {
        !self.is_online() && !self.is_convex() && !matches!(self, Method::MinError | Method::HardMargin)
    }

    /// The losses it can minimise, its own first.
    pub fn losses(self) -> &'static [LossName] {
        match self {
            Method::Logistic => &[LossName::Logistic, LossName::SigmoidMse],
            Method::Softmax => &[LossName::Softmax],
            Method::Svm => &[LossName::Hinge, LossName::SquaredHinge, LossName::ModifiedHuber],
            Method::LeastSquares | Method::MseClassifier => &[LossName::Squared],
            Method::Lad => &[LossName::Absolute],
            _ => &[],
        }
    }
}

/// How more than two classes are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Multiclass {
    /// One problem with a score for each class.
    Softmax,
    /// One problem for each class against all others; the largest score decides.
    Ovr,
    /// One problem for each pair of classes; most votes decide.
    Ovo,
}

/// How much each class counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClassWeights {
    /// Each as much as any other: n/(K·nₖ).
    Balanced,
    /// These classes so much, the others 1.
    Given(Vec<(String, f64)>),
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

/// A setting that only some methods have a use for: whether it is given, the option's name, and which methods.
type Special = (bool, &'static str, fn(Method) -> bool);

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
    /// Takes the rows as a multiset: a weight is a number of equal rows, and where a row stands tells nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub multiset: bool,
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
    /// ℓ, where the method leaves a choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossName>,
    /// Which quantile of the target least absolute deviations look for; by default the median, by |y − z|.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantile: Option<Quantile>,
    /// R; by default ℓ2 for classifiers and none for regression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub penalty: Option<PenaltyName>,
    /// How much the loss counts against the penalty; by default 1.
    #[serde(default, rename = "C", skip_serializing_if = "Option::is_none")]
    pub c: Option<f64>,
    /// The other common form of it: C = 1/(nλ).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambda: Option<f64>,
    /// ρ of the elastic net; by default ½.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l1_ratio: Option<f64>,
    /// The solver; by default chosen by the shape of the data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub solver: Option<SolverName>,
    /// The relative gap to reach; by default 10⁻⁶.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tol: Option<f64>,
    /// How much of the last step is added to the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub momentum: Option<f64>,
    /// How many rows make a stochastic gradient.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<usize>,
    /// How more than two classes are told apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multiclass: Option<Multiclass>,
    /// How much each class counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class_weight: Option<ClassWeights>,
    /// Penalises the intercept like a weight.
    #[serde(default)]
    pub penalize_intercept: bool,
    /// Takes the leading bias off a logistic fit, which then exists for separated classes too.
    #[serde(default)]
    pub firth: bool,
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

    /// The method asked for; a checked fit always has one.
    pub fn method(&self) -> Method {
        self.method.unwrap_or(Method::Logistic)
    }

    /// The method that a person who asked for none gets: by the target, unless a setting was given that
    /// only the mistake-driven methods have a use for.
    pub fn first_choice(&self, target: &Target) -> Method {
        let first = match target {
            Target::Real(_) => Method::LeastSquares,
            Target::Classes { classes, .. } if classes.len() > 2 => Method::Softmax,
            _ => Method::Logistic,
        };
        let fits = |method: Method| {
            self.special_settings()
                .iter()
                .all(|(given, _, fits)| !given || fits(method))
        };
        let others = [
            Method::Lad,
            Method::Svm,
            Method::AveragedPerceptron,
            Method::Perceptron,
        ];
        let mut candidates = [first].into_iter().chain(others);
        candidates.find(|&method| fits(method)).unwrap_or(first)
    }

    /// The relative gap to reach.
    pub fn tol(&self) -> f64 {
        self.tol.unwrap_or(1e-6)
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
        for (value, option) in [(self.c, "C"), (self.lambda, "lambda"), (self.tol, "tol")] {
            if let Some(value) = value
                && !(value.is_finite() && value > 0.0)
            {
                return Err(Error::settings(format!(
                    "--{option} must be a positive number, not {value}"
                )));
            }
        }
        self.check_convex()?;
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
        if self.multiset && self.rule == Some(Rule::Worst) {
            return Err(Error::settings(
                "the worst-classified row is one row: it does not go with a multiset",
            ));
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

    /// Settings that only some methods have a use for.
    fn special_settings(&self) -> [Special; 28] {
        let online: fn(Method) -> bool = Method::is_online;
        let perceptrons: fn(Method) -> bool = |method| method.is_online() && method != Method::Kozinec;
        let convex: fn(Method) -> bool = Method::is_convex;
        let steps: fn(Method) -> bool = |method| !method.is_bayes();
        let passes: fn(Method) -> bool = |method| method.is_online() || method.is_convex();
        let rates: fn(Method) -> bool =
            |method| method.is_convex() || (method.is_online() && method != Method::Kozinec);
        let classifiers: fn(Method) -> bool = |method| method.is_convex() && !method.is_regression();
        let weighted: fn(Method) -> bool =
            |method| method == Method::MinError || method.is_convex() && !method.is_regression();
        [
            (self.epochs.is_some(), "epochs", passes),
            (self.max_iter.is_some(), "max-iter", steps),
            (self.learning_rate.is_some(), "learning-rate", rates),
            (self.schedule.is_some(), "schedule", rates),
            (self.rule.is_some(), "rule", online),
            (self.multiset, "multiset", online),
            (self.ties.is_some(), "ties", perceptrons),
            (self.start.is_some(), "start", rates),
            (self.vote.is_some(), "vote", online),
            (self.epsilon.is_some(), "epsilon", |method| {
                method == Method::Kozinec
            }),
            (self.density.is_some(), "density", |method| {
                method == Method::NaiveBayes
            }),
            (self.penalties.is_some(), "penalties", Method::is_bayes),
            (self.no_intercept, "no-intercept", steps),
            (self.smoothing.is_some(), "smoothing", Method::is_bayes),
            (self.shrinkage.is_some(), "shrinkage", Method::is_bayes),
            (self.loss.is_some(), "loss", convex),
            (self.quantile.is_some(), "quantile", |method| {
                method == Method::Lad
            }),
            (self.penalty.is_some(), "penalty", convex),
            (self.c.is_some(), "C", convex),
            (self.lambda.is_some(), "lambda", convex),
            (self.solver.is_some(), "solver", convex),
            (self.tol.is_some(), "tol", |method| {
                method.is_convex() || method == Method::HardMargin
            }),
            (self.momentum.is_some(), "momentum", convex),
            (self.batch.is_some(), "batch", convex),
            (self.multiclass.is_some(), "multiclass", classifiers),
            (self.class_weight.is_some(), "class-weight", weighted),
            (self.penalize_intercept, "penalize-intercept", convex),
            (self.firth, "firth", |method| method == Method::Logistic),
        ]
    }
}
