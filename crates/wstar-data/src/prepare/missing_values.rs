//! Missing values: finding them, and refusing them with their position. An empty text is not a missing value but a text
//! without words.

use crate::error::Remedy;
use crate::error::{Error, Result};
use crate::setting::Setting;
use crate::{Cells, Column, Numbers};
use wstar_numeric::find_rare::position;

/// The treatment of missing values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missing {
    /// Refuse the data and name the first missing value.
    #[default]
    Refuse,
    /// Replace a missing number by the mean of its column, and a missing category by the most frequent level.
    Mean,
    /// Leave out rows with a missing value.
    Drop,
}

/// Marks the rows in which a value is missing as incomplete.
fn mark_incomplete<T>(
    complete: &mut [bool],
    values: impl IntoIterator<Item = T>,
    is_missing: impl Fn(T) -> bool,
) {
    for (complete, value) in complete.iter_mut().zip(values) {
        *complete &= !is_missing(value);
    }
}

/// The indices of the rows without a missing value; `None` if these are all rows, an error if there are none.
pub(crate) fn complete_rows<'a>(
    columns: impl Iterator<Item = &'a Column>,
    rows: usize,
) -> Result<Option<Vec<usize>>> {
    let mut complete = vec![true; rows];
    for column in columns {
        match &column.cells {
            Cells::Numbers(Numbers::F32(values)) => {
                mark_incomplete(&mut complete, values, |value| value.is_nan())
            }
            Cells::Numbers(Numbers::F64(values)) => {
                mark_incomplete(&mut complete, values, |value| value.is_nan())
            }
            Cells::Numbers(Numbers::Block(column)) if column.is_complete() => {}
            Cells::Numbers(Numbers::Block(column)) => {
                mark_incomplete(&mut complete, column.iter(), |value| value.is_nan())
            }
            Cells::Categories { codes, .. } => {
                mark_incomplete(&mut complete, codes, |&code| code == Cells::MISSING)
            }
            Cells::Texts(_) => {}
        }
    }
    let kept: Vec<usize> = (0..rows).filter(|&i| complete[i]).collect();
    if kept.is_empty() && rows > 0 {
        return Err(Error::data("every row has a missing value: no row is left"));
    }
    Ok((kept.len() < rows).then_some(kept))
}

/// The index of the first number that is missing or infinite.
pub(super) fn not_finite(numbers: &Numbers) -> Option<usize> {
    match numbers {
        Numbers::F32(values) => position(values, |value| !value.is_finite()),
        Numbers::F64(values) => position(values, |value| !value.is_finite()),
        Numbers::Block(column) if column.is_complete() => None,
        Numbers::Block(column) => column.iter().position(|value| !value.is_finite()),
    }
}

/// Returns an error with the position of the first missing value of a column, if there is one.
pub(crate) fn refuse_missing<R: Into<Remedy>>(column: &Column, remedy: impl FnOnce() -> R) -> Result<()> {
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
        Some(position) => Error::data(format!("a missing value in column {}", column.name))
            .at(position.line, position.column),
        None => Error::data(format!("a missing value in column {} (row {row})", column.name)),
    };
    Err(error.remedy(remedy()))
}

/// The remedy for missing values that cannot be replaced, such as targets.
pub(crate) fn drop_such_rows() -> Remedy {
    Remedy::Effect(Setting::Missing.to("drop"), "leaves such rows out".into())
}
