//! The claim `separation`: the largest margin of any hyperplane lies between two numbers whose relative difference is at most ε.
//!
//! **Lemma.** A hyperplane with yᵢ(w·xᵢ + b) > 0 has the margin min yᵢ(w·xᵢ + b)/‖w‖, which bounds the largest from below. Let p and q be
//! convex combinations of the rows of the two sides. No margin exceeds ‖p − q‖/2; without an intercept, no margin exceeds ‖p‖
//! for a convex combination p of all yᵢxᵢ.
//! *Proof.* Let ‖w‖ = 1 and yᵢ(w·xᵢ + b) ≥ m for all i. The same holds for combinations, w·p + b ≥ m and −w·q − b ≥ m, so 2m ≤
//! w·(p − q) ≤ ‖p − q‖. Without b, m ≤ w·p ≤ ‖p‖. ∎
//!
//! Stored shares are divided by their sum, so any shares of at least 0 that are not all 0 give a bound.

use crate::arithmetic::{Interval, Sum};
use crate::decimal::{at_most, interval};
use crate::hyperplane::{Hyperplane, sum};
use crate::json::Node;
use crate::model::Model;
use crate::mutant::{self, Mutant};
use crate::products::ColumnSums;
use crate::reduction::Part;
use crate::training_rows::{TrainingRows, in_range};
use crate::unreadable::Reading;
use crate::verdict::{Options, Verdict};

/// The deviation of a stated end, relative to the upper one, that rounding explains.
const ROUNDING: f64 = 1e-9;

/// min yᵢ(w·xᵢ + b)/‖w‖.
pub(crate) fn margin(rows: &TrainingRows, y: &[f64], plane: &Hyperplane) -> Interval {
    let products = rows.counting().map(|i| y[i] * plane.score(rows.design.row(i)));
    let least = products.reduce(|a, b| Interval::new(a.lo.min(b.lo), a.hi.min(b.hi)));
    let weights = &plane.0[..rows.design.features];
    least.unwrap_or(Interval::WHOLE) / sum(weights.iter().map(|&w| Interval::point(w).square())).sqrt()
}

/// Rows and their shares.
pub(crate) type Shares = Vec<(u64, f64)>;

/// The bound on every margin: two convex combinations, or one without an intercept. `None` if these are none.
pub(crate) fn bound(rows: &TrainingRows, y: &[f64], sides: &[&Shares]) -> Option<Interval> {
    let features = rows.design.features;
    let mut points = vec![Interval::ZERO; features];
    for (shares, side) in sides.iter().zip([1.0, -1.0]) {
        let (mut point, mut total) = (ColumnSums::new(features), Sum::default());
        for &(i, share) in *shares {
            let row = rows.counting_row(i)?;
            let fits = sides.len() == 1 || y[row] == side;
            if !(fits && in_range(share) && share >= 0.0) {
                return None;
            }
            point.add(rows.design.row(row), features, y[row] * share);
            total.add(share, 1.0);
        }
        let total = total.interval(shares.len());
        for (j, sum) in points.iter_mut().enumerate() {
            *sum = *sum + point.interval(j) / total;
        }
    }
    let length = sum(points.iter().map(|x| x.square())).sqrt();
    let whole = sides.len() == 1 || mutant::is(Mutant::WholeDistance);
    let bound = if whole { length } else { 0.5 * length };
    bound.hi.is_finite().then_some(bound)
}

/// Checks the claim.
pub(crate) fn check(model: &Model, rows: &TrainingRows, options: Options) -> Reading<Verdict> {
    let parts = Part::against_rest(model.classes().len());
    let (root, features) = (model.root(), model.schema.features);
    let (settings, predictor) = (root.field("settings")?, root.field("predictor")?);
    let claims = root.field("certificate")?.field("parts")?.items()?;
    if settings.field("family")?.text()? != "kozinec" || parts.is_empty() || claims.len() != parts.len() {
        return Err(root.refuse("a margin is claimed for another method, or not for each hyperplane"));
    }
    let lifted = settings.field("intercept")?.boolean()?;
    let epsilon = settings.field("epsilon")?.number()?;
    let tol = options.tol.unwrap_or(epsilon);
    let mut verdict = Verdict::new("status, iterations, passes, history, digest, committees");
    let planes = model.planes(parts.len())?;
    let mut worst = 0.0f64;
    for (k, (&part, claim)) in parts.iter().zip(&claims).enumerate() {
        let (y, name) = (part.targets(rows), part.label(model.classes()));
        let own = claim.field("hyperplane")?;
        let plane = Hyperplane::read(&own, features, false)?;
        if !lifted && plane.intercept() != 0.0 {
            return Err(claim.refuse("a hyperplane has an intercept, and the settings allow none"));
        }
        let positive = shares(&claim.field("positive")?)?;
        let negative = shares(&claim.field("negative")?)?;
        let sides = [&positive, &negative];
        let lower = margin(rows, &y, &plane);
        let upper = bound(rows, &y, &sides[..1 + usize::from(lifted)]);
        let upper = upper.unwrap_or(Interval::new(0.0, f64::INFINITY));
        let known = lower.lo > 0.0 && upper.hi.is_finite();
        let width = ((upper - lower) / upper).hi.max(0.0);
        let width = if known { width } else { f64::INFINITY };
        worst = worst.max(width);
        let error = ROUNDING * upper.hi.max(lower.abs().hi);
        let number = |name: &str| claim.field(name)?.number();
        verdict.compare(&format!("{name}: lower"), number("lower")?, lower, error);
        verdict.compare(&format!("{name}: upper"), number("upper")?, upper, error);
        let same = |name: &str| Ok(claim.field(name)? == settings.field(name)?);
        let predicts = planes.as_ref().is_none_or(|planes| planes[k] == own);
        let objection = format!("{name}: the hyperplane, the intercept or ε differ elsewhere");
        verdict.object_unless(predicts && same("intercept")? && same("epsilon")?, objection);
        let (ends, width_text) = (interval((lower.lo, upper.hi)), at_most(width));
        let text = format!("the largest margin lies in {ends}, a relative width of at most {width_text}");
        verdict.state(name, text, Some(width <= tol));
    }
    let is_margin = planes.is_none() || predictor.field("link")?.text()? == "margin";
    verdict.object_unless(is_margin, "the scores are not called margins");
    let worst = at_most(worst);
    verdict.summary =
        format!("intervals for the largest margins have relative widths of at most {worst}; ε is {tol:e}");
    Ok(verdict)
}

fn shares(node: &Node<'_>) -> Reading<Shares> {
    let pair = |item: &Node<'_>| match &item.items()?[..] {
        [row, share] => Ok((row.count()?, share.number()?)),
        _ => Err(item.refuse("a row and its share are expected")),
    };
    node.items()?.iter().map(pair).collect()
}
