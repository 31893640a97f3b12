//! The claims `hard-margin` and `separation`: no hyperplane has a larger margin than this one, up to a relative gap.
//!
//! **Lemma.** Let a hyperplane v = (w, b) have m = minᵢ aᵢ·v > 0, and let no margin exceed r. The largest margin lies between m/‖w‖ and r. The
//! least ½‖w‖² of all hyperplanes with aᵢ·v ≥ 1 for all i lies between D = ½/r² and P = ½‖w‖²/m².
//! *Proof.* (w, b)/m satisfies the conditions. A hyperplane that satisfies them has a margin of at least 1/‖w‖, so 1/‖w‖ ≤ r. ∎
//! With r from the lemma of `points.rs`, the gap (P − D)/P = 1 − m²/(‖w‖²r²) and all other numbers are quotients of sums of products of
//! doubles: numerator and denominator are computed exactly, and only their quotient is rounded, outwards.
//!
//! `hard-margin` claims that (P − D)/P is at most the tolerance, `separation` that 1 − m/(‖w‖r) is.

use crate::arithmetic::{Interval, larger};
use crate::decimal::{at_most, interval};
use crate::dyadic::{Dyadic, quotient};
use crate::model::Model;
use crate::mutant::{self, Mutant};
use crate::points::{Multipliers, Points, multipliers};
use crate::reduction::Part;
use crate::training_rows::TrainingRows;
use crate::unreadable::Reading;
use crate::verdict::{Options, Verdict};

/// The deviation of a stated number that rounding explains, relative to it. Heuristic: stated numbers are rounded sums.
const ROUNDING: f64 = 1e-9;

/// Checks the claims of a model: one for the second of two classes, or one for each class against the rest.
pub(crate) fn check(model: &Model, rows: &TrainingRows, options: Options) -> Reading<Verdict> {
    let (root, parts) = (model.root(), Part::against_rest(model.classes().len()));
    let settings = root.field("settings")?;
    let squared = model.kind == "hard-margin";
    let unit = if squared { " in ½‖w‖²" } else { "" };
    let (family, tol) = match squared {
        true => ("maximum-margin", "tol"),
        false => ("kozinec", "epsilon"),
    };
    let claims = root.field("certificate")?.field("parts")?.items()?;
    let planes = model.planes(parts.len())?;
    let fits = settings.field("family")?.text()? == family && claims.len() == parts.len();
    if !fits || parts.is_empty() || (squared && planes.is_none()) {
        return Err(root.refuse("a margin is claimed for another method, or not for each hyperplane"));
    }
    let mut verdict = Verdict::new("ties, status, notes, history, digest, passes, iterations, committees");
    let is_margin = planes.is_none() || root.field("predictor")?.field("link")?.text()? == "margin";
    verdict.object_unless(is_margin, "the scores are margins");
    let accepted = options.tol.unwrap_or(settings.field(tol)?.number()?);
    let (mut objective, mut worst) = (Interval::ZERO, 0.0);
    for (k, (&part, claim)) in parts.iter().zip(&claims).enumerate() {
        let name = part.label(model.classes());
        let points = Points::new(rows, part, settings.field("intercept")?.boolean()?);
        let plane = match planes.as_ref().filter(|_| squared) {
            Some(planes) => planes[k].clone(),
            None => claim.field("hyperplane")?,
        };
        let multipliers = match squared {
            true => multipliers(&claim.field("support")?)?,
            false => points.hulls(claim)?,
        };
        let same = |field: &str| Ok(claim.field(field)? == settings.field(field)?);
        let predicts = planes.as_ref().is_none_or(|planes| planes[k] == plane);
        // Points of a support have multipliers above 0.
        let support = !squared || multipliers.iter().all(|(_, multiplier)| multiplier.is_positive());
        let counted = !squared || claim.field("rows")?.count()? == points.rows().count() as u64;
        let objection = format!("{name}: the hyperplane, intercept, tolerance or rows differ elsewhere");
        verdict.object_unless(
            same("intercept")? && same(tol)? && predicts && support && counted,
            objection,
        );
        let Some(found) = margins(&points, &points.hyperplane(&plane)?, &multipliers) else {
            worst = f64::INFINITY;
            verdict.state(name, "it does not separate, or no margin is bounded", Some(false));
            continue;
        };
        let [lower, upper, primal, dual, gap, ..] = found;
        let (width, used) = match squared {
            true => (gap, 2..7),
            false => ((upper - lower) / upper, 0..2),
        };
        let scales = [upper.hi, upper.hi, primal.hi, dual.hi, 1.0, 1.0, 1.0];
        for k in used {
            let (what, stated) = (format!("{name}: {}", NAMES[k]), claim.field(NAMES[k])?.number()?);
            verdict.compare(&what, stated, found[k], ROUNDING * scales[k]);
        }
        objective = objective + primal;
        worst = larger(worst, width.hi.max(0.0));
        let (ends, most) = (interval((lower.lo, upper.hi)), at_most(width.hi.max(0.0)));
        let text = format!("the largest margin lies in {ends}, a relative width of at most {most}{unit}");
        verdict.state(name, text, Some(width.hi <= accepted));
    }
    let stated = root.field("fit")?.optional("objective")?;
    if let Some(stated) = stated.filter(|_| squared && worst.is_finite()) {
        let error = ROUNDING * objective.hi;
        verdict.compare("the objective", stated.number()?, objective, error);
    }
    let worst = at_most(worst);
    verdict.summary = format!(
        "intervals for the largest margins have relative widths of at most {worst}{unit}; the tolerance is {accepted:e}"
    );
    Ok(verdict)
}

/// What is stated about a hyperplane: its margin and the bound on all margins; P, D and their relative gap; max αᵢ(aᵢ·v/m − 1) and
/// |Σαᵢyᵢ|, relative to Σα.
const NAMES: [&str; 7] = [
    "lower",
    "upper",
    "primal",
    "dual",
    "relative_gap",
    "slackness",
    "imbalance",
];

/// What is proved about it. `None` if it does not separate, or no margin is bounded.
pub(crate) fn margins(points: &Points<'_>, v: &[Dyadic], multipliers: &Multipliers) -> Option<[Interval; 7]> {
    let least = points.rows().map(|i| points.product(i, v)).min()?;
    let (bound, one) = points.bound(multipliers)?;
    if !least.is_positive() {
        return None;
    }
    let (norm, square, half) = (points.squared_norm(v), least.square(), Interval::point(0.5));
    // r²‖w‖² and m², both times the denominator of r².
    let (all, reached) = (&bound * &norm, &square * &one);
    let gap = quotient(&(&all - &reached), &all);
    let [first, second] = points.sums(multipliers);
    let total = &first + &second;
    let beyond = |(i, multiplier): &(usize, Dyadic)| multiplier * &(&points.product(*i, v) - &least);
    let imbalance = match points.intercept {
        true => &first - &second,
        false => Dyadic::default(),
    };
    Some([
        quotient(&square, &norm).sqrt(),
        quotient(&bound, &one).sqrt(),
        half * quotient(&norm, &square),
        half * quotient(&one, &bound),
        if mutant::is(Mutant::FlippedGap) { -gap } else { gap },
        quotient(&multipliers.iter().map(beyond).max()?, &(&least * &total)),
        quotient(&imbalance, &total).abs(),
    ])
}
