//! The claim `min-error`: no hyperplane misclassifies rows of a smaller total cost. A score of 0 is the negative class.
//!
//! Costs are doubles. Sums of costs are exact, as integers in units of a power of two. Two files prove a lower bound:
//! `circuit_tree.rs` and `enumeration.rs`. The cost of the hyperplane of the model is an upper bound, as a hyperplane of real
//! numbers, and as predictions round if this does not depend on the order of summation.
//!
//! **Lemma.** The rounded sum of k rounded products of numbers between 10⁻¹⁴⁰ and 10¹⁴⁰ in size deviates by at most γₖ·Σ|terms|
//! from the exact one, in any order of summation. It is exact if all terms are multiples of a power of two and Σ|terms| is at
//! most 2⁵³ times this power, because this bounds all partial sums.

use std::collections::BTreeMap;

use crate::arithmetic::{Interval, gamma};
use crate::circuit_tree;
use crate::decimal;
use crate::dyadic::{Dyadic, common_exponent};
use crate::enumeration::{self, Site};
use crate::json::Node;
use crate::model::Model;
use crate::mutant::{self, Mutant};
use crate::points::Points;
use crate::reduction::{Part, weights_of_classes};
use crate::regularized;
use crate::training_rows::{TrainingRows, in_range};
use crate::unreadable::{Reading, Unreadable};
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

/// The rows of a problem with their costs in units.
pub(crate) struct CostedRows<'a> {
    pub(crate) points: Points<'a>,
    sites: Vec<Site>,
    /// The point of each row: twice its site, plus 1 in the positive class.
    pub(crate) point: Vec<usize>,
    costs: Vec<u128>,
    /// The exponent of the unit.
    unit: i64,
}

impl<'a> CostedRows<'a> {
    fn new(model: &Model, rows: &'a TrainingRows, settings: &Node<'_>) -> Reading<Self> {
        let given = settings.maybe("class_weight", |node| regularized::class_weights(&node))?;
        let class_weights = weights_of_classes(given.as_ref(), model.classes(), rows)?;
        let class_weight = |class: usize| class_weights.as_ref().map_or(1.0, |weights| weights[class]);
        let cost = |row: usize| Dyadic::double(rows.weight(row) * class_weight(rows.targets[row] as usize));
        let costs: Vec<Dyadic> = (0..rows.len()).map(cost).collect();
        let unit = common_exponent(&costs);
        // Below 2⁹⁰ each, so that no sum of them overflows.
        let integer = |cost: &Dyadic| cost.integer_in(unit).filter(|integer| *integer < 1 << 90);
        let costs = costs.iter().map(integer).collect::<Option<_>>();
        let mut costed = CostedRows {
            points: Points::new(rows, Part::Against(1), settings.field("intercept")?.boolean()?),
            sites: Vec::new(),
            point: Vec::new(),
            costs: costs.ok_or_else(|| Unreadable::new("the costs of rows have too many digits"))?,
            unit,
        };
        let mut known = BTreeMap::new();
        for (row, &cost) in costed.costs.iter().enumerate() {
            let mut x = vec![0.0; costed.points.width()];
            x[rows.design.features..].fill(1.0);
            // Adding 0 turns −0 into 0.
            for (j, value) in rows.design.row(row).entries() {
                x[j] = value + 0.0;
            }
            let bits: Vec<u64> = x.iter().map(|value| value.to_bits()).collect();
            let site = *known.entry(bits).or_insert(costed.sites.len());
            if site == costed.sites.len() {
                costed.sites.push(Site { x, costs: [0; 2] });
            }
            let class = rows.targets[row] as usize;
            costed.sites[site].costs[1 - class] += cost;
            costed.point.push(2 * site + class);
            costed.points.signs[row] *= i8::from(cost > 0);
        }
        Ok(costed)
    }

    /// The cost of a point if it is misclassified.
    pub(crate) fn cost(&self, point: usize) -> u128 {
        self.sites[point / 2].costs[1 - point % 2]
    }

    /// A cost as a number, rounded, and as text.
    fn amount(&self, cost: u128) -> Dyadic {
        &Dyadic::integer(cost) * &Dyadic::power(self.unit)
    }

    fn rounded(&self, cost: u128) -> f64 {
        cost as f64 * 2f64.powi(self.unit as i32)
    }

    fn text(&self, cost: u128) -> String {
        let rounded = self.rounded(cost);
        match rounded.is_finite() && Dyadic::double(rounded) == self.amount(cost) {
            true => rounded.to_string(),
            false => decimal::interval((rounded, rounded)),
        }
    }

    /// The numbers and costs of misclassified rows: by the hyperplane of real numbers, and at least and at most by predictions.
    fn errors(&self, plane: &[f64]) -> [(u64, u128); 3] {
        let mut counts = [(0, 0); 3];
        let exact: Vec<Dyadic> = plane.iter().copied().map(Dyadic::double).collect();
        for i in self.points.rows() {
            let product = self.points.product(i, &exact);
            let is_positive = self.points.signs[i] > 0;
            let wrong = product.is_negative() || is_positive && product.is_zero();
            let rounded = self.misclassifies(i, wrong, product, plane);
            let wrong = [wrong, rounded == Some(true), rounded != Some(false)];
            for ((rows, cost), _) in counts.iter_mut().zip(wrong).filter(|(_, wrong)| *wrong) {
                (*rows, *cost) = (*rows + 1, *cost + self.costs[i]);
            }
        }
        counts
    }

    /// Whether the prediction of a row is wrong, if it does not depend on the order of summation. aᵢ·v is wrong without rounding.
    fn misclassifies(&self, i: usize, wrong: bool, product: Dyadic, plane: &[f64]) -> Option<bool> {
        let x = self.points.design.row(i).entries().map(|(j, x)| (plane[j], x));
        let mut factors: Vec<(f64, f64)> = x.filter(|(w, x)| *w != 0.0 && *x != 0.0).collect();
        let b = plane.last().copied().unwrap_or(0.0);
        factors.push((b, 1.0));
        let product_of = |&(w, x): &(f64, f64)| &Dyadic::double(w) * &Dyadic::double(x);
        let terms: Vec<Dyadic> = factors.iter().map(product_of).collect();
        let size: Dyadic = terms.iter().cloned().map(Dyadic::magnitude).sum();
        let certain = product.magnitude() > &size * &Dyadic::double(gamma(terms.len() + 2));
        let exact = size <= Dyadic::power(53 + common_exponent(&terms));
        match factors[..] {
            _ if !factors.iter().all(|&(w, x)| in_range(w) && in_range(x)) => None,
            _ if certain || exact || mutant::is(Mutant::NoPredictions) => Some(wrong),
            [(w, x), _] => Some((w * x + b > 0.0) != (self.points.signs[i] > 0)),
            _ => None,
        }
    }
}
