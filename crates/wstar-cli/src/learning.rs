//! The arguments that select and configure the method.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use wstar::problem::loss::LossName;
use wstar::solve::SolverName;

/// The settings of the methods.
#[derive(Debug, Args)]
#[command(next_help_heading = "Learning")]
pub(crate) struct LearningArgs {
    /// Passes over the data; the maximum for methods with a stopping rule of their own
    #[arg(long, value_name = "PASSES")]
    pub(crate) epochs: Option<f64>,
    /// The maximum number of updates or iterations
    #[arg(long, value_name = "N")]
    pub(crate) max_iter: Option<u64>,
    /// The time limit
    #[arg(long, value_name = "SECONDS")]
    pub(crate) max_seconds: Option<f64>,
    /// The learning rate of the first update [default: 1]
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    pub(crate) learning_rate: Option<f64>,
    /// How the learning rate changes [default: constant]
    #[arg(long, value_enum)]
    pub(crate) schedule: Option<ScheduleArg>,
    /// Steps at the full rate, for the halving schedule
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) halving_steps: u64,
    /// Which example comes next [default: cyclic, or shuffled for voted, averaged and pocket]
    #[arg(long, value_enum)]
    pub(crate) rule: Option<RuleArg>,
    /// Treat the rows of a perceptron as a multiset: a --sample-weight is a number of equal rows, and their order in the
    /// file does not matter
    #[arg(long)]
    pub(crate) multiset: bool,
    /// The meaning of a score of exactly 0: a mistake, or the positive class [default: mistake]
    #[arg(long, value_enum)]
    pub(crate) ties: Option<TiesArg>,
    /// The starting point: b,w1,w2,… (without b if there is no intercept; class by class for more than two)
    #[arg(
        long,
        value_name = "NUMBERS",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    pub(crate) start: Option<Vec<f64>>,
    /// Let the hyperplanes of a learner vote
    #[arg(long, value_enum)]
    pub(crate) vote: Option<VoteArg>,
    /// The relative tolerance on the margin, for Kozinec's algorithm [default: 0.01]
    #[arg(long, value_name = "EPSILON")]
    pub(crate) epsilon: Option<f64>,
    /// The distribution of the features, for naive Bayes [default: gaussian]
    #[arg(long, value_enum)]
    pub(crate) density: Option<DensityArg>,
    /// The pseudo-count of naive Bayes [default: 1]; for Gaussian features the share of the largest variance [1e-9]
    #[arg(long, value_name = "ALPHA")]
    pub(crate) smoothing: Option<f64>,
    /// The shrinkage of covariances towards a multiple of the identity, from 0 to 1 [default: 0]
    #[arg(long, value_name = "SHARE")]
    pub(crate) shrinkage: Option<f64>,
    /// The penalty of each decision for each true class, e.g. 0,1;5,0 (rows: truth, sorted classes)
    #[arg(long, value_name = "MATRIX", allow_hyphen_values = true)]
    pub(crate) penalties: Option<String>,
    /// The loss, for methods that allow several
    #[arg(long, value_parser = named(LossName::ALL.map(|loss| (loss.name(), loss))))]
    pub(crate) loss: Option<LossName>,
    /// The quantile that lad estimates, between 0 and 1 [default: the median]
    #[arg(long, value_name = "Q", allow_hyphen_values = true)]
    pub(crate) quantile: Option<f64>,
    /// The penalty on the weights [default: l2 for classifiers, none for least-squares and lad]
    #[arg(long, value_enum)]
    pub(crate) penalty: Option<PenaltyArg>,
    /// The weight of the loss relative to the penalty [default: 1]
    #[arg(long = "C", value_name = "C", allow_hyphen_values = true)]
    pub(crate) c: Option<f64>,
    /// The weight of the penalty, an alternative to C: C = 1/(rows times lambda)
    #[arg(long, value_name = "LAMBDA", allow_hyphen_values = true)]
    pub(crate) lambda: Option<f64>,
    /// The share of l1 in the elastic net [default: 0.5]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub(crate) l1_ratio: Option<f64>,
    /// The solver [default: auto, by the shape of the data]
    #[arg(long, value_parser = solver_parser())]
    pub(crate) solver: Option<String>,
    /// The relative duality gap to reach [default: 1e-6]
    #[arg(long, value_name = "GAP", allow_hyphen_values = true)]
    pub(crate) tol: Option<f64>,
    /// The share of the last step that is added to the next, for gradient-descent and sgd [default: 0]
    #[arg(long, value_name = "BETA", allow_hyphen_values = true)]
    pub(crate) momentum: Option<f64>,
    /// The number of rows of a stochastic gradient [default: 1]
    #[arg(long, value_name = "ROWS")]
    pub(crate) batch: Option<usize>,
    /// The reduction of more than two classes [default: softmax for logistic, else ovr]
    #[arg(long, value_enum)]
    pub(crate) multiclass: Option<MulticlassArg>,
    /// The weight of each class: balanced, or name:weight,…
    #[arg(long, value_name = "WEIGHTS")]
    pub(crate) class_weight: Option<String>,
    /// Prove intervals for every coefficient of the optimum, whatever it takes [default: if it takes a few milliseconds]
    #[arg(long, value_enum)]
    pub(crate) prove: Option<ProveArg>,
    /// The significant digits of every coefficient that are wanted, proved
    #[arg(long, value_name = "N")]
    pub(crate) digits: Option<u32>,
    /// Penalise the intercept like a weight
    #[arg(long)]
    pub(crate) penalize_intercept: bool,
    /// Firth's correction: a logistic fit that exists for separated classes too
    #[arg(long)]
    pub(crate) firth: bool,
    /// Hyperplanes through the origin
    #[arg(long)]
    pub(crate) no_intercept: bool,
    /// The seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum PenaltyArg {
    None,
    L1,
    L2,
    ElasticNet,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ProveArg {
    Digits,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum MulticlassArg {
    Softmax,
    Ovr,
    Ovo,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ScheduleArg {
    Constant,
    Inverse,
    Halving,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum RuleArg {
    Cyclic,
    Shuffled,
    Worst,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum TiesArg {
    Mistake,
    Positive,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum VoteArg {
    All,
    LastHalf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum DensityArg {
    Gaussian,
    Bernoulli,
    Multinomial,
}

/// Parses one of the named values.
fn named<T: Copy + Send + Sync + 'static, const N: usize>(
    names: [(&'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(names.map(|(name, _)| PossibleValue::new(name))).try_map(move |name| {
        let known = names.iter().find(|(known, _)| *known == name);
        known.map(|(_, value)| *value).ok_or("no such name")
    })
}

/// Parses the name of a solver, or `auto`.
fn solver_parser() -> PossibleValuesParser {
    let names = SolverName::ALL.map(|solver| solver.name());
    PossibleValuesParser::new(["auto"].into_iter().chain(names))
}
