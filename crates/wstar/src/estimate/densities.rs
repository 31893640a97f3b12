//! Fits the methods that estimate class-conditional densities and apply the Bayes rule.

use crate::bayes::naive::Tally;
use crate::bayes::{self, Estimate, Penalties};
use crate::certificate::Certificate;
use crate::estimate::outcome::Outcome;
use crate::model::{FitRecord, Model, Predictor, certify_estimate};
use crate::settings::{Densities, Options, Settings};
use wstar_data::Dataset;
use wstar_data::error::{Error, Result};
use wstar_data::run::{Status, Watch};

/// Adds a batch of rows to the sums of naive Bayes over `seen` earlier rows. Returns the new sums, and the model of all
/// rows if they determine one. The model has no certificate, because the earlier rows are not available; `verify`
/// computes one from all rows.
pub fn fit_batch(
    data: &Dataset,
    options: &Options,
    before: Option<Tally>,
    seen: u64,
) -> Result<(Tally, Option<Model>)> {
    let settings = options.for_target(data.target())?;
    let Settings::Densities(Densities { density, .. }) = &settings else {
        let name = settings.method().name();
        return Err(Error::settings(format!("{name} does not estimate densities")));
    };
    let (codes, classes) = data.require_classes()?;
    let batch = Tally::of(data, density)?;
    let tally = match before {
        Some(mut tally) => {
            tally.add(&batch)?;
            tally
        }
        None => batch,
    };
    let rows = seen + (0..codes.len()).filter(|&i| data.weight(i) > 0.0).count() as u64;
    let model = tally.estimate(density).map(|estimate| {
        outcome(estimate, None, Certificate::None, rows).into_model(
            settings.clone(),
            data.schema().clone(),
            classes.clone(),
        )
    });
    Ok((tally, model))
}

/// Estimates the densities and certifies them.
pub(super) fn fit(data: &Dataset, settings: &Densities, watch: &mut dyn Watch) -> Result<Outcome> {
    let (codes, classes) = data.require_classes()?;
    let penalties = settings.penalties.clone().map(Penalties::new).transpose()?;
    if let Some(penalties) = &penalties {
        penalties.check(classes.len())?;
    }
    let estimate = bayes::fit(data, &settings.density)?;
    watch.certifying();
    let certificate = certify_estimate(data, &estimate)?;
    let rows = (0..codes.len()).filter(|&i| data.weight(i) > 0.0).count() as u64;
    Ok(outcome(estimate, penalties, certificate, rows))
}

fn outcome(estimate: Estimate, penalties: Option<Penalties>, certificate: Certificate, rows: u64) -> Outcome {
    Outcome {
        predictor: Predictor::Bayes { estimate, penalties },
        fit: FitRecord {
            // A closed form has converged if its certificate holds; otherwise rounding errors are too large.
            status: match &certificate {
                Certificate::None => Status::Completed,
                claim if claim.holds() => Status::Converged,
                _ => Status::IterationLimit,
            },
            rows,
            passes: 2,
            iterations: 1,
            seen: 2 * rows,
            mistakes_by_pass: Vec::new(),
            objective: None,
            solver: None,
            notes: Vec::new(),
        },
        certificate,
        inference: None,
        proved: None,
        least_squares: None,
    }
}
