//! Rows that come in portions: a whole data set at once, or a stream of them.

use crate::data::Dataset;
use crate::error::Result;

/// Data that can be passed over again and again.
pub trait Portions {
    /// Shows every portion, in order.
    fn each(&mut self, visit: &mut dyn FnMut(&Dataset) -> Result<()>) -> Result<()>;
}

/// Data in memory are one portion.
impl Portions for &Dataset {
    fn each(&mut self, visit: &mut dyn FnMut(&Dataset) -> Result<()>) -> Result<()> {
        visit(self)
    }
}
