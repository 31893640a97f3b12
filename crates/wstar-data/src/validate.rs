//! Refuses values that are not finite, and values so large that sums of their squares could overflow.

use std::ops::Range;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::{Dataset, Design, Row, Target};
use wstar_numeric::dense::any_beyond;

/// The largest accepted absolute value. Cap: larger values are refused. Its square, 1e200, leaves a factor of 1e108 below
/// the overflow threshold for large weights and sums over many rows.
const LARGEST: f64 = 1e100;

/// The number of values that one task checks.
/// Heuristic: small tasks balance the threads, large tasks have less overhead; not measured yet.
const BLOCK: usize = 1 << 16;

/// Refuses data with a feature or a real target that is not finite or too large to be squared and summed.
pub fn refuse_huge(data: &Dataset) -> Result<()> {
    refuse_huge_features(data)?;
    refuse_huge_targets(data)
}

/// [`refuse_huge`] for the features alone.
pub fn refuse_huge_features(data: &Dataset) -> Result<()> {
    // The position is searched for only if such a value exists.
    let feature = is_any_too_large(&data.design).then(|| {
        (0..data.rows())
            .into_par_iter()
            .find_map_first(|i| too_large(data.design.row(i)).map(|(j, value)| (i, j, value)))
    });
    if let Some((i, j, value)) = feature.flatten() {
        let position = format!("row {i}, column {}", data.schema.feature_name(j));
        return Err(refusal(data, &position, value));
    }
    Ok(())
}

/// [`refuse_huge`] for a real target alone.
pub fn refuse_huge_targets(data: &Dataset) -> Result<()> {
    if let Target::Real(values) = &data.target
        && let Some((i, &value)) = values.iter().enumerate().find(|(_, value)| is_beyond(**value))
    {
        return Err(refusal(data, &format!("row {i}, target"), value));
    }
    Ok(())
}

fn refusal(data: &Dataset, position: &str, value: f64) -> Error {
    let error = match value.is_finite() {
        true => Error::data(format!(
            "{position}: {value:e} is too large to be squared and summed"
        ))
        .remedy("use other units for this column"),
        false => Error::data(format!("{position}: {value} is not a finite number")),
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

/// Whether any value of these rows is not finite or too large.
pub fn any_too_large(design: &Design, mut rows: Range<usize>) -> bool {
    match design {
        Design::Dense64(matrix) => any_beyond(matrix.block(rows), LARGEST),
        Design::Dense32(matrix) => any_beyond(matrix.block(rows), LARGEST),
        _ => rows.any(|i| too_large(design.row(i)).is_some()),
    }
}

/// Whether a vector with this sum of squares may have an entry that is NaN or too large.
pub fn may_contain_too_large(sum_of_squares: f64) -> bool {
    // A NaN fails the comparison and counts as too large.
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
