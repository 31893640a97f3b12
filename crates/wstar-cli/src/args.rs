//! The arguments of the command line, in one table: names, defaults and help.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use wstar::settings::Method;

use crate::drawing::{PlotArgs, ReportArgs};
use crate::file_args::{FileArgs, MatchArgs};
use crate::learning::LearningArgs;

/// Classic linear models that come with a proof.
#[derive(Debug, Parser)]
#[command(name = "wstar", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "Examples:
  wstar train @iris
  wstar train mail.csv --text message --method averaged-perceptron --holdout 0.2
  wstar predict mail.wstar.json new.csv --scores
  wstar verify mail.wstar.json mail.csv
  wstar report mail.wstar.json mail.csv -o mail.html

DATA is a file, - for standard input, or a data set inside the program (see `wstar datasets`).
Exit codes: 0 done, and it holds; 1 done, and the answer is no; 2 bad usage or bad input.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Threads to use [default: all]
    #[arg(long, global = true, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Fit a model, certify it, and write it to a file
    Train(Box<TrainArgs>),
    /// Print the class of every row
    Predict(PredictArgs),
    /// Evaluate a model on data whose target is known
    Evaluate(EvaluateArgs),
    /// Re-check a model's certificate, or a proof, from the data alone
    Verify(VerifyArgs),
    /// Decide whether classes can be separated, and prove it
    Separate(SeparateArgs),
    /// Compare the errors of several methods with the fewest errors of any hyperplane
    Compare(CompareArgs),
    /// Show what is in a model: weights by name, settings, certificate
    Inspect(InspectArgs),
    /// List the data sets inside the program, or print one
    Datasets(DatasetsArgs),
    /// Write the rows that a model was trained on as canonical rows, which wstar-check reads
    Rows(RowsArgs),
    /// Write one self-contained page with a model, its proof and its pictures
    Report(ReportArgs),
    /// Draw one picture of a model, as SVG or PNG
    Plot(PlotArgs),
    /// Open the lab: a page that shows the steps of a fit on points in the plane
    Lab(LabArgs),
}

/// What the columns of training data mean.
#[derive(Debug, Args)]
#[command(next_help_heading = "Columns")]
pub(crate) struct ColumnArgs {
    /// The column to predict [default: the last one; the first field of an svmlight line]
    #[arg(long, value_name = "NAME")]
    pub(crate) target: Option<String>,
    /// This value of the target against all others
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) positive: Option<String>,
    /// Columns to leave out
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) drop: Vec<String>,
    /// Columns that are read as numbers, whatever their values
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) numeric: Vec<String>,
    /// Columns that are read as categories, whatever their values
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) categorical: Vec<String>,
    /// Columns of free text
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) text: Vec<String>,
    /// The weighting of terms
    #[arg(long, value_enum, default_value_t = WeightingArg::TfIdf)]
    pub(crate) text_weighting: WeightingArg,
    /// Also use sequences of up to N words as terms
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) ngrams: usize,
    /// Leave out terms that occur in fewer texts
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) min_df: usize,
    /// The maximum number of terms
    #[arg(long, value_name = "N")]
    pub(crate) max_terms: Option<usize>,
    /// Hash terms into 2^BITS columns instead of keeping a vocabulary
    #[arg(long, value_name = "BITS")]
    pub(crate) hash_bits: Option<u32>,
    /// The column of sample weights
    #[arg(long, value_name = "NAME")]
    pub(crate) sample_weight: Option<String>,
    /// The treatment of missing values
    #[arg(long, value_enum, default_value_t = MissingArg::Refuse)]
    pub(crate) missing: MissingArg,
    /// Scale columns to mean 0 and standard deviation 1 (sparse data: standard deviation only)
    #[arg(long)]
    pub(crate) standardize: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum WeightingArg {
    Counts,
    Binary,
    #[value(name = "tfidf")]
    TfIdf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MissingArg {
    Refuse,
    Mean,
    Drop,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  wstar train @iris
  wstar train @spam --method svm --C 10 --holdout 0.2
  wstar train @diabetes --penalty l1 --lambda 1
  wstar train @diabetes --method lad --quantile 0.9
  wstar train credit.csv --penalty none --verbose
  wstar train points.csv --method perceptron --rule worst --trace steps.jsonl
  wstar train big.svm.gz --method online-perceptron --stream
  wstar train train-images-idx3-ubyte.gz --labels train-labels-idx1-ubyte.gz --positive 9 \\
      --method voted-perceptron --epochs 1 --no-intercept")]
pub(crate) struct TrainArgs {
    /// A file, - for standard input, or @NAME
    #[arg(value_name = "DATA")]
    pub(crate) data: String,
    /// The method [default: logistic for two classes, softmax for more, least-squares for a real target]
    #[arg(long, value_parser = method_parser())]
    pub(crate) method: Option<Method>,
    #[command(flatten)]
    pub(crate) learning: LearningArgs,
    #[command(flatten)]
    pub(crate) columns: ColumnArgs,
    #[command(flatten)]
    pub(crate) file: FileArgs,
    /// Evaluate the model on this file too
    #[arg(long, value_name = "DATA", conflicts_with = "holdout")]
    pub(crate) test: Option<String>,
    /// The labels of IDX test images
    #[arg(long, value_name = "FILE", requires = "test")]
    pub(crate) test_labels: Option<PathBuf>,
    /// Hold out this share of the rows, and evaluate the model on them
    #[arg(long, value_name = "FRACTION")]
    pub(crate) holdout: Option<f64>,
    /// Learn from a file larger than memory, a chunk at a time
    #[arg(long, conflicts_with_all = ["holdout", "test", "standardize"])]
    pub(crate) stream: bool,
    /// The classes of a stream [default: those of its first chunk]
    #[arg(
        long,
        value_name = "VALUES",
        value_delimiter = ',',
        requires = "stream",
        allow_hyphen_values = true
    )]
    pub(crate) classes: Vec<String>,
    /// Start at the weights of this model
    #[arg(long, value_name = "MODEL", conflicts_with = "stream")]
    pub(crate) start_from: Option<PathBuf>,
    /// Store the state of a long fit in this file, and resume from it if the file exists
    #[arg(long, value_name = "FILE", conflicts_with = "stream")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Write every step to this file, one line of JSON per step
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Write the support vectors of --method svm to this file, as CSV: multiplier, margin, slack, case
    #[arg(long, value_name = "FILE", conflicts_with = "stream")]
    pub(crate) support: Option<PathBuf>,
    /// The model file to write [default: NAME.wstar.json in the current folder]
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Include all weights in the JSON object
    #[arg(long, requires = "json")]
    pub(crate) weights: bool,
    /// Print errors only
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Print more
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

/// Parses a method by its name; the help lists all methods with their descriptions.
fn method_parser() -> impl TypedValueParser<Value = Method> {
    let values = Method::ALL.map(|method| PossibleValue::new(method.name()).help(method.description()));
    PossibleValuesParser::new(values).try_map(|name| {
        let known = Method::ALL.into_iter().find(|method| method.name() == name);
        known.ok_or("no such method")
    })
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  wstar predict iris.wstar.json new.csv
  wstar predict mail.wstar.json new.csv --scores > scores.csv")]
pub(crate) struct PredictArgs {
    /// The model file
    pub(crate) model: PathBuf,
    /// A file, - for standard input, or @NAME
    #[arg(value_name = "DATA")]
    pub(crate) data: String,
    /// Print the probability of each class, as CSV
    #[arg(long, conflicts_with = "scores")]
    pub(crate) proba: bool,
    /// Print scores, as CSV
    #[arg(long)]
    pub(crate) scores: bool,
    #[command(flatten)]
    pub(crate) matching: MatchArgs,
    #[command(flatten)]
    pub(crate) file: FileArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  wstar evaluate iris.wstar.json test.csv --json")]
pub(crate) struct EvaluateArgs {
    /// The model file
    pub(crate) model: PathBuf,
    /// A file, - for standard input, or @NAME
    #[arg(value_name = "DATA")]
    pub(crate) data: String,
    /// The penalty of each decision for each true class, e.g. 0,1;5,0: prints the mean penalty too
    #[arg(long, value_name = "MATRIX", allow_hyphen_values = true)]
    pub(crate) penalties: Option<String>,
    /// Leave rows with missing values out
    #[arg(long)]
    pub(crate) drop_missing: bool,
    #[command(flatten)]
    pub(crate) matching: MatchArgs,
    #[command(flatten)]
    pub(crate) file: FileArgs,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "The data must be those that the model was trained on. With --holdout, only the rows that were
not held out are used, so give the same --holdout and --seed.

Examples:
  wstar verify iris.wstar.json @iris
  wstar verify xor.proof.json xor.csv"
)]
pub(crate) struct VerifyArgs {
    /// The model file, or the proof that `separate --proof` wrote
    pub(crate) model: PathBuf,
    /// The data the model was trained on
    #[arg(value_name = "DATA")]
    pub(crate) data: String,
    /// The share that training held out
    #[arg(long, value_name = "FRACTION")]
    pub(crate) holdout: Option<f64>,
    /// Read data larger than memory, a chunk at a time
    #[arg(long)]
    pub(crate) stream: bool,
    /// Check with wstar-check, a small program that shares no code with the engine
    #[arg(long, conflicts_with = "stream")]
    pub(crate) independent: bool,
    /// The tolerance that the claim must meet [default: that of the model]
    #[arg(long, value_name = "T", requires = "independent")]
    pub(crate) tol: Option<f64>,
    /// Prove digits of the optimum too
    #[arg(long, requires = "independent")]
    pub(crate) digits: bool,
    #[command(flatten)]
    pub(crate) file: FileArgs,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  wstar rows model.wstar.json reviews.csv -o reviews.rows
  wstar-check model.wstar.json --rows reviews.rows")]
pub(crate) struct RowsArgs {
    /// The model file
    pub(crate) model: PathBuf,
    /// The data the model was trained on
    #[arg(value_name = "DATA")]
    pub(crate) data: String,
    /// The file of canonical rows
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) file: FileArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Two classes are separable (a hyperplane lies strictly between them), quasi-separable (a hyperplane has no
point on its wrong side, but always some points on itself) or inseparable. Each verdict has a proof in exact arithmetic over the
numbers that were read. More than two classes: every pair, and each against the rest.

Examples:
  wstar separate @iris
  wstar separate @iris --positive virginica --json
  wstar separate points.csv --pair yes,no --proof points.proof.json
  wstar verify points.proof.json points.csv"
)]
pub(crate) struct SeparateArgs {
    /// A file, - for standard input, or @NAME
    #[arg(value_name = "DATA")]
    pub(crate) data: String,
    /// Only these two classes
    #[arg(
        long,
        value_name = "A,B",
        value_delimiter = ',',
        conflicts_with = "positive",
        allow_hyphen_values = true
    )]
    pub(crate) pair: Option<Vec<String>>,
    /// Only hyperplanes through the origin
    #[arg(long)]
    pub(crate) no_intercept: bool,
    /// The time limit for each verdict
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true)]
    pub(crate) max_seconds: Option<f64>,
    /// Write the proof to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) proof: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) columns: ColumnArgs,
    #[command(flatten)]
    pub(crate) file: FileArgs,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Print errors only
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "The last method, min-error, computes the fewest errors of any hyperplane, which the other methods only
approximate. At its time limit it reports a lower bound instead (two classes only).

Examples:
  wstar compare @breast-cancer
  wstar compare @iris --positive virginica --json
  wstar compare points.csv --methods perceptron,svm,min-error --max-seconds 60"
)]
pub(crate) struct CompareArgs {
    /// A file, - for standard input, or @NAME
    #[arg(value_name = "DATA")]
    pub(crate) data: String,
    /// The methods to compare
    #[arg(
        long,
        value_name = "METHODS",
        value_delimiter = ',',
        value_parser = method_parser(),
        hide_possible_values = true,
        default_value = "perceptron,pocket,svm,logistic,mse-classifier,lda,min-error"
    )]
    pub(crate) methods: Vec<Method>,
    /// The time limit for each method
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    pub(crate) max_seconds: f64,
    /// The seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) columns: ColumnArgs,
    #[command(flatten)]
    pub(crate) file: FileArgs,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// The model file
    pub(crate) model: PathBuf,
    /// The number of features to show, in order of decreasing weight [default: 20]
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) top: usize,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DatasetsArgs {
    /// The data set to print as a file; without a name, all are listed
    pub(crate) name: Option<String>,
    /// Print one JSON object
    #[arg(long, conflicts_with = "name")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LabArgs {
    /// The port to listen on [default: any that is free]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    /// Only print the address
    #[arg(long)]
    pub(crate) no_open: bool,
}
