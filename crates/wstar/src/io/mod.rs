//! Readers: CSV and TSV, svmlight, IDX, each also gzipped and from standard input; and the embedded data sets.

mod options;

pub use options::{Format, Header, ReadOptions};
