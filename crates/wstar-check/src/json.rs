//! A strict parser of JSON (RFC 8259). Numbers become the nearest binary64 number; those beyond its range, repeated names in
//! an object, and nesting deeper than 64 levels are refused.

use std::collections::BTreeMap;

use crate::training_rows::in_range;
use crate::unreadable::{Fault, Reading, Unreadable, shown};

/// The deepest nesting of arrays and objects. Cap: it bounds the depth of the recursion.
const DEEPEST: usize = 64;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// A number.
    Number(f64),
    /// A string.
    Text(String),
    /// An array.
    Array(Vec<Value>),
    /// An object.
    Object(BTreeMap<String, Value>),
}

/// Parses a document.
pub fn parse(text: &str) -> Result<Value, Fault> {
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
        match self.at < self.bytes.len() {
            true => Fault::new(self.at, message),
            false => Fault::new(self.at, "the document ends early"),
        }
    }

    fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.bytes.get(self.at) {
            self.at += 1;
        }
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
        for (word, value) in [
            ("null", Value::Null),
            ("true", Value::Boolean(true)),
            ("false", Value::Boolean(false)),
        ] {
            if self.bytes[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.fault("a value is expected"))
    }

    fn object(&mut self, depth: usize) -> Result<Value, Fault> {
        self.at += 1;
        let mut fields = BTreeMap::new();
        self.skip_blanks();
        if self.take(b'}') {
            return Ok(Value::Object(fields));
        }
        loop {
            self.skip_blanks();
            let start = self.at;
            if self.bytes.get(start) != Some(&b'"') {
                return Err(self.fault("the name of a field is expected"));
            }
            let name = self.string()?;
            self.skip_blanks();
            if !self.take(b':') {
                return Err(self.fault("a colon is expected"));
            }
            let value = self.value(depth + 1)?;
            if fields.contains_key(&name) {
                return Err(Fault::new(
                    start,
                    format!("the field {} is repeated", shown(&name)),
                ));
            }
            fields.insert(name, value);
            self.skip_blanks();
            if self.take(b'}') {
                return Ok(Value::Object(fields));
            }
            if !self.take(b',') {
                return Err(self.fault("a comma or the end of the object is expected"));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, Fault> {
        self.at += 1;
        let mut items = Vec::new();
        self.skip_blanks();
        if self.take(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.skip_blanks();
            if self.take(b']') {
                return Ok(Value::Array(items));
            }
            if !self.take(b',') {
                return Err(self.fault("a comma or the end of the array is expected"));
            }
        }
    }

    fn digits(&mut self) -> Result<(), Fault> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.bytes.get(self.at) {
            self.at += 1;
        }
        match self.at > start {
            true => Ok(()),
            false => Err(self.fault("a digit is expected")),
        }
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
            while self
                .bytes
                .get(self.at)
                .is_some_and(|byte| !matches!(byte, b'"' | b'\\' | ..0x20))
            {
                self.at += 1;
            }
            content.push_str(&self.text[start..self.at]);
            if self.take(b'"') {
                return Ok(content);
            }
            if !self.take(b'\\') {
                return Err(self.fault("a control character in a string"));
            }
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
pub struct Node<'a> {
    value: &'a Value,
    path: String,
}

/// Whether the values are equal, wherever they are.
impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<'a> Node<'a> {
    /// The document itself.
    pub fn root(value: &'a Value) -> Self {
        Node {
            value,
            path: String::new(),
        }
    }

    /// An error about this value.
    pub fn refuse(&self, what: &str) -> Unreadable {
        match self.path.is_empty() {
            true => Unreadable::new(what),
            false => Unreadable::new(format!("{}: {what}", self.path)),
        }
    }

    /// A field that may be absent; `null` counts as absent.
    pub fn optional(&self, name: &str) -> Reading<Option<Node<'a>>> {
        let Value::Object(fields) = self.value else {
            return Err(self.refuse("an object is expected"));
        };
        let dot = if self.path.is_empty() { "" } else { "." };
        let field = fields.get(name).filter(|value| **value != Value::Null);
        Ok(field.map(|value| Node {
            value,
            path: format!("{}{dot}{name}", self.path),
        }))
    }

    /// A field that must be present.
    pub fn field(&self, name: &str) -> Reading<Node<'a>> {
        self.optional(name)?
            .ok_or_else(|| self.refuse(&format!("the field {name} is missing")))
    }

    /// What is read from a field that may be absent.
    pub fn maybe<T>(&self, name: &str, read: impl FnOnce(Node<'a>) -> Reading<T>) -> Reading<Option<T>> {
        self.optional(name)?.map(read).transpose()
    }

    /// The items of an array.
    pub fn items(&self) -> Reading<Vec<Node<'a>>> {
        let Value::Array(items) = self.value else {
            return Err(self.refuse("an array is expected"));
        };
        let item = |(i, value)| Node {
            value,
            path: format!("{}[{i}]", self.path),
        };
        Ok(items.iter().enumerate().map(item).collect())
    }

    /// The numbers of an array.
    pub fn numbers(&self) -> Reading<Vec<f64>> {
        let Value::Array(items) = self.value else {
            return Err(self.refuse("an array of numbers is expected"));
        };
        let number = |item: &Value| match item {
            Value::Number(number) => Ok(*number),
            _ => Err(self.refuse("an array of numbers is expected")),
        };
        items.iter().map(number).collect()
    }

    /// So many numbers in the range of the error bounds.
    pub fn numbers_in_range(&self, count: usize) -> Reading<Vec<f64>> {
        let numbers = self.numbers()?;
        match numbers.len() == count && numbers.iter().all(|x| in_range(*x)) {
            true => Ok(numbers),
            false => Err(self.refuse("another length, or a number outside 1e-140 to 1e140 in size")),
        }
    }

    /// Rows of so many numbers in the range of the error bounds.
    pub fn table_in_range(&self, rows: usize, columns: usize) -> Reading<Vec<Vec<f64>>> {
        let items = self.items()?;
        match items.len() == rows {
            true => items.iter().map(|row| row.numbers_in_range(columns)).collect(),
            false => Err(self.refuse("another number of rows")),
        }
    }

    /// The strings of an array.
    pub fn texts(&self) -> Reading<Vec<String>> {
        let items = self.items()?;
        items.iter().map(|item| item.text().map(str::to_owned)).collect()
    }

    /// A string.
    pub fn text(&self) -> Reading<&'a str> {
        self.as_text().ok_or_else(|| self.refuse("a string is expected"))
    }

    /// The string, if it is one.
    pub fn as_text(&self) -> Option<&'a str> {
        match self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A number.
    pub fn number(&self) -> Reading<f64> {
        match self.value {
            Value::Number(number) => Ok(*number),
            _ => Err(self.refuse("a number is expected")),
        }
    }

    /// An integer from 0 to 2⁵³ − 1.
    pub fn count(&self) -> Reading<u64> {
        match self.value {
            Value::Number(number) if number.fract() == 0.0 && (0.0..9007199254740992.0).contains(number) => {
                Ok(*number as u64)
            }
            _ => Err(self.refuse("an integer from 0 on is expected")),
        }
    }

    /// `true` or `false`.
    pub fn boolean(&self) -> Reading<bool> {
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

/// A string as JSON.
pub fn quote(text: &str) -> String {
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

/// An array as JSON.
pub(crate) fn array(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}
