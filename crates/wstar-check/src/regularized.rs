//! The settings of the methods that minimise a loss and a penalty: field `settings` with `family` `regularized`.

use crate::json::Node;
use crate::problem::{Intercept, Loss};
use crate::unreadable::Reading;

/// The settings that define the subproblems.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The method.
    pub method: String,
    /// The loss.
    pub loss: Loss,
    /// Whether the likelihood has Firth's correction.
    pub firth: bool,
    /// The coefficient of Σ|w|.
    pub l1: f64,
    /// The coefficient of ½Σw².
    pub l2: f64,
    /// C or λ.
    pub strength: Strength,
    /// The kind of intercept.
    pub intercept: Intercept,
    /// The reduction of several classes, if given.
    pub multiclass: Option<Multiclass>,
    /// The weights of classes, if given.
    pub class_weights: Option<ClassWeights>,
    /// The tolerance for the relative gap.
    pub tol: f64,
}

/// The weight of the losses against the penalty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Strength {
    /// The factor C of the sum of losses.
    C(f64),
    /// λ, with C = 1/(nλ).
    Lambda(f64),
}

/// The reduction of several classes to subproblems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Multiclass {
    /// One problem with a score for each class.
    Softmax,
    /// Each class against all others.
    Ovr,
    /// Each pair of classes.
    Ovo,
}

/// The weights of classes.
#[derive(Debug, Clone, PartialEq)]
pub enum ClassWeights {
    /// n/(K·nₖ).
    Balanced,
    /// Weights of named classes; all others have weight 1.
    Given(Vec<(String, f64)>),
}

impl Settings {
    /// Reads the field `settings`.
    pub fn read(node: &Node<'_>) -> Reading<Self> {
        if node.field("family")?.text()? != "regularized" {
            return Err(
                node.refuse("the claim is about a method that minimises a loss, and this one does not")
            );
        }
        let (l1, l2) = penalty(&node.field("penalty")?, &node.field("l1_ratio")?)?;
        Ok(Settings {
            method: node.field("method")?.text()?.to_owned(),
            loss: loss(&node.field("loss")?)?,
            firth: node.maybe("firth", |field| field.boolean())? == Some(true),
            l1,
            l2,
            strength: strength(&node.field("strength")?)?,
            intercept: intercept(&node.field("intercept")?)?,
            multiclass: node.maybe("multiclass", |field| multiclass(&field))?,
            class_weights: node.maybe("class_weight", |field| class_weights(&field))?,
            tol: positive(&node.field("tol")?)?,
        })
    }
}

fn positive(node: &Node<'_>) -> Reading<f64> {
    match node.number()? {
        number if number > 0.0 => Ok(number),
        _ => Err(node.refuse("a number above 0 is expected")),
    }
}

fn loss(node: &Node<'_>) -> Reading<Loss> {
    Ok(match node.as_text() {
        Some("squared") => Loss::Squared,
        Some("logistic") => Loss::Logistic,
        Some("hinge") => Loss::Hinge,
        Some("squared-hinge") => Loss::SquaredHinge,
        Some("modified-huber") => Loss::ModifiedHuber,
        Some("absolute") => Loss::Absolute,
        Some("softmax") => Loss::Softmax,
        Some("sigmoid-mse") => Loss::SigmoidMse,
        Some(_) => return Err(node.refuse("an unknown loss")),
        None => {
            let quantile = node.field("quantile")?;
            match quantile.number()? {
                q if q > 0.0 && q < 1.0 => Loss::Quantile(q),
                _ => return Err(quantile.refuse("a number between 0 and 1 is expected")),
            }
        }
    })
}

/// l1 and l2 of R(w) = l1·|w| + l2·½w².
fn penalty(node: &Node<'_>, ratio: &Node<'_>) -> Reading<(f64, f64)> {
    Ok(match node.text()? {
        "none" => (0.0, 0.0),
        "l2" => (0.0, 1.0),
        "l1" => (1.0, 0.0),
        "elastic-net" => match ratio.number()? {
            share if (0.0..=1.0).contains(&share) => (share, 1.0 - share),
            _ => return Err(ratio.refuse("a number from 0 to 1 is expected")),
        },
        _ => return Err(node.refuse("an unknown penalty")),
    })
}

fn strength(node: &Node<'_>) -> Reading<Strength> {
    match (node.optional("C")?, node.optional("lambda")?) {
        (Some(c), None) => positive(&c).map(Strength::C),
        (None, Some(lambda)) => positive(&lambda).map(Strength::Lambda),
        _ => Err(node.refuse("either C or lambda is expected")),
    }
}

fn intercept(node: &Node<'_>) -> Reading<Intercept> {
    match node.text()? {
        "free" => Ok(Intercept::Free),
        "penalized" => Ok(Intercept::Penalized),
        "absent" => Ok(Intercept::Absent),
        _ => Err(node.refuse("an unknown kind of intercept")),
    }
}

fn multiclass(node: &Node<'_>) -> Reading<Multiclass> {
    match node.text()? {
        "softmax" => Ok(Multiclass::Softmax),
        "ovr" => Ok(Multiclass::Ovr),
        "ovo" => Ok(Multiclass::Ovo),
        _ => Err(node.refuse("an unknown reduction of several classes")),
    }
}

/// Reads the field `class_weight`.
pub(crate) fn class_weights(node: &Node<'_>) -> Reading<ClassWeights> {
    match node.as_text() {
        Some("balanced") => return Ok(ClassWeights::Balanced),
        Some(_) => return Err(node.refuse("unknown class weights")),
        None => {}
    }
    let mut given = Vec::new();
    for pair in node.field("given")?.items()? {
        let [name, weight] = &pair.items()?[..] else {
            return Err(pair.refuse("a class and its weight are expected"));
        };
        match weight.number()? {
            number if number >= 0.0 => given.push((name.text()?.to_owned(), number)),
            _ => return Err(weight.refuse("a number from 0 on is expected")),
        }
    }
    Ok(ClassWeights::Given(given))
}
