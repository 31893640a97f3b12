//! A primal–dual interior point method (Mehrotra, On the implementation of a primal-dual interior point method, SIAM
//! J. Optimization 2, 1992) for losses that are pieces of lines and parabolas: hinge, absolute, squared hinge, squared;
//! and for all smooth ones under ℓ1 (`smooth.rs`).
//!
//! Minimise R(θ) + Σᵢ cᵢ ℓᵢ(zᵢ) with z = X̃θ, for R of ℓ2, ℓ1, the elastic net or none, and losses of the form
//! ℓ(z) = max over lo ≤ s ≤ hi of s(z − at) − bend·s²/2 (`piece.rs`). ℓ1 is of the same kind, a kink of weight l1 at
//! θⱼ = 0, so it adds d entries to the n of the rows. For each entry (`entry.rs`) a slope s = lo + p = hi − q and
//! multipliers u, v are kept inside their bounds; optimal is
//!
//! > l2·θ + X̃ᵀ(c·s) = 0,  v − u = z − at − bend·s,  pu = qv = 0,
//!
//! and each iteration makes a Newton step towards pu = qv = τ. Eliminating everything but θ leaves
//! (l2 + X̃ᵀ diag(c·g) X̃) dθ = …, g = 1/(u/p + v/q + bend): one Gram matrix and three passes an iteration.
//! Columns are brought to size 1 by powers of two, which is exact; the penalty keeps its meaning.
//!
//! **One weight for all.** All entries, of rows and of ℓ1, have the same c in the barrier, and what they weigh is put
//! into the intervals of their slopes. With a barrier weighted by cᵢ and by l1/‖Xⱼ‖, which can differ by twenty orders,
//! the path to the optimum is so crooked that ten times as many steps are needed.
//!
//! **Digits.** Towards the end g spans all magnitudes, and with columns of very different sizes, nearly collinear ones or
//! fewer rows than columns the condition of that system passes 10¹⁶ long before the gap is small. The method is
//! therefore written for any `Scalar`: in double-double, at some thirty times the cost, conditions up to 10³⁰ do
//! no harm. It is the last resort of `auto`, while the work is affordable.

mod band;
mod bounds;
mod entry;
mod normal;
mod piece;
mod run;
mod scalar;
mod smooth;

use bounds::Bounds;
pub(super) use normal::Normal;
use piece::Piece;
use run::Run;
pub(super) use run::column_scales;
use scalar::Scalar;

use crate::error::{Error, Result};
use crate::kernel::double_double::DoubleDouble;
use crate::loss::LossName;
use crate::oracle::{Merged, Rows};
use crate::problem::Problem;
use crate::solve::{Control, Solution, Solver, SolverName};
use crate::watch::Status;

/// Iterations without a better gap before it is rounding that is in the way.
const PATIENCE: u32 = 12;
/// The most products an iteration in double-double may take, each of some nanoseconds.
const MOST_EXTENDED_WORK: f64 = 2e9;

/// A primal–dual interior point method for hinge, absolute, squared hinge and squared loss, and for others under ℓ1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InteriorPoint {
    /// The most parameters: a matrix of their square is factored in every iteration.
    pub max_parameters: usize,
    /// The most iterations.
    pub max_iterations: u64,
    /// Whether it computes in double-double.
    pub extended: bool,
}

impl Default for InteriorPoint {
    fn default() -> Self {
        InteriorPoint {
            max_parameters: 4096,
            max_iterations: 200,
            extended: false,
        }
    }
}

impl InteriorPoint {
    /// In double-double.
    pub fn extended() -> Self {
        InteriorPoint {
            extended: true,
            ..InteriorPoint::default()
        }
    }
}

impl Solver for InteriorPoint {
    fn name(&self) -> SolverName {
        if self.extended {
            SolverName::ExtendedInteriorPoint
        } else {
            SolverName::InteriorPoint
        }
    }

    fn check(&self, problem: &Problem<'_>) -> Result<()> {
        let by_pieces = Piece::new(problem.loss, 1.0).is_some();
        let smooth = problem.loss.is_convex() && !problem.penalty.is_smooth() && !self.extended;
        if !by_pieces && !smooth {
            return Err(Error::settings(format!(
                "{} is not for {} loss with this penalty",
                self.name().name(),
                problem.loss.name()
            ))
            .hint("newton and lbfgs solve smooth losses"));
        }
        let Some(rows) = &problem.rows else {
            return Err(
                Error::settings("the interior point solver needs all rows in memory")
                    .hint("sgd reads a file in chunks"),
            );
        };
        let parameters = problem.layout().len();
        if parameters > self.max_parameters {
            return Err(Error::settings(format!(
                "the interior point solver factors a matrix of {parameters} × {parameters} in every iteration; {} is the most",
                self.max_parameters
            ))
            .hint("dual-coordinate-descent is made for many columns"));
        }
        let width = parameters as f64;
        let stored = rows.design.stored() as f64;
        if self.extended && (stored + width * width / 3.0) * width / 2.0 > MOST_EXTENDED_WORK {
            return Err(Error::settings(format!(
                "{} × {parameters} are too many for an interior point solver in double-double",
                rows.len()
            ))
            .hint("interior-point does the same in plain arithmetic"));
        }
        Ok(())
    }

    fn solve(&self, problem: &mut Problem<'_>, start: &[f64], control: &mut Control<'_>) -> Result<Solution> {
        self.check(problem)?;
        control.enter(self.name());
        if Piece::new(problem.loss, 1.0).is_none() {
            return smooth::run(self, problem, control);
        }
        let problem = &*problem;
        let Some(rows) = &problem.rows else {
            return Err(Error::settings(
                "the interior point solver needs all rows in memory",
            ));
        };
        if self.extended {
            return Ok(self.run::<DoubleDouble>(problem, rows, start, control));
        }
        // Much is kept beside each row, and each is passed over often.
        let Some(mut merged) = Merged::of(rows) else {
            return self.solve_plainly(problem, rows, start, control);
        };
        let counts = merged.take_counts();
        let few = merged.rows();
        let mut solution = self.run_counted::<f64>(problem, &few, Some(counts), start, control);
        solution.dual = solution.dual.map(|dual| merged.spread(&dual, rows));
        Ok(solution)
    }
}

impl InteriorPoint {
    /// In `f64`, by a band of the rows where that will do.
    fn solve_plainly(
        &self,
        problem: &Problem<'_>,
        rows: &Rows<'_>,
        start: &[f64],
        control: &mut Control<'_>,
    ) -> Result<Solution> {
        if problem.loss == LossName::Hinge
            && problem.penalty.l2 > 0.0
            && let Some(solution) = band::solve(self, problem, rows, start, control)?
        {
            return Ok(solution);
        }
        Ok(self.run::<f64>(problem, rows, start, control))
    }

    fn run<S: Scalar>(
        &self,
        problem: &Problem<'_>,
        rows: &Rows<'_>,
        start: &[f64],
        control: &mut Control<'_>,
    ) -> Solution {
        self.run_counted::<S>(problem, rows, None, start, control)
    }

    fn run_counted<S: Scalar>(
        &self,
        problem: &Problem<'_>,
        rows: &Rows<'_>,
        alike: Option<Vec<u32>>,
        start: &[f64],
        control: &mut Control<'_>,
    ) -> Solution {
        let mut run = Run::<S>::new(problem, rows, alike.as_deref(), start);
        drop(alike);
        let mut bounds = Bounds::new(problem, rows);
        let (status, iterations) = self.iterate(problem, &mut run, &mut bounds, control);
        let (parameters, dual) = bounds.finish(&mut run, control.tol);
        Solution {
            parameters,
            dual: Some(dual),
            gram: None,
            status,
            iterations,
        }
    }

    /// A point as near as is asked for by whoever watches, and nothing else.
    pub(super) fn approach(
        &self,
        problem: &Problem<'_>,
        start: &[f64],
        control: &mut Control<'_>,
    ) -> Result<Vec<f64>> {
        self.check(problem)?;
        control.enter(self.name());
        let Some(rows) = &problem.rows else {
            return Err(Error::settings(
                "the interior point solver needs all rows in memory",
            ));
        };
        let mut run = Run::<f64>::new(problem, rows, None, start);
        let mut bounds = Bounds::new(problem, rows);
        self.iterate(problem, &mut run, &mut bounds, control);
        Ok(bounds.point(&run))
    }

    /// Steps until enough is reached; how that ended, and how many there were.
    fn iterate<S: Scalar>(
        &self,
        problem: &Problem<'_>,
        run: &mut Run<'_, S>,
        bounds: &mut Bounds<'_>,
        control: &mut Control<'_>,
    ) -> (Status, u64) {
        let mut step = 0.0;
        let (mut iterations, mut since_best) = (0, 0);
        let (mut first, mut last_gap) = (None, f64::INFINITY);
        let mut least = f64::INFINITY;
        let status = loop {
            let sums = run.advance(step);
            let normal = run.normal(&sums);
            let gap = bounds.update(run, &sums, normal.as_ref(), control.tol);
            iterations += 1;
            // Residuals, the normal matrix with the predictor, and the corrector.
            control.passed(3);
            let (point, objective) = (bounds.point(run), bounds.objective(&sums, run));
            if let Some(status) = control.iterate(problem, &point, objective, gap) {
                break status;
            }
            let counts = counts(sums.complementarity, objective, control.tol);
            let nearer = gap < 0.9 * last_gap || (counts && sums.complementarity < 0.9 * least);
            since_best = if nearer { 0 } else { since_best + 1 };
            last_gap = last_gap.min(gap);
            least = least.min(sums.complementarity);
            if iterations >= self.max_iterations || since_best > PATIENCE {
                break Status::IterationLimit;
            }
            let Some(normal) = normal else {
                break Status::IterationLimit;
            };
            let first = *first.get_or_insert(sums.complementarity);
            let Some(next) = run.step(&sums, &normal, first) else {
                break Status::IterationLimit;
            };
            step = next;
        };
        (status, iterations)
    }
}

/// Whether complementarity going down is progress: far from the end no dual point may be feasible yet, while at the
/// end it goes down for ever.
fn counts(complementarity: f64, objective: f64, tol: f64) -> bool {
    complementarity > 1e-6 * tol * objective.abs().max(1.0)
}
