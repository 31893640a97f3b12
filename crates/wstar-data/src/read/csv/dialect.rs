//! The dialect of a CSV or TSV file: separators and quotes, and where each cell ends.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr2};

use crate::error::{Error, Result};
use crate::read::position::{Fault, lines};
use crate::read::{Format, ReadOptions};

/// How cells are separated and quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    /// The separator.
    pub(crate) delimiter: u8,
    /// Whether quoted cells may contain separators and line ends (RFC 4180). Between tabs they may not: a cell
    /// counts as quoted only if it both starts and ends with a quote, because raw text contains unbalanced quotes.
    pub(crate) quotes_span: bool,
    /// Whether numbers are written with a decimal comma.
    pub(crate) decimal_comma: bool,
}

impl Dialect {
    /// The dialect, as given by the options or detected from the text.
    pub(crate) fn find(text: &[u8], format: Format, options: &ReadOptions) -> Result<Self> {
        let with = |delimiter| Dialect {
            delimiter,
            quotes_span: delimiter != b'\t',
            decimal_comma: options.decimal_comma,
        };
        if let Some(delimiter) = options.delimiter {
            if delimiter.is_ascii_alphanumeric() || !delimiter.is_ascii() || b"\"\r\n.+-".contains(&delimiter)
            {
                return Err(Error::settings(format!(
                    "{:?} cannot separate the cells of a file",
                    char::from(delimiter)
                )));
            }
            if delimiter == b',' && options.decimal_comma {
                return Err(Error::settings(
                    "a comma cannot be both the separator and the decimal point",
                ));
            }
            return Ok(with(delimiter));
        }
        if format == Format::Tsv {
            return Ok(with(b'\t'));
        }
        let best = [b',', b';', b'\t', b'|']
            .into_iter()
            .filter(|&delimiter| !(options.decimal_comma && delimiter == b','))
            .map(|delimiter| (with(delimiter).fit(text), with(delimiter)))
            // `max_by_key` returns the last of several maxima, so the list is reversed to prefer earlier separators.
            .rev()
            .max_by_key(|(fit, _)| *fit);
        Ok(best.map_or(with(b','), |(_, dialect)| dialect))
    }

    /// How well the dialect fits the first rows: whether all have the same number of cells, more than one; and the number.
    fn fit(&self, text: &[u8]) -> (bool, usize) {
        /// Rows examined. Heuristic: reliability against time; not measured yet.
        const ROWS: usize = 20;
        let mut rows = Rows::new(text, *self);
        let mut cells = Vec::new();
        let mut first = 0;
        for row in 0..ROWS {
            match rows.next(&mut cells) {
                Ok(Some(_)) if row == 0 => first = cells.len(),
                Ok(Some(_)) if cells.len() == first => {}
                Ok(None) => break,
                _ => return (false, first),
            }
        }
        (first > 1, first)
    }

    /// The cell that starts at `at`, and the offset of the separator, line end or end of the text after it.
    pub(crate) fn cell(&self, text: &[u8], at: usize) -> std::result::Result<(Cell, usize), Fault> {
        if self.quotes_span && text.get(at) == Some(&b'"') {
            return self.quoted(text, at);
        }
        let stop = memchr2(self.delimiter, b'\n', &text[at..]).map_or(text.len(), |end| at + end);
        let mut end = stop;
        if text.get(stop) != Some(&self.delimiter) && end > at && text[end - 1] == b'\r' {
            end -= 1;
        }
        let inside = || well_quoted(text[at..end].strip_prefix(b"\"")?.strip_suffix(b"\"")?);
        let cell = match inside().filter(|_| !self.quotes_span) {
            Some(doubled) => Cell {
                start: at + 1,
                end: end - 1,
                quoted: true,
                doubled,
            },
            None => Cell {
                start: at,
                end,
                quoted: false,
                doubled: false,
            },
        };
        Ok((cell, stop))
    }

    fn quoted(&self, text: &[u8], at: usize) -> std::result::Result<(Cell, usize), Fault> {
        let (close, doubled) = closing_quote(text, at).ok_or_else(|| unclosed(at))?;
        let mut stop = close + 1;
        if text.get(stop) == Some(&b'\r') && matches!(text.get(stop + 1), None | Some(b'\n')) {
            stop += 1;
        }
        match text.get(stop) {
            None | Some(b'\n') => {}
            Some(&byte) if byte == self.delimiter => {}
            Some(_) => {
                return Err(
                    Fault::parse(close + 1, "text follows the closing quote of a cell")
                        .remedy("a quote inside a quoted cell is written twice"),
                );
            }
        }
        Ok((
            Cell {
                start: at + 1,
                end: close,
                quoted: true,
                doubled,
            },
            stop,
        ))
    }

    /// The end of the line that starts at `at`, if the line is blank.
    pub(crate) fn blank_line(&self, text: &[u8], at: usize) -> Option<usize> {
        let blanks = text[at..]
            .iter()
            .take_while(|&&byte| matches!(byte, b' ' | b'\r') && byte != self.delimiter)
            .count();
        match text.get(at + blanks) {
            None => Some(at + blanks),
            Some(b'\n') => Some(at + blanks + 1),
            Some(_) => None,
        }
    }

    /// Divides a text whose quoted cells may span lines into segments of about `segment_bytes`, each ending with a row,
    /// and returns an upper bound on the number of rows of each. Line ends within quotes do not count as rows: for a file
    /// that consists of them, the allocated memory would otherwise grow with the square of its size.
    pub(crate) fn at_row_ends(
        &self,
        text: &[u8],
        segment_bytes: usize,
    ) -> std::result::Result<Vec<(Range<usize>, usize)>, Fault> {
        let mut segments = Vec::new();
        let (mut start, mut rows) = (0, 0);
        let unclosed_quote = self.outside_quotes(text, |clear| {
            let mut at = clear.start;
            loop {
                let from = at.max(start + segment_bytes.max(1) - 1).min(clear.end);
                let Some(end) = memchr(b'\n', &text[from..clear.end]).map(|end| from + end + 1) else {
                    rows += lines(&text[at..clear.end]) as usize;
                    break;
                };
                rows += lines(&text[at..end]) as usize;
                segments.push((start..end, std::mem::take(&mut rows)));
                (start, at) = (end, end);
            }
        });
        if let Some(at) = unclosed_quote {
            return Err(unclosed(at));
        }
        if start < text.len() {
            // The last row may lack a line end.
            segments.push((start..text.len(), rows + 1));
        }
        Ok(segments)
    }

    /// The end of the last complete row of this text.
    pub(crate) fn last_row_end(&self, text: &[u8]) -> Option<usize> {
        let last_line =
            |range: Range<usize>| memchr::memrchr(b'\n', &text[range.clone()]).map(|at| range.start + at + 1);
        if !self.quotes_span {
            return last_line(0..text.len());
        }
        let mut last = None;
        self.outside_quotes(text, |clear| last = last_line(clear).or(last));
        last
    }

    /// Visits the ranges outside quoted cells. Returns the offset of a quote that is never closed, if there is one.
    fn outside_quotes(&self, text: &[u8], mut visit: impl FnMut(Range<usize>)) -> Option<usize> {
        let mut at = 0;
        loop {
            let mut from = at;
            let quote = loop {
                match memchr(b'"', &text[from..]).map(|found| from + found) {
                    // A quote opens a quoted cell only at the start of the cell.
                    Some(found)
                        if found > 0 && text[found - 1] != self.delimiter && text[found - 1] != b'\n' =>
                    {
                        from = found + 1;
                    }
                    found => break found,
                }
            };
            visit(at..quote.unwrap_or(text.len()));
            let quote = quote?;
            match closing_quote(text, quote) {
                Some((close, _)) => at = close + 1,
                None => return Some(quote),
            }
        }
    }
}

/// A cell: the range of its content, without the quotes around it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) quoted: bool,
    doubled: bool,
}

impl Cell {
    /// The content, with doubled quotes replaced by single ones. Surrounding blanks are kept only within quotes.
    pub(crate) fn content<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        let content = &text[self.start..self.end];
        if self.doubled {
            let mut single = Vec::with_capacity(content.len());
            let mut rest = content;
            while let Some(at) = memchr(b'"', rest) {
                single.extend_from_slice(&rest[..=at]);
                rest = rest.get(at + 2..).unwrap_or_default();
            }
            single.extend_from_slice(rest);
            Cow::Owned(single)
        } else if self.quoted {
            Cow::Borrowed(content)
        } else {
            Cow::Borrowed(content.trim_ascii())
        }
    }

    /// The offset of the cell, including its opening quote.
    pub(crate) fn offset(&self) -> usize {
        self.start - usize::from(self.quoted)
    }
}

/// An iterator over rows, for the few from which the layout is detected.
pub(crate) struct Rows<'a> {
    text: &'a [u8],
    /// The offset of the next row.
    pub(crate) at: usize,
    dialect: Dialect,
}

impl<'a> Rows<'a> {
    pub(crate) fn new(text: &'a [u8], dialect: Dialect) -> Self {
        Rows { text, at: 0, dialect }
    }

    /// Fills `cells` with the next row and returns its offset. Blank lines are skipped.
    pub(crate) fn next(&mut self, cells: &mut Vec<Cell>) -> std::result::Result<Option<usize>, Fault> {
        cells.clear();
        while self.at < self.text.len() {
            match self.dialect.blank_line(self.text, self.at) {
                Some(next) => self.at = next,
                None => break,
            }
        }
        if self.at >= self.text.len() {
            return Ok(None);
        }
        let start = self.at;
        loop {
            let (cell, stop) = self.dialect.cell(self.text, self.at)?;
            cells.push(cell);
            self.at = (stop + 1).min(self.text.len());
            if self.text.get(stop) != Some(&self.dialect.delimiter) {
                return Ok(Some(start));
            }
            if stop + 1 == self.text.len() {
                // An empty cell follows a separator at the end of the text.
                let (cell, _) = self.dialect.cell(self.text, stop + 1)?;
                cells.push(cell);
                return Ok(Some(start));
            }
        }
    }
}

/// The quote that closes the one at `open`, and whether there are doubled quotes between them.
fn closing_quote(text: &[u8], open: usize) -> Option<(usize, bool)> {
    let mut at = open + 1;
    let mut doubled = false;
    loop {
        let close = at + memchr(b'"', text.get(at..)?)?;
        if text.get(close + 1) != Some(&b'"') {
            return Some((close, doubled));
        }
        doubled = true;
        at = close + 2;
    }
}

/// Whether the content contains doubled quotes; `None` if it contains a single one.
fn well_quoted(inside: &[u8]) -> Option<bool> {
    let mut rest = inside;
    let mut doubled = false;
    while let Some(at) = memchr(b'"', rest) {
        if rest.get(at + 1) != Some(&b'"') {
            return None;
        }
        doubled = true;
        rest = &rest[at + 2..];
    }
    Some(doubled)
}

#[cold]
fn unclosed(at: usize) -> Fault {
    Fault::parse(at, "this quote is never closed").remedy("a quote inside a quoted cell is written twice")
}
