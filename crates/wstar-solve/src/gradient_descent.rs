//! Gradient descent with momentum (A. Cauchy, Méthode générale pour la résolution des systèmes
//! d'équations simultanées, Comptes rendus 25, 1847; B. T. Polyak, Some methods of speeding up the
//! convergence of iteration methods, USSR Computational Mathematics and Mathematical Physics 4, 1964),
//! for smooth losses and penalties.
//!
//! Problem: min P(θ). Let f = P/Σcᵢ be the objective per unit of weight, so that a learning rate from 0.1
//! to 1 is sensible for columns of unit size, whatever the number of rows. The step is
//!
//! θₖ₊₁ = θₖ − aₖ ∇f(θₖ) + β (θₖ − θₖ₋₁).
//!
//! A given rate aₖ follows its schedule. Without one, each step is found by backtracking: it is halved
//! until the objective decreases by a given fraction of the slope times the step (L. Armijo, Minimization
//! of functions having Lipschitz continuous first partial derivatives, Pacific J. Mathematics 16, 1966).

use crate::learning_rate::Schedule;
use crate::line_search::Line;
use crate::smooth_stopping;
use crate::smooth_stopping::SmoothRun;
use crate::{Control, Solution, Solver, SolverName, newton_cg};
use wstar_data::error::{Error, Range, Remedy, Result};
use wstar_data::run::Status;
use wstar_data::setting::Setting;
use wstar_numeric::dense::dot;
use wstar_problem::objective::Objective;

/// Steps without progress after which the run stops. Heuristic: rounding against slow progress; not measured
/// yet.
const PATIENCE: u64 = 100;
/// The fraction of the initial slope by which the objective must decrease. Heuristic: large enough to prevent
/// overshooting, against longer steps; not measured yet.
const ARMIJO: f64 = 0.3;
/// The most halvings of a step. Cap: beyond them the run stops.
const MOST_HALVINGS: usize = 60;

/// Gradient descent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GradientDescent {
    /// a₁, for the objective divided by the total weight. Without one, each step is found by backtracking.
    pub learning_rate: Option<f64>,
    /// How aₖ changes with k.
    pub schedule: Schedule,
    /// β.
    pub momentum: f64,
    /// The iteration limit.
    pub max_iterations: u64,
}

impl Default for GradientDescent {
    fn default() -> Self {
        GradientDescent {
            learning_rate: None,
            schedule: Schedule::Constant,
            momentum: 0.0,
            // Cap: the run ends with the iteration limit as its status.
            max_iterations: 10_000,
        }
    }
}

/// Returns an error for an invalid learning rate or momentum.
pub(super) fn check_rates(learning_rate: Option<f64>, momentum: f64) -> Result<()> {
    if let Some(rate) = learning_rate
        && !(rate > 0.0 && rate.is_finite())
    {
        return Err(Error::out_of_range(Setting::LearningRate, Range::Positive, rate));
    }
    if !(0.0..1.0).contains(&momentum) {
        let range = Range::FromBelow(0.0, 1.0);
        return Err(Error::out_of_range(Setting::Momentum, range, momentum));
    }
    Ok(())
}

impl Solver for GradientDescent {
    fn name(&self) -> SolverName {
        SolverName::GradientDescent
    }

    fn check(&self, objective: &Objective<'_>) -> Result<()> {
        check_rates(self.learning_rate, self.momentum)?;
        if self.learning_rate.is_none() && self.schedule != Schedule::Constant {
            return Err(
                Error::misuse(Setting::Schedule.given(), "needs a learning rate to start from")
                    .remedy(Remedy::LeaveOut(Setting::Schedule)),
            );
        }
        smooth_stopping::check(self.name(), objective)
    }

    fn solve(
        &self,
        objective: &mut Objective<'_>,
        start: &[f64],
        control: &mut Control<'_>,
    ) -> Result<Solution> {
        self.check(objective)?;
        let mut run = SmoothRun::new(objective, control, self.name(), self.max_iterations, PATIENCE);
        let weight = objective.sums.total_weight().max(f64::MIN_POSITIVE);
        let diagonal = match objective.problem.penalty().l2 > 0.0 && objective.problem.loss().is_convex() {
            true => Vec::new(),
            false => smooth_stopping::diagonal(objective, start)?,
        };
        let mut at = start.to_vec();
        let mut before = at.clone();
        let mut backtracked = None;
        loop {
            let evaluated = objective.gradient(&at)?;
            let gradient = objective.full_gradient(&at, &evaluated);
            let predicted = gradient.iter().zip(&diagonal).map(|(g, d)| 0.5 * g * g / d).sum();
            let target = run.target(evaluated.objective);
            let gap = newton_cg::gap(objective, &at, &evaluated, &gradient, predicted, target)?;
            if let Some(status) = run.reached(objective, &at, &evaluated, gap) {
                return Ok(run.end(status, at));
            }
            let downhill: Vec<f64> = gradient.iter().map(|g| -g / weight).collect();
            let rate = match self.learning_rate {
                Some(rate) => rate * self.schedule.factor(run.steps() + 1),
                None => {
                    let line = Line::new(objective, &at, &downhill);
                    let slope = dot(&gradient, &downhill);
                    match backtrack(objective, &line, evaluated.objective, slope, backtracked)? {
                        Some(rate) => rate,
                        None => return Ok(run.end(Status::IterationLimit, at)),
                    }
                }
            };
            backtracked = Some(rate);
            let mut next = at.clone();
            smooth_stopping::advance(&mut next, rate, &downhill);
            for ((next, now), before) in next.iter_mut().zip(&at).zip(&before) {
                *next += self.momentum * (now - before);
            }
            before = std::mem::replace(&mut at, next);
        }
    }
}

/// A rate that satisfies Armijo's condition, starting from twice the last rate, or in the first step from the
/// minimiser of the quadratic model along the line.
fn backtrack(
    objective: &mut Objective<'_>,
    line: &Line<'_>,
    value: f64,
    slope: f64,
    last: Option<f64>,
) -> Result<Option<f64>> {
    let mut rate = match last {
        Some(rate) => 2.0 * rate,
        None => {
            let curvature = line.point(objective, 0.0)?.curvature;
            if curvature > 0.0 { -slope / curvature } else { 1.0 }
        }
    };
    // Where rounding hides the decrease, a condition on the slope replaces Armijo's (W. W. Hager and H. Zhang, A
    // new conjugate gradient method with guaranteed descent and an efficient line search, SIAM J. Optimization
    // 16, 2005). Derived: 50 machine epsilons, the rounding of a sum over the rows. Heuristic: the factor 10, as
    // in `line_search`.
    let slack = 1e-14 * value.abs();
    for _ in 0..MOST_HALVINGS {
        let point = line.point(objective, rate)?;
        let hidden = point.value <= value + slack && -rate * slope <= 10.0 * slack;
        if point.value <= value + ARMIJO * rate * slope
            || hidden && point.slope <= (2.0 * ARMIJO - 1.0) * slope
        {
            return Ok(Some(rate));
        }
        rate *= 0.5;
    }
    Ok(None)
}
