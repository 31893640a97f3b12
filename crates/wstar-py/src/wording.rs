//! How the messages of the Python package name settings and commands.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use wstar::data::setting::{Choice, Command, Setting, Wording};
use wstar::settings::Method;

/// Names settings as keyword arguments: `penalty="l2"`. A setting or a value without a parameter is described.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Keywords {
    /// The method of the fit that the message is about, if there is one. The same setting may be a parameter of one
    /// estimator and the name of another: no penalty is `penalty=None` or `LinearRegression`.
    pub(crate) method: Option<Method>,
}

impl Wording for Keywords {
    fn choice(&self, choice: &Choice) -> String {
        if choice.values.is_empty() {
            return named(choice.setting);
        }
        let mut phrases: Vec<Phrase> = choice
            .values
            .iter()
            .map(|value| self.phrase(choice.setting, value))
            .collect();
        // Several methods may have the same class.
        phrases.dedup();
        // Values of one parameter share its name: `penalty="l1" or "l2"`.
        let mut text = String::new();
        let mut before = None;
        for phrase in &phrases {
            if !text.is_empty() {
                text += " or ";
            }
            match phrase {
                Phrase::Value(name, literal) if before == Some(*name) => text += literal,
                Phrase::Value(name, literal) => text += &format!("{name}={literal}"),
                Phrase::Words(words) => text += words,
            }
            before = match phrase {
                Phrase::Value(name, _) => Some(*name),
                Phrase::Words(_) => None,
            };
        }
        text
    }

    fn together(&self, choices: &[Choice]) -> String {
        let words: Vec<String> = choices.iter().map(|choice| self.choice(choice)).collect();
        words.join(" and ")
    }

    fn command(&self, command: Command) -> String {
        match command {
            Command::Separate => "wstar.separate".into(),
            _ => "fit and save".into(),
        }
    }
}

/// How Python names a setting with a value.
#[derive(PartialEq)]
enum Phrase {
    /// A parameter and its value, as a literal.
    Value(&'static str, String),
    /// A class, a function or a description.
    Words(String),
}

impl Keywords {
    fn phrase(self, setting: Setting, value: &str) -> Phrase {
        let words = |words: &str| Phrase::Words(words.into());
        let text = |name, value: &str| Phrase::Value(name, format!("{value:?}"));
        let unquoted = |name, value: &str| Phrase::Value(name, value.into());
        match (setting, value) {
            (Setting::Method, value) => Phrase::Words(estimator(value)),
            (Setting::Density, "gaussian") => words("GaussianNB"),
            (Setting::Density, "bernoulli") => words("BernoulliNB"),
            (Setting::Density, "multinomial") => words("MultinomialNB"),
            (Setting::Multiclass, "ovr") => words("sklearn.multiclass.OneVsRestClassifier"),
            (Setting::Multiclass, "ovo") => words("sklearn.multiclass.OneVsOneClassifier"),
            (Setting::Multiclass, "softmax") => words("LogisticRegression"),
            (Setting::Penalty, value) => self.penalty(value),
            // `solver` selects nothing in the engine, which chooses its own.
            (Setting::Solver, value) => Phrase::Words(format!("the solver {value}")),
            (Setting::Loss, "logistic") => text("loss", "log_loss"),
            (Setting::Loss, "squared") => text("loss", "squared_error"),
            (Setting::Loss, "hinge" | "squared-hinge" | "modified-huber") => {
                text("loss", &value.replace('-', "_"))
            }
            (Setting::Loss, value) => Phrase::Words(format!("the {value} loss")),
            (Setting::Rule, "shuffled") => unquoted("shuffle", "True"),
            (Setting::Rule, "cyclic") => unquoted("shuffle", "False"),
            (Setting::ClassWeight, "balanced") => text("class_weight", value),
            (Setting::Missing, "drop") => words("DataFrame.dropna"),
            (Setting::Missing, _) => words("sklearn.impute.SimpleImputer"),
            (Setting::Drop, name) => Phrase::Words(format!("X without column {name}")),
            (Setting::Categorical, name) => Phrase::Words(format!("a categorical column {name}")),
            (Setting::Numeric, name) => Phrase::Words(format!("a numeric column {name}")),
            (Setting::Text, name) => Phrase::Words(format!("a text column {name}")),
            (Setting::Target, name) => Phrase::Words(format!("{name} as y")),
            (Setting::Positive, value) => Phrase::Words(format!("y == {value}")),
            (Setting::Prove, _) => Phrase::Words(named(setting)),
            (Setting::Digits, value) => Phrase::Words(format!("{value} digits (on the command line)")),
            (Setting::Smoothing, value) => unquoted("var_smoothing", value),
            (Setting::C, value) => unquoted("C", value),
            (Setting::Epochs | Setting::MaxIter, value) => unquoted("max_iter", value),
            (Setting::Epsilon, value) => unquoted("epsilon", value),
            (Setting::L1Ratio, value) => unquoted("l1_ratio", value),
            (Setting::Lambda, value) => unquoted("alpha", value),
            (Setting::LearningRate, value) => unquoted("eta0", value),
            (Setting::MaxSeconds, value) => unquoted("max_seconds", value),
            (Setting::Quantile, value) => unquoted("quantile", value),
            (Setting::Seed, value) => unquoted("random_state", value),
            (Setting::Shrinkage, value) => unquoted("shrinkage", value),
            (Setting::Tol, value) => unquoted("tol", value),
            (setting, value) => Phrase::Words(format!("{} {value}", named(setting))),
        }
    }

    /// The penalty: a parameter where the estimator has it, otherwise the estimator with this penalty.
    fn penalty(self, value: &str) -> Phrase {
        match (self.method, value) {
            (Some(Method::LeastSquares), "none") => Phrase::Words("LinearRegression".into()),
            (Some(Method::LeastSquares), "l2") => Phrase::Words("Ridge".into()),
            (Some(Method::LeastSquares), "l1") => Phrase::Words("Lasso".into()),
            (Some(Method::LeastSquares), "elastic-net") => Phrase::Words("ElasticNet".into()),
            (Some(Method::Lad | Method::MseClassifier), "none") => Phrase::Value("alpha", "0".into()),
            (Some(Method::Lad | Method::MseClassifier), value) => {
                Phrase::Words(format!("the {value} penalty"))
            }
            (_, "none") => Phrase::Value("penalty", "None".into()),
            // scikit-learn spells it as one word.
            (_, "elastic-net") => Phrase::Value("penalty", "\"elasticnet\"".into()),
            (_, value) => Phrase::Value("penalty", format!("{value:?}")),
        }
    }
}

/// The class of a method.
fn estimator(method: &str) -> String {
    let class = match method {
        "logistic" | "softmax" => "LogisticRegression",
        "svm" => "LinearSVC",
        "hard-margin" => "HardMarginClassifier",
        "least-squares" => "LinearRegression",
        "lad" => "QuantileRegressor",
        "mse-classifier" => "RidgeClassifier",
        "min-error" => "MinErrorClassifier",
        "perceptron" | "online-perceptron" => "Perceptron",
        "voted-perceptron" => "VotedPerceptron",
        "averaged-perceptron" => "AveragedPerceptron",
        "pocket" => "PocketPerceptron",
        "kozinec" => "Kozinec",
        "lda" => "LinearDiscriminantAnalysis",
        "naive-bayes" => "GaussianNB",
        _ => return format!("the method {method} (on the command line)"),
    };
    class.into()
}

/// A setting without a value: the parameter, or a description where no estimator has one.
fn named(setting: Setting) -> String {
    let words = match setting {
        Setting::Batch => "a batch size",
        Setting::Categorical => "a categorical column",
        Setting::Checkpoint => "a checkpoint",
        Setting::Classes => "the classes",
        Setting::Density => "another class of naive Bayes",
        Setting::Digits => "a number of digits (on the command line)",
        Setting::Drop => "X without the column",
        Setting::Epochs => "max_iter",
        Setting::Firth => "Firth's correction (on the command line)",
        Setting::Format => "the format",
        Setting::HalvingSteps => "the steps of the halving schedule",
        Setting::Holdout => "a holdout",
        Setting::Labels => "a file of labels",
        Setting::Lambda => "alpha",
        Setting::LearningRate => "eta0",
        Setting::Method => "the estimator",
        Setting::Missing => "the treatment of missing values",
        Setting::Momentum => "a momentum",
        Setting::Multiclass => "multi_class",
        Setting::Multiset => "rows as a multiset",
        Setting::NoIntercept => "fit_intercept=False",
        Setting::Numeric => "a numeric column",
        Setting::PenalizeIntercept => "a penalised intercept",
        Setting::Penalties => "a penalty matrix",
        Setting::Positive => "one class against all others",
        Setting::Prove => "proved digits (on the command line)",
        Setting::Rule => "the rule",
        Setting::Schedule => "a schedule",
        Setting::Seed => "random_state",
        // `var_smoothing` of GaussianNB, `alpha` of the other classes of naive Bayes.
        Setting::Smoothing => "the smoothing parameter",
        Setting::Standardize => "sklearn.preprocessing.StandardScaler",
        Setting::Start | Setting::StartFrom => "warm_start",
        Setting::Stream => "a stream",
        Setting::Target => "another y",
        Setting::Text => "a text column",
        Setting::Ties => "the rule for ties",
        Setting::Unseen => "the treatment of unseen categories",
        Setting::Vote => "a vote",
        setting => return setting.name().replace('-', "_"),
    };
    words.into()
}

/// Every kind of message of the library, about every method and about none, as the package words it. A test checks that
/// the parameters and classes in it exist, and that the parameters take the values.
#[pyfunction]
pub(crate) fn sentences() -> Vec<String> {
    let methods = Method::ALL.into_iter().map(Some).chain([None]);
    methods
        .flat_map(|method| wstar::wording::sentences(&Keywords { method }))
        .collect()
}

/// The Python name of every setting, by the name of the setting. A test checks that these parameters exist.
#[pyfunction]
pub(crate) fn setting_words() -> BTreeMap<&'static str, String> {
    let words = |&setting: &Setting| (setting.name(), Keywords::default().choice(&setting.given()));
    Setting::ALL.iter().map(words).collect()
}
