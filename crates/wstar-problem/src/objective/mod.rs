//! The objective: a [`Problem`] over rows.
//!
//! A solver asks for sums over the rows: Σᵢ cᵢ ℓ(yᵢ, zᵢ) and its derivatives at a point. The rows are in memory
//! ([`InMemory`]), partitioned ([`Partitioned`]) or in a file that is read again for every pass ([`StreamedSums`]). Sums are
//! merged in a fixed order, so that the same query has the same answer, bit for bit, for any number of threads.
//!
//! **The duality gap.** For any α the dual value is D(α) = −Σ cᵢ ℓ\*(yᵢ, −αᵢ/cᵢ) − R\*(Xᵀα). It is a lower bound on every
//! P(w, b), provided that Σα = 0 if there is a free intercept. At αᵢ = −cᵢ ℓ'(yᵢ, zᵢ) the Fenchel–Young inequality is an
//! equality for every row, so D depends only on the loss L and its gradient g at the point θ:
//! D(α) = L − θ·g − R\*(−g). A pure ℓ1 penalty requires |gⱼ| ≤ l1 for all j. Otherwise α is scaled by t < 1 so that tα is
//! feasible; ℓ\* is convex with ℓ\*(0) = 0, so D(tα) ≥ t·(L − θ·g).
//!
//! - `query`: what a solver asks for, and the answers.
//! - `sum_over_rows`: the trait of a source of such sums.
//! - `in_memory`, `partitioned`, `streamed`: sums over rows, by where the rows are.
//! - `column_subset`: sums over rows restricted to a few columns.
//! - `aggregated_rows`: duplicate rows as one row each.
//! - `cached_scores`: the scores of a point, cached between queries.
//! - `least_squares_at_zero`: value, gradient and Hessian of least squares at θ = 0.
//! - [`products`]: products with a block of rows.

mod aggregated_rows;
mod cached_scores;
mod column_subset;
mod in_memory;
mod least_squares_at_zero;
mod partitioned;
pub mod products;
mod query;
mod streamed;
mod sum_over_rows;

pub use crate::rows::{Blocks, Rows, Validation, Weights};
pub use aggregated_rows::AggregatedRows;
pub use cached_scores::CachedScores;
pub use column_subset::ColumnSubset;
pub use in_memory::InMemory;
pub use partitioned::Partitioned;
pub use query::{LinePoint, Query, Sums};
pub use streamed::StreamedSums;
pub use sum_over_rows::SumOverRows;

pub use wstar_data::linear::Layout;

use crate::problem::{Intercept, Problem};
use wstar_data::error::Result;

/// A problem over rows.
pub struct Objective<'a> {
    /// What is minimised.
    pub problem: Problem,
    /// The rows, if they are in memory: for solvers that work row by row or column by column.
    pub rows: Option<Rows<'a>>,
    /// Σᵢ cᵢ ℓ and its derivatives.
    pub sums: Box<dyn SumOverRows + 'a>,
}

/// The objective and the derivatives of the loss at a point.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluated {
    /// The objective P.
    pub objective: f64,
    /// The sum of losses Σ cᵢ ℓ, without the penalty.
    pub loss: f64,
    /// The gradient of the loss, without the penalty.
    pub gradient: Vec<f64>,
    /// The Hessian of the loss, without the penalty; empty if it was not asked for.
    pub hessian: Vec<f64>,
}

impl<'a> Objective<'a> {
    /// A problem over rows in memory.
    pub fn in_memory(problem: Problem, rows: Rows<'a>, validation: Validation) -> Self {
        let sums = InMemory::new(rows.clone(), problem.loss(), problem.layout()).validating(validation);
        Objective {
            problem,
            rows: Some(rows),
            sums: Box::new(sums),
        }
    }

    /// A problem over rows that are read again for every pass. `total_weight` is Σcᵢ.
    pub fn streamed(problem: Problem, blocks: &'a mut dyn Blocks, total_weight: f64) -> Self {
        let sums = StreamedSums::new(blocks, problem.loss(), problem.layout(), total_weight);
        Objective {
            problem,
            rows: None,
            sums: Box::new(sums),
        }
    }
}

impl Objective<'_> {
    /// The objective, with the gradient of the loss.
    pub fn gradient(&mut self, at: &[f64]) -> Result<Evaluated> {
        let sums = self.sums.ask(Query::Gradient { at })?;
        Ok(self.evaluated(at, sums))
    }

    /// The objective, with the gradient and the Hessian of the loss.
    pub fn hessian(&mut self, at: &[f64]) -> Result<Evaluated> {
        let sums = self.sums.ask(Query::Hessian { at })?;
        Ok(self.evaluated(at, sums))
    }

    /// The objective at a point where the sums over rows are known.
    pub fn evaluated(&self, at: &[f64], sums: Sums) -> Evaluated {
        Evaluated {
            objective: sums.value + self.problem.penalty_value(at),
            loss: sums.value,
            gradient: sums.gradient,
            hessian: sums.hessian,
        }
    }

    /// The gradient of the loss and of the ℓ2 part of the penalty.
    pub fn full_gradient(&self, at: &[f64], evaluated: &Evaluated) -> Vec<f64> {
        let slopes = evaluated.gradient.iter().zip(at).enumerate();
        slopes
            .map(|(j, (g, w))| g + self.problem.penalty_of(j).l2 * w)
            .collect()
    }

    /// An estimate of P − P\* for a convex smooth loss: the gap to the dual point αᵢ = −cᵢ ℓ'(zᵢ).
    ///
    /// Solvers stop by this estimate; the certificate is computed independently, from the data. The slope e of a free
    /// intercept b should be 0. Where it is not, D bounds P only up to b·e, so |b·e| is added, and also e²/Σcᵢ, which a step
    /// along b could gain. Other unpenalised parameters give +∞ unless their slopes are 0, because the dual point is then
    /// infeasible.
    pub fn gap(&self, at: &[f64], evaluated: &Evaluated) -> f64 {
        self.gap_by(at, evaluated, false)
    }

    /// [`Objective::gap`] for a caller that will still optimise the free intercepts, which makes their slopes 0.
    pub fn gap_with_optimal_intercepts(&self, at: &[f64], evaluated: &Evaluated) -> f64 {
        self.gap_by(at, evaluated, true)
    }

    fn gap_by(&self, at: &[f64], evaluated: &Evaluated, will_optimise_intercepts: bool) -> f64 {
        let layout = self.problem.layout();
        let mut conjugate = 0.0;
        let mut intercepts = 0.0;
        let shift = self.common_shift(at);
        let mut shrink = 1.0f64;
        for (j, &g) in evaluated.gradient.iter().enumerate() {
            if self.problem.intercept() == Intercept::Free && layout.is_intercept(j) {
                let gained = g * g / self.sums.total_weight();
                intercepts += match will_optimise_intercepts {
                    true => layout.outputs as f64 * gained - g * at[j],
                    false => gained + (g * (at[j] - shift)).abs(),
                };
            } else if self.problem.penalty().l2 > 0.0 {
                conjugate += self.problem.penalty().conjugate(g);
            } else if g.abs() > self.problem.penalty().l1 {
                shrink = shrink.min(self.problem.penalty().l1 / g.abs());
            }
        }
        if shrink == 0.0 {
            return f64::INFINITY;
        }
        let product = wstar_numeric::dense::dot(at, &evaluated.gradient);
        let dual = shrink * (evaluated.loss - product) - conjugate;
        evaluated.objective - dual + intercepts
    }

    /// A shift of all intercepts that leaves the loss unchanged: their mean if there are several outputs, else 0.
    fn common_shift(&self, at: &[f64]) -> f64 {
        let layout = self.problem.layout();
        match layout.outputs {
            1 => 0.0,
            outputs => (0..outputs).map(|k| layout.output(at, k).1).sum::<f64>() / outputs as f64,
        }
    }
}
