//! Rows that do not fit into memory: every question is one pass over the blocks of a file.

use crate::error::Result;
use crate::loss::LossName;
use crate::oracle::{Blocks, Layout, Local, Oracle, Query, Sums};

/// Rows read anew for every pass.
pub struct Streamed<'a> {
    blocks: &'a mut dyn Blocks,
    loss: LossName,
    layout: Layout,
    total_weight: f64,
    passes: u64,
}

impl<'a> Streamed<'a> {
    /// Over blocks whose rows are no wider than the layout; reads them once, for their weights.
    pub fn new(blocks: &'a mut dyn Blocks, loss: LossName, layout: Layout) -> Result<Self> {
        let mut total_weight = 0.0;
        blocks.pass(&mut |rows| {
            total_weight += rows.total_weight();
            Ok(())
        })?;
        Ok(Streamed {
            blocks,
            loss,
            layout,
            total_weight,
            passes: 1,
        })
    }
}

impl Oracle for Streamed<'_> {
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
            sums.merge(&Local::new(rows.borrowed(), loss, layout).ask(query)?);
            Ok(())
        })?;
        self.passes += 1;
        Ok(sums)
    }
}
