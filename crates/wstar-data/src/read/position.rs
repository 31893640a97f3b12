//! Positions in a file, for messages. Parsers only track byte offsets; lines are counted when a message needs them.

use crate::error::Remedy;
use memchr::{memchr_iter, memrchr};

use crate::error::{Error, Position};

/// Where a text was read from: the name of its file, and the line on which the text starts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextPosition<'a> {
    /// The name for messages.
    pub(crate) name: &'a str,
    /// The line on which the text starts, from 1.
    pub(crate) first_line: u64,
}

impl<'a> TextPosition<'a> {
    /// The start of a file.
    pub(crate) fn start(name: &'a str) -> Self {
        TextPosition { name, first_line: 1 }
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

    /// The positions of increasing offsets, in one pass over the text.
    pub(crate) fn positions(&self, text: &[u8], offsets: &[usize]) -> Vec<Position> {
        let mut from = 0;
        let mut here = Position {
            line: self.first_line,
            column: 1,
        };
        // Each step scans only the bytes between two offsets: a long line may contain many of them.
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
    /// The error at this offset.
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
    pub(crate) fn remedy(mut self, remedy: impl Into<Remedy>) -> Self {
        self.error = self.error.remedy(remedy);
        self
    }

    /// The same fault with its offset shifted by `start`, the offset of its text in a longer one.
    pub(crate) fn shifted(mut self, start: usize) -> Self {
        self.offset += start;
        self
    }

    /// The error with file, line and column.
    pub(crate) fn locate(self, text: &[u8], origin: &TextPosition) -> Error {
        let Position { line, column } = origin.position(text, self.offset);
        self.error.at(line, column).in_file(origin.name)
    }
}

/// The number of line ends in `text`.
pub(crate) fn lines(text: &[u8]) -> u64 {
    memchr_iter(b'\n', text).count() as u64
}

/// The number of characters in `text`. Invalid UTF-8 counts by its leading bytes.
fn characters(text: &[u8]) -> u64 {
    text.iter().filter(|&&byte| byte & 0xC0 != 0x80).count() as u64
}

/// The text without a leading byte order mark.
pub(crate) fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_are_counted_in_characters() {
        let text = "ab\nüx\n\nz".as_bytes();
        let origin = TextPosition {
            name: "f",
            first_line: 10,
        };
        let found: Vec<_> = [0, 1, 5, 7, 8].map(|offset| origin.position(text, offset)).into();
        let expected = [(10, 1), (10, 2), (11, 2), (12, 1), (13, 1)];
        assert_eq!(found, expected.map(|(line, column)| Position { line, column }));
        assert_eq!(origin.positions(text, &[0, 1, 1, 5, 7, 8])[2..], found[1..]);
    }
}
