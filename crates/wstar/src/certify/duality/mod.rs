//! How far a point can be from the optimum: P − D for a dual point rebuilt from the data.
//!
//! For P(w, b) = R(w) + Σ cᵢ ℓ(yᵢ, zᵢ) any α gives D(α) = −Σ cᵢ ℓ\*(yᵢ, −αᵢ/cᵢ) − R\*(Xᵀα) ≤ P(w, b) for
//! **every** w and b, provided that α is feasible: Σα = 0 for a free intercept, |Xⱼᵀα| ≤ l1 under a bare ℓ1
//! penalty, Xᵀα = 0 without a penalty. So P − D bounds P − P\*, whatever made the point.
//!
//! - *Where α comes from.* A smooth loss gives αᵢ = −cᵢ ℓ'(yᵢ, zᵢ). A loss with a kink gives it wherever zᵢ is
//!   off the kink; on the kink the solver's multipliers are needed, and the claim stores just those.
//! - *The penalty's pull* l2·w is missed by the gradient, which can cost far more than the point is off: some rows'
//!   multipliers then move to make up for it (`spread.rs`).
//! - *Equality constraints* (Σα = 0, Xᵀα = 0) are met by moving the αᵢ with most room, by the least
//!   room-weighted change that does so (`repair.rs`). What rounding leaves of the residual, about 1e-16 of what
//!   it was, is counted for all weights up to 1,000 times as large as the model's own (and at least that
//!   many): beyond those nothing is claimed of a problem without a penalty.
//! - *The bare ℓ1 constraint* is met by shrinking α by t ≤ 1; ℓ\* is convex with ℓ\*(0) = 0, so
//!   −Σ c ℓ\*(−tα/c) ≥ −t Σ c ℓ\*(−α/c).
//!
//! All sums are compensated; the rounding of single terms, about 1e-16 of each, is not counted.

mod pass;
mod plain;
mod repair;
mod spread;
mod stored;

pub(crate) use pass::multiplier;
pub(crate) use spread::{LOOSENESS, can_spread};
pub use stored::StoredDual;

use serde::{Deserialize, Serialize};

use crate::certify::agree;
use crate::error::Result;
use crate::loss::LossName;
use crate::oracle::{Blocks, Layout};
use crate::penalty::Penalty;
use crate::problem::Intercept;
use pass::Gathered;

/// How many times as large as the model's own weights those may be that a claim without a penalty covers.
const REACH: f64 = 1000.0;

/// A gap this far below 0, relatively, is more than rounding: the claim is then wrong, not excellent.
const ROUNDING: f64 = 1e-9;

/// A relative gap that is nothing but rounding.
const NOTHING: f64 = 1e-13;

/// What is minimised over the rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Definition {
    /// ℓ.
    pub loss: LossName,
    /// R.
    pub penalty: Penalty,
    /// Whether R sees the intercept, or whether there is one.
    pub intercept: Intercept,
    /// How the parameters lie.
    pub layout: Layout,
    /// Whether half the logarithm of the information's determinant is taken off (Firth's correction).
    pub firth: bool,
}

impl Definition {
    /// Whether every stationary point is an optimum.
    pub fn is_convex(&self) -> bool {
        self.loss.is_convex() && !self.firth
    }

    /// Whether an optimum is a vertex, whose multipliers prove it to the last digit.
    fn has_vertices(&self) -> bool {
        self.penalty.is_none() && !self.loss.is_smooth()
    }
}

/// How the dual point is rebuilt from the model and the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DualPoint {
    /// From the slopes of the loss at the model's scores.
    Slopes,
    /// The same, but for these rows, whose scores lie on the kink.
    Stored(StoredDual),
}

impl DualPoint {
    /// Whether what is stored can be read.
    pub(crate) fn is_whole(&self) -> bool {
        match self {
            DualPoint::Slopes => true,
            DualPoint::Stored(stored) => stored.pairs().is_ok(),
        }
    }
}

/// A claim: the objective is within `gap` of its least value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DualityGap {
    /// The objective P at the model.
    pub primal: f64,
    /// The dual value D: no weights reach a lower objective.
    pub dual: f64,
    /// P − D.
    pub gap: f64,
    /// (P − D)/max(|P|, 1).
    pub relative_gap: f64,
    /// The relative gap that was asked for.
    pub tol: f64,
    /// Rows with a weight above 0.
    pub rows: u64,
    /// Rows with a multiplier other than 0.
    pub support: u64,
    /// Those of them whose multiplier is as large as can be.
    pub at_bound: u64,
    /// How the dual point is rebuilt.
    pub dual_point: DualPoint,
}

/// A relative gap beyond this is that of a dual point which proves nothing.
const NO_BOUND: f64 = 1e10;

impl DualityGap {
    /// Whether the dual value says anything about the optimum.
    pub fn is_bound(&self) -> bool {
        self.relative_gap <= NO_BOUND
    }

    /// Whether the gap is what was asked for, by the numbers of the claim.
    pub fn holds(&self) -> bool {
        self.relative_gap <= self.tol && self.relative_gap >= -ROUNDING
    }

    /// What of this claim the data contradict, once it has been recomputed.
    pub fn objections(&self, found: &DualityGap) -> Vec<String> {
        let scale = found.primal.abs().max(1.0);
        let mut objections = Vec::new();
        if self.rows != found.rows {
            objections.push(format!(
                "the claim is about {} rows, and these are {}",
                self.rows, found.rows
            ));
        }
        for (what, claimed, value) in [
            ("the objective", self.primal, found.primal),
            ("the dual value", self.dual, found.dual),
        ] {
            if !agree(claimed, value) && (claimed - value).abs() > ROUNDING * scale {
                objections.push(format!("{what} is claimed to be {claimed}, and is {value}"));
            }
        }
        if !found.holds() {
            objections.push(format!(
                "the relative gap is {:.2e}, and {:.0e} was asked for",
                found.relative_gap, found.tol
            ));
        }
        objections
    }
}

/// Computes the gap of a point in one pass over the rows. If that is too wide, multipliers of some rows are moved to make
/// it narrower; if that does not do, there is a second pass with every digit of every product, for columns so large that
/// rounding was in the way.
pub fn certify(
    blocks: &mut dyn Blocks,
    definition: &Definition,
    parameters: &[f64],
    dual_point: DualPoint,
    tol: f64,
) -> Result<DualityGap> {
    let conclude = |gathered: Gathered, care: Care| {
        let dual_point = dual_point.clone();
        conclude(gathered, definition, parameters, dual_point, tol, care)
    };
    let mut gathered = pass::gather(blocks, definition, parameters, &dual_point, Care::Plain)?;
    let mut best = conclude(gathered.clone(), Care::Plain);
    // A vertex proves more than was asked for, and is worth another pass to show it.
    let vertex = definition.has_vertices();
    if best.holds() && (!vertex || best.relative_gap <= NOTHING) {
        return Ok(best);
    }
    let slopes = dual_point == DualPoint::Slopes;
    if slopes && can_spread(definition.loss, definition.penalty, definition.layout) {
        spread::spread(blocks, definition, parameters, &mut gathered)?;
        best = narrower(best, conclude(gathered, Care::Plain));
        if best.holds() {
            return Ok(best);
        }
    }
    if !vertex && !repair::is_worth_care(definition) {
        return Ok(best);
    }
    let careful = pass::gather(blocks, definition, parameters, &dual_point, Care::Every)?;
    Ok(narrower(best, conclude(careful, Care::Every)))
}

fn narrower(one: DualityGap, other: DualityGap) -> DualityGap {
    if other.gap < one.gap { other } else { one }
}

/// How carefully pulls are summed, and which constraints are repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Care {
    /// Products are rounded; only equality constraints are repaired.
    Plain,
    /// Products keep all their digits, and Xᵀα is put where the penalty wants it too: where columns are large, the
    /// rounding of a score moves Xⱼᵀα by more than the gap allows.
    Every,
}

/// The claim that a gathered dual point makes, once it is feasible.
fn conclude(
    mut gathered: Gathered,
    definition: &Definition,
    parameters: &[f64],
    dual_point: DualPoint,
    tol: f64,
    care: Care,
) -> DualityGap {
    let infeasible = repair::repair(&mut gathered, definition, parameters, care);
    let primal = gathered.loss.value() + penalty_value(definition, parameters);
    let dual = dual_value(&gathered, definition) - infeasible;
    // An infeasible dual point proves nothing: the gap is then as large as a number can say.
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
        relative_gap: gap / primal.abs().max(1.0),
        tol,
        rows: gathered.rows,
        support: gathered.support,
        at_bound: gathered.at_bound,
        dual_point,
    }
}

/// The penalty of parameter `j`.
pub(crate) fn penalty_of(definition: &Definition, j: usize) -> Penalty {
    if definition.intercept == Intercept::Free && definition.layout.is_intercept(j) {
        Penalty::NONE
    } else {
        definition.penalty
    }
}

fn penalty_value(definition: &Definition, parameters: &[f64]) -> f64 {
    let terms = parameters.iter().enumerate();
    terms.map(|(j, &w)| penalty_of(definition, j).of(w)).sum()
}

fn dual_value(gathered: &Gathered, definition: &Definition) -> f64 {
    let mut conjugate = 0.0;
    let mut shrink = 1.0f64;
    for (j, pull) in gathered.pulls.iter().enumerate() {
        let (penalty, pull) = (penalty_of(definition, j), pull.value().abs());
        if penalty.l2 > 0.0 {
            conjugate += penalty.conjugate(pull);
        } else if penalty.l1 > 0.0 && pull > penalty.l1 {
            shrink = shrink.min(penalty.l1 / pull);
        }
    }
    -shrink * gathered.conjugate.value() - conjugate
}
