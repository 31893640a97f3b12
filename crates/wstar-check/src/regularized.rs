//! The settings of the methods that minimise a loss and a penalty: field `settings` with `family` `regularized`.

use crate::json::Node;
use crate::problem::{Intercept, Loss};
use crate::unreadable::Reading;

pub(crate) struct Settings {
    pub(crate) method: String,
    pub(crate) loss: Loss,
    pub(crate) firth: bool,
    pub(crate) l1: f64,
    /// The coefficient of ½Σw².
    pub(crate) l2: f64,
    pub(crate) strength: Strength,
    pub(crate) intercept: Intercept,
    pub(crate) multiclass: Option<Multiclass>,
    pub(crate) class_weights: Option<ClassWeights>,
    pub(crate) tol: f64,
}

pub(crate) enum Strength {
    C(f64),
    /// λ, with C = 1/(nλ).
    Lambda(f64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Multiclass {
    Softmax,
    Ovr,
    Ovo,
}

pub(crate) enum ClassWeights {
    /// n/(K·nₖ).
    Balanced,
    /// Weights of named classes; all others have weight 1.
    Given(Vec<(String, f64)>),
}

impl Settings {
    pub(crate) fn read(node: &Node<'_>) -> Reading<Self> {
        let regularized = node.field("family")?.text()? == "regularized";
        node.require(
            regularized,
            "the method does not minimise a loss, as the claim needs",
        )?;
        let intercepts = [
            ("free", Intercept::Free),
            ("penalized", Intercept::Penalized),
            ("absent", Intercept::Absent),
        ];
        let reductions = [
            ("softmax", Multiclass::Softmax),
            ("ovr", Multiclass::Ovr),
            ("ovo", Multiclass::Ovo),
        ];
        let reduction = |field: Node<'_>| field.choice(&reductions, "reduction of several classes");
        let ratio = node.field("l1_ratio")?;
        let share = within(&ratio, 0.0..=1.0, "a number from 0 to 1");
        let penalties = [("none", (0.0, 0.0)), ("l2", (0.0, 1.0)), ("l1", (1.0, 0.0))];
        let (penalty, intercept) = (node.field("penalty")?, node.field("intercept")?);
        let (l1, l2) = match penalty.text()? {
            "elastic-net" => share.map(|share| (share, 1.0 - share))?,
            _ => penalty.choice(&penalties, "penalty")?,
        };
        Ok(Settings {
            method: node.field("method")?.text()?.to_owned(),
            loss: loss(&node.field("loss")?)?,
            firth: node.maybe("firth", |field| field.boolean())? == Some(true),
            l1,
            l2,
            strength: strength(&node.field("strength")?)?,
            intercept: intercept.choice(&intercepts, "kind of intercept")?,
            multiclass: node.maybe("multiclass", reduction)?,
            class_weights: node.maybe("class_weight", |field| class_weights(&field))?,
            tol: positive(&node.field("tol")?)?,
        })
    }
}

fn within(node: &Node<'_>, range: impl std::ops::RangeBounds<f64>, what: &str) -> Reading<f64> {
    let number = Some(node.number()?).filter(|number| range.contains(number));
    number.ok_or_else(|| node.refuse(&format!("{what} is expected")))
}

fn positive(node: &Node<'_>) -> Reading<f64> {
    within(node, f64::from_bits(1).., "a number above 0")
}

fn loss(node: &Node<'_>) -> Reading<Loss> {
    if node.as_text().is_none() {
        let inside = f64::from_bits(1)..1.0;
        return within(&node.field("quantile")?, inside, "a number between 0 and 1").map(Loss::Quantile);
    }
    let losses = [
        ("squared", Loss::Squared),
        ("logistic", Loss::Logistic),
        ("hinge", Loss::Hinge),
        ("squared-hinge", Loss::SquaredHinge),
        ("modified-huber", Loss::ModifiedHuber),
        ("absolute", Loss::Absolute),
        ("softmax", Loss::Softmax),
        ("sigmoid-mse", Loss::SigmoidMse),
    ];
    node.choice(&losses, "loss")
}

fn strength(node: &Node<'_>) -> Reading<Strength> {
    match (node.optional("C")?, node.optional("lambda")?) {
        (Some(c), None) => positive(&c).map(Strength::C),
        (None, Some(lambda)) => positive(&lambda).map(Strength::Lambda),
        _ => Err(node.refuse("either C or lambda is expected")),
    }
}

pub(crate) fn class_weights(node: &Node<'_>) -> Reading<ClassWeights> {
    if node.as_text().is_some() {
        node.choice(&[("balanced", ())], "class weights")?;
        return Ok(ClassWeights::Balanced);
    }
    let weight = |pair: &Node<'_>| match &pair.items()?[..] {
        [name, weight] => Ok((
            name.text()?.to_owned(),
            within(weight, 0.0.., "a number from 0 on")?,
        )),
        _ => Err(pair.refuse("a class and its weight are expected")),
    };
    let given = node.field("given")?.items()?;
    Ok(ClassWeights::Given(
        given.iter().map(weight).collect::<Reading<_>>()?,
    ))
}
