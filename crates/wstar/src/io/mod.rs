//! Readers: CSV and TSV, svmlight, IDX, each also gzipped and from standard input; and the embedded data sets.

mod csv;
mod embedded;
mod idx;
mod matching;
mod number;
mod options;
mod place;
mod source;
mod split;
mod stream;
mod svmlight;

pub use embedded::{EMBEDDED, Embedded};
pub use options::{Format, Header, ReadOptions};
pub use source::{Bytes, Source};
pub use stream::Chunks;

use crate::data::Raw;
use crate::error::{Error, Result};
use place::Place;

/// Reads a whole source.
///
/// ```
/// use wstar::data::Raw;
/// use wstar::io::{ReadOptions, Source, read};
/// let Raw::Table(iris) = read(&Source::parse("@iris").unwrap(), &ReadOptions::default()).unwrap() else {
///     panic!("iris has named columns");
/// };
/// assert_eq!((iris.rows, iris.columns.len()), (150, 5));
/// ```
pub fn read(source: &Source, options: &ReadOptions) -> Result<Raw> {
    let bytes = source.open()?;
    let name = source.name();
    if bytes.is_empty() {
        return Err(Error::data("the file is empty").in_file(name));
    }
    let options = source.options(options);
    let format = source.format(&options, &bytes)?;
    let place = Place::start(&name);
    Ok(match format {
        Format::Csv | Format::Tsv => Raw::Table(csv::read(&bytes, format, &options, &place)?),
        Format::Svmlight => Raw::Matrix(svmlight::read(&bytes, &place, options.base)?),
        Format::Idx => Raw::Matrix(idx::read(&bytes, &name, options.labels.as_deref())?),
    })
}
