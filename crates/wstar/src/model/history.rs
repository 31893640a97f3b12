//! The history of a fit: objective and gap at no more than a few hundred iterations.

use serde::{Deserialize, Serialize};

use wstar_data::error::{Error, Result};
use wstar_data::run::Iteration;

/// The maximum number of points. Cap: beyond it every second point is dropped.
const MOST: usize = 256;

/// The objective and its gap along the iterations of a fit. Long histories are thinned evenly.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct History {
    /// The iteration number, from 1, counted over all solvers of the fit.
    pub(crate) iterations: Vec<u64>,
    /// Passes over the data so far. The count restarts with each subproblem of a fit.
    pub(crate) passes: Vec<u64>,
    /// The objective.
    pub(crate) objectives: Vec<f64>,
    /// The solver's own estimate of the relative gap, if it had one. The certificate does not use it.
    pub(crate) gaps: Vec<Option<f64>>,
}

impl History {
    /// The iteration number, from 1, counted over all solvers of the fit.
    pub fn iterations(&self) -> &[u64] {
        &self.iterations
    }

    /// Passes over the data so far. The count restarts with each subproblem of a fit.
    pub fn passes(&self) -> &[u64] {
        &self.passes
    }

    /// The objective.
    pub fn objectives(&self) -> &[f64] {
        &self.objectives
    }

    /// The solver's own estimate of the relative gap, if it had one. The certificate does not use it.
    pub fn gaps(&self) -> &[Option<f64>] {
        &self.gaps
    }

    /// The number of points.
    pub fn len(&self) -> usize {
        self.iterations.len()
    }

    /// Whether there are no points.
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

    /// Whether the history holds the maximum number of points.
    pub(crate) fn is_full(&self) -> bool {
        self.len() >= MOST
    }

    /// Keeps every second point, starting with the first.
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

    /// Rejects an inconsistent history, such as one from a damaged file.
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
