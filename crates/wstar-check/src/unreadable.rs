//! Input that cannot be read with certainty. Nothing is guessed: whatever a reader is not sure of is refused with its position.

use std::fmt;

/// Why the input cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable(String);

/// What is read, or why it cannot be read.
pub type Reading<T> = Result<T, Unreadable>;

/// An error unless a condition holds.
pub(crate) fn require<T: Into<String>>(holds: bool, reason: impl FnOnce() -> T) -> Reading<()> {
    let refusal = || Unreadable::new(reason());
    holds.then_some(()).ok_or_else(refusal)
}

impl Unreadable {
    /// A reason in words.
    pub fn new(reason: impl Into<String>) -> Self {
        Unreadable(reason.into())
    }

    /// The same reason, about this file.
    #[must_use]
    pub fn in_file(self, name: &str) -> Self {
        Unreadable(format!("{name}: {}", self.0))
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Unreadable {}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) offset: usize,
    pub(crate) message: String,
}

impl Fault {
    pub(crate) fn new(offset: usize, message: impl Into<String>) -> Self {
        Fault {
            offset,
            message: message.into(),
        }
    }

    /// The error with its line and column; both count from 1, columns in bytes.
    pub(crate) fn locate(&self, text: &[u8], name: &str) -> Unreadable {
        let before = text.get(..self.offset).unwrap_or(text);
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let line_start = before
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let column = 1 + before.len() - line_start;
        Unreadable(format!("{name}:{line}:{column}: {}", self.message))
    }
}

/// A text in quotes for a message, shortened to 40 characters.
pub(crate) fn shown(text: &str) -> String {
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}
