//! A start from the optimum of a sample: with many rows and few parameters, Newton's method covers most of
//! the way to the optimum on a small sample, at a fraction of a pass per step.
//!
//! The optimum of m of n rows differs from that of all rows by the sampling error of d parameters. The
//! objective of all rows at it is about d·n/(2m) above its minimum, whereas at 0 it is of the order of n
//! above. All rows with an entry in a rare column are in the sample. Otherwise the column's weight would
//! diverge or stay at 0, and correcting it would take steps on all rows.

use crate::plan::SolverOptions;
use crate::{Control, Newton, Solver};
use wstar_data::error::Result;
use wstar_data::run::Unwatched;
use wstar_problem::loss::LossName;
use wstar_problem::objective::{Objective, Rows, Validation};
use wstar_problem::problem::Problem;
use wstar_problem::subsample::{Sample, column_counts};

/// The samples in order: the inverse of the sampling fraction, and the rows that all columns together may
/// add, as a multiple of the sample's size. Heuristic: cost of a sample against the distance of its optimum;
/// not measured yet.
const SAMPLES: [(usize, f64); 2] = [(100, 1.0), (20, 2.0)];
/// The least rows of a sample. Heuristic: sampling error against the cost of the sample; not measured yet.
const LEAST_ROWS: usize = 1000;
/// The least rows of a sample for each parameter. Heuristic: as [`LEAST_ROWS`]; not measured yet.
const LEAST_ROWS_EACH: usize = 20;
/// The relative gap to which a sample is solved. Heuristic: a smaller gap is lost in the sampling error; not
/// measured yet.
const SAMPLE_TOL: f64 = 1e-3;

/// A start for Newton's method, and the passes that it took; `None` if a sample is not worth its cost or may
/// have no optimum.
pub fn start(
    rows: &Rows<'_>,
    validation: Validation,
    problem: &Problem,
    options: &SolverOptions,
    control: &Control<'_>,
) -> Result<Option<(Vec<f64>, u64)>> {
    let layout = problem.layout();
    let smooth = problem.is_convex() && problem.loss().is_smooth() && problem.loss() != LossName::Squared;
    let least = LEAST_ROWS.max(LEAST_ROWS_EACH * layout.len());
    // Without a penalty a sample may have no optimum. An iteration limit of the user counts iterations on all
    // rows.
    if !smooth || problem.penalty().l2 == 0.0 || options.max_iterations.is_some() {
        return Ok(None);
    }
    let (mut at, mut read, mut counts) = (None, 0.0, None);
    for (one_in, more) in SAMPLES
        .into_iter()
        .filter(|(one_in, _)| rows.len() / one_in >= least)
    {
        let share = 1.0 / one_in as f64;
        let each = more * share * rows.len() as f64 / layout.features.max(1) as f64;
        let counts = counts.get_or_insert_with(|| column_counts(rows.design));
        let sample = Sample::of_columns(rows, counts, share, each, options.seed);
        let fraction = sample.rows().design.stored() as f64 / rows.design.stored().max(1) as f64;
        let mut unwatched = Unwatched;
        let mut control = control.auxiliary(control.tolerance.of(SAMPLE_TOL), &mut unwatched);
        let from = at.unwrap_or_else(|| vec![0.0; layout.len()]);
        let mut objective = Objective::in_memory(*problem, sample.rows(), validation);
        let solution = Newton::default().solve(&mut objective, &from, &mut control)?;
        read += objective.sums.passes() as f64 * fraction;
        at = Some(solution.parameters);
    }
    Ok(at.map(|at| (at, read.ceil() as u64)))
}
