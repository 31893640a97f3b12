//! The duality gap P − D of a point, for a dual point that is recomputed from the data (Fenchel duality; R. T. Rockafellar,
//! Convex Analysis, Princeton 1970, section 31).
//!
//! For P(w, b) = R(w) + Σ cᵢ ℓ(yᵢ, zᵢ) any α gives D(α) = −Σ cᵢ ℓ\*(yᵢ, −αᵢ/cᵢ) − R\*(Xᵀα) ≤ P(w, b) for **every** w and b,
//! provided that α is feasible: Σα = 0 for a free intercept, |Xⱼᵀα| ≤ l1 under a pure ℓ1 penalty, Xᵀα = 0 without a penalty.
//! So P − D bounds P − P\*, however the point was found.
//!
//! - *The dual point.* A smooth loss gives αᵢ = −cᵢ ℓ'(yᵢ, zᵢ). A loss with a kink gives it wherever zᵢ is off the kink; on the
//!   kink the multipliers of the solver are needed, and the claim stores only those.
//! - *The Newton correction.* Under an ℓ2 penalty Xᵀα differs from l2·w by the gradient, and D can lose far more than P − P\*
//!   by that. The multipliers of some rows are then corrected (`newton_correction.rs`).
//! - *Equality constraints* (Σα = 0, Xᵀα = 0) are satisfied by changing the αᵢ with the most slack, by the least change in a
//!   norm weighted with the slacks (`feasibility.rs`). The residual that rounding leaves, about 1e-16 of the original one,
//!   is charged to the gap for all weights with |wⱼ| ≤ 1000·max(|wⱼ of the model|, 1). Without a penalty nothing
//!   is claimed for larger weights.
//! - *The constraint of a pure ℓ1 penalty* is satisfied by scaling α by t ≤ 1: ℓ\* is convex with ℓ\*(0) = 0, so
//!   −Σ c ℓ\*(−tα/c) ≥ −t Σ c ℓ\*(−α/c).
//!
//! All sums are compensated. The rounding of single terms, about 1e-16 of each, is not counted.
//!
//! - `dual_point`: how the dual point of a claim is recomputed.
//! - `accumulate`, `single_output`: the pass over the rows, and its vectorised path for one output.
//! - `span`, `gathered_sums`: what the pass sums at a time, and its result.
//! - `newton_correction`: the correction of a sample of the multipliers.
//! - `constraints`, `feasibility`: the constraints of the dual point, and their repair.
//! - `stored_multipliers`: a compact encoding of multipliers.
//! - [`choose_multipliers`]: which multipliers a certificate stores.

mod accumulate;
pub mod choose_multipliers;
mod constraints;
mod dual_point;
mod feasibility;
mod gathered_sums;
mod newton_correction;
mod single_output;
mod span;
mod stored_multipliers;

pub use dual_point::DualPoint;
pub use stored_multipliers::{StoredDual, multiplier};

use serde::{Deserialize, Serialize};

use constraints::{Care, can_repair_subgradients};
use gathered_sums::Gathered;
use wstar_data::error::Result;
use wstar_data::{Objection, Quantity};
use wstar_numeric::agreement::agree;
use wstar_problem::baseline::Baseline;
use wstar_problem::looseness::has_newton_correction;
use wstar_problem::objective::Blocks;
use wstar_problem::problem::Problem;
use wstar_problem::tolerance::Tolerance;

/// The largest relative discrepancy that rounding can explain: a gap further below 0 refutes the claim. Heuristic: tolerance of
/// rounding against strictness; not measured yet.
const ROUNDING: f64 = 1e-9;

/// A relative gap up to this is only rounding. Heuristic: about 10³ units of rounding; not measured yet.
const NOTHING: f64 = 1e-13;

/// The claim that the objective is within `gap` of its minimum.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DualityGap {
    /// The objective P at the model.
    pub primal: f64,
    /// The dual value D, a lower bound on the objective of all weights.
    pub dual: f64,
    /// P − D.
    pub gap: f64,
    /// (P − D)/max(P, min(1, 2⁻²⁰·S)), with the objective S of the best constant model.
    pub relative_gap: f64,
    /// The tolerance for the relative gap.
    pub tol: f64,
    /// The number of rows with a weight above 0.
    pub rows: u64,
    /// The number of rows with a nonzero multiplier.
    pub support: u64,
    /// The number of rows whose nonzero multiplier is at a bound.
    pub at_bound: u64,
    /// How the dual point is recomputed.
    pub dual_point: DualPoint,
}

/// A larger relative gap is that of an infeasible dual point, which proves nothing. Heuristic: far above any gap that is
/// useful; not measured yet.
const NO_BOUND: f64 = 1e10;

impl DualityGap {
    /// Whether the dual value says anything about the optimum.
    pub fn is_bound(&self) -> bool {
        self.relative_gap <= NO_BOUND
    }

    /// Whether the gap is within the tolerance, according to the claim.
    pub fn holds(&self) -> bool {
        self.relative_gap <= self.tol && self.relative_gap >= -ROUNDING
    }

    /// What the gap was divided by.
    pub fn scale(&self) -> f64 {
        let scale = self.gap / self.relative_gap;
        if scale > 0.0 { scale } else { self.primal.abs() }
    }

    /// The statements of this claim that the recomputed one contradicts.
    pub fn objections(&self, found: &DualityGap) -> Vec<Objection> {
        let scale = found.scale();
        let mut objections = Vec::new();
        if self.rows != found.rows {
            objections.push(Objection::Rows {
                claimed: self.rows,
                found: found.rows,
            });
        }
        for (quantity, claimed, value) in [
            (Quantity::Objective, self.primal, found.primal),
            (Quantity::Dual, self.dual, found.dual),
        ] {
            if !agree(claimed, value) && (claimed - value).abs() > ROUNDING * scale {
                objections.push(Objection::Differs {
                    quantity,
                    claimed,
                    found: value,
                });
            }
        }
        if !found.holds() {
            objections.push(Objection::Gap {
                relative_gap: found.relative_gap,
                tol: found.tol,
            });
        }
        objections
    }
}

/// Computes the duality gap of a point.
///
/// One pass over the rows suffices if the gap is within `tol`. If it is too wide, the multipliers of some rows are corrected. If
/// it is still too wide, a second pass computes all products exactly, because rounding matters where columns are large.
pub fn certify(
    blocks: &mut dyn Blocks,
    problem: &Problem,
    parameters: &[f64],
    dual_point: DualPoint,
    tol: f64,
) -> Result<DualityGap> {
    let mut tolerance = Tolerance::from(tol);
    let mut gathered = accumulate::gather(blocks, problem, parameters, &dual_point, Care::Rounded)?;
    let mut best = conclude(
        gathered.clone(),
        problem,
        parameters,
        dual_point.clone(),
        tolerance,
        Care::Rounded,
    );
    if !best.holds() {
        // S matters only where P is small, so it is computed only for a claim that does not hold without it.
        tolerance.least_scale = Baseline::of(blocks, problem)?.least_scale(problem);
        best.relative_gap = relative_gap(best.gap, best.primal, tolerance);
    }
    let conclude = |gathered: Gathered, care: Care| {
        let dual_point = dual_point.clone();
        conclude(gathered, problem, parameters, dual_point, tolerance, care)
    };
    // At a vertex the gap is 0 apart from rounding, and another pass can show that.
    let vertex = problem.has_vertices();
    if best.holds() && (!vertex || best.relative_gap <= NOTHING) {
        return Ok(best);
    }
    let slopes = dual_point == DualPoint::Slopes;
    if slopes && has_newton_correction(problem.loss(), problem.penalty(), problem.layout()) {
        newton_correction::correct(blocks, problem, parameters, &mut gathered)?;
        best = narrower(best, conclude(gathered, Care::Rounded));
        if best.holds() {
            return Ok(best);
        }
    }
    if !vertex && !can_repair_subgradients(problem) {
        return Ok(best);
    }
    let careful = accumulate::gather(blocks, problem, parameters, &dual_point, Care::Exact)?;
    Ok(narrower(best, conclude(careful, Care::Exact)))
}

/// The gap divided by its scale. A gap below 0 stays below 0: it refutes the claim unless rounding explains it.
fn relative_gap(gap: f64, primal: f64, tolerance: Tolerance) -> f64 {
    match gap == 0.0 {
        true => 0.0,
        false => gap / tolerance.scale(primal),
    }
}

/// The claim with the smaller gap.
fn narrower(one: DualityGap, other: DualityGap) -> DualityGap {
    if other.gap < one.gap { other } else { one }
}

/// The claim of a gathered dual point, after its constraints have been repaired.
fn conclude(
    mut gathered: Gathered,
    problem: &Problem,
    parameters: &[f64],
    dual_point: DualPoint,
    tolerance: Tolerance,
    care: Care,
) -> DualityGap {
    let infeasible = feasibility::repair(&mut gathered, problem, parameters, care);
    let primal = gathered.loss.value() + problem.penalty_value(parameters);
    let dual = dual_value(&gathered, problem) - infeasible;
    // An infeasible dual point proves nothing: the gap is then the largest finite number.
    let dual = if dual.is_nan() {
        f64::MIN
    } else {
        dual.max(f64::MIN)
    };
    let gap = (primal - dual).min(f64::MAX);
    DualityGap {
        primal,
        dual,
        gap,
        relative_gap: relative_gap(gap, primal, tolerance),
        tol: tolerance.relative,
        rows: gathered.rows,
        support: gathered.support,
        at_bound: gathered.at_bound,
        dual_point,
    }
}

/// D(α), with α scaled where the constraint of a pure ℓ1 penalty requires it.
fn dual_value(gathered: &Gathered, problem: &Problem) -> f64 {
    let mut conjugate = 0.0;
    let mut shrink = 1.0f64;
    for (j, product) in gathered.products.iter().enumerate() {
        let (penalty, product) = (problem.penalty_of(j), product.value().abs());
        if penalty.l2 > 0.0 {
            conjugate += penalty.conjugate(product);
        } else if penalty.l1 > 0.0 && product > penalty.l1 {
            shrink = shrink.min(penalty.l1 / product);
        }
    }
    -shrink * gathered.conjugate.value() - conjugate
}
