//! The solvers of wstar: each minimises an [`Objective`] from a start and returns a [`Solution`]; the
//! [`plan`] picks them.
//!
//! A solver stops when its own estimate of the relative duality gap reaches the tolerance. Stopping early is
//! a [`Status`], never an error. The certificate is computed afterwards by the crate `wstar-certify`, which
//! uses only the point and the multipliers that the solver returned.
//!
//! Smooth losses and penalties:
//!
//! - `newton`: Newton's method with the full Hessian
//! - `newton_cg`: inexact Newton with conjugate gradients
//! - `quasi_newton`: BFGS and limited-memory BFGS
//! - `gradient_descent`: gradient descent with momentum
//! - `sgd`: stochastic and mini-batch gradient descent, for every loss and penalty
//! - `firth_newton`: Fisher scoring for Firth's bias-reduced logistic regression
//! - `line_search`, `smooth_stopping`, `preconditioner`, `learning_rate`: what these solvers share
//!
//! ℓ1 penalties and the elastic net:
//!
//! - `l1`: coordinate descent with working sets, and orthant-wise Newton
//!
//! Losses with a kink (hinge, absolute, quantile):
//!
//! - `kink`: the piecewise linear loss of one row
//! - `interior_point`: a primal–dual interior point method
//! - `dual_coordinate_descent`: dual coordinate descent with shrinking
//! - `least_absolute`: Frisch–Newton interior point and simplex for unpenalised absolute and quantile loss
//!
//! Least squares:
//!
//! - `least_squares`: closed form, normal equations, QR and SVD
//!
//! Shared by several solvers:
//!
//! - `plan`, `reason`: which solvers run, in which order, and why
//! - `subsample_start`: a start for Newton's method from the optimum of a sample of the rows
//! - `row_reduction`: solves over the rows near the kink only and validates the others
//! - `newton_system`: Cholesky with scaling and iterative refinement for the normal equations of a step
//! - `intercept`, `intercept_polish`: the optimal intercept for fixed weights
//! - `fixed_order`: parallel sums over the rows in an order that does not depend on the number of threads

pub mod dual_coordinate_descent;
mod firth_newton;
mod fixed_order;
pub mod gradient_descent;
pub mod intercept;
pub mod intercept_polish;
pub mod interior_point;
pub mod kink;
pub mod l1;
pub mod learning_rate;
pub mod least_absolute;
pub mod least_squares;
mod line_search;
pub mod newton;
pub mod newton_cg;
pub(crate) mod newton_system;
pub mod plan;
mod preconditioner;
mod quasi_newton;
mod reason;
pub(crate) mod row_reduction;
pub mod sgd;
mod smooth_stopping;
pub mod subsample_start;

pub use dual_coordinate_descent::DualCoordinateDescent;
pub use firth_newton::Firth;
pub use gradient_descent::GradientDescent;
pub use intercept::{best_intercept, best_intercept_smooth};
pub use interior_point::InteriorPoint;
pub use kink::Kink;
pub use l1::coordinate_descent::{CoordinateDescent, SharedColumns};
pub use l1::orthant_newton::OrthantNewton;
pub use least_absolute::FrischNewton;
pub use least_squares::{ClosedForm, LeastSquaresReport, NormalEquations, Qr, Svd};
pub use newton::Newton;
pub use newton_cg::NewtonCg;
pub use quasi_newton::bfgs::Bfgs;
pub use quasi_newton::lbfgs::Lbfgs;
pub use reason::Reason;
pub use sgd::Sgd;

use std::ops::ControlFlow;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use wstar_data::error::{Error, Result};
use wstar_data::run::{Budget, Iteration, Status, Stride, Watch};
use wstar_data::setting::{Choice, Setting};
use wstar_problem::objective::{Objective, Rows};
use wstar_problem::tolerance::Tolerance;

/// The solvers by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SolverName {
    /// Gradient descent.
    GradientDescent,
    /// Stochastic and mini-batch gradient descent.
    Sgd,
    /// Newton's method with the full Hessian.
    Newton,
    /// Inexact Newton with conjugate gradients.
    NewtonCg,
    /// Orthant-wise Newton, for ℓ1 and the elastic net.
    OrthantNewton,
    /// Broyden–Fletcher–Goldfarb–Shanno, with a dense inverse Hessian.
    Bfgs,
    /// Limited-memory BFGS.
    Lbfgs,
    /// Coordinate descent, for ℓ1 and the elastic net.
    CoordinateDescent,
    /// Dual coordinate descent: one multiplier αᵢ at a time.
    DualCoordinateDescent,
    /// Primal–dual interior point, for losses with a kink.
    InteriorPoint,
    /// Interior point and simplex, for unpenalised absolute and quantile loss.
    FrischNewton,
    /// The interior point method in double-double arithmetic, for very ill-conditioned problems.
    ExtendedInteriorPoint,
    /// Least squares by the normal equations.
    NormalEquations,
    /// Least squares by a QR factorisation.
    Qr,
    /// Least squares by a singular value decomposition.
    Svd,
    /// Least squares with a single feature, in closed form.
    ClosedForm,
    /// Newton's method on the likelihood with Firth's correction.
    FirthNewton,
}

impl SolverName {
    /// The solvers that can be chosen by name, in the order in which help lists them.
    pub const ALL: [SolverName; 16] = [
        SolverName::GradientDescent,
        SolverName::Sgd,
        SolverName::Newton,
        SolverName::NewtonCg,
        SolverName::OrthantNewton,
        SolverName::Bfgs,
        SolverName::Lbfgs,
        SolverName::CoordinateDescent,
        SolverName::DualCoordinateDescent,
        SolverName::InteriorPoint,
        SolverName::FrischNewton,
        SolverName::ExtendedInteriorPoint,
        SolverName::NormalEquations,
        SolverName::Qr,
        SolverName::Svd,
        SolverName::ClosedForm,
    ];

    /// The name on the command line and in model files.
    pub fn name(self) -> &'static str {
        match self {
            SolverName::GradientDescent => "gradient-descent",
            SolverName::Sgd => "sgd",
            SolverName::Newton => "newton",
            SolverName::NewtonCg => "newton-cg",
            SolverName::OrthantNewton => "orthant-newton",
            SolverName::Bfgs => "bfgs",
            SolverName::Lbfgs => "lbfgs",
            SolverName::CoordinateDescent => "coordinate-descent",
            SolverName::DualCoordinateDescent => "dual-coordinate-descent",
            SolverName::InteriorPoint => "interior-point",
            SolverName::FrischNewton => "frisch-newton",
            SolverName::ExtendedInteriorPoint => "extended-interior-point",
            SolverName::NormalEquations => "normal-equations",
            SolverName::Qr => "qr",
            SolverName::Svd => "svd",
            SolverName::ClosedForm => "closed-form",
            SolverName::FirthNewton => "firth-newton",
        }
    }

    /// The error for a problem or for rows that this solver does not take; `what` is the rest of the sentence.
    pub(crate) fn refuses(self, what: impl Into<String>) -> Error {
        Error::misuse(Setting::Solver.to(self.name()), what)
    }

    /// The rows of an objective; an error if they are not in memory.
    pub(crate) fn rows_of<'r, 'a>(self, objective: &'r Objective<'a>) -> Result<&'r Rows<'a>> {
        let rows = objective.rows.as_ref();
        rows.ok_or_else(|| self.refuses("needs all rows in memory"))
    }

    /// The choice of any of these solvers, as a remedy.
    pub(crate) fn any(solvers: impl IntoIterator<Item = SolverName>) -> Choice {
        Setting::Solver.any(solvers.into_iter().map(SolverName::name))
    }
}

/// The point at which a solver ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Solution {
    /// The parameters, in the problem's layout.
    pub parameters: Vec<f64>,
    /// αᵢ for every row, from solvers that compute a dual point: w = Xᵀα at the optimum under an ℓ2 penalty.
    pub dual: Option<Vec<f64>>,
    /// The Gram matrix X̃ᵀCX̃, from a least-squares solver that formed it and found it well conditioned.
    pub gram: Option<Vec<f64>>,
    /// Why the solver stopped.
    pub status: Status,
    /// The number of steps.
    pub iterations: u64,
}

impl Solution {
    /// The end of a solver that computes neither a dual point nor a Gram matrix.
    pub fn new(parameters: Vec<f64>, status: Status, iterations: u64) -> Self {
        Solution {
            parameters,
            dual: None,
            gram: None,
            status,
            iterations,
        }
    }
}

/// Stores the point of every iteration, as a checkpoint.
pub type Keeper = Box<dyn FnMut(&[f64]) -> Result<()>>;

/// The stopping rules of a run, and the [`Watch`] that follows it.
pub struct Control<'a> {
    /// The gap at which a solver has converged.
    pub tolerance: Tolerance,
    /// The iteration limit.
    pub max_iterations: u64,
    budget: Budget,
    started: Instant,
    watch: &'a mut dyn Watch,
    solver: SolverName,
    iterations: u64,
    /// The relative gap at the last iteration.
    reached: f64,
    /// Passes over the rows that were made outside the objective's sums.
    passes: u64,
    keeper: Option<Keeper>,
    failed: Option<Error>,
}

impl<'a> Control<'a> {
    /// Starts the clock.
    pub fn new(tolerance: Tolerance, budget: Budget, watch: &'a mut dyn Watch) -> Self {
        Control {
            tolerance,
            max_iterations: budget.max_updates.unwrap_or(u64::MAX),
            budget,
            started: Instant::now(),
            watch,
            solver: SolverName::Newton,
            iterations: 0,
            reached: f64::INFINITY,
            passes: 0,
            keeper: None,
            failed: None,
        }
    }

    /// A control for an auxiliary run, on the same clock.
    pub(crate) fn auxiliary<'b>(&self, tolerance: Tolerance, watch: &'b mut dyn Watch) -> Control<'b> {
        Control {
            started: self.started,
            ..Control::new(tolerance, self.budget, watch)
        }
    }

    /// Stores the point of every later iteration with `keeper`.
    pub fn keep(&mut self, keeper: Option<Keeper>) {
        self.keeper = keeper;
    }

    /// The error of the keeper, if it failed.
    pub fn release(self) -> Option<Error> {
        self.failed
    }

    /// Sets the solver whose name the following iterations report.
    pub fn enter(&mut self, solver: SolverName) {
        self.solver = solver;
    }

    /// The solver that ran last.
    pub fn solver(&self) -> SolverName {
        self.solver
    }

    /// Counts passes over the rows that were made outside the objective's sums.
    pub fn passed(&mut self, passes: u64) {
        self.passes += passes;
    }

    /// The passes over the rows made so far outside the objective's sums.
    pub fn passes(&self) -> u64 {
        self.passes
    }

    /// The iterations so far, of all solvers.
    pub fn iterations(&self) -> u64 {
        self.iterations
    }

    /// The relative gap at the last iteration.
    pub fn reached(&self) -> f64 {
        self.reached
    }

    /// Reports that the certificate is about to be computed.
    pub fn certifying(&mut self) {
        self.watch.certifying();
    }

    /// Reports the end of an iteration and returns the status if the run is to stop. `gap` is an estimate of
    /// P − P\* (+∞ while none is known).
    pub fn iterate(&mut self, objective: &Objective<'_>, at: &[f64], value: f64, gap: f64) -> Option<Status> {
        self.iterations += 1;
        let relative_gap = self.tolerance.relative_gap(gap, value);
        self.reached = relative_gap;
        let layout = objective.problem.layout();
        let mut iteration = Iteration::new(self.solver.name(), self.iterations, value, at, layout);
        iteration.passes = self.passes + objective.sums.passes();
        iteration.relative_gap = relative_gap;
        let flow = self.watch.iterate(&iteration);
        if let Some(keeper) = &mut self.keeper
            && let Err(error) = keeper(at)
        {
            self.failed = Some(error);
            return Some(Status::Stopped);
        }
        if relative_gap <= self.tolerance.relative {
            return Some(Status::Converged);
        }
        match flow {
            ControlFlow::Break(()) => Some(Status::Stopped),
            ControlFlow::Continue(()) => self.out_of_budget(),
        }
    }

    /// Whether the watch follows every batch of a stochastic solver.
    pub fn wants_strides(&self) -> bool {
        self.watch.wants_steps()
    }

    /// Reports a batch and returns the status if the watch stops the run.
    pub fn stride(&mut self, stride: &Stride<'_>) -> Option<Status> {
        let flow = self.watch.stride(stride);
        flow.is_break().then_some(Status::Stopped)
    }

    /// The status to stop with, if the iteration limit or the time limit is reached.
    pub fn out_of_budget(&self) -> Option<Status> {
        if self.iterations >= self.max_iterations {
            return Some(Status::IterationLimit);
        }
        let late = self
            .budget
            .max_time
            .is_some_and(|most| self.started.elapsed() >= most);
        late.then_some(Status::TimeLimit)
    }
}

/// A method that minimises a problem.
pub trait Solver {
    /// The solver's name.
    fn name(&self) -> SolverName;
    /// Returns an error for a problem that the solver cannot take.
    fn check(&self, objective: &Objective<'_>) -> Result<()>;
    /// Minimises the objective from `start`.
    fn solve(
        &self,
        objective: &mut Objective<'_>,
        start: &[f64],
        control: &mut Control<'_>,
    ) -> Result<Solution>;
}
