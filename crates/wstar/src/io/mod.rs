//! Readers: CSV and TSV, svmlight, IDX, each also gzipped and from standard input; and the embedded data sets.

mod number;
mod options;
mod place;
mod split;
mod svmlight;

pub use options::{Format, Header, ReadOptions};

#[doc(hidden)]
pub fn svm(text: &[u8]) -> crate::Result<crate::data::Matrix> {
    svmlight::read(text, &place::Place::start("x"), None)
}
