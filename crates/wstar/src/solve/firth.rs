//! Firth's correction: the logistic fit that exists even where the classes are separated.
//!
//! Minimises −ℓ(β) − ½ ln det I(β), where ℓ is the log-likelihood and I(β) = Σ cᵢpᵢ(1 − pᵢ)x̃ᵢx̃ᵢᵀ is Fisher's
//! information: Jeffreys' prior, which takes away the leading term of the estimate's bias (D. Firth, Bias
//! reduction of maximum likelihood estimates, Biometrika 80, 1993) and has a finite optimum whenever the
//! columns are independent (G. Heinze and M. Schemper, A solution to the problem of separation in logistic
//! regression, Statistics in Medicine 21, 2002; I. Kosmidis and D. Firth, Biometrika 108, 2021).
//!
//! The slopes are those of the likelihood with hᵢ(½ − pᵢ) added to each residual, where
//! hᵢ = cᵢpᵢ(1 − pᵢ)·x̃ᵢᵀI⁻¹x̃ᵢ is the row's leverage. Steps are I⁻¹ times the slopes (Fisher scoring), halved
//! until the objective falls.

use faer::{Mat, Side};

use crate::error::{Error, Result};
use crate::kernel::dense::{axpy, dot};
use crate::loss::{Logistic, Loss, LossName};
use crate::oracle::{Layout, Rows};
use crate::problem::Problem;
use crate::solve::{Control, Solution, Solver, SolverName, lanes};
use crate::watch::Status;

/// More parameters than this are not corrected: each row costs their square.
const MOST_PARAMETERS: usize = 2000;
/// Steps at most; a handful is usual.
const MOST_STEPS: u64 = 200;
/// Halvings of a step at most.
const MOST_HALVINGS: i32 = 40;

/// Fisher scoring on the corrected likelihood.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Firth;

impl Solver for Firth {
    fn name(&self) -> SolverName {
        SolverName::Newton
    }

    fn check(&self, problem: &Problem<'_>) -> Result<()> {
        if problem.loss != LossName::Logistic || !problem.penalty.is_none() {
            return Err(Error::settings(
                "Firth's correction is for logistic loss without a penalty",
            ));
        }
        if problem.rows.is_none() {
            return Err(Error::settings(
                "Firth's correction needs the rows in memory: leave --stream out",
            ));
        }
        let parameters = problem.layout().len();
        if parameters > MOST_PARAMETERS {
            return Err(Error::settings(format!(
                "Firth's correction is for at most {MOST_PARAMETERS} parameters, and there are {parameters}"
            ))
            .hint("use --penalty l2"));
        }
        Ok(())
    }

    fn solve(&self, problem: &mut Problem<'_>, start: &[f64], control: &mut Control<'_>) -> Result<Solution> {
        self.check(problem)?;
        let rows = problem.rows.as_ref().map(Rows::borrowed).ok_or_else(dependent)?;
        let centred = Centred::new(&rows, problem.layout());
        let mut at = centred.shifted(start, 1.0);
        let mut here = Corrected::at(&centred, &at).ok_or_else(dependent)?;
        let mut iterations = 0;
        let status = loop {
            iterations += 1;
            control.passed(2);
            let shown = centred.shifted(&at, -1.0);
            // The claim will be about slopes, of which the decrement is a square: it alone would end too early.
            let left = centred.steepest(&here.ascent) * here.objective.abs().max(1.0);
            if let Some(status) = control.iterate(problem, &shown, here.objective, left.max(here.decrement()))
            {
                break status;
            }
            if iterations >= MOST_STEPS {
                break Status::IterationLimit;
            }
            // Far out the information is singular by rounding: no objective, so a shorter step.
            let step = here.step();
            let found = (0..MOST_HALVINGS).find_map(|halvings| {
                let length = 0.5f64.powi(halvings);
                let there: Vec<f64> = at.iter().zip(&step).map(|(a, s)| a + length * s).collect();
                let next = Corrected::at(&centred, &there)?;
                next.is_nearer_than(&here).then_some((there, next))
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

fn dependent() -> Error {
    Error::data("Firth's correction needs independent columns, and these depend on each other")
        .hint("drop a duplicate or constant column, or use --penalty l2")
}

/// The corrected likelihood at a point.
struct Corrected {
    objective: f64,
    /// The slopes of the corrected likelihood, upwards, by weights of centred columns and their intercept.
    ascent: Vec<f64>,
    /// I = L·Lᵀ, with parameters measured in units of `scale`.
    lower: Mat<f64>,
    scale: Vec<f64>,
}

impl Corrected {
    /// None where the information is singular.
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
        // A unit diagonal leaves pivots of at most 1; one this small is nothing but rounding.
        if pivots.clone().any(|pivot| pivot * pivot < 1e-14) {
            return None;
        }
        let half_log_det: f64 = pivots.zip(&scale).map(|(pivot, s)| (pivot / s).ln()).sum();
        let pulls = centred.leverage_pulls(at, &lower, &scale);
        Some(Corrected {
            objective: loss - half_log_det,
            ascent: pulls.iter().zip(&gradient).map(|(pull, g)| pull - g).collect(),
            lower,
            scale,
        })
    }

    /// Half the slope along the step: what is left to the optimum, as for any Newton step.
    fn decrement(&self) -> f64 {
        0.5 * dot(&self.step(), &self.ascent).max(0.0)
    }

    /// Near the optimum rounding hides what the objective does, and the slopes decide.
    fn is_nearer_than(&self, other: &Corrected) -> bool {
        let rounding = 1e-13 * other.objective.abs().max(1.0);
        self.objective < other.objective - rounding
            || (self.objective <= other.objective + rounding && self.decrement() < other.decrement())
    }

    /// I⁻¹ times the slopes.
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

/// Solves L·x = b in the place of b.
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

/// Rows less their mean where there is an intercept, which then takes it up: neither likelihood nor determinant
/// change, and columns far from 0 cost no digits.
struct Centred<'a> {
    rows: &'a Rows<'a>,
    layout: Layout,
    means: Vec<f64>,
    /// Σ cᵢ|xᵢⱼ|: the largest pull that the rows could have on each parameter.
    pulls: Vec<f64>,
}

impl<'a> Centred<'a> {
    fn new(rows: &'a Rows<'a>, layout: Layout) -> Self {
        let mut means = vec![0.0; layout.features];
        if layout.intercept {
            let share = 1.0 / rows.total_weight();
            (0..rows.len()).for_each(|i| rows.design.row(i).add_to(share * rows.weights.get(i), &mut means));
        }
        let mut pulls = vec![0.0; layout.len()];
        for i in 0..rows.len() {
            let weight = rows.weights.get(i);
            rows.design
                .row(i)
                .for_each(|j, value| pulls[j] += weight * value.abs());
        }
        if layout.intercept {
            pulls[layout.features] = rows.total_weight();
        }
        Centred {
            rows,
            layout,
            means,
            pulls,
        }
    }

    /// The largest slope along a column as it is, relative to what the rows could pull: what a certificate measures.
    fn steepest(&self, ascent: &[f64]) -> f64 {
        let shift = if self.layout.intercept {
            ascent[self.layout.features]
        } else {
            0.0
        };
        let slopes =
            (0..ascent.len()).map(|j| ascent[j] + self.means.get(j).map_or(0.0, |mean| mean * shift));
        let shares = slopes.zip(&self.pulls).filter(|(_, pull)| **pull > 0.0);
        shares.map(|(slope, pull)| slope.abs() / pull).fold(0.0, f64::max)
    }

    /// Parameters of the centred columns from those of the columns, or back.
    fn shifted(&self, parameters: &[f64], sign: f64) -> Vec<f64> {
        let mut shifted = parameters.to_vec();
        if self.layout.intercept {
            shifted[self.layout.features] += sign * dot(&self.means, &parameters[..self.layout.features]);
        }
        shifted
    }

    /// Sums over the rows of positive weight of what `add` makes of (x̃, y, c).
    fn sum(&self, numbers: usize, add: impl Fn(&mut [f64], &mut [f64], f64, f64) + Sync) -> Vec<f64> {
        let Centred {
            rows, layout, means, ..
        } = self;
        let mut states = vec![(); rows.len()];
        let parts = lanes::pass(
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
        for part in &parts {
            total.iter_mut().zip(part).for_each(|(to, from)| *to += from);
        }
        total
    }

    /// −ℓ, its gradient, and the information: row j of its lower triangle from j times the length on.
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

    /// Σ hᵢ(½ − pᵢ)x̃ᵢ, each leverage as a sum of squares: an inverse would cancel where columns are alike.
    fn leverage_pulls(&self, at: &[f64], lower: &Mat<f64>, scale: &[f64]) -> Vec<f64> {
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
