//! The options of the readers. Whatever is not given is detected.

use std::path::PathBuf;

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Cells separated by commas (or semicolons, or bars), quoted with `"` where needed.
    Csv,
    /// Cells separated by tabs.
    Tsv,
    /// `label index:value index:value … # comment`, also known as LIBSVM's format.
    Svmlight,
    /// Images as published with MNIST; labels come from a second file.
    Idx,
}

/// Whether the first line of a CSV or TSV file holds the names of the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Header {
    /// Detect it: a header has no numbers, no empty and no repeated names, and none of its names
    /// occurs again as a value in its own column. Above a column of numbers a first row of words is a
    /// header even if names are empty or repeated, which is then an error.
    #[default]
    Auto,
    /// The first line is a header.
    Present,
    /// The first line is data; the columns are named `x1`, `x2` ….
    Absent,
}

/// The options of a reader. By default everything is detected.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// The format; by default detected from the ending of the name, else from the content.
    pub format: Option<Format>,
    /// The file with the labels of an IDX file of images.
    pub labels: Option<PathBuf>,
    /// Whether there is a header.
    pub header: Header,
    /// The separator of a CSV file; by default detected.
    pub delimiter: Option<u8>,
    /// Whether numbers are written with a decimal comma.
    pub decimal_comma: bool,
    /// Columns that are read as numbers, whatever they look like.
    pub numeric: Vec<String>,
    /// Columns that are read as categories, whatever they look like.
    pub categorical: Vec<String>,
    /// Columns that are read as free text.
    pub text: Vec<String>,
    /// Columns that are not read.
    pub drop: Vec<String>,
    /// If given, only these columns are read. Names that do not occur in the file are not an error.
    pub only: Option<Vec<String>>,
    /// The index of the first feature of an svmlight file: 0 or 1; by default 1, or 0 if an index 0 occurs.
    pub base: Option<u32>,
}
