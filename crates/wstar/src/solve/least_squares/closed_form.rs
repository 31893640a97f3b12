//! Least squares with one feature: w = s_xy/s_x², b = ȳ − w·x̄.
//!
//! Problem: min ½ Σᵢ cᵢ (yᵢ − w·xᵢ − b)² + l2/2 w². With a free intercept x and y are centred by their weighted
//! means first; without one they are taken as they are. A penalty adds l2 to s_x². All sums are in
//! double-double. If x does not vary, every w does equally well and the answer is w = 0.

use super::{System, check};
use crate::error::{Error, Result};
use crate::kernel::double_double::DoubleDouble;
use crate::problem::{Intercept, Problem};
use crate::solve::{Control, Solution, Solver, SolverName};
use crate::watch::Status;

/// Least squares with one feature, in closed form.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClosedForm;

impl Solver for ClosedForm {
    fn name(&self) -> SolverName {
        SolverName::ClosedForm
    }

    fn check(&self, problem: &Problem<'_>) -> Result<()> {
        check(problem, self.name(), true)?;
        let features = problem.layout().features;
        if features != 1 {
            return Err(Error::settings(format!(
                "the closed form is for one feature, and there are {features}"
            ))
            .hint("use --solver qr"));
        }
        if problem.intercept == Intercept::Penalized && !problem.penalty.is_none() {
            return Err(
                Error::settings("the closed form does not penalise the intercept").hint("use --solver qr")
            );
        }
        Ok(())
    }

    fn solve(
        &self,
        problem: &mut Problem<'_>,
        _start: &[f64],
        control: &mut Control<'_>,
    ) -> Result<Solution> {
        self.check(problem)?;
        let system = System::of(problem)?;
        let zero = DoubleDouble::ZERO;
        let (mut x_mean, mut y_mean) = (zero, zero);
        if system.layout.intercept {
            let mut total = zero;
            system.each_point(|x, y, weight| {
                total += DoubleDouble::from(weight);
                x_mean += DoubleDouble::product(weight, x);
                y_mean += DoubleDouble::product(weight, y);
            });
            (x_mean, y_mean) = (x_mean / total, y_mean / total);
        }
        let (mut s_xy, mut s_xx) = (zero, DoubleDouble::from(system.ridge[0]));
        let mut varies = system.ridge[0] > 0.0;
        let mut first = None;
        system.each_point(|x, y, weight| {
            let (dx, dy) = (DoubleDouble::from(x) - x_mean, DoubleDouble::from(y) - y_mean);
            s_xy += dx * dy * weight;
            s_xx += dx * dx * weight;
            varies |= if system.layout.intercept {
                *first.get_or_insert(x) != x
            } else {
                x != 0.0
            };
        });
        let w = if varies && s_xx.value() > 0.0 {
            s_xy / s_xx
        } else {
            zero
        };
        let mut at = vec![w];
        if system.layout.intercept {
            at.push(y_mean - w * x_mean);
        }
        let (descent, objective) = system.descent(&at);
        // What steps along each parameter could still gain, and at most twice that together once x is centred.
        let mut gap = 0.0;
        if s_xx.value() > 0.0 && varies {
            let mut slope = descent[0];
            if let Some(&pull) = descent.get(1) {
                slope -= x_mean * pull;
            }
            gap += 0.5 * slope.value() * slope.value() / s_xx.value();
        }
        if let Some(pull) = descent.get(1) {
            gap += 0.5 * pull.value() * pull.value() / problem.oracle.total_weight();
        }
        let parameters: Vec<f64> = at.iter().map(|x| x.value()).collect();
        control.passed(2);
        let status = control.iterate(problem, &parameters, objective, gap);
        Ok(Solution {
            parameters,
            dual: None,
            gram: None,
            status: status.unwrap_or(Status::IterationLimit),
            iterations: control.iterations(),
        })
    }
}
