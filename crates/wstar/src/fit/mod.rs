//! The one door to a fit: settings are checked, the method runs, its claim is certified, a model comes out.

mod density;
mod feed;
mod kozinec;
mod online;

pub use online::fit_stream;

use crate::certify::Certificate;
use crate::data::{Classes, Dataset, Schema};
use crate::error::Result;
use crate::model::{FitRecord, Model, Predictor};
use crate::settings::{Method, Settings};
use crate::watch::Watch;

/// What a method gives back.
struct Outcome {
    predictor: Predictor,
    fit: FitRecord,
    certificate: Certificate,
}

impl Outcome {
    fn into_model(self, settings: &Settings, schema: Schema, classes: Classes) -> Model {
        Model {
            method: settings.method(),
            settings: settings.clone(),
            schema,
            classes,
            predictor: self.predictor,
            fit: self.fit,
            certificate: self.certificate,
        }
    }
}

/// Fits a model to data, and certifies it.
///
/// ```
/// use wstar::data::Dataset;
/// use wstar::settings::{Method, Settings};
/// use wstar::watch::{Status, Unwatched};
/// let rows = [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]].map(Vec::from);
/// let data = Dataset::labelled(&rows, &["spam", "ham", "ham"]).unwrap();
/// let model = wstar::fit(&data, &Settings::for_method(Method::Perceptron), &mut Unwatched).unwrap();
/// assert_eq!(model.fit.status, Status::Converged);
/// assert!(wstar::verify(&model, &data).unwrap().holds());
/// ```
pub fn fit(data: &Dataset, settings: &Settings, watch: &mut dyn Watch) -> Result<Model> {
    settings.check()?;
    let (_, classes) = data.require_classes()?;
    let classes = classes.clone();
    if settings.method.is_none() && settings.first_choice(data) == Method::Lda {
        let settings = Settings {
            method: Some(Method::Lda),
            ..settings.clone()
        };
        // Nobody asked for this method, so nobody is refused for a covariance that it cannot invert.
        if let Ok(outcome) = density::fit(data, &settings, watch) {
            return Ok(outcome.into_model(&settings, data.schema.clone(), classes));
        }
    }
    let outcome = if settings.method().is_online() {
        online::fit_in_memory(data, settings, watch)?
    } else {
        density::fit(data, settings, watch)?
    };
    Ok(outcome.into_model(settings, data.schema.clone(), classes))
}
