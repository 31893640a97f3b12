//! A dichotomy of a sweep, by where the sweep was.

/// Where the best dichotomy of a sweep lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place {
    pub(super) cost: f64,
    /// How many groups of directions were passed.
    pub(super) passed: usize,
    /// Whether the next group lies on the hyperplane itself.
    pub(super) on: bool,
    /// Whether the hyperplane is turned to its other side.
    pub(super) reversed: bool,
    /// Whether the flat lies on the hyperplane as a whole.
    pub(super) flat_on: bool,
}
