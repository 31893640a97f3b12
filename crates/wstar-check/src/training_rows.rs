//! The rows of a model: the columns of the design, targets and sample weights.

use crate::design::Design;
use crate::unreadable::{Reading, Unreadable};

/// The rows that a claim is about.
pub struct TrainingRows {
    /// The columns of the design.
    pub design: Design,
    /// The index of each row's class, or its real target.
    pub targets: Vec<f64>,
    /// The sample weights; `None` if all are 1.
    pub weights: Option<Vec<f64>>,
    /// The number of rows of the file that were left out because a value is missing.
    pub left_out: usize,
}

impl TrainingRows {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// The sample weight of a row.
    pub fn weight(&self, row: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[row])
    }

    /// The rows with a sample weight above 0.
    pub fn counting(&self) -> impl Iterator<Item = usize> {
        (0..self.len()).filter(|&row| self.weight(row) > 0.0)
    }

    /// The number of rows with a sample weight above 0.
    pub fn counted(&self) -> u64 {
        self.counting().count() as u64
    }

    /// The row with this number, if its sample weight is above 0.
    pub fn counting_row(&self, number: u64) -> Option<usize> {
        let row = usize::try_from(number).ok()?;
        (row < self.len() && self.weight(row) > 0.0).then_some(row)
    }

    /// Refuses rows of which none counts, and numbers that are too large or too small for the error bounds.
    pub fn checked(self) -> Reading<Self> {
        let design = &self.design;
        let weights = self.weights.iter().flatten();
        if let Some(at) = design.values.iter().position(|value| !in_range(*value)) {
            let row = design.starts.partition_point(|start| *start <= at);
            let value = design.values[at];
            return Err(Unreadable::new(format!(
                "row {row}: {value:e} lies outside 1e-140 to 1e140 in size"
            )));
        }
        if let Some(value) = self
            .targets
            .iter()
            .chain(weights)
            .find(|value| !in_range(**value))
        {
            return Err(Unreadable::new(format!(
                "the target or weight {value:e} lies outside 1e-140 to 1e140 in size"
            )));
        }
        match (self.is_empty(), self.counted()) {
            (true, _) => Err(Unreadable::new("there are no rows")),
            (_, 0) => Err(Unreadable::new("every sample weight is 0")),
            _ => Ok(self),
        }
    }
}

/// Whether a number is 0, or between 1e-140 and 1e140 in size. For these numbers the error bounds hold: no product of two of
/// them overflows or underflows.
pub fn in_range(value: f64) -> bool {
    value == 0.0 || (1e-140..=1e140).contains(&value.abs())
}

/// Rows under construction.
pub struct RowBuilder {
    rows: TrainingRows,
    sparse: bool,
}

impl RowBuilder {
    /// No rows yet, with room for about `rows` dense ones in a text of this length.
    pub fn new(features: usize, sparse: bool, weighted: bool, rows: usize, text: usize) -> Self {
        // A cell takes at least two bytes of the text, so a damaged file does not reserve more memory than it needs.
        let capacity = if sparse {
            0
        } else {
            rows.saturating_mul(features).min(text)
        };
        let design = Design {
            features,
            starts: vec![0],
            columns: Vec::new(),
            values: Vec::with_capacity(capacity),
        };
        RowBuilder {
            rows: TrainingRows {
                design,
                targets: Vec::new(),
                weights: weighted.then(Vec::new),
                left_out: 0,
            },
            sparse,
        }
    }

    /// Appends a value to the current row: the next column of a dense row, or this column of a sparse one, where zeros are
    /// left out.
    #[inline]
    pub fn put(&mut self, column: usize, value: f64) {
        let design = &mut self.rows.design;
        if self.sparse && value != 0.0 {
            design.columns.push(column as u32);
        } else if self.sparse {
            return;
        }
        design.values.push(value);
    }

    /// The columns of the current row of a sparse design.
    pub fn row_columns(&self) -> &[u32] {
        let design = &self.rows.design;
        design
            .starts
            .last()
            .and_then(|&start| design.columns.get(start..))
            .unwrap_or_default()
    }

    /// Ends the current row.
    pub fn end_row(&mut self, target: f64, weight: Option<f64>) {
        let rows = &mut self.rows;
        rows.design.starts.push(rows.design.values.len());
        rows.targets.push(target);
        if let (Some(weights), Some(weight)) = (&mut rows.weights, weight) {
            weights.push(weight);
        }
    }

    /// Counts a row that is left out.
    pub fn leave_out(&mut self) {
        self.rows.left_out += 1;
    }

    /// The rows.
    pub fn finish(self) -> Reading<TrainingRows> {
        self.rows.checked()
    }
}
