//! The duality gap of a point, as a sum of Fenchel–Young defects of a dual point that is recomputed from the data (Fenchel duality; R. T.
//! Rockafellar, Convex Analysis, Princeton 1970, section 31).
//!
//! For P(θ) = Σⱼ R(θⱼ) + Σᵢ cᵢ ℓ(yᵢ, zᵢ) and any α with X̃ᵀα = 0 in the columns without a penalty, inf P ≥ D(α), and
//! P(θ) − D(α) = Σᵢ FYᵢ + Σⱼ FRⱼ with FYᵢ = cᵢℓ(zᵢ) + cᵢℓ\*(−αᵢ/cᵢ) + αᵢzᵢ ≥ 0 and FRⱼ = R(θⱼ) + R\*(uⱼ) − uⱼθⱼ ≥ 0, u = X̃ᵀα. No large
//! numbers are subtracted, and each term is bounded above with all rounding errors. So the gap is a theorem about the real-number
//! problem of the stored binary64 rows; `docs/proofs.md` has the proofs. It assumes IEEE 754 arithmetic and a correct compiler.
//!
//! - *The dual point.* A smooth loss gives αᵢ = −cᵢ ℓ'(yᵢ, zᵢ). A loss with a kink gives it wherever zᵢ is off the kink; on the
//!   kink the multipliers of the solver are needed, and the claim stores only those.
//! - *Changed rows.* If the columns do not fit α, the multipliers of some rows are changed (`moved_rows.rs`).
//! - *Equality constraints* (Σα = 0, X̃ᵀα = 0) are satisfied by a move of real numbers that is only bounded (`equality.rs`).
//!
//! The files:
//! - `claim_sums`: the claim, and the sums of a pass over the rows. `fast_pass`, `careful_pass`: the pass, in doubles with a-priori
//!   bounds, and in two doubles.
//! - `row_dual`, `softmax_dual`: the multipliers of a row, and their defect.
//! - `moved_rows`, `dual_step`: rows whose multipliers are changed, and Newton steps of the change.
//! - `equality`, `softmax_equality`, `constraint_system`, `gram_inverse`: moves onto the equality constraints.
//! - `column_defects`: the defects of the columns, and the bound.
//! - `error_bounds`: bounds on rounding errors.
//! - `dual_point`, `stored_multipliers`: how the dual point of a claim is recomputed, and the encoding of multipliers.
//! - [`choose_multipliers`]: which multipliers a certificate stores.

mod careful_pass;
pub mod choose_multipliers;
mod claim_sums;
mod column_defects;
mod constraint_system;
mod dual_point;
mod dual_step;
mod equality;
mod error_bounds;
mod fast_pass;
mod gram_inverse;
mod moved_rows;
mod row_dual;
mod softmax_dual;
mod softmax_equality;
mod stored_multipliers;
#[cfg(test)]
mod tests;

pub use dual_point::DualPoint;
pub use stored_multipliers::{StoredDual, multiplier};

use serde::{Deserialize, Serialize};

use claim_sums::{Claim, ClaimSums};
use column_defects::column_products;
use dual_step::Fitted;
use equality::Constrained;
use error_bounds::Rounding;
use moved_rows::{Movable, MovedRows};
use wstar_data::error::Result;
use wstar_data::{Objection, Quantity};
use wstar_numeric::agreement::agree;
use wstar_problem::baseline::Baseline;
use wstar_problem::objective::Blocks;
use wstar_problem::problem::Problem;
use wstar_problem::tolerance::Tolerance;

/// The largest relative difference of two computations of the same sum that rounding can explain. Heuristic: tolerance of rounding
/// against strictness; not measured yet.
const ROUNDING: f64 = 1e-9;

/// The claim that the objective is within `gap` of its minimum.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DualityGap {
    /// The objective P at the model.
    pub primal: f64,
    /// P minus the gap.
    pub dual: f64,
    /// An upper bound on P minus the infimum of the objective.
    pub gap: f64,
    /// An upper bound on gap/max(P, min(1, 2⁻²⁰·S)), with the objective S of the best constant model.
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
    /// Absent if the bound covers all parameters. Without a penalty and with columns that depend on others up to rounding, it
    /// covers those of up to this multiple of max(|θⱼ|, 1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reach: Option<f64>,
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
        // Version 1 subtracted D from P, so the gaps of its files can be below 0 by rounding.
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
        // A claim about fewer parameters than were proved is true.
        if found.reach.is_some() && self.reach != found.reach {
            objections.push(Objection::Differs {
                quantity: Quantity::Reach,
                claimed: self.reach.unwrap_or(f64::MAX),
                found: found.reach.unwrap_or(f64::MAX),
            });
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

/// Bounds the gap of a point.
///
/// One pass over the rows suffices if the gap is within `tol`. If it is too wide, the multipliers of some rows are changed. If it
/// is still too wide, a second pass computes all products in two doubles, because rounding matters where columns are large.
pub fn certify(
    blocks: &mut dyn Blocks,
    problem: &Problem,
    parameters: &[f64],
    dual_point: DualPoint,
    tol: f64,
) -> Result<DualityGap> {
    certify_rounded(blocks, problem, parameters, dual_point, tol, Rounding::BINARY64)
}

/// Bounds the gap by the multipliers as they are stored, apart from moves onto equality constraints.
fn certify_as_stored(
    blocks: &mut dyn Blocks,
    problem: &Problem,
    parameters: &[f64],
    dual_point: DualPoint,
    tol: f64,
) -> Result<DualityGap> {
    let claim = Claim {
        changes: false,
        ..Claim::new(problem, parameters, &dual_point, Rounding::BINARY64)?
    };
    bound(blocks, &claim, dual_point, tol)
}

fn certify_rounded(
    blocks: &mut dyn Blocks,
    problem: &Problem,
    parameters: &[f64],
    dual_point: DualPoint,
    tol: f64,
    rounding: Rounding,
) -> Result<DualityGap> {
    let claim = Claim::new(problem, parameters, &dual_point, rounding)?;
    bound(blocks, &claim, dual_point, tol)
}

fn bound(blocks: &mut dyn Blocks, claim: &Claim<'_>, dual_point: DualPoint, tol: f64) -> Result<DualityGap> {
    let mut target = Target {
        tolerance: Tolerance::from(tol),
        known: false,
    };
    let fast = fast_pass::gather(blocks, claim)?;
    let mut best = prove(blocks, claim, &fast, Precision::Fast, &mut target)?;
    let mut sums = fast;
    for inwards in [false, true] {
        if target.is_reached(blocks, claim, &sums, best.gap)? || (inwards && best.gap.is_finite()) {
            break;
        }
        let careful = careful_pass::gather(blocks, claim, inwards)?;
        let found = prove(
            blocks,
            claim,
            &careful,
            Precision::Careful { inwards },
            &mut target,
        )?;
        if found.gap < best.gap || !inwards {
            best = best.or(found);
            sums = ClaimSums {
                support: sums.support,
                at_bound: sums.at_bound,
                ..careful
            };
        }
    }
    target.learn(blocks, claim, &sums, best.gap)?;
    let primal = sums.loss.value() + claim.problem.penalty_value(claim.parameters);
    // An infinite bound proves nothing. A file cannot hold it, so the largest number takes its place.
    let gap = if best.gap.is_nan() {
        f64::MAX
    } else {
        best.gap.min(f64::MAX)
    };
    Ok(DualityGap {
        primal,
        dual: (primal - gap).max(f64::MIN),
        gap,
        relative_gap: target.relative_gap(claim, &sums, gap).min(f64::MAX),
        tol,
        rows: sums.rows,
        support: sums.support,
        at_bound: sums.at_bound,
        dual_point,
        reach: best.reach,
    })
}

/// A bound on the gap, and the parameters that it covers.
#[derive(Clone, Copy)]
struct Bound {
    gap: f64,
    reach: Option<f64>,
}

impl Bound {
    const NOTHING: Bound = Bound {
        gap: f64::INFINITY,
        reach: None,
    };

    /// The smaller bound.
    fn or(self, other: Bound) -> Bound {
        if other.gap < self.gap { other } else { self }
    }
}

/// How the sums of a pass were computed.
#[derive(Clone, Copy)]
enum Precision {
    Fast,
    Careful { inwards: bool },
}

/// The gap that suffices.
struct Target {
    tolerance: Tolerance,
    /// Whether S is known. It matters only where P is small.
    known: bool,
}

impl Target {
    /// A lower bound of the scale.
    fn scale(&self, claim: &Claim<'_>, sums: &ClaimSums) -> f64 {
        let penalty = claim.problem.penalty_value(claim.parameters);
        // P is a sum of terms of at least 0, so its own rounding is relative.
        let primal = (sums.loss.value() - sums.loss_error + penalty) * (1.0 - ROUNDING);
        primal.max(self.tolerance.least_scale)
    }

    fn relative_gap(&self, claim: &Claim<'_>, sums: &ClaimSums, gap: f64) -> f64 {
        if gap == 0.0 {
            return 0.0;
        }
        let scale = self.scale(claim, sums);
        if scale > 0.0 {
            gap / scale * (1.0 + 4.0 * f64::EPSILON)
        } else {
            f64::INFINITY
        }
    }

    /// Computes S if the gap is not small enough without it.
    fn learn(
        &mut self,
        blocks: &mut dyn Blocks,
        claim: &Claim<'_>,
        sums: &ClaimSums,
        gap: f64,
    ) -> Result<()> {
        let is_reached = self.relative_gap(claim, sums, gap) <= self.tolerance.relative;
        if !self.known && !is_reached {
            self.tolerance.least_scale = Baseline::of(blocks, claim.problem)?.least_scale(claim.problem);
            self.known = true;
        }
        Ok(())
    }

    fn is_reached(
        &mut self,
        blocks: &mut dyn Blocks,
        claim: &Claim<'_>,
        sums: &ClaimSums,
        gap: f64,
    ) -> Result<bool> {
        self.learn(blocks, claim, sums, gap)?;
        Ok(self.relative_gap(claim, sums, gap) <= self.tolerance.relative)
    }
}

/// Cap on the steps of v.
const MOST_STEPS: usize = 24;

/// A step that leaves more than this part of the gap gains nothing. Heuristic: a step is worth its cost if it gains something; not
/// measured yet.
const NO_BETTER: f64 = 0.9;

/// Steps of the intercepts alone after each step. Derived: Newton's method doubles the digits with each.
const CENTRING_STEPS: usize = 3;

/// Cap on the steps in a row that gain nothing. Under an ℓ1 penalty a step can break bounds that the next one repairs.
const MOST_STALLS: usize = 3;

/// Bounds the gap by the sums of a pass.
fn prove(
    blocks: &mut dyn Blocks,
    claim: &Claim<'_>,
    sums: &ClaimSums,
    precision: Precision,
    target: &mut Target,
) -> Result<Bound> {
    let constrained = Constrained::of(claim.problem);
    let columns = column_products(sums);
    // Without the constraints the bound can only be smaller.
    let least = column_defects::gap(claim, sums, sums.defects + sums.stored_defects, &columns);
    if constrained == Constrained::None && target.is_reached(blocks, claim, sums, least)? {
        return Ok(Bound {
            gap: least,
            reach: None,
        });
    }
    if !(sums.defects + sums.stored_defects).is_finite()
        || columns.iter().any(|u| !u.value.value().is_finite())
    {
        return Ok(Bound::NOTHING);
    }
    let inwards = matches!(precision, Precision::Careful { inwards: true });
    if !claim.problem.loss().is_smooth() && !inwards {
        return change(blocks, claim, sums, precision, Movable::Stored, least, target);
    }
    let mut best = Bound::NOTHING;
    let few = moved_rows::one_in(claim, sums.rows, Movable::Few);
    let can_suffice = claim.problem.penalty().is_none() || target.is_reached(blocks, claim, sums, least)?;
    if can_suffice && few > moved_rows::one_in(claim, sums.rows, Movable::Sample) {
        best = change(blocks, claim, sums, precision, Movable::Few, least, target)?;
        if target.is_reached(blocks, claim, sums, best.gap)? {
            return Ok(best);
        }
    }
    let sample = change(blocks, claim, sums, precision, Movable::Sample, least, target)?;
    Ok(best.or(sample))
}

/// Bounds the gap after the multipliers of some rows have changed. `least` is the bound without the constraints.
fn change(
    blocks: &mut dyn Blocks,
    claim: &Claim<'_>,
    sums: &ClaimSums,
    precision: Precision,
    movable: Movable,
    least: f64,
    target: &mut Target,
) -> Result<Bound> {
    let constrained = Constrained::of(claim.problem);
    let inwards = matches!(precision, Precision::Careful { inwards: true });
    let rows = MovedRows::draw(blocks, claim, sums.rows, movable, inwards)?;
    // The defects of the moving rows are counted anew.
    let others = match movable {
        Movable::Stored => sums.defects,
        Movable::Few | Movable::Sample => sums.defects + sums.stored_defects,
    };
    let recomputed = matches!(precision, Precision::Fast) && movable != Movable::Stored;
    let bound = |moved: &moved_rows::Moved| match constrained {
        Constrained::None => Bound {
            gap: column_defects::gap(claim, sums, others + moved.defects, &moved.products),
            reach: None,
        },
        _ => {
            equality::onto(constrained, claim, sums, &rows, moved).map_or(Bound::NOTHING, |feasible| Bound {
                gap: column_defects::gap(claim, sums, others + feasible.defects, &feasible.products),
                reach: feasible.reach,
            })
        }
    };
    let mut best = match constrained {
        Constrained::None => Bound {
            gap: least,
            reach: None,
        },
        _ => Bound::NOTHING,
    };
    let mut moved = rows.at(claim, sums, None, recomputed);
    let can_suffice = target.is_reached(blocks, claim, sums, least)?;
    if constrained != Constrained::None && (can_suffice || claim.problem.penalty().is_none()) {
        best = bound(&moved);
    }
    if movable == Movable::Few || !claim.changes {
        return Ok(best);
    }
    let penalty = claim.problem.penalty();
    let passes: &[Fitted] = match penalty.l1 > 0.0 && penalty.l2 == 0.0 {
        true => &[Fitted::All, Fitted::Broken],
        false => &[Fitted::All],
    };
    let centres = constrained == Constrained::Intercept && claim.problem.loss().is_smooth();
    for &fitted in passes {
        let mut v = vec![0.0; claim.parameters.len()];
        let mut stalls = 0;
        for step in 0..MOST_STEPS {
            if rows.len() == 0 || target.is_reached(blocks, claim, sums, best.gap)? {
                return Ok(best);
            }
            // The first step fits the intercepts alone.
            if !(centres && step == 0) {
                let Some(next) = rows.step(claim, &moved, &v, fitted) else {
                    break;
                };
                v = next;
                moved = rows.at(claim, sums, Some(&v), recomputed);
            }
            // The intercepts are fitted again, so that the move onto Σα = 0 changes the other products by next to nothing.
            for _ in 0..if centres { CENTRING_STEPS } else { 0 } {
                let Some(next) = rows.step(claim, &moved, &v, Fitted::Intercepts) else {
                    break;
                };
                v = next;
                moved = rows.at(claim, sums, Some(&v), recomputed);
            }
            let found = bound(&moved);
            let gains = best.gap.is_infinite() || found.gap < NO_BETTER * best.gap;
            stalls = if gains { 0 } else { stalls + 1 };
            best = best.or(found);
            if stalls == MOST_STALLS {
                break;
            }
        }
        moved = rows.at(claim, sums, None, recomputed);
    }
    if best.gap.is_infinite() && constrained != Constrained::None {
        best = bound(&rows.at(claim, sums, None, recomputed));
    }
    Ok(best)
}
