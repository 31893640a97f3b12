//! One error type for the whole library: what the caller did wrong, where, and what to do about it.

use std::fmt;

/// The result of anything that a caller's input can make fail.
pub type Result<T> = std::result::Result<T, Error>;

/// What kind of thing went wrong; for programs that want to react to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file could not be opened, read or written.
    Io,
    /// A file does not follow its format.
    Parse,
    /// The data are well-formed but cannot be used as asked (one class, a missing value …).
    Data,
    /// A setting is out of range or does not go with another one.
    Settings,
    /// A model file is damaged, too new, or does not fit the data.
    Model,
}

/// A position in a file: line and column are counted from 1; a column of 0 means the whole line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Line, from 1.
    pub line: u64,
    /// Column in characters, from 1; 0 for the whole line.
    pub column: u64,
}

/// What went wrong, where, and what to do about it.
///
/// Displayed on one line, as `file:line:column: message (hint)`.
#[derive(Debug, thiserror::Error)]
pub struct Error {
    kind: ErrorKind,
    file: Option<String>,
    position: Option<Position>,
    message: String,
    hint: Option<String>,
}

impl Error {
    /// An error of the given kind, with no place yet.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error {
            kind,
            file: None,
            position: None,
            message: message.into(),
            hint: None,
        }
    }

    /// A file that does not follow its format.
    pub fn parse(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Parse, message)
    }

    /// Data that cannot be used as asked.
    pub fn data(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Data, message)
    }

    /// A setting out of range, or two that do not go together.
    pub fn settings(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Settings, message)
    }

    /// A model that is damaged, too new, or made for other data.
    pub fn model(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Model, message)
    }

    /// A failure of the operating system, told in one line.
    pub fn io(file: impl Into<String>, cause: &std::io::Error) -> Self {
        // The system's own text ends in "(os error 2)", which tells a user nothing.
        let text = cause.to_string();
        let text = text.split(" (os error").next().unwrap_or_default();
        Error::new(ErrorKind::Io, text.to_lowercase()).in_file(file)
    }

    /// Names the file, unless an inner place was named already.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<String>) -> Self {
        self.file.get_or_insert_with(|| file.into());
        self
    }

    /// Names the line and the column (from 1; column 0 means the whole line).
    #[must_use]
    pub fn at(mut self, line: u64, column: u64) -> Self {
        self.position.get_or_insert(Position { line, column });
        self
    }

    /// Adds what the user can do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Where it happened, if it happened inside a file.
    pub fn position(&self) -> Option<Position> {
        self.position
    }

    /// What went wrong, without place and hint.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(out, "{}:", one_line(file))?;
            if let Some(Position { line, column }) = self.position {
                write!(out, "{line}:")?;
                if column > 0 {
                    write!(out, "{column}:")?;
                }
            }
            write!(out, " ")?;
        }
        write!(out, "{}", one_line(&self.message))?;
        if let Some(hint) = &self.hint {
            write!(out, " ({})", one_line(hint))?;
        }
        Ok(())
    }
}

/// Names of files and columns may hold anything; a message stays on its line, and a terminal in order.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() {
            line.extend(letter.escape_debug());
        } else {
            line.push(letter);
        }
    }
    line
}

/// `value` as it may be shown inside a one-line message: shortened, control characters escaped.
pub(crate) fn shown(value: &str) -> String {
    const LONGEST: usize = 40;
    let mut text: String = value.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if value.chars().nth(LONGEST).is_some() {
        text.push('…');
    }
    format!("\"{text}\"")
}

/// The known name nearest to a mistyped one, if any is near enough to be worth suggesting.
pub(crate) fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted_lower = wanted.to_lowercase();
    known
        .into_iter()
        .map(|name| {
            (
                strsim::damerau_levenshtein(&wanted_lower, &name.to_lowercase()),
                name,
            )
        })
        .filter(|(distance, name)| *distance <= 1 + name.chars().count().min(wanted.chars().count()) / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_with_place_and_hint() {
        let error = Error::parse("\"n/a\" is not a number in column delay")
            .hint("use --missing mean|drop, or --drop delay")
            .at(1207, 14)
            .in_file("flights.csv");
        assert_eq!(
            error.to_string(),
            "flights.csv:1207:14: \"n/a\" is not a number in column delay (use --missing mean|drop, or --drop delay)"
        );
    }

    #[test]
    fn names_cannot_break_the_line() {
        let error = Error::data("no column \u{1b}[31m\nx").in_file("a\nb.csv");
        assert_eq!(error.to_string(), "a\\nb.csv: no column \\u{1b}[31m\\nx");
    }

    #[test]
    fn what_is_shown_stays_on_one_line() {
        assert_eq!(shown("a\nb\0"), "\"a\\nb\\0\"");
        assert!(shown(&"x".repeat(1_000_000)).chars().count() < 50);
    }

    #[test]
    fn the_nearest_name_is_suggested_only_when_near() {
        let names = ["balance", "income", "student"];
        assert_eq!(nearest("ballance", names), Some("balance"));
        assert_eq!(nearest("Income", names), Some("income"));
        assert_eq!(nearest("zzz", names), None);
    }
}
