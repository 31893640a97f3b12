//! Missing values: finding them, and refusing them by their place. An empty text is no missing value but
//! a text without words.

use crate::data::{Cells, Column, Numbers};
use crate::error::{Error, Result};
use crate::kernel::scan::position;

/// What is to be done about missing values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missing {
    /// Refuse, naming the first one.
    #[default]
    Refuse,
    /// Put the column's mean (a category: its most frequent level).
    Mean,
    /// Leave the row out.
    Drop,
}

/// Strikes out the rows in which a value is missing.
fn strike<T>(complete: &mut [bool], values: impl IntoIterator<Item = T>, is_missing: impl Fn(T) -> bool) {
    for (complete, value) in complete.iter_mut().zip(values) {
        *complete &= !is_missing(value);
    }
}

/// The rows in which no column has a missing value; `None` if that is all of them, an error if it is
/// none of them.
pub(super) fn complete_rows<'a>(
    columns: impl Iterator<Item = &'a Column>,
    rows: usize,
) -> Result<Option<Vec<usize>>> {
    let mut complete = vec![true; rows];
    for column in columns {
        match &column.cells {
            Cells::Numbers(Numbers::F32(values)) => strike(&mut complete, values, |value| value.is_nan()),
            Cells::Numbers(Numbers::F64(values)) => strike(&mut complete, values, |value| value.is_nan()),
            Cells::Numbers(Numbers::Block(column)) if column.is_complete() => {}
            Cells::Numbers(Numbers::Block(column)) => {
                strike(&mut complete, column.iter(), |value| value.is_nan())
            }
            Cells::Categories { codes, .. } => strike(&mut complete, codes, |&code| code == Cells::MISSING),
            Cells::Texts(_) => {}
        }
    }
    let kept: Vec<usize> = (0..rows).filter(|&i| complete[i]).collect();
    if kept.is_empty() && rows > 0 {
        return Err(Error::data("every row has a missing value: no row is left"));
    }
    Ok((kept.len() < rows).then_some(kept))
}

/// The first number that is missing or infinite.
pub(super) fn not_finite(numbers: &Numbers) -> Option<usize> {
    match numbers {
        Numbers::F32(values) => position(values, |value| !value.is_finite()),
        Numbers::F64(values) => position(values, |value| !value.is_finite()),
        Numbers::Block(column) if column.is_complete() => None,
        Numbers::Block(column) => column.iter().position(|value| !value.is_finite()),
    }
}

/// A missing value that nothing may stand in for is an error, told by its place.
pub(super) fn refuse_missing(column: &Column, hint: &str) -> Result<()> {
    let first = match &column.cells {
        Cells::Numbers(Numbers::F32(values)) => position(values, f32::is_nan),
        Cells::Numbers(Numbers::F64(values)) => position(values, f64::is_nan),
        Cells::Numbers(Numbers::Block(column)) if column.is_complete() => None,
        Cells::Numbers(Numbers::Block(column)) => column.iter().position(f64::is_nan),
        Cells::Categories { codes, .. } => position(codes, |code| code == Cells::MISSING),
        Cells::Texts(_) => None,
    };
    let Some(row) = first else {
        return Ok(());
    };
    let error = match column.first_missing {
        Some(place) => {
            Error::data(format!("a missing value in column {}", column.name)).at(place.line, place.column)
        }
        None => Error::data(format!("a missing value in column {} (row {row})", column.name)),
    };
    Err(error.hint(hint))
}

/// Notes how many rows were left out.
pub(super) fn note_dropped(dropped: usize, notes: &mut Vec<String>) {
    let rows = if dropped == 1 { "row" } else { "rows" };
    notes.push(format!("{dropped} {rows} with missing values left out"));
}
