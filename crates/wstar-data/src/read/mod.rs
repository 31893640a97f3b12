//! Readers of CSV, TSV, svmlight and IDX, from files or standard input, gzipped or not; and the embedded data sets.
//!
//! A whole source is read by [`read`], a source larger than memory by [`Chunks`].
//!
//! - `source`: files, standard input and embedded data sets, unpacked if gzipped; detection of the format.
//! - `options`: the options of the readers.
//! - `csv`, `svmlight`, `idx`: the formats.
//! - `embedded`: the embedded data sets.
//! - `stream`: chunks of whole rows, for data larger than memory.
//! - [`dataset_stream`]: the same, prepared as data sets.
//! - `known_columns`: reader options for the rows of a model.
//! - `split_text`: segments of a text that are parsed in parallel.
//! - `position`: lines and columns in messages.

mod csv;
pub mod dataset_stream;
mod embedded;
mod idx;
mod known_columns;
mod options;
mod position;
mod source;
mod split_text;
mod stream;
mod svmlight;

pub use embedded::{EMBEDDED, Embedded};
pub use options::{Format, Header, ReadOptions};
pub use source::{Bytes, Source};
pub use stream::Chunks;

use std::ops::Range;

use crate::Raw;
use crate::error::{Error, Result};
use position::TextPosition;

/// Reads a whole source.
///
/// ```
/// use wstar_data::Raw;
/// use wstar_data::read::ReadOptions;
/// use wstar_data::read::Source;
/// use wstar_data::read::read;
/// let Raw::Table(iris) = read(&Source::parse("@iris").unwrap(), &ReadOptions::default()).unwrap() else {
///     panic!("iris has named columns");
/// };
/// assert_eq!((iris.rows, iris.columns.len()), (150, 5));
/// ```
pub fn read(source: &Source, options: &ReadOptions) -> Result<Raw> {
    let bytes = source.open()?;
    parse(source, &bytes, options, &|segment| bytes.release(segment))
}

/// Reads content that is already in memory, gzipped or not, like a file of this name. The name only determines the format and
/// appears in messages; no file is opened.
///
/// ```
/// use wstar_data::read::ReadOptions;
/// use wstar_data::read::read_bytes;
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

/// Parses the content of a source. `done` is called with each range of bytes that is no longer needed.
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
    let origin = TextPosition::start(&name);
    Ok(match format {
        Format::Csv | Format::Tsv => Raw::Table(csv::read(bytes, format, &options, &origin)?),
        Format::Svmlight => Raw::Matrix(svmlight::read(bytes, &origin, options.base, done)?),
        Format::Idx => Raw::Matrix(idx::read(bytes, &name, options.labels.as_deref())?),
    })
}
