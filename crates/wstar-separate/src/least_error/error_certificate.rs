//! The certificate of the least error: a hyperplane that attains it, and a proof that no hyperplane has
//! less.
//!
//! Upper bound: the errors of the hyperplane are counted. Lower bound: every hyperplane is wrong on some
//! point of every circuit, so disjoint circuits prove as many errors as there are circuits. A tree of such
//! proofs, split over the points of a circuit, proves more. All circuits are checked exactly. A proof by
//! enumeration stores nothing; its check repeats the enumeration.

use std::cmp::Ordering;
use wstar_data::error::Remedy;
use wstar_data::setting::Setting;

use serde::{Deserialize, Serialize};

use crate::least_error;
use crate::least_error::Tree;
use crate::least_error::distinct_points::{DistinctPoints, InputRow};
use wstar_data::error::{Error, Result};
use wstar_data::linear::Hyperplane;
use wstar_data::{Dataset, Objection};
use wstar_numeric::agreement::agree;

/// Cap: entries of the dense rows; larger problems are rejected.
const MAX_ENTRIES: usize = 50_000_000;

/// The claim that no hyperplane has a lower cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LeastError {
    /// The number of rows that the hyperplane misclassifies.
    pub errors: u64,
    /// Their cost, the sum of their weights; equal to their number if all weights are 1.
    pub cost: f64,
    /// A lower bound on the cost of every hyperplane.
    pub lower_bound: f64,
    /// The proof of the lower bound.
    pub proof: ErrorProof,
}

/// The proof of a lower bound on the cost of every hyperplane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ErrorProof {
    /// By circuits, each of which contains an error.
    Circuits(Tree),
    /// By enumeration of all hyperplanes.
    Enumeration,
}

impl ErrorProof {
    /// The name of the proof.
    pub fn name(&self) -> &'static str {
        match self {
            ErrorProof::Circuits(_) => "circuits",
            ErrorProof::Enumeration => "enumeration",
        }
    }
}

impl LeastError {
    /// The claim that a hyperplane has these errors, of this cost, and that every hyperplane costs at least `lower_bound`.
    pub fn new(errors: u64, cost: f64, lower_bound: f64, proof: ErrorProof) -> Self {
        LeastError {
            errors,
            cost,
            lower_bound,
            proof,
        }
    }

    /// Whether the bound equals the cost.
    pub fn holds(&self) -> bool {
        least_error::reaches(self.lower_bound, self.cost)
    }
}

/// The points of a problem with two classes.
pub fn gather(data: &Dataset, intercept: bool, costs: &[f64]) -> Result<DistinctPoints> {
    let (codes, classes) = data.require_classes()?;
    if classes.len() != 2 {
        return Err(Error::misuse(
            Setting::Method.to("min-error"),
            format!("is for two classes, and there are {}", classes.len()),
        )
        .remedy(Remedy::Effect(
            Setting::Positive.to("VALUE"),
            "sets one of them against all others".into(),
        )));
    }
    let features = data.features();
    if data.rows().saturating_mul(features) > MAX_ENTRIES {
        return Err(Error::misuse(
            Setting::Method.to("min-error"),
            format!(
                "is for small problems, and there are {} rows of {features} features",
                data.rows()
            ),
        )
        .remedy(Setting::Method.any(["pocket", "svm", "logistic"])));
    }
    let dense: Vec<Vec<f64>> = data.design().iter().map(|row| row.to_dense(features)).collect();
    let mut input_rows: Vec<InputRow<'_>> = (0..)
        .zip(&dense)
        .zip(codes.iter().zip(costs))
        .filter(|(_, (_, cost))| **cost > 0.0)
        .map(|((row, features), (&code, &cost))| InputRow {
            row,
            features,
            positive: code == 1,
            cost,
        })
        .collect();
    // Sorting makes the search independent of the order of the rows.
    input_rows.sort_by(|a, b| {
        let rows = a.features.partial_cmp(b.features).unwrap_or(Ordering::Equal);
        rows.then(a.positive.cmp(&b.positive)).then(a.row.cmp(&b.row))
    });
    Ok(DistinctPoints::gather(
        features,
        intercept,
        input_rows.into_iter(),
    ))
}

/// The number of rows that a hyperplane misclassifies, and their cost.
pub fn errors_of(plane: &Hyperplane, data: &Dataset, costs: &[f64]) -> Result<(u64, f64)> {
    let (codes, _) = data.require_classes()?;
    let (mut errors, mut sum) = (0, 0.0);
    for (i, (&code, &cost)) in codes.iter().zip(costs).enumerate() {
        // A score of 0 is the negative class.
        if cost > 0.0 && (plane.score(data.design().row(i)) > 0.0) != (code == 1) {
            errors += 1;
            sum += cost;
        }
    }
    Ok((errors, sum))
}

/// Recomputes the claim from the data; the parts that the data contradict are added to `objections`.
pub fn recompute(
    data: &Dataset,
    intercept: bool,
    costs: &[f64],
    plane: &Hyperplane,
    claim: &LeastError,
    objections: &mut Vec<Objection>,
) -> Result<LeastError> {
    let points = gather(data, intercept, costs)?;
    let (errors, cost) = errors_of(plane, data, costs)?;
    if errors != claim.errors || !agree(cost, claim.cost) {
        objections.push(Objection::Errors {
            claimed: claim.errors,
            claimed_cost: claim.cost,
            found: errors,
            found_cost: cost,
        });
    }
    let proved = match &claim.proof {
        ErrorProof::Circuits(tree) => tree.check(&points, claim.lower_bound).map(|()| claim.lower_bound),
        ErrorProof::Enumeration => match least_error::enumerated(&points) {
            Some(least) if least_error::reaches(least, claim.lower_bound) => Ok(claim.lower_bound),
            Some(least) => Err(format!("some hyperplane costs {least}")),
            None => Err("there are too many features to enumerate all hyperplanes".into()),
        },
    };
    let lower_bound = proved.unwrap_or_else(|why| {
        objections.push(Objection::LowerBound {
            claimed: claim.lower_bound,
            why,
        });
        0.0
    });
    let found = LeastError {
        errors,
        cost,
        lower_bound,
        proof: claim.proof.clone(),
    };
    if !found.holds() && objections.is_empty() {
        objections.push(Objection::LeastError { cost, lower_bound });
    }
    Ok(found)
}
