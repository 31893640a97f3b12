//! Where in a file something stands. Parsers know offsets only; lines are counted when an error needs them.

use memchr::{memchr_iter, memrchr};

use crate::error::{Error, Position};

/// What a piece of text was read from: its name, and the line on which the piece starts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    /// The name for messages.
    pub(crate) name: &'a str,
    /// The line on which the text starts, from 1.
    pub(crate) first_line: u64,
}

impl<'a> Place<'a> {
    /// The start of a file.
    pub(crate) fn start(name: &'a str) -> Self {
        Place { name, first_line: 1 }
    }

    /// Line and column of `offset` within `text`.
    pub(crate) fn position(&self, text: &[u8], offset: usize) -> Position {
        let before = &text[..offset.min(text.len())];
        let line_start = memrchr(b'\n', before).map_or(0, |at| at + 1);
        Position {
            line: self.first_line + lines(&before[..line_start]),
            column: 1 + characters(&before[line_start..]),
        }
    }

    /// Positions of increasing offsets, in one pass over the text.
    pub(crate) fn positions(&self, text: &[u8], offsets: &[usize]) -> Vec<Position> {
        let mut from = 0;
        let mut here = Position {
            line: self.first_line,
            column: 1,
        };
        // Each step looks only at what lies between two offsets: a line may be long and have many of them.
        let step = |&offset: &usize| {
            let between = &text[from..offset];
            from = offset;
            match memrchr(b'\n', between) {
                Some(end) => {
                    here.line += lines(between);
                    here.column = 1 + characters(&between[end + 1..]);
                }
                None => here.column += characters(between),
            }
            here
        };
        offsets.iter().map(step).collect()
    }
}

/// An error at an offset of the text that is being parsed.
#[derive(Debug)]
pub(crate) struct Fault {
    /// Offset in bytes.
    pub(crate) offset: usize,
    /// What is wrong there.
    pub(crate) error: Error,
}

impl Fault {
    /// A violation of the format at `offset`.
    pub(crate) fn parse(offset: usize, message: impl Into<String>) -> Self {
        Fault {
            offset,
            error: Error::parse(message),
        }
    }

    /// Adds what the user can do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.error = self.error.hint(hint);
        self
    }

    /// The same fault, told in offsets of a text in which this one starts at `start`.
    pub(crate) fn shifted(mut self, start: usize) -> Self {
        self.offset += start;
        self
    }

    /// The error with file, line and column.
    pub(crate) fn locate(self, text: &[u8], place: &Place) -> Error {
        let Position { line, column } = place.position(text, self.offset);
        self.error.at(line, column).in_file(place.name)
    }
}

/// The number of line ends in `text`.
pub(crate) fn lines(text: &[u8]) -> u64 {
    memchr_iter(b'\n', text).count() as u64
}

/// The number of characters in `text`; what is not UTF-8 counts by its leading bytes.
fn characters(text: &[u8]) -> u64 {
    text.iter().filter(|&&byte| byte & 0xC0 != 0x80).count() as u64
}

/// The text without the byte order mark that some programs put first.
pub(crate) fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_are_counted_in_characters() {
        let text = "ab\nüx\n\nz".as_bytes();
        let place = Place {
            name: "f",
            first_line: 10,
        };
        let found: Vec<_> = [0, 1, 5, 7, 8].map(|offset| place.position(text, offset)).into();
        let expected = [(10, 1), (10, 2), (11, 2), (12, 1), (13, 1)];
        assert_eq!(found, expected.map(|(line, column)| Position { line, column }));
        assert_eq!(place.positions(text, &[0, 1, 1, 5, 7, 8])[2..], found[1..]);
    }
}
