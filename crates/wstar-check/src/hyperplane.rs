//! A hyperplane w·x + b = 0 of a model file, and the sides of rows. A row with y = ±1 is on its side if y(w·x + b) > 0, where w·x + b is the real
//! number: it is enclosed in twice the precision, and where the interval contains 0 its sign is computed exactly.

use std::cmp::Ordering;

use crate::arithmetic::{Interval, IntervalSum, sign_of_sum};
use crate::design::Row;
use crate::json::Node;
use crate::products::Score;
use crate::training_rows::in_range;
use crate::unreadable::Reading;

/// The weights, and then the intercept.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Hyperplane(pub(crate) Vec<f64>);

impl Hyperplane {
    /// Reads a hyperplane with one weight for each column. With `padded`, weights that are left out at the end are 0.
    pub(crate) fn read(node: &Node<'_>, features: usize, padded: bool) -> Reading<Self> {
        let mut plane = node.field("weights")?.numbers()?;
        let intercept = node.field("intercept")?.number()?;
        let fits = plane.len() == features || padded && plane.len() < features;
        if !fits || !plane.iter().chain([&intercept]).all(|w| in_range(*w)) {
            return Err(node.refuse("another number of weights, or a number outside 1e-140 to 1e140 in size"));
        }
        plane.resize(features, 0.0);
        plane.push(intercept);
        Ok(Hyperplane(plane))
    }

    pub(crate) fn intercept(&self) -> f64 {
        self.0.last().copied().unwrap_or(0.0)
    }

    /// w·x + b.
    pub(crate) fn score(&self, row: Row<'_>) -> Interval {
        Score::new(row, self.0.len() - 1, &self.0).residual(0.0, -1.0)
    }

    /// The sign of w·x + b.
    pub(crate) fn sign(&self, row: Row<'_>) -> Ordering {
        let products = || row.entries().map(|(j, x)| (self.0[j], x));
        match self.score(row) {
            score if score.lo > 0.0 => Ordering::Greater,
            score if score.hi < 0.0 => Ordering::Less,
            _ => sign_of_sum(products().chain([(self.intercept(), 1.0)])),
        }
    }

    /// w·v + bc for another hyperplane (v, c).
    pub(crate) fn dot(&self, other: &Hyperplane) -> Interval {
        sum(self.0.iter().zip(&other.0).map(|(&a, &b)| a * Interval::point(b)))
    }

    /// ‖(w, b)‖.
    pub(crate) fn lifted_norm(&self) -> Interval {
        self.dot(self).sqrt()
    }
}

/// The sum of intervals.
pub(crate) fn sum(terms: impl Iterator<Item = Interval>) -> Interval {
    let mut sum = IntervalSum::default();
    terms.for_each(|term| sum.add(term));
    sum.interval()
}
