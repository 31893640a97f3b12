//! Labelled and weighted rows, the index set of every sum over rows.

use std::borrow::Cow;

use wstar_data::Design;
use wstar_data::error::Result;

/// The weights cᵢ of the rows; C and the class weights are already included.
#[derive(Debug, Clone, PartialEq)]
pub enum Weights<'a> {
    /// The same weight for all rows.
    Same(f64),
    /// One weight for each row.
    Each(Cow<'a, [f64]>),
}

impl Weights<'_> {
    /// The weight of row `i`.
    #[inline]
    pub fn get(&self, i: usize) -> f64 {
        match self {
            Weights::Same(weight) => *weight,
            Weights::Each(weights) => weights[i],
        }
    }
}

/// A design with a target and a weight for every row.
#[derive(Debug, Clone)]
pub struct Rows<'a> {
    /// The rows.
    pub design: &'a Design,
    /// −1 or +1, a real target, or for softmax the index of the class.
    pub targets: Cow<'a, [f64]>,
    /// The weights cᵢ, with C included.
    pub weights: Weights<'a>,
}

impl Rows<'_> {
    /// The same rows, borrowed.
    #[inline]
    pub fn borrowed(&self) -> Rows<'_> {
        Rows {
            design: self.design,
            targets: Cow::Borrowed(&self.targets),
            weights: match &self.weights {
                Weights::Same(weight) => Weights::Same(*weight),
                Weights::Each(weights) => Weights::Each(Cow::Borrowed(weights)),
            },
        }
    }

    /// The number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.design.rows()
    }

    /// Whether there are no rows.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The sum of all weights.
    #[inline]
    pub fn total_weight(&self) -> f64 {
        match &self.weights {
            Weights::Same(weight) => weight * self.len() as f64,
            Weights::Each(weights) => weights.iter().sum(),
        }
    }
}

/// Whether the rows have been validated: no feature may be NaN, infinite, or so large that a sum of squares overflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Validation {
    /// The rows are validated already.
    #[default]
    Done,
    /// The first pass over all rows validates them.
    FirstPass,
}

/// Rows that can be read repeatedly, block by block: one block in memory, or chunks of a file.
pub trait Blocks {
    /// Calls `visit` with every block in order.
    fn pass(&mut self, visit: &mut dyn FnMut(&Rows<'_>) -> Result<()>) -> Result<()>;
}

/// Rows in memory form a single block.
impl Blocks for Rows<'_> {
    #[inline]
    fn pass(&mut self, visit: &mut dyn FnMut(&Rows<'_>) -> Result<()>) -> Result<()> {
        visit(self)
    }
}
