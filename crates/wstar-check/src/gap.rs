//! The gap of a subproblem: an upper bound on P(θ) − inf P over all real parameters, for the real numbers that the doubles of
//! the rows and of θ stand for.
//!
//! **Theorem (Fenchel).** Let α be real multipliers with −αᵢ/cᵢ in the range of slopes of ℓ, and X̃ᵀα = 0 in the columns without a
//! penalty. With u = X̃ᵀα, P(θ) − inf P ≤ Σᵢ FYᵢ + Σⱼ FRⱼ, where FYᵢ = cᵢℓ(zᵢ) + cᵢℓ*(−αᵢ/cᵢ) + αᵢzᵢ and FRⱼ = R(wⱼ) + R*(uⱼ) − uⱼwⱼ.
//! *Proof.* For any θ' the inequalities cℓ(z') + cℓ*(−α/c) ≥ −αz' and R(w') + R*(u) ≥ uw' sum to P(θ') ≥ −Σcℓ* − ΣR*, because
//! Σαz' = Σu·w'. Subtract this from P(θ), and Σαz = Σuw. ∎ All terms are at least 0, so no difference of large numbers occurs.
//!
//! **Columns.** With t = s·u, s the sign of w, and l2 > 0: FR = (t − l1 − l2|w|)²/(2l2) for t ≥ l1; otherwise
//! ½l2w² + |w|(l1 − t) + max(−t − l1, 0)²/(2l2). FR is convex in u, so its maximum over an interval is at an end. *Proof.* R*(u) =
//! max(|u| − l1, 0)²/(2l2). ∎
//!
//! **Pure ℓ1.** R*(u) = 0 for |u| ≤ l1, otherwise ∞. Let T ≤ 1 be a double with T·|uⱼ| ≤ l1 for all penalised j. ℓ* is convex and
//! ℓ*(0) = −min ℓ = 0, so FY(Tα) ≤ T·FY(α) + (1 − T)·cℓ(z), and gap ≤ T·ΣFY + (1 − T)·Σcℓ + Σ|w|(l1 − T·s·u).
//!
//! **The relative gap** is gap/max(P, min(1, 2⁻²⁰·S)), with the objective S of the best constant model (`baseline.rs`).

pub(crate) use crate::problem::Subproblem;

use crate::arithmetic::{Interval, larger};
use crate::baseline;
use crate::mutant::{self, Mutant};
use crate::problem::{Loss, Problem};
use crate::{scalar, softmax};

/// A relative gap that needs no second attempt.
const SMALL: f64 = 1e-12;
/// Multipliers of smaller magnitude are set to 0, so that products with them are exact in two doubles.
pub(crate) const SMALLEST_MULTIPLIER: f64 = 1e-150;

#[derive(Debug, Clone)]
pub(crate) struct Gap {
    pub(crate) primal: Interval,
    /// An upper bound on P − inf P; infinite if nothing was proved.
    pub(crate) gap: f64,
    /// A lower bound of max(P, min(1, 2⁻²⁰·S)), with the objective S of the best constant model.
    pub(crate) scale: f64,
    pub(crate) relative: f64,
    /// An upper bound on ‖w − w*‖ over the penalised parameters, if l2 > 0.
    pub(crate) distance: Option<f64>,
}

impl Gap {
    const UNPROVED: Gap = Gap {
        primal: Interval::WHOLE,
        gap: f64::INFINITY,
        scale: 0.0,
        relative: f64::INFINITY,
        distance: None,
    };
}

/// What the certificate suggests for the dual point. Nothing in it is trusted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hints {
    /// Rows, increasing, and the positions of their multipliers within their ranges.
    pub(crate) shares: Vec<(u64, f64)>,
    /// A direction v with the layout of the parameters: α decreases by cℓ''(z)·(x̃·v), of softmax by c(diag p − ppᵀ)(x̃·v). With
    /// a Newton step v = −H⁻¹∇P these are the multipliers at the next point, to first order.
    pub(crate) direction: Option<Vec<f64>>,
}

#[derive(Default, Clone, Copy)]
pub(crate) struct Choice<'a> {
    pub(crate) shares: &'a [(u64, f64)],
    /// A direction that is multiplied by the curvature of the loss.
    pub(crate) newton: Option<&'a [f64]>,
    /// A direction that is multiplied by the slack of the rows.
    pub(crate) correction: Option<&'a [f64]>,
    /// Whether multipliers at an end of their range are moved towards 0.
    pub(crate) inwards: bool,
}

/// The bound, and the correction that could improve it.
pub(crate) struct Attempt {
    pub(crate) gap: Gap,
    pub(crate) correction: Option<Vec<f64>>,
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

/// The bound from the sum of the rows' values, the sum of their defects and the column products u = X̃ᵀα.
pub(crate) fn conclude(
    sub: &Subproblem<'_>,
    point: &[f64],
    total: Interval,
    rows: Interval,
    columns: &[Interval],
) -> Gap {
    let problem = &sub.problem;
    let width = problem.width().max(1);
    let penalized = || (0..point.len()).filter(|at| problem.penalizes(at % width));
    let pure = problem.l1 > 0.0 && problem.l2 == 0.0 && !mutant::is(Mutant::NoShrinking);
    let largest = penalized().map(|at| columns[at].abs().hi).fold(0.0, larger);
    let shrink = match pure && largest > problem.l1 {
        true => (problem.l1 / largest).next_down().max(0.0),
        false => 1.0,
    };
    let of_column = |at: usize| Interval::point(column_defect(problem, point[at], columns[at], shrink));
    let of_columns = penalized()
        .map(of_column)
        .sum::<Interval>()
        .unless(Mutant::NoColumnDefects);
    let rest = Interval::point(1.0) - Interval::point(shrink);
    let gap = (shrink * rows.unless(Mutant::NoRowDefects) + rest * total + of_columns).hi;
    let primal = total
        + penalized()
            .map(|at| penalty(problem, point[at]))
            .sum::<Interval>();
    let scale = primal.lo.max(baseline::least_scale(sub)).max(0.0);
    if !(gap.is_finite() && primal.hi.is_finite()) {
        return Gap {
            primal,
            scale,
            ..Gap::UNPROVED
        };
    }
    let gap = gap.max(0.0);
    let relative = match (gap == 0.0, scale > 0.0) {
        (true, _) => 0.0,
        (false, true) => (Interval::point(gap) / Interval::point(scale)).hi,
        _ => f64::INFINITY,
    };
    let square = 2.0 * Interval::point(gap) / Interval::point(problem.l2);
    let distance = (problem.l2 > 0.0).then(|| square.sqrt().hi);
    Gap {
        primal,
        gap,
        scale,
        relative,
        distance,
    }
}

fn penalty(problem: &Problem, w: f64) -> Interval {
    let w = Interval::point(w).abs();
    problem.l1 * w + 0.5 * (problem.l2 * w.square())
}

/// An upper bound on FR for all u of an interval; of pure ℓ1 for T·u.
fn column_defect(problem: &Problem, w: f64, u: Interval, shrink: f64) -> f64 {
    let (l1, l2) = (Interval::point(problem.l1), Interval::point(problem.l2));
    let size = Interval::point(w.abs());
    if problem.l2 == 0.0 {
        let t = if w < 0.0 { -u } else { u };
        return (size * (l1 - shrink * t)).hi.max(0.0);
    }
    let at = |u: f64| {
        let t = Interval::point(if w < 0.0 || (w == 0.0 && u < 0.0) { -u } else { u });
        if t.lo >= problem.l1 {
            (t - l1 - l2 * size).square() / (2.0 * l2)
        } else {
            0.5 * (l2 * size.square()) + size * (l1 - t) + (-t - l1).positive_part().square() / (2.0 * l2)
        }
    };
    larger(at(u.lo).hi, at(u.hi).hi)
}
