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
use crate::integer::Dyadic;
use crate::json::Node;
use crate::mutant::{self, Mutant};
use crate::training_rows::TrainingRows;
use crate::unreadable::Reading;

/// Rows with their multipliers.
pub type Multipliers = Vec<(usize, Dyadic)>;

/// Reads rows with their multipliers.
pub fn multipliers(node: &Node<'_>) -> Reading<Multipliers> {
    let pair = |pair: &Node<'_>| match &pair.items()?[..] {
        [row, multiplier] => Ok((row.count()? as usize, Dyadic::double(multiplier.number()?))),
        _ => Err(pair.refuse("a row and its multiplier are expected")),
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
    /// One class against another, or against all others: the rows with a sample weight above 0.
    pub fn new(rows: &'a TrainingRows, positive: usize, negative: Option<usize>, intercept: bool) -> Self {
        let sign = |row: usize| match rows.targets[row] as usize {
            _ if rows.weight(row) <= 0.0 => 0,
            class if class == positive => 1,
            class if negative.is_some_and(|negative| class != negative) => 0,
            _ => -1,
        };
        Points {
            design: &rows.design,
            signs: (0..rows.len()).map(sign).collect(),
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

    /// The entries of aᵢ with their coordinates.
    pub fn entries(&self, i: usize) -> impl Iterator<Item = (usize, f64)> {
        let sign = f64::from(self.signs[i]);
        let one = self.intercept.then_some((self.design.features, 1.0));
        let entries = self.design.row(i).entries().chain(one);
        entries.map(move |(j, x)| (j, sign * x))
    }

    /// All coordinates of aᵢ.
    pub fn point(&self, i: usize) -> Vec<Dyadic> {
        let mut point = vec![Dyadic::default(); self.width()];
        self.entries(i).for_each(|(j, x)| point[j] = Dyadic::double(x));
        point
    }

    /// aᵢ·v.
    pub fn product(&self, i: usize, v: &[Dyadic]) -> Dyadic {
        let terms = self.entries(i).filter(|(j, _)| !v[*j].is_zero());
        terms.map(|(j, x)| &v[j] * &Dyadic::double(x)).sum()
    }

    /// Σⱼ vⱼ² over all coordinates but that of the intercept.
    pub fn squared_norm(&self, v: &[Dyadic]) -> Dyadic {
        v[..self.design.features].iter().map(Dyadic::square).sum()
    }

    /// Σᵢ λᵢaᵢ.
    pub fn combination(&self, multipliers: &[(usize, Dyadic)]) -> Vec<Dyadic> {
        let mut total = vec![Dyadic::default(); self.width()];
        for (i, multiplier) in multipliers {
            for (j, x) in self.entries(*i) {
                total[j] = &total[j] + &(multiplier * &Dyadic::double(x));
            }
        }
        total
    }

    /// The sums of the multipliers of both classes; without an intercept those of all, and 0.
    pub fn sums(&self, multipliers: &[(usize, Dyadic)]) -> (Dyadic, Dyadic) {
        let is_first = |i: usize| self.signs[i] > 0 || !self.intercept;
        let of = |first: bool| {
            let own = multipliers.iter().filter(|(i, _)| is_first(*i) == first);
            own.map(|(_, multiplier)| multiplier.clone()).sum::<Dyadic>()
        };
        (of(true), of(false))
    }

    /// The square of the bound of the lemma, as a fraction. `None` if the lemma does not apply.
    pub fn bound(&self, multipliers: &[(usize, Dyadic)]) -> Option<(Dyadic, Dyadic)> {
        let fits = |(i, multiplier): &(usize, Dyadic)| self.has(*i) && !multiplier.sign().is_lt();
        if !multipliers.iter().all(fits) {
            return None;
        }
        let (first, mut second) = self.sums(multipliers);
        let two = Dyadic::integer(if self.intercept { 2 } else { 1 });
        if !self.intercept {
            second = Dyadic::integer(1);
        }
        let share = |(i, multiplier): &(usize, Dyadic)| {
            let is_first = self.signs[*i] > 0 || !self.intercept || mutant::is(Mutant::NotMeans);
            (*i, multiplier * if is_first { &second } else { &first })
        };
        let shares: Multipliers = multipliers.iter().map(share).collect();
        let denominator = (&(&first * &second) * &two).square();
        (first.is_positive() && second.is_positive())
            .then(|| (self.squared_norm(&self.combination(&shares)), denominator))
    }
}
