//! The rows that are summed at a time, with all that their sums depend on.

use crate::duality::constraints::Care;
use wstar_problem::objective::Rows;
use wstar_problem::problem::Problem;

/// A block of rows with the problem, the point and the stored multipliers of these rows.
pub(super) struct Span<'a> {
    pub(super) rows: &'a Rows<'a>,
    pub(super) problem: &'a Problem,
    pub(super) parameters: &'a [f64],
    pub(super) stored: &'a [(u64, f64)],
    pub(super) first_row: u64,
    pub(super) care: Care,
}
