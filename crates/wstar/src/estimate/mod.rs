//! Fits: checks the settings, runs the method, certifies its claim, and builds the model.
//!
//! - `outcome`: the result of a method, and the model made from it.
//! - `regularized`: methods that minimise a loss and a penalty.
//! - `perceptrons`, `kozinec_rule`, `example_source`: mistake-driven methods, and the source of their examples.
//! - `densities`: Bayes rules with estimated densities.
//! - `maximum_margin`, `least_error`: the maximum margin, and the fewest training errors.
//! - `stream`: fits to streams.
//! - `fit_builder`: the functions of every builder that fit a model.
//! - `history_recorder`: a watch that records the history of a solver.

mod densities;
mod example_source;
mod fit_builder;
mod history_recorder;
mod kozinec_rule;
mod least_error;
pub(crate) mod maximum_margin;
mod outcome;
mod perceptrons;
mod regularized;
mod stream;

pub use densities::fit_batch;
pub use regularized::{SharedWork, Start};
pub use stream::fit_stream;
pub use wstar_solve::plan::SolverOptions;

use std::sync::Arc;
use wstar_data::setting::Setting;

use crate::model::Model;
use crate::settings::{Family, Options, Settings};
use history_recorder::Recorder;
use wstar_data::error::{Error, Result};
use wstar_data::run::{Unwatched, Watch};
use wstar_data::{Classes, Dataset};

/// Fits a model to data and certifies it.
///
/// ```
/// use wstar::data::Dataset;
/// use wstar::settings::{Method, Options};
/// use wstar::data::run::{Status, Unwatched};
/// let rows = [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]].map(Vec::from);
/// let data = Dataset::labelled(&rows, &["spam", "ham", "ham"]).unwrap();
/// let model = wstar::fit(&data, &Options::of(Method::Perceptron), &mut Unwatched).unwrap();
/// assert_eq!(model.status(), Status::Converged);
/// assert!(wstar::model::verify(&model, &data).unwrap().holds());
/// ```
pub fn fit(data: &Dataset, options: &Options, watch: &mut dyn Watch) -> Result<Model> {
    fit_from(data, options, &Start::default(), watch)
}

/// Fits a model as [`fit`] does, starting at another model or at the checkpoint of an earlier fit.
///
/// ```
/// use wstar::prelude::*;
/// use wstar::data::run::Unwatched;
/// use wstar::estimate::{Start, fit_from};
/// use wstar::settings::{Method, Options};
/// let data = Dataset::labelled(&[[0.0], [1.0], [2.0], [3.0]], &["a", "a", "b", "b"])?;
/// let first = Logistic::l2().c(1.0).fit(&data)?;
/// let options = Options { c: Some(2.0), ..Options::of(Method::Logistic) };
/// let start = Start { model: Some(&first), ..Start::default() };
/// assert!(fit_from(&data, &options, &start, &mut Unwatched)?.certificate().holds());
/// # Ok::<(), wstar::Error>(())
/// ```
pub fn fit_from(
    data: &Dataset,
    options: &Options,
    origin: &Start<'_>,
    watch: &mut dyn Watch,
) -> Result<Model> {
    fit_settings(data, &options.for_target(data.target())?, origin, watch)
}

/// Fits a model with the settings of a family.
///
/// ```
/// use wstar::prelude::*;
/// use wstar::data::run::Unwatched;
/// use wstar::estimate::{Start, fit_settings};
/// let data = Dataset::labelled(&[[0.0], [1.0], [2.0], [3.0]], &["a", "a", "b", "b"])?;
/// let settings = MaximumMargin::new().into();
/// let model = fit_settings(&data, &settings, &Start::default(), &mut Unwatched)?;
/// assert!(model.certificate().holds());
/// # Ok::<(), wstar::Error>(())
/// ```
pub fn fit_settings(
    data: &Dataset,
    settings: &Settings,
    origin: &Start<'_>,
    watch: &mut dyn Watch,
) -> Result<Model> {
    settings.check()?;
    let method = settings.method();
    if method.family() != Family::Regularized && !origin.is_default() {
        return Err(Error::conflict(
            match origin.model {
                Some(_) => Setting::StartFrom.given(),
                None => Setting::Checkpoint.given(),
            },
            Setting::Method.to(method.name()),
        )
        .remedy("it is for the methods that minimise a loss"));
    }
    let mut watch = Recorder::new(watch);
    let outcome = match settings {
        Settings::Regularized(own) => regularized::fit(data, own, origin, &mut watch)?,
        Settings::Perceptrons(own) => perceptrons::fit_in_memory(data, &own.into(), &mut watch)?,
        Settings::Kozinec(own) => perceptrons::fit_in_memory(data, &own.into(), &mut watch)?,
        Settings::Densities(own) => densities::fit(data, own, &mut watch)?,
        Settings::MaximumMargin(own) => maximum_margin::fit(data, own, &mut watch)?,
        Settings::MinError(own) => {
            let fit_other = |rows: &Dataset, options: &Options| fit(rows, options, &mut Unwatched);
            least_error::fit(data, own, &fit_other, &mut watch)?
        }
    };
    let classes = data.classes().cloned().unwrap_or(Classes::NONE);
    let schema = match origin.known {
        Some(known) => Arc::clone(known.schema(data)),
        None => Arc::new(data.schema().clone()),
    };
    let model = outcome.into_model(settings.clone(), schema, classes);
    Ok(Model {
        history: watch.history(),
        ..model
    })
}
