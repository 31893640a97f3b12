//! Canonical rows: a binary format for the rows of a model, which their SHA-256 names. `docs/certificate-format.md` specifies it.
//!
//! The same rows have exactly one sequence of bytes: columns increase, zeros are left out, and a zero target or weight is +0.

use crate::design::Design;
use crate::training_rows::TrainingRows;
use crate::unreadable::{Reading, Unreadable};

/// The first bytes of a file.
const MAGIC: &[u8; 8] = b"wstarrow";
/// The version of the format.
const VERSION: u32 = 1;
/// The bytes of a row without entries: target, weight and the number of entries.
const SHORTEST_ROW: usize = 20;
/// The bytes of an entry.
const ENTRY: usize = 12;

/// Rows, and the classes that their targets number.
pub struct CanonicalRows {
    /// The classes; empty for a real target.
    pub classes: Vec<String>,
    /// The rows.
    pub rows: TrainingRows,
}

/// Writes rows.
pub fn write(rows: &TrainingRows, classes: &[String]) -> Vec<u8> {
    let design = &rows.design;
    let mut out = Vec::with_capacity(64 + rows.len() * SHORTEST_ROW + design.values.len() * ENTRY);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&(rows.len() as u64).to_le_bytes());
    out.extend_from_slice(&(design.features as u32).to_le_bytes());
    out.extend_from_slice(&(classes.len() as u32).to_le_bytes());
    for class in classes {
        out.extend_from_slice(&(class.len() as u32).to_le_bytes());
        out.extend_from_slice(class.as_bytes());
    }
    // Adding +0 turns −0 into +0.
    for row in 0..rows.len() {
        out.extend_from_slice(&(rows.targets[row] + 0.0).to_le_bytes());
        out.extend_from_slice(&(rows.weight(row) + 0.0).to_le_bytes());
        let entries = design.starts[row]..design.starts[row + 1];
        let values = &design.values[entries.clone()];
        let count = values.iter().filter(|value| **value != 0.0).count();
        out.extend_from_slice(&(count as u32).to_le_bytes());
        for (position, &value) in entries.zip(values).filter(|(_, value)| **value != 0.0) {
            let dense = (position - design.starts[row]) as u32;
            let column = design.columns.get(position).copied().unwrap_or(dense);
            out.extend_from_slice(&column.to_le_bytes());
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
    out
}

/// Reads the bytes of a file.
pub fn read(bytes: &[u8]) -> Reading<CanonicalRows> {
    let mut input = Input { bytes, at: 0 };
    if input.take::<8>()? != *MAGIC {
        return Err(Unreadable::new("this is not a file of canonical rows"));
    }
    let version = input.integer()?;
    if version != VERSION {
        return Err(Unreadable::new(format!(
            "version {version} of canonical rows, and this program reads version {VERSION}"
        )));
    }
    let count = u64::from_le_bytes(input.take()?);
    let features = input.integer()? as usize;
    let classes = input.classes()?;
    let left = bytes.len() - input.at;
    let count = usize::try_from(count)
        .ok()
        .filter(|count| count.saturating_mul(SHORTEST_ROW) <= left);
    let count = count.ok_or_else(|| input.refuse("the file ends before its last row"))?;
    let entries = (left - count * SHORTEST_ROW) / ENTRY;
    // Rows with few zeros are stored with them, which makes the loops over rows faster.
    let cells = count.saturating_mul(features);
    let dense = cells <= entries.saturating_mul(2);
    let mut rows = TrainingRows {
        design: Design {
            features,
            starts: Vec::with_capacity(count + 1),
            columns: Vec::with_capacity(if dense { 0 } else { entries }),
            values: Vec::with_capacity(if dense { cells } else { entries }),
        },
        targets: Vec::with_capacity(count),
        weights: Some(Vec::with_capacity(count)),
        left_out: 0,
    };
    rows.design.starts.push(0);
    for _ in 0..count {
        input.row(&mut rows, classes.len(), dense)?;
    }
    if input.at < bytes.len() {
        return Err(input.refuse("bytes follow the last row"));
    }
    if rows
        .weights
        .as_ref()
        .is_some_and(|weights| weights.iter().all(|weight| *weight == 1.0))
    {
        rows.weights = None;
    }
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

    fn take<const N: usize>(&mut self) -> Reading<[u8; N]> {
        let taken = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<N>());
        let taken = *taken.ok_or_else(|| self.refuse("the file ends early"))?;
        self.at += N;
        Ok(taken)
    }

    fn integer(&mut self) -> Reading<u32> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    /// A finite number that is not −0.
    fn number(&mut self) -> Reading<f64> {
        let value = f64::from_le_bytes(self.take()?);
        match value.is_finite() && (value != 0.0 || value.is_sign_positive()) {
            true => Ok(value),
            false => Err(self.refuse("a number is −0 or not finite")),
        }
    }

    fn classes(&mut self) -> Reading<Vec<String>> {
        let count = self.integer()?;
        if count == 1 {
            return Err(self.refuse("there is only one class"));
        }
        let mut classes = Vec::new();
        for _ in 0..count {
            let length = self.integer()? as usize;
            let name = self.bytes.get(self.at..).and_then(|rest| rest.get(..length));
            let name = name.and_then(|name| std::str::from_utf8(name).ok());
            let name =
                name.ok_or_else(|| self.refuse("the name of a class is not UTF-8, or the file ends early"))?;
            self.at += length;
            classes.push(name.to_owned());
        }
        let distinct: std::collections::BTreeSet<&String> = classes.iter().collect();
        if distinct.len() < classes.len() {
            return Err(self.refuse("the name of a class is repeated"));
        }
        Ok(classes)
    }

    fn row(&mut self, rows: &mut TrainingRows, classes: usize, dense: bool) -> Reading<()> {
        let target = self.number()?;
        if classes > 0 && !(target.fract() == 0.0 && (0.0..classes as f64).contains(&target)) {
            return Err(self.refuse("the target is not the index of a class"));
        }
        let weight = self.number()?;
        if weight < 0.0 {
            return Err(self.refuse("a weight is negative"));
        }
        rows.targets.push(target);
        if let Some(weights) = &mut rows.weights {
            weights.push(weight);
        }
        let design = &mut rows.design;
        let start = design.values.len();
        let mut next = 0;
        for _ in 0..self.integer()? {
            let column = self.integer()? as usize;
            let value = self.number()?;
            if column < next || column >= design.features || value == 0.0 {
                return Err(self.refuse("columns do not increase, or an entry is 0"));
            }
            next = column + 1;
            match dense {
                true => design.values.resize(start + column, 0.0),
                false => design.columns.push(column as u32),
            }
            design.values.push(value);
        }
        if dense {
            design.values.resize(start + design.features, 0.0);
        }
        design.starts.push(design.values.len());
        Ok(())
    }
}
