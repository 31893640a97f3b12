//! The rows of a model: the columns of the design, targets and sample weights.

use crate::design::Design;
pub(crate) use crate::problem::in_range;
use crate::unreadable::{Reading, Unreadable};

/// The rows that a claim is about.
pub struct TrainingRows {
    pub(crate) design: Design,
    /// The index of each row's class, or its real target.
    pub(crate) targets: Vec<f64>,
    /// The sample weights; `None` if all are 1.
    pub(crate) weights: Option<Vec<f64>>,
    /// The number of rows of the file that were left out because a value is missing.
    pub(crate) left_out: usize,
}

impl TrainingRows {
    pub(crate) fn new(features: usize) -> Self {
        let (design, targets) = (Design::empty(features), Vec::new());
        TrainingRows {
            design,
            targets,
            weights: None,
            left_out: 0,
        }
    }

    /// Ends the current row. Either all rows have a weight, or none.
    pub(crate) fn end_row(&mut self, target: f64, weight: Option<f64>) {
        self.design.end_row();
        self.targets.push(target);
        if let Some(weight) = weight {
            self.weights.get_or_insert_default().push(weight);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.targets.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    pub(crate) fn weight(&self, row: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[row])
    }

    pub(crate) fn counting(&self) -> impl Iterator<Item = usize> {
        (0..self.len()).filter(|&row| self.weight(row) > 0.0)
    }

    pub(crate) fn counted(&self) -> u64 {
        self.counting().count() as u64
    }

    /// Refuses rows of which none counts, and numbers that are too large or too small for the error bounds.
    pub(crate) fn checked(self) -> Reading<Self> {
        let outside = |what: String, value: f64| {
            Err(Unreadable::new(format!(
                "{what} {value:e} lies outside 1e-140 to 1e140 in size"
            )))
        };
        let design = &self.design;
        if let Some(at) = design.values.iter().position(|value| !in_range(*value)) {
            let row = design.starts.partition_point(|start| *start <= at);
            return outside(format!("row {row}:"), design.values[at]);
        }
        let mut numbers = self.targets.iter().chain(self.weights.iter().flatten());
        if let Some(value) = numbers.find(|value| !in_range(**value)) {
            return outside("the target or weight".into(), *value);
        }
        match (self.is_empty(), self.counted()) {
            (true, _) => Err(Unreadable::new("there are no rows")),
            (_, 0) => Err(Unreadable::new("every sample weight is 0")),
            _ => Ok(self),
        }
    }
}
