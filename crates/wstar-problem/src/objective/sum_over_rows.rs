//! The trait of a source of sums over rows, wherever the rows are.

use crate::objective::{Query, Sums};
use wstar_data::error::Result;
use wstar_data::linear::Layout;

/// A source of sums over rows: answers a [`Query`].
pub trait SumOverRows {
    /// How the parameter vector is divided into weights and intercepts.
    fn layout(&self) -> Layout;
    /// Σ cᵢ: a bound on |Σ cᵢ ℓ'(zᵢ)| for losses with slopes in [−1, 1].
    fn total_weight(&self) -> f64;
    /// The number of passes over all rows so far.
    fn passes(&self) -> u64;
    /// Answers a query. Fails if the rows cannot be read again, or if they are invalid.
    fn ask(&mut self, query: Query<'_>) -> Result<Sums>;
}
