//! A strict parser of JSON (RFC 8259). Numbers become the nearest binary64 number; those beyond its range, repeated names in
//! an object, and nesting deeper than 64 levels are refused.

use std::collections::{BTreeMap, BTreeSet};

use crate::training_rows::in_range;
use crate::unreadable::{Fault, Reading, Unreadable, shown};

/// The deepest nesting of arrays and objects. Cap: it bounds the depth of the recursion.
const DEEPEST: usize = 64;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Boolean(bool),
    Number(f64),
    Text(String),
    Array(Vec<Value>),
    Object(BTreeMap<String, Value>),
}

impl Value {
    fn as_number(&self) -> Option<f64> {
        match self {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }
}

pub(crate) fn parse(text: &str) -> Result<Value, Fault> {
    let mut parser = Parser {
        text,
        bytes: text.as_bytes(),
        at: 0,
    };
    let value = parser.value(0)?;
    parser.skip_blanks();
    match parser.bytes.get(parser.at) {
        None => Ok(value),
        Some(_) => Err(parser.fault("text follows the document")),
    }
}

struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn fault(&self, message: &str) -> Fault {
        let at_end = self.at >= self.bytes.len();
        Fault::new(
            self.at,
            if at_end {
                "the document ends early"
            } else {
                message
            },
        )
    }

    fn expect(&self, holds: bool, message: &str) -> Result<(), Fault> {
        holds.then_some(()).ok_or_else(|| self.fault(message))
    }

    /// Skips bytes of a kind, and counts them.
    fn skip(&mut self, kind: impl Fn(&u8) -> bool) -> usize {
        let count = self.bytes[self.at..].iter().take_while(|byte| kind(byte)).count();
        self.at += count;
        count
    }

    fn skip_blanks(&mut self) {
        self.skip(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    }

    /// Consumes this byte if it is the next one.
    fn take(&mut self, byte: u8) -> bool {
        let found = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, depth: usize) -> Result<Value, Fault> {
        self.skip_blanks();
        match self.bytes.get(self.at) {
            Some(b'{' | b'[') if depth >= DEEPEST => {
                Err(self.fault("arrays and objects are nested too deeply"))
            }
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(Value::Text(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<Value, Fault> {
        let boolean = Value::Boolean;
        let words = [
            ("null", Value::Null),
            ("true", boolean(true)),
            ("false", boolean(false)),
        ];
        let found = words
            .into_iter()
            .find(|(word, _)| self.text[self.at..].starts_with(word));
        let (word, value) = found.ok_or_else(|| self.fault("a value is expected"))?;
        self.at += word.len();
        Ok(value)
    }

    fn object(&mut self, depth: usize) -> Result<Value, Fault> {
        let mut fields = BTreeMap::new();
        self.list(b'}', |parser| {
            parser.skip_blanks();
            let start = parser.at;
            let is_name = parser.bytes.get(start) == Some(&b'"');
            parser.expect(is_name, "the name of a field is expected")?;
            let name = parser.string()?;
            parser.skip_blanks();
            let colon = parser.take(b':');
            parser.expect(colon, "a colon is expected")?;
            let value = parser.value(depth + 1)?;
            let repeated = || Fault::new(start, format!("the field {} is repeated", shown(&name)));
            fields
                .insert(name.clone(), value)
                .map_or(Ok(()), |_| Err(repeated()))
        })?;
        Ok(Value::Object(fields))
    }

    fn array(&mut self, depth: usize) -> Result<Value, Fault> {
        let mut items = Vec::new();
        self.list(b']', |parser| {
            items.push(parser.value(depth + 1)?);
            Ok(())
        })?;
        Ok(Value::Array(items))
    }

    /// Reads items with commas between them, from the opening bracket to the closing one.
    fn list(&mut self, end: u8, mut item: impl FnMut(&mut Self) -> Result<(), Fault>) -> Result<(), Fault> {
        self.at += 1;
        self.skip_blanks();
        if self.take(end) {
            return Ok(());
        }
        loop {
            item(self)?;
            self.skip_blanks();
            if self.take(end) {
                return Ok(());
            }
            let more = self.take(b',');
            self.expect(more, "a comma or a closing bracket is expected")?;
        }
    }

    fn digits(&mut self) -> Result<(), Fault> {
        let found = self.skip(u8::is_ascii_digit) > 0;
        self.expect(found, "a digit is expected")
    }

    fn number(&mut self) -> Result<Value, Fault> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'-') || self.take(b'+');
            self.digits()?;
        }
        // The standard library rounds correctly.
        match self.text[start..self.at].parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Value::Number(number)),
            _ => Err(Fault::new(start, "the number is too large")),
        }
    }

    fn string(&mut self) -> Result<String, Fault> {
        self.at += 1;
        let mut content = String::new();
        loop {
            let start = self.at;
            self.skip(|byte| !matches!(byte, b'"' | b'\\' | ..0x20));
            content.push_str(&self.text[start..self.at]);
            if self.take(b'"') {
                return Ok(content);
            }
            let escaped = self.take(b'\\');
            self.expect(escaped, "a control character in a string")?;
            content.push(self.escape()?);
        }
    }

    fn escape(&mut self) -> Result<char, Fault> {
        let escaped = self.bytes.get(self.at).copied();
        self.at += 1;
        Ok(match escaped {
            Some(same @ (b'"' | b'\\' | b'/')) => char::from(same),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(),
            _ => return Err(Fault::new(self.at - 1, "an unknown escape in a string")),
        })
    }

    /// A character as one or two groups of four hexadecimal digits in UTF-16.
    fn unicode(&mut self) -> Result<char, Fault> {
        let start = self.at;
        let broken = || Fault::new(start, "an invalid \\u escape in a string");
        let mut units = vec![self.code_unit().ok_or_else(broken)?];
        if (0xd800..0xdc00).contains(&units[0]) && self.take(b'\\') && self.take(b'u') {
            units.push(self.code_unit().ok_or_else(broken)?);
        }
        let mut characters = char::decode_utf16(units);
        match (characters.next(), characters.next()) {
            (Some(Ok(character)), None) => Ok(character),
            _ => Err(broken()),
        }
    }

    fn code_unit(&mut self) -> Option<u16> {
        let group = self.bytes.get(self.at..self.at + 4)?;
        self.at += 4;
        group.iter().try_fold(0, |unit, &digit| {
            Some(unit << 4 | char::from(digit).to_digit(16)? as u16)
        })
    }
}

/// A value with its path in the document, for messages.
#[derive(Debug, Clone)]
pub(crate) struct Node<'a> {
    value: &'a Value,
    path: String,
}

impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<'a> Node<'a> {
    pub(crate) fn root(value: &'a Value) -> Self {
        Node {
            value,
            path: String::new(),
        }
    }

    pub(crate) fn refuse(&self, what: &str) -> Unreadable {
        let colon = if self.path.is_empty() { "" } else { ": " };
        Unreadable::new(format!("{}{colon}{what}", self.path))
    }

    /// What is found in this value, or an error.
    fn expected<T>(&self, found: Option<T>, what: &str) -> Reading<T> {
        found.ok_or_else(|| self.refuse(&format!("{what} is expected")))
    }

    /// An error about this value unless a condition holds.
    pub(crate) fn require(&self, holds: bool, what: &str) -> Reading<()> {
        holds.then_some(()).ok_or_else(|| self.refuse(what))
    }

    /// A field that may be absent; `null` counts as absent.
    pub(crate) fn optional(&self, name: &str) -> Reading<Option<Node<'a>>> {
        let Value::Object(fields) = self.value else {
            return Err(self.refuse("an object is expected"));
        };
        let dot = if self.path.is_empty() { "" } else { "." };
        let field = fields.get(name).filter(|value| **value != Value::Null);
        let path = || format!("{}{dot}{name}", self.path);
        Ok(field.map(|value| Node { value, path: path() }))
    }

    pub(crate) fn field(&self, name: &str) -> Reading<Node<'a>> {
        let missing = || self.refuse(&format!("the field {name} is missing"));
        self.optional(name)?.ok_or_else(missing)
    }

    /// What is read from a field that may be absent.
    pub(crate) fn maybe<T>(
        &self,
        name: &str,
        read: impl FnOnce(Node<'a>) -> Reading<T>,
    ) -> Reading<Option<T>> {
        self.optional(name)?.map(read).transpose()
    }

    /// One of several words.
    pub(crate) fn choice<T: Copy>(&self, words: &[(&str, T)], what: &str) -> Reading<T> {
        let text = self.text()?;
        let found = words.iter().find(|(word, _)| *word == text);
        let unknown = || self.refuse(&format!("an unknown {what}"));
        found.map(|(_, meaning)| *meaning).ok_or_else(unknown)
    }

    pub(crate) fn items(&self) -> Reading<Vec<Node<'a>>> {
        let Value::Array(items) = self.value else {
            return Err(self.refuse("an array is expected"));
        };
        let path = |i: usize| format!("{}[{i}]", self.path);
        let item = |(i, value)| Node { value, path: path(i) };
        Ok(items.iter().enumerate().map(item).collect())
    }

    pub(crate) fn numbers(&self) -> Reading<Vec<f64>> {
        let numbers = match self.value {
            Value::Array(items) => items.iter().map(Value::as_number).collect(),
            _ => None,
        };
        self.expected(numbers, "an array of numbers")
    }

    /// So many numbers in the range of the error bounds.
    pub(crate) fn numbers_in_range(&self, count: usize) -> Reading<Vec<f64>> {
        let numbers = self.numbers()?;
        let fits = numbers.len() == count && numbers.iter().all(|x| in_range(*x));
        self.require(
            fits,
            "another length, or a number outside 1e-140 to 1e140 in size",
        )?;
        Ok(numbers)
    }

    /// Rows of so many numbers in the range of the error bounds.
    pub(crate) fn table_in_range(&self, rows: usize, columns: usize) -> Reading<Vec<Vec<f64>>> {
        let items = self.items()?;
        self.require(items.len() == rows, "another number of rows")?;
        items.iter().map(|row| row.numbers_in_range(columns)).collect()
    }

    pub(crate) fn texts(&self) -> Reading<Vec<String>> {
        self.items()?
            .iter()
            .map(|item| item.text().map(str::to_owned))
            .collect()
    }

    /// The names of an array, none of which is repeated.
    pub(crate) fn names(&self) -> Reading<Vec<String>> {
        let names = self.texts()?;
        let distinct = names.iter().collect::<BTreeSet<_>>().len();
        self.require(distinct == names.len(), "a name is repeated")?;
        Ok(names)
    }

    pub(crate) fn text(&self) -> Reading<&'a str> {
        self.expected(self.as_text(), "a string")
    }

    pub(crate) fn as_text(&self) -> Option<&'a str> {
        match self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn number(&self) -> Reading<f64> {
        self.expected(self.value.as_number(), "a number")
    }

    /// An integer from 0 to 2⁵³ − 1.
    pub(crate) fn count(&self) -> Reading<u64> {
        let whole = |x: &f64| x.fract() == 0.0 && (0.0..9007199254740992.0).contains(x);
        let count = self.value.as_number().filter(whole);
        self.expected(count.map(|count| count as u64), "an integer from 0 on")
    }

    pub(crate) fn boolean(&self) -> Reading<bool> {
        match self.value {
            Value::Boolean(value) => Ok(*value),
            _ => Err(self.refuse("true or false is expected")),
        }
    }
}

/// A number as JSON; `null` if it is not finite.
pub(crate) fn number(value: f64) -> String {
    match value.is_finite() {
        true => format!("{value:e}"),
        false => "null".into(),
    }
}

pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            ..'\u{20}' => quoted.push_str(&format!("\\u{:04x}", u32::from(character))),
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

pub(crate) fn array(items: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", items.into_iter().collect::<Vec<_>>().join(","))
}

pub(crate) fn object<'a>(fields: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let field = |(name, value)| format!("\"{name}\":{value}");
    format!(
        "{{{}}}",
        fields.into_iter().map(field).collect::<Vec<_>>().join(",")
    )
}
