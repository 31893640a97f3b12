//! Rows in chunks: a whole data set at once, or a stream of chunks.

use crate::Dataset;
use crate::error::Result;

/// Data that can be read repeatedly, one chunk at a time.
pub trait DatasetChunks {
    /// Calls `visit` with every chunk, in order.
    fn each(&mut self, visit: &mut dyn FnMut(&Dataset) -> Result<()>) -> Result<()>;
}

/// A data set in memory is one chunk.
impl DatasetChunks for &Dataset {
    fn each(&mut self, visit: &mut dyn FnMut(&Dataset) -> Result<()>) -> Result<()> {
        visit(self)
    }
}
