//! Re-checks a model's certificate from the data alone. Nothing is taken from the fit but its claim.

use crate::bayes::{Estimate, minimax};
use crate::certify::{
    AGREEMENT, Certificate, LargestMargin, LeastError, MistakeBound, RunConditions, Separation, agree,
    duality, least_error, likelihood, recompute_mistakes, recompute_separation, stationarity,
};
use crate::data::{Classes, Dataset, Portions};
use crate::error::{Error, Result};
use crate::fit::hard_margin::all_sides;
use crate::model::{Model, Predictor};
use crate::online::{Examples, InMemory, Order, Streamed, label};
use crate::reduction::{PartBlocks, Reduction, Totals};
use crate::settings::{ClassWeights, Rule};
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

/// Recomputes the certificate of a model from data that do not fit into memory: one pass, or two where C or the
/// class weights depend on the number of rows. Only for methods that minimise a loss.
pub fn verify_stream(model: &Model, stream: &mut Streamed) -> Result<Verdict> {
    if !model.method.is_convex() {
        return Err(Error::settings(format!(
            "a {} model is not verified from a stream",
            model.method.name()
        ))
        .hint("leave --stream out"));
    }
    let mut objections = Vec::new();
    let certificate = verify_optimum(stream, model, &mut objections)?;
    Ok(Verdict {
        objections,
        certificate,
    })
}

/// Recomputes the certificate of a model from data prepared with its schema.
pub fn verify(model: &Model, data: &Dataset) -> Result<Verdict> {
    if data.classes().map_or(0, Classes::len) != model.classes.len()
        || data.classes().is_some_and(|classes| classes != &model.classes)
    {
        return Err(Error::data("the classes of the data are not those of the model").in_file(&data.source));
    }
    let mut objections = Vec::new();
    let rows = (0..data.rows()).filter(|&i| data.weight(i) > 0.0).count() as u64;
    if rows != model.fit.rows && !model.method.is_convex() {
        objections.push(format!(
            "the model was trained on {} rows, these are {rows}",
            model.fit.rows
        ));
    }
    let certificate = match &model.certificate {
        Certificate::MistakeBound { parts } => {
            let (codes, _) = data.require_classes()?;
            let mut examples = match model.settings.multiset {
                true => InMemory::multiset(data, codes, Order::Cyclic)?,
                false => InMemory::new(data, codes, Order::Cyclic),
            };
            verify_mistakes(&mut examples, model, parts, &mut objections)?
        }
        Certificate::Separation { parts } => {
            let (codes, _) = data.require_classes()?;
            let mut examples = InMemory::new(data, codes, Order::Cyclic);
            verify_separation(&mut examples, model, parts, &mut objections)?
        }
        Certificate::DualityGap { .. } | Certificate::Stationarity { .. } => {
            verify_optimum(&mut &*data, model, &mut objections)?
        }
        Certificate::MaximumLikelihood { .. } | Certificate::EnclosingBall { .. } => {
            verify_estimate(data, model, &mut objections)?
        }
        Certificate::MinError(claim) => verify_least_error(data, model, claim, &mut objections)?,
        Certificate::HardMargin { parts } => verify_hard_margin(data, model, parts, &mut objections)?,
        // Batches went by one after the other; all rows together can still be asked.
        Certificate::None if matches!(model.predictor, Predictor::Bayes { .. }) => {
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
    let conditions = RunConditions::of(&model.settings, repeats, claims.len());
    for ((claim, found), conditions) in claims.iter().zip(&parts).zip(&conditions) {
        if &claim.conditions != conditions {
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
        && let Predictor::Linear {
            discriminants, ties, ..
        } = &model.predictor
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

/// Recomputes the gap, or the slopes, of every problem that the model was made of.
fn verify_optimum(
    data: &mut dyn Portions,
    model: &Model,
    objections: &mut Vec<String>,
) -> Result<Certificate> {
    let Predictor::Linear { discriminants, .. } = &model.predictor else {
        return Err(Error::model(
            "an optimum is claimed for a model without hyperplanes",
        ));
    };
    let settings = &model.settings;
    // C and class weights that depend on the rows take a pass of their own.
    let counted = settings.lambda.is_some() || settings.class_weight == Some(ClassWeights::Balanced);
    let totals = if counted {
        Totals::of(data)?
    } else {
        Totals::UNCOUNTED
    };
    let reduction = Reduction::new(settings, &model.classes, model.schema.features, &totals)?;
    let definition = &reduction.definition;
    let layout = definition.layout;
    // A model with an intercept where its settings allow none is not the optimum of these settings.
    if !layout.intercept && discriminants.iter().any(|plane| plane.intercept != 0.0) {
        objections.push("the model has an intercept, and its settings allow none".into());
    }
    let mut parameters = Vec::with_capacity(discriminants.len() * layout.width());
    for plane in discriminants {
        parameters.extend_from_slice(&plane.weights);
        parameters.extend(layout.intercept.then_some(plane.intercept));
    }
    if parameters.len() != layout.len() * reduction.parts.len() {
        return Err(Error::model("the model's hyperplanes do not fit its settings"));
    }
    let points = reduction
        .parts
        .iter()
        .zip(parameters.chunks_exact(layout.len().max(1)));
    let tol = settings.tol();
    match &model.certificate {
        Certificate::Stationarity { parts: claims } if !definition.is_convex() => {
            let mut parts = Vec::new();
            for (claim, (&part, point)) in claims.iter().zip(points) {
                let found = stationarity(
                    &mut PartBlocks::new(data, &reduction, part),
                    definition,
                    point,
                    tol,
                )?;
                objections.extend(claim.objections(&found));
                parts.push(found);
            }
            check_claims(claims.len(), &reduction, objections);
            Ok(Certificate::Stationarity { parts })
        }
        Certificate::DualityGap { parts: claims } if definition.is_convex() => {
            let mut parts = Vec::new();
            for (claim, (&part, point)) in claims.iter().zip(points) {
                let dual = claim.dual_point.clone();
                let mut blocks = PartBlocks::new(data, &reduction, part);
                let found = duality::certify(&mut blocks, definition, point, dual, tol)?;
                objections.extend(claim.objections(&found));
                parts.push(found);
            }
            check_claims(claims.len(), &reduction, objections);
            Ok(Certificate::DualityGap { parts })
        }
        _ => Err(Error::model("the certificate does not fit the model's loss")),
    }
}

fn verify_hard_margin(
    data: &Dataset,
    model: &Model,
    claims: &[LargestMargin],
    objections: &mut Vec<String>,
) -> Result<Certificate> {
    let Predictor::Linear { discriminants, .. } = &model.predictor else {
        return Err(Error::model(
            "a margin is claimed for a model without hyperplanes",
        ));
    };
    let mut parts = Vec::new();
    let sides = all_sides(&model.classes);
    for ((claim, plane), sides) in claims.iter().zip(discriminants).zip(sides) {
        if claim.intercept == model.settings.no_intercept || (!claim.intercept && plane.intercept != 0.0) {
            objections.push("the claim is about other hyperplanes than the settings allow".into());
        }
        let found = claim.recompute(&data.design, &sides.signs(data)?, plane);
        objections.extend(claim.objections(&found));
        parts.push(found);
    }
    Ok(Certificate::HardMargin { parts })
}

fn check_claims(claims: usize, reduction: &Reduction, objections: &mut Vec<String>) {
    if claims != reduction.parts.len() {
        objections.push(format!(
            "{claims} claims are made, and there are {} problems",
            reduction.parts.len()
        ));
    }
}

/// Counts the errors of the hyperplane, and checks the proof that none makes fewer.
fn verify_least_error(
    data: &Dataset,
    model: &Model,
    claim: &LeastError,
    objections: &mut Vec<String>,
) -> Result<Certificate> {
    let Predictor::Linear { discriminants, .. } = &model.predictor else {
        return Err(Error::model(
            "a least error is claimed for a model without hyperplanes",
        ));
    };
    let [plane] = discriminants.as_slice() else {
        return Err(Error::model("a least error is claimed for several hyperplanes"));
    };
    if model.settings.no_intercept && plane.intercept != 0.0 {
        objections.push("the model has an intercept, and its settings allow none".into());
    }
    let found = least_error::recompute(data, &model.settings, plane, claim, objections)?;
    Ok(Certificate::MinError(found))
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
