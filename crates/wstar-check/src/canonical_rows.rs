//! Canonical rows: a binary format for the rows of a model, which their SHA-256 names. `docs/certificate-format.md` specifies it.
//!
//! The same rows have exactly one sequence of bytes: columns increase, zeros are left out, and a zero target or weight is +0.

use crate::training_rows::TrainingRows;
use crate::unreadable::{Reading, Unreadable, require};

const MAGIC: &[u8; 8] = b"wstarrow";
const VERSION: u32 = 1;
/// The bytes of a row without entries: target, weight and the number of entries.
const SHORTEST_ROW: usize = 20;
/// The bytes of an entry.
const ENTRY: usize = 12;

/// Rows, and the classes that their targets number.
pub(crate) struct CanonicalRows {
    /// The classes; empty for a real target.
    pub(crate) classes: Vec<String>,
    pub(crate) rows: TrainingRows,
}

/// Writes rows.
pub fn write(rows: &TrainingRows, classes: &[String]) -> Vec<u8> {
    let design = &rows.design;
    let mut out = Vec::with_capacity(64 + rows.len() * SHORTEST_ROW + design.values.len() * ENTRY);
    let integer = |value: usize| (value as u32).to_le_bytes();
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&(rows.len() as u64).to_le_bytes());
    out.extend_from_slice(&integer(design.features));
    out.extend_from_slice(&integer(classes.len()));
    for class in classes {
        out.extend_from_slice(&integer(class.len()));
        out.extend_from_slice(class.as_bytes());
    }
    for i in 0..rows.len() {
        let entries = || design.row(i).entries().filter(|(_, value)| *value != 0.0);
        // Adding +0 turns −0 into +0.
        out.extend_from_slice(&(rows.targets[i] + 0.0).to_le_bytes());
        out.extend_from_slice(&(rows.weight(i) + 0.0).to_le_bytes());
        out.extend_from_slice(&integer(entries().count()));
        for (column, value) in entries() {
            out.extend_from_slice(&integer(column));
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
    out
}

pub(crate) fn read(bytes: &[u8]) -> Reading<CanonicalRows> {
    let mut input = Input { bytes, at: 0 };
    let magic = input.take::<8>()?;
    require(magic == *MAGIC, || "this is not a file of canonical rows")?;
    let version = input.integer()?;
    let refusal = || format!("version {version} of canonical rows, and this program reads version {VERSION}");
    require(version == VERSION as usize, refusal)?;
    let count = u64::from_le_bytes(input.take()?) as usize;
    let features = input.integer()?;
    let classes = input.classes()?;
    let left = bytes.len() - input.at;
    let fits = count.saturating_mul(SHORTEST_ROW) <= left;
    input.require(fits, "the file ends before its last row")?;
    let entries = (left - count * SHORTEST_ROW) / ENTRY;
    // Rows with few zeros are stored with them, which makes the loops over rows faster.
    let dense = count.saturating_mul(features) <= entries.saturating_mul(2);
    let mut rows = TrainingRows::new(features);
    for _ in 0..count {
        input.row(&mut rows, classes.len(), dense)?;
    }
    input.require(input.at == bytes.len(), "bytes follow the last row")?;
    rows.weights = rows
        .weights
        .filter(|weights| weights.iter().any(|weight| *weight != 1.0));
    let rows = rows.checked()?;
    Ok(CanonicalRows { classes, rows })
}

struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Input<'_> {
    fn refuse(&self, what: &str) -> Unreadable {
        Unreadable::new(format!("{what} (byte {})", self.at))
    }

    fn require(&self, holds: bool, what: &str) -> Reading<()> {
        holds.then_some(()).ok_or_else(|| self.refuse(what))
    }

    fn slice(&mut self, length: usize) -> Reading<&[u8]> {
        let end = self.at.checked_add(length).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or_else(|| self.refuse("the file ends early"))?;
        Ok(&self.bytes[std::mem::replace(&mut self.at, end)..end])
    }

    fn take<const N: usize>(&mut self) -> Reading<[u8; N]> {
        let mut taken = [0; N];
        taken.copy_from_slice(self.slice(N)?);
        Ok(taken)
    }

    fn integer(&mut self) -> Reading<usize> {
        Ok(u32::from_le_bytes(self.take()?) as usize)
    }

    /// A finite number that is not −0.
    fn number(&mut self) -> Reading<f64> {
        let value = f64::from_le_bytes(self.take()?);
        let fits = value.is_finite() && (value != 0.0 || value.is_sign_positive());
        self.require(fits, "a number is −0 or not finite")?;
        Ok(value)
    }

    fn classes(&mut self) -> Reading<Vec<String>> {
        let mut classes = Vec::new();
        for _ in 0..self.integer()? {
            let length = self.integer()?;
            let name = std::str::from_utf8(self.slice(length)?).map(str::to_owned);
            classes.push(name.map_err(|_| self.refuse("the name of a class is not UTF-8"))?);
        }
        let distinct: std::collections::BTreeSet<&String> = classes.iter().collect();
        let fits = classes.len() != 1 && distinct.len() == classes.len();
        self.require(fits, "there is only one class, or one is repeated")?;
        Ok(classes)
    }

    fn row(&mut self, rows: &mut TrainingRows, classes: usize, dense: bool) -> Reading<()> {
        let target = self.number()?;
        let is_class = target.fract() == 0.0 && (0.0..classes as f64).contains(&target);
        self.require(classes == 0 || is_class, "the target is not the index of a class")?;
        let weight = self.number()?;
        self.require(weight >= 0.0, "a weight is negative")?;
        let (start, features) = (rows.design.values.len(), rows.design.features);
        let mut next = 0;
        for _ in 0..self.integer()? {
            let (column, value) = (self.integer()?, self.number()?);
            let fits = (next..features).contains(&column) && value != 0.0;
            self.require(fits, "columns do not increase, or an entry is 0")?;
            next = column + 1;
            if dense {
                rows.design.values.resize(start + column, 0.0);
            }
            rows.design.put(column, value, !dense);
        }
        if dense {
            rows.design.values.resize(start + features, 0.0);
        }
        rows.end_row(target, Some(weight));
        Ok(())
    }
}
