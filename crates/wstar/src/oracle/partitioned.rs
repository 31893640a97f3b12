//! Rows in parts, each with an oracle of its own: their answers are merged in order.

use crate::error::Result;
use crate::oracle::{Layout, Oracle, Query, Sums};

/// Parts of the rows; at least one.
pub struct Partitioned<'a> {
    first: Box<dyn Oracle + 'a>,
    others: Vec<Box<dyn Oracle + 'a>>,
}

impl<'a> Partitioned<'a> {
    /// From the first part and the others, in order.
    pub fn new(first: Box<dyn Oracle + 'a>, others: Vec<Box<dyn Oracle + 'a>>) -> Self {
        Partitioned { first, others }
    }
}

impl Oracle for Partitioned<'_> {
    fn layout(&self) -> Layout {
        self.first.layout()
    }

    fn total_weight(&self) -> f64 {
        let others: f64 = self.others.iter().map(|part| part.total_weight()).sum();
        self.first.total_weight() + others
    }

    fn passes(&self) -> u64 {
        self.first.passes()
    }

    fn ask(&mut self, query: Query<'_>) -> Result<Sums> {
        let mut sums = self.first.ask(query)?;
        for part in &mut self.others {
            sums.merge(&part.ask(query)?);
        }
        Ok(sums)
    }
}
