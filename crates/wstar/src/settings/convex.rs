//! The checks of settings that only losses and penalties have.

use crate::error::{Error, Result};
use crate::loss::LossName;
use crate::penalty::{Penalty, PenaltyName};
use crate::settings::{ClassWeights, Settings};

impl Settings {
    /// Refuses what makes no sense of a loss and a penalty.
    pub(super) fn check_convex(&self) -> Result<()> {
        let method = self.method();
        if self.c.is_some() && self.lambda.is_some() {
            return Err(Error::settings("--C and --lambda say the same: give one of them"));
        }
        if let Some(loss) = self.loss
            && method.is_convex()
            && !method.losses().contains(&loss)
        {
            let known: Vec<&str> = method.losses().iter().map(|loss| loss.name()).collect();
            return Err(Error::settings(format!(
                "--loss {} does not go with --method {}",
                loss.name(),
                method.name()
            ))
            .hint(format!("its losses: {}", known.join(", "))));
        }
        if self.quantile.is_some() && self.loss.is_some() {
            return Err(Error::settings(
                "--quantile is a loss of its own: leave --loss out",
            ));
        }
        Penalty::new(PenaltyName::ElasticNet, self.l1_ratio.unwrap_or(0.5))?;
        if self.l1_ratio.is_some() && self.penalty != Some(PenaltyName::ElasticNet) {
            return Err(Error::settings("--l1-ratio goes with --penalty elastic-net"));
        }
        self.check_firth()?;
        if let Some(momentum) = self.momentum
            && !(0.0..1.0).contains(&momentum)
        {
            return Err(Error::settings(format!(
                "--momentum must be at least 0 and less than 1, not {momentum}"
            )));
        }
        if self.batch == Some(0) {
            return Err(Error::settings("--batch must be at least 1, not 0"));
        }
        if self.no_intercept && self.penalize_intercept {
            return Err(Error::settings(
                "--no-intercept leaves nothing for --penalize-intercept",
            ));
        }
        if let Some(ClassWeights::Given(weights)) = &self.class_weight
            && let Some((class, weight)) = weights.iter().find(|(_, w)| !(w.is_finite() && *w >= 0.0))
        {
            return Err(Error::settings(format!(
                "the weight of class {class} must be a number of at least 0, not {weight}"
            )));
        }
        Ok(())
    }

    /// Refuses what would change what Firth's correction corrects.
    fn check_firth(&self) -> Result<()> {
        if !self.firth {
            return Ok(());
        }
        let others = [
            (
                self.penalty.is_some_and(|penalty| penalty != PenaltyName::None),
                "penalty",
            ),
            (self.loss.is_some_and(|loss| loss != LossName::Logistic), "loss"),
            (self.c.is_some(), "C"),
            (self.lambda.is_some(), "lambda"),
            (self.class_weight.is_some(), "class-weight"),
            (self.penalize_intercept, "penalize-intercept"),
            (self.solver.is_some(), "solver"),
            (self.batch.is_some(), "batch"),
            (self.epochs.is_some(), "epochs"),
            (self.learning_rate.is_some(), "learning-rate"),
            (self.schedule.is_some(), "schedule"),
            (self.momentum.is_some(), "momentum"),
        ];
        match others.iter().find(|(given, _)| *given) {
            Some((_, option)) => Err(Error::settings(format!("--firth does not go with --{option}"))
                .hint("Firth's correction is of the plain likelihood")),
            None => Ok(()),
        }
    }
}
