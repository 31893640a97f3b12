//! Online, mistake-driven learners: they process one example at a time, and update only on examples that require it.
//!
//! [`run`] drives any [`Learner`] over any [`Examples`], in memory or streamed. With more than two
//! classes, several learners run side by side, one for each class against the rest.
//!
//! - `perceptron`, `averaged_perceptron`, `voted_perceptron`, `pocket`: the perceptron and its variants.
//! - `kozinec`: Kozinec's algorithm for the maximum margin.
//! - `examples`: sources of the examples of a pass.
//! - `passes`, `worst_classified`: runs of learners over passes, or by the worst-classified rule.

mod averaged_perceptron;
mod examples;
mod kozinec;
pub(crate) mod passes;
mod perceptron;
mod pocket;
mod voted_perceptron;
mod worst_classified;

pub use averaged_perceptron::Averaged;
pub use examples::{Example, Examples, InMemory, Order};
pub use kozinec::{Hulls, Kozinec, KozinecRule};
pub(crate) use passes::argmax;
pub use passes::{PassLimits, Passes, Run, run};
pub use perceptron::{Perceptron, PerceptronRule, Ties};
pub use pocket::Pocket;
pub use voted_perceptron::{Committee, Member, Voters, Voting};
pub use worst_classified::run_worst;
pub use wstar_data::read::dataset_stream::DatasetStream;

use wstar_data::Row;
use wstar_data::linear::Hyperplane;

/// The result of processing one example.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen {
    /// The score before the update.
    pub(crate) score: f64,
    /// Whether the example was misclassified.
    pub(crate) wrong: bool,
    /// The update that was made.
    pub(crate) change: Change,
}

/// The update that one example caused.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Change {
    /// No update.
    None,
    /// This multiple of the example was added to the hyperplane.
    Add(f64),
    /// The hyperplane was replaced by another one.
    Replace,
}

/// An online learner of one hyperplane.
pub trait Learner {
    /// Processes example `id` with label `y = ±1` and a positive weight, and updates the hyperplane if needed.
    fn see(&mut self, id: u64, x: Row<'_>, y: f64, weight: f64) -> Seen;

    /// Whether an example with this score and label counts as a mistake.
    fn errs(&self, score: f64, y: f64) -> bool {
        y * score <= 0.0
    }

    /// The current hyperplane; up to date after [`settle`](Learner::settle).
    fn hyperplane(&self) -> &Hyperplane;

    /// Brings the hyperplane up to date, for learners that store a different representation during learning.
    fn settle(&mut self) {}

    /// Called after each pass.
    fn end_pass(&mut self) {}

    /// The current interval of the margin, for learners that bound it.
    fn interval(&self) -> Option<(f64, f64)> {
        None
    }
}

/// The label `±1` of a class for a discriminant. With two classes the last one is positive. With more classes,
/// discriminant `k` separates class `k` from the rest.
pub(crate) fn label(class: u32, discriminant: usize, discriminants: usize) -> f64 {
    let positive = if discriminants == 1 { 1 } else { discriminant };
    if class as usize == positive { 1.0 } else { -1.0 }
}
