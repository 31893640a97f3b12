//! Resolves settings to the problem that a fit minimises, with every default filled in.

use crate::settings::{Method, Regularized, Strength};
use wstar_data::Classes;
use wstar_data::error::Remedy;
use wstar_data::error::{Error, Result};
use wstar_data::setting::Setting;
use wstar_problem::loss::LossName;
use wstar_problem::multiclass::{Multiclass, Spec, Subproblems, Totals};
use wstar_problem::penalty::{Penalty, PenaltyName};
use wstar_solve::plan::SolverOptions;

impl Regularized {
    /// The subproblems that these settings define for a target; `classes` is empty for a real target.
    pub fn reduction(&self, classes: &Classes, features: usize, totals: &Totals) -> Result<Subproblems> {
        if totals.rows() <= 0.0 {
            return Err(Error::data("all sample weights are 0: no row counts"));
        }
        let multiclass = multiclass(self, classes)?;
        let loss = match multiclass {
            Some(Multiclass::Softmax) => LossName::Softmax,
            _ if self.loss == LossName::Softmax => LossName::Logistic,
            _ => self.loss,
        };
        if self.firth && loss == LossName::Softmax {
            return Err(
                Error::misuse(Setting::Firth.given(), "is for two classes").remedy(Remedy::Effect(
                    Setting::Multiclass.to("ovr"),
                    "makes a binary problem for each class".into(),
                )),
            );
        }
        let penalty = self.penalty;
        if !loss.is_convex() && matches!(penalty, PenaltyName::L1 | PenaltyName::ElasticNet) {
            return Err(
                Error::conflict(Setting::Loss.to(loss.name()), Setting::Penalty.to(penalty.name()))
                    .remedy(Setting::Penalty.any(["l2", "none"])),
            );
        }
        let spec = Spec {
            loss,
            penalty: Penalty::new(penalty, self.l1_ratio)?,
            c: match self.strength {
                Strength::Lambda(lambda) => 1.0 / (totals.rows() * lambda),
                Strength::C(c) => c,
            },
            intercept: self.intercept,
            firth: self.firth,
            multiclass,
            class_weight: self.class_weight.as_ref(),
        };
        Subproblems::new(&spec, classes, features, totals)
    }

    /// The settings that concern the solvers.
    pub(crate) fn solver_options(&self) -> SolverOptions {
        let mut options = SolverOptions::default();
        options.solver = self.solver;
        options.batch = self.batch;
        options.epochs = self.epochs;
        options.learning_rate = self.learning_rate;
        options.schedule = self.schedule;
        options.momentum = self.momentum;
        options.max_iterations = self.max_iter;
        options.seed = self.common.seed;
        options
    }
}

/// The reduction of several classes; `None` for a real target and for two classes.
fn multiclass(settings: &Regularized, classes: &Classes) -> Result<Option<Multiclass>> {
    let method = settings.method;
    if classes.is_empty() {
        return Ok(None);
    }
    if method == Method::Softmax {
        return match settings.multiclass {
            None | Some(Multiclass::Softmax) => Ok(Some(Multiclass::Softmax)),
            Some(_) => Err(
                Error::conflict(Setting::Multiclass.given(), Setting::Method.to("softmax"))
                    .because("which is itself a multiclass method")
                    .remedy(Setting::Method.to("logistic")),
            ),
        };
    }
    let may_softmax = method == Method::Logistic && settings.loss == LossName::Logistic;
    match settings.multiclass {
        Some(Multiclass::Softmax) if !may_softmax => Err(Error::conflict(
            Setting::Multiclass.to("softmax"),
            Setting::Method.to(method.name()),
        )
        .remedy(Setting::Multiclass.any(["ovr", "ovo"]))),
        _ if classes.len() == 2 => Ok(None),
        None if may_softmax => Ok(Some(Multiclass::Softmax)),
        None => Ok(Some(Multiclass::Ovr)),
        chosen => Ok(chosen),
    }
}
