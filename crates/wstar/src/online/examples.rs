//! Where the examples of a pass come from: memory, in some order, or a stream.

use std::ops::ControlFlow;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::data::{Dataset, Row};
use crate::error::Result;

/// One example.
#[derive(Debug, Clone, Copy)]
pub struct Example<'a> {
    /// Its row, from 0: the same in every pass.
    pub id: u64,
    /// Its features.
    pub row: Row<'a>,
    /// Its class.
    pub class: u32,
    /// How much it counts.
    pub weight: f64,
}

/// A set of examples that can be passed over, once or repeatedly.
pub trait Examples {
    /// Visits the examples of pass `pass` (from 0) until the visitor breaks off.
    fn pass(
        &mut self,
        pass: u64,
        visit: &mut dyn FnMut(Example<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>>;
}

/// The order of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// As the rows stand.
    Cyclic,
    /// Shuffled anew for every pass, from this seed.
    Shuffled(u64),
}

/// Examples in memory.
#[derive(Debug)]
pub struct InMemory<'a> {
    data: &'a Dataset,
    codes: &'a [u32],
    order: Order,
    rows: Vec<usize>,
}

impl<'a> InMemory<'a> {
    /// The rows of a data set with these class codes; rows of weight 0 do not exist.
    pub fn new(data: &'a Dataset, codes: &'a [u32], order: Order) -> Self {
        InMemory {
            data,
            codes,
            order,
            rows: (0..codes.len()).filter(|&i| data.weight(i) > 0.0).collect(),
        }
    }
}

impl Examples for InMemory<'_> {
    fn pass(
        &mut self,
        pass: u64,
        visit: &mut dyn FnMut(Example<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        if let Order::Shuffled(seed) = self.order {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream(pass);
            // From the same start each time, so that a pass depends on its number alone.
            self.rows.sort_unstable();
            self.rows.shuffle(&mut random);
        }
        for &i in &self.rows {
            let example = Example {
                id: i as u64,
                row: self.data.design.row(i),
                class: self.codes[i],
                weight: self.data.weight(i),
            };
            if visit(example)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
