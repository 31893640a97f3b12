//! Solvers: one file each, headed by the problem it solves and where the method comes from.
//!
//! A solver gets a [`Problem`] and a start, and returns a [`Solution`]. Stopping early is a [`Status`],
//! never an error. It stops when its own estimate of the relative gap reaches the tolerance; the
//! certificate is made afterwards by [`certify`](crate::certify), which takes nothing from it but the point.

pub mod bfgs;
pub mod coordinate_descent;
pub mod dual_coordinate_descent;
mod firth;
pub mod gradient_descent;
pub mod intercept;
pub mod interior_point;
pub mod kink;
mod lanes;
pub mod lbfgs;
pub mod least_absolute;
pub mod least_squares;
mod line_search;
pub mod newton;
pub mod newton_cg;
pub mod orthant;
mod preconditioner;
mod quasi_newton;
pub mod sgd;
mod smooth;

pub use bfgs::Bfgs;
pub use coordinate_descent::{CoordinateDescent, SharedColumns};
pub use dual_coordinate_descent::DualCoordinateDescent;
pub use firth::Firth;
pub use gradient_descent::GradientDescent;
pub use intercept::{best_intercept, best_intercept_smooth};
pub use interior_point::InteriorPoint;
pub use kink::Kink;
pub use lbfgs::Lbfgs;
pub use least_absolute::FrischNewton;
pub use least_squares::{ClosedForm, LeastSquaresReport, NormalEquations, Qr, Svd};
pub use newton::Newton;
pub use newton_cg::NewtonCg;
pub use orthant::OrthantNewton;
pub use sgd::Sgd;

use std::ops::ControlFlow;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::problem::Problem;
use crate::watch::{Budget, Iteration, Status, Stride, Watch};

/// The solvers by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SolverName {
    /// Steps down the gradient.
    GradientDescent,
    /// Steps down the gradient of a few rows at a time.
    Sgd,
    /// Newton's method with the whole Hessian.
    Newton,
    /// Newton's method with conjugate gradients.
    NewtonCg,
    /// Newton's method on the signs of the weights, for ℓ1 and the elastic net.
    OrthantNewton,
    /// Broyden–Fletcher–Goldfarb–Shanno, with the whole inverse Hessian.
    Bfgs,
    /// The same from the last few steps only.
    Lbfgs,
    /// One weight at a time, for ℓ1 and the elastic net.
    CoordinateDescent,
    /// One row's multiplier at a time.
    DualCoordinateDescent,
    /// Primal–dual interior point, for losses with kinks.
    InteriorPoint,
    /// Interior point and simplex, for absolute deviations and quantiles without a penalty.
    FrischNewton,
    /// The same in double-double, for the worst of conditions.
    ExtendedInteriorPoint,
    /// Least squares by the normal equations.
    NormalEquations,
    /// Least squares by a QR factorisation.
    Qr,
    /// Least squares by a singular value decomposition.
    Svd,
    /// Least squares with one feature, in closed form.
    ClosedForm,
}

impl SolverName {
    /// All solvers, in the order in which help lists them.
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

    /// Its name on the command line and in model files.
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
        }
    }
}

/// Where a solver ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// The parameters, laid out as the problem's.
    pub parameters: Vec<f64>,
    /// αᵢ for every row, with w = Xᵀα at the optimum of an ℓ2 penalty, from solvers that have one.
    pub dual: Option<Vec<f64>>,
    /// X̃ᵀCX̃, from a solver of least squares that made it and found it well conditioned.
    pub gram: Option<Vec<f64>>,
    /// How it ended.
    pub status: Status,
    /// Steps made.
    pub iterations: u64,
}

/// Is told of every iteration's point, to keep it somewhere safe.
pub type Keeper = Box<dyn FnMut(&[f64]) -> Result<()>>;

/// How far a solver may go, and who is looking.
pub struct Control<'a> {
    /// The relative gap to reach.
    pub tol: f64,
    /// The most iterations of this solver.
    pub max_iterations: u64,
    budget: Budget,
    started: Instant,
    watch: &'a mut dyn Watch,
    solver: SolverName,
    iterations: u64,
    /// The relative gap that the last of them told of.
    reached: f64,
    /// Passes of solvers that go through the rows themselves.
    passes: u64,
    keeper: Option<Keeper>,
    failed: Option<Error>,
}

impl<'a> Control<'a> {
    /// A fresh start of the clock.
    pub fn new(tol: f64, budget: Budget, watch: &'a mut dyn Watch) -> Self {
        Control {
            tol,
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

    /// For a run on the side, on the same clock.
    pub(crate) fn aside<'b>(&self, tol: f64, watch: &'b mut dyn Watch) -> Control<'b> {
        Control {
            started: self.started,
            ..Control::new(tol, self.budget, watch)
        }
    }

    /// Has every iteration's point kept from here on.
    pub(crate) fn keep(&mut self, keeper: Option<Keeper>) {
        self.keeper = keeper;
    }

    /// Why keeping failed, if it did.
    pub(crate) fn release(self) -> Option<Error> {
        self.failed
    }

    /// Names the solver that runs from here on.
    pub fn enter(&mut self, solver: SolverName) {
        self.solver = solver;
    }

    /// Counts passes over the rows that were made without the oracle.
    pub fn passed(&mut self, passes: u64) {
        self.passes += passes;
    }

    /// Passes that solvers made over the rows without the oracle, so far.
    pub fn passes(&self) -> u64 {
        self.passes
    }

    /// Iterations made so far, over all solvers.
    pub fn iterations(&self) -> u64 {
        self.iterations
    }

    /// The relative gap that the last iteration told of.
    pub(crate) fn reached(&self) -> f64 {
        self.reached
    }

    /// Tells that a claim is about to be checked.
    pub(crate) fn certifying(&mut self) {
        self.watch.certifying();
    }

    /// Tells of an iteration's end; gives the status to end with, if it is time. `gap` is an estimate of
    /// P − P\* (+∞ where none is known yet).
    pub fn iterate(&mut self, problem: &Problem<'_>, at: &[f64], objective: f64, gap: f64) -> Option<Status> {
        self.iterations += 1;
        let relative_gap = Problem::relative(gap, objective);
        self.reached = relative_gap;
        let told = self.watch.iterate(&Iteration {
            solver: self.solver.name(),
            iteration: self.iterations,
            passes: self.passes + problem.oracle.passes(),
            objective,
            relative_gap,
            parameters: at,
            layout: problem.layout(),
        });
        if let Some(keeper) = &mut self.keeper
            && let Err(error) = keeper(at)
        {
            self.failed = Some(error);
            return Some(Status::Stopped);
        }
        if relative_gap <= self.tol {
            return Some(Status::Converged);
        }
        match told {
            ControlFlow::Break(()) => Some(Status::Stopped),
            ControlFlow::Continue(()) => self.out_of_budget(),
        }
    }

    /// Whether someone follows every batch of a stochastic solver.
    pub fn wants_strides(&self) -> bool {
        self.watch.wants_steps()
    }

    /// Tells of a batch; gives the status to end with, if someone has seen enough.
    pub fn stride(&mut self, stride: &Stride<'_>) -> Option<Status> {
        let told = self.watch.stride(stride);
        told.is_break().then_some(Status::Stopped)
    }

    /// The status to end with, if iterations or time are used up.
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

/// A way to minimise a problem.
pub trait Solver {
    /// Its name.
    fn name(&self) -> SolverName;
    /// Refuses a problem that it is not made for.
    fn check(&self, problem: &Problem<'_>) -> Result<()>;
    /// Minimises, from a start.
    fn solve(&self, problem: &mut Problem<'_>, start: &[f64], control: &mut Control<'_>) -> Result<Solution>;
}
