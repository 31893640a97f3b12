//! A random problem with a point near its optimum.

use crate::design::Design;
use crate::gap::{Hints, Subproblem};
use crate::problem::Problem;

/// What makes the columns difficult.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Columns {
    Plain,
    Scaled,
    Large,
    Offset,
    Duplicates,
    Extreme,
    Sparse,
    NearSeparable,
}

pub(super) const COLUMNS: [Columns; 8] = [
    Columns::Plain,
    Columns::Scaled,
    Columns::Large,
    Columns::Offset,
    Columns::Duplicates,
    Columns::Extreme,
    Columns::Sparse,
    Columns::NearSeparable,
];

/// A problem with its rows, and a point near the optimum with hints.
pub(super) struct Case {
    pub(super) problem: Problem,
    pub(super) design: Design,
    pub(super) targets: Vec<f64>,
    pub(super) weights: Vec<f64>,
    pub(super) point: Vec<f64>,
    pub(super) hints: Hints,
    pub(super) columns: Columns,
}

impl Case {
    pub(super) fn subproblem(&self) -> Subproblem<'_> {
        Subproblem {
            problem: self.problem.clone(),
            design: &self.design,
            targets: &self.targets,
            weights: &self.weights,
        }
    }
}
