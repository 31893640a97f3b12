//! Refuses numbers so large that their squares and sums of them would leave the range of numbers.

use rayon::prelude::*;

use crate::data::{Dataset, Design, Row, Target};
use crate::error::{Error, Result};

/// Squares of larger numbers, summed over many rows and multiplied by large weights, could overflow.
const LARGEST: f64 = 1e100;

/// Numbers that one thread looks at together.
const BLOCK: usize = 1 << 16;

/// Refuses data that hold a feature or a real target too large to be squared and summed.
pub(crate) fn refuse_huge(data: &Dataset) -> Result<()> {
    // Where it stands is only looked for if there is one.
    let feature = any_too_large(&data.design).then(|| {
        (0..data.rows())
            .into_par_iter()
            .find_map_first(|i| too_large(data.design.row(i)).map(|(j, value)| (i, j, value)))
    });
    if let Some((i, j, value)) = feature.flatten() {
        let place = format!("row {i}, column {}", data.schema.feature_name(j));
        return Err(refusal(data, &place, value));
    }
    if let Target::Real(values) = &data.target
        && let Some((i, &value)) = values.iter().enumerate().find(|(_, value)| value.abs() > LARGEST)
    {
        return Err(refusal(data, &format!("row {i}, target"), value));
    }
    Ok(())
}

fn refusal(data: &Dataset, place: &str, value: f64) -> Error {
    Error::data(format!(
        "{place}: {value:e} is too large to be squared and summed"
    ))
    .hint("use other units for this column")
    .in_file(&data.source)
}

fn any_too_large(design: &Design) -> bool {
    let values = match design {
        Design::Dense64(matrix) => matrix.values(),
        Design::Sparse64(matrix) => matrix.values(),
        Design::Columns64(matrix) => matrix.values(),
        // No single precision number is.
        Design::Dense32(_) | Design::Sparse32(_) | Design::Columns32(_) => return false,
    };
    values.par_chunks(BLOCK).any(|values| {
        values
            .iter()
            .fold(false, |any, value| any | (value.abs() > LARGEST))
    })
}

fn too_large(row: Row<'_>) -> Option<(usize, f64)> {
    let mut found = None;
    row.for_each(|j, v| {
        if v.abs() > LARGEST {
            found.get_or_insert((j, v));
        }
    });
    found
}
