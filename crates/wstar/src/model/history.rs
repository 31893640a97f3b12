//! How a solver came to its answer: a few hundred points of its way, however long that was.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::watch::Iteration;

/// The most points that are kept.
const MOST: usize = 256;

/// The objective and its gap along the iterations of a fit, thinned out evenly where they are many.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// The iteration, from 1, over all solvers of the fit.
    pub iterations: Vec<u64>,
    /// Passes over the data so far; they start again with each problem of a fit of several.
    pub passes: Vec<u64>,
    /// The objective.
    pub objectives: Vec<f64>,
    /// The solver's own estimate of the relative gap, where it had one. The certificate does not rest on it.
    pub gaps: Vec<Option<f64>>,
}

impl History {
    /// How many points are kept.
    pub fn len(&self) -> usize {
        self.iterations.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.iterations.is_empty()
    }

    /// Adds a point.
    pub(crate) fn push(&mut self, at: &Iteration<'_>) {
        self.iterations.push(at.iteration);
        self.passes.push(at.passes);
        self.objectives.push(at.objective);
        let known = at.relative_gap.is_finite().then_some(at.relative_gap.max(0.0));
        self.gaps.push(known);
    }

    /// Whether there is room for no more.
    pub(crate) fn is_full(&self) -> bool {
        self.len() >= MOST
    }

    /// Keeps the first of every two points.
    pub(crate) fn thin(&mut self) {
        fn halve<T>(values: &mut Vec<T>) {
            let mut at = 0;
            values.retain(|_| {
                at += 1;
                at % 2 == 1
            });
        }
        halve(&mut self.iterations);
        halve(&mut self.passes);
        halve(&mut self.objectives);
        halve(&mut self.gaps);
    }

    /// Refuses what a damaged file may hold.
    pub(crate) fn check(&self) -> Result<()> {
        let len = self.len();
        let whole = self.passes.len() == len && self.objectives.len() == len && self.gaps.len() == len;
        let finite = self.objectives.iter().all(|value| value.is_finite());
        match whole && finite {
            true => Ok(()),
            false => Err(Error::model("the history of the fit is damaged")),
        }
    }
}
