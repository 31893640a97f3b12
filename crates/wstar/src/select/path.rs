//! Paths of fits to the same rows: each fit starts at the optimum of the previous one.

use crate::estimate::{SharedWork, Start, fit_from};
use crate::model::Model;
use crate::settings::Options;
use wstar_data::Dataset;
use wstar_data::error::Result;
use wstar_data::run::Watch;

/// Fits once for each of the settings, in order. Quantities that depend only on the rows are computed once.
///
/// ```
/// use wstar::data::Dataset;
/// use wstar::settings::{Method, Options};
/// use wstar::data::run::Unwatched;
/// let rows = [[0.0, 1.0], [1.0, 0.5], [2.0, 0.0], [3.0, 2.0]].map(Vec::from);
/// let data = Dataset::measured(&rows, vec![0.1, 0.9, 2.1, 2.9]).unwrap();
/// let lasso = |lambda| Options {
///     penalty: Some(wstar::problem::penalty::PenaltyName::L1),
///     lambda: Some(lambda),
///     ..Options::of(Method::LeastSquares)
/// };
/// let path = wstar::select::fit_path(&data, &[lasso(1.0), lasso(0.1)], &mut Unwatched).unwrap();
/// assert!(path.iter().all(|model| model.certificate().holds()));
/// ```
pub fn fit_path(data: &Dataset, settings: &[Options], watch: &mut dyn Watch) -> Result<Vec<Model>> {
    let mut models = Vec::with_capacity(settings.len());
    fit_each(data, settings, watch, |model| {
        models.push(model);
        Ok(())
    })?;
    Ok(models)
}

/// Like [`fit_path`], without holding all models in memory: `done` receives each model after the next one was fitted.
///
/// ```
/// use wstar::prelude::*;
/// use wstar::data::run::Unwatched;
/// use wstar::settings::{Method, Options};
/// let data = Dataset::labelled(&[[0.0], [1.0], [2.0], [3.0]], &["a", "a", "b", "b"])?;
/// let path = [0.01, 0.1, 1.0].map(|c| Options { c: Some(c), ..Options::of(Method::Logistic) });
/// let mut objectives = Vec::new();
/// wstar::select::fit_each(&data, &path, &mut Unwatched, |model| {
///     objectives.extend(model.record().objective);
///     Ok(())
/// })?;
/// assert_eq!(objectives.len(), 3);
/// # Ok::<(), wstar::Error>(())
/// ```
pub fn fit_each(
    data: &Dataset,
    settings: &[Options],
    watch: &mut dyn Watch,
    mut done: impl FnMut(Model) -> Result<()>,
) -> Result<()> {
    let known = SharedWork::default();
    let mut last: Option<Model> = None;
    for settings in settings {
        let origin = Start {
            model: last.as_ref(),
            known: Some(&known),
            ..Start::default()
        };
        let model = fit_from(data, settings, &origin, watch)?;
        last.replace(model).map_or(Ok(()), &mut done)?;
    }
    last.map_or(Ok(()), &mut done)
}
