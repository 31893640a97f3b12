//! How a file separates and quotes its cells, and where each cell ends.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr2};

use crate::error::{Error, Result};
use crate::io::place::{Fault, lines};
use crate::io::{Format, ReadOptions};

/// How cells are separated and quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    /// The separator.
    pub(crate) delimiter: u8,
    /// Whether quoted cells may hold separators and line ends (RFC 4180). Otherwise, between tabs, a
    /// quote counts only if the cell both starts and ends with it, because raw text has stray quotes.
    pub(crate) quotes_span: bool,
    /// Whether numbers are written with a decimal comma.
    pub(crate) decimal_comma: bool,
}

impl Dialect {
    /// The dialect as told, or as found out from the text.
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
            // Of equals the last one wins, so the list is gone through from its end.
            .rev()
            .max_by_key(|(fit, _)| *fit);
        Ok(best.map_or(with(b','), |(_, dialect)| dialect))
    }

    /// How well the first rows go with the dialect: whether all have as many cells, and how many.
    fn fit(&self, text: &[u8]) -> (bool, usize) {
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

    /// The cell that starts at `at`, and where it ends: at a separator, a line end, or the end of the text.
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
                        .hint("a quote inside a quoted cell is written twice"),
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

    /// Where the line ends that starts at `at`, if nothing stands on it.
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

    /// Cuts a text whose quoted cells may span lines into parts of about `part_bytes`, each ending with a
    /// row; tells the most rows that each can hold. Line ends within quotes are no rows: a file of them
    /// would otherwise ask for room that grows with the square of its size.
    pub(crate) fn at_row_ends(
        &self,
        text: &[u8],
        part_bytes: usize,
    ) -> std::result::Result<Vec<(Range<usize>, usize)>, Fault> {
        let mut parts = Vec::new();
        let (mut start, mut rows) = (0, 0);
        let unclosed_quote = self.outside_quotes(text, |clear| {
            let mut at = clear.start;
            loop {
                let from = at.max(start + part_bytes.max(1) - 1).min(clear.end);
                let Some(end) = memchr(b'\n', &text[from..clear.end]).map(|end| from + end + 1) else {
                    rows += lines(&text[at..clear.end]) as usize;
                    break;
                };
                rows += lines(&text[at..end]) as usize;
                parts.push((start..end, std::mem::take(&mut rows)));
                (start, at) = (end, end);
            }
        });
        if let Some(at) = unclosed_quote {
            return Err(unclosed(at));
        }
        if start < text.len() {
            // The last row may have no end.
            parts.push((start..text.len(), rows + 1));
        }
        Ok(parts)
    }

    /// The end of the last row that is complete in this text.
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

    /// Visits the stretches outside quoted cells; gives the place of a quote that is never closed.
    fn outside_quotes(&self, text: &[u8], mut visit: impl FnMut(Range<usize>)) -> Option<usize> {
        let mut at = 0;
        loop {
            let mut from = at;
            let quote = loop {
                match memchr(b'"', &text[from..]).map(|found| from + found) {
                    // Only at the start of a cell does a quote quote.
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

/// A cell: its content without quotes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) quoted: bool,
    doubled: bool,
}

impl Cell {
    /// The content as written, except that a doubled quote is one. Blanks around it count only in quotes.
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

    /// Where the cell starts, its quote included.
    pub(crate) fn place(&self) -> usize {
        self.start - usize::from(self.quoted)
    }
}

/// Rows one after the other; for the few that decide how the others are read.
pub(crate) struct Rows<'a> {
    text: &'a [u8],
    /// Where the next row starts.
    pub(crate) at: usize,
    dialect: Dialect,
}

impl<'a> Rows<'a> {
    pub(crate) fn new(text: &'a [u8], dialect: Dialect) -> Self {
        Rows { text, at: 0, dialect }
    }

    /// Fills `cells` with the next row and gives its start; blank lines are passed over.
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
                // A separator at the very end: an empty cell follows it.
                let (cell, _) = self.dialect.cell(self.text, stop + 1)?;
                cells.push(cell);
                return Ok(Some(start));
            }
        }
    }
}

/// The quote that closes the one at `open`, and whether there are doubled ones between.
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

/// Whether all quotes inside are doubled, and if so whether there are any.
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
    Fault::parse(at, "this quote is never closed").hint("a quote inside a quoted cell is written twice")
}
