//! S, the objective of the best constant model, which gives relative gaps a scale: a gap is divided by max(P, min(1, 2⁻²⁰·S)).
//!
//! S is the infimum of Σcᵢℓ(yᵢ, b) over b, or its value at b = 0 if the intercept is absent or penalised, or if the infimum is 0
//! because all targets are equal. It scales with the targets and the weights as P does, so the relative gap is the same for
//! equivalent problems; 2⁻²⁰·S replaces P where the model fits the rows (almost) exactly. On separable rows S grows with C and
//! min P does not, so 2⁻²⁰·S counts only up to 1. With the weights c₊, c₋ of two classes, W their sum, cₖ those of several, and
//! the mean ȳ:
//!
//! - squared: ½Σc(y − ȳ)²; logistic and softmax: Σcₖ·log(W/cₖ); hinge: 2·min(c₊, c₋);
//! - squared hinge and modified Huber: 4c₊c₋/W, at b = (c₊ − c₋)/W; squared error of a probability: c₊c₋/W;
//! - absolute: ½Σc|y − ȳ|, and quantile q: ½·min(q, 1 − q)·Σc|y − ȳ|. These are lower bounds: |ȳ − m| ≤ Σc|y − m|/W for the
//!   median m, so Σc|y − ȳ| ≤ 2Σc|y − m|, and the quantile loss is at least min(q, 1 − q)·|y − b|.

use crate::loss::LossName;
use crate::objective::{Blocks, Rows, Weights};
use crate::problem::{Intercept, Problem};
use crate::tolerance::Tolerance;
use wstar_data::error::Result;
use wstar_numeric::double_double::{Compensated, sum_scaled};

/// The share of S below which P no longer is the scale. Derived: 2⁻²⁰ with a tolerance of 10⁻⁶ requires a gap of 10⁻¹²·S, which
/// rounding permits where the model fits all rows exactly.
const SHARE: f64 = 1.0 / (1u64 << 20) as f64;

/// Counters the rounding of S, so that the result is a lower bound. Derived: compensated sums of at most 10⁹ rows err by less.
const ROUNDED_DOWN: f64 = 1.0 - 1e-6;

/// Rows that are summed at a time. Heuristic: the buffer should fit into the L1 cache; not measured yet.
const BLOCK: usize = 1024;

/// Adds Σcᵢf(yᵢ) to a sum.
fn sum(rows: &Rows<'_>, to: &mut Compensated, term: impl Fn(f64) -> f64) {
    let mut buffer = Vec::with_capacity(BLOCK);
    for start in (0..rows.targets.len()).step_by(BLOCK) {
        let end = (start + BLOCK).min(rows.targets.len());
        buffer.clear();
        buffer.extend(rows.targets[start..end].iter().map(|&y| term(y)));
        let common = match &rows.weights {
            Weights::Same(weight) => *weight,
            Weights::Each(weights) => {
                let pairs = buffer.iter_mut().zip(&weights[start..end]);
                pairs.for_each(|(value, weight)| *value *= weight);
                1.0
            }
        };
        to.add(sum_scaled(common, &buffer));
    }
}

/// Sums over the targets, from which S follows.
#[derive(Debug, Clone, Default)]
pub struct Baseline {
    /// The sum of all weights.
    total: Compensated,
    /// The weight of each class; −1 and +1 for two.
    classes: Vec<f64>,
    /// The first target, which the moments refer to.
    origin: Option<f64>,
    /// Σc(y − origin).
    first: Compensated,
    /// Σc(y − origin)².
    second: Compensated,
    /// Σc|y − ȳ|.
    deviation: Compensated,
}

impl Baseline {
    /// The sums of all rows: one pass over the targets, and another one for absolute and quantile loss.
    pub fn of(blocks: &mut dyn Blocks, problem: &Problem) -> Result<Self> {
        let mut sums = Baseline::default();
        blocks.pass(&mut |rows| {
            sums.add(rows, problem);
            Ok(())
        })?;
        if problem.loss().is_absolute() {
            let centre = match problem.intercept() {
                Intercept::Free => sums.mean(),
                _ => 0.0,
            };
            blocks.pass(&mut |rows| {
                sum(rows, &mut sums.deviation, |y| (y - centre).abs());
                Ok(())
            })?;
        }
        Ok(sums)
    }

    fn add(&mut self, rows: &Rows<'_>, problem: &Problem) {
        self.total.add(rows.total_weight());
        if matches!(problem.loss(), LossName::Squared) || problem.loss().is_absolute() {
            let first = rows.targets.first().copied().unwrap_or(0.0);
            let origin = match problem.intercept() {
                Intercept::Free => *self.origin.get_or_insert(first),
                _ => 0.0,
            };
            sum(rows, &mut self.first, |y| y - origin);
            sum(rows, &mut self.second, |y| (y - origin) * (y - origin));
            return;
        }
        let outputs = problem.layout().outputs.max(2);
        self.classes.resize(outputs, 0.0);
        for (i, &y) in rows.targets.iter().enumerate() {
            let class = match problem.loss() {
                LossName::Softmax => y as usize,
                _ => usize::from(y > 0.0),
            };
            if let Some(sum) = self.classes.get_mut(class) {
                *sum += rows.weights.get(i);
            }
        }
    }

    /// Σcᵢ.
    pub fn total_weight(&self) -> f64 {
        self.total.value()
    }

    /// ȳ.
    fn mean(&self) -> f64 {
        let total = self.total_weight();
        let shift = if total > 0.0 {
            self.first.value() / total
        } else {
            0.0
        };
        self.origin.unwrap_or(0.0) + shift
    }

    /// Σcy².
    fn squares(&self) -> f64 {
        let origin = self.origin.unwrap_or(0.0);
        let linear = 2.0 * origin * self.first.value();
        self.second.value() + linear + origin * origin * self.total_weight()
    }

    /// A tolerance on the relative gap of this problem.
    pub fn tolerance(&self, relative: f64, problem: &Problem) -> Tolerance {
        Tolerance {
            relative,
            least_scale: self.least_scale(problem),
        }
    }

    /// S, or a lower bound of it, rounded down.
    pub fn objective(&self, problem: &Problem) -> f64 {
        let best = self.of_constant(problem, problem.intercept() == Intercept::Free);
        if best > 0.0 {
            best
        } else {
            self.of_constant(problem, false)
        }
    }

    /// The least objective of a constant model, if it is free, or that of 0.
    fn of_constant(&self, problem: &Problem, free: bool) -> f64 {
        let total = self.total_weight();
        let entropy = |&class: &f64| {
            if class > 0.0 {
                class * (total / class).ln()
            } else {
                0.0
            }
        };
        let product = self.classes.iter().take(2).product::<f64>() / total;
        let least = self.classes.iter().copied().fold(f64::INFINITY, f64::min);
        let found = match problem.loss() {
            LossName::Squared if free => {
                let first = self.first.value();
                0.5 * (self.second.value() - first * first / total)
            }
            LossName::Squared => 0.5 * self.squares(),
            LossName::Absolute | LossName::Quantile(_) => {
                let least_slope = match problem.loss() {
                    LossName::Quantile(q) => f64::from(q).min(1.0 - f64::from(q)),
                    _ => 1.0,
                };
                match (free, problem.intercept()) {
                    (true, _) => 0.5 * least_slope * self.deviation.value(),
                    (false, Intercept::Free) => least_slope * self.mean().abs() * total,
                    (false, _) => least_slope * self.deviation.value(),
                }
            }
            LossName::Logistic | LossName::Softmax if free => self.classes.iter().map(entropy).sum(),
            LossName::Logistic | LossName::Softmax => total * (self.classes.len() as f64).ln(),
            LossName::Hinge if free => 2.0 * least,
            LossName::SquaredHinge | LossName::ModifiedHuber if free => 4.0 * product,
            LossName::SigmoidMse if free => product,
            LossName::SigmoidMse => 0.25 * total,
            LossName::Hinge | LossName::SquaredHinge | LossName::ModifiedHuber => total,
        };
        // A sum that is not a number is no bound.
        if found > 0.0 { ROUNDED_DOWN * found } else { 0.0 }
    }

    /// The least scale of a relative gap: min(1, 2⁻²⁰·S).
    pub fn least_scale(&self, problem: &Problem) -> f64 {
        (SHARE * self.objective(problem)).min(1.0)
    }
}
