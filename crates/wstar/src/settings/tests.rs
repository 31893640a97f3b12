//! Conversion between options and settings; options that do not belong to a method are refused.

use super::*;
use crate::bayes::DensitySettings;
use crate::online::{Ties, Voters};
use proptest::prelude::*;
use wstar_data::Target;
use wstar_data::setting::Setting;
use wstar_problem::loss::{LossName, Quantile};
use wstar_problem::multiclass::{ClassWeights, Multiclass};
use wstar_problem::penalty::PenaltyName;
use wstar_problem::problem::Intercept;
use wstar_solve::SolverName;
use wstar_solve::learning_rate::Schedule;

/// The default options with a change.
fn with(change: impl FnOnce(&mut Options)) -> Options {
    let mut options = Options::default();
    change(&mut options);
    options
}

/// Options with one value for each setting, each in options of its own.
fn single_options() -> Vec<(Setting, Options)> {
    let weights = ClassWeights::Given(vec![("a:b".into(), 2.5), ("c".into(), 1.0)]);
    vec![
        (Setting::Epochs, with(|o| o.epochs = Some(3.0))),
        (Setting::MaxIter, with(|o| o.max_iter = Some(7))),
        (Setting::MaxSeconds, with(|o| o.max_seconds = Some(0.5))),
        (Setting::LearningRate, with(|o| o.learning_rate = Some(0.1))),
        (Setting::Schedule, with(|o| o.schedule = Some(Schedule::Inverse))),
        (Setting::Rule, with(|o| o.rule = Some(Rule::Shuffled))),
        (Setting::Multiset, with(|o| o.multiset = true)),
        (Setting::Ties, with(|o| o.ties = Some(Ties::Positive))),
        (Setting::Start, with(|o| o.start = Some(vec![1.0, -2.0]))),
        (Setting::Vote, with(|o| o.vote = Some(Voters::LastHalf))),
        (Setting::Epsilon, with(|o| o.epsilon = Some(0.2))),
        (Setting::Density, with(|o| o.density = Some(Density::Bernoulli))),
        (Setting::Smoothing, with(|o| o.smoothing = Some(0.3))),
        (Setting::Shrinkage, with(|o| o.shrinkage = Some(0.4))),
        (
            Setting::Penalties,
            with(|o| o.penalties = Some(vec![vec![0.0, 1.0], vec![5.0, 0.0]])),
        ),
        (Setting::Quantile, with(|o| o.quantile = Quantile::new(0.3).ok())),
        (Setting::Penalty, with(|o| o.penalty = Some(PenaltyName::L1))),
        (Setting::C, with(|o| o.c = Some(2.0))),
        (Setting::Lambda, with(|o| o.lambda = Some(0.01))),
        (Setting::Solver, with(|o| o.solver = Some(SolverName::Lbfgs))),
        (Setting::Tol, with(|o| o.tol = Some(1e-4))),
        (Setting::Momentum, with(|o| o.momentum = Some(0.9))),
        (Setting::Prove, with(|o| o.prove = Some(Prove::Digits))),
        (Setting::Digits, with(|o| o.digits = Some(8))),
        (Setting::Batch, with(|o| o.batch = Some(32))),
        (
            Setting::Multiclass,
            with(|o| o.multiclass = Some(Multiclass::Ovr)),
        ),
        (Setting::ClassWeight, with(|o| o.class_weight = Some(weights))),
        (Setting::PenalizeIntercept, with(|o| o.penalize_intercept = true)),
        (Setting::Firth, with(|o| o.firth = true)),
        (Setting::NoIntercept, with(|o| o.no_intercept = true)),
        (Setting::Holdout, with(|o| o.holdout = Some(0.25))),
        (Setting::Seed, with(|o| o.seed = 9)),
    ]
}

#[test]
fn an_option_is_kept_by_a_method_that_has_it_and_refused_by_the_others() {
    for method in Method::ALL {
        for (setting, options) in single_options() {
            match options.for_method(method) {
                Ok(settings) => {
                    let expected = Options {
                        method: Some(method),
                        ..options
                    };
                    // No method has ℓ1 as its default penalty, so every given option comes back.
                    assert_eq!(settings.options(), expected, "{}", method.name());
                    assert_eq!(settings.method(), method);
                }
                Err(error) => {
                    let text = error.to_string();
                    let start = format!("{} does not go with method = {}", setting.name(), method.name());
                    assert!(text.starts_with(&start), "{text}");
                }
            }
        }
    }
}

/// The methods that take each option, from the documentation of the command line.
#[test]
fn each_family_takes_its_own_options() {
    let takes = |method: Method, wanted: Setting| {
        let all = single_options();
        let (_, options) = all.into_iter().find(|(setting, _)| *setting == wanted).unwrap();
        options.for_method(method).is_ok()
    };
    assert!(takes(Method::Kozinec, Setting::Epsilon) && !takes(Method::Perceptron, Setting::Epsilon));
    assert!(takes(Method::Lad, Setting::Quantile) && !takes(Method::LeastSquares, Setting::Quantile));
    assert!(takes(Method::NaiveBayes, Setting::Density) && !takes(Method::Lda, Setting::Density));
    assert!(takes(Method::Lda, Setting::Shrinkage) && !takes(Method::NaiveBayes, Setting::Shrinkage));
    assert!(takes(Method::Logistic, Setting::Firth) && !takes(Method::Softmax, Setting::Firth));
    assert!(
        takes(Method::MinError, Setting::ClassWeight) && !takes(Method::HardMargin, Setting::ClassWeight)
    );
    assert!(takes(Method::Svm, Setting::ClassWeight) && !takes(Method::LeastSquares, Setting::ClassWeight));
    assert!(takes(Method::VotedPerceptron, Setting::Vote) && !takes(Method::Pocket, Setting::Vote));
    assert!(takes(Method::HardMargin, Setting::Tol) && !takes(Method::MinError, Setting::Tol));
    for setting in [Setting::Seed, Setting::MaxSeconds, Setting::Holdout] {
        assert!(Method::ALL.into_iter().all(|method| takes(method, setting)));
    }
}

#[test]
fn options_that_exclude_each_other_are_refused() {
    for (options, words) in [
        (
            with(|o| {
                o.c = Some(1.0);
                o.lambda = Some(1.0);
            }),
            "C does not go with lambda",
        ),
        (
            with(|o| o.l1_ratio = Some(0.5)),
            "l1-ratio is for the elastic net",
        ),
        (
            with(|o| {
                o.no_intercept = true;
                o.penalize_intercept = true;
            }),
            "penalize-intercept",
        ),
        (
            with(|o| {
                o.firth = true;
                o.c = Some(1.0);
            }),
            "firth does not go with C",
        ),
        (
            with(|o| {
                o.firth = true;
                o.penalty = Some(PenaltyName::L2);
            }),
            "firth does not go with penalty",
        ),
        (with(|o| o.loss = Some(LossName::Hinge)), "loss = hinge"),
    ] {
        let text = options.for_method(Method::Logistic).unwrap_err().to_string();
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn options_and_builders_refuse_numbers_out_of_range() {
    for number in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(
            Options {
                c: Some(number),
                ..Options::default()
            }
            .for_method(Method::Svm)
            .is_err()
        );
        assert!(Settings::from(Svm::l2().c(number)).check().is_err());
        assert!(Settings::from(Svm::l2().lambda(number)).check().is_err());
        assert!(Settings::from(Svm::l2().tol(number)).check().is_err());
        assert!(Settings::from(Svm::l2().max_seconds(number)).check().is_err());
        assert!(
            Settings::from(Perceptrons::voted().epochs(number))
                .check()
                .is_err()
        );
    }
    for share in [-0.1, 1.1, f64::NAN] {
        assert!(Settings::from(LeastSquares::elastic_net(share)).check().is_err());
    }
    assert!(Settings::from(MinError::new().max_iter(0)).check().is_err());
}

#[test]
fn builders_make_the_settings_of_their_options() {
    let none = Options::default;
    let pairs: Vec<(Settings, Options, Method)> = vec![
        (Logistic::l2().into(), none(), Method::Logistic),
        (
            Logistic::firth().into(),
            with(|o| o.firth = true),
            Method::Logistic,
        ),
        (
            Logistic::l1().c(0.5).balanced().one_vs_rest().into(),
            with(|o| {
                o.penalty = Some(PenaltyName::L1);
                o.c = Some(0.5);
                o.class_weight = Some(ClassWeights::Balanced);
                o.multiclass = Some(Multiclass::Ovr);
            }),
            Method::Logistic,
        ),
        (
            Svm::l2().squared_hinge().no_intercept().seed(3).into(),
            with(|o| {
                o.loss = Some(LossName::SquaredHinge);
                o.no_intercept = true;
                o.seed = 3;
            }),
            Method::Svm,
        ),
        (LeastSquares::unpenalized().into(), none(), Method::LeastSquares),
        (
            LeastSquares::elastic_net(0.3).lambda(0.1).into(),
            with(|o| {
                o.penalty = Some(PenaltyName::ElasticNet);
                o.l1_ratio = Some(0.3);
                o.lambda = Some(0.1);
            }),
            Method::LeastSquares,
        ),
        (
            Lad::unpenalized().quantile(Quantile::new(0.9).unwrap()).into(),
            with(|o| o.quantile = Quantile::new(0.9).ok()),
            Method::Lad,
        ),
        (Perceptrons::averaged().into(), none(), Method::AveragedPerceptron),
        (KozinecMargin::within(0.01).into(), none(), Method::Kozinec),
        (Densities::lda().into(), none(), Method::Lda),
        (
            Densities::naive(Density::Multinomial).into(),
            with(|o| o.density = Some(Density::Multinomial)),
            Method::NaiveBayes,
        ),
        (MaximumMargin::new().into(), none(), Method::HardMargin),
        (MinError::new().into(), none(), Method::MinError),
    ];
    for (settings, options, method) in pairs {
        assert_eq!(settings, options.for_method(method).unwrap(), "{}", method.name());
    }
}

#[test]
fn the_target_and_the_options_choose_the_method() {
    let real = Target::Real(vec![1.0]);
    let classes = |names: &[&str]| Target::Classes {
        codes: vec![0],
        classes: wstar_data::Classes::new(names.iter().copied()),
    };
    let none = Options::default;
    assert_eq!(none().first_choice(&real), Method::LeastSquares);
    assert_eq!(none().first_choice(&classes(&["a", "b"])), Method::Logistic);
    assert_eq!(none().first_choice(&classes(&["a", "b", "c"])), Method::Softmax);
    let quantile = with(|o| o.quantile = Quantile::new(0.5).ok());
    assert_eq!(quantile.first_choice(&real), Method::Lad);
    let rule = with(|o| o.rule = Some(Rule::Cyclic));
    assert_eq!(
        rule.first_choice(&classes(&["a", "b"])),
        Method::AveragedPerceptron
    );
    let vote = with(|o| o.vote = Some(Voters::All));
    assert_eq!(vote.first_choice(&classes(&["a", "b"])), Method::Perceptron);
}

#[test]
fn given_options_are_listed_with_their_values() {
    let options = Options {
        schedule: Some(Schedule::Halving { first: 4 }),
        c: Some(0.1),
        penalties: Some(vec![vec![0.0, 1.0], vec![50.0, 0.0]]),
        no_intercept: true,
        ..Options::of(Method::Svm)
    };
    let words: Vec<String> = options.given().iter().map(ToString::to_string).collect();
    assert_eq!(
        words,
        [
            "C = 0.1",
            "schedule = halving",
            "halving-steps = 4",
            "penalties = 0,1;50,0",
            "no-intercept"
        ]
    );
}

proptest! {
    /// Settings survive their JSON form and their options.
    #[test]
    fn settings_survive_json_and_options(
        which in 0..Method::ALL.len(), c in 1e-6..1e6f64, seed in any::<u64>(), flags in any::<[bool; 4]>(),
    ) {
        let method = Method::ALL[which];
        let mut settings = Settings::take(method, &mut Options { seed, ..Options::default() }).unwrap();
        match &mut settings {
            Settings::Regularized(own) => {
                own.strength = if flags[0] { Strength::C(c) } else { Strength::Lambda(c) };
                own.intercept = if flags[1] { Intercept::Penalized } else { Intercept::Absent };
                own.max_iter = flags[2].then_some(seed);
            }
            Settings::Perceptrons(own) => own.learning_rate = c,
            Settings::Kozinec(own) => own.epsilon = c,
            Settings::Densities(own) => if let DensitySettings::Lda { shrinkage } = &mut own.density {
                *shrinkage = 1.0 / (1.0 + c);
            },
            Settings::MaximumMargin(own) => own.tol = c,
            Settings::MinError(own) => own.intercept = flags[3],
        }
        let json = serde_json::to_string(&settings).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Settings>(&json).unwrap(), &settings);
        let mut options = settings.options();
        prop_assert_eq!(&Settings::take(method, &mut options).unwrap(), &settings);
        let options = settings.options();
        let json = serde_json::to_string(&options).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Options>(&json).unwrap(), &options);
    }
}
