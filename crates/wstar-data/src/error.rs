//! The error type of the whole library: the cause, the position, and a remedy.

use std::fmt;

use crate::one_of_each;
use crate::setting::{Choice, Command, Plain, Setting, Wording};

/// The result of an operation that can fail because of its input.
pub type Result<T> = std::result::Result<T, Error>;

/// The kind of an error, for programs that react to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file could not be opened, read or written.
    Io,
    /// A file does not follow its format.
    Parse,
    /// The data are well-formed but cannot be used as asked (one class, a missing value …).
    Data,
    /// A setting is out of range or incompatible with another one.
    Settings,
    /// A model file is damaged, too new, or does not fit the data.
    Model,
}

/// A position in a file. Lines and columns are counted from 1; a column of 0 means the whole line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The line, from 1.
    pub line: u64,
    /// The column in characters, from 1; 0 for the whole line.
    pub column: u64,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Cause {
    /// A fact about a file, the data or a model, as a sentence that names no setting.
    Fact(String),
    /// A setting has a value outside its range.
    OutOfRange {
        /// The setting.
        setting: Setting,
        /// The values that it accepts.
        range: Range,
        /// The value given.
        value: String,
    },
    /// Two settings exclude each other.
    Conflict {
        /// The choice that was given.
        one: Choice,
        /// The choice with which it is incompatible.
        other: Choice,
        /// The reason, if it is not obvious.
        why: Option<String>,
    },
    /// A choice that cannot be used here.
    Misuse {
        /// The choice.
        choice: Choice,
        /// The rest of the sentence that starts with the choice.
        what: String,
    },
}

impl Cause {
    /// The cause as a sentence, in the wording of a front end.
    pub fn worded(&self, wording: &dyn Wording) -> String {
        match self {
            Cause::Fact(text) => text.clone(),
            Cause::OutOfRange {
                setting,
                range,
                value,
            } => {
                format!("{} must {range}, not {value}", wording.choice(&setting.given()))
            }
            Cause::Conflict { one, other, why } => {
                let why = why.as_ref().map_or(String::new(), |why| format!(", {why}"));
                format!(
                    "{} does not go with {}{why}",
                    wording.choice(one),
                    wording.choice(other)
                )
            }
            Cause::Misuse { choice, what } => format!("{} {what}", wording.choice(choice)),
        }
    }

    /// One value of every variant at least, for the tests of a front end's wording.
    pub fn samples() -> Vec<Cause> {
        let range = |range| Cause::OutOfRange {
            setting: Setting::MaxIter,
            range,
            value: "0".into(),
        };
        let conflict = |why: Option<&str>| Cause::Conflict {
            one: Setting::Schedule.given(),
            other: Setting::Method.to("kozinec"),
            why: why.map(Into::into),
        };
        one_of_each!(Cause {
            Cause::Fact(_) => [Cause::Fact("the file is empty".into())],
            Cause::OutOfRange { .. } => Range::samples().into_iter().map(range),
            Cause::Conflict { .. } => [conflict(None), conflict(Some("which has no learning rate"))],
            Cause::Misuse { .. } => [Cause::Misuse {
                choice: Setting::Firth.given(),
                what: "is for two classes".into(),
            }],
        })
    }
}

/// The values that a setting accepts.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Range {
    /// Finite and greater than 0.
    Positive,
    /// At least this.
    AtLeast(f64),
    /// At least the first, at most the second.
    Between(f64, f64),
    /// Greater than the first, less than the second.
    StrictlyBetween(f64, f64),
    /// At least the first, less than the second.
    FromBelow(f64, f64),
    /// Any finite number.
    Finite,
}

impl Range {
    /// One value of every variant, for the tests of a front end's wording.
    pub fn samples() -> Vec<Range> {
        one_of_each!(Range {
            Range::Positive => [Range::Positive],
            Range::AtLeast(_) => [Range::AtLeast(1.0)],
            Range::Between(..) => [Range::Between(0.0, 1.0)],
            Range::StrictlyBetween(..) => [Range::StrictlyBetween(0.0, 1.0)],
            Range::FromBelow(..) => [Range::FromBelow(0.0, 1.0)],
            Range::Finite => [Range::Finite],
        })
    }
}

impl fmt::Display for Range {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Range::Positive => write!(out, "be a positive number"),
            Range::AtLeast(least) => write!(out, "be at least {least}"),
            Range::Between(least, most) => write!(out, "lie between {least} and {most}"),
            Range::StrictlyBetween(least, most) => write!(out, "lie strictly between {least} and {most}"),
            Range::FromBelow(least, most) => write!(out, "be at least {least} and less than {most}"),
            Range::Finite => write!(out, "be a finite number"),
        }
    }
}

/// What the user can do about an error.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Remedy {
    /// Use one of these settings.
    Use(Vec<Choice>),
    /// Leave a setting out.
    LeaveOut(Setting),
    /// A choice, and the effect that it would have.
    Effect(Choice, String),
    /// A command to run, and the words before it.
    Run(String, Command),
    /// Advice that names no setting.
    Advice(String),
    /// Any of these.
    Either(Vec<Remedy>),
}

impl Remedy {
    /// One value of every variant at least, for the tests of a front end's wording.
    pub fn samples() -> Vec<Remedy> {
        let choices = || vec![Setting::Missing.any(["mean", "drop"]), Setting::Drop.to("delay")];
        one_of_each!(Remedy {
            Remedy::Use(_) => [Remedy::Use(choices())],
            Remedy::LeaveOut(_) => Setting::ALL.iter().copied().map(Remedy::LeaveOut),
            Remedy::Effect(..) => [Remedy::Effect(
                Setting::Missing.to("drop"),
                "leaves such rows out".into(),
            )],
            Remedy::Run(..) => Command::ALL
                .iter()
                .map(|&command| Remedy::Run("write it again with".into(), command)),
            Remedy::Advice(_) => [Remedy::Advice("rename one of them".into())],
            Remedy::Either(_) => [Remedy::Either(vec![
                Remedy::Use(choices()),
                Remedy::Advice("drop columns".into()),
            ])],
        })
    }

    /// The remedy in a few words, in the wording of a front end.
    pub fn worded(&self, wording: &dyn Wording) -> String {
        match self {
            Remedy::Use(choices) => {
                let words: Vec<String> = choices.iter().map(|choice| wording.choice(choice)).collect();
                format!("use {}", words.join(", or "))
            }
            Remedy::LeaveOut(setting) => format!("leave {} out", wording.choice(&setting.given())),
            Remedy::Effect(choice, what) => format!("{} {what}", wording.choice(choice)),
            Remedy::Run(before, command) => format!("{before} {}", wording.command(*command)),
            Remedy::Advice(text) => text.clone(),
            Remedy::Either(remedies) => {
                let words: Vec<String> = remedies.iter().map(|remedy| remedy.worded(wording)).collect();
                words.join(", or ")
            }
        }
    }
}

impl From<Choice> for Remedy {
    fn from(choice: Choice) -> Self {
        Remedy::Use(vec![choice])
    }
}

impl<const N: usize> From<[Choice; N]> for Remedy {
    fn from(choices: [Choice; N]) -> Self {
        Remedy::Use(choices.into())
    }
}

impl From<&str> for Remedy {
    fn from(text: &str) -> Self {
        Remedy::Advice(text.into())
    }
}

impl From<String> for Remedy {
    fn from(text: String) -> Self {
        Remedy::Advice(text)
    }
}

/// An error: its cause, the position in a file, and a remedy.
///
/// It is displayed on one line as `file:line:column: cause (remedy)`, with the library's names of the settings. A front end
/// uses its own names with [`Error::worded`].
///
/// ```
/// use wstar_data::error::{Cause, Error, ErrorKind};
/// use wstar_data::setting::Setting;
/// let error = Error::conflict(Setting::Loss.to("hinge"), Setting::Method.to("lad"))
///     .remedy(Setting::Loss.any(["absolute"]));
/// assert_eq!(error.kind(), ErrorKind::Settings);
/// assert!(matches!(error.cause(), Cause::Conflict { .. }));
/// assert_eq!(error.to_string(), "loss = hinge does not go with method = lad (use loss = absolute)");
/// ```
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    file: Option<String>,
    position: Option<Position>,
    cause: Box<Cause>,
    remedy: Option<Box<Remedy>>,
}

impl std::error::Error for Error {}

/// For conversions that cannot fail.
impl From<std::convert::Infallible> for Error {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

impl Error {
    /// An error of the given kind without a position.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error::with_cause(kind, Cause::Fact(message.into()))
    }

    fn with_cause(kind: ErrorKind, cause: Cause) -> Self {
        Error {
            kind,
            file: None,
            position: None,
            cause: Box::new(cause),
            remedy: None,
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

    /// Inconsistent settings, described without naming one.
    pub fn settings(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Settings, message)
    }

    /// A setting out of its range.
    pub fn out_of_range(setting: Setting, range: Range, value: impl ToString) -> Self {
        let value = value.to_string();
        Error::with_cause(
            ErrorKind::Settings,
            Cause::OutOfRange {
                setting,
                range,
                value,
            },
        )
    }

    /// Two settings that exclude each other.
    pub fn conflict(one: Choice, other: Choice) -> Self {
        let why = None;
        Error::with_cause(ErrorKind::Settings, Cause::Conflict { one, other, why })
    }

    /// A choice that cannot be used here; `what` is the rest of the sentence.
    pub fn misuse(choice: Choice, what: impl Into<String>) -> Self {
        let what = what.into();
        Error::with_cause(ErrorKind::Settings, Cause::Misuse { choice, what })
    }

    /// A model that is damaged, too new, or made for other data.
    pub fn model(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Model, message)
    }

    /// An error of the operating system, on one line.
    pub fn io(file: impl Into<String>, cause: &std::io::Error) -> Self {
        // The system's message ends in "(os error 2)", which means nothing to a user.
        let text = cause.to_string();
        let text = text.split(" (os error").next().unwrap_or_default();
        Error::new(ErrorKind::Io, text.to_lowercase()).in_file(file)
    }

    /// Adds the reason why two settings exclude each other.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        if let Cause::Conflict { why, .. } = &mut *self.cause {
            *why = Some(reason.into());
        }
        self
    }

    /// The same cause, as another kind of error.
    #[must_use]
    pub fn of_kind(self, kind: ErrorKind) -> Self {
        Error { kind, ..self }
    }

    /// Adds the file, unless one is set already.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<String>) -> Self {
        self.file.get_or_insert_with(|| file.into());
        self
    }

    /// Adds the line and the column (from 1; column 0 means the whole line), unless a position is set already.
    #[must_use]
    pub fn at(mut self, line: u64, column: u64) -> Self {
        self.position.get_or_insert(Position { line, column });
        self
    }

    /// Adds what the user can do about it.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<Remedy>) -> Self {
        self.remedy = Some(Box::new(remedy.into()));
        self
    }

    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The file in which it happened, if it happened in one.
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// The position in the file.
    pub fn position(&self) -> Option<Position> {
        self.position
    }

    /// What went wrong.
    pub fn cause(&self) -> &Cause {
        &self.cause
    }

    /// What the user can do about it.
    pub fn what_to_do(&self) -> Option<&Remedy> {
        self.remedy.as_deref()
    }

    /// The cause without file, position and remedy, in the wording of a front end.
    pub fn message(&self, wording: &dyn Wording) -> String {
        self.cause.worded(wording)
    }

    /// The whole error on one line, in the wording of a front end.
    pub fn worded(&self, wording: &dyn Wording) -> String {
        let mut line = String::new();
        if let Some(file) = &self.file {
            line += &one_line(file);
            line.push(':');
            if let Some(Position { line: number, column }) = self.position {
                line += &format!("{number}:");
                if column > 0 {
                    line += &format!("{column}:");
                }
            }
            line.push(' ');
        }
        line += &one_line(&self.message(wording));
        if let Some(remedy) = &self.remedy {
            line += &format!(" ({})", one_line(&remedy.worded(wording)));
        }
        line
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.worded(&Plain))
    }
}

/// Escapes control characters. Names of files and columns may contain any character; this keeps a message on one line and
/// protects the terminal.
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

/// A value quoted for a one-line message: shortened, with control characters escaped.
pub fn shown(value: &str) -> String {
    /// Cap: longer values are cut off after this many characters.
    const LONGEST: usize = 40;
    let mut text: String = value.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if value.chars().nth(LONGEST).is_some() {
        text.push('…');
    }
    format!("\"{text}\"")
}

/// The known name closest to a mistyped one in Damerau–Levenshtein distance, if it is close enough to be suggested.
/// Heuristic: one edit, and one more for every three characters of the shorter name; not measured yet.
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
    fn an_error_is_one_line_with_position_and_remedy() {
        let error = Error::parse("\"n/a\" is not a number in column delay")
            .remedy([Setting::Missing.any(["mean", "drop"]), Setting::Drop.to("delay")])
            .at(1207, 14)
            .in_file("flights.csv");
        assert_eq!(
            error.to_string(),
            "flights.csv:1207:14: \"n/a\" is not a number in column delay (use missing = mean|drop, or drop = delay)"
        );
    }

    #[test]
    fn causes_name_their_settings() {
        let error = Error::out_of_range(Setting::Momentum, Range::FromBelow(0.0, 1.0), 2.0);
        assert_eq!(
            error.to_string(),
            "momentum must be at least 0 and less than 1, not 2"
        );
        let error = Error::conflict(Setting::Schedule.given(), Setting::Method.to("kozinec"))
            .because("which has no learning rate")
            .remedy(Remedy::LeaveOut(Setting::Schedule));
        assert_eq!(
            error.to_string(),
            "schedule does not go with method = kozinec, which has no learning rate (leave schedule out)"
        );
    }

    #[test]
    fn control_characters_in_names_are_escaped() {
        let error = Error::data("no column \u{1b}[31m\nx").in_file("a\nb.csv");
        assert_eq!(error.to_string(), "a\\nb.csv: no column \\u{1b}[31m\\nx");
    }

    #[test]
    fn shown_values_stay_on_one_line() {
        assert_eq!(shown("a\nb\0"), "\"a\\nb\\0\"");
        assert!(shown(&"x".repeat(1_000_000)).chars().count() < 50);
    }

    #[test]
    fn only_close_names_are_suggested() {
        let names = ["balance", "income", "student"];
        assert_eq!(nearest("ballance", names), Some("balance"));
        assert_eq!(nearest("Income", names), Some("income"));
        assert_eq!(nearest("zzz", names), None);
    }
}
