//! Verification: recomputes a model's certificate from the data. Of the fit, only the claim is used.

use crate::bayes::{Estimate, minimax};
use crate::certificate::{
    Certificate, MistakeBound, RunConditions, Separation, maximum_likelihood, recompute_mistakes,
    recompute_separation,
};
use crate::model::{Model, Predictor, statements};
use crate::online::{Examples, InMemory, Order, label};
use crate::settings::{Rule, Settings, Strength};
use wstar_certify::duality;
use wstar_certify::stationarity::stationarity;
use wstar_data::error::Remedy;
use wstar_data::error::{Error, Result};
use wstar_data::read::dataset_stream::DatasetStream;
use wstar_data::run::Status;
use wstar_data::setting::Setting;
use wstar_data::{Classes, Dataset, DatasetChunks, Objection, Quantity};
use wstar_numeric::agreement::{AGREEMENT, agree};
use wstar_problem::multiclass::ClassWeights;
use wstar_problem::multiclass::row_costs;
use wstar_problem::multiclass::{SubproblemBlocks, Subproblems, Totals};
use wstar_separate::least_error::error_certificate;
use wstar_separate::least_error::error_certificate::LeastError;
use wstar_separate::margin::margin_certificate::LargestMargin;
use wstar_separate::proof::all_sides;

/// The result of a verification.
///
/// ```
/// use wstar::prelude::*;
/// let data = Dataset::measured(&[[0.0], [1.0], [2.0], [3.0]], vec![1.0, 3.0, 5.5, 7.0])?;
/// let found = LeastSquares::l2().fit(&data)?.verify(&data)?;
/// assert!(found.holds() && found.objections().is_empty() && found.certificate().holds());
/// # Ok::<(), wstar::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Verification {
    /// The reasons why the claim does not hold on these data; empty if it holds.
    pub(crate) objections: Vec<Objection>,
    /// The recomputed certificate.
    pub(crate) certificate: Certificate,
}

impl Verification {
    /// The reasons why the claim does not hold on these data; empty if it holds.
    pub fn objections(&self) -> &[Objection] {
        &self.objections
    }

    /// The recomputed certificate.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// Whether the claim holds on these data.
    pub fn holds(&self) -> bool {
        self.objections.is_empty()
    }
}

impl Model {
    /// Recomputes the certificate from the training rows, scaled or not.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = Dataset::measured(&[vec![0.0], vec![1.0], vec![2.0]], vec![1.0, 3.0, 5.5])?;
    /// let model = LeastSquares::l2().fit(&data)?;
    /// let verification = model.verify(&data)?;
    /// assert!(verification.holds(), "{:?}", verification.objections());
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn verify(&self, data: &Dataset) -> Result<Verification> {
        verify(self, data)
    }
}

/// Recomputes the certificate of a model from data that do not fit into memory. This takes one pass, or two if C or the
/// class weights depend on the number of rows. Only methods that minimise a loss are supported.
pub fn verify_stream(model: &Model, stream: &mut DatasetStream) -> Result<Verification> {
    if !model.method().is_convex() {
        return Err(Error::settings(format!(
            "a {} model is not verified from a stream",
            model.method().name()
        ))
        .remedy(Remedy::LeaveOut(Setting::Stream)));
    }
    let mut objections = Vec::new();
    let certificate = verify_optimum(stream, model, &mut objections)?;
    Ok(Verification {
        objections,
        certificate,
    })
}

/// Recomputes the certificate of a model from rows that it can [predict](Model::predict).
///
/// ```
/// use wstar::prelude::*;
/// let data = Dataset::labelled(&[[0.0], [1.0], [2.0], [3.0]], &["a", "a", "b", "b"])?;
/// let model = Svm::l2().fit(&data)?;
/// assert!(wstar::verify(&model, &data)?.holds());
/// // With another second row the certificate does not hold.
/// let other = Dataset::labelled(&[[0.0], [1.9], [2.0], [3.0]], &["a", "a", "b", "b"])?;
/// let found = wstar::verify(&model, &other)?;
/// assert!(!found.holds() && !found.objections().is_empty());
/// # Ok::<(), wstar::Error>(())
/// ```
pub fn verify(model: &Model, data: &Dataset) -> Result<Verification> {
    let data = &*model.rows_of(data)?;
    if data.classes().map_or(0, Classes::len) != model.classes.len()
        || data.classes().is_some_and(|classes| classes != &model.classes)
    {
        return Err(Error::data("the classes of the data are not those of the model").in_file(data.source()));
    }
    let mut objections = Vec::new();
    let certificate = match &model.certificate {
        Certificate::MistakeBound { parts } => {
            let (codes, _) = data.require_classes()?;
            let mut examples = match model.settings.is_multiset() {
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
        // A model fitted in batches has no certificate, but its certificate can be computed from all rows together.
        Certificate::None if matches!(model.predictor, Predictor::Bayes { .. }) => {
            verify_estimate(data, model, &mut objections)?
        }
        Certificate::None => {
            objections.push(Objection::NoCertificate);
            Certificate::None
        }
    };
    statements::compare(model, data, &certificate, &mut objections)?;
    Ok(Verification {
        objections,
        certificate,
    })
}

fn object(objections: &mut Vec<Objection>, quantity: Quantity, claimed: f64, found: f64) {
    if !agree(claimed, found) {
        objections.push(Objection::Differs {
            quantity,
            claimed,
            found,
        });
    }
}

fn verify_mistakes(
    examples: &mut dyn Examples,
    model: &Model,
    claims: &[MistakeBound],
    objections: &mut Vec<Objection>,
) -> Result<Certificate> {
    let parts = recompute_mistakes(examples, claims)?;
    if claims.iter().map(|claim| claim.updates).sum::<u64>() != model.fit.iterations {
        objections.push(Objection::OtherUpdates);
    }
    // Under the worst-classified rule an example can recur at any time, so the passes do not bound its repeats.
    let Settings::Perceptrons(settings) = &model.settings else {
        return Err(Error::model("a mistake bound is claimed for another method"));
    };
    let repeats = (settings.rule != Some(Rule::Worst)).then_some(model.fit.passes);
    let start = settings.start.as_deref();
    let conditions = RunConditions::of(&settings.update_rule(), start, repeats, claims.len());
    for ((claim, found), conditions) in claims.iter().zip(&parts).zip(&conditions) {
        if &claim.conditions != conditions {
            objections.push(Objection::OtherRun);
        }
        // A separator of 0 claims the trivial bound, the number of examples visited: every slack is the whole margin.
        let norm = claim.separator.lifted_norm();
        if norm != 0.0 {
            object(objections, Quantity::SeparatorNorm, 1.0, norm);
        }
        object(objections, Quantity::Radius, claim.radius, found.radius);
        // Rounding may leave a slack of a few ulps where the exact slack is 0.
        if (claim.slack - found.slack).abs() > AGREEMENT * (found.radius + claim.slack) {
            objections.push(Objection::Differs {
                quantity: Quantity::Slack,
                claimed: claim.slack,
                found: found.slack,
            });
        }
        match (claim.bound, found.bound) {
            (Some(claimed), Some(bound)) => object(objections, Quantity::Bound, claimed, bound),
            (None, None) => objections.push(Objection::NoMistakeBound),
            _ => objections.push(Objection::MistakeBound),
        }
        if found.bound.is_some_and(|bound| found.updates as f64 > bound) {
            objections.push(Objection::UpdatesExceedBound(found.updates));
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
            objections.push(Objection::Mistakes(wrong));
        }
    }
    Ok(Certificate::MistakeBound { parts })
}

fn verify_separation(
    examples: &mut dyn Examples,
    model: &Model,
    claims: &[Separation],
    objections: &mut Vec<Objection>,
) -> Result<Certificate> {
    if let Predictor::Linear { discriminants, .. } = &model.predictor
        && !discriminants
            .iter()
            .eq(claims.iter().map(|claim| &claim.hyperplane))
    {
        objections.push(Objection::OtherHyperplanes);
    }
    let Settings::Kozinec(settings) = &model.settings else {
        return Err(Error::model(
            "an interval of the margin is claimed for another method",
        ));
    };
    if claims
        .iter()
        .any(|claim| claim.intercept != settings.intercept || claim.epsilon != settings.epsilon)
    {
        objections.push(Objection::OtherSettings);
    }
    let parts = recompute_separation(examples, claims)?;
    for (claim, found) in claims.iter().zip(&parts) {
        let scale = AGREEMENT * found.upper.max(claim.upper);
        if (claim.lower - found.lower).abs() > scale {
            objections.push(Objection::Differs {
                quantity: Quantity::Margin,
                claimed: claim.lower,
                found: found.lower,
            });
        }
        object(objections, Quantity::UpperEnd, claim.upper, found.upper);
        if !found.holds() {
            objections.push(Objection::Interval {
                lower: found.lower,
                upper: found.upper,
                epsilon: found.epsilon,
            });
        }
    }
    Ok(Certificate::Separation { parts })
}

/// Recomputes the duality gap, or the stationarity, of every subproblem of the model.
fn verify_optimum(
    data: &mut dyn DatasetChunks,
    model: &Model,
    objections: &mut Vec<Objection>,
) -> Result<Certificate> {
    let Predictor::Linear { discriminants, .. } = &model.predictor else {
        return Err(Error::model(
            "an optimum is claimed for a model without hyperplanes",
        ));
    };
    let Some(settings) = model.settings.regularized() else {
        return Err(Error::model("an optimum is claimed for another method"));
    };
    // C or class weights that depend on the rows need a pass over the rows first.
    let counted = matches!(settings.strength, Strength::Lambda(_))
        || settings.class_weight == Some(ClassWeights::Balanced);
    let totals = if counted {
        Totals::of(data)?
    } else {
        Totals::UNCOUNTED
    };
    let reduction = settings.reduction(&model.classes, model.schema.features, &totals)?;
    let problem = reduction.problem();
    let layout = problem.layout();
    // A model with an intercept cannot be the optimum of settings without one.
    if !layout.intercept && discriminants.iter().any(|plane| plane.intercept != 0.0) {
        objections.push(Objection::ForbiddenIntercept);
    }
    let mut parameters = Vec::with_capacity(discriminants.len() * layout.width());
    for plane in discriminants {
        parameters.extend_from_slice(&plane.weights);
        parameters.extend(layout.intercept.then_some(plane.intercept));
    }
    if parameters.len() != layout.len() * reduction.parts().len() {
        return Err(Error::model("the model's hyperplanes do not fit its settings"));
    }
    let points = reduction
        .parts()
        .iter()
        .zip(parameters.chunks_exact(layout.len().max(1)));
    let tol = settings.tol;
    match &model.certificate {
        Certificate::Stationarity { parts: claims } if !problem.is_convex() => {
            let mut parts = Vec::new();
            for (claim, (&part, point)) in claims.iter().zip(points) {
                let found = stationarity(
                    &mut SubproblemBlocks::new(data, &reduction, part),
                    problem,
                    point,
                    tol,
                )?;
                objections.extend(claim.objections(&found));
                parts.push(found);
            }
            check_claims(claims.len(), &reduction, objections);
            Ok(Certificate::Stationarity { parts })
        }
        Certificate::DualityGap { parts: claims } if problem.is_convex() => {
            let mut parts = Vec::new();
            for (claim, (&part, point)) in claims.iter().zip(points) {
                let dual = claim.dual_point.clone();
                let mut blocks = SubproblemBlocks::new(data, &reduction, part);
                let found = duality::certify(&mut blocks, problem, point, dual, tol)?;
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
    objections: &mut Vec<Objection>,
) -> Result<Certificate> {
    let Predictor::Linear { discriminants, .. } = &model.predictor else {
        return Err(Error::model(
            "a margin is claimed for a model without hyperplanes",
        ));
    };
    let mut parts = Vec::new();
    let sides = all_sides(&model.classes);
    for ((claim, plane), sides) in claims.iter().zip(discriminants).zip(sides) {
        if claim.intercept != model.settings.has_intercept() || (!claim.intercept && plane.intercept != 0.0) {
            objections.push(Objection::ForbiddenHyperplanes);
        }
        let found = claim.recompute(data.design(), &sides.signs(data)?, plane);
        objections.extend(claim.objections(&found));
        parts.push(found);
    }
    Ok(Certificate::HardMargin { parts })
}

fn check_claims(claims: usize, reduction: &Subproblems, objections: &mut Vec<Objection>) {
    if claims != reduction.parts().len() {
        objections.push(Objection::Claims {
            claims,
            problems: reduction.parts().len(),
        });
    }
}

/// Counts the errors of the hyperplane, and checks the proof that no hyperplane makes fewer.
fn verify_least_error(
    data: &Dataset,
    model: &Model,
    claim: &LeastError,
    objections: &mut Vec<Objection>,
) -> Result<Certificate> {
    let Predictor::Linear { discriminants, .. } = &model.predictor else {
        return Err(Error::model(
            "a least error is claimed for a model without hyperplanes",
        ));
    };
    let [plane] = discriminants.as_slice() else {
        return Err(Error::model("a least error is claimed for several hyperplanes"));
    };
    if !model.settings.has_intercept() && plane.intercept != 0.0 {
        objections.push(Objection::ForbiddenIntercept);
    }
    let costs = row_costs(data, model.settings.class_weight())?;
    let found = error_certificate::recompute(
        data,
        model.settings.has_intercept(),
        &costs,
        plane,
        claim,
        objections,
    )?;
    Ok(Certificate::MinError(found))
}

fn verify_estimate(data: &Dataset, model: &Model, objections: &mut Vec<Objection>) -> Result<Certificate> {
    let Predictor::Bayes { estimate, .. } = &model.predictor else {
        return Err(Error::model(
            "a likelihood is claimed for a model without densities",
        ));
    };
    let certificate = certify_estimate(data, estimate)?;
    if !certificate.holds() {
        objections.push(match certificate {
            Certificate::EnclosingBall { relative_gap, .. } => Objection::Ball { relative_gap },
            Certificate::MaximumLikelihood { deviation, .. } => Objection::Parameter { deviation },
            _ => Objection::DoesNotHold,
        });
    }
    Ok(certificate)
}

/// The certificate of estimated densities, computed from the data.
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
            let found = maximum_likelihood::recompute(data, estimate)?;
            Certificate::MaximumLikelihood {
                deviation: found.deviation,
                log_likelihood: found.log_likelihood,
            }
        }
    })
}
