//! Atomic writing of files and JSON documents.
//!
//! - `atomic`: files that are written completely or not at all.
//! - `canonical_rows`: the rows of a data set, for programs that share no code with this one.
//! - `json`: JSON documents written in this way.

pub(crate) mod atomic;
pub(crate) mod canonical_rows;
pub(crate) mod json;

pub use atomic::{check_writable, write_whole};
pub use canonical_rows::write_canonical_rows;
pub use json::write_json;
