//! Labelled and weighted rows: what a sum over rows runs over.

use std::borrow::Cow;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::data::Design;
use crate::error::Result;

/// How much each row counts; C and the class weights are already in it.
#[derive(Debug, Clone, PartialEq)]
pub enum Weights<'a> {
    /// All the same.
    Same(f64),
    /// Each its own.
    Each(Cow<'a, [f64]>),
}

impl Weights<'_> {
    /// The weight of row `i`.
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
    /// −1 or +1, a real target, or for softmax the number of the class.
    pub targets: Cow<'a, [f64]>,
    /// C·cᵢ.
    pub weights: Weights<'a>,
}

impl Rows<'_> {
    /// The same rows, borrowed.
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

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.design.rows()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The sum of all weights.
    pub fn total_weight(&self) -> f64 {
        match &self.weights {
            Weights::Same(weight) => weight * self.len() as f64,
            Weights::Each(weights) => weights.iter().sum(),
        }
    }
}

/// A few rows that stand for all.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    design: Design,
    targets: Vec<f64>,
    weights: Weights<'static>,
}

impl Sample {
    /// One row at random from each of `size` equal parts: the order of the rows may mean something.
    pub(crate) fn of(rows: &Rows<'_>, size: usize, random: &mut ChaCha8Rng) -> Self {
        let picked: Vec<usize> = (0..size)
            .map(|k| random.random_range(k * rows.len() / size..(k + 1) * rows.len() / size))
            .collect();
        Sample {
            design: rows.design.select(&picked),
            targets: picked.iter().map(|&i| rows.targets[i]).collect(),
            weights: match &rows.weights {
                Weights::Same(weight) => Weights::Same(*weight),
                Weights::Each(weights) => Weights::Each(picked.iter().map(|&i| weights[i]).collect()),
            },
        }
    }

    /// The rows of the sample.
    pub(crate) fn rows(&self) -> Rows<'_> {
        Rows {
            design: &self.design,
            targets: Cow::Borrowed(&self.targets),
            weights: match &self.weights {
                Weights::Same(weight) => Weights::Same(*weight),
                Weights::Each(weights) => Weights::Each(Cow::Borrowed(weights)),
            },
        }
    }
}

/// Rows that can be passed over again and again, a block at a time: all at once from memory, in chunks from a file.
pub trait Blocks {
    /// Shows every block in order.
    fn pass(&mut self, visit: &mut dyn FnMut(&Rows<'_>) -> Result<()>) -> Result<()>;
}

/// Rows in memory are one block.
impl Blocks for Rows<'_> {
    fn pass(&mut self, visit: &mut dyn FnMut(&Rows<'_>) -> Result<()>) -> Result<()> {
        visit(self)
    }
}
