//! The result of a method, and the model made from it.

use std::sync::Arc;

use crate::certificate::{Certificate, Enclosure};
use crate::inference::Inference;
use crate::model::{FitRecord, Model, Predictor};
use crate::settings::Settings;
use wstar_data::{Classes, Schema};
use wstar_solve::LeastSquaresReport;

/// The result of a method.
pub(super) struct Outcome {
    pub(super) predictor: Predictor,
    pub(super) fit: FitRecord,
    pub(super) certificate: Certificate,
    pub(super) inference: Option<Inference>,
    pub(super) proved: Option<Vec<Enclosure>>,
    pub(super) least_squares: Option<LeastSquaresReport>,
}

impl Outcome {
    pub(super) fn into_model(
        self,
        settings: Settings,
        schema: impl Into<Arc<Schema>>,
        classes: Classes,
    ) -> Model {
        Model {
            settings,
            schema: schema.into(),
            classes,
            predictor: self.predictor,
            fit: self.fit,
            certificate: self.certificate,
            inference: self.inference,
            proved: self.proved,
            least_squares: self.least_squares,
            history: None,
            digest: None,
        }
    }
}
