//! Keeps the dual points of attempts, for tests only.

use std::cell::RefCell;

use crate::bound::Gap;

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

/// Keeps the dual point of an attempt for comparison with exact arithmetic.
pub(crate) fn record(a: Vec<f64>, slacks: &[f64], gap: &Gap) {
    let point = DualPoint {
        a,
        slacks: slacks.to_vec(),
        gap: gap.clone(),
    };
    RECORDED.with_borrow_mut(|all| all.push(point));
}

/// Takes all recorded dual points.
pub(crate) fn recorded() -> Vec<DualPoint> {
    RECORDED.take()
}
