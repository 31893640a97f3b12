//! Re-checks a model's certificate from the data alone. Nothing is taken from the fit but its claim.

use crate::bayes::{Estimate, minimax};
use crate::certify::{
    AGREEMENT, Certificate, MistakeBound, RunConditions, Separation, agree, likelihood, recompute_mistakes,
    recompute_separation,
};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::model::{Model, Predictor};
use crate::online::{Examples, InMemory, Order, label};
use crate::settings::Rule;
use crate::watch::Status;

/// What re-checking a claim led to.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Why the claim does not hold on these data; empty if it does.
    pub objections: Vec<String>,
    /// The claim as recomputed.
    pub certificate: Certificate,
}

impl Verdict {
    /// Whether the claim holds on these data.
    pub fn holds(&self) -> bool {
        self.objections.is_empty()
    }
}

/// Recomputes the certificate of a model from data prepared with its schema.
pub fn verify(model: &Model, data: &Dataset) -> Result<Verdict> {
    let (codes, classes) = data.require_classes()?;
    if classes != &model.classes {
        return Err(Error::data("the classes of the data are not those of the model").in_file(&data.source));
    }
    let mut objections = Vec::new();
    let rows = (0..codes.len()).filter(|&i| data.weight(i) > 0.0).count() as u64;
    if rows != model.fit.rows {
        objections.push(format!(
            "the model was trained on {} rows, these are {rows}",
            model.fit.rows
        ));
    }
    let mut examples = InMemory::new(data, codes, Order::Cyclic);
    let certificate = match &model.certificate {
        Certificate::MistakeBound { parts } => verify_mistakes(&mut examples, model, parts, &mut objections)?,
        Certificate::Separation { parts } => verify_separation(&mut examples, model, parts, &mut objections)?,
        Certificate::MaximumLikelihood { .. } | Certificate::EnclosingBall { .. } => {
            verify_estimate(data, model, &mut objections)?
        }
        Certificate::None => {
            objections.push("the model carries no claim: its data went by only once".into());
            Certificate::None
        }
    };
    Ok(Verdict {
        objections,
        certificate,
    })
}

fn object(objections: &mut Vec<String>, what: &str, claimed: f64, found: f64) {
    if !agree(claimed, found) {
        objections.push(format!("{what} is claimed to be {claimed}, and is {found}"));
    }
}

fn verify_mistakes(
    examples: &mut dyn Examples,
    model: &Model,
    claims: &[MistakeBound],
    objections: &mut Vec<String>,
) -> Result<Certificate> {
    let parts = recompute_mistakes(examples, claims)?;
    if claims.iter().map(|claim| claim.updates).sum::<u64>() != model.fit.iterations {
        objections.push("the bound is claimed for another number of updates than the model's".into());
    }
    // By the worst-classified rule an example can come back at any time.
    let repeats = (model.settings.rule != Some(Rule::Worst)).then_some(model.fit.passes);
    let conditions = RunConditions::of(&model.settings, repeats);
    for (claim, found) in claims.iter().zip(&parts) {
        if claim.conditions != conditions {
            objections.push("the bound is claimed for another run than the model's settings make".into());
        }
        // A separator of 0 stands for the number of looks: every example misses the whole margin.
        let norm = claim.separator.lifted_norm();
        if norm != 0.0 {
            object(objections, "the separator's norm", 1.0, norm);
        }
        object(objections, "the radius", claim.radius, found.radius);
        // Rounding may leave a slack of a few ulps where there is none.
        if (claim.slack - found.slack).abs() > AGREEMENT * (found.radius + claim.slack) {
            objections.push(format!(
                "the slack is claimed to be {}, and is {}",
                claim.slack, found.slack
            ));
        }
        match (claim.bound, found.bound) {
            (Some(claimed), Some(bound)) => object(objections, "the bound", claimed, bound),
            (None, None) => objections.push("no bound on the number of mistakes is known".into()),
            _ => objections.push("the bound does not follow from the data".into()),
        }
        if found.bound.is_some_and(|bound| found.updates as f64 > bound) {
            objections.push(format!("{} updates exceed the bound", found.updates));
        }
    }
    if model.fit.status == Status::Converged
        && let Predictor::Linear { discriminants, ties } = &model.predictor
    {
        let mut wrong = 0u64;
        let _ = examples.pass(0, &mut |example| {
            let mistaken = discriminants.iter().enumerate().any(|(k, plane)| {
                ties.is_mistake(
                    plane.score(example.row),
                    label(example.class, k, discriminants.len()),
                )
            });
            wrong += u64::from(mistaken);
            Ok(std::ops::ControlFlow::Continue(()))
        })?;
        if wrong > 0 {
            objections.push(format!(
                "the hyperplane is claimed to make no mistake, and makes {wrong}"
            ));
        }
    }
    Ok(Certificate::MistakeBound { parts })
}

fn verify_separation(
    examples: &mut dyn Examples,
    model: &Model,
    claims: &[Separation],
    objections: &mut Vec<String>,
) -> Result<Certificate> {
    if let Predictor::Linear { discriminants, .. } = &model.predictor
        && !discriminants
            .iter()
            .eq(claims.iter().map(|claim| &claim.hyperplane))
    {
        objections.push("the margins are claimed for other hyperplanes than the model's".into());
    }
    let settings = &model.settings;
    if claims.iter().any(|claim| {
        claim.intercept == settings.no_intercept || settings.epsilon.is_some_and(|e| e != claim.epsilon)
    }) {
        objections.push("the margins are claimed under other settings than the model's".into());
    }
    let parts = recompute_separation(examples, claims)?;
    for (claim, found) in claims.iter().zip(&parts) {
        let scale = AGREEMENT * found.upper.max(claim.upper);
        if (claim.lower - found.lower).abs() > scale {
            objections.push(format!(
                "the margin is claimed to be {}, and is {}",
                claim.lower, found.lower
            ));
        }
        object(
            objections,
            "the upper end of the interval",
            claim.upper,
            found.upper,
        );
        if !found.holds() {
            objections.push(format!(
                "the interval [{}, {}] is not within {} of its upper end",
                found.lower, found.upper, found.epsilon
            ));
        }
    }
    Ok(Certificate::Separation { parts })
}

fn verify_estimate(data: &Dataset, model: &Model, objections: &mut Vec<String>) -> Result<Certificate> {
    let Predictor::Bayes { estimate, .. } = &model.predictor else {
        return Err(Error::model(
            "a likelihood is claimed for a model without densities",
        ));
    };
    let certificate = certify_estimate(data, estimate)?;
    if !certificate.holds() {
        objections.push(match &certificate {
            Certificate::EnclosingBall { relative_gap, .. } => {
                format!("a ball is larger than the smallest one by up to {relative_gap:e} of its radius")
            }
            Certificate::MaximumLikelihood { deviation, .. } => {
                format!("a parameter deviates by {deviation:e} from what the data give")
            }
            _ => "it does not hold".into(),
        });
    }
    Ok(certificate)
}

/// The certificate of estimated densities, from the data.
pub(crate) fn certify_estimate(data: &Dataset, estimate: &Estimate) -> Result<Certificate> {
    Ok(match estimate {
        Estimate::Minimax(balls) => {
            let radii = minimax::verify(data, balls)?;
            let relative_gap = radii
                .iter()
                .map(|&(lower, upper)| minimax::relative_gap(lower, upper))
                .fold(0.0, f64::max);
            Certificate::EnclosingBall { radii, relative_gap }
        }
        _ => {
            let found = likelihood::recompute(data, estimate)?;
            Certificate::MaximumLikelihood {
                deviation: found.deviation,
                log_likelihood: found.log_likelihood,
            }
        }
    })
}
