//! Gradient descent with momentum (Cauchy 1847; Polyak, USSR Computational Mathematics 4, 1964), for smooth
//! losses and penalties.
//!
//! Problem: min P(θ). With f = P/Σcᵢ, the objective for each unit of weight, so that a learning rate from 0.1
//! to 1 is sensible for columns of size 1 however many rows there are, the step is
//! θₖ₊₁ = θₖ − aₖ ∇f(θₖ) + β (θₖ − θₖ₋₁).
//! The rate aₖ is given and follows its schedule; or, where none is given, it is found anew for each step by
//! backtracking: halved until the decrease is a fair share of what the slope promises (Armijo, Pacific
//! J. Mathematics 16, 1966).

use crate::error::{Error, Result};
use crate::kernel::dense::dot;
use crate::problem::Problem;
use crate::schedule::Schedule;
use crate::solve::line_search::Line;
use crate::solve::smooth::{self, Run};
use crate::solve::{Control, Solution, Solver, SolverName, newton_cg};
use crate::watch::Status;

/// Steps without any progress before the run ends.
const PATIENCE: u64 = 100;
/// The share of the first slope that a decrease must reach: far enough from 0 to keep steps from overshooting.
const ARMIJO: f64 = 0.3;
/// Halvings at most.
const MOST_HALVINGS: usize = 60;

/// Gradient descent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GradientDescent {
    /// a₁, for the objective divided by the total weight; without one, each step is found by backtracking.
    pub learning_rate: Option<f64>,
    /// How aₖ changes with k.
    pub schedule: Schedule,
    /// β.
    pub momentum: f64,
    /// The most steps.
    pub max_iterations: u64,
}

impl Default for GradientDescent {
    fn default() -> Self {
        GradientDescent {
            learning_rate: None,
            schedule: Schedule::Constant,
            momentum: 0.0,
            max_iterations: 10_000,
        }
    }
}

/// Refuses rates and momenta that make no sense.
pub(super) fn check_rates(learning_rate: Option<f64>, momentum: f64) -> Result<()> {
    if let Some(rate) = learning_rate
        && !(rate > 0.0 && rate.is_finite())
    {
        return Err(Error::settings(format!(
            "the learning rate must be greater than 0, not {rate}"
        )));
    }
    if !(0.0..1.0).contains(&momentum) {
        return Err(Error::settings(format!(
            "the momentum must be at least 0 and less than 1, not {momentum}"
        )));
    }
    Ok(())
}

impl Solver for GradientDescent {
    fn name(&self) -> SolverName {
        SolverName::GradientDescent
    }

    fn check(&self, problem: &Problem<'_>) -> Result<()> {
        check_rates(self.learning_rate, self.momentum)?;
        if self.learning_rate.is_none() && self.schedule != Schedule::Constant {
            return Err(Error::settings("a schedule needs a learning rate to start from")
                .hint("without a learning rate, backtracking finds every step"));
        }
        smooth::check(self.name(), problem)
    }

    fn solve(&self, problem: &mut Problem<'_>, start: &[f64], control: &mut Control<'_>) -> Result<Solution> {
        self.check(problem)?;
        let mut run = Run::new(problem, control, self.name(), self.max_iterations, PATIENCE);
        let weight = problem.oracle.total_weight().max(f64::MIN_POSITIVE);
        let diagonal = match problem.penalty.l2 > 0.0 && problem.loss.is_convex() {
            true => Vec::new(),
            false => smooth::diagonal(problem, start)?,
        };
        let mut at = start.to_vec();
        let mut before = at.clone();
        let mut backtracked = None;
        loop {
            let evaluated = problem.gradient(&at)?;
            let gradient = problem.full_gradient(&at, &evaluated);
            let cheap = gradient.iter().zip(&diagonal).map(|(g, d)| 0.5 * g * g / d).sum();
            let target = run.target(evaluated.objective);
            let gap = newton_cg::gap(problem, &at, &evaluated, &gradient, cheap, target)?;
            if let Some(status) = run.reached(problem, &at, &evaluated, gap) {
                return Ok(run.end(status, at));
            }
            let downhill: Vec<f64> = gradient.iter().map(|g| -g / weight).collect();
            let rate = match self.learning_rate {
                Some(rate) => rate * self.schedule.factor(run.steps() + 1),
                None => {
                    let line = Line::new(problem, &at, &downhill);
                    let slope = dot(&gradient, &downhill);
                    match backtrack(problem, &line, evaluated.objective, slope, backtracked)? {
                        Some(rate) => rate,
                        None => return Ok(run.end(Status::IterationLimit, at)),
                    }
                }
            };
            backtracked = Some(rate);
            let mut next = at.clone();
            smooth::advance(&mut next, rate, &downhill);
            for ((next, now), before) in next.iter_mut().zip(&at).zip(&before) {
                *next += self.momentum * (now - before);
            }
            before = std::mem::replace(&mut at, next);
        }
    }
}

/// A rate that decreases the objective by its fair share, from twice the last one, or at first from the
/// one that is best for a quadratic.
fn backtrack(
    problem: &mut Problem<'_>,
    line: &Line<'_>,
    objective: f64,
    slope: f64,
    last: Option<f64>,
) -> Result<Option<f64>> {
    let mut rate = match last {
        Some(rate) => 2.0 * rate,
        None => {
            let curvature = line.point(problem, 0.0)?.curvature;
            if curvature > 0.0 { -slope / curvature } else { 1.0 }
        }
    };
    // Where rounding hides the decrease, the slope tells the same (Hager and Zhang 2005).
    let slack = 1e-14 * objective.abs();
    for _ in 0..MOST_HALVINGS {
        let point = line.point(problem, rate)?;
        let hidden = point.value <= objective + slack && -rate * slope <= 10.0 * slack;
        if point.value <= objective + ARMIJO * rate * slope
            || hidden && point.slope <= (2.0 * ARMIJO - 1.0) * slope
        {
            return Ok(Some(rate));
        }
        rate *= 0.5;
    }
    Ok(None)
}
