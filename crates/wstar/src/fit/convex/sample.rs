//! A start from a sample: where rows are many and parameters few, most of the way to the optimum is gone on a few
//! of the rows, for a fraction of a pass a step.
//!
//! The optimum of m of n rows is off by what chance does to d parameters: the objective of all rows is then about
//! d·n/(2m) above its least, where at 0 it is some n above. Rows with an entry in a rare column are all taken: otherwise
//! its weight would run far away, or nowhere, and steps on all rows would be needed to bring it back.

use crate::certify::duality::Definition;
use crate::error::Result;
use crate::fit::convex::part::Feed;
use crate::loss::LossName;
use crate::oracle::{Rows, Sample, column_counts};
use crate::settings::Settings;
use crate::solve::{Control, Newton, Solver};
use crate::watch::Unwatched;

/// One row in so many, one sample after another, and how many times as many rows all columns together may add to that.
const SAMPLES: [(usize, f64); 2] = [(100, 1.0), (20, 2.0)];
/// Rows that a sample has at least, and for each parameter.
const LEAST_ROWS: usize = 1000;
const LEAST_ROWS_EACH: usize = 20;
/// The relative gap that a sample's solution may have.
const TOL: f64 = 1e-3;

/// A start for Newton's method, and how many passes it took. Numbers of `unseen` rows are looked at before they count.
pub(super) fn start(
    rows: &Rows<'_>,
    unseen: bool,
    definition: &Definition,
    settings: &Settings,
    control: &Control<'_>,
) -> Result<Option<(Vec<f64>, u64)>> {
    let layout = definition.layout;
    let smooth =
        definition.is_convex() && definition.loss.is_smooth() && definition.loss != LossName::Squared;
    let least = LEAST_ROWS.max(LEAST_ROWS_EACH * layout.len());
    // Without a penalty a sample may have no optimum; and iterations that were asked for are those on all rows.
    if !smooth || definition.penalty.l2 == 0.0 || settings.max_iter.is_some() {
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
        let sample = Sample::of_columns(rows, counts, share, each, settings.seed);
        let part = sample.rows().design.stored() as f64 / rows.design.stored().max(1) as f64;
        let mut unwatched = Unwatched;
        let mut control = control.aside(TOL, &mut unwatched);
        let from = at.unwrap_or_else(|| vec![0.0; layout.len()]);
        at = Some(
            Feed::Memory(sample.rows(), None, unseen).run(definition, |problem| {
                let solution = Newton::default().solve(problem, &from, &mut control)?;
                read += problem.oracle.passes() as f64 * part;
                Ok(solution.parameters)
            })?,
        );
    }
    Ok(at.map(|at| (at, read.ceil() as u64)))
}
