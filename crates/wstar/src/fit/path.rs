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
    let known = Known::default();
    let mut models: Vec<Model> = Vec::with_capacity(settings.len());
    for settings in settings {
        let origin = Origin {
            model: models.last(),
            known: Some(&known),
            ..Origin::default()
        };
        models.push(fit_from(data, settings, &origin, watch)?);
    }
    Ok(models)
}
