//! The run of a fit: the events that a caller can watch, the budget, and the status at the end.
//!
//! - `watch`: the events of a running fit, and how to stop it.
//! - `budget`: limits of updates and time.
//! - `status`: how a fit ended.

mod budget;
mod status;
mod watch;

pub use budget::Budget;
pub use budget::BudgetClock;
pub use status::Status;
pub use watch::{Iteration, Progress, Step, Stride, Unwatched, Watch};
