//! What is minimised: P(w, b) = R(w) + Σᵢ cᵢ ℓ(yᵢ, w·xᵢ + b), with C and all weights in cᵢ.
//!
//! **The gap.** For any α the dual value is D(α) = −Σ cᵢ ℓ\*(yᵢ, −αᵢ/cᵢ) − R\*(Xᵀα), a lower bound on every
//! P(w, b) as long as a free intercept's Σα is 0. At αᵢ = −cᵢ ℓ'(yᵢ, zᵢ) Fenchel's inequality is an equality
//! for every row, so D needs nothing but the loss L and its gradient g at the point:
//! D(α) = L − θ·g − R\*(−g). A bare ℓ1 penalty asks for |g| ≤ l1; α is shrunk by the factor t that makes it
//! so, and ℓ\* being convex with ℓ\*(0) = 0, D(tα) ≥ t·(L − θ·g).

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::loss::LossName;
use crate::oracle::{Layout, Oracle, Query, Rows, Sums};
use crate::penalty::Penalty;

/// What becomes of the intercept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Intercept {
    /// It costs nothing.
    #[default]
    Free,
    /// It is penalised like a weight.
    Penalized,
    /// There is none.
    Absent,
}

/// A loss, a penalty and rows.
pub struct Problem<'a> {
    /// ℓ.
    pub loss: LossName,
    /// R.
    pub penalty: Penalty,
    /// Whether R sees the intercept, or whether there is one.
    pub intercept: Intercept,
    /// Σᵢ cᵢ ℓ and its derivatives.
    pub oracle: Box<dyn Oracle + 'a>,
    /// The rows themselves, where they are at hand: for solvers that go row by row or column by column.
    pub rows: Option<Rows<'a>>,
}

/// The objective and its parts at a point.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluated {
    /// P.
    pub objective: f64,
    /// Σ cᵢ ℓ alone.
    pub loss: f64,
    /// The gradient of the loss alone.
    pub gradient: Vec<f64>,
    /// The Hessian of the loss alone, if it was asked for.
    pub hessian: Vec<f64>,
}

impl Problem<'_> {
    /// How the parameters lie.
    pub fn layout(&self) -> Layout {
        self.oracle.layout()
    }

    /// The penalty of parameter `j`: none for a free intercept.
    pub fn penalty_of(&self, j: usize) -> Penalty {
        if self.intercept == Intercept::Free && self.layout().is_intercept(j) {
            Penalty::NONE
        } else {
            self.penalty
        }
    }

    /// R at these parameters.
    pub fn penalty_value(&self, at: &[f64]) -> f64 {
        at.iter()
            .enumerate()
            .map(|(j, &w)| self.penalty_of(j).of(w))
            .sum()
    }

    /// The objective, with the gradient of the loss.
    pub fn gradient(&mut self, at: &[f64]) -> Result<Evaluated> {
        let sums = self.oracle.ask(Query::Gradient { at })?;
        Ok(self.evaluated(at, sums))
    }

    /// The objective, with the gradient and the Hessian of the loss.
    pub fn hessian(&mut self, at: &[f64]) -> Result<Evaluated> {
        let sums = self.oracle.ask(Query::Hessian { at })?;
        Ok(self.evaluated(at, sums))
    }

    pub(crate) fn evaluated(&self, at: &[f64], sums: Sums) -> Evaluated {
        Evaluated {
            objective: sums.value + self.penalty_value(at),
            loss: sums.value,
            gradient: sums.gradient,
            hessian: sums.hessian,
        }
    }

    /// The gradient of the whole objective, where the penalty has one.
    pub fn full_gradient(&self, at: &[f64], evaluated: &Evaluated) -> Vec<f64> {
        let slopes = evaluated.gradient.iter().zip(at).enumerate();
        slopes.map(|(j, (g, w))| g + self.penalty_of(j).l2 * w).collect()
    }

    /// An estimate of P − P\* for a convex smooth loss: the gap to the dual point that the slopes give.
    ///
    /// Solvers stop by it; what is claimed in the end is computed elsewhere, from the data. A free
    /// intercept's slope e should be 0: D bounds P only up to b·e, so that is counted, with what a step along b
    /// could gain; parameters without any penalty otherwise give +∞ unless their slopes are 0, for the dual
    /// point is then infeasible.
    pub fn gap(&self, at: &[f64], evaluated: &Evaluated) -> f64 {
        self.gap_by(at, evaluated, false)
    }

    /// The same where free intercepts will still be put in their places, which takes their slopes away.
    pub(crate) fn gap_but_for_intercepts(&self, at: &[f64], evaluated: &Evaluated) -> f64 {
        self.gap_by(at, evaluated, true)
    }

    fn gap_by(&self, at: &[f64], evaluated: &Evaluated, will_be_placed: bool) -> f64 {
        let layout = self.layout();
        let mut conjugate = 0.0;
        let mut intercepts = 0.0;
        let middle = self.middle_intercept(at);
        let mut shrink = 1.0f64;
        for (j, &g) in evaluated.gradient.iter().enumerate() {
            if self.intercept == Intercept::Free && layout.is_intercept(j) {
                let gained = g * g / self.oracle.total_weight();
                intercepts += match will_be_placed {
                    true => layout.outputs as f64 * gained - g * at[j],
                    false => gained + (g * (at[j] - middle)).abs(),
                };
            } else if self.penalty.l2 > 0.0 {
                conjugate += self.penalty.conjugate(g);
            } else if g.abs() > self.penalty.l1 {
                shrink = shrink.min(self.penalty.l1 / g.abs());
            }
        }
        if shrink == 0.0 {
            return f64::INFINITY;
        }
        let product = crate::kernel::dense::dot(at, &evaluated.gradient);
        let dual = shrink * (evaluated.loss - product) - conjugate;
        evaluated.objective - dual + intercepts
    }

    /// What all intercepts can be moved by without a change of the loss: their mean if there are several.
    fn middle_intercept(&self, at: &[f64]) -> f64 {
        let layout = self.layout();
        match layout.outputs {
            1 => 0.0,
            outputs => (0..outputs).map(|k| layout.output(at, k).1).sum::<f64>() / outputs as f64,
        }
    }

    /// The relative gap: what `tol` is compared with.
    pub fn relative(gap: f64, objective: f64) -> f64 {
        gap / objective.abs().max(1.0)
    }
}
