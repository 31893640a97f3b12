//! Least squares with one feature, in closed form: w = s_xy/s_x², b = ȳ − w·x̄.
//!
//! Problem: min ½ Σᵢ cᵢ (yᵢ − w·xᵢ − b)² + l2/2 w². With a free intercept, x and y are first centred by their
//! weighted means; without an intercept they are not centred. A penalty adds l2 to s_x². All sums are in
//! double-double arithmetic. If x does not vary, every w is optimal and the result is w = 0.

use crate::least_squares::{System, check};
use crate::{Control, Solution, Solver, SolverName};
use wstar_data::error::Result;
use wstar_data::run::Status;
use wstar_numeric::double_double::DoubleDouble;
use wstar_problem::objective::Objective;
use wstar_problem::problem::Intercept;

/// Least squares with one feature, in closed form.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClosedForm;

impl Solver for ClosedForm {
    fn name(&self) -> SolverName {
        SolverName::ClosedForm
    }

    fn check(&self, objective: &Objective<'_>) -> Result<()> {
        check(objective, self.name(), true)?;
        let features = objective.problem.layout().features;
        if features != 1 {
            return Err(self
                .name()
                .refuses(format!("is for one feature, and there are {features}"))
                .remedy(SolverName::any([SolverName::Qr])));
        }
        if objective.problem.intercept() == Intercept::Penalized && !objective.problem.penalty().is_none() {
            return Err(self
                .name()
                .refuses("does not penalise the intercept")
                .remedy(SolverName::any([SolverName::Qr])));
        }
        Ok(())
    }

    fn solve(
        &self,
        objective: &mut Objective<'_>,
        _start: &[f64],
        control: &mut Control<'_>,
    ) -> Result<Solution> {
        self.check(objective)?;
        let system = System::of(objective)?;
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
        let (descent, value) = system.descent(&at);
        // The decrease that a step along each parameter could still give. With x centred, a joint step gives
        // at most twice that.
        let mut gap = 0.0;
        if s_xx.value() > 0.0 && varies {
            let mut slope = descent[0];
            if let Some(&intercept_descent) = descent.get(1) {
                slope -= x_mean * intercept_descent;
            }
            gap += 0.5 * slope.value() * slope.value() / s_xx.value();
        }
        if let Some(intercept_descent) = descent.get(1) {
            gap +=
                0.5 * intercept_descent.value() * intercept_descent.value() / objective.sums.total_weight();
        }
        let parameters: Vec<f64> = at.iter().map(|x| x.value()).collect();
        control.passed(2);
        let status = control.iterate(objective, &parameters, value, gap);
        Ok(Solution {
            parameters,
            dual: None,
            gram: None,
            status: status.unwrap_or(Status::IterationLimit),
            iterations: control.iterations(),
        })
    }
}
