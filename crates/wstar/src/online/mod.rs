//! Learners driven by their mistakes, a row at a time: they look at an example, and move only if it tells them to.
//!
//! [`run`] drives any [`Learner`] over any [`Examples`], in memory or streamed; with more than two
//! classes a team of learners works side by side, one class against the rest each.

mod averaged;
mod committee;
mod examples;
mod kozinec;
mod perceptron;
mod pocket;
mod run;
mod streamed;
mod worst;

pub use averaged::Averaged;
pub use committee::{Committee, Member, Voters, Voting};
pub use examples::{Example, Examples, InMemory, Order};
pub use kozinec::{Hulls, Kozinec, KozinecRule};
pub use perceptron::{Perceptron, PerceptronRule, Ties};
pub use pocket::Pocket;
pub(crate) use run::argmax;
pub use run::{Passes, Plan, Run, run};
pub use streamed::Streamed;
pub use worst::run_worst;

use crate::data::Row;
use crate::model::Hyperplane;

/// What one look at an example led to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen {
    /// The score before any change.
    pub score: f64,
    /// Whether the example was classified wrongly.
    pub wrong: bool,
    /// What was done about it.
    pub change: Change,
}

/// How a look at an example changed the hyperplane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Change {
    /// Not at all.
    None,
    /// This multiple of the example was added.
    Add(f64),
    /// In some other way.
    Replace,
}

/// A learner of one hyperplane, driven by the examples that contradict it.
pub trait Learner {
    /// Looks at example `id` with label `y = ±1` and a positive weight, and learns from it if it must.
    fn see(&mut self, id: u64, x: Row<'_>, y: f64, weight: f64) -> Seen;

    /// Whether it takes an example with this score and label for a mistake.
    fn errs(&self, score: f64, y: f64) -> bool {
        y * score <= 0.0
    }

    /// The hyperplane it would predict with next; up to date after [`settle`](Learner::settle).
    fn hyperplane(&self) -> &Hyperplane;

    /// Brings the hyperplane up to date, for learners that keep something else while they learn.
    fn settle(&mut self) {}

    /// Called between passes.
    fn end_pass(&mut self) {}

    /// The margin interval known so far, for learners that narrow one.
    fn interval(&self) -> Option<(f64, f64)> {
        None
    }
}

/// The label `±1` of a class for a discriminant: with two classes the last is positive; with more,
/// discriminant `k` sets class `k` against the rest.
pub(crate) fn label(class: u32, discriminant: usize, discriminants: usize) -> f64 {
    let positive = if discriminants == 1 { 1 } else { discriminant };
    if class as usize == positive { 1.0 } else { -1.0 }
}

/// How many discriminants tell `classes` classes apart.
pub(crate) fn discriminants(classes: usize) -> usize {
    if classes <= 2 { 1 } else { classes }
}
