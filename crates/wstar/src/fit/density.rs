//! Fits the methods that estimate densities and decide by the Bayes rule.

use crate::bayes::naive::Tally;
use crate::bayes::{self, Estimate, Penalties};
use crate::certify::Certificate;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::fit::Outcome;
use crate::model::{FitRecord, Model, Predictor, certify_estimate};
use crate::settings::{Density, Method, Settings};
use crate::watch::{Status, Watch};

/// Adds a batch of rows to the sums of naive Bayes over `seen` rows before: the new sums, and the model that all rows
/// together make, if they determine one. It claims nothing, for its earlier rows are gone: `verify` makes the
/// certificate from all of them.
pub fn fit_batch(
    data: &Dataset,
    settings: &Settings,
    before: Option<Tally>,
    seen: u64,
) -> Result<(Tally, Option<Model>)> {
    settings.check()?;
    let estimation = estimation(settings)?;
    let (codes, classes) = data.require_classes()?;
    let batch = Tally::of(data, &estimation)?;
    let tally = match before {
        Some(mut tally) => {
            tally.add(&batch)?;
            tally
        }
        None => batch,
    };
    let rows = seen + (0..codes.len()).filter(|&i| data.weight(i) > 0.0).count() as u64;
    let model = tally.estimate(&estimation).map(|estimate| {
        outcome(estimate, None, Certificate::None, rows).into_model(
            settings,
            data.schema.clone(),
            classes.clone(),
        )
    });
    Ok((tally, model))
}

/// Estimates, and certifies what was estimated.
pub(super) fn fit(data: &Dataset, settings: &Settings, watch: &mut dyn Watch) -> Result<Outcome> {
    let (codes, classes) = data.require_classes()?;
    let penalties = settings.penalties.clone().map(Penalties::new).transpose()?;
    if let Some(penalties) = &penalties {
        penalties.check(classes.len())?;
    }
    let estimate = bayes::fit(data, &estimation(settings)?)?;
    watch.certifying();
    let certificate = certify_estimate(data, &estimate)?;
    let rows = (0..codes.len()).filter(|&i| data.weight(i) > 0.0).count() as u64;
    Ok(outcome(estimate, penalties, certificate, rows))
}

fn outcome(estimate: Estimate, penalties: Option<Penalties>, certificate: Certificate, rows: u64) -> Outcome {
    Outcome {
        predictor: Predictor::Bayes { estimate, penalties },
        fit: FitRecord {
            // A closed form has converged if its certificate says so, and otherwise ran out of digits.
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
        least_squares: None,
    }
}

fn estimation(settings: &Settings) -> Result<bayes::Settings> {
    let shrinkage = settings.shrinkage.unwrap_or(0.0);
    let density = settings.density.unwrap_or_default();
    Ok(match (settings.method(), density) {
        (Method::Gaussian, _) => bayes::Settings::Gaussian { shrinkage },
        (Method::Lda, _) => bayes::Settings::Lda { shrinkage },
        (Method::NaiveBayes, Density::Gaussian) => bayes::Settings::NaiveGaussian {
            var_smoothing: settings.smoothing.unwrap_or(1e-9),
        },
        (Method::NaiveBayes, Density::Bernoulli) => bayes::Settings::NaiveBernoulli {
            alpha: settings.smoothing.unwrap_or(1.0),
            threshold: 0.0,
        },
        (Method::NaiveBayes, Density::Multinomial) => bayes::Settings::NaiveMultinomial {
            alpha: settings.smoothing.unwrap_or(1.0),
        },
        (Method::Minimax, _) => bayes::Settings::Minimax,
        (method, _) => {
            return Err(Error::settings(format!(
                "{} does not estimate densities",
                method.name()
            )));
        }
    })
}
