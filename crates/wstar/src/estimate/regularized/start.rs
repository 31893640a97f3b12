//! Starting points of a fit: 0, given numbers, another model, or the checkpoint of an earlier fit.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use wstar_data::error::ErrorKind;
use wstar_data::setting::Setting;

use crate::model::{Model, Predictor};
use crate::settings::Regularized;
use wstar_data::error::{Error, Result};
use wstar_data::{Classes, Dataset, Schema};
use wstar_problem::multiclass::{Subproblems, Totals};
use wstar_solve::SharedColumns;

/// Where a fit starts, and where it stores its progress.
#[derive(Debug, Clone, Copy, Default)]
pub struct Start<'a> {
    /// Starts at the parameters of this model.
    pub model: Option<&'a Model>,
    /// Stores the state of a long fit in this file, and resumes from it if it exists.
    pub checkpoint: Option<&'a Path>,
    /// Results about the rows that an earlier fit to the same rows computed.
    pub known: Option<&'a SharedWork>,
}

/// Results that fits to the same rows share.
#[derive(Debug, Default)]
pub struct SharedWork {
    schema: OnceLock<Arc<Schema>>,
    pub(super) totals: OnceLock<Totals>,
    pub(super) columns: SharedColumns,
}

impl SharedWork {
    /// The schema of these rows, shared by all their models.
    pub(crate) fn schema(&self, data: &Dataset) -> &Arc<Schema> {
        self.schema.get_or_init(|| Arc::new(data.schema().clone()))
    }

    /// Whether a model uses the shared schema.
    fn has_schema(&self, model: &Model) -> bool {
        let schema = self.schema.get();
        schema.is_some_and(|schema| Arc::ptr_eq(schema, &model.schema))
    }
}

impl Start<'_> {
    pub(crate) fn is_default(&self) -> bool {
        self.model.is_none() && self.checkpoint.is_none()
    }
}

/// A starting point for each subproblem of the fit.
pub(super) fn starts(
    origin: &Start<'_>,
    settings: &Regularized,
    reduction: &Subproblems,
    schema: &Schema,
    classes: &Classes,
) -> Result<Vec<Vec<f64>>> {
    let layout = reduction.problem().layout();
    match (&settings.start, origin.model) {
        (Some(_), Some(_)) => Err(Error::conflict(
            Setting::Start.given(),
            Setting::StartFrom.given(),
        )),
        (None, None) => Ok(vec![vec![0.0; layout.len()]; reduction.parts().len()]),
        (Some(given), None) => given_start(given, reduction).map(|start| vec![start]),
        (None, Some(model)) => {
            // A shared schema needs no comparison, and comparing the names of many columns takes time.
            let same = origin.known.is_some_and(|known| known.has_schema(model));
            from_model(model, reduction, (!same).then_some(schema), classes)
        }
    }
}

/// The start given in the settings, reordered: the settings have the intercept first, the parameters last.
fn given_start(given: &[f64], reduction: &Subproblems) -> Result<Vec<f64>> {
    let layout = reduction.problem().layout();
    if given.len() != layout.len() || layout.outputs != 1 || reduction.parts().len() != 1 {
        return Err(Error::misuse(
            Setting::Start.given(),
            format!(
                "has {} numbers, and the problem {}",
                given.len(),
                layout.len() * reduction.parts().len()
            ),
        ));
    }
    if given.iter().any(|value| !value.is_finite()) {
        return Err(Error::misuse(
            Setting::Start.given(),
            "holds a number that is not finite",
        ));
    }
    let mut start = given.to_vec();
    if layout.intercept {
        start.rotate_left(1);
    }
    Ok(start)
}

fn from_model(
    model: &Model,
    reduction: &Subproblems,
    other_schema: Option<&Schema>,
    classes: &Classes,
) -> Result<Vec<Vec<f64>>> {
    let refused = |why: &str| {
        Error::misuse(Setting::StartFrom.given(), format!("cannot be used: {why}")).of_kind(ErrorKind::Model)
    };
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
    let layout = reduction.problem().layout();
    if discriminants.len() != layout.outputs * reduction.parts().len() {
        return Err(refused("the model reduces its classes to other subproblems"));
    }
    let start = |planes: &[wstar_data::linear::Hyperplane]| {
        let lifted = planes.iter().flat_map(|plane| {
            let intercept = layout.intercept.then_some(plane.intercept);
            plane.weights.iter().copied().chain(intercept)
        });
        lifted.collect()
    };
    Ok(discriminants.chunks(layout.outputs).map(start).collect())
}
