//! Fits to a stream: a file larger than memory, or a standard input without an end.

use crate::error::Result;
use crate::fit::history::Recorder;
use crate::fit::{convex, online};
use crate::model::Model;
use crate::online::Streamed;
use crate::settings::Settings;
use crate::watch::Watch;

/// Fits a model to a stream in constant memory: the mistake-driven methods in passes of their own, those that
/// minimise a loss in as many as their solver asks for.
pub fn fit_stream(stream: &mut Streamed, settings: &Settings, watch: &mut dyn Watch) -> Result<Model> {
    settings.check()?;
    if settings.method().is_convex() {
        let mut watch = Recorder::new(watch);
        let model = convex::fit_stream(stream, settings, &mut watch)?;
        Ok(Model {
            history: watch.history(),
            ..model
        })
    } else {
        online::fit_stream(stream, settings, watch)
    }
}
