//! A model of every method and every kind of field that a model file can have, with the rows it was trained on.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::sync::OnceLock;

use wstar::data::read::{ReadOptions, Source, read};
use wstar::data::run::Unwatched;
use wstar::data::{Dataset, Missing, Preparation, TextOptions, Weighting, prepare};
use wstar::online::{Ties, Voters};
use wstar::problem::loss::{LossName, Quantile};
use wstar::problem::multiclass::{ClassWeights, Multiclass};
use wstar::problem::penalty::PenaltyName;
use wstar::settings::{Density, Method, Options, Prove, Rule};
use wstar::solve::SolverName;
use wstar::solve::learning_rate::Schedule;
use wstar::{Model, fit};

/// A model, its name for messages, and the rows it was trained on.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) data: Dataset,
    pub(crate) model: Model,
}

/// Mixed columns: numbers and categories with missing cells, a text, weights.
const MIXED: &str = "\
age,colour,smoker,remark,w,bought
31,red,no,good value,1,no
42,green,yes,bad value,2,no
,blue,no,good price,1,yes
57,red,yes,very bad,1,yes
23,,no,good,1,no
38,blue,yes,bad price,3,yes
29,green,no,value,1,no
61,red,yes,bad,1,yes
";

const SVMLIGHT: &str = "1 1:0.5 3:2\n-1 2:1 3:-1\n1 1:1.5\n-1 2:0.25 3:0.5\n1 1:1 2:0.1\n-1 3:1\n";

/// All cases. They are computed once.
pub(crate) fn every_model() -> &'static [Case] {
    static CASES: OnceLock<Vec<Case>> = OnceLock::new();
    CASES.get_or_init(|| {
        [regularized(), learners(), geometry(), densities(), encodings()]
            .into_iter()
            .flatten()
            .collect()
    })
}

fn case(name: &'static str, data: Dataset, options: Options) -> Case {
    let model = fit(&data, &options, &mut Unwatched).unwrap_or_else(|error| panic!("{name}: {error}"));
    let model = model.with_digest(Some(data.digest()));
    Case { name, data, model }
}

fn iris() -> Dataset {
    wstar::read("@iris").unwrap().dataset().unwrap()
}

/// Setosa against the other two, which is separable.
fn setosa() -> Dataset {
    wstar::read("@iris")
        .unwrap()
        .positive("setosa")
        .dataset()
        .unwrap()
}

fn diabetes() -> Dataset {
    wstar::read("@diabetes").unwrap().dataset().unwrap()
}

/// Two classes that overlap in the plane.
fn overlapping() -> Dataset {
    let rows: Vec<Vec<f64>> = (0..24)
        .map(|i| vec![f64::from(i % 7), f64::from(i * i % 11)])
        .collect();
    let labels: Vec<&str> = (0..24)
        .map(|i| if i * 5 % 24 < 9 + i / 4 { "a" } else { "b" })
        .collect();
    Dataset::labelled(&rows, &labels).unwrap()
}

fn regularized() -> Vec<Case> {
    let standardized = || {
        wstar::read("@breast-cancer")
            .unwrap()
            .standardize()
            .dataset()
            .unwrap()
    };
    vec![
        case(
            "softmax",
            iris(),
            Options {
                holdout: Some(0.25),
                ..Options::of(Method::Softmax)
            },
        ),
        case("separable classes", setosa(), Options::of(Method::Logistic)),
        case(
            "dependent columns",
            {
                // The third column is the sum of the others and the intercept's.
                let row = |i: u32| {
                    let (a, b) = (f64::from(i % 7), f64::from(i * i % 11));
                    vec![a, b, a + b + 1.0]
                };
                let rows: Vec<Vec<f64>> = (0..60).map(row).collect();
                let target =
                    |(i, row): (usize, &Vec<f64>)| row[0] - 0.5 * row[1] + f64::from(i as u32 * 7 % 5);
                let targets = rows.iter().enumerate().map(target).collect();
                Dataset::measured(&rows, targets).unwrap()
            },
            Options::of(Method::LeastSquares),
        ),
        case(
            "logistic, one against the rest",
            iris(),
            Options {
                multiclass: Some(Multiclass::Ovr),
                lambda: Some(0.01),
                ..Options::of(Method::Logistic)
            },
        ),
        case(
            "logistic, pairs",
            iris(),
            Options {
                multiclass: Some(Multiclass::Ovo),
                no_intercept: true,
                ..Options::of(Method::Logistic)
            },
        ),
        case(
            "logistic without a penalty",
            overlapping(),
            Options {
                penalty: Some(PenaltyName::None),
                ..Options::of(Method::Logistic)
            },
        ),
        case(
            "logistic, diverging",
            setosa(),
            Options {
                penalty: Some(PenaltyName::None),
                max_iter: Some(30),
                ..Options::of(Method::Logistic)
            },
        ),
        case(
            "logistic, l1",
            standardized(),
            Options {
                penalty: Some(PenaltyName::L1),
                c: Some(0.3),
                ..Options::of(Method::Logistic)
            },
        ),
        case(
            "elastic net",
            standardized(),
            Options {
                penalty: Some(PenaltyName::ElasticNet),
                l1_ratio: Some(0.3),
                penalize_intercept: true,
                ..Options::of(Method::Logistic)
            },
        ),
        case(
            "Firth",
            setosa(),
            Options {
                firth: true,
                ..Options::of(Method::Logistic)
            },
        ),
        case(
            "sigmoid-mse",
            overlapping(),
            Options {
                loss: Some(LossName::SigmoidMse),
                start: Some(vec![0.0, 0.1, 0.0]),
                ..Options::of(Method::Logistic)
            },
        ),
        case(
            "stochastic gradient",
            overlapping(),
            Options {
                solver: Some(SolverName::Sgd),
                epochs: Some(3.0),
                batch: Some(4),
                learning_rate: Some(0.1),
                schedule: Some(Schedule::Halving { first: 5 }),
                momentum: Some(0.5),
                ..Options::of(Method::Logistic)
            },
        ),
        case(
            "svm",
            overlapping(),
            Options {
                prove: Some(Prove::Digits),
                class_weight: Some(ClassWeights::Balanced),
                ..Options::of(Method::Svm)
            },
        ),
        case(
            "squared hinge",
            overlapping(),
            Options {
                loss: Some(LossName::SquaredHinge),
                class_weight: Some(ClassWeights::Given(vec![("a".into(), 2.0), ("b".into(), 1.0)])),
                ..Options::of(Method::Svm)
            },
        ),
        case(
            "modified Huber",
            overlapping(),
            Options {
                loss: Some(LossName::ModifiedHuber),
                ..Options::of(Method::Svm)
            },
        ),
        case(
            "mse-classifier",
            overlapping(),
            Options {
                max_seconds: Some(600.0),
                ..Options::of(Method::MseClassifier)
            },
        ),
        case("least squares", diabetes(), Options::of(Method::LeastSquares)),
        case(
            "ridge",
            diabetes(),
            Options {
                penalty: Some(PenaltyName::L2),
                prove: Some(Prove::Digits),
                digits: Some(8),
                ..Options::of(Method::LeastSquares)
            },
        ),
        case(
            "lasso",
            diabetes(),
            Options {
                penalty: Some(PenaltyName::L1),
                lambda: Some(1.0),
                ..Options::of(Method::LeastSquares)
            },
        ),
        case("absolute loss", diabetes(), Options::of(Method::Lad)),
        case(
            "quantile loss",
            diabetes(),
            Options {
                quantile: Some(Quantile::new(0.9).unwrap()),
                ..Options::of(Method::Lad)
            },
        ),
    ]
}

fn learners() -> Vec<Case> {
    vec![
        case(
            "perceptron",
            setosa(),
            Options {
                rule: Some(Rule::Worst),
                start: Some(vec![0.0, 1.0, 0.0, 0.0, 0.0]),
                ..Options::of(Method::Perceptron)
            },
        ),
        case(
            "online perceptron",
            iris(),
            Options {
                epochs: Some(2.0),
                learning_rate: Some(0.5),
                schedule: Some(Schedule::Halving { first: 100 }),
                ..Options::of(Method::OnlinePerceptron)
            },
        ),
        case(
            "voted perceptron",
            overlapping(),
            Options {
                epochs: Some(2.0),
                multiset: true,
                start: Some(vec![0.5, 1.0, -1.0]),
                ..Options::of(Method::VotedPerceptron)
            },
        ),
        case(
            "averaged perceptron",
            iris(),
            Options::of(Method::AveragedPerceptron),
        ),
        case(
            "pocket",
            overlapping(),
            Options {
                epochs: Some(5.0),
                ties: Some(Ties::Positive),
                ..Options::of(Method::Pocket)
            },
        ),
        case(
            "Kozinec",
            setosa(),
            Options {
                epsilon: Some(0.01),
                ..Options::of(Method::Kozinec)
            },
        ),
        case(
            "Kozinec, voted",
            setosa(),
            Options {
                vote: Some(Voters::LastHalf),
                ..Options::of(Method::Kozinec)
            },
        ),
    ]
}

fn geometry() -> Vec<Case> {
    let line: Vec<Vec<f64>> = (0..9).map(|i| vec![f64::from(i)]).collect();
    let labels = ["a", "a", "b", "a", "b", "a", "b", "b", "a"];
    vec![
        case("maximum margin", setosa(), Options::of(Method::HardMargin)),
        case(
            "least error by circuits",
            overlapping(),
            Options::of(Method::MinError),
        ),
        case(
            "least error by enumeration",
            Dataset::labelled(&line, &labels).unwrap(),
            Options::of(Method::MinError),
        ),
    ]
}

fn densities() -> Vec<Case> {
    vec![
        case(
            "gaussian",
            iris(),
            Options {
                shrinkage: Some(0.1),
                ..Options::of(Method::Gaussian)
            },
        ),
        case(
            "lda",
            overlapping(),
            Options {
                penalties: Some(vec![vec![0.0, 1.0], vec![5.0, 0.0]]),
                ..Options::of(Method::Lda)
            },
        ),
        case("naive Bayes", iris(), Options::of(Method::NaiveBayes)),
        case(
            "naive Bayes, Bernoulli",
            iris(),
            Options {
                density: Some(Density::Bernoulli),
                smoothing: Some(0.5),
                ..Options::of(Method::NaiveBayes)
            },
        ),
        case(
            "naive Bayes, multinomial",
            iris(),
            Options {
                density: Some(Density::Multinomial),
                ..Options::of(Method::NaiveBayes)
            },
        ),
        case("minimax", iris(), Options::of(Method::Minimax)),
    ]
}

/// Models of files, so that their schemas have every encoding.
fn encodings() -> Vec<Case> {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_string()
    };
    let mixed = file("mixed.csv", MIXED.as_bytes());
    let text = |weighting, hash_bits, max_features| {
        let how = TextOptions {
            weighting,
            hash_bits,
            max_features,
            ..TextOptions::default()
        };
        let reader = wstar::read(&mixed)
            .unwrap()
            .text(["remark"], how)
            .missing(Missing::Mean);
        reader.sample_weight("w").target("bought").unwrap()
    };
    let images: Vec<u8> = [[0, 0, 8, 3], [0, 0, 0, 4], [0, 0, 0, 2], [0, 0, 0, 2]]
        .concat()
        .into_iter()
        .chain((0..16).map(|i| i * 13 % 16))
        .collect();
    let images = file("images.idx", &images);
    let labels = file("labels.idx", &[0, 0, 8, 1, 0, 0, 0, 4, 0, 1, 1, 0]);
    let options = ReadOptions {
        labels: Some(labels.into()),
        ..ReadOptions::default()
    };
    let pixels = read(&Source::parse(&images).unwrap(), &options).unwrap();
    let pixels = prepare(pixels, &Preparation::default()).unwrap();
    let svmlight = wstar::read(&file("rows.svm", SVMLIGHT.as_bytes())).unwrap();
    vec![
        case(
            "mixed columns",
            text(Weighting::TfIdf, None, Some(4)),
            Options::default(),
        ),
        case(
            "hashed text",
            text(Weighting::Counts, Some(4), None),
            Options::default(),
        ),
        case("svmlight", svmlight.dataset().unwrap(), Options::default()),
        case("images", pixels, Options::default()),
    ]
}
