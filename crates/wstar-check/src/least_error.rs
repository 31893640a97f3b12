//! The claim `min-error`: no hyperplane misclassifies rows of a smaller total cost. A score of 0 is the negative class.
//!
//! Costs are doubles. Sums of costs are exact, as integers in units of a power of two. Two files prove a lower bound:
//! `circuit_tree.rs` and `enumeration.rs`. The cost of the hyperplane of the model is an upper bound, as a hyperplane of real
//! numbers, and as predictions round if this does not depend on the order of summation.
//!
//! **Lemma.** The rounded sum of k rounded products of numbers between 10⁻¹⁴⁰ and 10¹⁴⁰ in size deviates by at most γₖ·Σ|terms|
//! from the exact one, in any order of summation. It is exact if all terms are multiples of a power of two and Σ|terms| is at
//! most 2⁵³ times this power, because this bounds all partial sums.

use crate::arithmetic::Interval;
use crate::circuit_tree;
use crate::costed_rows::CostedRows;
use crate::dyadic::Dyadic;
use crate::enumeration::{self};
use crate::model::Model;
use crate::training_rows::TrainingRows;
use crate::unreadable::Reading;
use crate::verdict::Verdict;

/// The relative deviation of a stated cost that rounding explains. Heuristic: stated costs are rounded sums.
const ROUNDING: f64 = 1e-9;

/// Checks the claim of a model.
pub(crate) fn check(model: &Model, rows: &TrainingRows) -> Reading<Verdict> {
    let root = model.root();
    let (claim, settings) = (root.field("certificate")?, root.field("settings")?);
    let planes = model.hyperplanes()?;
    let (2, [(plane, b)]) = (model.classes().len(), &planes[..]) else {
        return Err(root.refuse("a least error is claimed, and there are not two classes and one hyperplane"));
    };
    if settings.field("family")?.text()? != "min-error" {
        return Err(settings.refuse("a least error is claimed for another method"));
    }
    let costed = CostedRows::new(model, rows, &settings)?;
    let mut verdict = Verdict::new("ties, status, notes, history, digest, passes, iterations");
    let is_margin = root.field("predictor")?.field("link")?.text()? == "margin";
    let fits = is_margin && (costed.points.intercept || *b == 0.0);
    verdict.object_unless(fits, "the link or the intercept does not fit the settings");
    let [real, least, most] = costed.errors(&[plane, &[*b][..]].concat());
    let text = |(count, cost)| format!("{count}, of cost {}", costed.text(cost));
    let rounded = match least == most {
        true => text(most),
        false => format!("{}, up to {}, in any order of summation", text(least), text(most)),
    };
    let exact = format!("{}, by the hyperplane of real numbers", text(real));
    verdict.state("errors", exact, None);
    verdict.state("", format!("{rounded}, as predictions round"), None);
    let errors = claim.field("errors")?.count()?;
    let possible = (least.0..=most.0).contains(&errors);
    verdict.object_unless(possible, format!("{errors} errors are stated"));
    let cost = claim.field("cost")?.number()?;
    let [low, high] = [least.1, most.1].map(|cost| costed.rounded(cost));
    let (costs, error) = (Interval::new(low, high), ROUNDING * high);
    verdict.compare("the cost", cost, costs, error);
    if let Some(objective) = root.field("fit")?.optional("objective")? {
        verdict.compare("the objective", objective.number()?, costs, error);
    }
    let proof = claim.field("proof")?;
    let (bound, unknown) = match proof.as_text() {
        Some("enumeration") => (
            enumeration::least_cost(&costed.sites, real.1),
            "not checked here: there are too many hyperplanes to enumerate",
        ),
        Some(_) => return Err(proof.refuse("an unknown proof")),
        None => (
            circuit_tree::bound(&proof.field("circuits")?, &costed)?,
            "the circuits prove no bound",
        ),
    };
    let known = |bound| format!("no hyperplane costs less than {}", costed.text(bound));
    let at_most_bound = |cost: Dyadic| {
        let factor = Dyadic::double(1.0 + ROUNDING);
        bound.is_some_and(|bound| cost <= &costed.amount(bound) * &factor)
    };
    let lower = Dyadic::double(claim.field("lower_bound")?.number()?);
    let text = bound.map_or(unknown.into(), known);
    verdict.state("lower bound", text, Some(at_most_bound(lower)));
    // If rounding could change a prediction, the hyperplane of real numbers must attain the bound.
    let certain = least == most || at_most_bound(costed.amount(real.1));
    let attained = certain && at_most_bound(Dyadic::double(cost));
    let text = "the cost is the lower bound, up to 1e-9 of it";
    verdict.state("least error", text, Some(attained));
    verdict.summary = "no hyperplane has a smaller training error".into();
    Ok(verdict)
}
