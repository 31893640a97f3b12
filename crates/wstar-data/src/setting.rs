//! Settings by name, and how a front end words them.
//!
//! The library speaks of settings as data: a [`Setting`], or a [`Choice`] of its values. Each front end words them in its own
//! language (`--penalty l2` on the command line, `penalty="l2"` in Python) by implementing [`Wording`].

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! settings {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// A setting of any part of wstar: of reading, of columns, of learning, of a command.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum Setting {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl Setting {
            /// All settings.
            pub const ALL: &[Setting] = &[$(Setting::$variant,)*];

            /// Its name: lower case, words joined by hyphens.
            pub fn name(self) -> &'static str {
                match self {
                    $(Setting::$variant => $name,)*
                }
            }
        }
    };
}

settings! {
    /// Rows of a stochastic gradient.
    Batch = "batch",
    /// C.
    C = "C",
    /// Columns of categories.
    Categorical = "categorical",
    /// The file in which a long fit keeps its state.
    Checkpoint = "checkpoint",
    /// The weights of the classes.
    ClassWeight = "class-weight",
    /// The classes of a stream.
    Classes = "classes",
    /// How naive Bayes models features.
    Density = "density",
    /// The significant digits that are asked for.
    Digits = "digits",
    /// Columns that are left out.
    Drop = "drop",
    /// Passes over the data.
    Epochs = "epochs",
    /// The relative error of the margin that Kozinec's algorithm may leave.
    Epsilon = "epsilon",
    /// Firth's correction.
    Firth = "firth",
    /// The format of a file.
    Format = "format",
    /// Steps of the halving schedule at the full rate.
    HalvingSteps = "halving-steps",
    /// The share of rows held out.
    Holdout = "holdout",
    /// The share of ℓ1 in the elastic net.
    L1Ratio = "l1-ratio",
    /// The file of labels of IDX images.
    Labels = "labels",
    /// λ = 1/(nC).
    Lambda = "lambda",
    /// The learning rate of the first step.
    LearningRate = "learning-rate",
    /// The loss.
    Loss = "loss",
    /// The most steps.
    MaxIter = "max-iter",
    /// The most time.
    MaxSeconds = "max-seconds",
    /// The method.
    Method = "method",
    /// The treatment of missing values.
    Missing = "missing",
    /// The fraction of the last step that is added to the next.
    Momentum = "momentum",
    /// How more than two classes are reduced to problems.
    Multiclass = "multiclass",
    /// Rows as a multiset.
    Multiset = "multiset",
    /// Hyperplanes through the origin.
    NoIntercept = "no-intercept",
    /// Columns of numbers.
    Numeric = "numeric",
    /// Whether the intercept is penalised.
    PenalizeIntercept = "penalize-intercept",
    /// The penalty matrix of decisions.
    Penalties = "penalties",
    /// The penalty of the weights.
    Penalty = "penalty",
    /// The class that is classified against all others.
    Positive = "positive",
    /// What is proved besides the certificate.
    Prove = "prove",
    /// The quantile of least absolute deviations.
    Quantile = "quantile",
    /// Which example comes next.
    Rule = "rule",
    /// How the learning rate changes.
    Schedule = "schedule",
    /// The seed of every random choice.
    Seed = "seed",
    /// Shrinkage of covariances.
    Shrinkage = "shrinkage",
    /// Pseudo-counts or variance smoothing.
    Smoothing = "smoothing",
    /// The solver.
    Solver = "solver",
    /// Columns scaled to deviation 1.
    Standardize = "standardize",
    /// Given weights to start from.
    Start = "start",
    /// A model to start from.
    StartFrom = "start-from",
    /// Rows read a chunk at a time.
    Stream = "stream",
    /// The target column.
    Target = "target",
    /// Columns of texts.
    Text = "text",
    /// What a score of 0 means.
    Ties = "ties",
    /// The relative gap to reach.
    Tol = "tol",
    /// The treatment of categories that did not occur in training.
    Unseen = "unseen",
    /// Which hyperplanes vote.
    Vote = "vote",
}

impl Setting {
    /// This setting with this value.
    pub fn to(self, value: impl ToString) -> Choice {
        Choice {
            setting: self,
            values: vec![value.to_string()],
        }
    }

    /// This setting with any of these values.
    pub fn any<V: ToString>(self, values: impl IntoIterator<Item = V>) -> Choice {
        Choice {
            setting: self,
            values: values.into_iter().map(|value| value.to_string()).collect(),
        }
    }

    /// This setting, whatever its value.
    pub fn given(self) -> Choice {
        Choice {
            setting: self,
            values: Vec::new(),
        }
    }
}

/// A setting with one or more of its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The setting.
    pub setting: Setting,
    /// The values; none for the setting itself, or for a switch.
    pub values: Vec<String>,
}

/// The commands that messages speak of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Command {
    /// Fits and writes a model.
    Train,
    /// Decides whether classes are separable, and writes the proof.
    Separate,
}

impl Command {
    /// All commands.
    pub const ALL: &[Command] = &[Command::Train, Command::Separate];
}

/// The wording of a front end.
pub trait Wording {
    /// A setting with its values: `--penalty l1|l2`.
    fn choice(&self, choice: &Choice) -> String;

    /// Several choices that are made together.
    fn together(&self, choices: &[Choice]) -> String {
        let words: Vec<String> = choices.iter().map(|choice| self.choice(choice)).collect();
        words.join(", ")
    }

    /// A command: `wstar train`.
    fn command(&self, command: Command) -> String;
}

/// The wording of the library itself, independent of any front end: `penalty = l1|l2`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plain;

impl Wording for Plain {
    fn choice(&self, choice: &Choice) -> String {
        choice.to_string()
    }

    fn command(&self, command: Command) -> String {
        match command {
            Command::Train => "a fit".into(),
            Command::Separate => "a separability proof".into(),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.values.as_slice() {
            [] => write!(out, "{}", self.setting.name()),
            values => write!(out, "{} = {}", self.setting.name(), values.join("|")),
        }
    }
}
