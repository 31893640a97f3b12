//! Readers: CSV and TSV, svmlight, IDX, each also gzipped and from standard input; the embedded data sets; and
//! files that are written whole or not at all.

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
mod whole;

pub use embedded::{EMBEDDED, Embedded};
pub use options::{Format, Header, ReadOptions};
pub use source::{Bytes, Source};
pub use stream::Chunks;
pub use whole::{check_writable, write_whole};

use std::ops::Range;

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
    parse(source, &bytes, options, &|part| bytes.release(part))
}

/// Reads content that is already in memory, gzipped or not, as a file of this name would be read; the name is only
/// looked at, never opened.
///
/// ```
/// use wstar::io::{ReadOptions, read_bytes};
/// let error = read_bytes("points.csv", b"x,y\n1,\"2\n", &ReadOptions::default()).unwrap_err();
/// assert!(error.to_string().starts_with("points.csv:2:"));
/// ```
pub fn read_bytes(name: &str, bytes: &[u8], options: &ReadOptions) -> Result<Raw> {
    let source = Source::Path(name.into());
    match source::unpacked(bytes, name)? {
        Some(unpacked) => parse(&source, &unpacked, options, &|_| ()),
        None => parse(&source, bytes, options, &|_| ()),
    }
}

/// Parses what a source holds; `done` hears of each part of it that is no longer needed.
fn parse(
    source: &Source,
    bytes: &[u8],
    options: &ReadOptions,
    done: &(dyn Fn(Range<usize>) + Sync),
) -> Result<Raw> {
    let name = source.name();
    if bytes.is_empty() {
        return Err(Error::data("the file is empty").in_file(name));
    }
    let options = source.options(options);
    let format = source.format(&options, bytes)?;
    let place = Place::start(&name);
    Ok(match format {
        Format::Csv | Format::Tsv => Raw::Table(csv::read(bytes, format, &options, &place)?),
        Format::Svmlight => Raw::Matrix(svmlight::read(bytes, &place, options.base, done)?),
        Format::Idx => Raw::Matrix(idx::read(bytes, &name, options.labels.as_deref())?),
    })
}
