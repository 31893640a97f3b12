//! The constraints of a dual point, and which of them are repaired.

use std::ops::Range;

use wstar_problem::loss::LossName;
use wstar_problem::problem::{Intercept, Problem};

/// Cap: with more parameters the subgradient conditions of a penalty, violated only by rounding, are not repaired.
const MOST_SUBGRADIENTS: usize = 1000;
/// Cap: with more constraints over all outputs the outputs of softmax are repaired one by one.
const MOST_JOINT: usize = 1200;

/// How accurately X̃ᵀα is summed, and which constraints are repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Care {
    /// Products are rounded; only equality constraints are repaired.
    Rounded,
    /// Products are exact, and Xᵀα is also repaired to be a subgradient of the penalty: where columns are large, the rounding
    /// of the scores changes Xⱼᵀα by more than the gap allows.
    Exact,
}

/// The parameters of an output without a penalty, each of which has an equality constraint.
pub(super) fn constrained(problem: &Problem) -> Range<usize> {
    let layout = problem.layout();
    if problem.penalty().is_none() {
        0..layout.width()
    } else if problem.intercept() == Intercept::Free && layout.intercept {
        layout.features..layout.width()
    } else {
        0..0
    }
}

/// Whether Xᵀα can be repaired to be a subgradient of the penalty.
pub(super) fn can_repair_subgradients(problem: &Problem) -> bool {
    let layout = problem.layout();
    let fits = match layout.outputs {
        1 => layout.width() <= MOST_SUBGRADIENTS,
        _ => layout.len() <= MOST_JOINT,
    };
    !problem.penalty().is_none() && fits
}

/// Whether the outputs of softmax are repaired together, for this many constraints of each.
pub(super) fn is_joint(problem: &Problem, constraints: usize) -> bool {
    problem.loss() == LossName::Softmax && constraints * problem.layout().outputs <= MOST_JOINT
}
