//! The least error: a hyperplane shows that so few errors can be had, circuits or an enumeration that no fewer can.
//!
//! Above: the errors of the hyperplane are counted. Below: every hyperplane errs on every circuit, so circuits without
//! a common point prove as many errors as there are of them, and a tree of such proofs, split over the points of a
//! circuit, proves more; all of it is checked in whole numbers. Where the proof is an enumeration of all hyperplanes,
//! there is nothing to store, and checking it is to repeat it.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::certify::agree;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::model::Hyperplane;
use crate::reduction::{self, Totals};
use crate::risk::points::{Entrant, Points};
use crate::risk::{self, Tree};
use crate::settings::Settings;

/// More numbers than this, as dense rows, are no small problem.
const MOST_NUMBERS: usize = 50_000_000;

/// The claim that no hyperplane costs less.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LeastError {
    /// Rows that the hyperplane classifies wrongly.
    pub errors: u64,
    /// What they cost: the sum of their weights; as many as they are where all weigh 1.
    pub cost: f64,
    /// No hyperplane costs less.
    pub lower_bound: f64,
    /// Why.
    pub proof: ErrorProof,
}

/// Why no hyperplane costs less.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorProof {
    /// By circuits, each with an error.
    Circuits(Tree),
    /// By going through all hyperplanes.
    Enumeration,
}

impl ErrorProof {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            ErrorProof::Circuits(_) => "circuits",
            ErrorProof::Enumeration => "enumeration",
        }
    }
}

impl LeastError {
    /// Whether the bound meets the cost.
    pub fn holds(&self) -> bool {
        risk::reaches(self.lower_bound, self.cost)
    }
}

/// What a wrong class costs, row by row: the sample weight times the class weight.
pub(crate) fn costs(data: &Dataset, settings: &Settings) -> Result<Vec<f64>> {
    let (codes, classes) = data.require_classes()?;
    let weights = match &settings.class_weight {
        None => None,
        Some(_) => reduction::class_weights(settings, classes, &Totals::of(&mut &*data)?)?,
    };
    let class = |code: u32| weights.as_ref().map_or(1.0, |weights| weights[code as usize]);
    Ok((0..)
        .zip(codes)
        .map(|(i, &code)| data.weight(i) * class(code))
        .collect())
}

/// The points of a problem with two classes.
pub(crate) fn gather(data: &Dataset, settings: &Settings, costs: &[f64]) -> Result<Points> {
    let (codes, classes) = data.require_classes()?;
    if classes.len() != 2 {
        return Err(Error::settings(format!(
            "--method min-error is for two classes, and there are {}",
            classes.len()
        ))
        .hint("--positive VALUE sets one of them against all others"));
    }
    let features = data.features();
    if data.rows().saturating_mul(features) > MOST_NUMBERS {
        return Err(Error::settings(format!(
            "--method min-error is for small problems, and there are {} rows of {features} features",
            data.rows()
        ))
        .hint("use pocket, svm or logistic"));
    }
    let dense: Vec<Vec<f64>> = data.design.iter().map(|row| row.to_dense(features)).collect();
    let mut entrants: Vec<Entrant<'_>> = (0..)
        .zip(&dense)
        .zip(codes.iter().zip(costs))
        .filter(|(_, (_, cost))| **cost > 0.0)
        .map(|((row, features), (&code, &cost))| Entrant {
            row,
            features,
            positive: code == 1,
            cost,
        })
        .collect();
    // Where rows stand tells nothing: the same rows are searched in the same order, and equal ones are one point.
    entrants.sort_by(|a, b| {
        let rows = a.features.partial_cmp(b.features).unwrap_or(Ordering::Equal);
        rows.then(a.positive.cmp(&b.positive)).then(a.row.cmp(&b.row))
    });
    Ok(Points::gather(
        features,
        !settings.no_intercept,
        entrants.into_iter(),
    ))
}

/// How many rows a hyperplane classifies wrongly, and what they cost.
pub(crate) fn errors_of(plane: &Hyperplane, data: &Dataset, costs: &[f64]) -> Result<(u64, f64)> {
    let (codes, _) = data.require_classes()?;
    let (mut errors, mut sum) = (0, 0.0);
    for (i, (&code, &cost)) in codes.iter().zip(costs).enumerate() {
        // A score of 0 is the negative class.
        if cost > 0.0 && (plane.score(data.design.row(i)) > 0.0) != (code == 1) {
            errors += 1;
            sum += cost;
        }
    }
    Ok((errors, sum))
}

/// The claim as far as it follows from the data; what does not is objected to.
pub(crate) fn recompute(
    data: &Dataset,
    settings: &Settings,
    plane: &Hyperplane,
    claim: &LeastError,
    objections: &mut Vec<String>,
) -> Result<LeastError> {
    let costs = costs(data, settings)?;
    let points = gather(data, settings, &costs)?;
    let (errors, cost) = errors_of(plane, data, &costs)?;
    if errors != claim.errors || !agree(cost, claim.cost) {
        objections.push(format!(
            "the hyperplane is claimed to make {} errors that cost {}, and makes {errors} that cost {cost}",
            claim.errors, claim.cost
        ));
    }
    let proved = match &claim.proof {
        ErrorProof::Circuits(tree) => tree.check(&points, claim.lower_bound).map(|()| claim.lower_bound),
        ErrorProof::Enumeration => match risk::enumerated(&points) {
            Some(least) if risk::reaches(least, claim.lower_bound) => Ok(claim.lower_bound),
            Some(least) => Err(format!("some hyperplane costs {least}")),
            None => Err("there are too many features to go through all hyperplanes".into()),
        },
    };
    let lower_bound = proved.unwrap_or_else(|why| {
        objections.push(format!(
            "a lower bound of {} is not proved: {why}",
            claim.lower_bound
        ));
        0.0
    });
    let found = LeastError {
        errors,
        cost,
        lower_bound,
        proof: claim.proof.clone(),
    };
    if !found.holds() && objections.is_empty() {
        objections.push(format!(
            "the least error is not known: the hyperplane's is {cost}, and only {lower_bound} is proved"
        ));
    }
    Ok(found)
}
