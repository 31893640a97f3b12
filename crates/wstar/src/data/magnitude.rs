//! Refuses what is not a number, and numbers so large that their squares and sums of them would leave the range of numbers.

use std::ops::Range;

use rayon::prelude::*;

use crate::data::{Dataset, Design, Row, Target};
use crate::error::{Error, Result};
use crate::kernel::dense::any_beyond;

/// Squares of larger numbers, summed over many rows and multiplied by large weights, could overflow.
const LARGEST: f64 = 1e100;

/// Numbers that one thread looks at together.
const BLOCK: usize = 1 << 16;

/// Refuses data that hold a feature or a real target that is not finite or too large to be squared and summed.
pub(crate) fn refuse_huge(data: &Dataset) -> Result<()> {
    refuse_huge_features(data)?;
    refuse_huge_targets(data)
}

/// The same of features alone.
pub(crate) fn refuse_huge_features(data: &Dataset) -> Result<()> {
    // Where it stands is only looked for if there is one.
    let feature = is_any_too_large(&data.design).then(|| {
        (0..data.rows())
            .into_par_iter()
            .find_map_first(|i| too_large(data.design.row(i)).map(|(j, value)| (i, j, value)))
    });
    if let Some((i, j, value)) = feature.flatten() {
        let place = format!("row {i}, column {}", data.schema.feature_name(j));
        return Err(refusal(data, &place, value));
    }
    Ok(())
}

/// The same of a real target.
pub(crate) fn refuse_huge_targets(data: &Dataset) -> Result<()> {
    if let Target::Real(values) = &data.target
        && let Some((i, &value)) = values.iter().enumerate().find(|(_, value)| is_beyond(**value))
    {
        return Err(refusal(data, &format!("row {i}, target"), value));
    }
    Ok(())
}

fn refusal(data: &Dataset, place: &str, value: f64) -> Error {
    let error = match value.is_finite() {
        true => Error::data(format!(
            "{place}: {value:e} is too large to be squared and summed"
        ))
        .hint("use other units for this column"),
        false => Error::data(format!("{place}: {value} is not a finite number")),
    };
    error.in_file(&data.source)
}

fn is_beyond(value: f64) -> bool {
    !value.is_finite() || value.abs() > LARGEST
}

fn is_any_too_large(design: &Design) -> bool {
    fn any<T: Copy + Into<f64> + Sync>(values: &[T]) -> bool {
        values.par_chunks(BLOCK).any(|values| any_beyond(values, LARGEST))
    }
    match design {
        Design::Dense64(matrix) => any(matrix.values()),
        Design::Sparse64(matrix) => any(matrix.values()),
        Design::Columns64(matrix) => any(matrix.values()),
        Design::Dense32(matrix) => any(matrix.values()),
        Design::Sparse32(matrix) => any(matrix.values()),
        Design::Columns32(matrix) => any(matrix.values()),
    }
}

/// Whether any number of some rows is not finite or too large.
pub(crate) fn any_too_large(design: &Design, mut rows: Range<usize>) -> bool {
    match design {
        Design::Dense64(matrix) => any_beyond(matrix.block(rows), LARGEST),
        Design::Dense32(matrix) => any_beyond(matrix.block(rows), LARGEST),
        _ => rows.any(|i| too_large(design.row(i)).is_some()),
    }
}

/// Whether numbers with this sum of squares could be too large or none.
pub(crate) fn may_hide_too_large(sum_of_squares: f64) -> bool {
    // What is not a number is not within either.
    let within = sum_of_squares <= 0.5 * LARGEST * LARGEST;
    !within
}

fn too_large(row: Row<'_>) -> Option<(usize, f64)> {
    let mut found = None;
    row.for_each(|j, v| {
        if is_beyond(v) {
            found.get_or_insert((j, v));
        }
    });
    found
}
