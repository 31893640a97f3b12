//! The plan of a fit: which solvers run, in which order, from which start, and why.
//!
//! The plan is made once, from the problem, the shape of the rows and the options of the user. The first
//! solver is expected to reach the tolerance; each of the others takes over if the one before it stalls.

use crate::learning_rate::Schedule;
use crate::reason::Reason;
use crate::{
    Bfgs, ClosedForm, CoordinateDescent, DualCoordinateDescent, Firth, FrischNewton, GradientDescent,
    InteriorPoint, Lbfgs, Newton, NewtonCg, NormalEquations, OrthantNewton, Qr, Sgd, SharedColumns, Solver,
    SolverName, Svd,
};
use wstar_data::Design;
use wstar_data::setting::Setting;
use wstar_problem::loss::LossName;
use wstar_problem::objective::Validation;
use wstar_problem::problem::Problem;

/// The user's options for the solvers of a fit.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SolverOptions {
    /// The only solver that may run, if one was chosen.
    pub solver: Option<SolverName>,
    /// The rows in a stochastic gradient.
    pub batch: Option<usize>,
    /// The passes of a stochastic solver over the rows.
    pub epochs: Option<f64>,
    /// The learning rate of the first step.
    pub learning_rate: Option<f64>,
    /// How the learning rate changes.
    pub schedule: Option<Schedule>,
    /// The share of the last step that is added to the next.
    pub momentum: Option<f64>,
    /// The limit on iterations over all rows.
    pub max_iterations: Option<u64>,
    /// The seed of all random numbers.
    pub seed: u64,
}

/// The solvers of a fit, and why they were chosen.
pub struct Plan {
    /// The solvers, in the order in which they are tried.
    pub solvers: Vec<Box<dyn Solver>>,
    /// Why these solvers were chosen.
    pub why: Reason,
    /// Whether the fit may start from the optimum of a subsample.
    pub subsample: bool,
    /// Whether the first pass of the first solver also validates the rows.
    pub validation: Validation,
}

/// The parameters up to which the Hessian is formed and factored by default. Heuristic: a factorisation of
/// O(d³) against passes over the rows; not measured yet.
const DEFAULT_FACTOR_PARAMETERS: usize = 2000;
/// The multiplications up to which the Hessian is formed by default. Heuristic: one Hessian against many
/// products with it; not measured yet.
const DEFAULT_HESSIAN_WORK: f64 = 1e10;
/// Stored entries from which the normal equations are tried before QR. Heuristic: half the work against fewer
/// correct digits; not measured yet.
const MANY_ENTRIES: usize = 1 << 23;
/// Multiplications of a Cholesky factorisation per stored entry above which conjugate gradients are tried
/// first on sparse rows. Derived: multiplications in a factorisation run about 40 times as fast as those in a
/// pass over sparse rows, and the time of a few factorisations allows some 25 passes.
const FACTOR_WORK: f64 = 50.0;
/// The least pass limit of the conjugate gradients that run before Newton's method: they get
/// max([`LEAST_CG_PASSES`], work / [`FACTOR_WORK_PER_PASS`]) passes. Cap: beyond the limit Newton's method
/// factors the Hessian.
const LEAST_CG_PASSES: u64 = 60;
/// Multiplications of a factorisation per stored entry that are worth one pass of conjugate gradients.
/// Heuristic: passes against one factorisation; not measured yet.
const FACTOR_WORK_PER_PASS: f64 = 10.0;
/// The parameters up to which a matrix of their square is factored as a last resort, and by the interior
/// point method at all. Cap: beyond it only solvers without such a matrix run.
const MOST_FACTOR_PARAMETERS: usize = 4000;

impl Plan {
    /// The plan for a problem over rows of this shape; `design` is `None` for streamed rows.
    pub fn new(
        problem: &Problem,
        design: Option<&Design>,
        options: &SolverOptions,
        columns: &SharedColumns,
    ) -> Self {
        let solver = |name| solver(name, options, columns);
        let only = |solver, why| Plan {
            solvers: vec![solver],
            why,
            subsample: false,
            validation: Validation::Done,
        };
        if let Some(name) = options.solver {
            return only(solver(name), Reason::AskedFor);
        }
        // An option that only one solver has selects that solver.
        let only_of = [
            (options.batch.is_some(), Setting::Batch, SolverName::Sgd),
            (options.epochs.is_some(), Setting::Epochs, SolverName::Sgd),
            (
                options.learning_rate.is_some(),
                Setting::LearningRate,
                SolverName::GradientDescent,
            ),
            (
                options.momentum.is_some(),
                Setting::Momentum,
                SolverName::GradientDescent,
            ),
            (
                options.schedule.is_some(),
                Setting::Schedule,
                SolverName::GradientDescent,
            ),
        ];
        if let Some((_, setting, name)) = only_of.into_iter().find(|(given, ..)| *given) {
            return only(solver(name), Reason::Given(setting));
        }
        if problem.is_firth() {
            return only(solver(SolverName::FirthNewton), Reason::Firth);
        }
        let (names, mut why) = by_shape(problem, design);
        let first = names.first().copied();
        let mut solvers: Vec<_> = names.into_iter().map(solver).collect();
        let many = design.is_some_and(|design| design.stored() >= MANY_ENTRIES);
        let work = design.and_then(|design| factor_work(problem, design));
        if let (Some(work), Some(SolverName::Newton)) = (work, first) {
            let quick = NewtonCg {
                max_passes: LEAST_CG_PASSES.max((work / FACTOR_WORK_PER_PASS) as u64),
                ..NewtonCg::default()
            };
            solvers.insert(0, Box::new(quick));
            why = Reason::FewEntries;
        } else if first == Some(SolverName::Qr) && many {
            // QR is more accurate and takes twice the work.
            solvers.insert(0, Box::new(NormalEquations::WELL_CONDITIONED));
        }
        // `InMemory` validates rows in a pass over dense rows, which must be the first thing that the solver
        // does. Without a penalty, the existence of an optimum is decided before any solver runs.
        let passes_first = match first {
            Some(SolverName::Newton) => true,
            Some(SolverName::Qr) => many,
            _ => false,
        };
        let dense = matches!(design, Some(Design::Dense64(_) | Design::Dense32(_)));
        let exists = !problem.penalty().is_none() || problem.loss() == LossName::Squared;
        let validates = dense && exists && passes_first && problem.layout().outputs == 1;
        Plan {
            subsample: solvers
                .first()
                .is_some_and(|first| first.name() == SolverName::Newton),
            solvers,
            why,
            validation: if validates {
                Validation::FirstPass
            } else {
                Validation::Done
            },
        }
    }
}

/// The multiplications that form the Hessian: one for each pair of entries of a row and each pair of outputs.
fn hessian_work(problem: &Problem, design: &Design) -> f64 {
    let (stored, outputs) = (design.stored() as f64, problem.layout().outputs as f64);
    stored * stored / (design.rows().max(1) as f64) * outputs * (outputs + 1.0) / 2.0
}

/// The multiplications of a Cholesky factorisation per stored entry of the rows; `None` where factoring is
/// the better choice.
fn factor_work(problem: &Problem, design: &Design) -> Option<f64> {
    let parameters = problem.layout().len() as f64;
    let work = parameters.powi(3) / 3.0 / design.stored().max(1) as f64;
    // Conjugate gradients converge fast only if the columns are far from dependent. Dense columns rarely are,
    // and without an ℓ2 penalty nothing bounds the condition number.
    let suits = design.is_sparse() && problem.layout().outputs == 1 && problem.penalty().l2 > 0.0;
    (suits && problem.is_convex() && problem.loss() != LossName::Squared && work > FACTOR_WORK)
        .then_some(work)
}

/// The solvers for a loss, a penalty and the shape of the rows, with the reason.
fn by_shape(problem: &Problem, design: Option<&Design>) -> (Vec<SolverName>, Reason) {
    use SolverName as S;
    let parameters = problem.layout().len();
    let in_memory = design.is_some();
    let little_work = design.is_none_or(|design| hessian_work(problem, design) <= DEFAULT_HESSIAN_WORK);
    let (cheap_hessian, factorable) = (
        parameters <= DEFAULT_FACTOR_PARAMETERS && little_work,
        parameters <= MOST_FACTOR_PARAMETERS,
    );
    if problem.loss().is_absolute() && problem.penalty().is_none() && factorable {
        let names = vec![S::FrischNewton, S::InteriorPoint];
        return (names, Reason::LinearProgramme);
    }
    if !problem.loss().is_smooth() {
        // The interior point method factors a d×d matrix, however few the rows are.
        if factorable && design.is_some_and(|design| design.rows() < parameters) {
            return (
                vec![
                    S::DualCoordinateDescent,
                    S::InteriorPoint,
                    S::ExtendedInteriorPoint,
                ],
                Reason::KinkMoreFeaturesThanRows,
            );
        }
        return if factorable {
            (
                vec![
                    S::InteriorPoint,
                    S::DualCoordinateDescent,
                    S::ExtendedInteriorPoint,
                ],
                Reason::Kink,
            )
        } else {
            (vec![S::DualCoordinateDescent], Reason::KinkManyFeatures)
        };
    }
    if !problem.penalty().is_smooth() {
        return match problem.loss() {
            _ if !in_memory => (vec![S::OrthantNewton], Reason::L1Streamed),
            LossName::Softmax if cheap_hessian => (
                vec![S::OrthantNewton, S::InteriorPoint, S::CoordinateDescent],
                Reason::L1SeveralScoresFewFeatures,
            ),
            LossName::Softmax => (
                vec![S::OrthantNewton, S::CoordinateDescent],
                Reason::L1SeveralScores,
            ),
            // Solvers that cannot take the loss are skipped.
            _ if cheap_hessian => (
                vec![
                    S::CoordinateDescent,
                    S::InteriorPoint,
                    S::ExtendedInteriorPoint,
                    S::OrthantNewton,
                ],
                Reason::L1,
            ),
            _ => (vec![S::CoordinateDescent, S::OrthantNewton], Reason::L1),
        };
    }
    if problem.loss() == LossName::Squared && factorable && in_memory && problem.penalty().is_none() {
        return (vec![S::Qr, S::Svd, S::Newton], Reason::LeastSquaresFewFeatures);
    }
    if cheap_hessian && problem.loss() == LossName::Squared && in_memory {
        let names = vec![S::Newton, S::NormalEquations, S::Qr, S::Svd, S::NewtonCg];
        return (names, Reason::FewFeatures);
    }
    if cheap_hessian {
        let mut names = vec![S::Newton];
        if matches!(problem.loss(), LossName::SquaredHinge | LossName::ModifiedHuber) {
            names.extend([S::InteriorPoint, S::ExtendedInteriorPoint]);
        }
        names.extend([S::NewtonCg, S::Lbfgs]);
        return (names, Reason::FewFeatures);
    }
    if problem.loss() == LossName::Softmax {
        return (vec![S::Lbfgs, S::NewtonCg], Reason::ManyWeights);
    }
    let mut names = vec![S::NewtonCg, S::Lbfgs];
    if factorable {
        names.push(S::Newton);
    }
    (names, Reason::ManyFeatures)
}

/// The solver of this name, with the options that concern it.
fn solver(name: SolverName, options: &SolverOptions, columns: &SharedColumns) -> Box<dyn Solver> {
    match name {
        SolverName::GradientDescent => Box::new(GradientDescent {
            learning_rate: options.learning_rate,
            schedule: options.schedule.unwrap_or_default(),
            momentum: options.momentum.unwrap_or(0.0),
            ..GradientDescent::default()
        }),
        SolverName::Sgd => {
            let defaults = Sgd::default();
            Box::new(Sgd {
                learning_rate: options.learning_rate,
                schedule: options.schedule,
                momentum: options.momentum.unwrap_or(0.0),
                batch: options.batch.unwrap_or(defaults.batch),
                seed: options.seed,
                epochs: options
                    .epochs
                    .map_or(defaults.epochs, |epochs| epochs.ceil() as u64),
                ..defaults
            })
        }
        SolverName::Newton => Box::new(Newton::default()),
        SolverName::NewtonCg => Box::new(NewtonCg::default()),
        SolverName::Bfgs => Box::new(Bfgs::default()),
        SolverName::Lbfgs => Box::new(Lbfgs::default()),
        SolverName::CoordinateDescent => Box::new(CoordinateDescent {
            shared: Some(columns.clone()),
            ..CoordinateDescent::default()
        }),
        SolverName::OrthantNewton => Box::new(OrthantNewton::default()),
        SolverName::InteriorPoint => Box::new(InteriorPoint::default()),
        SolverName::FrischNewton => Box::new(FrischNewton {
            seed: options.seed,
            ..FrischNewton::default()
        }),
        SolverName::ExtendedInteriorPoint => Box::new(InteriorPoint::extended()),
        SolverName::NormalEquations => Box::new(NormalEquations::ANY),
        SolverName::Qr => Box::new(Qr),
        SolverName::Svd => Box::new(Svd),
        SolverName::ClosedForm => Box::new(ClosedForm),
        SolverName::FirthNewton => Box::new(Firth),
        SolverName::DualCoordinateDescent => Box::new(DualCoordinateDescent {
            seed: options.seed,
            ..DualCoordinateDescent::default()
        }),
    }
}
