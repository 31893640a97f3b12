//! Sequences of fits to the same rows, such as a path of penalties.

mod path;

pub use path::{fit_each, fit_path};
