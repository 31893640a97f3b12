//! Chooses solvers by the shape of a problem: the first is expected to reach the tolerance, the others take over
//! should it stall.

use crate::certify::duality::Definition;
use crate::data::Design;
use crate::loss::LossName;
use crate::oracle::Rows;
use crate::settings::Settings;
use crate::solve::{
    Bfgs, ClosedForm, CoordinateDescent, DualCoordinateDescent, Firth, FrischNewton, GradientDescent,
    InteriorPoint, Lbfgs, Newton, NewtonCg, NormalEquations, OrthantNewton, Qr, Sgd, SharedColumns, Solver,
    SolverName, Svd,
};

/// Solvers in the order in which they are tried, and why.
pub(super) struct Plan {
    pub(super) solvers: Vec<Box<dyn Solver>>,
    pub(super) why: String,
}

/// The most parameters for which a Hessian is factored without a second thought.
const FEW: usize = 2000;
/// The most products for which it is made without one.
const LITTLE_WORK: f64 = 1e10;
/// Entries of which a least-squares fit takes long enough for the normal equations to be tried first.
const MANY_ENTRIES: usize = 1 << 23;
/// Products of a factor for each entry of sparse rows from which conjugate gradients are tried first: those of a factor
/// are some 40 times as fast as those of a pass, and what takes a few factors takes some 25 passes.
const FACTOR_WORK: f64 = 50.0;
/// The most passes that are tried then, and how many products of a factor for each entry allow for one more.
const PASSES: u64 = 60;
const WORTH_A_PASS: f64 = 10.0;
/// The most parameters for which it is factored if all else has failed.
const NOT_TOO_MANY: usize = 4000;

impl Plan {
    /// The solver that was asked for, or those that fit.
    pub(super) fn new(
        definition: &Definition,
        rows: Option<&Rows<'_>>,
        settings: &Settings,
        columns: &SharedColumns,
    ) -> Self {
        let solver = |name| solver(name, settings, columns);
        if let Some(name) = settings.solver {
            return Plan {
                solvers: vec![solver(name)],
                why: "asked for".into(),
            };
        }
        // Settings that only one solver has a use for choose it.
        let stochastic = settings.batch.is_some() || settings.epochs.is_some();
        let stepping =
            settings.learning_rate.is_some() || settings.momentum.is_some() || settings.schedule.is_some();
        if stochastic || stepping {
            let (name, why) = if stochastic {
                (SolverName::Sgd, "chosen: batch or epochs were given")
            } else {
                (SolverName::GradientDescent, "chosen: steps were given")
            };
            return Plan {
                solvers: vec![solver(name)],
                why: why.into(),
            };
        }
        if definition.firth {
            return Plan {
                solvers: vec![Box::new(Firth)],
                why: "Firth's correction".into(),
            };
        }
        let (names, why) = by_shape(definition, rows.map(|rows| rows.design));
        let mut solvers: Vec<_> = names.into_iter().map(solver).collect();
        if let Some(work) = rows.and_then(|rows| factor_work(definition, rows))
            && solvers
                .first()
                .is_some_and(|first| first.name() == SolverName::Newton)
        {
            let quick = NewtonCg {
                max_passes: PASSES.max((work / WORTH_A_PASS) as u64),
                ..NewtonCg::default()
            };
            return Plan {
                solvers: std::iter::once::<Box<dyn Solver>>(Box::new(quick))
                    .chain(solvers)
                    .collect(),
                why: "chosen: few entries for so many features".into(),
            };
        }
        // QR has more digits, and twice the work.
        if solvers
            .first()
            .is_some_and(|first| first.name() == SolverName::Qr)
            && rows.is_some_and(|rows| rows.design.stored() >= MANY_ENTRIES)
        {
            solvers.insert(0, Box::new(NormalEquations::WELL_CONDITIONED));
        }
        Plan {
            solvers,
            why: format!("chosen: {why}"),
        }
    }
}

/// How many products a Hessian takes: one for each pair of entries of a row and each pair of outputs.
fn hessian_work(definition: &Definition, design: &Design) -> f64 {
    let (stored, outputs) = (design.stored() as f64, definition.layout.outputs as f64);
    stored * stored / (design.rows().max(1) as f64) * outputs * (outputs + 1.0) / 2.0
}

/// Whether the first thing that a fit to this design does is one pass over all of it by an oracle, which can look for
/// numbers that are too large or none on its way.
pub(super) fn asks_first(definition: &Definition, design: &Design, settings: &Settings) -> bool {
    let by_rows = matches!(design, Design::Dense64(_) | Design::Dense32(_));
    // Without a penalty, whether there is an optimum at all is asked before.
    let exists = !definition.penalty.is_none() || definition.loss == LossName::Squared;
    let plain = settings.solver.is_none() && settings.batch.is_none() && settings.epochs.is_none();
    let (names, _) = by_shape(definition, Some(design));
    let asking = match names.first() {
        Some(SolverName::Newton) => true,
        Some(SolverName::Qr) => design.stored() >= MANY_ENTRIES,
        _ => false,
    };
    by_rows && exists && plain && asking && definition.layout.outputs == 1 && !definition.firth
}

/// How many products a factor of the Hessian takes for each entry of the rows, where these are so many that it is better
/// not made.
fn factor_work(definition: &Definition, rows: &Rows<'_>) -> Option<f64> {
    let parameters = definition.layout.len() as f64;
    let work = parameters.powi(3) / 3.0 / rows.design.stored().max(1) as f64;
    // Dense columns are rarely so far from dependent, and without a penalty nothing bounds how near they come.
    let suits = rows.design.is_sparse() && definition.layout.outputs == 1 && definition.penalty.l2 > 0.0;
    (suits && definition.is_convex() && definition.loss != LossName::Squared && work > FACTOR_WORK)
        .then_some(work)
}

fn by_shape(definition: &Definition, design: Option<&Design>) -> (Vec<SolverName>, &'static str) {
    use SolverName as S;
    let parameters = definition.layout.len();
    let in_memory = design.is_some();
    let little = design.is_none_or(|design| hessian_work(definition, design) <= LITTLE_WORK);
    let (few, not_too_many) = (parameters <= FEW && little, parameters <= NOT_TOO_MANY);
    if definition.loss.is_absolute() && definition.penalty.is_none() && not_too_many {
        let names = vec![S::FrischNewton, S::InteriorPoint];
        return (names, "a linear programme");
    }
    if !definition.loss.is_smooth() {
        // The interior point's matrix is as wide as the parameters, however few the rows.
        if not_too_many && design.is_some_and(|design| design.rows() < parameters) {
            return (
                vec![
                    S::DualCoordinateDescent,
                    S::InteriorPoint,
                    S::ExtendedInteriorPoint,
                ],
                "a loss with a kink, more features than rows",
            );
        }
        return if not_too_many {
            (
                vec![
                    S::InteriorPoint,
                    S::DualCoordinateDescent,
                    S::ExtendedInteriorPoint,
                ],
                "a loss with a kink",
            )
        } else {
            (
                vec![S::DualCoordinateDescent],
                "a loss with a kink, many features",
            )
        };
    }
    if !definition.penalty.is_smooth() {
        return match definition.loss {
            _ if !in_memory => (vec![S::OrthantNewton], "ℓ1, streamed"),
            LossName::Softmax if few => (
                vec![S::OrthantNewton, S::InteriorPoint, S::CoordinateDescent],
                "ℓ1, several scores a row, few features",
            ),
            LossName::Softmax => (
                vec![S::OrthantNewton, S::CoordinateDescent],
                "ℓ1, several scores a row",
            ),
            // Those that cannot take the loss are passed by.
            _ if few => (
                vec![
                    S::CoordinateDescent,
                    S::InteriorPoint,
                    S::ExtendedInteriorPoint,
                    S::OrthantNewton,
                ],
                "ℓ1",
            ),
            _ => (vec![S::CoordinateDescent, S::OrthantNewton], "ℓ1"),
        };
    }
    if definition.loss == LossName::Squared && not_too_many && in_memory && definition.penalty.is_none() {
        return (vec![S::Qr, S::Svd, S::Newton], "least squares, few features");
    }
    if few && definition.loss == LossName::Squared && in_memory {
        let names = vec![S::Newton, S::NormalEquations, S::Qr, S::Svd, S::NewtonCg];
        return (names, "few features");
    }
    if few {
        let mut names = vec![S::Newton];
        if matches!(definition.loss, LossName::SquaredHinge | LossName::ModifiedHuber) {
            names.extend([S::InteriorPoint, S::ExtendedInteriorPoint]);
        }
        names.extend([S::NewtonCg, S::Lbfgs]);
        return (names, "few features");
    }
    if definition.loss == LossName::Softmax {
        return (vec![S::Lbfgs, S::NewtonCg], "many weights");
    }
    let mut names = vec![S::NewtonCg, S::Lbfgs];
    if not_too_many {
        names.push(S::Newton);
    }
    (names, "many features")
}

/// A solver of this name, with the settings that concern it.
fn solver(name: SolverName, settings: &Settings, columns: &SharedColumns) -> Box<dyn Solver> {
    match name {
        SolverName::GradientDescent => Box::new(GradientDescent {
            learning_rate: settings.learning_rate,
            schedule: settings.schedule.unwrap_or_default(),
            momentum: settings.momentum.unwrap_or(0.0),
            ..GradientDescent::default()
        }),
        SolverName::Sgd => {
            let defaults = Sgd::default();
            Box::new(Sgd {
                learning_rate: settings.learning_rate,
                schedule: settings.schedule,
                momentum: settings.momentum.unwrap_or(0.0),
                batch: settings.batch.unwrap_or(defaults.batch),
                seed: settings.seed,
                epochs: settings
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
            seed: settings.seed,
            ..FrischNewton::default()
        }),
        SolverName::ExtendedInteriorPoint => Box::new(InteriorPoint::extended()),
        SolverName::NormalEquations => Box::new(NormalEquations::ANY),
        SolverName::Qr => Box::new(Qr),
        SolverName::Svd => Box::new(Svd),
        SolverName::ClosedForm => Box::new(ClosedForm),
        SolverName::DualCoordinateDescent => Box::new(DualCoordinateDescent {
            seed: settings.seed,
            ..DualCoordinateDescent::default()
        }),
    }
}
