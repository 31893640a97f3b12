//! The column of sample weights.

use crate::error::{Error, Result};
use crate::{Cells, Column};

/// The sample weights in a column; an error unless they are finite, nonnegative and not all 0.
pub(super) fn sample_weights(column: &Column) -> Result<Vec<f64>> {
    let name = &column.name;
    let Cells::Numbers(numbers) = &column.cells else {
        return Err(Error::data(format!(
            "column {name} cannot be the sample weight: it does not hold numbers"
        )));
    };
    if let Some(row) = numbers
        .iter()
        .position(|weight| !(weight.is_finite() && weight >= 0.0))
    {
        let weight = numbers.get(row);
        return Err(Error::data(if weight.is_nan() {
            format!("the sample weight in column {name} is missing in row {row}")
        } else {
            format!("{weight} in column {name} (row {row}) is no sample weight: it must be 0 or more")
        }));
    }
    if numbers.iter().all(|weight| weight == 0.0) {
        return Err(Error::data(format!("every sample weight in column {name} is 0")));
    }
    Ok(numbers.iter().collect())
}
