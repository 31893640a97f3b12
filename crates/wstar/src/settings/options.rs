//! Options: the settings of a fit by name, as a front end collects them, before they are checked.
//!
//! A command line, a keyword call or a JSON request gives any subset of the options. [`Options::for_method`] is the only way
//! from there to checked [`Settings`](super::Settings): the family of the method takes the options that it knows, and an
//! option that is left over does not belong to the method.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

use super::density::Density;
use super::method::Method;
use super::prove::Prove;
use super::rule::Rule;
use crate::online::{Ties, Voters};
use wstar_data::setting::{Choice, Setting};
use wstar_problem::loss::{LossName, Quantile};
use wstar_problem::multiclass::{ClassWeights, Multiclass};
use wstar_problem::penalty::PenaltyName;
use wstar_solve::SolverName;
use wstar_solve::learning_rate::Schedule;

/// The options of a fit. `None` selects the default of the method.
///
/// ```
/// use wstar::settings::{Method, Options};
/// let options = Options { epsilon: Some(0.1), ..Options::default() };
/// assert!(options.for_method(Method::Kozinec).is_ok());
/// let error = options.for_method(Method::Svm).unwrap_err();
/// assert_eq!(error.to_string(), "epsilon does not go with method = svm");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// The method; by default the [first choice](Options::first_choice) for the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<Method>,
    /// Passes over the data: the exact number for the online methods, the maximum for the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epochs: Option<f64>,
    /// The maximum number of updates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_iter: Option<u64>,
    /// The time limit in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_seconds: Option<f64>,
    /// The learning rate of the first update; by default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learning_rate: Option<f64>,
    /// How the learning rate changes with the updates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
    /// Which example comes next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
    /// Treats the rows as a multiset: a weight is a number of equal rows, and the position of a row carries no
    /// information.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub multiset: bool,
    /// The meaning of a score of exactly 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ties: Option<Ties>,
    /// The starting point: the intercept first (if there is one), then the weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Vec<f64>>,
    /// Predicts by a vote of the hyperplanes of a mistake-driven learner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vote: Option<Voters>,
    /// The relative tolerance ε on the margin, for Kozinec's algorithm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// The distribution of the features, for naive Bayes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub density: Option<Density>,
    /// Naive Bayes: the pseudo-count, or the share of the largest variance that is added to every variance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smoothing: Option<f64>,
    /// The shrinkage s of covariances: (1 − s)Σ + s·(tr Σ/d)·I replaces Σ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shrinkage: Option<f64>,
    /// The penalty matrix, row by row: W(k, d) is the penalty of deciding d when k is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub penalties: Option<Vec<Vec<f64>>>,
    /// The loss ℓ, for methods that allow several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossName>,
    /// The quantile of the target that least absolute deviations estimate; by default the median, by |y − z|.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantile: Option<Quantile>,
    /// The penalty R; by default ℓ2 for classifiers and none for regression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub penalty: Option<PenaltyName>,
    /// The weight of the loss relative to the penalty; by default 1.
    #[serde(rename = "C")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub c: Option<f64>,
    /// The penalty weight λ, an alternative to C: C = 1/(nλ).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lambda: Option<f64>,
    /// The ℓ1 share ρ of the elastic net; by default ½.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l1_ratio: Option<f64>,
    /// The solver; by default chosen from the shape of the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub solver: Option<SolverName>,
    /// The relative duality gap to reach; by default 10⁻⁶.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tol: Option<f64>,
    /// The momentum of stochastic gradient steps: the share of the last step that is added to the next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub momentum: Option<f64>,
    /// The batch size of a stochastic gradient, in rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<usize>,
    /// The reduction of more than two classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiclass: Option<Multiclass>,
    /// The weight of each class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_weight: Option<ClassWeights>,
    /// Penalises the intercept in the same way as a weight.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub penalize_intercept: bool,
    /// Applies Firth's correction to a logistic fit. It removes the leading term of the bias, and the corrected fit
    /// exists for separated classes too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub firth: bool,
    /// What is proved besides the certificate, whatever it costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prove: Option<Prove>,
    /// The significant digits of every parameter that are asked for, with their proof.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digits: Option<u32>,
    /// Fits without an intercept.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_intercept: bool,
    /// The share of the rows that training held out; a certificate is verified on the other rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holdout: Option<f64>,
    /// The seed of every random choice.
    pub seed: u64,
}

impl Options {
    /// The options of a method, all others absent.
    pub fn of(method: Method) -> Self {
        Options {
            method: Some(method),
            ..Options::default()
        }
    }

    /// The options that are given, with their values as text, without the method.
    pub fn given(&self) -> Vec<Choice> {
        // Every field is named, so that a new one cannot be forgotten here.
        let Options {
            method: _,
            epochs,
            max_iter,
            max_seconds,
            learning_rate,
            schedule,
            rule,
            multiset,
            ties,
            start,
            vote,
            epsilon,
            density,
            smoothing,
            shrinkage,
            penalties,
            loss,
            quantile,
            penalty,
            c,
            lambda,
            l1_ratio,
            solver,
            tol,
            momentum,
            batch,
            multiclass,
            class_weight,
            penalize_intercept,
            firth,
            prove,
            digits,
            no_intercept,
            holdout,
            seed,
        } = self;
        let halving_steps = match schedule {
            Some(Schedule::Halving { first }) => Some(first),
            _ => None,
        };
        let rule = rule.map(|rule| match rule {
            Rule::Cyclic => "cyclic",
            Rule::Shuffled => "shuffled",
            Rule::Worst => "worst",
        });
        let ties = ties.map(|ties| match ties {
            Ties::Mistake => "mistake",
            Ties::Positive => "positive",
        });
        let vote = vote.map(|vote| match vote {
            Voters::All => "all",
            Voters::LastHalf => "last-half",
        });
        let density = density.map(|density| match density {
            Density::Gaussian => "gaussian",
            Density::Bernoulli => "bernoulli",
            Density::Multinomial => "multinomial",
        });
        let penalties = penalties
            .as_ref()
            .map(|rows| rows.iter().map(|row| list(row)).collect::<Vec<_>>().join(";"));
        [
            value(Setting::Loss, loss.map(LossName::name)),
            value(Setting::Quantile, quantile.map(Quantile::value)),
            value(Setting::Penalty, penalty.map(PenaltyName::name)),
            value(Setting::C, *c),
            value(Setting::Lambda, *lambda),
            value(Setting::L1Ratio, *l1_ratio),
            value(Setting::Solver, solver.map(SolverName::name)),
            value(Setting::Tol, *tol),
            value(Setting::Epochs, *epochs),
            value(Setting::MaxIter, *max_iter),
            value(Setting::MaxSeconds, *max_seconds),
            value(Setting::LearningRate, *learning_rate),
            value(Setting::Schedule, schedule.map(Schedule::name)),
            value(Setting::HalvingSteps, halving_steps),
            value(Setting::Momentum, *momentum),
            value(Setting::Batch, *batch),
            value(Setting::Rule, rule),
            value(Setting::Ties, ties),
            value(Setting::Start, start.as_deref().map(list)),
            value(Setting::Vote, vote),
            value(Setting::Epsilon, *epsilon),
            value(Setting::Density, density),
            value(Setting::Smoothing, *smoothing),
            value(Setting::Shrinkage, *shrinkage),
            value(Setting::Penalties, penalties),
            value(Setting::Multiclass, multiclass.map(Multiclass::name)),
            value(Setting::ClassWeight, class_weight.as_ref()),
            value(Setting::Prove, prove.map(Prove::name)),
            value(Setting::Digits, *digits),
            value(Setting::Holdout, *holdout),
            value(Setting::Seed, (*seed != 0).then_some(seed)),
            switch(Setting::Multiset, *multiset),
            switch(Setting::PenalizeIntercept, *penalize_intercept),
            switch(Setting::Firth, *firth),
            switch(Setting::NoIntercept, *no_intercept),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

fn value(setting: Setting, value: Option<impl Display>) -> Option<Choice> {
    value.map(|value| setting.to(value))
}

fn switch(setting: Setting, on: bool) -> Option<Choice> {
    on.then(|| setting.given())
}

fn list(values: &[f64]) -> String {
    let texts: Vec<String> = values.iter().map(f64::to_string).collect();
    texts.join(",")
}
