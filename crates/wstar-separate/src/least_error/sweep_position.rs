//! The position of a dichotomy within a sweep.

/// The best dichotomy of a sweep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SweepPosition {
    pub(super) cost: f64,
    /// The number of groups of equal directions that were passed.
    pub(super) passed: usize,
    /// Whether the next group lies on the hyperplane.
    pub(super) on: bool,
    /// Whether the sides of the hyperplane are exchanged.
    pub(super) reversed: bool,
    /// Whether the whole flat lies on the hyperplane.
    pub(super) flat_on: bool,
}
