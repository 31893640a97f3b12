//! A table of raw, named columns, as read from a CSV file or a data frame, before encoding.
//!
//! - `numeric_block`: numeric columns stored together in row-major order.

pub(crate) mod numeric_block;

use crate::design::exact_in_f32;
use crate::error::Position;
use numeric_block::BlockColumn;

/// A table: columns of equal length.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// The name of its source, for messages.
    pub source: String,
    /// The columns, in the order of the file.
    pub columns: Vec<Column>,
    /// The number of rows.
    pub rows: usize,
}

impl Table {
    /// The column with this name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// A named column.
#[derive(Debug, Clone)]
pub struct Column {
    /// The name.
    pub name: String,
    /// The cells.
    pub cells: Cells,
    /// The position of the first missing cell in the file.
    pub first_missing: Option<Position>,
}

/// The cells of a column.
#[derive(Debug, Clone)]
pub enum Cells {
    /// Numbers; NaN if missing.
    Numbers(Numbers),
    /// Categories; `codes[i]` indexes `levels`, or is [`Cells::MISSING`].
    Categories {
        /// The code of each row.
        codes: Vec<u32>,
        /// The distinct values, sorted.
        levels: Vec<String>,
    },
    /// Free text; empty if missing.
    Texts(Texts),
}

impl Cells {
    /// The code of a missing category.
    pub const MISSING: u32 = u32::MAX;
}

/// A column of numbers, in `f32` if that is exact for all of them; NaN marks a missing number.
#[derive(Debug, Clone, PartialEq)]
pub enum Numbers {
    /// Numbers that are all exact in `f32`.
    F32(Vec<f32>),
    /// Numbers of which at least one needs `f64`.
    F64(Vec<f64>),
    /// Numbers that are stored together with other columns in row-major order.
    Block(BlockColumn),
}

impl Numbers {
    /// An empty column with capacity for this many numbers.
    pub fn with_capacity(capacity: usize) -> Self {
        Numbers::F32(Vec::with_capacity(capacity))
    }

    /// Appends a number; the storage changes to `f64` if necessary.
    pub fn push(&mut self, value: f64) {
        match self {
            Numbers::F32(values) if exact_in_f32(value) || value.is_nan() => values.push(value as f32),
            Numbers::F32(values) => {
                let mut wide = Vec::with_capacity(values.capacity());
                wide.extend(values.iter().map(|&v| f64::from(v)));
                wide.push(value);
                *self = Numbers::F64(wide);
            }
            Numbers::F64(values) => values.push(value),
            Numbers::Block(column) => *self = Numbers::F64(column.iter().chain([value]).collect()),
        }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Numbers::F32(values) => values.len(),
            Numbers::F64(values) => values.len(),
            Numbers::Block(column) => column.len(),
        }
    }

    /// Whether the column is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of row `i`; NaN if missing.
    pub fn get(&self, i: usize) -> f64 {
        match self {
            Numbers::F32(values) => values[i].into(),
            Numbers::F64(values) => values[i],
            Numbers::Block(column) => column.get(i),
        }
    }

    /// All numbers in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = f64> {
        (0..self.len()).map(|i| self.get(i))
    }
}

impl FromIterator<f64> for Numbers {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let values = values.into_iter();
        let mut numbers = Numbers::with_capacity(values.size_hint().0);
        values.for_each(|value| numbers.push(value));
        numbers
    }
}

/// A column of texts, concatenated in one buffer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Texts {
    bytes: String,
    ends: Vec<usize>,
}

impl Texts {
    /// Appends a text.
    pub fn push(&mut self, text: &str) {
        self.bytes.push_str(text);
        self.ends.push(self.bytes.len());
    }

    /// Appends all texts of another column.
    pub fn append(&mut self, other: &Texts) {
        let shift = self.bytes.len();
        self.bytes.push_str(&other.bytes);
        self.ends.extend(other.ends.iter().map(|end| end + shift));
    }

    /// The number of texts.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether the column is empty.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Text `i`.
    pub fn get(&self, i: usize) -> &str {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.bytes[start..self.ends[i]]
    }

    /// All texts in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|i| self.get(i))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_change_to_f64_only_if_necessary() {
        let mut numbers: Numbers = [1.0, f64::NAN, 0.5].into_iter().collect();
        assert!(matches!(numbers, Numbers::F32(_)));
        numbers.push(0.1);
        assert!(matches!(numbers, Numbers::F64(_)));
        assert_eq!(numbers.get(2), 0.5);
        assert_eq!(numbers.get(3), 0.1);
        assert!(numbers.get(1).is_nan());
    }

    #[test]
    fn appended_texts_keep_their_boundaries() {
        let mut texts = Texts::default();
        ["", "a b", "ü"].iter().for_each(|text| texts.push(text));
        let mut twice = texts.clone();
        twice.append(&texts);
        assert_eq!(twice.iter().collect::<Vec<_>>(), ["", "a b", "ü", "", "a b", "ü"]);
    }
}
