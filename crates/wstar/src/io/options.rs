//! What a reader must be told, or finds out by itself.

use std::path::PathBuf;

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// Find out: a header has no numbers, no empty and no repeated names, and none of its names
    /// stands again as a value in its own column. A first row of words above a column of numbers is
    /// one all the same, and its empty or repeated names are errors.
    #[default]
    Auto,
    /// It does.
    Present,
    /// It does not; columns are then called `x1`, `x2` ….
    Absent,
}

/// What a reader is told. The default finds everything out by itself.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// The format; by default told by the ending of the name.
    pub format: Option<Format>,
    /// The file of labels that belongs to an IDX file of images.
    pub labels: Option<PathBuf>,
    /// Whether there is a header.
    pub header: Header,
    /// The separator of a CSV file; by default found out.
    pub delimiter: Option<u8>,
    /// Whether numbers are written with a decimal comma.
    pub decimal_comma: bool,
    /// Columns that hold numbers, whatever they look like.
    pub numeric: Vec<String>,
    /// Columns that hold categories, whatever they look like.
    pub categorical: Vec<String>,
    /// Columns that hold texts.
    pub text: Vec<String>,
    /// Columns that are not read at all.
    pub drop: Vec<String>,
    /// If given, only these columns are read, and columns of these names that are absent are no error here.
    pub only: Option<Vec<String>>,
    /// The index of the first feature of an svmlight file: 0 or 1; by default 1, or 0 if an index 0 occurs.
    pub base: Option<u32>,
}
