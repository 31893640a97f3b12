//! Comma-separated values (RFC 4180) in UTF-8: rows of cells.
//!
//! A cell that starts with a quote ends with one, and a quote inside it is written twice; it may contain separators and line
//! ends. Between tabs, where quotes are not customary, a cell is quoted only if it starts and ends with a quote, and it
//! contains no tab and no line end. Lines end with LF or CRLF. Blank lines, which consist of spaces, are skipped. Blanks around
//! an unquoted cell do not belong to it. Every row has as many cells as the first. Everything else is refused.

use std::borrow::Cow;

use crate::unreadable::Fault;

pub(crate) struct Cell<'a> {
    /// Its offset, with the quote that opens it.
    pub(crate) offset: usize,
    /// Its content, without the blanks around an unquoted cell and with single quotes for doubled ones.
    pub(crate) content: Cow<'a, str>,
}

/// A CSV text and its separator, and the offset of the next row.
pub(crate) struct Csv<'a> {
    text: &'a str,
    delimiter: u8,
    at: usize,
}

/// The text of a file: UTF-8 without NUL bytes, and without the byte order mark that may precede it.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, Fault> {
    let text =
        std::str::from_utf8(bytes).map_err(|error| Fault::new(error.valid_up_to(), "this is not UTF-8"))?;
    match text.find('\0') {
        Some(nul) => Err(Fault::new(nul, "a NUL byte")),
        None => Ok(text.strip_prefix('\u{feff}').unwrap_or(text)),
    }
}

impl<'a> Csv<'a> {
    /// The rows of a text with this separator.
    pub(crate) fn new(text: &'a str, delimiter: u8) -> Self {
        Csv {
            text,
            delimiter,
            at: 0,
        }
    }

    /// Reads the cells of the next row; `false` at the end of the text.
    pub(crate) fn next(&mut self, cells: &mut Vec<Cell<'a>>) -> Result<bool, Fault> {
        cells.clear();
        let bytes = self.text.as_bytes();
        // Blank lines.
        loop {
            let blank = |byte: &&u8| matches!(byte, b' ' | b'\r');
            let end = self.at + bytes[self.at..].iter().take_while(blank).count();
            match bytes.get(end) {
                None => return Ok(false),
                Some(b'\n') => self.at = end + 1,
                Some(_) => break,
            }
        }
        loop {
            let cell = match bytes.get(self.at) {
                Some(b'"') if self.delimiter != b'\t' => self.quoted()?,
                _ => self.unquoted(),
            };
            cells.push(cell);
            // The separator, line end or end of the text that ends the cell is at `self.at`.
            let byte = bytes.get(self.at);
            self.at += usize::from(byte.is_some());
            if byte != Some(&self.delimiter) {
                return Ok(true);
            }
        }
    }

    /// Reads one cell and moves to the byte after it.
    fn unquoted(&mut self) -> Cell<'a> {
        let (offset, rest) = (self.at, &self.text.as_bytes()[self.at..]);
        let length = rest
            .iter()
            .position(|&byte| byte == self.delimiter || byte == b'\n');
        self.at += length.unwrap_or(rest.len());
        let mut cell = &self.text[offset..self.at];
        if self.text.as_bytes().get(self.at) != Some(&self.delimiter) {
            cell = cell.strip_suffix('\r').unwrap_or(cell);
        }
        let inside = cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"'));
        let inside = inside
            .map(|inside| inside.replace("\"\"", "\0"))
            .filter(|inside| !inside.contains('"'));
        let content = match inside.filter(|_| self.delimiter == b'\t') {
            Some(inside) => Cow::Owned(inside.replace('\0', "\"")),
            None => Cow::Borrowed(cell.trim_ascii()),
        };
        Cell { offset, content }
    }

    fn quoted(&mut self) -> Result<Cell<'a>, Fault> {
        let (offset, bytes) = (self.at, self.text.as_bytes());
        let mut close = offset + 1;
        loop {
            match (bytes.get(close), bytes.get(close + 1)) {
                (None, _) => return Err(Fault::new(offset, "this quote is never closed")),
                (Some(b'"'), Some(b'"')) => close += 2,
                (Some(b'"'), _) => break,
                _ => close += 1,
            }
        }
        let mut content = Cow::Borrowed(&self.text[offset + 1..close]);
        if content.contains('"') {
            content = Cow::Owned(content.replace("\"\"", "\""));
        }
        self.at = close + 1;
        if bytes.get(self.at) == Some(&b'\r') && matches!(bytes.get(self.at + 1), None | Some(b'\n')) {
            self.at += 1;
        }
        match bytes.get(self.at) {
            Some(&byte) if byte != self.delimiter && byte != b'\n' => {
                Err(Fault::new(close + 1, "text follows the closing quote of a cell"))
            }
            _ => Ok(Cell { offset, content }),
        }
    }
}

/// The number that a cell consists of: an optional sign, decimal digits with at most one point, and an optional exponent. It is
/// rounded to the nearest binary64 number by the standard library. `None` for all other cells.
pub(crate) fn number(cell: &str) -> Option<f64> {
    // Besides decimals the parser of the standard library accepts only the words for infinity and NaN.
    cell.parse().ok().filter(|value: &f64| value.is_finite())
}

/// Whether a cell denotes a missing value.
pub(crate) fn is_missing(cell: &str) -> bool {
    let (cell, words) = (cell.trim_ascii(), ["?", "NA", "N/A", "NaN", "null"]);
    cell.is_empty() || words.iter().any(|word| cell.eq_ignore_ascii_case(word))
}
