//! Digits of the optimum of every subproblem: `wstar_certify::enclosure` for the rows and the settings of a model.

use std::borrow::Cow;

use wstar_certify::enclosure::{self, Enclosure, RowWeights};
use wstar_data::Dataset;
use wstar_data::error::Result;
use wstar_problem::Intercept;
use wstar_problem::multiclass::{Subproblem, Subproblems};
use wstar_problem::objective::{Rows, Weights};

/// The most operations of an enclosure that nobody asked for. Measured: two cores do 4 to 12 a nanosecond (10,000 × 2 and 20,000 × 200),
/// so this is 2 to 5 ms. The count depends only on the sizes, so that the same data give the same file on every machine.
const MOST_UNASKED: f64 = 2e7;

/// Whether an enclosure is computed, if it is possible at all.
pub(crate) fn is_wanted(data: &Dataset, reduction: &Subproblems, asked: bool) -> Result<bool> {
    // Scaled columns have other coefficients than the raw ones that a model shows.
    if !enclosure::is_possible(reduction.problem()) || data.schema().scaling.is_some() {
        return Ok(false);
    }
    let mut operations = 0.0;
    for &part in reduction.parts() {
        operations += enclosure::operations(&reduction.rows(part, data)?, reduction.problem());
    }
    Ok(asked || operations <= MOST_UNASKED)
}

/// Encloses the optimum of one subproblem near a point.
pub(crate) fn enclose_part(
    data: &Dataset,
    reduction: &Subproblems,
    part: Subproblem,
    parameters: &[f64],
) -> Result<Option<Enclosure>> {
    let rows = reduction.rows(part, data)?;
    let weights = meaning(data, reduction, &rows);
    Ok(enclosure::enclose(
        &rows,
        reduction.problem(),
        parameters,
        weights,
    ))
}

/// Standard errors are about the rows, so C and class weights must not be in the weights.
fn meaning(data: &Dataset, reduction: &Subproblems, rows: &Rows<'_>) -> RowWeights {
    let sample = match data.weights() {
        Some(weights) => Weights::Each(Cow::Borrowed(weights)),
        None => Weights::Same(1.0),
    };
    let is_about_rows = reduction.parts().len() == 1
        && !reduction.has_class_weights()
        && reduction.problem().intercept() != Intercept::Penalized
        && rows.weights == sample;
    match is_about_rows {
        true => RowWeights::Frequencies,
        false => RowWeights::Factors,
    }
}
