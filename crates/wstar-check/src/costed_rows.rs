//! The rows of a least-error claim with their costs in integer units, their points, and the errors of a hyperplane.

use std::collections::BTreeMap;

use crate::arithmetic::gamma;
use crate::decimal;
use crate::dyadic::{Dyadic, common_exponent};
use crate::enumeration::Site;
use crate::json::Node;
use crate::model::Model;
use crate::mutant::{self, Mutant};
use crate::points::Points;
use crate::reduction::{Part, weights_of_classes};
use crate::regularized;
use crate::training_rows::{TrainingRows, in_range};
use crate::unreadable::{Reading, Unreadable};

/// The rows of a problem with their costs in units.
pub(crate) struct CostedRows<'a> {
    pub(crate) points: Points<'a>,
    pub(crate) sites: Vec<Site>,
    /// The point of each row: twice its site, plus 1 in the positive class.
    pub(crate) point: Vec<usize>,
    pub(crate) costs: Vec<u128>,
    /// The exponent of the unit.
    pub(crate) unit: i64,
}

impl<'a> CostedRows<'a> {
    pub(crate) fn new(model: &Model, rows: &'a TrainingRows, settings: &Node<'_>) -> Reading<Self> {
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
    pub(crate) fn amount(&self, cost: u128) -> Dyadic {
        &Dyadic::integer(cost) * &Dyadic::power(self.unit)
    }

    pub(crate) fn rounded(&self, cost: u128) -> f64 {
        cost as f64 * 2f64.powi(self.unit as i32)
    }

    pub(crate) fn text(&self, cost: u128) -> String {
        let rounded = self.rounded(cost);
        match rounded.is_finite() && Dyadic::double(rounded) == self.amount(cost) {
            true => rounded.to_string(),
            false => decimal::interval((rounded, rounded)),
        }
    }

    /// The numbers and costs of misclassified rows: by the hyperplane of real numbers, and at least and at most by predictions.
    pub(crate) fn errors(&self, plane: &[f64]) -> [(u64, u128); 3] {
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
    pub(crate) fn misclassifies(
        &self,
        i: usize,
        wrong: bool,
        product: Dyadic,
        plane: &[f64],
    ) -> Option<bool> {
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
