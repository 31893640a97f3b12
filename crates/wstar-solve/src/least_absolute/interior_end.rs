//! The end of the interior point method, from which the crossover starts.

/// The result of the interior point method on selected rows, with parameters on scaled columns.
pub(super) struct InteriorEnd {
    pub(super) at: Vec<f64>,
    pub(super) dual: Vec<f64>,
}
