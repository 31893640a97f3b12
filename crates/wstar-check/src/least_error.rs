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
use crate::enumeration::{self, Site};
use crate::integer::{Dyadic, common_exponent, quotient};
use crate::json::Node;
use crate::model::Model;
use crate::mutant::{self, Mutant};
use crate::points::Points;
use crate::reduction::weights_of_classes;
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
    let (2, [(weights, b)]) = (model.classes().len(), &planes[..]) else {
        return Err(Unreadable::new(
            "a least error is claimed, and there are not two classes and one hyperplane",
        ));
    };
    if settings.field("family")?.text()? != "min-error" {
        return Err(settings.refuse("a least error is claimed for another method"));
    }
    let costed = CostedRows::new(model, rows, &settings)?;
    let mut verdict = Verdict::new("ties, status, notes, history, digest, passes, iterations");
    let fits =
        root.field("predictor")?.field("link")?.text()? == "margin" && (costed.points.intercept || *b == 0.0);
    verdict.object_unless(fits, "the link or the intercept does not fit the settings");
    let [real, least, most] = costed.errors(weights, *b);
    let text = |(count, cost): (u64, u128)| format!("{count}, of cost {}", costed.text(cost));
    let rounded = match least == most {
        true => text(most),
        false => format!("{}, up to {}, in any order of summation", text(least), text(most)),
    };
    verdict.state(
        "errors",
        format!("{}, by the hyperplane of real numbers", text(real)),
        None,
    );
    verdict.state("", format!("{rounded}, as predictions round"), None);
    let errors = claim.field("errors")?.count()?;
    verdict.object_unless(
        (least.0..=most.0).contains(&errors),
        format!("{errors} errors are stated"),
    );
    let stated = claim.field("cost")?.number()?;
    let costs = costed.interval(least.1).hull(costed.interval(most.1));
    verdict.compare("the cost", stated, costs, ROUNDING * costs.hi);
    if let Some(objective) = root.field("fit")?.optional("objective")? {
        verdict.compare("the objective", objective.number()?, costs, ROUNDING * costs.hi);
    }
    let proof = claim.field("proof")?;
    let (bound, reason) = match proof.as_text() {
        Some("enumeration") => {
            let found = enumeration::least_cost(&costed.sites, real.1);
            (
                found,
                "not checked here: there are too many hyperplanes to enumerate",
            )
        }
        Some(_) => return Err(proof.refuse("an unknown proof")),
        None => {
            let costs: Vec<u128> = costed
                .sites
                .iter()
                .flat_map(|site| [site.costs[1], site.costs[0]])
                .collect();
            let tree = proof.field("circuits")?;
            (
                circuit_tree::bound(&tree, &costed.points, &costed.point, &costs)?,
                "the circuits prove no bound",
            )
        }
    };
    let reaches = |cost: Dyadic| {
        let above = |bound| cost <= &costed.amount(bound) * &Dyadic::double(1.0 + ROUNDING);
        bound.is_some_and(above)
    };
    let text = bound.map_or(reason.into(), |bound| {
        format!("no hyperplane costs less than {}", costed.text(bound))
    });
    let lower = claim.field("lower_bound")?.number()?;
    verdict.state("lower bound", text, Some(reaches(Dyadic::double(lower))));
    // If rounding could change a prediction, the hyperplane of real numbers must attain the bound.
    let attained = reaches(Dyadic::double(stated)) && (least == most || reaches(costed.amount(real.1)));
    verdict.state(
        "least error",
        "the cost is the lower bound, up to 1e-9 of it",
        Some(attained),
    );
    verdict.summary = "no hyperplane has a smaller training error".into();
    Ok(verdict)
}

/// The rows of a problem with their costs in units.
struct CostedRows<'a> {
    points: Points<'a>,
    sites: Vec<Site>,
    /// The point of each row: twice its site, plus 1 in the positive class.
    point: Vec<usize>,
    costs: Vec<u128>,
    unit: Dyadic,
}

impl<'a> CostedRows<'a> {
    fn new(model: &Model, rows: &'a TrainingRows, settings: &Node<'_>) -> Reading<Self> {
        let given = settings
            .optional("class_weight")?
            .map(|node| regularized::class_weights(&node));
        let class_weights = weights_of_classes(given.transpose()?.as_ref(), model.classes(), rows)?;
        let class_weight = |class: usize| class_weights.as_ref().map_or(1.0, |weights| weights[class]);
        let cost = |row: usize| Dyadic::double(rows.weight(row) * class_weight(rows.targets[row] as usize));
        let costs: Vec<Dyadic> = (0..rows.len()).map(cost).collect();
        let unit = common_exponent(&costs);
        // Below 2⁹⁰ each, so that no sum of them overflows.
        let integer = |cost: &Dyadic| cost.integer_in(unit).filter(|integer| *integer < 1 << 90);
        let costs = costs.iter().map(integer).collect::<Option<Vec<u128>>>();
        let mut costed = CostedRows {
            points: Points::new(rows, 1, None, settings.field("intercept")?.boolean()?),
            sites: Vec::new(),
            point: Vec::new(),
            costs: costs.ok_or_else(|| Unreadable::new("the costs of rows have too many digits"))?,
            unit: Dyadic::power(unit),
        };
        let mut known = BTreeMap::new();
        for (row, &cost) in costed.costs.iter().enumerate() {
            let mut x = vec![0.0; costed.points.width()];
            x[costed.points.design.features..].fill(1.0);
            // Adding 0 turns −0 into 0.
            rows.design
                .row(row)
                .entries()
                .for_each(|(j, value)| x[j] = value + 0.0);
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

    /// A cost as a number, as an interval, and as text.
    fn amount(&self, cost: u128) -> Dyadic {
        &Dyadic::integer(cost) * &self.unit
    }

    fn interval(&self, cost: u128) -> Interval {
        quotient(&self.amount(cost), &Dyadic::integer(1))
    }

    fn text(&self, cost: u128) -> String {
        // The interval is a few doubles wide; the cost is printed exactly if it is one of them.
        let interval = self.interval(cost);
        let mut near = std::iter::successors(Some(interval.lo), |x| Some(x.next_up())).take(16);
        let exact = near.find(|x| Dyadic::double(*x) == self.amount(cost));
        exact.map_or(decimal::interval((interval.lo, interval.hi)), |exact| {
            exact.to_string()
        })
    }

    /// The numbers and costs of misclassified rows: by the hyperplane of real numbers, and at least and at most by predictions.
    fn errors(&self, weights: &[f64], b: f64) -> [(u64, u128); 3] {
        let mut counts = [(0, 0); 3];
        for i in self.points.rows() {
            let is_positive = self.points.signs[i] > 0;
            let row = self.points.design.row(i).entries();
            let products: Vec<(f64, f64)> = row
                .map(|(j, x)| (weights[j], x))
                .filter(|(w, x)| *w != 0.0 && *x != 0.0)
                .collect();
            let (exact, rounded) = sides(&products, b);
            let wrong = [
                exact != is_positive,
                rounded == Some(!is_positive),
                rounded != Some(is_positive),
            ];
            for ((rows, cost), _) in counts.iter_mut().zip(wrong).filter(|(_, wrong)| *wrong) {
                (*rows, *cost) = (*rows + 1, *cost + self.costs[i]);
            }
        }
        counts
    }
}

/// Whether a score, a sum of products and b, is above 0: exactly, and rounded if this does not depend on the order of summation.
fn sides(products: &[(f64, f64)], b: f64) -> (bool, Option<bool>) {
    let factors = || products.iter().copied().chain([(b, 1.0)]);
    let terms: Vec<Dyadic> = factors()
        .map(|(w, x)| &Dyadic::double(w) * &Dyadic::double(x))
        .collect();
    let score: Dyadic = terms.iter().cloned().sum();
    let size: Dyadic = terms.iter().map(Dyadic::magnitude).sum();
    let certain = score.magnitude() > &size * &Dyadic::double(gamma(terms.len() + 2));
    let no_rounding = size
        .integer_in(common_exponent(&terms))
        .is_some_and(|size| size <= 1 << 53);
    let rounded = match products {
        _ if !factors().all(|(w, x)| in_range(w) && in_range(x)) => None,
        _ if certain || no_rounding || mutant::is(Mutant::NoPredictions) => Some(score.is_positive()),
        [(w, x)] => Some(w * x + b > 0.0),
        _ => None,
    };
    (score.is_positive(), rounded)
}
