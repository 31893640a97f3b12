//! Sums over partitioned rows: the sums over the partitions are merged in order.

use crate::objective::{Query, SumOverRows, Sums};
use wstar_data::error::Result;
use wstar_data::linear::Layout;

/// One or more partitions of the rows.
pub struct Partitioned<'a> {
    first: Box<dyn SumOverRows + 'a>,
    others: Vec<Box<dyn SumOverRows + 'a>>,
}

impl<'a> Partitioned<'a> {
    /// The partitions, in order.
    pub fn new(first: Box<dyn SumOverRows + 'a>, others: Vec<Box<dyn SumOverRows + 'a>>) -> Self {
        Partitioned { first, others }
    }
}

impl SumOverRows for Partitioned<'_> {
    fn layout(&self) -> Layout {
        self.first.layout()
    }

    fn total_weight(&self) -> f64 {
        let others: f64 = self.others.iter().map(|partition| partition.total_weight()).sum();
        self.first.total_weight() + others
    }

    fn passes(&self) -> u64 {
        self.first.passes()
    }

    fn ask(&mut self, query: Query<'_>) -> Result<Sums> {
        let mut sums = self.first.ask(query)?;
        for partition in &mut self.others {
            sums.merge(&partition.ask(query)?);
        }
        Ok(sums)
    }
}
