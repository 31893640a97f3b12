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
use crate::json::Node;
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
    let (family, tol) = if squared {
        ("maximum-margin", "tol")
    } else {
        ("kozinec", "epsilon")
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
        let counted = !squared || claim.field("rows")?.count()? == points.rows().count() as u64;
        verdict.object_unless(
            same("intercept")? && same(tol)? && predicts && counted,
            format!("{name}: the hyperplane, the intercept, the tolerance or the number of rows is another"),
        );
        let Some(found) = Margins::new(&points, &points.hyperplane(&plane)?, &multipliers) else {
            worst = f64::INFINITY;
            verdict.state(
                name,
                "the hyperplane does not separate, or no margin is bounded",
                Some(false),
            );
            continue;
        };
        let width = if squared { found.gap } else { found.width() };
        worst = larger(worst, width.hi.max(0.0));
        objective = objective + found.primal;
        found.compare(&name, claim, squared, &mut verdict)?;
        let (ends, text) = (
            interval((found.lower.lo, found.upper.hi)),
            at_most(width.hi.max(0.0)),
        );
        let what = if squared { "gap of ½‖w‖²" } else { "width" };
        let text = format!("the largest margin lies in {ends}, a relative {what} of at most {text}");
        verdict.state(name, text, Some(width.hi <= accepted));
    }
    let stated = root.field("fit")?.optional("objective")?;
    if let Some(stated) = stated.filter(|_| squared && worst.is_finite()) {
        verdict.compare(
            "the objective",
            stated.number()?,
            objective,
            ROUNDING * objective.hi,
        );
    }
    let worst = at_most(worst);
    verdict.summary = match squared {
        true => format!("the relative gap of ½‖w‖² is at most {worst}; the tolerance is {accepted:e}"),
        false => format!(
            "intervals for the largest margins have relative widths of at most {worst}; ε is {accepted:e}"
        ),
    };
    Ok(verdict)
}

/// What is proved about one hyperplane.
pub(crate) struct Margins {
    /// Its margin, and the bound on all margins.
    pub(crate) lower: Interval,
    pub(crate) upper: Interval,
    /// P, D, and their relative gap.
    primal: Interval,
    dual: Interval,
    gap: Interval,
    /// max αᵢ(aᵢ·v/m − 1) and |Σαᵢyᵢ|, relative to Σα.
    slackness: Interval,
    imbalance: Interval,
}

impl Margins {
    pub(crate) fn new(points: &Points<'_>, v: &[Dyadic], multipliers: &Multipliers) -> Option<Self> {
        let least = points.rows().map(|i| points.product(i, v)).min()?;
        let (bound, one) = points.bound(multipliers)?;
        if !least.is_positive() {
            return None;
        }
        let (norm, square, half) = (points.squared_norm(v), least.square(), Interval::point(0.5));
        // r²‖w‖² and m², both times the denominator of r².
        let (all, reached) = (&bound * &norm, &square * &one);
        let gap = match mutant::is(Mutant::FlippedGap) {
            true => &reached - &all,
            false => &all - &reached,
        };
        let [first, second] = points.sums(multipliers);
        let total = &first + &second;
        let beyond = |(i, multiplier): &(usize, Dyadic)| multiplier * &(&points.product(*i, v) - &least);
        let imbalance = if points.intercept {
            &first - &second
        } else {
            Dyadic::default()
        };
        Some(Margins {
            lower: quotient(&square, &norm).sqrt(),
            upper: quotient(&bound, &one).sqrt(),
            primal: half * quotient(&norm, &square),
            dual: half * quotient(&one, &bound),
            gap: quotient(&gap, &all),
            slackness: quotient(&multipliers.iter().map(beyond).max()?, &(&least * &total)),
            imbalance: quotient(&imbalance, &total).abs(),
        })
    }

    /// 1 − m/(‖w‖r).
    fn width(&self) -> Interval {
        (self.upper - self.lower) / self.upper
    }

    /// Compares what a claim states.
    fn compare(&self, name: &str, claim: &Node<'_>, squared: bool, verdict: &mut Verdict) -> Reading<()> {
        let of_squares = [
            ("primal", self.primal, self.primal.hi),
            ("dual", self.dual, self.dual.hi),
            ("relative_gap", self.gap, 1.0),
            ("slackness", self.slackness, 1.0),
            ("imbalance", self.imbalance, 1.0),
        ];
        let of_margins = [
            ("lower", self.lower, self.upper.hi),
            ("upper", self.upper, self.upper.hi),
        ];
        for &(what, proved, scale) in if squared { &of_squares[..] } else { &of_margins } {
            let stated = claim.field(what)?.number()?;
            verdict.compare(&format!("{name}: {what}"), stated, proved, ROUNDING * scale);
        }
        Ok(())
    }
}
