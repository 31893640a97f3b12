//! Comma-separated values (RFC 4180) in UTF-8: rows of cells.
//!
//! A cell that starts with a quote ends with one, and a quote inside it is written twice; it may contain separators and line
//! ends. Between tabs, where quotes are not customary, a cell is quoted only if it starts and ends with a quote, and it
//! contains no tab and no line end. Lines end with LF or CRLF. Blank lines, which consist of spaces, are skipped. Blanks around
//! an unquoted cell do not belong to it. Every row has as many cells as the first. Everything else is refused.

use std::borrow::Cow;

use crate::unreadable::Fault;

/// A CSV text and its separator.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Csv<'a> {
    text: &'a str,
    delimiter: u8,
    at: usize,
}

/// The range of a cell's content, without quotes around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell {
    start: usize,
    end: usize,
    quoted: bool,
}

impl Cell {
    /// The offset of the cell, with the quote that opens it.
    pub(crate) fn offset(&self) -> usize {
        self.start - usize::from(self.quoted)
    }

    /// The content. Blanks around it are removed unless they are quoted, and doubled quotes are replaced by single ones.
    pub(crate) fn content<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let content = &text[self.start..self.end];
        match self.quoted {
            false => Cow::Borrowed(content.trim_ascii()),
            true if content.contains('"') => Cow::Owned(content.replace("\"\"", "\"")),
            true => Cow::Borrowed(content),
        }
    }

    /// The content without blanks around it, for a number.
    pub(crate) fn trimmed<'a>(&self, text: &'a str) -> &'a str {
        text[self.start..self.end].trim_ascii()
    }
}

/// The text of a file: UTF-8 without NUL bytes, and without the byte order mark that may precede it.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, Fault> {
    let text =
        std::str::from_utf8(bytes).map_err(|error| Fault::new(error.valid_up_to(), "this is not UTF-8"))?;
    match bytes.iter().position(|byte| *byte == 0) {
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
    pub(crate) fn next(&mut self, cells: &mut Vec<Cell>) -> Result<bool, Fault> {
        cells.clear();
        self.skip_blank_lines();
        if self.at >= self.text.len() {
            return Ok(false);
        }
        loop {
            let cell = self.cell()?;
            cells.push(cell);
            // The separator, line end or end of the text that ends the cell is at `self.at`.
            let byte = self.text.as_bytes().get(self.at);
            self.at += usize::from(byte.is_some());
            if byte != Some(&self.delimiter) {
                return Ok(true);
            }
        }
    }

    fn skip_blank_lines(&mut self) {
        let bytes = self.text.as_bytes();
        loop {
            let mut end = self.at;
            while let Some(b' ' | b'\r') = bytes.get(end) {
                end += 1;
            }
            match bytes.get(end) {
                None => self.at = end,
                Some(b'\n') => {
                    self.at = end + 1;
                    continue;
                }
                Some(_) => {}
            }
            return;
        }
    }

    /// Reads one cell and moves to the byte after it.
    fn cell(&mut self) -> Result<Cell, Fault> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        if bytes.get(start) == Some(&b'"') && self.delimiter != b'\t' {
            return self.quoted();
        }
        let rest = &bytes[start.min(bytes.len())..];
        let length = rest
            .iter()
            .position(|&byte| byte == self.delimiter || byte == b'\n');
        self.at = start + length.unwrap_or(rest.len());
        let at_line_end = bytes.get(self.at) != Some(&self.delimiter);
        let mut end = self.at;
        if at_line_end && end > start && bytes[end - 1] == b'\r' {
            end -= 1;
        }
        let mut cell = Cell {
            start,
            end,
            quoted: false,
        };
        if let Some(inside) = inside_quotes(&self.text[start..end]).filter(|_| self.delimiter == b'\t') {
            cell = Cell {
                start: start + 1,
                end: start + 1 + inside.len(),
                quoted: true,
            };
        }
        Ok(cell)
    }

    fn quoted(&mut self) -> Result<Cell, Fault> {
        let bytes = self.text.as_bytes();
        let open = self.at;
        let mut close = open + 1;
        loop {
            match (bytes.get(close), bytes.get(close + 1)) {
                (None, _) => return Err(Fault::new(open, "this quote is never closed")),
                (Some(b'"'), Some(b'"')) => close += 2,
                (Some(b'"'), _) => break,
                _ => close += 1,
            }
        }
        self.at = close + 1;
        if bytes.get(self.at) == Some(&b'\r') && matches!(bytes.get(self.at + 1), None | Some(b'\n')) {
            self.at += 1;
        }
        match bytes.get(self.at) {
            Some(&byte) if byte != self.delimiter && byte != b'\n' => {
                Err(Fault::new(close + 1, "text follows the closing quote of a cell"))
            }
            _ => Ok(Cell {
                start: open + 1,
                end: close,
                quoted: true,
            }),
        }
    }
}

/// What stands between the quotes of a cell of a file with tabs, if it is quoted.
fn inside_quotes(cell: &str) -> Option<&str> {
    let inside = cell.strip_prefix('"')?.strip_suffix('"')?;
    let single = inside.replace("\"\"", "");
    (!single.contains('"')).then_some(inside)
}

/// The number that a cell consists of: an optional sign, decimal digits with at most one point, and an optional exponent. It is
/// rounded to the nearest binary64 number by the standard library. `None` for all other cells.
pub(crate) fn number(cell: &str) -> Option<f64> {
    // Besides decimals the parser of the standard library accepts only the words for infinity and NaN.
    cell.parse().ok().filter(|value: &f64| value.is_finite())
}

/// Whether a cell denotes a missing value.
pub(crate) fn is_missing(cell: &str) -> bool {
    let words = ["?", "NA", "N/A", "NaN", "null"];
    cell.is_empty() || words.iter().any(|word| cell.eq_ignore_ascii_case(word))
}
