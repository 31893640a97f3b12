//! What is minimised: P(w, b) = R(w) + Σᵢ cᵢ ℓ(yᵢ, w·xᵢ + b), with C and all weights in cᵢ.
//!
//! A [`Problem`] is pure data. It is the only definition that fits and certificates share.

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use crate::loss::LossName;
use crate::penalty::Penalty;
use wstar_data::error::{Error, Result};
use wstar_data::linear::Layout;

/// How the intercept is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Intercept {
    /// Present and not penalised.
    #[default]
    Free,
    /// Present and penalised like a weight.
    Penalized,
    /// Absent: the hyperplane passes through the origin.
    Absent,
}

/// What is minimised over the rows: a loss, a penalty, the kind of intercept and the layout of the parameters.
///
/// ```
/// use wstar_data::linear::Layout;
/// use wstar_problem::loss::LossName;
/// use wstar_problem::penalty::Penalty;
/// use wstar_problem::{Intercept, Problem};
/// let layout = Layout { outputs: 1, features: 3, intercept: true };
/// let problem = Problem::new(LossName::Logistic, Penalty::NONE, Intercept::Free, layout)?.with_firth()?;
/// assert!(problem.is_firth() && !problem.is_convex());
/// // The layout has an intercept.
/// assert!(Problem::new(LossName::Logistic, Penalty::L2, Intercept::Absent, layout).is_err());
/// // Firth's correction is for the unpenalised likelihood.
/// assert!(Problem::new(LossName::Logistic, Penalty::L2, Intercept::Free, layout)?.with_firth().is_err());
/// # Ok::<(), wstar_data::error::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Problem {
    loss: LossName,
    penalty: Penalty,
    intercept: Intercept,
    layout: Layout,
    firth: bool,
}

/// The coefficients of the penalty are finite, so every problem equals itself.
impl Eq for Problem {}

impl Hash for Problem {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // 0 and −0 are equal and have different bits.
        let bits = |value: f64| (value + 0.0).to_bits();
        (self.loss, bits(self.penalty.l1), bits(self.penalty.l2)).hash(state);
        (self.intercept, self.layout, self.firth).hash(state);
    }
}

impl Problem {
    /// The problem of a loss, a penalty, an intercept and a layout.
    ///
    /// Refused are coefficients of the penalty that are negative or not finite, a layout whose intercept is not the one
    /// asked for, and several outputs for another loss than softmax.
    pub fn new(loss: LossName, penalty: Penalty, intercept: Intercept, layout: Layout) -> Result<Self> {
        if ![penalty.l1, penalty.l2]
            .iter()
            .all(|&l| l.is_finite() && l >= 0.0)
        {
            return Err(Error::settings(
                "the coefficients of a penalty are numbers of at least 0",
            ));
        }
        if layout.intercept != (intercept != Intercept::Absent) {
            return Err(Error::settings(
                "the layout of the parameters and the problem disagree about the intercept",
            ));
        }
        if layout.outputs == 0 || (layout.outputs > 1 && loss != LossName::Softmax) {
            return Err(Error::settings(format!(
                "the {} loss does not have {} scores for a row",
                loss.name(),
                layout.outputs
            )));
        }
        Ok(Problem {
            loss,
            penalty,
            intercept,
            layout,
            firth: false,
        })
    }

    /// The problem with Firth's correction: ½ ln det I(θ), with I the Fisher information, is subtracted. Only for logistic
    /// regression without a penalty.
    pub fn with_firth(self) -> Result<Self> {
        if self.loss != LossName::Logistic || !self.penalty.is_none() {
            return Err(Error::settings(
                "Firth's correction is defined for the unpenalised logistic likelihood",
            ));
        }
        Ok(Problem { firth: true, ..self })
    }

    /// The loss ℓ.
    #[inline]
    pub fn loss(&self) -> LossName {
        self.loss
    }

    /// The penalty R.
    #[inline]
    pub fn penalty(&self) -> Penalty {
        self.penalty
    }

    /// Whether there is an intercept, and whether R includes it.
    #[inline]
    pub fn intercept(&self) -> Intercept {
        self.intercept
    }

    /// How the parameter vector is divided into weights and intercepts.
    #[inline]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Whether the problem has Firth's correction.
    #[inline]
    pub fn is_firth(&self) -> bool {
        self.firth
    }

    /// Whether the objective is convex, so that every stationary point is an optimum.
    #[inline]
    pub fn is_convex(&self) -> bool {
        self.loss.is_convex() && !self.firth
    }

    /// The penalty of parameter `j`: [`Penalty::NONE`] for a free intercept.
    #[inline]
    pub fn penalty_of(&self, j: usize) -> Penalty {
        if self.intercept == Intercept::Free && self.layout.is_intercept(j) {
            Penalty::NONE
        } else {
            self.penalty
        }
    }

    /// R at the given parameters.
    #[inline]
    pub fn penalty_value(&self, at: &[f64]) -> f64 {
        at.iter()
            .enumerate()
            .map(|(j, &w)| self.penalty_of(j).of(w))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::Quantile;
    use std::collections::HashSet;

    const LAYOUT: Layout = Layout {
        outputs: 1,
        features: 2,
        intercept: true,
    };

    #[test]
    fn combinations_without_a_meaning_are_refused() {
        let new = |loss, penalty, intercept, layout| Problem::new(loss, penalty, intercept, layout).is_ok();
        let three = Layout { outputs: 3, ..LAYOUT };
        let none = Layout { outputs: 0, ..LAYOUT };
        assert!(new(LossName::Hinge, Penalty::L2, Intercept::Free, LAYOUT));
        assert!(!new(LossName::Hinge, Penalty::L2, Intercept::Absent, LAYOUT));
        assert!(!new(LossName::Hinge, Penalty::L2, Intercept::Free, three));
        assert!(!new(LossName::Hinge, Penalty::L2, Intercept::Free, none));
        assert!(new(LossName::Softmax, Penalty::L2, Intercept::Free, three));
        for l2 in [-1.0, f64::NAN, f64::INFINITY] {
            let penalty = Penalty { l1: 0.0, l2 };
            assert!(!new(LossName::Hinge, penalty, Intercept::Free, LAYOUT));
        }
        let squared = Problem::new(LossName::Squared, Penalty::NONE, Intercept::Free, LAYOUT).unwrap();
        assert!(squared.with_firth().is_err());
    }

    #[test]
    fn equal_problems_have_equal_hashes() {
        let quantile = |level| LossName::Quantile(Quantile::new(level).unwrap());
        let mut set = HashSet::new();
        let mut add = |loss, l1| {
            let penalty = Penalty { l1, l2: 1.0 };
            set.insert(Problem::new(loss, penalty, Intercept::Free, LAYOUT).unwrap())
        };
        assert!(add(LossName::Hinge, 0.0));
        assert!(!add(LossName::Hinge, -0.0));
        assert!(add(quantile(0.25), 0.0));
        assert!(add(quantile(0.75), 0.0));
        assert!(!add(quantile(0.75), 0.0));
    }

    #[test]
    fn a_problem_is_written_by_its_parts() {
        let problem = Problem::new(LossName::Hinge, Penalty::L2, Intercept::Free, LAYOUT).unwrap();
        let written = serde_json::to_value(problem).unwrap();
        assert_eq!(written["loss"], "hinge");
        assert_eq!(written["layout"]["features"], 2);
    }
}
