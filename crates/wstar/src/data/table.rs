//! A table of raw, named columns, as a CSV file or a data frame gives it, before it is encoded.

use crate::data::block::BlockColumn;
use crate::data::design::exact_in_f32;
use crate::error::Position;

/// A table: columns of equal length.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// What it was read from, for messages.
    pub source: String,
    /// The columns, in the order of the file.
    pub columns: Vec<Column>,
    /// How many rows every column has.
    pub rows: usize,
}

impl Table {
    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// A named column.
#[derive(Debug, Clone)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its cells.
    pub cells: Cells,
    /// Where its first missing cell stands in the file.
    pub first_missing: Option<Position>,
}

/// The cells of a column.
#[derive(Debug, Clone)]
pub enum Cells {
    /// Numbers; a missing one is NaN.
    Numbers(Numbers),
    /// One of a few values; `codes[i]` indexes `levels` (sorted), or is [`Cells::MISSING`].
    Categories {
        /// One code a row.
        codes: Vec<u32>,
        /// The distinct values, sorted.
        levels: Vec<String>,
    },
    /// Free text; a missing one is empty.
    Texts(Texts),
}

impl Cells {
    /// The code of a missing category.
    pub const MISSING: u32 = u32::MAX;
}

/// Numbers in the narrowest storage that is exact for all of them; NaN marks a missing one.
#[derive(Debug, Clone, PartialEq)]
pub enum Numbers {
    /// All exact in `f32`.
    F32(Vec<f32>),
    /// At least one needs `f64`.
    F64(Vec<f64>),
    /// The same, stored with other columns row by row.
    Block(BlockColumn),
}

impl Numbers {
    /// An empty column with room for `capacity` numbers.
    pub fn with_capacity(capacity: usize) -> Self {
        Numbers::F32(Vec::with_capacity(capacity))
    }

    /// Adds a number, widening the storage when it has to.
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

    /// How many numbers there are.
    pub fn len(&self) -> usize {
        match self {
            Numbers::F32(values) => values.len(),
            Numbers::F64(values) => values.len(),
            Numbers::Block(column) => column.len(),
        }
    }

    /// Whether there are none.
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

/// Texts, one after the other in one buffer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Texts {
    bytes: String,
    ends: Vec<usize>,
}

impl Texts {
    /// Adds a text.
    pub fn push(&mut self, text: &str) {
        self.bytes.push_str(text);
        self.ends.push(self.bytes.len());
    }

    /// Adds all texts of another column.
    pub fn append(&mut self, other: &Texts) {
        let shift = self.bytes.len();
        self.bytes.push_str(&other.bytes);
        self.ends.extend(other.ends.iter().map(|end| end + shift));
    }

    /// How many texts there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
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
    fn numbers_widen_only_when_they_must() {
        let mut numbers: Numbers = [1.0, f64::NAN, 0.5].into_iter().collect();
        assert!(matches!(numbers, Numbers::F32(_)));
        numbers.push(0.1);
        assert!(matches!(numbers, Numbers::F64(_)));
        assert_eq!(numbers.get(2), 0.5);
        assert_eq!(numbers.get(3), 0.1);
        assert!(numbers.get(1).is_nan());
    }

    #[test]
    fn texts_keep_their_borders() {
        let mut texts = Texts::default();
        ["", "a b", "ü"].iter().for_each(|text| texts.push(text));
        let mut twice = texts.clone();
        twice.append(&texts);
        assert_eq!(twice.iter().collect::<Vec<_>>(), ["", "a b", "ü", "", "a b", "ü"]);
    }
}
