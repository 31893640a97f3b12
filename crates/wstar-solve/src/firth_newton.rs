//! Firth's bias-reduced logistic regression, whose estimate is finite even where the classes are
//! separated.
//!
//! Problem: min −ℓ(β) − ½ ln det I(β), where ℓ is the log-likelihood and I(β) = Σ cᵢpᵢ(1 − pᵢ)x̃ᵢx̃ᵢᵀ the
//! Fisher information. The second term is Jeffreys' prior. It removes the leading term of the bias (D.
//! Firth, Bias reduction of maximum likelihood estimates, Biometrika 80, 1993), and a finite optimum
//! exists whenever the columns are independent (G. Heinze and M. Schemper, A solution to the problem of
//! separation in logistic regression, Statistics in Medicine 21, 2002; I. Kosmidis and D. Firth,
//! Jeffreys-prior penalty, finiteness and shrinkage in binomial-response generalized linear models,
//! Biometrika 108, 2021).
//!
//! The gradient is that of the likelihood with hᵢ(½ − pᵢ) added to each residual, where
//!
//! hᵢ = cᵢpᵢ(1 − pᵢ)·x̃ᵢᵀI⁻¹x̃ᵢ
//!
//! is the leverage of the row. Steps are I⁻¹ times the gradient (Fisher scoring), halved until the
//! objective decreases.

use faer::{Mat, Side};
use wstar_data::error::Remedy;
use wstar_data::setting::Setting;

use crate::{Control, Solution, Solver, SolverName, fixed_order};
use wstar_data::error::{Error, Result};
use wstar_data::linear::Layout;
use wstar_data::run::Status;
use wstar_numeric::dense::{axpy, dot};
use wstar_problem::loss::{Logistic, Loss, LossName};
use wstar_problem::objective::Objective;
use wstar_problem::objective::Rows;

/// The parameter limit. Cap: more parameters are refused with an error, because each row costs O(d²).
const MOST_PARAMETERS: usize = 2000;
/// The iteration limit; a handful of steps is usual. Cap: the run ends with the iteration limit as its
/// status.
const MOST_STEPS: u64 = 200;
/// The most halvings of a step. Cap: beyond them the run ends without convergence.
const MOST_HALVINGS: i32 = 40;

/// Fisher scoring on the penalised likelihood.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Firth;

impl Solver for Firth {
    fn name(&self) -> SolverName {
        SolverName::FirthNewton
    }

    fn check(&self, objective: &Objective<'_>) -> Result<()> {
        if objective.problem.loss() != LossName::Logistic || !objective.problem.penalty().is_none() {
            return Err(Error::settings(
                "Firth's correction is for logistic loss without a penalty",
            ));
        }
        if objective.rows.is_none() {
            return Err(Error::settings("Firth's correction needs the rows in memory")
                .remedy(Remedy::LeaveOut(Setting::Stream)));
        }
        let parameters = objective.problem.layout().len();
        if parameters > MOST_PARAMETERS {
            return Err(Error::settings(format!(
                "Firth's correction is for at most {MOST_PARAMETERS} parameters, and there are {parameters}"
            ))
            .remedy(Setting::Penalty.to("l2")));
        }
        Ok(())
    }

    fn solve(
        &self,
        objective: &mut Objective<'_>,
        start: &[f64],
        control: &mut Control<'_>,
    ) -> Result<Solution> {
        self.check(objective)?;
        let rows = objective
            .rows
            .as_ref()
            .map(Rows::borrowed)
            .ok_or_else(dependent)?;
        let centred = Centred::new(&rows, objective.problem.layout());
        let mut at = centred.shifted(start, 1.0);
        let mut here = PenalizedLikelihood::at(&centred, &at).ok_or_else(dependent)?;
        let mut iterations = 0;
        let status = loop {
            iterations += 1;
            control.passed(2);
            let shown = centred.shifted(&at, -1.0);
            // The certificate measures the gradient. The decrement is quadratic in it, so by the decrement
            // alone the run would stop too early.
            let left = centred.relative_gradient(&here.ascent) * control.tolerance.scale(here.objective);
            if let Some(status) =
                control.iterate(objective, &shown, here.objective, left.max(here.decrement()))
            {
                break status;
            }
            if iterations >= MOST_STEPS {
                break Status::IterationLimit;
            }
            // Far from the optimum the information is singular by rounding and the objective undefined, so
            // the step is shortened.
            let step = here.step();
            let found = (0..MOST_HALVINGS).find_map(|halvings| {
                let length = 0.5f64.powi(halvings);
                let there: Vec<f64> = at.iter().zip(&step).map(|(a, s)| a + length * s).collect();
                let next = PenalizedLikelihood::at(&centred, &there)?;
                next.is_better_than(&here).then_some((there, next))
            });
            match found {
                Some(next) => (at, here) = next,
                None => break Status::IterationLimit,
            }
        };
        let at = centred.shifted(&at, -1.0);
        Ok(Solution {
            parameters: at,
            dual: None,
            gram: None,
            status,
            iterations,
        })
    }
}

/// The error for linearly dependent columns.
fn dependent() -> Error {
    Error::data("Firth's correction needs independent columns, and these depend on each other").remedy(
        Remedy::Either(vec![
            "drop a duplicate or constant column".into(),
            Setting::Penalty.to("l2").into(),
        ]),
    )
}

/// The penalised likelihood at a point.
struct PenalizedLikelihood {
    objective: f64,
    /// The gradient of the penalised log-likelihood, with respect to the weights of centred columns and their
    /// intercept.
    ascent: Vec<f64>,
    /// The factor L of I = L·Lᵀ, with parameters measured in units of `scale`.
    lower: Mat<f64>,
    scale: Vec<f64>,
}

impl PenalizedLikelihood {
    /// The penalised likelihood at `at`; `None` where the information is singular.
    fn at(centred: &Centred<'_>, at: &[f64]) -> Option<Self> {
        let length = centred.layout.len();
        let (loss, gradient, information) = centred.likelihood(at);
        let scale: Vec<f64> = (0..length)
            .map(|j| 1.0 / information[j * length + j].sqrt())
            .collect();
        if scale.iter().any(|s| !s.is_finite()) {
            return None;
        }
        // Row j of the lower triangle is column j of the upper one.
        let scaled = Mat::from_fn(length, length, |i, j| {
            information[i.max(j) * length + i.min(j)] * scale[i] * scale[j]
        });
        let lower = scaled.llt(Side::Lower).ok()?.L().to_owned();
        let pivots = (0..length).map(|j| lower[(j, j)]);
        // With a unit diagonal the pivots are at most 1. Derived: one below 50 machine epsilons is rounding.
        if pivots.clone().any(|pivot| pivot * pivot < 1e-14) {
            return None;
        }
        let half_log_det: f64 = pivots.zip(&scale).map(|(pivot, s)| (pivot / s).ln()).sum();
        let correction = centred.leverage_gradient(at, &lower, &scale);
        Some(PenalizedLikelihood {
            objective: loss - half_log_det,
            ascent: correction.iter().zip(&gradient).map(|(c, g)| c - g).collect(),
            lower,
            scale,
        })
    }

    /// Half the slope along the step: the decrease that the quadratic model predicts.
    fn decrement(&self) -> f64 {
        0.5 * dot(&self.step(), &self.ascent).max(0.0)
    }

    /// Whether this point is better. Near the optimum rounding hides the objective, and the decrement
    /// decides. Heuristic: the rounding error of an objective, some hundred machine epsilons; not measured yet.
    fn is_better_than(&self, other: &PenalizedLikelihood) -> bool {
        let rounding = 1e-13 * other.objective.abs().max(1.0);
        self.objective < other.objective - rounding
            || (self.objective <= other.objective + rounding && self.decrement() < other.decrement())
    }

    /// I⁻¹ times the gradient.
    fn step(&self) -> Vec<f64> {
        let mut step: Vec<f64> = self.ascent.iter().zip(&self.scale).map(|(a, s)| a * s).collect();
        forward(&self.lower, &mut step);
        for j in (0..step.len()).rev() {
            let column = &self.lower.col_as_slice(j)[j..];
            step[j] = (step[j] - dot(&column[1..], &step[j + 1..])) / column[0];
        }
        step.iter_mut().zip(&self.scale).for_each(|(step, s)| *step *= s);
        step
    }
}

/// Overwrites b with the solution of L·x = b.
fn forward(lower: &Mat<f64>, b: &mut [f64]) {
    for j in 0..b.len() {
        let column = &lower.col_as_slice(j)[j..];
        b[j] /= column[0];
        if b[j] != 0.0 {
            let (own, later) = (b[j], &mut b[j + 1..]);
            axpy(-own, &column[1..], later);
        }
    }
}

/// Rows with centred columns where there is an intercept, which absorbs the shift. Likelihood and determinant
/// do not change, and columns far from 0 lose no digits.
struct Centred<'a> {
    rows: &'a Rows<'a>,
    layout: Layout,
    means: Vec<f64>,
    /// Σ cᵢ|xᵢⱼ|, an upper bound on the gradient's component j.
    bounds: Vec<f64>,
}

impl<'a> Centred<'a> {
    /// Computes the column means and the gradient bounds.
    fn new(rows: &'a Rows<'a>, layout: Layout) -> Self {
        let mut means = vec![0.0; layout.features];
        if layout.intercept {
            let share = 1.0 / rows.total_weight();
            (0..rows.len()).for_each(|i| rows.design.row(i).add_to(share * rows.weights.get(i), &mut means));
        }
        let mut bounds = vec![0.0; layout.len()];
        for i in 0..rows.len() {
            let weight = rows.weights.get(i);
            rows.design
                .row(i)
                .for_each(|j, value| bounds[j] += weight * value.abs());
        }
        if layout.intercept {
            bounds[layout.features] = rows.total_weight();
        }
        Centred {
            rows,
            layout,
            means,
            bounds,
        }
    }

    /// The largest component of the gradient of the original columns, relative to its bound: the quantity
    /// that the certificate measures.
    fn relative_gradient(&self, ascent: &[f64]) -> f64 {
        let shift = if self.layout.intercept {
            ascent[self.layout.features]
        } else {
            0.0
        };
        let slopes =
            (0..ascent.len()).map(|j| ascent[j] + self.means.get(j).map_or(0.0, |mean| mean * shift));
        let shares = slopes.zip(&self.bounds).filter(|(_, bound)| **bound > 0.0);
        shares
            .map(|(slope, bound)| slope.abs() / bound)
            .fold(0.0, f64::max)
    }

    /// Converts parameters of the original columns to those of the centred ones (`sign` 1), or back (`sign`
    /// −1).
    fn shifted(&self, parameters: &[f64], sign: f64) -> Vec<f64> {
        let mut shifted = parameters.to_vec();
        if self.layout.intercept {
            shifted[self.layout.features] += sign * dot(&self.means, &parameters[..self.layout.features]);
        }
        shifted
    }

    /// Sums over the rows of positive weight of what `add` accumulates from (x̃, y, c).
    fn sum(&self, numbers: usize, add: impl Fn(&mut [f64], &mut [f64], f64, f64) + Sync) -> Vec<f64> {
        let Centred {
            rows, layout, means, ..
        } = self;
        let mut states = vec![(); rows.len()];
        let lane_sums = fixed_order::pass(
            rows.design,
            &mut states,
            numbers,
            |range, _, sums: &mut Vec<f64>| {
                sums.resize(numbers, 0.0);
                let mut x = vec![1.0; layout.len()];
                for i in range.filter(|&i| rows.weights.get(i) > 0.0) {
                    x[..layout.features]
                        .iter_mut()
                        .zip(means)
                        .for_each(|(x, mean)| *x = -mean);
                    rows.design.row(i).for_each(|j, value| x[j] += value);
                    if layout.intercept {
                        x[layout.features] = 1.0;
                    }
                    add(sums, &mut x, rows.targets[i], rows.weights.get(i));
                }
            },
        );
        let mut total = vec![0.0; numbers];
        for lane_sum in &lane_sums {
            total.iter_mut().zip(lane_sum).for_each(|(to, from)| *to += from);
        }
        total
    }

    /// −ℓ, its gradient, and the information: row j of its lower triangle starts at j times the length.
    fn likelihood(&self, at: &[f64]) -> (f64, Vec<f64>, Vec<f64>) {
        let length = self.layout.len();
        let mut sums = self.sum(1 + length + length * length, |sums, x, y, weight| {
            let (value, slope, curvature) = Logistic.all(y, dot(x, at));
            let (head, information) = sums.split_at_mut(1 + length);
            head[0] += weight * value;
            axpy(weight * slope, x, &mut head[1..]);
            for (j, line) in information.chunks_exact_mut(length).enumerate() {
                axpy(weight * curvature * x[j], &x[..=j], &mut line[..=j]);
            }
        });
        let information = sums.split_off(1 + length);
        (sums[0], sums.split_off(1), information)
    }

    /// Σ hᵢ(½ − pᵢ)x̃ᵢ. Each leverage is a sum of squares, because an explicit inverse would cancel where
    /// columns are nearly dependent.
    fn leverage_gradient(&self, at: &[f64], lower: &Mat<f64>, scale: &[f64]) -> Vec<f64> {
        self.sum(self.layout.len(), |sums, x, y, weight| {
            let score = dot(x, at);
            let (_, _, curvature) = Logistic.all(y, score);
            let mut solved: Vec<f64> = x.iter().zip(scale).map(|(x, s)| x * s).collect();
            forward(lower, &mut solved);
            let leverage = weight * curvature * dot(&solved, &solved);
            // ½ − p = −½ tanh(z/2), without cancellation near 0.
            axpy(-0.5 * leverage * (0.5 * score).tanh(), x, sums);
        })
    }
}
