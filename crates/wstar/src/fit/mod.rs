//! The one door to a fit: settings are checked, the method runs, its claim is certified, a model comes out.

mod convex;
mod density;
mod feed;
pub(crate) mod hard_margin;
mod history;
mod kozinec;
mod min_error;
mod online;
mod path;
mod stream;

pub use convex::{Known, Origin};
pub use density::fit_batch;
pub use path::{fit_each, fit_path};
pub use stream::fit_stream;

use std::sync::Arc;

use crate::certify::Certificate;
use crate::data::{Classes, Dataset, Schema};
use crate::error::{Error, Result};
use crate::inference::Inference;
use crate::model::{FitRecord, Model, Predictor};
use crate::settings::{Method, Settings};
use crate::solve::LeastSquaresReport;
use crate::watch::Watch;
use history::Recorder;

/// What a method gives back.
struct Outcome {
    predictor: Predictor,
    fit: FitRecord,
    certificate: Certificate,
    inference: Option<Inference>,
    least_squares: Option<LeastSquaresReport>,
}

impl Outcome {
    fn into_model(self, settings: &Settings, schema: impl Into<Arc<Schema>>, classes: Classes) -> Model {
        Model {
            method: settings.method(),
            settings: settings.clone(),
            schema: schema.into(),
            classes,
            predictor: self.predictor,
            fit: self.fit,
            certificate: self.certificate,
            inference: self.inference,
            least_squares: self.least_squares,
            history: None,
            digest: None,
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
    fit_from(data, settings, &Origin::default(), watch)
}

/// Fits a model as [`fit`] does, from another model or from where an earlier fit was when it ended.
pub fn fit_from(
    data: &Dataset,
    settings: &Settings,
    origin: &Origin<'_>,
    watch: &mut dyn Watch,
) -> Result<Model> {
    let settings = &Settings {
        method: Some(
            settings
                .method
                .unwrap_or_else(|| settings.first_choice(&data.target)),
        ),
        ..settings.clone()
    };
    settings.check()?;
    let method = settings.method();
    let mut watch = Recorder::new(watch);
    let outcome = if method.is_convex() {
        convex::fit(data, settings, origin, &mut watch)?
    } else if !origin.is_default() {
        return Err(Error::settings(format!(
            "--start-from and --checkpoint do not go with --method {}",
            method.name()
        ))
        .hint("they are for the methods that minimise a loss"));
    } else if method.is_online() {
        online::fit_in_memory(data, settings, &mut watch)?
    } else if method == Method::HardMargin {
        hard_margin::fit(data, settings, &mut watch)?
    } else if method == Method::MinError {
        min_error::fit(data, settings, &mut watch)?
    } else {
        density::fit(data, settings, &mut watch)?
    };
    let classes = data.classes().cloned().unwrap_or(Classes::NONE);
    let schema = match origin.known {
        Some(known) => Arc::clone(known.schema(data)),
        None => Arc::new(data.schema.clone()),
    };
    let model = outcome.into_model(settings, schema, classes);
    Ok(Model {
        history: watch.history(),
        ..model
    })
}
