//! Sums over rows that do not fit into memory: every query is one pass over the blocks of a file.

use crate::loss::LossName;
use crate::objective::{Blocks, InMemory, Query, SumOverRows, Sums};
use wstar_data::error::Result;
use wstar_data::linear::Layout;

/// Sums over rows that are read again for every query.
pub struct StreamedSums<'a> {
    blocks: &'a mut dyn Blocks,
    loss: LossName,
    layout: Layout,
    total_weight: f64,
    passes: u64,
}

impl<'a> StreamedSums<'a> {
    /// Sums over blocks whose rows are no wider than the layout. `total_weight` is the sum of their weights.
    pub fn new(blocks: &'a mut dyn Blocks, loss: LossName, layout: Layout, total_weight: f64) -> Self {
        StreamedSums {
            blocks,
            loss,
            layout,
            total_weight,
            passes: 0,
        }
    }
}

impl SumOverRows for StreamedSums<'_> {
    fn layout(&self) -> Layout {
        self.layout
    }

    fn total_weight(&self) -> f64 {
        self.total_weight
    }

    fn passes(&self) -> u64 {
        self.passes
    }

    fn ask(&mut self, query: Query<'_>) -> Result<Sums> {
        let (loss, layout) = (self.loss, self.layout);
        let mut sums = Sums::default();
        self.blocks.pass(&mut |rows| {
            sums.merge(&InMemory::new(rows.borrowed(), loss, layout).ask(query)?);
            Ok(())
        })?;
        self.passes += 1;
        Ok(sums)
    }
}
