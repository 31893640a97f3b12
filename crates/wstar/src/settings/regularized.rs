//! The settings of methods that minimise R(w) + C·Σᵢ cᵢ ℓ(yᵢ, w·xᵢ + b).

use serde::{Deserialize, Serialize};

use super::checks::{at_least_one, check_class_weight, check_schedule, limit, positive};
use super::common::{Common, budget};
use super::{Method, Options, Prove};
use wstar_data::error::{Error, Range, Remedy, Result};
use wstar_data::run::Budget;
use wstar_data::setting::Setting;
use wstar_problem::loss::LossName;
use wstar_problem::multiclass::{ClassWeights, Multiclass};
use wstar_problem::penalty::{Penalty, PenaltyName};
use wstar_problem::problem::Intercept;
use wstar_solve::SolverName;
use wstar_solve::learning_rate::Schedule;

/// The relative duality gap to reach by default. By convention: about the accuracy at which predictions no longer change.
const TOL: f64 = 1e-6;

/// The ℓ1 share of the elastic net by default, as in scikit-learn.
const L1_RATIO: f64 = 0.5;

/// The weight of the loss relative to the penalty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Strength {
    /// C, the factor of the sum of losses.
    C(f64),
    /// λ, the factor of the penalty against the mean loss: C = 1/(nλ).
    #[serde(rename = "lambda")]
    Lambda(f64),
}

/// The settings of a method that minimises a loss and a penalty.
///
/// A program makes them with a builder: [`Logistic`](super::Logistic), [`Softmax`](super::Softmax), [`Svm`](super::Svm),
/// [`LeastSquares`](super::LeastSquares), [`Lad`](super::Lad) or [`MseClassifier`](super::MseClassifier).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Regularized {
    /// The method: it decides which losses and which multiclass forms are allowed.
    pub(crate) method: Method,
    /// The loss ℓ.
    pub loss: LossName,
    /// The penalty R.
    pub penalty: PenaltyName,
    /// The ℓ1 share ρ of the elastic net; other penalties ignore it.
    pub l1_ratio: f64,
    /// C or λ.
    pub strength: Strength,
    /// Whether there is an intercept, and whether it is penalised.
    pub(crate) intercept: Intercept,
    /// Whether Firth's correction is applied. It removes the leading term of the bias, and the corrected fit exists for
    /// separated classes too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) firth: bool,
    /// The reduction of more than two classes; by default softmax for the logistic loss and one-vs-rest otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) multiclass: Option<Multiclass>,
    /// The weight of each class; by default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) class_weight: Option<ClassWeights>,
    /// The relative duality gap to reach.
    pub(crate) tol: f64,
    /// The starting point: the intercept first (if there is one), then the weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) start: Option<Vec<f64>>,
    /// The solver; by default chosen from the shape of the data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) solver: Option<SolverName>,
    /// The most iterations over all rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_iter: Option<u64>,
    /// The passes of a stochastic solver over the rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) epochs: Option<f64>,
    /// The batch size of a stochastic gradient, in rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) batch: Option<usize>,
    /// The learning rate of the first gradient step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) learning_rate: Option<f64>,
    /// How the learning rate changes with the steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) schedule: Option<Schedule>,
    /// The momentum of gradient steps: the share of the last step that is added to the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) momentum: Option<f64>,
    /// What is proved besides the certificate, whatever it costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) prove: Option<Prove>,
    /// The significant digits of every parameter that are asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) digits: Option<u32>,
    /// The settings of every method.
    pub(crate) common: Common,
}

impl Regularized {
    /// The settings of a method with all defaults.
    pub(crate) fn new(method: Method) -> Self {
        Regularized {
            method,
            loss: default_loss(method),
            penalty: default_penalty(method, false),
            l1_ratio: L1_RATIO,
            strength: Strength::C(1.0),
            intercept: Intercept::Free,
            firth: false,
            multiclass: None,
            class_weight: None,
            tol: TOL,
            start: None,
            solver: None,
            max_iter: None,
            epochs: None,
            batch: None,
            learning_rate: None,
            schedule: None,
            momentum: None,
            prove: None,
            digits: None,
            common: Common::default(),
        }
    }

    pub(super) fn take(method: Method, options: &mut Options) -> Result<Self> {
        check_exclusions(options)?;
        let classifier = !method.is_regression();
        let quantile = match method {
            Method::Lad => options.quantile.take(),
            _ => None,
        };
        let firth = method == Method::Logistic && std::mem::take(&mut options.firth);
        let loss = quantile.map(LossName::Quantile).or(options.loss.take());
        let no_intercept = std::mem::take(&mut options.no_intercept);
        let penalized = std::mem::take(&mut options.penalize_intercept);
        Ok(Regularized {
            loss: loss.unwrap_or(default_loss(method)),
            penalty: options.penalty.take().unwrap_or(default_penalty(method, firth)),
            l1_ratio: options.l1_ratio.take().unwrap_or(L1_RATIO),
            strength: match (options.lambda.take(), options.c.take()) {
                (Some(lambda), _) => Strength::Lambda(lambda),
                (None, c) => Strength::C(c.unwrap_or(1.0)),
            },
            intercept: match (no_intercept, penalized) {
                (true, _) => Intercept::Absent,
                (_, true) => Intercept::Penalized,
                _ => Intercept::Free,
            },
            firth,
            multiclass: options.multiclass.take_if(|_| classifier),
            class_weight: options.class_weight.take_if(|_| classifier),
            tol: options.tol.take().unwrap_or(TOL),
            start: options.start.take(),
            solver: options.solver.take(),
            max_iter: options.max_iter.take(),
            epochs: options.epochs.take(),
            batch: options.batch.take(),
            learning_rate: options.learning_rate.take(),
            schedule: options.schedule.take(),
            momentum: options.momentum.take(),
            prove: options.prove.take(),
            digits: options.digits.take(),
            common: Common::take(options),
            method,
        })
    }

    pub(super) fn give(&self, options: &mut Options) {
        match self.loss {
            LossName::Quantile(quantile) => options.quantile = Some(quantile),
            loss => options.loss = Some(loss).filter(|loss| *loss != default_loss(self.method)),
        }
        let default = default_penalty(self.method, self.firth);
        options.penalty = Some(self.penalty).filter(|penalty| *penalty != default);
        let share = self.penalty == PenaltyName::ElasticNet && self.l1_ratio != L1_RATIO;
        options.l1_ratio = share.then_some(self.l1_ratio);
        match self.strength {
            Strength::C(c) => options.c = Some(c).filter(|c| *c != 1.0),
            Strength::Lambda(lambda) => options.lambda = Some(lambda),
        }
        options.no_intercept = self.intercept == Intercept::Absent;
        options.penalize_intercept = self.intercept == Intercept::Penalized;
        options.firth = self.firth;
        options.multiclass = self.multiclass;
        options.class_weight = self.class_weight.clone();
        options.tol = Some(self.tol).filter(|tol| *tol != TOL);
        options.start = self.start.clone();
        options.solver = self.solver;
        options.max_iter = self.max_iter;
        options.epochs = self.epochs;
        options.batch = self.batch;
        options.learning_rate = self.learning_rate;
        options.schedule = self.schedule;
        options.momentum = self.momentum;
        options.prove = self.prove;
        options.digits = self.digits;
    }

    pub(super) fn check(&self) -> Result<()> {
        if !self.method.is_convex() {
            let name = self.method.name();
            return Err(Error::settings(format!("{name} does not minimise a loss")));
        }
        limit(Setting::Epochs, self.epochs)?;
        match self.strength {
            Strength::C(c) => positive(Setting::C, Some(c))?,
            Strength::Lambda(lambda) => positive(Setting::Lambda, Some(lambda))?,
        }
        positive(Setting::Tol, Some(self.tol))?;
        self.check_loss()?;
        if self.firth && self.penalty != PenaltyName::None {
            return Err(
                Error::conflict(Setting::Firth.given(), Setting::Penalty.to(self.penalty.name())).because(
                    "because Firth's correction is defined for the unpenalised, unweighted likelihood",
                ),
            );
        }
        Penalty::new(self.penalty, self.l1_ratio)?;
        if let Some(momentum) = self.momentum
            && !(0.0..1.0).contains(&momentum)
        {
            let range = Range::FromBelow(0.0, 1.0);
            return Err(Error::out_of_range(Setting::Momentum, range, momentum));
        }
        at_least_one(Setting::Batch, self.batch.map(|batch| batch as u64))?;
        at_least_one(Setting::MaxIter, self.max_iter)?;
        at_least_one(Setting::Digits, self.digits.map(u64::from))?;
        check_schedule(self.schedule)?;
        check_class_weight(self.class_weight.as_ref())
    }

    /// Rejects a loss that the method does not have.
    fn check_loss(&self) -> Result<()> {
        let (method, loss) = (self.method, self.loss);
        let quantile = method == Method::Lad && matches!(loss, LossName::Quantile(_));
        if quantile || method.losses().contains(&loss) {
            return Ok(());
        }
        let known: Vec<&str> = method.losses().iter().map(|loss| loss.name()).collect();
        Err(
            Error::conflict(Setting::Loss.to(loss.name()), Setting::Method.to(method.name()))
                .remedy(Setting::Loss.any(known)),
        )
    }

    /// The method: it decides which losses and which multiclass forms are allowed.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Whether there is an intercept.
    pub fn has_intercept(&self) -> bool {
        self.intercept != Intercept::Absent
    }

    pub(crate) fn budget(&self) -> Budget {
        budget(self.max_iter, &self.common)
    }
}

fn default_loss(method: Method) -> LossName {
    method.losses().first().copied().unwrap_or(LossName::Logistic)
}

fn default_penalty(method: Method, firth: bool) -> PenaltyName {
    if method.is_regression() || firth {
        PenaltyName::None
    } else {
        PenaltyName::L2
    }
}

/// Rejects options that exclude each other, where one of them would otherwise be ignored.
fn check_exclusions(options: &Options) -> Result<()> {
    if options.c.is_some() && options.lambda.is_some() {
        return Err(Error::conflict(Setting::C.given(), Setting::Lambda.given())
            .because("which is another form of it"));
    }
    if options.quantile.is_some() && options.loss.is_some() {
        return Err(Error::conflict(Setting::Quantile.given(), Setting::Loss.given())
            .because("because it is a loss of its own")
            .remedy(Remedy::LeaveOut(Setting::Loss)));
    }
    if options.l1_ratio.is_some() && options.penalty != Some(PenaltyName::ElasticNet) {
        return Err(Error::misuse(Setting::L1Ratio.given(), "is for the elastic net")
            .remedy(Setting::Penalty.to("elastic-net")));
    }
    if options.no_intercept && options.penalize_intercept {
        return Err(Error::conflict(
            Setting::PenalizeIntercept.given(),
            Setting::NoIntercept.given(),
        ));
    }
    if options.firth {
        return check_firth(options);
    }
    Ok(())
}

/// Rejects options that Firth's correction is not defined for: it corrects the unpenalised, unweighted likelihood.
fn check_firth(options: &Options) -> Result<()> {
    let penalized = options
        .penalty
        .is_some_and(|penalty| penalty != PenaltyName::None);
    let other_loss = options.loss.is_some_and(|loss| loss != LossName::Logistic);
    let others = [
        (penalized, Setting::Penalty),
        (other_loss, Setting::Loss),
        (options.c.is_some(), Setting::C),
        (options.lambda.is_some(), Setting::Lambda),
        (options.class_weight.is_some(), Setting::ClassWeight),
        (options.penalize_intercept, Setting::PenalizeIntercept),
        (options.solver.is_some(), Setting::Solver),
        (options.batch.is_some(), Setting::Batch),
        (options.epochs.is_some(), Setting::Epochs),
        (options.learning_rate.is_some(), Setting::LearningRate),
        (options.schedule.is_some(), Setting::Schedule),
        (options.momentum.is_some(), Setting::Momentum),
    ];
    match others.iter().find(|(given, _)| *given) {
        Some(&(_, setting)) => Err(Error::conflict(Setting::Firth.given(), setting.given())
            .because("because Firth's correction is defined for the unpenalised, unweighted likelihood")),
        None => Ok(()),
    }
}
