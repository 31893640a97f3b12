//! The claim `hard-margin`: no hyperplane has a larger margin than this one, up to a relative gap.
//!
//! **Lemma.** Let P be the least ½‖w‖² of all hyperplanes with aᵢ·v ≥ 1 for all i. If (w, b) has m = minᵢ aᵢ·v > 0, then
//! P ≤ ½‖w‖²/m². If no margin exceeds r, then P ≥ ½/r².
//! *Proof.* (w, b)/m satisfies the conditions. A hyperplane that satisfies them has a margin of at least 1/‖w‖, so 1/‖w‖ ≤ r. ∎
//! With r from the lemma of `points.rs` the relative gap of these bounds is 1 − m²/(‖w‖²r²), a quotient of sums of products of
//! doubles: numerator and denominator are computed exactly, and only their quotient is rounded, outwards.

use crate::arithmetic::Interval;
use crate::decimal::at_most;
use crate::integer::{Dyadic, quotient, root};
use crate::model::Model;
use crate::mutant::{self, Mutant};
use crate::points::{Points, multipliers};
use crate::reduction::Part;
use crate::training_rows::TrainingRows;
use crate::unreadable::Reading;
use crate::verdict::{Options, Verdict};

/// The deviation of a stated number that rounding explains, relative to it. Heuristic: stated numbers are rounded sums.
const ROUNDING: f64 = 1e-9;

/// Checks the claims of a model: one for the second of two classes, or one for each class against the rest.
pub(crate) fn check(model: &Model, rows: &TrainingRows, options: Options) -> Reading<Verdict> {
    let (root, planes) = (model.root(), model.hyperplanes()?);
    let (settings, classes) = (root.field("settings")?, model.classes());
    let claims = root.field("certificate")?.field("parts")?.items()?;
    let problems = Part::against_rest(classes.len());
    if (planes.len(), claims.len()) != (problems.len(), problems.len()) || problems.is_empty() {
        return Err(root.refuse("there is not one hyperplane and one claim for each problem"));
    }
    if settings.field("family")?.text()? != "maximum-margin" {
        return Err(settings.refuse("a largest margin is claimed for another method"));
    }
    let mut verdict = Verdict::new("ties, status, notes, history, digest, passes, iterations");
    let tol = settings.field("tol")?.number()?;
    let is_margin = root.field("predictor")?.field("link")?.text()? == "margin";
    verdict.object_unless(is_margin, "the scores are margins");
    let (mut objective, mut worst) = (Interval::ZERO, 0.0f64);
    for ((part, (mut plane, b)), claim) in problems.into_iter().zip(planes).zip(&claims) {
        let name = part.label(classes);
        let positive = if let Part::Against(class) = part { class } else { 0 };
        let points = Points::new(rows, positive, None, settings.field("intercept")?.boolean()?);
        plane.extend(points.intercept.then_some(b));
        let same = claim.field("tol")?.number()? == tol
            && claim.field("intercept")?.boolean()? == points.intercept
            && claim.field("rows")?.count()? == points.rows().count() as u64
            && (points.intercept || b == 0.0);
        verdict.object_unless(same, format!("{name}: tolerance, intercept or rows differ"));
        let v: Vec<Dyadic> = plane.into_iter().map(Dyadic::double).collect();
        let Some(found) = Margins::new(&points, &v, &multipliers(&claim.field("support")?)?) else {
            worst = f64::INFINITY;
            verdict.state(
                name,
                "the hyperplane does not separate, or no margin is bounded",
                Some(false),
            );
            continue;
        };
        worst = worst.max(found.gap.hi);
        objective = objective + found.primal;
        for (what, proved, scale) in [
            ("primal", found.primal, found.primal.hi),
            ("dual", found.dual, found.dual.hi),
            ("relative_gap", found.gap, 1.0),
            ("slackness", found.slackness, 1.0),
            ("imbalance", found.imbalance, 1.0),
        ] {
            let stated = claim.field(what)?.number()?;
            verdict.compare(&format!("{name}: {what}"), stated, proved, ROUNDING * scale);
        }
        let text = format!(
            "the margin of the hyperplane is {}, and none exceeds {}",
            found.margin, found.bound
        );
        verdict.state(name, text, Some(found.gap.hi <= options.tol.unwrap_or(tol)));
    }
    let stated = root.field("fit")?.optional("objective")?;
    if let Some(stated) = stated.filter(|_| worst.is_finite()) {
        verdict.compare(
            "the objective",
            stated.number()?,
            objective,
            ROUNDING * objective.hi,
        );
    }
    let (worst, tol) = (at_most(worst.max(0.0)), options.tol.unwrap_or(tol));
    verdict.summary = format!("the relative gap of ½‖w‖² is at most {worst}; the tolerance is {tol:e}");
    Ok(verdict)
}

/// What is proved about one hyperplane.
struct Margins {
    /// Its margin, and the bound on all margins.
    margin: String,
    bound: String,
    /// The bounds on P, and their relative gap.
    primal: Interval,
    dual: Interval,
    gap: Interval,
    /// max αᵢ(aᵢ·v/m − 1) and |Σαᵢyᵢ|, relative to Σα.
    slackness: Interval,
    imbalance: Interval,
}

impl Margins {
    fn new(points: &Points<'_>, v: &[Dyadic], support: &[(usize, Dyadic)]) -> Option<Self> {
        let least = points.rows().map(|i| points.product(i, v)).min()?;
        let (bound, one) = points.bound(support)?;
        if !least.is_positive() || !support.iter().all(|(_, multiplier)| multiplier.is_positive()) {
            return None;
        }
        let (norm, square, half) = (points.squared_norm(v), least.square(), Interval::point(0.5));
        // r²‖w‖² and m², both times the denominator of r².
        let (all, reached) = (&bound * &norm, &square * &one);
        let gap = if mutant::is(Mutant::FlippedGap) {
            &reached - &all
        } else {
            &all - &reached
        };
        let (first, second) = points.sums(support);
        let total = &first + &second;
        let beyond = |(i, multiplier): &(usize, Dyadic)| multiplier * &(&points.product(*i, v) - &least);
        let imbalance = if points.intercept {
            &first - &second
        } else {
            Dyadic::default()
        };
        Some(Margins {
            margin: root(&square, &norm),
            bound: root(&bound, &one),
            primal: half * quotient(&norm, &square),
            dual: half * quotient(&one, &bound),
            gap: quotient(&gap, &all),
            slackness: quotient(&support.iter().map(beyond).max()?, &(&least * &total)),
            imbalance: quotient(&imbalance, &total).abs(),
        })
    }
}
