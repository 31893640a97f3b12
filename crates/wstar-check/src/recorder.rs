//! Keeps the dual points of attempts, for tests only.

use std::cell::RefCell;

use crate::bound::Gap;
use crate::problem::Subproblem;

/// The dual point of one attempt: a of the rows with a weight, k of all rows, and the gap.
#[derive(Clone)]
pub(crate) struct DualPoint {
    pub(crate) a: Vec<f64>,
    pub(crate) slacks: Vec<f64>,
    pub(crate) gap: Gap,
}

thread_local! {
    static RECORDED: RefCell<Vec<DualPoint>> = const { RefCell::new(Vec::new()) };
}

/// Keeps the dual point of an attempt for comparison with exact arithmetic: a and k of the rows with a weight.
pub(crate) fn record(sub: &Subproblem<'_>, (a, k): (Vec<f64>, Vec<f64>), gap: &Gap) {
    let mut slacks = vec![0.0; sub.design.rows()];
    sub.rows().zip(k).for_each(|(i, k)| slacks[i] = k);
    let gap = gap.clone();
    RECORDED.with_borrow_mut(|all| all.push(DualPoint { a, slacks, gap }));
}

/// Takes all recorded dual points.
pub(crate) fn recorded() -> Vec<DualPoint> {
    RECORDED.take()
}
