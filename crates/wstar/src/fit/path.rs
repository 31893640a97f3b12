//! One fit after another to the same rows: along a path of penalties each starts where the last one ended.

use crate::data::Dataset;
use crate::error::Result;
use crate::fit::{Known, Origin, fit_from};
use crate::model::Model;
use crate::settings::Settings;
use crate::watch::Watch;

/// Fits by these settings, one after another; what is found out about the rows is found out once.
///
/// ```
/// use wstar::data::Dataset;
/// use wstar::settings::{Method, Settings};
/// use wstar::watch::Unwatched;
/// let rows = [[0.0, 1.0], [1.0, 0.5], [2.0, 0.0], [3.0, 2.0]].map(Vec::from);
/// let data = Dataset::measured(&rows, vec![0.1, 0.9, 2.1, 2.9]).unwrap();
/// let lasso = |lambda| Settings {
///     penalty: Some(wstar::penalty::PenaltyName::L1),
///     lambda: Some(lambda),
///     ..Settings::for_method(Method::LeastSquares)
/// };
/// let path = wstar::fit::fit_path(&data, &[lasso(1.0), lasso(0.1)], &mut Unwatched).unwrap();
/// assert!(path.iter().all(|model| model.certificate.holds()));
/// ```
pub fn fit_path(data: &Dataset, settings: &[Settings], watch: &mut dyn Watch) -> Result<Vec<Model>> {
    let mut models = Vec::with_capacity(settings.len());
    fit_each(data, settings, watch, |model| {
        models.push(model);
        Ok(())
    })?;
    Ok(models)
}

/// The same, for one who has no room for all the models: `done` is given each once the next has been fitted.
pub fn fit_each(
    data: &Dataset,
    settings: &[Settings],
    watch: &mut dyn Watch,
    mut done: impl FnMut(Model) -> Result<()>,
) -> Result<()> {
    let known = Known::default();
    let mut last: Option<Model> = None;
    for settings in settings {
        let origin = Origin {
            model: last.as_ref(),
            known: Some(&known),
            ..Origin::default()
        };
        let model = fit_from(data, settings, &origin, watch)?;
        last.replace(model).map_or(Ok(()), &mut done)?;
    }
    last.map_or(Ok(()), &mut done)
}
