//! Where a fit starts: at 0, at given numbers, at another model, or where an earlier fit was when it ended.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::data::{Classes, Dataset, Schema};
use crate::error::{Error, Result};
use crate::model::{Model, Predictor};
use crate::reduction::{Reduction, Totals};
use crate::settings::Settings;
use crate::solve::SharedColumns;

/// Where a fit starts, and where it keeps how far it has got.
#[derive(Debug, Clone, Copy, Default)]
pub struct Origin<'a> {
    /// Starts at the weights of this model.
    pub model: Option<&'a Model>,
    /// Keeps the state of a long fit in this file, and goes on from it if it is there.
    pub checkpoint: Option<&'a Path>,
    /// What an earlier fit to the same rows has found out about them.
    pub known: Option<&'a Known>,
}

/// What fits to the same rows can tell each other.
#[derive(Debug, Default)]
pub struct Known {
    schema: OnceLock<Arc<Schema>>,
    pub(super) totals: OnceLock<Totals>,
    pub(super) columns: SharedColumns,
}

impl Known {
    /// The schema of these rows, for all models of them.
    pub(crate) fn schema(&self, data: &Dataset) -> &Arc<Schema> {
        self.schema.get_or_init(|| Arc::new(data.schema.clone()))
    }

    /// Whether a model has it.
    fn has_schema(&self, model: &Model) -> bool {
        let schema = self.schema.get();
        schema.is_some_and(|schema| Arc::ptr_eq(schema, &model.schema))
    }
}

impl Origin<'_> {
    pub(crate) fn is_default(&self) -> bool {
        self.model.is_none() && self.checkpoint.is_none()
    }
}

/// A start for each problem of the fit.
pub(super) fn starts(
    origin: &Origin<'_>,
    settings: &Settings,
    reduction: &Reduction,
    schema: &Schema,
    classes: &Classes,
) -> Result<Vec<Vec<f64>>> {
    let layout = reduction.definition.layout;
    match (&settings.start, origin.model) {
        (Some(_), Some(_)) => Err(Error::settings("--start and --start-from cannot both be given")),
        (None, None) => Ok(vec![vec![0.0; layout.len()]; reduction.parts.len()]),
        (Some(given), None) => given_start(given, reduction).map(|start| vec![start]),
        (None, Some(model)) => {
            // Names of many columns take their time to compare.
            let same = origin.known.is_some_and(|known| known.has_schema(model));
            from_model(model, reduction, (!same).then_some(schema), classes)
        }
    }
}

/// The numbers that were given, the intercept first.
fn given_start(given: &[f64], reduction: &Reduction) -> Result<Vec<f64>> {
    let layout = reduction.definition.layout;
    if given.len() != layout.len() || layout.outputs != 1 || reduction.parts.len() != 1 {
        return Err(Error::settings(format!(
            "--start has {} numbers, and the problem {}",
            given.len(),
            layout.len() * reduction.parts.len()
        )));
    }
    if given.iter().any(|value| !value.is_finite()) {
        return Err(Error::settings("--start holds a number that is not finite"));
    }
    let mut start = given.to_vec();
    if layout.intercept {
        start.rotate_left(1);
    }
    Ok(start)
}

fn from_model(
    model: &Model,
    reduction: &Reduction,
    other_schema: Option<&Schema>,
    classes: &Classes,
) -> Result<Vec<Vec<f64>>> {
    let refused = |why: &str| Error::model(format!("--start-from: {why}"));
    let Predictor::Linear { discriminants, .. } = &model.predictor else {
        return Err(refused("the model has no hyperplanes to start from"));
    };
    if let Some(schema) = other_schema {
        if !model.schema.feature_names().eq(schema.feature_names()) {
            return Err(refused("the model has other features than the data"));
        }
        if model.schema.scaling != schema.scaling {
            return Err(refused("the model's columns are scaled differently"));
        }
    }
    if &model.classes != classes {
        return Err(refused("the model has other classes than the data"));
    }
    let layout = reduction.definition.layout;
    if discriminants.len() != layout.outputs * reduction.parts.len() {
        return Err(refused("the model tells its classes apart in another way"));
    }
    let start = |planes: &[crate::model::Hyperplane]| {
        let lifted = planes.iter().flat_map(|plane| {
            let intercept = layout.intercept.then_some(plane.intercept);
            plane.weights.iter().copied().chain(intercept)
        });
        lifted.collect()
    };
    Ok(discriminants.chunks(layout.outputs).map(start).collect())
}
