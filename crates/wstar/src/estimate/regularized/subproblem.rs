//! Solves one subproblem: each solver of the plan continues from the best point so far until the certificate holds.

use crate::estimate::regularized::existence::Direction;
use crate::model::Chosen;
use wstar_certify::duality::DualityGap;
use wstar_certify::duality::choose_multipliers;
use wstar_certify::stationarity::{Stationarity, stationarity};
use wstar_data::Design;
use wstar_data::error::{Error, Result};
use wstar_data::run::Status;
use wstar_problem::baseline::Baseline;
use wstar_problem::loss::LossName;
use wstar_problem::multiclass::SubproblemBlocks;
use wstar_problem::objective::{Blocks, Objective, Rows, Validation};
use wstar_problem::problem::Problem;
use wstar_problem::tolerance::Tolerance;
use wstar_solve::plan::{Plan, SolverOptions};
use wstar_solve::{Control, Solution, Solver, SolverName};
use wstar_solve::{intercept_polish, subsample_start};

/// Factor on the solver's tolerance after its own estimate was below the tolerance and the certificate was not.
/// Heuristic: a smaller factor needs fewer certificates and may solve too far; not measured yet.
const TIGHTER: f64 = 1e-2;
/// Least tolerance of a solver. Derived: far below ε = 2.2·10⁻¹⁶, where an estimate of a relative gap has no meaning.
const LEAST_TOL: f64 = 1e-18;

/// The source of the rows of a subproblem.
pub(super) enum Source<'a> {
    Memory {
        /// The rows that the certificate is about.
        given: Rows<'a>,
        /// A sparse copy of their design for the solvers, if there is one.
        compressed: Option<&'a Design>,
        validation: Validation,
    },
    Stream(SubproblemBlocks<'a>),
}

impl Source<'_> {
    /// The sums of the targets.
    fn baseline(&mut self, problem: &Problem) -> Result<Baseline> {
        match self {
            Source::Memory { given, .. } => Baseline::of(given, problem),
            Source::Stream(blocks) => Baseline::of(blocks, problem),
        }
    }

    /// The objective over these rows, whose total weight is given, in the storage that the solvers read.
    fn objective(&mut self, problem: Problem, total_weight: f64) -> Objective<'_> {
        match self {
            Source::Memory {
                given,
                compressed,
                validation,
            } => {
                let rows = Rows {
                    design: compressed.unwrap_or(given.design),
                    ..given.borrowed()
                };
                Objective::in_memory(problem, rows, *validation)
            }
            Source::Stream(blocks) => Objective::streamed(problem, blocks, total_weight),
        }
    }

    fn certify(
        &mut self,
        problem: &Problem,
        parameters: &[f64],
        dual: Option<&[f64]>,
        tol: f64,
        reached: f64,
    ) -> Result<Claim> {
        if problem.is_convex() {
            return Ok(Claim::Gap(match self {
                // The certificate is computed from the rows as given, not from the solvers' copy.
                Source::Memory { given, .. } => {
                    choose_multipliers::certify(given, problem, parameters, dual, tol, reached)?
                }
                Source::Stream(blocks) => {
                    choose_multipliers::certify_slopes(blocks, problem, parameters, tol)?
                }
            }));
        }
        let blocks: &mut dyn Blocks = match self {
            Source::Memory { given, .. } => given,
            Source::Stream(blocks) => blocks,
        };
        Ok(Claim::Slope(stationarity(blocks, problem, parameters, tol)?))
    }
}

/// A solved subproblem.
pub(super) struct Solved {
    pub(super) parameters: Vec<f64>,
    pub(super) claim: Claim,
    pub(super) status: Status,
    pub(super) passes: u64,
    /// The solver and the reason for choosing it; `None` if no solver ran.
    pub(super) chosen: Option<Chosen>,
    /// X̃ᵀCX̃, if the solver computed it and found it well conditioned.
    pub(super) gram: Option<Vec<f64>>,
}

/// The certificate of one subproblem.
pub(super) enum Claim {
    Gap(DualityGap),
    Slope(Stationarity),
}

impl Claim {
    pub(super) fn holds(&self) -> bool {
        match self {
            Claim::Gap(gap) => gap.holds(),
            Claim::Slope(slope) => slope.holds(),
        }
    }

    /// The distance from an optimum: the relative gap or the slope.
    fn shortfall(&self) -> f64 {
        match self {
            Claim::Gap(gap) => gap.relative_gap,
            Claim::Slope(slope) => slope.slope,
        }
    }

    pub(super) fn objective(&self) -> f64 {
        match self {
            Claim::Gap(gap) => gap.primal,
            Claim::Slope(slope) => slope.objective,
        }
    }
}

/// The result of a subproblem without an optimum: the direction along which its objective decreases without bound, with
/// the certificate of that point.
pub(super) fn unattained(
    rows: Rows<'_>,
    problem: &Problem,
    tol: f64,
    direction: &Direction,
) -> Result<Solved> {
    let parameters = direction.parameters.clone();
    let mut source = Source::Memory {
        given: rows,
        compressed: None,
        validation: Validation::Done,
    };
    let claim = source.certify(problem, &parameters, None, tol, f64::INFINITY)?;
    Ok(Solved {
        parameters,
        claim,
        status: Status::Diverging,
        passes: 1,
        chosen: None,
        gram: None,
    })
}

/// The certificate of a point of a smooth convex problem that no solver of the plan returned.
pub(super) fn recertify(rows: Rows<'_>, problem: &Problem, parameters: &[f64], tol: f64) -> Result<Claim> {
    let mut source = Source::Memory {
        given: rows,
        compressed: None,
        validation: Validation::Done,
    };
    source.certify(problem, parameters, None, tol, f64::INFINITY)
}

/// Solves and certifies: each solver of the plan continues from the best point so far until the certificate holds.
pub(super) fn solve(
    source: &mut Source<'_>,
    problem: &Problem,
    plan: &Plan,
    options: &SolverOptions,
    start: Vec<f64>,
    control: &mut Control<'_>,
) -> Result<Solved> {
    let baseline = source.baseline(problem)?;
    control.tolerance.least_scale = baseline.least_scale(problem);
    let mut search = Search {
        problem,
        plan,
        tolerance: control.tolerance,
        total_weight: baseline.total_weight(),
        best: None,
        tried: Vec::new(),
        // The targets of a file are read with its rows.
        passes: u64::from(matches!(source, Source::Stream(_))),
    };
    let mut from = start;
    if let Source::Memory {
        given, validation, ..
    } = source
        && plan.subsample
        && from.iter().all(|&w| w == 0.0)
        && let Some((start, read)) = subsample_start::start(given, *validation, problem, options, control)?
    {
        from = start;
        search.passes += read;
    }
    for (at, solver) in plan.solvers.iter().enumerate() {
        let last_chance = search.best.is_none() && at + 1 == plan.solvers.len();
        match solver.check(&source.objective(*problem, search.total_weight)) {
            Err(error) if last_chance => return Err(error),
            // A solver that does not apply to these rows is skipped.
            Err(_) => continue,
            Ok(()) => {}
        }
        if let Some(status) = search.run(solver.as_ref(), source, from, control)? {
            return search.finish(status, control);
        }
        from = search.best_point();
        search.tried.push(control.solver());
    }
    search.finish(Status::IterationLimit, control)
}

/// The search for a certified point over the solvers of a plan.
struct Search<'p> {
    problem: &'p Problem,
    plan: &'p Plan,
    /// The gap that the certificate must reach.
    tolerance: Tolerance,
    /// Σcᵢ.
    total_weight: f64,
    best: Option<Solved>,
    tried: Vec<SolverName>,
    passes: u64,
}

impl Search<'_> {
    /// Runs one solver, and repeats it with a smaller tolerance as long as this improves the certificate. Returns the
    /// status if the whole search ends.
    fn run(
        &mut self,
        solver: &dyn Solver,
        source: &mut Source<'_>,
        mut from: Vec<f64>,
        control: &mut Control<'_>,
    ) -> Result<Option<Status>> {
        let mut last = f64::INFINITY;
        control.tolerance = self.tolerance;
        loop {
            let solution = self.attempt(solver, source, &from, control)?;
            if let Source::Memory { validation, .. } = source {
                // The solver's first pass has validated the rows.
                *validation = Validation::Done;
            }
            control.certifying();
            let claim = source.certify(
                self.problem,
                &solution.parameters,
                solution.dual.as_deref(),
                self.tolerance.relative,
                control.reached(),
            )?;
            let (holds, shortfall) = (claim.holds(), claim.shortfall());
            let status = match solution.status {
                _ if holds => Status::Converged,
                Status::Converged => Status::IterationLimit,
                status => status,
            };
            from.clone_from(&solution.parameters);
            if self
                .best
                .as_ref()
                .is_none_or(|best| shortfall < best.claim.shortfall())
            {
                self.best = Some(Solved {
                    parameters: solution.parameters,
                    claim,
                    status,
                    passes: self.passes,
                    chosen: Some(Chosen {
                        name: control.solver(),
                        why: self.plan.why.clone(),
                        tried: self.tried.clone(),
                    }),
                    gram: solution.gram,
                });
            }
            let ended = holds
                || matches!(status, Status::Stopped | Status::TimeLimit | Status::Diverging)
                || control.out_of_budget().is_some();
            if ended {
                return Ok(Some(status));
            }
            // Only the solver's own estimate has converged. A smaller tolerance is tried as long as it helps.
            // Heuristic: it helps if it halves the shortfall; not measured yet.
            let no_nearer = solution.iterations > 0 && shortfall > 0.5 * last;
            if solution.status != Status::Converged || no_nearer || control.tolerance.relative < LEAST_TOL {
                return Ok(None);
            }
            last = shortfall;
            control.tolerance = control.tolerance.times(TIGHTER);
        }
    }

    /// One run of one solver. Free intercepts are then set to their optimum for the solver's weights.
    fn attempt(
        &mut self,
        solver: &dyn Solver,
        source: &mut Source<'_>,
        from: &[f64],
        control: &mut Control<'_>,
    ) -> Result<Solution> {
        control.enter(solver.name());
        let before = control.passes();
        let mut objective = source.objective(*self.problem, self.total_weight);
        let mut solution = solver.solve(&mut objective, from, control)?;
        let optimal = match solver.name() {
            // At a vertex of the linear programme the intercept is already optimal; centring it would leave the vertex.
            SolverName::FrischNewton => true,
            // The last Newton step determines the intercept as accurately as the weights, and the certificate corrects
            // the rest. The intercepts of softmax still need centring.
            SolverName::Newton => {
                self.problem.loss() != LossName::Softmax && solution.status == Status::Converged
            }
            _ => false,
        };
        if self.problem.is_convex() && !optimal {
            intercept_polish::polish(&mut objective, &mut solution.parameters)?;
        }
        self.passes += objective.sums.passes() + control.passes() - before;
        Ok(solution)
    }

    fn best_point(&self) -> Vec<f64> {
        let best = self.best.as_ref();
        best.map_or_else(Vec::new, |best| best.parameters.clone())
    }

    /// The best point, with the status of the search.
    fn finish(self, status: Status, control: &mut Control<'_>) -> Result<Solved> {
        control.tolerance = self.tolerance;
        let mut solved = self
            .best
            .ok_or_else(|| Error::settings("no solver fits this problem"))?;
        solved.passes = self.passes;
        if !solved.claim.holds() {
            solved.status = status;
        }
        Ok(solved)
    }
}
