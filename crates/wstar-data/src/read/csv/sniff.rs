//! Detection from the first rows of a file: its dialect, and the names and likely kinds of its columns.

use std::borrow::Cow;

use crate::Numbers;
use crate::error::{Error, Result, nearest, shown};
use crate::read::csv::dialect::{Cell, Dialect, Rows};
use crate::read::position::{Fault, TextPosition};
use crate::read::{Format, Header, ReadOptions};
use wstar_numeric::decimal::parse;

/// The kind of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The column is not read.
    Skipped,
    /// Numbers.
    Number,
    /// One of a few values.
    Category,
    /// Free text.
    Text,
}

/// A column of the file, before its cells are read.
#[derive(Debug, Clone)]
pub(crate) struct ColumnPlan {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Whether the kind is final: given by the user, or determined by earlier rows.
    pub(crate) settled: bool,
    /// Whether numbers are known to need `f64`.
    pub(crate) wide: bool,
}

/// The layout of a file: how it is to be read.
#[derive(Debug, Clone)]
pub(crate) struct Sniffed {
    pub(crate) dialect: Dialect,
    pub(crate) columns: Vec<ColumnPlan>,
    /// Where the first row of data starts in the file.
    pub(crate) header_bytes: usize,
    /// Where the first row of data starts in the current text.
    pub(crate) body: usize,
}

/// The number of rows examined to detect header and kinds. Heuristic: reliability against time; not measured yet.
const SAMPLE_ROWS: usize = 1000;
/// Cap: rows beyond this many bytes (or twice the header, if longer) are not examined.
const SAMPLE_BYTES: usize = 4 << 20;

impl Sniffed {
    /// Detects the layout of a file from its first rows.
    pub(crate) fn find(
        text: &[u8],
        format: Format,
        options: &ReadOptions,
        origin: &TextPosition,
    ) -> Result<Self> {
        let dialect = Dialect::find(text, format, options).map_err(|error| error.in_file(origin.name))?;
        let mut rows = Rows::new(text, dialect);
        let mut first = Vec::new();
        let locate = |fault: Fault| fault.locate(text, origin);
        let Some(first_start) = rows.next(&mut first).map_err(locate)? else {
            return Err(Error::data("the file is empty").in_file(origin.name));
        };
        let mut body = rows.at;
        let mut tallies = vec![Tally::default(); first.len()];
        let mut cells = Vec::new();
        for _ in 0..SAMPLE_ROWS {
            // A row with another number of cells ends the sample; it is refused when it is parsed.
            match rows.next(&mut cells).map_err(locate)? {
                Some(_) if cells.len() == first.len() && rows.at < SAMPLE_BYTES.max(2 * body) => {}
                _ => break,
            }
            for ((tally, cell), name) in tallies.iter_mut().zip(&cells).zip(&first) {
                let content = cell.content(text);
                tally.name_repeats |= content == name.content(text);
                tally.add(&content, &dialect);
            }
        }

        let has_header = match options.header {
            Header::Present => true,
            Header::Absent => false,
            Header::Auto => looks_like_header(text, &first, &tallies, &dialect),
        };
        let names = if has_header {
            names(text, &first).map_err(locate)?
        } else {
            body = first_start;
            for (tally, cell) in tallies.iter_mut().zip(&first) {
                tally.add(&cell.content(text), &dialect);
            }
            (1..=first.len()).map(|j| format!("x{j}")).collect()
        };
        let mut columns: Vec<ColumnPlan> = names
            .into_iter()
            .zip(&tallies)
            .map(|(name, tally)| ColumnPlan {
                name,
                kind: tally.kind(),
                settled: false,
                wide: tally.wide,
            })
            .collect();
        apply_options(&mut columns, options).map_err(|error| error.in_file(origin.name))?;
        Ok(Sniffed {
            dialect,
            columns,
            header_bytes: body,
            body,
        })
    }

    /// Makes the kinds of all columns final.
    pub(crate) fn settle(&mut self) {
        self.columns.iter_mut().for_each(|column| column.settled = true);
    }

    /// The end of the last complete row of a text; 0 if there is none.
    pub(crate) fn rows_end(&self, text: &[u8]) -> usize {
        self.dialect.last_row_end(text).unwrap_or(0)
    }

    /// [`Sniffed::rows_end`] before there is a layout. `lines_end` is the end of the last complete line.
    pub(crate) fn rows_end_of(
        text: &[u8],
        lines_end: usize,
        format: Format,
        options: &ReadOptions,
    ) -> Result<usize> {
        let dialect = Dialect::find(&text[..lines_end], format, options)?;
        Ok(dialect.last_row_end(text).unwrap_or(0))
    }
}

/// Counts of the cells of a column in the first rows.
#[derive(Clone, Default)]
struct Tally {
    filled: usize,
    numbers: usize,
    wide: bool,
    /// Whether the content of the first row occurs again in a later one.
    name_repeats: bool,
}

impl Tally {
    fn add(&mut self, content: &[u8], dialect: &Dialect) {
        match Value::of(content, dialect.decimal_comma) {
            Value::Missing => {}
            Value::Number(value) => {
                self.filled += 1;
                self.numbers += 1;
                self.wide |= matches!(Numbers::from_iter([value]), Numbers::F64(_));
            }
            Value::Word => self.filled += 1,
        }
    }

    fn kind(&self) -> Kind {
        if are_numbers(self.numbers, self.filled) {
            Kind::Number
        } else {
            Kind::Category
        }
    }
}

/// Whether a column with this many numbers among its filled cells is numeric: nine in ten must be numbers. Heuristic:
/// a few invalid numbers are reported instead of making the column a category; not measured yet.
pub(crate) fn are_numbers(numbers: usize, filled: usize) -> bool {
    numbers as u128 * 10 >= filled as u128 * 9
}

/// The value of a cell.
pub(crate) enum Value {
    /// A missing value.
    Missing,
    /// A number, possibly infinite.
    Number(f64),
    /// Anything else.
    Word,
}

impl Value {
    /// The value of this content.
    pub(crate) fn of(content: &[u8], decimal_comma: bool) -> Self {
        let content = content.trim_ascii();
        let number = if decimal_comma {
            parse::whole::<b','>(content)
        } else {
            parse::whole::<b'.'>(content)
        };
        if let Some(value) = number {
            Value::Number(value)
        } else if is_missing(content) {
            Value::Missing
        } else if is_infinite(content) {
            Value::Number(f64::INFINITY)
        } else {
            Value::Word
        }
    }
}

/// Whether this content, without surrounding blanks, denotes a missing value.
pub(crate) fn is_missing(content: &[u8]) -> bool {
    match content.len() {
        0 => true,
        1 => content == b"?",
        2 => content.eq_ignore_ascii_case(b"NA"),
        3 => content.eq_ignore_ascii_case(b"N/A") || content.eq_ignore_ascii_case(b"NaN"),
        4 => content.eq_ignore_ascii_case(b"null"),
        _ => false,
    }
}

fn is_infinite(content: &[u8]) -> bool {
    let content = content
        .strip_prefix(b"-")
        .or(content.strip_prefix(b"+"))
        .unwrap_or(content);
    content.eq_ignore_ascii_case(b"inf") || content.eq_ignore_ascii_case(b"infinity")
}

/// A header has no numbers, no empty and no repeated names, and none of its names occurs again as a
/// value in its own column. Above a column of numbers a first row of words is a header even if names are
/// empty or repeated, which is then reported as an error.
fn looks_like_header(text: &[u8], first: &[Cell], tallies: &[Tally], dialect: &Dialect) -> bool {
    let contents: Vec<Cow<[u8]>> = first.iter().map(|cell| cell.content(text)).collect();
    let has_number = contents
        .iter()
        .any(|content| matches!(Value::of(content, dialect.decimal_comma), Value::Number(_)));
    if has_number || tallies.iter().any(|tally| tally.name_repeats) {
        return false;
    }
    let mut sorted: Vec<&[u8]> = contents.iter().map(|content| content.as_ref()).collect();
    sorted.sort_unstable();
    let clean = sorted[0] != b"" && sorted.windows(2).all(|pair| pair[0] != pair[1]);
    let above_numbers = contents
        .iter()
        .zip(tallies)
        .any(|(name, tally)| !name.is_empty() && tally.filled > 0 && tally.kind() == Kind::Number);
    clean || above_numbers
}

fn names(text: &[u8], cells: &[Cell]) -> std::result::Result<Vec<String>, Fault> {
    let mut names: Vec<String> = Vec::with_capacity(cells.len());
    let mut seen = rustc_hash::FxHashMap::default();
    for (j, cell) in cells.iter().enumerate() {
        let name = String::from_utf8_lossy(cell.content(text).trim_ascii()).into_owned();
        if name.is_empty() {
            return Err(
                Fault::parse(cell.offset(), format!("column {} has no name", j + 1))
                    .remedy("name it in the first line"),
            );
        }
        if let Some(before) = seen.insert(name.clone(), j) {
            return Err(Fault::parse(
                cell.offset(),
                format!(
                    "columns {} and {} are both called {}",
                    before + 1,
                    j + 1,
                    shown(&name)
                ),
            )
            .remedy("rename one of them"));
        }
        names.push(name);
    }
    Ok(names)
}

/// Applies the options of the user to the columns.
fn apply_options(columns: &mut [ColumnPlan], options: &ReadOptions) -> Result<()> {
    for (named, kind) in [
        (&options.numeric, Kind::Number),
        (&options.categorical, Kind::Category),
        (&options.text, Kind::Text),
    ] {
        for name in named {
            let Some(column) = find(columns, name, options)? else {
                continue;
            };
            if column.settled && column.kind != kind {
                return Err(Error::settings(format!(
                    "column {} cannot be of two kinds",
                    shown(name)
                )));
            }
            column.kind = kind;
            column.settled = true;
        }
    }
    for name in &options.drop {
        if let Some(column) = find(columns, name, options)? {
            column.kind = Kind::Skipped;
        }
    }
    if let Some(only) = &options.only {
        for column in columns.iter_mut().filter(|column| !only.contains(&column.name)) {
            column.kind = Kind::Skipped;
        }
    }
    Ok(())
}

/// The column of that name. An absent column is an error, unless only some columns are to be read.
fn find<'a>(
    columns: &'a mut [ColumnPlan],
    name: &str,
    options: &ReadOptions,
) -> Result<Option<&'a mut ColumnPlan>> {
    match columns.iter().position(|column| column.name == name) {
        Some(j) => Ok(Some(&mut columns[j])),
        None if options.only.is_some() => Ok(None),
        None => {
            let error = Error::settings(format!("there is no column {}", shown(name)));
            let known = columns.iter().map(|column| column.name.as_str());
            Err(match nearest(name, known) {
                Some(near) => error.remedy(format!("did you mean {near}?")),
                None => error,
            })
        }
    }
}
