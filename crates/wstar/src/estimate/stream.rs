//! Fits to streams: files larger than memory, or standard input.

use crate::estimate::history_recorder::Recorder;
use crate::estimate::{perceptrons, regularized};
use crate::model::Model;
use crate::settings::{Method, Options, Settings};
use wstar_data::error::Result;
use wstar_data::read::dataset_stream::DatasetStream;
use wstar_data::run::Watch;

/// Fits a model to a stream in constant memory. The mistake-driven methods learn row by row; a method that minimises a
/// loss makes as many passes as its solver needs.
pub fn fit_stream(stream: &mut DatasetStream, options: &Options, watch: &mut dyn Watch) -> Result<Model> {
    let method = options.method.unwrap_or(Method::AveragedPerceptron);
    let settings = options.for_method(method)?;
    match &settings {
        Settings::Regularized(own) => {
            let mut watch = Recorder::new(watch);
            let model = regularized::fit_stream(stream, own, &mut watch)?;
            Ok(Model {
                history: watch.history(),
                ..model
            })
        }
        Settings::Perceptrons(own) => perceptrons::fit_stream(stream, own, watch),
        _ => Err(perceptrons::not_streamed(method)),
    }
}
