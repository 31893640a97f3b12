//! The points aᵢ = yᵢ(xᵢ, 1) of two classes, yᵢ = ±1; without an intercept aᵢ = yᵢxᵢ. A hyperplane v = (w, b) has the margin
//! minᵢ aᵢ·v/‖w‖, if this is above 0. All products are exact.
//!
//! **Lemma (hulls).** Let α ≥ 0 with sums A > 0 and B > 0 over the two classes, and let p and q be the means of the points xᵢ of
//! each class with these weights. Then no margin exceeds ‖p − q‖/2. Without an intercept let A > 0 be the sum of all α, and p the
//! mean of the yᵢxᵢ. Then no margin exceeds ‖p‖.
//! *Proof.* Let m = minᵢ aᵢ·v. Means preserve inequalities: w·p + b ≥ m and −(w·q + b) ≥ m, so 2m ≤ w·(p − q) ≤ ‖w‖‖p − q‖.
//! Without an intercept m ≤ w·p ≤ ‖w‖‖p‖. ∎
//! AB(p − q) = Σ over the first class of (αᵢB)aᵢ + Σ over the second of (αᵢA)aᵢ needs no division.

use crate::design::Design;
use crate::dyadic::{Dyadic, fractions, sum_of_products};
use crate::json::Node;
use crate::mutant::{self, Mutant};
use crate::reduction::Part;
use crate::training_rows::TrainingRows;
use crate::unreadable::Reading;

/// Rows with their multipliers.
pub type Multipliers = Vec<(usize, Dyadic)>;

/// Reads pairs of a row and a multiplier.
pub fn multipliers(node: &Node<'_>) -> Reading<Multipliers> {
    pairs(node, |multiplier| multiplier.number().map(Dyadic::double))
}

/// Reads pairs of an index and a number.
pub fn pairs(node: &Node<'_>, read: impl Fn(&Node<'_>) -> Reading<Dyadic>) -> Reading<Multipliers> {
    let pair = |pair: &Node<'_>| match &pair.items()?[..] {
        [index, number] => Ok((index.count()? as usize, read(number)?)),
        _ => Err(pair.refuse("an index and a number are expected")),
    };
    node.items()?.iter().map(pair).collect()
}

/// The points of two classes.
pub struct Points<'a> {
    /// The xᵢ.
    pub design: &'a Design,
    /// yᵢ; 0 for a row that does not take part.
    pub signs: Vec<i8>,
    /// Whether hyperplanes have an intercept.
    pub intercept: bool,
}

impl<'a> Points<'a> {
    /// The rows of two sides with a sample weight above 0.
    pub fn new(rows: &'a TrainingRows, part: Part, intercept: bool) -> Self {
        let sign = |row: usize| match (part, rows.targets[row] as usize) {
            _ if rows.weight(row) <= 0.0 => 0,
            (Part::Against(positive) | Part::Pair(_, positive), class) if class == positive => 1,
            (Part::Pair(negative, _), class) if class != negative => 0,
            _ => -1,
        };
        let signs = (0..rows.len()).map(sign).collect();
        Points {
            design: &rows.design,
            signs,
            intercept,
        }
    }

    /// The rows that take part.
    pub fn rows(&self) -> impl Iterator<Item = usize> {
        (0..self.signs.len()).filter(|&i| self.signs[i] != 0)
    }

    /// Whether a row exists and takes part.
    pub fn has(&self, row: usize) -> bool {
        self.signs.get(row).is_some_and(|sign| *sign != 0)
    }

    /// The number of coordinates of a point.
    pub fn width(&self) -> usize {
        self.design.features + usize::from(self.intercept)
    }

    /// The coordinates of aᵢ that are stored, with their numbers.
    fn entries(&self, i: usize) -> impl Iterator<Item = (usize, Dyadic)> {
        let sign = f64::from(self.signs[i]);
        let one = self.intercept.then_some((self.design.features, 1.0));
        let entries = self.design.row(i).entries().chain(one);
        entries.map(move |(j, x)| (j, Dyadic::double(sign * x)))
    }

    /// All coordinates of aᵢ.
    pub fn point(&self, i: usize) -> Vec<Dyadic> {
        let mut point = vec![Dyadic::default(); self.width()];
        self.entries(i).for_each(|(j, x)| point[j] = x);
        point
    }

    /// aᵢ·v.
    pub fn product(&self, i: usize, v: &[Dyadic]) -> Dyadic {
        let entries: Vec<(usize, Dyadic)> = self.entries(i).collect();
        let terms: Vec<_> = entries.iter().map(|(j, x)| (x, &v[*j])).collect();
        sum_of_products(&terms)
    }

    /// Σᵢ λᵢaᵢ.
    pub fn combination(&self, multipliers: &[(usize, Dyadic)]) -> Vec<Dyadic> {
        let (mut total, one) = (vec![Dyadic::default(); self.width()], Dyadic::integer(1));
        for (i, multiplier) in multipliers {
            for (j, x) in self.entries(*i) {
                total[j] = sum_of_products(&[(&total[j], &one), (multiplier, &x)]);
            }
        }
        total
    }

    /// ‖w‖² of v = (w, b).
    pub fn squared_norm(&self, v: &[Dyadic]) -> Dyadic {
        let terms: Vec<_> = v[..self.design.features].iter().map(|w| (w, w)).collect();
        sum_of_products(&terms)
    }

    /// The sums of the multipliers of both classes; without an intercept those of all, and 0.
    pub fn sums(&self, multipliers: &[(usize, Dyadic)]) -> [Dyadic; 2] {
        [true, false].map(|first| {
            let own = multipliers.iter().filter(|(i, _)| self.is_first(*i) == first);
            own.map(|(_, multiplier)| multiplier.clone()).sum()
        })
    }

    fn is_first(&self, i: usize) -> bool {
        self.signs[i] > 0 || !self.intercept
    }

    /// The square of the bound of the lemma, as a fraction. `None` if the lemma does not apply.
    pub fn bound(&self, multipliers: &[(usize, Dyadic)]) -> Option<(Dyadic, Dyadic)> {
        let fits = |(i, multiplier): &(usize, Dyadic)| self.has(*i) && !multiplier.is_negative();
        if !multipliers.iter().all(fits) {
            return None;
        }
        let [first, second] = self.sums(multipliers);
        let (second, halves) = match self.intercept {
            true => (second, if mutant::is(Mutant::WholeDistance) { 1 } else { 2 }),
            false => (Dyadic::integer(1), 1),
        };
        let share = |(i, multiplier): &(usize, Dyadic)| {
            let is_first = self.is_first(*i) || mutant::is(Mutant::NotMeans);
            (*i, multiplier * if is_first { &second } else { &first })
        };
        let shares: Multipliers = multipliers.iter().map(share).collect();
        let length = &(&first * &second) * &Dyadic::integer(halves);
        length
            .is_positive()
            .then(|| (self.squared_norm(&self.combination(&shares)), length.square()))
    }

    /// Reads v: numbers, or fractions, which are multiplied by a common denominator above 0.
    pub fn hyperplane(&self, node: &Node<'_>) -> Reading<Vec<Dyadic>> {
        let (mut all, intercept) = (node.field("weights")?.items()?, node.field("intercept")?);
        if all.len() != self.design.features || !(self.intercept || intercept.number() == Ok(0.0)) {
            return Err(node.refuse("it has other features, or an intercept where there is none"));
        }
        all.extend(self.intercept.then_some(intercept));
        if all.iter().all(|number| number.as_text().is_none()) {
            let numbers = all.iter().map(|number| number.number().map(Dyadic::double));
            return numbers.collect();
        }
        let texts: Vec<&str> = all.iter().map(Node::text).collect::<Reading<_>>()?;
        let read = fractions(&texts).ok_or_else(|| node.refuse("a coefficient is not a fraction"));
        read.map(|(numerators, _)| numerators)
    }

    /// Reads the multipliers of both hulls, each of rows of its side; without an intercept the first has all of them.
    pub fn hulls(&self, node: &Node<'_>) -> Reading<Multipliers> {
        let mut all = multipliers(&node.field("positive")?)?;
        let second = multipliers(&node.field("negative")?)?;
        let own = |list: &Multipliers, sign| list.iter().all(|(i, _)| self.signs.get(*i) == Some(&sign));
        let fits = match self.intercept {
            true => own(&all, 1) && own(&second, -1),
            false => second.is_empty(),
        };
        all.extend(second);
        match fits {
            true => Ok(all),
            false => Err(node.refuse("a row is listed for the hull of the other class")),
        }
    }
}
