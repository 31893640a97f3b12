//! The problem: minimise P(θ) = Σⱼ Rⱼ(θⱼ) + Σᵢ cᵢ ℓ(yᵢ, zᵢ) with zᵢ = x̃ᵢ·θ and R(w) = l1·|w| + l2/2·w².

use crate::design::Design;

/// The loss ℓ(y, z) of a target y and a score z.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Loss {
    /// ½(y − z)².
    Squared,
    /// log(1 + e^(−yz)), y = ±1.
    Logistic,
    /// max(0, 1 − yz), y = ±1.
    Hinge,
    /// max(0, 1 − yz)², y = ±1.
    SquaredHinge,
    /// max(0, 1 − yz)² where yz ≥ −1, else −4yz; y = ±1.
    ModifiedHuber,
    /// |y − z|.
    Absolute,
    /// max(q(y − z), (q − 1)(y − z)) for 0 < q < 1.
    Quantile(f64),
    /// log Σₖ e^(zₖ) − z_y, where y is the index of a class.
    Softmax,
    /// σ(−yz)², y = ±1, which is not convex: only `stationarity.rs` knows it.
    SigmoidMse,
}

/// The intercept: the coefficient of a column of ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Intercept {
    /// R is 0 for it.
    Free,
    Penalized,
    Absent,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Problem {
    pub(crate) loss: Loss,
    pub(crate) l1: f64,
    pub(crate) l2: f64,
    pub(crate) intercept: Intercept,
    /// The number of scores of a row: the classes of softmax, otherwise 1.
    pub(crate) outputs: usize,
    pub(crate) features: usize,
}

impl Problem {
    /// Parameters of one output: the weights, then the intercept if there is one.
    pub(crate) fn width(&self) -> usize {
        self.features + usize::from(self.intercept != Intercept::Absent)
    }

    pub(crate) fn blocks<'a>(&self, parameters: &'a [f64]) -> impl Iterator<Item = &'a [f64]> {
        let width = self.width();
        (0..self.outputs).map(move |k| &parameters[k * width..][..width])
    }

    pub(crate) fn penalizes(&self, j: usize) -> bool {
        (self.l1 > 0.0 || self.l2 > 0.0) && (j < self.features || self.intercept == Intercept::Penalized)
    }
}

pub(crate) struct Subproblem<'a> {
    pub(crate) problem: Problem,
    pub(crate) design: &'a Design,
    /// ±1, real numbers, or indices of classes for softmax.
    pub(crate) targets: &'a [f64],
    /// cᵢ ≥ 0; 0 leaves the row out.
    pub(crate) weights: &'a [f64],
}

/// Whether a number is 0, or between 1e-140 and 1e140 in size. For these numbers the error bounds hold: no product of two of
/// them overflows or underflows.
pub(crate) fn in_range(x: f64) -> bool {
    x == 0.0 || (1e-140..=1e140).contains(&x.abs())
}

impl Subproblem<'_> {
    /// Whether everything is a number of the range in which the proofs hold.
    pub(crate) fn is_admissible(&self, point: &[f64]) -> bool {
        let (problem, n) = (&self.problem, self.design.rows());
        let not_negative = |x: f64| in_range(x) && x >= 0.0;
        let target = |y: f64| match problem.loss {
            Loss::Softmax => y >= 0.0 && y.fract() == 0.0 && y < problem.outputs as f64,
            Loss::Squared | Loss::Absolute | Loss::Quantile(_) => in_range(y),
            _ => y.abs() == 1.0,
        };
        let loss = match problem.loss {
            Loss::Quantile(q) => q > 1e-140 && q < 1.0 && problem.outputs == 1,
            Loss::Softmax => problem.outputs >= 2,
            Loss::SigmoidMse => false,
            _ => problem.outputs == 1,
        };
        loss && self.design.is_well_formed()
            && problem.features == self.design.features
            && (self.targets.len(), self.weights.len()) == (n, n)
            && problem.outputs.checked_mul(problem.width()) == Some(point.len())
            && not_negative(problem.l1)
            && not_negative(problem.l2)
            && self.weights.iter().all(|&c| not_negative(c))
            && self.targets.iter().all(|&y| target(y))
            && point.iter().chain(&self.design.values).all(|&x| in_range(x))
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = usize> {
        (0..self.design.rows()).filter(|&i| self.weights[i] > 0.0)
    }
}
