//! Solves one problem: each solver of the plan goes on from the best point so far, until the certificate holds.

use crate::certify::duality::Definition;
use crate::certify::{DualityGap, Stationarity, stationarity};
use crate::data::Design;
use crate::error::{Error, Result};
use crate::fit::convex::choose::Plan;
use crate::fit::convex::existence::Direction;
use crate::fit::convex::{intercept, point, sample};
use crate::loss::LossName;
use crate::model::Chosen;
use crate::oracle::{Blocks, Local, Rows, Streamed};
use crate::problem::Problem;
use crate::reduction::PartBlocks;
use crate::settings::Settings;
use crate::solve::{Control, SharedColumns, Solution, Solver, SolverName};
use crate::watch::Status;

/// How much tighter a solver is asked to go when its own estimate was kinder than the certificate.
const TIGHTER: f64 = 1e-2;
/// No estimate of a relative gap means anything below this.
const LEAST_TOL: f64 = 1e-18;

/// Where the rows of a problem are.
pub(super) enum Feed<'a> {
    /// Rows, their design as solvers have it, if that is not the same, and whether nobody has looked yet for numbers that
    /// are too large or none.
    Memory(Rows<'a>, Option<&'a Design>, bool),
    Stream(PartBlocks<'a>),
}

impl Feed<'_> {
    /// Runs something on the problem that these rows make.
    pub(super) fn run<T>(
        &mut self,
        definition: &Definition,
        run: impl FnOnce(&mut Problem<'_>) -> Result<T>,
    ) -> Result<T> {
        let (loss, layout) = (definition.loss, definition.layout);
        let (penalty, intercept) = (definition.penalty, definition.intercept);
        match self {
            Feed::Memory(rows, design, unseen) => {
                let solved = || Rows {
                    design: design.unwrap_or(rows.design),
                    ..rows.borrowed()
                };
                let local = Local::new(solved(), loss, layout);
                run(&mut Problem {
                    loss,
                    penalty,
                    intercept,
                    oracle: Box::new(if *unseen { local.unseen() } else { local }),
                    rows: Some(solved()),
                })
            }
            Feed::Stream(blocks) => run(&mut Problem {
                loss,
                penalty,
                intercept,
                oracle: Box::new(Streamed::new(blocks, loss, layout)?),
                rows: None,
            }),
        }
    }

    fn certify(
        &mut self,
        definition: &Definition,
        parameters: &[f64],
        dual: Option<&[f64]>,
        tol: f64,
        reached: f64,
    ) -> Result<Claim> {
        if definition.is_convex() {
            return Ok(Claim::Gap(match self {
                // By the rows as they were given, whatever solvers have.
                Feed::Memory(rows, ..) => point::certify(rows, definition, parameters, dual, tol, reached)?,
                Feed::Stream(blocks) => point::certify_slopes(blocks, definition, parameters, tol)?,
            }));
        }
        let blocks: &mut dyn Blocks = match self {
            Feed::Memory(rows, ..) => rows,
            Feed::Stream(blocks) => blocks,
        };
        Ok(Claim::Slope(stationarity(blocks, definition, parameters, tol)?))
    }
}

/// One problem, solved.
pub(super) struct Solved {
    pub(super) parameters: Vec<f64>,
    pub(super) claim: Claim,
    pub(super) status: Status,
    pub(super) passes: u64,
    /// None where no solver ran.
    pub(super) chosen: Option<Chosen>,
    /// X̃ᵀCX̃, where the solver made it and found it well conditioned.
    pub(super) gram: Option<Vec<f64>>,
}

/// What is claimed of one problem.
pub(super) enum Claim {
    Gap(DualityGap),
    Slope(Stationarity),
}

impl Claim {
    fn holds(&self) -> bool {
        match self {
            Claim::Gap(gap) => gap.holds(),
            Claim::Slope(slope) => slope.holds(),
        }
    }

    /// The smaller the better.
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

/// A problem without an optimum: the direction along which its objective falls for ever, and what little that proves.
pub(super) fn unattained(
    rows: Rows<'_>,
    definition: &Definition,
    settings: &Settings,
    direction: &Direction,
) -> Result<Solved> {
    let parameters = direction.parameters.clone();
    let mut feed = Feed::Memory(rows, None, false);
    let claim = feed.certify(definition, &parameters, None, settings.tol(), f64::INFINITY)?;
    Ok(Solved {
        parameters,
        claim,
        status: Status::Diverging,
        passes: 1,
        chosen: None,
        gram: None,
    })
}

/// Solves and certifies.
pub(super) fn solve(
    feed: &mut Feed<'_>,
    definition: &Definition,
    settings: &Settings,
    start: Vec<f64>,
    columns: &SharedColumns,
    control: &mut Control<'_>,
) -> Result<Solved> {
    let plan = match feed {
        Feed::Memory(rows, ..) => Plan::new(definition, Some(rows), settings, columns),
        Feed::Stream(_) => Plan::new(definition, None, settings, columns),
    };
    let mut best: Option<Solved> = None;
    let mut tried: Vec<SolverName> = Vec::new();
    let mut passes = 0;
    let mut from = start;
    let chosen = plan.solvers.first().map(|solver| solver.name());
    if let Feed::Memory(rows, _, unseen) = feed
        && settings.solver.is_none()
        && chosen == Some(SolverName::Newton)
        && from.iter().all(|&w| w == 0.0)
        && let Some((start, read)) = sample::start(rows, *unseen, definition, settings, control)?
    {
        (from, passes) = (start, read);
    }
    for solver in &plan.solvers {
        // One that was asked for must fit; one that would only take over is passed by.
        let refused = feed.run(definition, |problem| Ok(solver.check(problem)))?;
        match refused {
            Err(error) if best.is_none() && tried.len() + 1 == plan.solvers.len() => return Err(error),
            Err(_) => {
                tried.push(solver.name());
                continue;
            }
            Ok(()) => {}
        }
        let mut tol = settings.tol();
        let mut last = f64::INFINITY;
        loop {
            control.tol = tol;
            let solution = attempt(feed, definition, solver.as_ref(), &from, control, &mut passes)?;
            if let Feed::Memory(_, _, unseen) = feed {
                // The solver's first question was answered, so they have been looked at.
                *unseen = false;
            }
            control.certifying();
            let claim = feed.certify(
                definition,
                &solution.parameters,
                solution.dual.as_deref(),
                settings.tol(),
                control.reached(),
            )?;
            let (holds, shortfall) = (claim.holds(), claim.shortfall());
            let status = match solution.status {
                _ if holds => Status::Converged,
                Status::Converged => Status::IterationLimit,
                status => status,
            };
            from.clone_from(&solution.parameters);
            if best
                .as_ref()
                .is_none_or(|best| shortfall < best.claim.shortfall())
            {
                best = Some(Solved {
                    parameters: solution.parameters,
                    claim,
                    status,
                    passes,
                    chosen: Some(Chosen {
                        name: solver.name(),
                        why: plan.why.clone(),
                        tried: tried.clone(),
                    }),
                    gram: solution.gram,
                });
            }
            let ended = holds
                || matches!(status, Status::Stopped | Status::TimeLimit | Status::Diverging)
                || control.out_of_budget().is_some();
            if ended {
                return finish(best, status, passes);
            }
            // The solver thinks it is done and is not: it is asked for more as long as that brings it nearer.
            let no_nearer = solution.iterations > 0 && shortfall > 0.5 * last;
            if solution.status != Status::Converged || no_nearer || tol < LEAST_TOL {
                break;
            }
            last = shortfall;
            tol *= TIGHTER;
        }
        tried.push(solver.name());
        if let Some(best) = &best {
            from.clone_from(&best.parameters);
        }
    }
    finish(best, Status::IterationLimit, passes)
}

/// One run of one solver, with free intercepts put where they are best for its weights.
fn attempt(
    feed: &mut Feed<'_>,
    definition: &Definition,
    solver: &dyn Solver,
    from: &[f64],
    control: &mut Control<'_>,
    passes: &mut u64,
) -> Result<Solution> {
    control.enter(solver.name());
    let before = control.passes();
    feed.run(definition, |problem| {
        let mut solution = solver.solve(problem, from, control)?;
        let as_it_is = match solver.name() {
            // At a vertex the intercept is best as it is, and moved to the middle of all that are, it is none.
            SolverName::FrischNewton => true,
            // A last step brings the intercept as near as the weights, and the certificate makes up for the rest. Those of
            // softmax are still to be centred.
            SolverName::Newton => {
                definition.loss != LossName::Softmax && solution.status == Status::Converged
            }
            _ => false,
        };
        if definition.is_convex() && !as_it_is {
            intercept::polish(problem, &mut solution.parameters)?;
        }
        *passes += problem.oracle.passes() + control.passes() - before;
        Ok(solution)
    })
}

/// The best point found, with how the search for it ended.
fn finish(best: Option<Solved>, status: Status, passes: u64) -> Result<Solved> {
    let mut solved = best.ok_or_else(|| Error::settings("no solver fits this problem"))?;
    solved.passes = passes;
    if !solved.claim.holds() {
        solved.status = status;
    }
    Ok(solved)
}
