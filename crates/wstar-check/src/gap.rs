//! The gap of a subproblem: an upper bound on P(θ) − inf P over all real parameters, for the real numbers that the doubles of
//! the rows and of θ stand for.
//!
//! **Theorem (Fenchel).** Let α be real multipliers with −αᵢ/cᵢ in the range of slopes of ℓ, and X̃ᵀα = 0 in the columns without a
//! penalty. With u = X̃ᵀα, P(θ) − inf P ≤ Σᵢ FYᵢ + Σⱼ FRⱼ, where FYᵢ = cᵢℓ(zᵢ) + cᵢℓ*(−αᵢ/cᵢ) + αᵢzᵢ and FRⱼ = R(wⱼ) + R*(uⱼ) − uⱼwⱼ.
//! *Proof.* For any θ' the inequalities cℓ(z') + cℓ*(−α/c) ≥ −αz' and R(w') + R*(u) ≥ uw' sum to P(θ') ≥ −Σcℓ* − ΣR*, because
//! Σαz' = Σu·w'. Subtract this from P(θ), and Σαz = Σuw. ∎ All terms are at least 0, so no difference of large numbers occurs.

pub(crate) use crate::bound::Gap;
pub(crate) use crate::problem::Subproblem;

use crate::bound::{Attempt, Choice};
use crate::problem::Loss;
use crate::{scalar, softmax};

/// A relative gap that needs no second attempt.
const SMALL: f64 = 1e-12;

/// What the certificate suggests for the dual point. Nothing in it is trusted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hints {
    /// Rows, increasing, and the positions of their multipliers within their ranges.
    pub(crate) shares: Vec<(u64, f64)>,
    /// A direction v with the layout of the parameters: α decreases by cℓ''(z)·(x̃·v), of softmax by c(diag p − ppᵀ)(x̃·v). With
    /// a Newton step v = −H⁻¹∇P these are the multipliers at the next point, to first order.
    pub(crate) direction: Option<Vec<f64>>,
}

/// Proves a bound on P(point) − inf P.
pub(crate) fn prove(sub: &Subproblem<'_>, point: &[f64], hints: &Hints) -> Gap {
    if !sub.is_admissible(point) {
        return Gap::UNPROVED;
    }
    let run = |choice: Choice<'_>| {
        let attempt = match sub.problem.loss {
            Loss::Softmax => softmax::attempt(sub, point, choice),
            _ => scalar::attempt(sub, point, choice),
        };
        attempt.unwrap_or(Attempt {
            gap: Gap::UNPROVED,
            correction: None,
        })
    };
    let usable = |v: &&Vec<f64>| v.len() == point.len() && v.iter().all(|v| v.is_finite());
    let newton = hints.direction.as_ref().filter(usable).map(Vec::as_slice);
    let mut choice = Choice {
        shares: &hints.shares,
        newton,
        ..Choice::default()
    };
    let mut first = run(choice);
    if first.gap.gap == f64::INFINITY && sub.problem.loss != Loss::Softmax {
        choice.inwards = true;
        first = run(choice);
    }
    let Some(direction) = first.correction.filter(|_| first.gap.relative > SMALL) else {
        return first.gap;
    };
    // With a corrected dual point the moves onto the constraints are rounding errors.
    let second = run(Choice {
        correction: Some(&direction),
        ..choice
    });
    if second.gap.gap < first.gap.gap {
        second.gap
    } else {
        first.gap
    }
}
